"""Stores past the caches, for results that no cache would hold until they are read again.

A store to a line that is not in a cache reads the line first; a non-temporal store of whole lines
does not, and leaves the caches to the inputs. Source: U. Drepper, What Every Programmer Should Know
About Memory, 2007, section 6.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import arith, ir, memref
from linalg_ext.transforms.codegen.base.choices import choices
from linalg_ext.transforms.codegen.base.machine import this_machine
from linalg_ext.transforms.ir_utils.arithmetic import constant

from .loop_nests import Access

_SEQUENTIALLY_CONSISTENT = 7


def is_streamed(access: Access, lanes: int, vector_bits: int) -> bool:
    """Return whether results get non-temporal stores.

    By default they do where they are larger than L3. Each store must fill a register.
    """
    type_ = access.memref.type
    if access.buffer.kind == "allocation" or not type_.has_static_shape:
        return False
    strides, _ = type_.get_strides_and_offset()
    if any(type_.is_dynamic_stride_or_offset(stride) for stride in strides):
        return False
    # Of a slice, the other slices are written at about the same time.
    whole = access.buffer.value.type if access.buffer.value.type.has_static_shape else type_
    element = type_.element_type.width // 8
    if lanes * element * 8 != vector_bits:
        return False
    asked = choices().streams
    if asked is not None:
        return asked
    return bool(math.prod(whole.shape) * element > this_machine().l3_bytes)


def rows_are_aligned_alike(access: Access, lanes: int) -> bool:
    """Return whether all rows of a memref with static strides have the same vector alignment."""
    strides, _ = access.memref.type.get_strides_and_offset()
    return all(stride % lanes == 0 for stride in strides[:-1])


def first_aligned(target: Any, where: Sequence[Any], size: Any, vector_bits: int) -> Any:
    """Return the number of elements from the position `where` to an address aligned to a vector.

    It is at most `size`, and `size` where the elements are not aligned to their own size.
    """
    type_ = target.type
    index = ir.IndexType.get()
    bytes_ = type_.element_type.width // 8
    strides, offset = type_.get_strides_and_offset()
    address: Any = memref.extract_aligned_pointer_as_index(target)
    linear: Any = constant(index, offset) if _is_known(type_, offset) else _offset(target)
    for position, stride in zip(where, strides, strict=True):
        linear = arith.addi(linear, arith.muli(position, constant(index, stride)))
    address = arith.addi(address, arith.muli(linear, constant(index, bytes_)))
    lines = constant(index, vector_bits // 8)
    beyond = arith.remui(address, lines)
    missing = arith.remui(arith.subi(lines, beyond), lines)
    head = arith.divui(missing, constant(index, bytes_))
    odd = arith.remui(address, constant(index, bytes_))
    is_odd = arith.cmpi(arith.CmpIPredicate.ne, odd, constant(index, 0))
    return arith.minui(arith.select(is_odd, size, head), size)


def _is_known(type_: Any, offset: int) -> bool:
    return not type_.is_dynamic_stride_or_offset(offset)


def _offset(buffer: Any) -> Any:
    """The offset of a memref in elements, as its descriptor has it."""
    return memref.ExtractStridedMetadataOp(buffer).offset


def fence() -> None:
    """Have all stores so far done before any that follows; those past the caches lack an order."""
    ordering = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _SEQUENTIALLY_CONSISTENT)
    ir.Operation.create("llvm.fence", attributes={"ordering": ordering})
