"""Vectors of elements that lie side by side, and the body of a nest on them.

An op on vectors is the op on scalars with vectors for operands. Positions become vectors along the
innermost loop. A load gives one element for all lanes, contiguous elements, or elements from
anywhere. Truth values are a byte each in memory, a bit each in a vector: a vector of i1 would be
loaded as packed bits. LLVM's memory of i1 is that of i8, and so are the descriptors of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from linalg_ext.bindings import arith, ir, memref, vector
from linalg_ext.structured.constants import index
from linalg_ext.structured.loops import counted
from linalg_ext.transforms.codegen.base.blocked_sums import add_compensated, negative_zero
from linalg_ext.transforms.codegen.base.transposition import transposed
from linalg_ext.transforms.ir_utils.arithmetic import as_row, constant, known_index, on_rows
from linalg_ext.transforms.ir_utils.generics import loop_of
from linalg_ext.transforms.ir_utils.walking import ops_of, producer

from .loop_nests import LOAD, Nest, is_in_rows

_EXTREMA = ("arith.maximumf", "arith.minimumf")

Key = tuple[Any, tuple[Any, ...]]
"""A memref and the positions along its axes: values, but None for 0 and for the vector's own."""


@dataclass(frozen=True)
class Member:
    """A nest in a loop, and the positions of the loops around it."""

    nest: Nest
    ivs: tuple[Any, ...]


@dataclass
class Pass:
    """One round of one of the loops.

    Attributes:
        lanes: elements of a vector.
        at: the position of the first lane in the row.
        mask: the elements that are in the row; None for all.
        streams: whether vectors are whole and aligned in the memory that is streamed to.
        fresh: the elements that no earlier round had; None for all in the mask.
        rows: vectors that were loaded or computed, by their memory and positions.
        stores: the vectors to store, and their positions.
    """

    lanes: int
    at: Any
    mask: Any | None
    streams: bool
    fresh: Any | None = None
    rows: dict[Key, Any] = field(default_factory=dict)
    stores: dict[Key, tuple[Any, list[Any]]] = field(default_factory=dict)


def computed(member: Member, depth: int, values: Sequence[Any], pass_: Pass | None) -> list[Any]:
    """Return the values that the body yields for these elements: rows, or scalars without a pass.

    Args:
        member: the nest, and the positions of its outer loops.
        depth: the loop over vectors.
        values: the elements of the operands; None for those that the body does not read.
        pass_: the round of loop `depth`; None outside of it.
    """
    results = of_body(member, depth, values, pass_, member.nest.yielded)
    return results if pass_ is None else [as_row(value, pass_.lanes) for value in results]


def of_body(
    member: Member,
    depth: int,
    values: Sequence[Any],
    pass_: Pass | None,
    requested: Sequence[Any],
) -> list[Any]:
    """Compute values of the body that do not depend on operands that are None."""
    body = member.nest.body
    vectors: dict[Any, Any] = dict(zip(body.arguments, values, strict=True))
    outputs = list(body.arguments)[member.nest.inputs :]
    for op in ops_of(body):
        if op.name == "linalg.yield":
            break
        if any(value in vectors and vectors[value] is None for value in op.operands):
            vectors.update(dict.fromkeys(op.results))
            continue
        if op.name == "linalg.index":
            results = [_position(member, depth, op, pass_)]
        elif op.name == LOAD and pass_ is not None:
            results = [_loaded(op, vectors, pass_)]
        else:
            results = on_rows(op, _old_last(op, outputs), vectors)
        vectors.update(zip(op.results, results, strict=True))
    return [vectors.get(value, value) for value in requested]


def _old_last(op: Any, outputs: Sequence[Any]) -> list[Any]:
    """Return the operands of an op; the old output is the last operand of an extremum of floats.

    LLVM selects the first where it is NaN. If that was loaded from where the result goes, the store
    would get a mask, which some machines store element by element.
    """
    operands = list(op.operands)
    return operands[::-1] if op.name in _EXTREMA and operands[0] in outputs else operands


def _position(member: Member, depth: int, op: Any, pass_: Pass | None) -> Any:
    dim = loop_of(op)
    if dim < depth or pass_ is None:
        return member.ivs[dim]
    type_ = row_type(pass_.lanes, ir.IndexType.get())
    return arith.addi(vector.broadcast(type_, pass_.at), vector.step(type_))


