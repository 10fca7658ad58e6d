"""Load and store narrow floats as the integers of their bits.

before:
    %v = llvm.load %p {alignment = 2 : i64} : !llvm.ptr -> bf16
    %w = llvm.intr.masked.load %p, %m, %z {alignment = 2 : i32}
           : (!llvm.ptr, vector<32xi1>, vector<32xbf16>) -> vector<32xbf16>
after:
    %i = llvm.load %p {alignment = 2 : i64} : !llvm.ptr -> i16
    %v = llvm.bitcast %i : i16 to bf16
    %b = llvm.bitcast %z : vector<32xbf16> to vector<32xi16>
    %j = llvm.intr.masked.load %p, %m, %b {alignment = 2 : i32}
           : (!llvm.ptr, vector<32xi1>, vector<32xi16>) -> vector<32xi16>
    %w = llvm.bitcast %j : vector<32xi16> to vector<32xbf16>

For a CPU without instructions on such floats LLVM makes f32 of single ones, and takes masked
vectors of them apart; it rounds each element then by calls of functions that nothing provides.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass

from ._walk import element_type, replace_op, select

NAME = "linalg-ext-move-narrow-floats-as-integers"

_PASSED_THROUGH = {"llvm.load": None, "llvm.intr.masked.load": 2}
"""Ops that load, and the number of the operand that is of the result's type."""

_STORED = {"llvm.store": 0, "llvm.intr.masked.store": 0}
"""Ops that store, and the number of the operand that they store."""

_MOVES = (*_PASSED_THROUGH, *_STORED)


@module_pass(NAME, on=_MOVES)
def move_narrow_floats_as_integers(module: ir.Operation) -> Report:
    """Load and store f16 and bf16, masked or not, as integers of 16 bits."""
    report = Report(NAME)
    for op in select(module, _is_narrow):
        report.matched[op.name] += 1
        report.changed[op.name] += 1
        with op.location, ir.InsertionPoint(op):
            _as_integers(op)
    return report


def _is_narrow(op: Any) -> bool:
    return op.name in _MOVES and isinstance(element_type(_moved(op)), ir.F16Type | ir.BF16Type)


def _moved(op: Any) -> Any:
    """The type of what is loaded or stored."""
    return op.results[0].type if len(op.results) else op.operands[_STORED[op.name]].type


def _as_integers(op: Any) -> None:
    floats = _moved(op)
    bits = ir.IntegerType.get_signless(16)
    is_vector = isinstance(floats, ir.VectorType)
    integers = ir.VectorType.get(floats.shape, bits) if is_vector else bits
    is_load = op.name in _PASSED_THROUGH
    at = (_PASSED_THROUGH if is_load else _STORED)[op.name]
    operands = list(op.operands)
    if at is not None and at < len(operands):
        operands[at] = _bitcast(operands[at], integers)
    new = ir.Operation.create(
        op.name,
        results=[integers] if is_load else [],
        operands=operands,
        attributes=dict(op.attributes.items()),
    )
    if is_load:
        replace_op(op, _bitcast(new.results[0], floats))
    else:
        op.erase()


def _bitcast(value: ir.Value, to: ir.Type) -> ir.Value:
    cast = ir.Operation.create("llvm.bitcast", results=[to], operands=[value])
    result: ir.Value = cast.results[0]
    return result
