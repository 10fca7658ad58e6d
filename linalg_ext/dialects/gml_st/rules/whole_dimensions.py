"""Ops with a dimension that stays whole, and independent rows across it: scan, sort, softmax."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from linalg_ext.bindings import ir
from linalg_ext.dialects.gml_st.rules.protocol import Pair, Rule, known_size
from linalg_ext.structured.destination_ops import Scan, Sort
from linalg_ext.structured.sizes import sizes_of
from linalg_ext.symbolic.index_sets import Tile
from linalg_ext.symbolic.integers import Number


class ScanRule(Rule):
    """`linalg_ext.scan`. The domain is the indices of the first result."""

    is_cheap = False

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self._view = Scan.of(op)
        # The operands of the first result's shape: the inputs, and its destination.
        self._long = len(self._view.inputs) + 1
        self.destinations = tuple(range(self._long - 1, len(op.operands)))

    def _sizes(self) -> Sequence[Number]:
        return _agreed_sizes(list(self.op.operands)[: self._long])

    def _whole(self, sizes: Sequence[Number]) -> Sequence[int]:
        return [self._view.dimension]

    def _parts(self, part: Tile) -> Sequence[Tile]:
        across = [self._across(part)] * (len(self.op.operands) - self._long)
        return [*[part] * self._long, *across]

    def part_for_result(self, result_part: Tile, number: int = 0) -> Tile:
        """The part of the domain that computes a part of the result."""
        if number == 0:
            return super().part_for_result(result_part)
        whole, dim = self.domain.all, self._view.dimension
        return Tile(
            *(
                (*numbers[:dim], whole_numbers[dim], *numbers[dim:])
                for numbers, whole_numbers in (
                    (result_part.offsets, whole.offsets),
                    (result_part.sizes, whole.sizes),
                    (result_part.strides, whole.strides),
                )
            )
        )

    def part_of_result(self, part: Tile, number: int = 0) -> Tile:
        """The part of a result that a part of the domain computes."""
        self.check_part(part)
        return part if number == 0 else self._across(part)

    def _equal_sizes(self) -> Iterable[Pair]:
        operands = list(self.op.operands)
        expected_sizes = [self.domain.sizes] * self._long
        expected_sizes += [self._without(self.domain.sizes)] * (len(operands) - self._long)
        return [
            pair
            for value, sizes in zip(operands, expected_sizes, strict=True)
            for pair in zip(sizes_of(value), sizes, strict=True)
        ]

    def _across(self, part: Tile) -> Tile:
        return Tile(*map(self._without, (part.offsets, part.sizes, part.strides)))

    def _without(self, numbers: Sequence[Number]) -> tuple[Number, ...]:
        dim = self._view.dimension
        return (*numbers[:dim], *numbers[dim + 1 :])


class SortRule(Rule):
    """`linalg_ext.sort`. The domain is the indices of the results, which are all of one shape."""

    is_cheap = False

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self._view = Sort.of(op)
        count = len(self._view.inputs)
        self.destinations = tuple(range(count, 2 * count))

    def _sizes(self) -> Sequence[Number]:
        return _agreed_sizes(self.op.operands)

    def _whole(self, sizes: Sequence[Number]) -> Sequence[int]:
        return [self._view.dimension]

    def _parts(self, part: Tile) -> Sequence[Tile]:
        return [part] * len(self.op.operands)

    def _equal_sizes(self) -> Iterable[Pair]:
        return [
            pair
            for value in self.op.operands
            for pair in zip(sizes_of(value), self.domain.sizes, strict=True)
        ]


class SoftmaxRule(Rule):
    """`linalg.softmax`: the dimension of the sums is never cut."""

    is_cheap = False

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self.destinations = (1,)

    def _sizes(self) -> Sequence[Number]:
        return sizes_of(self.op.operands[0])

    def _whole(self, sizes: Sequence[Number]) -> Sequence[int]:
        return [ir.IntegerAttr(self.op.attributes["dimension"]).value]

    def _parts(self, part: Tile) -> Sequence[Tile]:
        return part, part


def _agreed_sizes(values: Sequence[ir.Value]) -> list[Number]:
    """The sizes of values of one shape; a static size is preferred in each dimension."""
    return [known_size(*sizes) for sizes in zip(*map(sizes_of, values), strict=True)]
