"""Short rows sorted many at a time, by a network of exchanges on vectors: a row in each lane.

Elements that are neighbours in memory belong to rows that are neighbours where the dimension is not
the last; where it is, a block of rows is transposed there and back. The last block begins where it
ends with the rows: some are sorted twice.

A short network is written out. It exchanges neighbours alone, as often as it takes: it is stable.
Where one tensor is sorted by its own elements, integers, equal ones are the same, and stability
means nothing: there are networks of fewer exchanges then, each a minimum and a maximum.

A longer network is a loop over a table of such fewer exchanges. It is made stable by the places
where elements were: of equal ones the lower place comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from linalg_ext.bindings import arith, ir, linalg, tensor
from linalg_ext.structured.destination_ops import Sort
from linalg_ext.target import current
from linalg_ext.transforms.ir_utils.arithmetic import index, negated
from linalg_ext.transforms.ir_utils.tensor_loops import (
    add,
    compare,
    counted,
    empty_like,
    extract_slice,
    insert_slice,
    mul,
    nest,
    parallel_generic,
    sub,
    transposed,
)

from ._sort_keys import SortKey, keys_of
from ._vector_comparator import (
    is_on_vectors,
    on_vectors,
    read_vector,
    width_in_vectors,
    write_vectors,
)

_MOST_SELECTIONS = 500
"""The most selections of a network that is written out: the code grows with them."""

_LONGEST = 1024
"""Row that a loop over a table sorts in less time than digits do, where stability means nothing."""

_LONGEST_STABLE = 192
"""The same where places are compared, too."""

_FOR_LANES, _FOR_LANES_STABLE = 16, 3
"""The same for few lanes: by their square, as wide elements have fewer and slower instructions."""

_PLACE = 32
"""Bits of a place."""

_BLOCK = 64
"""Rows that are transposed at a time."""


class LaneSort:
    """Sorts along a dimension of a few elements.

    Args:
        view: what is sorted.
        shape: of the inputs, each size a number or a value of type index.
    """

    def __init__(self, view: Sort, shape: Sequence[Any]) -> None:
        self._comparator = view.comparator
        self._shape = shape
        self._axis = view.dimension
        total = _minimum_and_maximum(view)
        self._is_total = total is not None
        self._exchange = total or self._selected
        widths = [width_in_vectors(ir.ShapedType(value.type).element_type) for value in view.inputs]
        size = shape[self._axis]
        rank = len(shape)
        self._block = 0
        if (
            rank < 2
            or None in widths
            or not isinstance(size, int)
            or not is_on_vectors(view.comparator)
        ):
            return
        self._size = size
        self._lanes = max(2, min(_BLOCK, current().vector_bits // min(w for w in widths if w)))
        longest, for_lanes = (
            (_LONGEST, _FOR_LANES) if self._is_total else (_LONGEST_STABLE, _FOR_LANES_STABLE)
        )
        if not 2 <= size <= longest:
            return
        self._is_looped = (1 + len(widths)) * len(self._network()) > _MOST_SELECTIONS
        if self._is_looped and size > for_lanes * self._lanes**2:
            return
        self._rows = rank - 1 if self._axis < rank - 1 else rank - 2
        rows = shape[self._rows]
        self._block = min(_BLOCK, rows - rows % self._lanes) if isinstance(rows, int) else _BLOCK

    @property
    def is_worth_it(self) -> bool:
        """Return whether it sorts such rows in less time than merges do."""
        return self._block > 0

    @property
    def is_always(self) -> bool:
        """Return whether there are as many rows as a block has; else `has_block` tells when it
        runs.
        """
        return isinstance(self._shape[self._rows], int)

    def has_block(self) -> Any:
        """Return whether there are as many rows as a block has, an i1."""
        return compare("sge", self._shape[self._rows], self._block)

    def sort(self, given: Sequence[Any], into: Sequence[Any]) -> list[Any]:
        """Tensors sorted, in the place of others."""
        count = len(given)
        rows = self._shape[self._rows]
        is_across = self._rows < self._axis
        types = [each.type for each in given]
        if self._is_looped and not self._is_total:
            types.append(ir.RankedTensorType.get([1], ir.IntegerType.get_signless(_PLACE)))
        scratch = [empty_like(type_, [self._size, self._block]) for type_ in types]
        kept = {self._axis, self._rows}
        outer = [axis for axis in range(len(self._shape)) if axis not in kept]
        blocks = -(-rows // self._block) if isinstance(rows, int) else _blocks(rows, self._block)

        def block(places: list[Any], carried: list[Any]) -> list[Any]:
            wholes, scratch = carried[:count], carried[count:]
            offsets: list[Any] = [0] * len(self._shape)
            sizes: list[Any] = [1] * len(self._shape)
            for axis, place in zip(outer, places, strict=False):
                offsets[axis] = place
            sizes[self._axis], sizes[self._rows] = self._size, self._block
            last = index(sub(rows, self._block))
            offsets[self._rows] = arith.minsi(mul(places[-1], self._block), last)

            def tiles(tensors: Sequence[Any]) -> list[Any]:
                return [extract_slice(each, offsets, sizes, set(outer)) for each in tensors]

            if not self._is_looped and not is_across:
                made = self._columns(tiles(given), tiles(wholes))
            else:
                order = [1, 0] if is_across else [0, 1]
                filled = _moved(tiles(given), scratch, order) + _places(scratch[count:])
                scratch = self._columns(filled, filled)
                made = _moved(scratch, tiles(wholes), order)
            found = [
                insert_slice(tile, whole, offsets, sizes)
                for tile, whole in zip(made, wholes, strict=True)
            ]
            return [*found, *scratch]

        bounds = [*(self._shape[axis] for axis in outer), blocks]
        return nest(bounds, [*into, *scratch], block)[:count]

    def _columns(self, given: Sequence[Any], into: Sequence[Any]) -> list[Any]:
        """The columns of a block sorted, as many at once as a vector has lanes."""

        def some(number: Any, carried: list[Any]) -> list[Any]:
            lane = mul(number, self._lanes)
            if self._is_looped:
                return self._loop(carried, lane)
            places = [[index(at), lane] for at in range(self._size)]
            held = [[read_vector(each, place, self._lanes) for each in given] for place in places]
            for first, second in self._network():
                held[first], held[second] = self._exchange(held[first], held[second])
            made = list(carried)
            for place, elements in zip(places, held, strict=True):
                made = write_vectors(elements, made, place)
            return made

        return counted(0, self._block // self._lanes, into, some)

    def _loop(self, tensors: Sequence[Any], lane: Any) -> list[Any]:
        """The exchanges of a table, one after another, in place."""
        pairs = np.array(list(_merges(self._size)), np.int16)
        type_ = ir.RankedTensorType.get(pairs.shape, ir.IntegerType.get_signless(16))
        attribute: Any = ir.DenseElementsAttr.get
        constant_op: Any = arith.ConstantOp
        table = constant_op(type_, attribute(pairs, type=type_.element_type)).result

        def one(number: Any, carried: list[Any]) -> list[Any]:
            found = [tensor.extract(table, [number, index(side)]) for side in range(2)]
            places = [[arith.index_castui(ir.IndexType.get(), at), lane] for at in found]
            pair = [[read_vector(each, place, self._lanes) for each in carried] for place in places]
            exchange = self._exchange if self._is_total else self._by_place
            for place, elements in zip(places, exchange(*pair), strict=True):
                carried = write_vectors(elements, carried, place)
            return carried

        return counted(0, len(pairs), tensors, one)

    def _network(self) -> list[tuple[int, int]]:
        return list((_merges if self._is_total else _neighbours)(self._size))

    def _selected(self, first: list[Any], second: list[Any]) -> tuple[list[Any], list[Any]]:
        return _swapped(self._comes_before(second, first), first, second)

    def _by_place(self, first: list[Any], second: list[Any]) -> tuple[list[Any], list[Any]]:
        """The same where the last of the elements are places."""
        *first_elements, first_place = first
        *second_elements, second_place = second
        is_behind = self._comes_before(second_elements, first_elements)
        is_before = self._comes_before(first_elements, second_elements)
        is_lower = arith.cmpi(arith.CmpIPredicate.ult, second_place, first_place)
        is_equal_and_lower = arith.andi(negated(is_before), is_lower)
        return _swapped(arith.ori(is_behind, is_equal_and_lower), first, second)

    def _comes_before(self, left: list[Any], right: list[Any]) -> Any:
        given = [element for pair in zip(left, right, strict=True) for element in pair]
        return on_vectors(self._comparator, given, self._lanes)


def _blocks(rows: Any, block: int) -> Any:
    return arith.divui(add(rows, block - 1), index(block))


def _moved(given: Sequence[Any], into: Sequence[Any], order: Sequence[int]) -> list[Any]:
    """Tensors in the place of others, their dimensions in another order."""
    return [transposed(each, other, order) for each, other in zip(given, into, strict=False)]


def _places(tensors: Sequence[Any]) -> list[Any]:
    """Tensors of places along the first dimension."""

    def place(arguments: Sequence[Any]) -> Any:
        return arith.index_cast(arguments[0].type, linalg.IndexOp(0).result)

    return [parallel_generic([], each, [], place) for each in tensors]


def _swapped(
    condition: Any, first: Sequence[Any], second: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Two rows of values, exchanged where a condition holds."""
    pairs = list(zip(first, second, strict=True))
    return (
        [arith.select(condition, b, a) for a, b in pairs],
        [arith.select(condition, a, b) for a, b in pairs],
    )


