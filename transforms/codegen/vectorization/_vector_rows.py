"""Vectors of elements that lie side by side: how they are loaded, computed and stored.

Truth values are a byte each in memory, a bit each in a vector: a vector of i1 would be loaded as
packed bits. LLVM's memory of i1 is that of i8, and so are the descriptors of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from linalg_ext.bindings import arith, ir, memref, vector
from linalg_ext.transforms.codegen.base.transposition import transposed
from linalg_ext.transforms.ir_utils.arithmetic import constant, index

_FAR = 1 << 47
"""More elements than memory has."""


def row_type(lanes: int, element: Any) -> Any:
    """The type of a vector."""
    return ir.VectorType.get([lanes], element)


def as_row(value: Any, lanes: int) -> Any:
    """A value as a vector: a scalar in every lane."""
    if isinstance(value.type, ir.VectorType):
        return value
    return vector.broadcast(row_type(lanes, value.type), value)


def on_rows(op: Any, operands: Iterable[Any], known: Mapping[Any, Any]) -> list[Any]:
    """The results of an op of a body on vectors; on scalars where all its operands are.

    Args:
        op: the op.
        operands: its operands, in the order in which it is to take them.
        known: what its operands are, where they are not themselves.
    """
    operands = [known.get(value, value) for value in operands]
    lanes = next((v.type.shape[0] for v in operands if isinstance(v.type, ir.VectorType)), None)
    types = [value.type for value in op.results]
    if lanes is not None:
        operands = [as_row(value, lanes) for value in operands]
        types = [row_type(lanes, type_) for type_ in types]
    attributes = {name: op.attributes[name] for name in op.attributes}
    made = ir.Operation.create(op.name, results=types, operands=operands, attributes=attributes)
    return list(made.results)


def load_row(source: Any, where: Sequence[Any], lanes: int, mask: Any | None) -> Any:
    """A vector from a position on; where the mask is off, nothing is read and the lane is 0."""
    if is_truth(source.type):
        return _as_truth(load_row(_as_bytes(source), where, lanes, mask))
    type_ = row_type(lanes, source.type.element_type)
    if mask is None:
        return vector.load(type_, source, where)
    return vector.maskedload(type_, source, where, mask, constant(type_, 0))


def gather_row(source: Any, places: Sequence[Any], lanes: int, mask: Any | None) -> Any:
    """A vector of elements from anywhere; where the mask is off, nothing is read and the lane is 0.

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
    """A memref as one axis without an end: its elements, and what lies between them."""
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

    Args:
        source: a memref.
        places: where `count` elements lie side by side, for each lane.
        count: how many vectors.
    """
    seen = _as_bytes(source) if is_truth(source.type) else source
    element = seen.type.element_type
    type_ = row_type(count, element)
    # Some machines know a float only by converting it; what moves here is its bits.
    bits = row_type(count, ir.IntegerType.get_signless(element.width))
    columns = [arith.bitcast(bits, vector.load(type_, seen, where)) for where in places]
    rows = [
        arith.bitcast(row_type(len(columns), element), row)
        for row in transposed(columns, count, vector.shuffle)
    ]
    return [_as_truth(row) for row in rows] if is_truth(source.type) else rows


def store_row(
    value: Any, target: Any, where: Sequence[Any], mask: Any | None, past_caches: int | None
) -> None:
    """Write a vector, where the mask is on.

    Args:
        value: the vector.
        target: a memref.
        where: the position of the first lane.
        mask: None for all lanes.
        past_caches: the bytes that the vector is aligned to, where it goes past the caches.
    """
    if is_truth(target.type):
        target = _as_bytes(target)
        value = arith.extui(row_type(value.type.shape[0], target.type.element_type), value)
    if mask is not None:
        vector.maskedstore(target, where, mask, value)
    elif past_caches is not None:
        vector.store(value, target, where, nontemporal=True, alignment=past_caches)
    else:
        vector.store(value, target, where)


def is_truth(type_: Any) -> bool:
    """Return whether a memref is of truth values."""
    return str(type_.element_type) == "i1"


def _as_bytes(buffer: Any) -> Any:
    """A memref of i1 as one of i8; the cast is gone when both are LLVM's."""
    type_ = buffer.type
    byte = ir.IntegerType.get_signless(8)
    bytes_ = ir.MemRefType.get(type_.shape, byte, type_.layout, type_.memory_space)
    return ir.Operation.create(
        "builtin.unrealized_conversion_cast", results=[bytes_], operands=[buffer]
    ).results[0]


def _as_truth(bytes_: Any) -> Any:
    return arith.cmpi(arith.CmpIPredicate.ne, bytes_, constant(bytes_.type, 0))
