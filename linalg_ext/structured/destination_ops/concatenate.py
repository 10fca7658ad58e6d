"""`linalg_ext.concatenate`: tensors one after another along a dimension.

    result[..., offset(k) + i, ...] = input_k[..., i, ...],    offset(k) = the sizes before k, added

Inputs of size 0 add nothing. All inputs have the shape of the destination but for `dimension`,
where their sizes add up to its size. Sizes that are dynamic are checked when the program runs.
"""

from __future__ import annotations

from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.errors import ArityError, ShapeError
from linalg_ext.structured.destination_ops.op_fields import (
    check_elements,
    check_results,
    differ,
    dimension_of,
    ranked_tensor,
    segments_of,
)
from linalg_ext.structured.extension.definitions import LETTERS
from linalg_ext.structured.utils.operands import static_sizes

MOST_INPUTS = len(LETTERS)


@dataclass(frozen=True)
class Concatenate:
    """The fields of a `linalg_ext.concatenate`.

    Attributes:
        inputs: the operands in order, `MOST_INPUTS` at most.
        init: the destination.
        dimension: the dimension along which the inputs follow each other.
    """

    inputs: tuple[ir.Value, ...]
    init: ir.Value
    dimension: int

    @classmethod
    def of(cls, op: ir.Operation) -> Concatenate:
        """Read an op.

        Raises:
            ArgumentError: it breaks a rule.
        """
        inputs, inits = segments_of(op, (MOST_INPUTS, 1))
        if not inputs or not inits:
            raise ArityError("concatenate of nothing", expected="inputs, and a destination")
        (init,) = inits
        rank = ranked_tensor(init, "the destination").rank
        dimension = dimension_of(op, rank)
        for number, value in enumerate(inputs):
            name = f"input {number}"
            if ranked_tensor(value, name).rank != rank:
                raise ShapeError(
                    f"{name} is of type {value.type}", expected=f"rank {rank}, as of {init.type}"
                )
            check_elements(value, name, init)
        _check_sizes(inputs, init, dimension)
        check_results(op, inits)
        return cls(tuple(inputs), init, dimension)


def _check_sizes(inputs: list[ir.Value], init: ir.Value, dimension: int) -> None:
    wanted = static_sizes(init)
    known: list[tuple[int | None, str]] = [(size, "the destination") for size in wanted]
    total: int | None = 0
    at_least = 0
    for number, value in enumerate(inputs):
        for place, size in enumerate(static_sizes(value)):
            if place == dimension:
                total = None if size is None or total is None else total + size
                at_least += size or 0
                continue
            other, whose = known[place]
            if differ(size, other):
                raise ShapeError(
                    f"input {number} has size {size} in dimension {place}, {whose} has {other}",
                    expected=f"equal sizes but in dimension {dimension}",
                )
            if other is None:
                known[place] = size, f"input {number}"
    size = wanted[dimension]
    if size is not None and (differ(total, size) or at_least > size):
        found = total if total is not None else f"{at_least} or more"
        raise ShapeError(
            f"the inputs have size {found} together in dimension {dimension}, "
            f"the destination has {size}",
            expected="sizes that add up",
        )
