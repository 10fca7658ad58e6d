"""Rows of which only some places are read: which these are, and a loop that finds them in each row.

Sorting all of a row takes longer than finding the elements that a sort has at a few places.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from linalg_ext.bindings import ir, vector
from linalg_ext.structured.loops import nest_over
from linalg_ext.target import current
from linalg_ext.transforms.ir_utils.tensor_loops import (
    empty_like,
    extract_slice,
    insert_slice,
    sizes_of,
)

from ._lane_sort import is_on_vectors, on_vectors, read_vector, width_in_vectors
from ._merge_sort import are_read


@dataclass(frozen=True, order=True)
class Places:
    """Places of a sorted row, from `begin` up to `end`."""

    begin: int
    end: int

    @property
    def count(self) -> int:
        return self.end - self.begin


def used_places(op: ir.Operation, dimension: int) -> list[Places] | None:
    """Return the places of each row that slices read, apart and in order; None if it may be all."""
    users = [use.owner.operation for result in op.results for use in result.uses]
    read = [_places_of(user, dimension) for user in users]
    known = [places for places in read if places is not None]
    return _joined(known) if known and len(known) == len(read) else None


def _places_of(user: ir.Operation, dimension: int) -> Places | None:
    if user.name != "tensor.extract_slice":
        return None
    offset, length, stride = (
        list(ir.DenseI64ArrayAttr(user.attributes[f"static_{name}"]))[dimension]
        for name in ("offsets", "sizes", "strides")
    )
    return Places(offset, offset + length) if min(offset, length) >= 0 and stride == 1 else None


_APART = 64
"""The distance up to which places are found together."""


def _joined(places: Iterable[Places]) -> list[Places]:
    apart: list[Places] = []
    for part in sorted(places):
        if apart and part.begin <= apart[-1].end + _APART:
            apart[-1] = Places(apart[-1].begin, max(apart[-1].end, part.end))
        else:
            apart.append(part)
    return apart


def read_from(op: ir.Operation, dimension: int, places: Sequence[Places]) -> None:
    """Have the slices of an op's results read them from places that lie one behind the other."""
    starts = [0, *itertools.accumulate(part.count for part in places)]
    for user in [use.owner.operation for result in op.results for use in result.uses]:
        read = _places_of(user, dimension)
        offsets = list(ir.DenseI64ArrayAttr(user.attributes["static_offsets"]))
        offsets[dimension] = next(
            start + read.begin - part.begin
            for part, start in zip(places, starts, strict=False)
            if read is not None and part.begin <= read.begin and read.end <= part.end
        )
        user.attributes["static_offsets"] = ir.DenseI64ArrayAttr.get(offsets)


_MOST_LANES = 32
"""Elements that are compared at a time, at most."""


class Lanes:
    """Compares elements of rows with other elements, as many at a time as a vector has lanes.

    Args:
        comparator: a block of two elements (a, b) of each tensor that yields whether a comes first.
        inputs: the tensors.

    Attributes:
        count: the number of elements at a time; 1 where the comparator takes no vectors.
    """

    def __init__(self, comparator: Any, inputs: Sequence[Any]) -> None:
        self._comparator = comparator
        self._is_key = are_read(comparator)
        widths = [
            width_in_vectors(ir.ShapedType(value.type).element_type)
            for value, is_key in zip(inputs, self._is_key, strict=True)
            if is_key
        ]
        self.count = 1
        if widths and all(widths) and is_on_vectors(comparator):
            self.count = max(2, min(_MOST_LANES, current().vector_bits // min(widths)))

    def read(self, rows: Sequence[Any], place: Any) -> list[Any]:
        """Return the elements of each row from a place on; None where they are not compared."""
        return [
            read_vector(row, [place], self.count) if is_key else None
            for row, is_key in zip(rows, self._is_key, strict=True)
        ]

    def come_before(self, left: Sequence[Any], right: Sequence[Any]) -> Any:
        """Return in which lanes the left comes first; scalars stand for themselves in each lane."""
        elements = [
            self._in_lanes(element)
            for pair in zip(left, right, self._is_key, strict=True)
            for element in (pair[:2] if pair[2] else (None, None))
        ]
        return on_vectors(self._comparator, elements, self.count)

    def _in_lanes(self, element: Any) -> Any:
        if element is None or isinstance(element.type, ir.VectorType):
            return element
        return vector.broadcast(ir.VectorType.get([self.count], element.type), element)


class Selector(Protocol):
    """Finds the elements at some places of a row.

    Attributes:
        places: these, in the order in which they are found.
    """

    places: list[Places]

    def scratch(self) -> list[Any]:
        """Return the tensors that it writes to, made at the insertion point."""
        ...

    def find(self, row: Sequence[Any], scratch: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Return the elements of a row, in order, and the scratch as it is then."""
        ...


def select(selectors: Sequence[Selector], inputs: Sequence[Any]) -> list[Any]:
    """Return the elements that selectors find in all rows, one behind the other."""
    outer, total = sizes_of(inputs[0])[:-1], length_of(selectors)
    results, start = [empty_like(value.type, [*outer, total]) for value in inputs], 0
    for selector in selectors:
        results = _selected(selector, inputs, results, start)
        start += length_of([selector])
    return results


def length_of(selectors: Iterable[Selector]) -> int:
    """Return the number of elements of each row that selectors find."""
    return sum(places.count for selector in selectors for places in selector.places)


def _selected(
    selector: Selector, inputs: Sequence[Any], results: Sequence[Any], start: int
) -> list[Any]:
    """Return the results with the elements that a selector finds, from a place of each row on."""
    *outer, size = sizes_of(inputs[0])
    count, units = len(inputs), [1] * len(outer)

    def row(indices: list[Any], carried: list[Any]) -> list[Any]:
        wholes, scratch = carried[:count], carried[count:]
        rows = [
            extract_slice(value, [*indices, 0], [*units, size], range(len(outer)))
            for value in inputs
        ]
        elements, scratch = selector.find(rows, scratch)
        sizes = [*units, length_of([selector])]
        wholes = [
            insert_slice(few, whole, [*indices, start], sizes)
            for few, whole in zip(elements, wholes, strict=True)
        ]
        return [*wholes, *scratch]

    return nest_over(outer, [*results, *selector.scratch()], row)[:count]
