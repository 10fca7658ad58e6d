"""Assert that each allocation of the entry succeeded, which upstream does not check.

A size that no memory can have is found before it is allocated: upstream multiplies modulo 2^64,
and would ask for a small buffer.

before:
    %a = memref.alloc(%n) : memref<?xf32>
after:
    %size = arith.index_cast %n : index to i64
    %bytes, %carry = arith.mului_extended %c4, %size : i64
    %whole = arith.cmpi eq, %carry, %c0 : i64
    %small = arith.cmpi ule, %bytes, %c4611686018427387904 : i64
    %fits = arith.andi %whole, %small : i1
    cf.assert %fits, "out of memory: an intermediate buffer could not be allocated"
    %a = memref.alloc(%n) : memref<?xf32>
    %p = memref.extract_aligned_pointer_as_index %a : memref<?xf32> -> index
    %ok = arith.cmpi ne, %p, %null : index
    cf.assert %ok, "out of memory: an intermediate buffer could not be allocated"
"""

from __future__ import annotations

import itertools
from typing import Any

from linalg_ext.bindings import arith, cf, ir, memref
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.constants import index
from linalg_ext.transforms.analysis.buffers import MOST_BYTES, static_bytes
from linalg_ext.transforms.ir_utils.arithmetic import constant
from linalg_ext.transforms.ir_utils.module_functions import functions_with_status
from linalg_ext.transforms.ir_utils.walking import operations

NAME = "linalg-ext-check-allocations"

OUT_OF_MEMORY = "out of memory: an intermediate buffer could not be allocated"
"""The message of the assertion, by which its status is known among the others."""


@module_pass(NAME, on="memref.alloc")
def check_allocations(module: ir.Operation) -> Report:
    """Assert that each memref.alloc of the entry that takes a status, or of a slice, succeeded."""
    report = Report(NAME)
    allocations = [operations(entry, {"memref.alloc"}) for entry in functions_with_status(module)]
    for allocation in itertools.chain.from_iterable(allocations):
        report.matched[allocation.name] += 1
        report.changed[allocation.name] += 1
        with allocation.location, ir.InsertionPoint(allocation):
            _assert_size(allocation)
        with allocation.location, ir.InsertionPoint.after(allocation):
            pointer = memref.extract_aligned_pointer_as_index(allocation.results[0])
            null = index(0)
            is_there = arith.cmpi(arith.CmpIPredicate.ne, pointer, null)
            cf.AssertOp(is_there, OUT_OF_MEMORY)
    return report


def _assert_size(allocation: Any) -> None:
    type_ = allocation.results[0].type
    static = static_bytes(type_)
    sizes = list(allocation.operands)[: sum(map(type_.is_dynamic_dim, range(type_.rank)))]
    if not sizes and static <= MOST_BYTES:
        return
    i64 = ir.IntegerType.get_signless(64)
    bytes_ = constant(i64, min(static, MOST_BYTES + 1))
    fits = None
    for size in sizes:
        # A negative size is, unsigned, a huge one.
        product = arith.MulUIExtendedOp(bytes_, arith.index_cast(i64, size))
        bytes_ = product.low
        whole = arith.cmpi(arith.CmpIPredicate.eq, product.high, constant(i64, 0))
        fits = whole if fits is None else arith.andi(fits, whole)
    small = arith.cmpi(arith.CmpIPredicate.ule, bytes_, constant(i64, MOST_BYTES))
    cf.AssertOp(small if fits is None else arith.andi(fits, small), OUT_OF_MEMORY)
