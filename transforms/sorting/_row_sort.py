"""Sorting of one row: a short one by merges, a long one by digits where the comparator has keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir, linalg
from linalg_ext.transforms.ir_utils.tensor_loops import compare, either, empty_like

from ._merge_sort import MergeSort
from ._radix_sort import RadixSort
from ._sort_keys import keys_of


class RowSort:
    """Sorts rows of one length.

    Args:
        comparator: a block of two elements (a, b) of each tensor that yields whether a comes first.
        count: how many tensors are moved together.
        size: of a row: a number, or a value of type index.
    """

    def __init__(self, comparator: Any, count: int, size: Any) -> None:
        self._count = count
        self._size = size
        self._merges = MergeSort(comparator, count, size)
        keys = keys_of(comparator)
        self._digits = RadixSort(comparator, keys, count, size) if keys else None
        if isinstance(size, int) and self._digits is not None and size < self._digits.least_size:
            self._digits = None

    def scratch(self, given: Sequence[Any]) -> list[Any]:
        """Return the scratch tensors for tensors of given types, made at the insertion point."""
        if not self._merges.needs_spare:
            return []
        spare = [empty_like(value.type, [self._size]) for value in given]
        if self._digits is None:
            return spare
        table = ir.RankedTensorType.get([self._digits.table_size], ir.IndexType.get())
        return [*spare, empty_like(table, [self._digits.table_size])]

    @property
    def is_in_place(self) -> bool:
        """Return whether what is sorted must be where it goes."""
        return self._digits is None

    def sort(self, given: Sequence[Any], rows: Sequence[Any], scratch: Sequence[Any]) -> list[Any]:
        """The rows given, sorted, in the place of others; and the scratch, as it is then."""
        digits = self._digits
        if digits is None:
            return self._merges.sort(rows, scratch)
        *spare, table = scratch
        if isinstance(self._size, int):
            return digits.sort(given, rows, spare, table)

        def merged() -> list[Any]:
            copies = [linalg.copy(row, outs=[into]) for row, into in zip(given, rows, strict=True)]
            return [*self._merges.sort(copies, spare), table]

        return either(
            compare("sge", self._size, digits.least_size),
            lambda: digits.sort(given, rows, spare, table),
            merged,
            [*rows, *scratch],
        )
