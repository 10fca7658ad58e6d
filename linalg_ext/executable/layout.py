"""Where the arguments and results of a kernel stand in the frame of a call."""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.executable.argument import Argument
from linalg_ext.executable.arrays import ArrayArgument, StridedArgument
from linalg_ext.executable.description.signature import ArrayType, Parameter
from linalg_ext.executable.results import ResultSlot
from linalg_ext.executable.scalars import ScalarArgument
from linalg_ext.runtime.call_frame import FrameLayout


def argument_of(parameter: Parameter) -> Argument:
    """What takes the values of a parameter."""
    if not isinstance(parameter.type, ArrayType):
        return ScalarArgument(parameter, parameter.type)
    if parameter.type.strides is not None:
        return StridedArgument(parameter, parameter.type, parameter.type.strides)
    return ArrayArgument(parameter, parameter.type)


def laid_out(
    arguments: Sequence[Argument],
    destinations: Sequence[ResultSlot],
    returned: Sequence[ResultSlot],
) -> FrameLayout:
    """The frame of a call; arguments and destinations are told their words of it.

    Args:
        arguments: in order.
        destinations: the results that are written to memory of the caller, in order.
        returned: the results whose memory native code gives, in order.
    """
    ranks: list[int | None] = [
        argument.type.rank if isinstance(argument, ArrayArgument) else None
        for argument in arguments
    ]
    ranks += [slot.rank for slot in destinations]
    layout = FrameLayout(ranks, [slot.rank for slot in returned])
    for taking, word in zip((*arguments, *destinations), layout.slots, strict=True):
        taking.lay_out(layout, word)
    return layout
