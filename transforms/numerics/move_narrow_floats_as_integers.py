"""Move narrow floats as the integers of their bits.

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

and likewise where elements of vectors are moved (inserted, extracted, shuffled, selected), and
where a branch hands values to a block.

For a CPU without instructions on such floats LLVM makes f32 of single ones, and scalarizes masked
vectors of them; it rounds each element then by calls of functions that nothing provides.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.walking import element_type, operations, producer

NAME = "linalg-ext-move-narrow-floats-as-integers"

_MOVES = frozenset(
    {
        *("llvm.extractelement", "llvm.insertelement", "llvm.shufflevector"),
        *("llvm.freeze", "llvm.load", "llvm.select", "llvm.store"),
        *(
            f"llvm.intr.masked.{name}"
            for name in ("compressstore", "expandload", "gather", "load", "scatter", "store")
        ),
    }
)
"""Ops that move bits of any meaning."""

_BRANCHES = frozenset({"llvm.br", "llvm.cond_br", "llvm.switch"})


@module_pass(NAME, on=_MOVES)
def move_narrow_floats_as_integers(module: ir.Operation) -> Report:
    """Move f16 and bf16 as integers of 16 bits: in memory, in vectors and between blocks."""
    report = Report(NAME)
    for op in filter(_moves_narrow_floats, operations(module, _MOVES)):
        report.matched[op.name] += 1
        report.changed[op.name] += 1
        with op.location, ir.InsertionPoint(op):
            _as_integers(op)
    if report:
        _hand_integers_on(module)
    return report


def _moves_narrow_floats(op: Any) -> bool:
    """Return whether the moved value, the result or the first operand, is of narrow floats."""
    moved = op.results or op.operands
    return _is_narrow(moved[0].type)


def _is_narrow(type_: Any) -> bool:
    return isinstance(element_type(type_), ir.F16Type | ir.BF16Type)


def _as_integers(op: Any) -> None:
    new = ir.Operation.create(
        op.name,
        results=[_bits(result.type) for result in op.results],
        operands=[_bitcast(operand, _bits(operand.type)) for operand in op.operands],
        attributes=dict(op.attributes.items()),
    )
    for old, result in zip(op.results, new.results, strict=True):
        old.replace_all_uses_with(_bitcast(result, old.type))
    op.erase()


def _hand_integers_on(module: ir.Operation) -> None:
    """Have branches hand on the bits of narrow floats."""
    for function in operations(module, {"llvm.func"}):
        for block in list(function.regions[0].blocks)[1:]:
            for argument in block.arguments:
                if not _is_narrow(old := argument.type):
                    continue
                argument.set_type(_bits(old))
                with function.location, ir.InsertionPoint.at_block_begin(block):
                    floats = _bitcast(argument, old)
                argument.replace_all_uses_except(floats, producer(floats))
    for branch in operations(module, _BRANCHES):
        with branch.location, ir.InsertionPoint(branch):
            for place, value in enumerate(branch.operands):
                branch.operands[place] = _bitcast(value, _bits(value.type))


def _bits(type_: Any) -> Any:
    """Return the type of the bits of narrow floats; any other type as it is."""
    if not _is_narrow(type_):
        return type_
    bits = ir.IntegerType.get_signless(16)
    return ir.VectorType.get(type_.shape, bits) if isinstance(type_, ir.VectorType) else bits


def _bitcast(value: Any, to: ir.Type) -> Any:
    if value.type == to:
        return value
    return ir.Operation.create("llvm.bitcast", results=[to], operands=[value]).results[0]
