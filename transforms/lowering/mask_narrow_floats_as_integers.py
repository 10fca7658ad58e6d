"""Load and store narrow floats under a mask as the integers of their bits.

before:
    %v = llvm.intr.masked.load %p, %m, %z {alignment = 2 : i32}
           : (!llvm.ptr, vector<32xi1>, vector<32xbf16>) -> vector<32xbf16>
after:
    %b = llvm.bitcast %z : vector<32xbf16> to vector<32xi16>
    %i = llvm.intr.masked.load %p, %m, %b {alignment = 2 : i32}
           : (!llvm.ptr, vector<32xi1>, vector<32xi16>) -> vector<32xi16>
    %v = llvm.bitcast %i : vector<32xi16> to vector<32xbf16>

For a CPU without instructions on such floats LLVM takes masked vectors of them apart, and rounds
each element by calls of functions that nothing provides.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass

from ._walk import replace_op, select

NAME = "linalg-ext-mask-narrow-floats-as-integers"

_LOAD, _STORE = "llvm.intr.masked.load", "llvm.intr.masked.store"


@module_pass(NAME, on=(_LOAD, _STORE))
def mask_narrow_floats_as_integers(module: ir.Operation) -> Report:
    """Load and store f16 and bf16 under a mask as integers of 16 bits."""
    report = Report(NAME)
    for op in select(module, _is_narrow):
        report.matched[op.name] += 1
        report.changed[op.name] += 1
        with op.location, ir.InsertionPoint(op):
            _as_integers(op)
    return report


def _is_narrow(op: Any) -> bool:
    return op.name in (_LOAD, _STORE) and _element(_floats(op)) in ("f16", "bf16")


def _floats(op: Any) -> Any:
    return op.results[0].type if op.name == _LOAD else op.operands[0].type


def _element(type_: Any) -> str:
    return str(type_.element_type) if isinstance(type_, ir.VectorType) else ""


def _as_integers(masked: Any) -> None:
    floats = _floats(masked)
    integers = ir.VectorType.get(floats.shape, ir.IntegerType.get_signless(16))
    is_load = masked.name == _LOAD
    operands = list(masked.operands)
    at = 2 if is_load else 0
    if len(operands) > at:
        operands[at] = _bitcast(operands[at], integers)
    new = ir.Operation.create(
        masked.name,
        results=[integers] if is_load else [],
        operands=operands,
        attributes=dict(masked.attributes.items()),
    )
    if is_load:
        replace_op(masked, _bitcast(new.results[0], floats))
    else:
        masked.erase()


def _bitcast(value: ir.Value, to: ir.Type) -> ir.Value:
    cast = ir.Operation.create("llvm.bitcast", results=[to], operands=[value])
    result: ir.Value = cast.results[0]
    return result
