"""Short rows sorted many at a time, by a network of exchanges on vectors: a row in each lane.

Elements that are neighbours in memory belong to rows that are neighbours where the dimension is not
the last; where it is, a block of rows is transposed there and back. The last block begins where it
ends with the rows: some are sorted twice.

A short network is written out. It exchanges neighbours alone, as often as it takes: it is stable.
Where one tensor is sorted by its own elements, integers, equal ones are the same, and stability
means nothing: there are networks of fewer exchanges then, each a minimum and a maximum.

A longer network is a loop over a table of such fewer exchanges. It is made stable by the places
where elements were: of equal ones the lower place comes first. A round of the loop reads the places
of several exchanges before the first: none of these reads waits for an exchange's write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from linalg_ext.bindings import arith, ir, linalg, tensor, vector
from linalg_ext.structured.constants import index
from linalg_ext.structured.destination_ops import Sort
from linalg_ext.structured.loops import counted, nest_over
from linalg_ext.target import current
from linalg_ext.transforms.ir_utils.arithmetic import as_row, constant, negated, on_rows
from linalg_ext.transforms.ir_utils.tensor_loops import (
    add,
    compare,
    empty_like,
    extract_slice,
    insert_slice,
    mul,
    parallel_generic,
    sub,
    transposed,
)
from linalg_ext.transforms.ir_utils.walking import producer

from ._radix_sort import keys_of

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

_UNROLL = 4
"""Exchanges of a table in one round of its loop."""


class LaneSort:
    """Sorts along a dimension of a few elements.

    Args:
        view: the tensors that are sorted.
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
        size, rank = shape[self._axis], len(shape)
        self._block = 0
        if not (
            rank > 1 and all(widths) and isinstance(size, int) and is_on_vectors(view.comparator)
        ):
            return
        self._size = size
        self._lanes = max(2, min(_BLOCK, current().vector_bits // min(widths)))
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
        """True where it sorts such rows in less time than merges do."""
        return self._block > 0

    @property
    def is_always(self) -> bool:
        """True where the number of rows is known to fill a block; else `has_block` tells."""
        return isinstance(self._shape[self._rows], int)

    def has_block(self) -> Any:
        """Return whether there are as many rows as a block has, an i1."""
        return compare("sge", self._shape[self._rows], self._block)

    def sort(self, inputs: Sequence[Any], into: Sequence[Any]) -> list[Any]:
        """Return the tensors sorted, in the place of others."""
        count = len(inputs)
        rows = self._shape[self._rows]
        is_across = self._rows < self._axis
        types = [value.type for value in inputs]
        if self._is_looped and not self._is_total:
            types.append(ir.RankedTensorType.get([1], ir.IntegerType.get_signless(_PLACE)))
        scratch = [empty_like(type_, [self._size, self._block]) for type_ in types]
        block_axes = {self._axis, self._rows}
        outer = [axis for axis in range(len(self._shape)) if axis not in block_axes]
        blocks = (
            -(-rows // self._block)
            if isinstance(rows, int)
            else arith.divui(add(rows, self._block - 1), index(self._block))
        )

        def block(indices: list[Any], carried: list[Any]) -> list[Any]:
            wholes, scratch = carried[:count], carried[count:]
            offsets: list[Any] = [0] * len(self._shape)
            sizes: list[Any] = [1] * len(self._shape)
            for axis, offset in zip(outer, indices, strict=False):
                offsets[axis] = offset
            sizes[self._axis], sizes[self._rows] = self._size, self._block
            last = index(sub(rows, self._block))
            offsets[self._rows] = arith.minsi(mul(indices[-1], self._block), last)

            def tiles(tensors: Sequence[Any]) -> list[Any]:
                return [extract_slice(value, offsets, sizes, set(outer)) for value in tensors]

            if not self._is_looped and not is_across:
                sorted_ = self._columns(tiles(inputs), tiles(wholes))
            else:
                order = [1, 0] if is_across else [0, 1]
                filled = _moved(tiles(inputs), scratch, order) + _element_positions(scratch[count:])
                scratch = self._columns(filled, filled)
                sorted_ = _moved(scratch, tiles(wholes), order)
            wholes = [
                insert_slice(tile, whole, offsets, sizes)
                for tile, whole in zip(sorted_, wholes, strict=True)
            ]
            return [*wholes, *scratch]

        bounds = [*(self._shape[axis] for axis in outer), blocks]
        return nest_over(bounds, [*into, *scratch], block)[:count]

    def _columns(self, inputs: Sequence[Any], into: Sequence[Any]) -> list[Any]:
        """Return the columns of a block sorted, as many at once as a vector has lanes."""

        def some(number: Any, carried: list[Any]) -> list[Any]:
            lane = mul(number, self._lanes)
            if self._is_looped:
                return self._loop(carried, lane)
            positions = [[index(row), lane] for row in range(self._size)]
            columns = self._read(inputs, positions)
            for first, second in self._network():
                columns[first], columns[second] = self._exchange(columns[first], columns[second])
            for position, elements in zip(positions, columns, strict=True):
                carried = write_vectors(elements, carried, position)
            return carried

        return counted(0, self._block // self._lanes, into, some)

    def _loop(self, tensors: Sequence[Any], lane: Any) -> list[Any]:
        """Return the exchanges of a table, one after another, in place."""
        pairs = list(_merges(self._size))
        # An exchange of an element with itself changes nothing.
        pairs += [(0, 0)] * (-len(pairs) % _UNROLL)
        rounds = np.array(pairs, np.int16).reshape(-1, 2 * _UNROLL)
        type_ = ir.RankedTensorType.get(rounds.shape, ir.IntegerType.get_signless(16))
        attribute: Any = ir.DenseElementsAttr.get
        constant_op: Any = arith.ConstantOp
        table = constant_op(type_, attribute(rounds, type=type_.element_type)).result
        exchange = self._exchange if self._is_total else self._by_position

        def exchanges(number: Any, carried: list[Any]) -> list[Any]:
            rows = [
                arith.index_castui(
                    ir.IndexType.get(), tensor.extract(table, [number, index(column)])
                )
                for column in range(2 * _UNROLL)
            ]
            for pair in zip(rows[::2], rows[1::2], strict=True):
                positions = [[row, lane] for row in pair]
                columns = exchange(*self._read(carried, positions))
                for position, elements in zip(positions, columns, strict=True):
                    carried = write_vectors(elements, carried, position)
            return carried

        return counted(0, len(rounds), tensors, exchanges)

    def _read(self, tensors: Sequence[Any], positions: Sequence[Any]) -> list[list[Any]]:
        """Return vectors of each tensor, at each position."""
        return [[read_vector(source, at, self._lanes) for source in tensors] for at in positions]

    def _network(self) -> list[tuple[int, int]]:
        return list((_merges if self._is_total else _neighbours)(self._size))

    def _selected(self, first: list[Any], second: list[Any]) -> tuple[list[Any], list[Any]]:
        return swapped(self._comes_before(second, first), first, second)

    def _by_position(self, first: list[Any], second: list[Any]) -> tuple[list[Any], list[Any]]:
        """Exchange elements whose last values are positions; lower ones win ties."""
        *first_elements, first_position = first
        *second_elements, second_position = second
        is_behind = self._comes_before(second_elements, first_elements)
        is_before = self._comes_before(first_elements, second_elements)
        is_lower = arith.cmpi(arith.CmpIPredicate.ult, second_position, first_position)
        is_equal_and_lower = arith.andi(negated(is_before), is_lower)
        return swapped(arith.ori(is_behind, is_equal_and_lower), first, second)

    def _comes_before(self, left: list[Any], right: list[Any]) -> Any:
        elements = [element for pair in zip(left, right, strict=True) for element in pair]
        return on_vectors(self._comparator, elements, self._lanes)


def _moved(tensors: Sequence[Any], into: Sequence[Any], order: Sequence[int]) -> list[Any]:
    """Return tensors in the place of others, their dimensions in another order."""
    return [transposed(value, init, order) for value, init in zip(tensors, into, strict=False)]


def _element_positions(tensors: Sequence[Any]) -> list[Any]:
    """Build tensors of positions along the first dimension."""

    def position_of(arguments: Sequence[Any]) -> Any:
        return arith.index_cast(arguments[0].type, linalg.IndexOp(0).result)

    return [parallel_generic([], init, [], position_of) for init in tensors]


def swapped(
    condition: Any, first: Sequence[Any], second: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Return two rows of values, exchanged where a condition holds."""
    pairs = list(zip(first, second, strict=True))
    return (
        [arith.select(condition, b, a) for a, b in pairs],
        [arith.select(condition, a, b) for a, b in pairs],
    )


def _minimum_and_maximum(view: Sort) -> Callable[[Any, Any], Any] | None:
    """Return an exchange of elements that are their own keys; None where equal ones may differ."""
    keys = keys_of(view.comparator) or []
    if len(view.inputs) > 1 or len(keys) != 1:
        return None
    (key,) = keys
    if key.value != view.comparator.arguments[0] or isinstance(key.value.type, ir.FloatType):
        return None
    least, most = (arith.minsi, arith.maxsi) if key.is_signed else (arith.minui, arith.maxui)
    if key.is_descending:
        least, most = most, least
    return lambda a, b: ([least(*a, *b)], [most(*a, *b)])


def _neighbours(size: int) -> Iterator[tuple[int, int]]:
    """Yield exchanges of neighbours that sort: each element sinks past those before it."""
    for last in range(1, size):
        for second in range(last, 0, -1):
            yield second - 1, second


def _merges(size: int) -> Iterator[tuple[int, int]]:
    """Yield Batcher's odd-even merges, https://doi.org/10.1145/1468075.1468121, for any size."""
    run = 1
    while run < size:
        step = run
        while step:
            for start in range(step % run, size - step, 2 * step):
                for first in range(start, min(start + step, size - step)):
                    if first // (2 * run) == (first + step) // (2 * run):
                        yield first, first + step
            step //= 2
        run *= 2


def is_on_vectors(block: Any) -> bool:
    """Return whether all that a block does to scalars may be done to vectors."""
    *ops, last = (op.operation for op in block.operations)
    condition = producer(last.operands[0])
    if condition not in ops or condition.name == "arith.constant":
        return False
    return all(op.name.startswith(("arith.", "math.")) and len(op.results) == 1 for op in ops)


def width_in_vectors(type_: Any) -> int:
    """Return the bits of an element that vectors hold as memory does; 0 for another one."""
    if isinstance(type_, ir.IntegerType):
        return type_.width if type_.width in (8, 16, 32, 64) else 0
    return {"f32": 32, "f64": 64, "index": 64}.get(str(type_), 0)


def read_vector(source: Any, position: Sequence[Any], lanes: int) -> Any:
    """Return `lanes` elements of a row of a tensor, all in bounds."""
    type_ = ir.VectorType.get([lanes], source.type.element_type)
    along = ir.AffineMapAttr.get(ir.AffineMap.get_minor_identity(len(position), 1))
    none = constant(source.type.element_type, 0)
    return vector.TransferReadOp(type_, source, position, along, none, in_bounds=[True]).result


def write_vectors(values: Sequence[Any], into: Sequence[Any], position: Sequence[Any]) -> list[Any]:
    """Write a vector into a row of each tensor, all at one position."""
    along = ir.AffineMapAttr.get(ir.AffineMap.get_minor_identity(len(position), 1))
    return [
        vector.TransferWriteOp(target.type, value, target, position, along, in_bounds=[True]).result
        for value, target in zip(values, into, strict=True)
    ]


def on_vectors(block: Any, values: Sequence[Any], lanes: int) -> Any:
    """Return the yield of a block of operations on scalars, computed on vectors instead.

    A value may be None where the block does not read it.
    """
    replacements: dict[Any, Any] = dict(zip(block.arguments, values, strict=True))
    *ops, last = (op.operation for op in block.operations)
    for op in ops:
        replacements.update(zip(op.results, on_rows(op, op.operands, replacements), strict=True))
    return as_row(replacements[last.operands[0]], lanes)
