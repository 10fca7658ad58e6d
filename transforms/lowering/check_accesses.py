"""Assert that accesses are in bounds, where upstream's run-time verification has no question.

That asks of loads and stores of single elements, of subviews and of slices that are taken out. This
asks of the others: affine loads and stores, what vectors read and write, slices that are put in,
views of bytes and of other shapes, pads that are negative. What the text tells (constants, loops of
known lengths, positions that were clamped) is not asked.

before:
    %v = vector.load %x[%k] : memref<8xf32>, vector<4xf32>
after:
    %0 = arith.cmpi sle, %c0, %k : index
    %1 = arith.cmpi sle, %k, %c4 : index
    %2 = arith.andi %0, %1 : i1
    cf.assert %2, "out-of-bounds access: vector.load"
    %v = vector.load %x[%k] : memref<8xf32>, vector<4xf32>
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass

from ._access_bounds import Bounds, places
from ._accesses_of_slices import (
    check_insertion,
    check_pad,
    check_reinterpretation,
    check_reshape,
    check_view,
)
from ._accesses_of_vectors import (
    check_gather,
    check_masked,
    check_packed,
    check_position,
    check_transfer,
    check_vector,
)
from ._walk import operations

NAME = "linalg-ext-check-accesses"


def _check_affine(op: Any, bounds: Bounds) -> None:
    is_store = op.name in ("affine.store", "affine.vector_store")
    base, *operands = list(op.operands)[is_store:]
    value = op.operands[0] if is_store else op.results[0]
    at = places(ir.AffineMapAttr(op.attributes["map"]).value, operands)
    check_vector(base, at, value.type, bounds)


def _check_load(op: Any, bounds: Bounds) -> None:
    base, *at = op.operands
    check_vector(base, at, op.results[0].type, bounds)


def _check_store(op: Any, bounds: Bounds) -> None:
    value, base, *at = op.operands
    check_vector(base, at, value.type, bounds)


_CHECKS: Mapping[str, Callable[[Any, Bounds], None]] = MappingProxyType(
    {
        **dict.fromkeys(("affine.load", "affine.store"), _check_affine),
        **dict.fromkeys(("affine.vector_load", "affine.vector_store"), _check_affine),
        "vector.load": _check_load,
        "vector.store": _check_store,
        **dict.fromkeys(("vector.transfer_read", "vector.transfer_write"), check_transfer),
        **dict.fromkeys(("vector.maskedload", "vector.maskedstore"), check_masked),
        **dict.fromkeys(("vector.expandload", "vector.compressstore"), check_packed),
        **dict.fromkeys(("vector.gather", "vector.scatter"), check_gather),
        **dict.fromkeys(("vector.extract", "vector.insert"), check_position),
        **dict.fromkeys(("tensor.insert_slice", "tensor.parallel_insert_slice"), check_insertion),
        "tensor.pad": check_pad,
        **dict.fromkeys(("tensor.reshape", "memref.reshape"), check_reshape),
        "memref.reinterpret_cast": check_reinterpretation,
        "memref.view": check_view,
    }
)


@module_pass(NAME, on=_CHECKS)
def check_accesses(module: ir.Operation) -> Report:
    """Assert that accesses are in bounds, of which upstream's verification asks nothing."""
    report = Report(NAME)
    for op in operations(module, _CHECKS):
        report.matched[op.name] += 1
        bounds = Bounds()
        with op.location, ir.InsertionPoint(_before(op)):
            _CHECKS[op.name](op, bounds)
            report.changed[op.name] += bounds.emit(op.name)
    return report


def _before(op: Any) -> Any:
    """Where an assertion of an op may stand: the end of a parallel loop holds insertions alone."""
    return op.parent if op.name == "tensor.parallel_insert_slice" else op