def _loaded(op: Any, vectors: Mapping[Any, Any], pass_: Pass) -> Any:
    source, *places = op.operands
    where = [vectors.get(place, place) for place in places]
    is_along = [isinstance(place.type, ir.VectorType) for place in where]
    if not any(is_along):
        return memref.load(source, where)
    last = producer(places[-1])
    is_position = last is not None and last.name == "linalg.index"
    if is_position and not any(is_along[:-1]) and is_in_rows(source.type):
        return load_row(source, [*where[:-1], pass_.at], pass_.lanes, pass_.mask)
    return gather_row(source, where, pass_.lanes, pass_.mask)


_FAR = 1 << 47
"""More elements than memory has."""


def row_type(lanes: int, element: Any) -> Any:
    return ir.VectorType.get([lanes], element)


def load_row(source: Any, where: Sequence[Any], lanes: int, mask: Any | None) -> Any:
    """Load a vector from a position on; where the mask is off, nothing is read and a lane is 0."""
    if is_truth(source.type):
        return _as_truth(load_row(_as_bytes(source), where, lanes, mask))
    type_ = row_type(lanes, source.type.element_type)
    if mask is None:
        return vector.load(type_, source, where)
    return vector.maskedload(type_, source, where, mask, constant(type_, 0))


def gather_row(source: Any, places: Sequence[Any], lanes: int, mask: Any | None) -> Any:
    """Load elements from anywhere; where the mask is off, nothing is read and the lane is 0.

    Args:
        source: a memref with strides.
        places: for each axis the index: one for all lanes, or a vector of them.
        lanes: of the vector.
        mask: None for all lanes.
    """
    if is_truth(source.type):
        return _as_truth(gather_row(_as_bytes(source), places, lanes, mask))
    metadata = memref.ExtractStridedMetadataOp(source)
    known, _ = source.type.get_strides_and_offset()
    index_type = row_type(lanes, ir.IndexType.get())
    where = constant(index_type, 0)
    for place, stride, open_ in zip(places, known, metadata.strides, strict=True):
        is_open = source.type.is_dynamic_stride_or_offset(stride)
        step = as_row(open_ if is_open else index(stride), lanes)
        where = arith.addi(where, arith.muli(as_row(place, lanes), step))
    truth = row_type(lanes, ir.IntegerType.get_signless(1))
    type_ = row_type(lanes, source.type.element_type)
    return vector.gather(
        type_,
        _as_line(source, metadata.offset),
        [index(0)],
        where,
        constant(truth, 1) if mask is None else mask,
        constant(type_, 0),
    )


def _as_line(source: Any, offset: Any) -> Any:
    """Return a memref as one axis without an end: its elements and the gaps between them."""
    open_ = ir.ShapedType.get_dynamic_stride_or_offset()
    gap = ir.ShapedType.get_dynamic_size()
    type_ = ir.MemRefType.get(
        [gap],
        source.type.element_type,
        ir.StridedLayoutAttr.get(open_, [1]),
        source.type.memory_space,
    )
    end = index(_FAR)
    return memref.ReinterpretCastOp(type_, source, [offset], [end], [], [open_], [gap], [1]).result


def load_across(source: Any, places: Iterable[Sequence[Any]], count: int) -> list[Any]:
    """Vectors whose neighbours lie across memory: a square is loaded, and transposed.

    The places are where `count` elements lie side by side, for each lane.
    """
    loadable = _as_bytes(source) if is_truth(source.type) else source
    element = loadable.type.element_type
    type_ = row_type(count, element)
    # The bits are moved: some machines would convert narrow floats.
    bits = row_type(count, ir.IntegerType.get_signless(element.width))
    columns = [arith.bitcast(bits, vector.load(type_, loadable, where)) for where in places]
    rows = [
        arith.bitcast(row_type(len(columns), element), row)
        for row in transposed(columns, count, vector.shuffle)
    ]
    return [_as_truth(row) for row in rows] if is_truth(source.type) else rows


