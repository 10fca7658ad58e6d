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

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Rewriter, rewrite

_LOAD, _STORE = "llvm.intr.masked.load", "llvm.intr.masked.store"


@rewrite("linalg-ext-mask-narrow-floats-as-integers", on=(_LOAD, _STORE), driver="walk")
def mask_narrow_floats_as_integers(op: ir.OpView, rewriter: Rewriter) -> bool:
    """Load and store f16 and bf16 under a mask as integers of 16 bits."""
    masked = op.operation
    is_load = masked.name == _LOAD
    floats = masked.results[0].type if is_load else masked.operands[0].type
    if not isinstance(floats, ir.VectorType) or str(floats.element_type) not in ("f16", "bf16"):
        return False
    integers = ir.VectorType.get(floats.shape, ir.IntegerType.get_signless(16))
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
        rewriter.replace_op(op, _bitcast(new.results[0], floats))
    else:
        rewriter.erase_op(op)
    return True


def _bitcast(value: ir.Value, to: ir.Type) -> ir.Value:
    cast = ir.Operation.create("llvm.bitcast", results=[to], operands=[value])
    result: ir.Value = cast.results[0]
    return result
