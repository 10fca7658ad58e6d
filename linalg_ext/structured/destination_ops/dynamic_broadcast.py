"""`linalg_ext.dynamic_broadcast_in_dim`: a tensor repeated along dimensions that the run tells.

    result[i0, i1, ...] = operand[j0, j1, ...]
    jk = 0 where dimension k of the operand expands, else i(broadcast_dimensions[k])

A dimension expands where its size is 1 and that of the result is another. `known_expanding` and
`known_nonexpanding` list dimensions of the operand of which that is known beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ShapeError
from linalg_ext.structured.destination_ops.op_fields import (
    check_elements,
    check_results,
    differ,
    dimensions_of,
    ranked_tensor,
)
from linalg_ext.structured.utils.operands import static_sizes


@dataclass(frozen=True)
class DynamicBroadcast:
    """The fields of a `linalg_ext.dynamic_broadcast_in_dim`.

    Attributes:
        operand: the tensor that is repeated.
        init: the destination.
        broadcast_dimensions: the dimension of the result for each dimension of the operand.
        known_expanding, known_nonexpanding: dimensions of the operand.
    """

    operand: ir.Value
    init: ir.Value
    broadcast_dimensions: tuple[int, ...]
    known_expanding: frozenset[int]
    known_nonexpanding: frozenset[int]

    @classmethod
    def of(cls, op: ir.Operation) -> DynamicBroadcast:
        """Read an op.

        Raises:
            ArgumentError: it breaks a rule.
        """
        operand, init = op.operands
        rank = ranked_tensor(operand, "the operand").rank
        result_rank = ranked_tensor(init, "the destination").rank
        check_elements(operand, "the operand", init)
        dims = dimensions_of(op, "broadcast_dimensions", result_rank)
        if len(dims) != rank:
            raise ArgumentError(
                f"broadcast_dimensions = {list(dims)} for an operand of type {operand.type}",
                expected=f"{rank} of them, one for each of its dimensions",
            )
        expanding, not_expanding = (
            frozenset(dimensions_of(op, name, rank, required=False))
            for name in ("known_expanding", "known_nonexpanding")
        )
        if both := expanding & not_expanding:
            raise ArgumentError(f"dimension {min(both)} is known to expand, and known not to")
        found = cls(operand, init, dims, expanding, not_expanding)
        found._check_sizes()
        check_results(op, [init])
        return found

    def expands(self, dimension: int) -> bool | None:
        """Return whether the operand is read at 0 all along a dimension; None if not known."""
        size = static_sizes(self.operand)[dimension]
        if size == 1 or dimension in self.known_expanding:
            return True
        return False if size is not None or dimension in self.known_nonexpanding else None

    def _check_sizes(self) -> None:
        sizes, results = static_sizes(self.operand), static_sizes(self.init)
        for dimension, place in enumerate(self.broadcast_dimensions):
            size, result = sizes[dimension], results[place]
            shown = f"dimension {dimension} of the operand has size {size}"
            if dimension in self.known_expanding and differ(size, 1):
                raise ShapeError(f"{shown}, and is said to expand", expected="size 1")
            may_expand = size == 1 and dimension not in self.known_nonexpanding
            if differ(size, result) and not may_expand:
                raise ShapeError(
                    f"{shown}, dimension {place} of the destination has {result}",
                    expected="equal sizes"
                    if dimension in self.known_nonexpanding
                    else "equal sizes, or size 1 in the operand",
                )