def store_row(
    value: Any,
    target: Any,
    where: Sequence[Any],
    mask: Any | None,
    past_caches: int | None,
    *,
    has_masks: bool = True,
) -> None:
    """Write a vector from a position of a memref on, in all lanes or where the mask is on.

    It goes past the caches where it is aligned to `past_caches` bytes. Without `has_masks` a part
    of a known length is written in pieces: a store under a mask takes some machines 10 cycles.
    """
    if is_truth(target.type):
        target = _as_bytes(target)
        value = arith.extui(row_type(value.type.shape[0], target.type.element_type), value)
    count = None if mask is None or has_masks else _first_of(mask)
    if count is not None:
        _store_first(value, target, where, count)
    elif mask is not None:
        vector.maskedstore(target, where, mask, value)
    elif past_caches is not None:
        vector.store(value, target, where, nontemporal=True, alignment=past_caches)
    else:
        vector.store(value, target, where)


def _first_of(mask: Any) -> int | None:
    """Return how many lanes of a mask are on, the first ones; None if that is not known."""
    op = producer(mask)
    if op is None or op.name != "vector.create_mask":
        return None
    count = producer(op.operands[0])
    if count is None or count.name != "arith.subi":
        return known_index(op.operands[0])
    end, begin = map(known_index, count.operands)
    return None if end is None or begin is None else end - begin


def _store_first(value: Any, target: Any, where: Sequence[Any], count: int) -> None:
    """Write the first elements of a vector."""
    *outer, last = where
    first = 0
    for width in (1 << bit for bit in reversed(range(count.bit_length()))):
        if not count & width:
            continue
        lanes = list(range(first, first + width))
        piece = vector.shuffle(value, value, lanes)
        vector.store(piece, target, [*outer, arith.addi(last, index(first))])
        first += width


def is_truth(type_: Any) -> bool:
    return str(type_.element_type) == "i1"


def _as_bytes(buffer: Any) -> Any:
    """Return a memref of i1 as one of i8; the cast is gone when both are LLVM's."""
    type_ = buffer.type
    byte = ir.IntegerType.get_signless(8)
    bytes_ = ir.MemRefType.get(type_.shape, byte, type_.layout, type_.memory_space)
    return ir.Operation.create(
        "builtin.unrealized_conversion_cast", results=[bytes_], operands=[buffer]
    ).results[0]


def _as_truth(bytes_: Any) -> Any:
    return arith.cmpi(arith.CmpIPredicate.ne, bytes_, constant(bytes_.type, 0))


def first_lanes(lanes: int, count: Any) -> Any:
    """Return the mask of the first `count` lanes."""
    return vector.create_mask(row_type(lanes, ir.IntegerType.get_signless(1)), [count])


def whole_steps(low: Any, high: Any, step: int) -> Any:
    """Return the end of the last whole step from `low`: `low` where none is known to fit."""
    if isinstance(low, int) and isinstance(high, int):
        return high - (high - low) % step if high - low >= step else low
    rest = high if isinstance(low, int) and low == 0 else arith.subi(high, index(low))
    return arith.subi(high, arith.remui(rest, index(step)))


def is_same(first: Any, second: Any) -> bool:
    """Return whether two positions are known to be equal: as numbers, or as one SSA value."""
    return type(first) is type(second) and bool(first == second)


def size_of(nest: Nest, dim: int) -> Any:
    static = nest.static_extent(dim)
    if static is not None:
        return index(static)
    source, axis = next(nest.extents(dim))
    return memref.dim(source, index(axis))


def in_blocks(
    bounds: tuple[Any, Any, Any],
    starts: Sequence[Any],
    sums: Sequence[int],
    block: Callable[[Any, Any, list[Any]], list[Any]],
    *,
    is_even: bool = False,
) -> list[Any]:
    """Emit a loop over blocks of rounds, whose sums are added with compensation.

    Args:
        bounds: where the loop begins and ends, and the steps of a block: a number or an index each.
        starts: the values that the loop carries.
        sums: the numbers of those that are sums of floats.
        block: emits the rounds from one index to another, given the carried values; returns the
            new ones, and for sums those of the block alone.
        is_even: True where the last block is as long as the others.
    """
    low, high, step = bounds
    zeros = [negative_zero(starts[at].type) for at in sums]

    def one_block(begin: Any, carried: list[Any]) -> list[Any]:
        totals, errors = carried[: len(starts)], carried[len(starts) :]
        end: Any = arith.addi(begin, index(step))
        if not is_even:
            end = arith.minui(end, index(high))
        values = block(begin, end, totals)
        for place, at in enumerate(sums):
            values[at], errors[place] = add_compensated(totals[at], errors[place], values[at])
        return [*values, *errors]

    return counted(low, high, [*starts, *zeros], one_block, step)[: len(starts)]
