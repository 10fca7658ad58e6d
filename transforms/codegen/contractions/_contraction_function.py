"""A contraction as a function on memrefs: its arguments as flat memory, and the nest on them."""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.transforms.codegen.base.epilogue import Finisher
from linalg_ext.transforms.codegen.base.flat_memory import Strided
from linalg_ext.transforms.codegen.base.flattening import flattened
from linalg_ext.transforms.codegen.base.operand_types import Argument
from linalg_ext.transforms.codegen.base.problem import Operand
from linalg_ext.transforms.codegen.base.scalar_steps import Elementwise
from linalg_ext.transforms.codegen.base.writer import Index, Writer

from ._contraction_nest import Nest
from ._prologue import Prologue
from .contraction_plan import Plan


def contraction_function(
    name: str,
    plan: Plan,
    arguments: Sequence[Argument],
    epilogue: Elementwise | None = None,
    prologues: Sequence[Elementwise | None] = (None, None),
) -> str:
    """A function that does a contraction, as text.

    Args:
        name: of the function.
        plan: how.
        arguments: the operands of the op: its two inputs and its output. After them the function
            takes the zero points that there are.
        epilogue: what is done to the result, whose operands are the last arguments.
        prologues: what is done to each input, whose operands come before those.
    """
    w = Writer()
    order: tuple[Operand, ...] = ("B", "A", "C") if plan.problem.swapped else ("A", "B", "C")
    given = dict(zip(order, arguments, strict=True))
    sizes: dict[str, Index] = {}
    operands = {role: _operand(w, role, role, given[role], sizes, plan) for role in order}
    given_after = epilogue.arguments if epilogue is not None else ()
    extras = [
        _operand(w, f"E{number}", "C", argument, sizes, plan)
        for number, argument in enumerate(given_after)
    ]
    finisher = None
    if epilogue is not None:
        groups = plan.problem.rows, plan.problem.columns
        finisher = Finisher(w, groups, epilogue, extras, plan.tile.lanes)
    packers, scales = {}, []
    for role, body in zip(order, prologues, strict=False):
        if body is None:
            continue
        named = [f"{role}P{number}" for number in range(len(body.arguments))]
        scales += [f"%{one}: {each.type}" for one, each in zip(named, body.arguments, strict=True)]
        scales += [f"%{role}S{number}: {type_}" for number, type_ in enumerate(body.scalars)]
        others = [
            _operand(w, one, "C", each, sizes, plan)
            for one, each in zip(named, body.arguments, strict=True)
        ]
        packers[role] = Prologue(w, plan, role, body, others)
    Nest(w, plan, operands, sizes, finisher, packers, given["C"].type).write()
    signature = ", ".join(
        [f"%{role}: {given[role].type}" for role in order]
        + [f"%zero_point_{role}: i32" for role in order if role in plan.problem.zero_points]
        + scales
        + [f"%E{number}: {argument.type}" for number, argument in enumerate(given_after)]
        + [
            f"%S{number}: {type_}"
            for number, type_ in enumerate(epilogue.scalars if epilogue is not None else ())
        ]
    )
    text = w.function(name, signature)
    dot = plan.problem.dot
    return text if dot is None else f"{text}\n{dot.declaration}"


def _operand(
    w: Writer, name: str, role: Operand, argument: Argument, sizes: dict[str, Index], plan: Plan
) -> Strided:
    """An argument as flat memory; what the run tells of its sizes is added to `sizes`."""
    memory, strides = flattened(w, name, argument, plan.tile.lanes, sizes)
    return Strided(memory, role, 0, sizes, strides)