def _minimum_and_maximum(view: Sort) -> Callable[[Any, Any], Any] | None:
    """Return an exchange of elements that are their own keys; None where equal ones may differ."""
    keys = keys_of(view.comparator) or []
    if len(view.inputs) > 1 or not _is_its_own(keys, view.comparator):
        return None
    (key,) = keys
    least, most = (arith.minsi, arith.maxsi) if key.is_signed else (arith.minui, arith.maxui)
    if key.is_descending:
        least, most = most, least
    return lambda a, b: ([least(*a, *b)], [most(*a, *b)])


def _is_its_own(keys: Sequence[SortKey], comparator: Any) -> bool:
    if len(keys) != 1:
        return False
    value = keys[0].value
    return value == comparator.arguments[0] and not isinstance(value.type, ir.FloatType)


def _neighbours(size: int) -> Iterator[tuple[int, int]]:
    """Exchanges of neighbours that sort: each element sinks past those before it."""
    for last in range(1, size):
        for at in range(last, 0, -1):
            yield at - 1, at


def _merges(size: int) -> Iterator[tuple[int, int]]:
    """Batcher's odd-even merges, https://doi.org/10.1145/1468075.1468121, for any size."""
    run = 1
    while run < size:
        step = run
        while step:
            for start in range(step % run, size - step, 2 * step):
                for at in range(start, min(start + step, size - step)):
                    if at // (2 * run) == (at + step) // (2 * run):
                        yield at, at + step
            step //= 2
        run *= 2
