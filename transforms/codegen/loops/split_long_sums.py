"""Add up in blocks what is added up by loops over scalars.

before:
    linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>],
                    iterator_types = ["reduction"]}
        ins(%a : memref<9000xcomplex<f32>>) outs(%c : memref<complex<f32>>) {
    ^bb0(%x: complex<f32>, %old: complex<f32>):
      %s = complex.add %old, %x : complex<f32>
      linalg.yield %s : complex<f32>
    }
after:
    %parts = memref.alloc() {alignment = 64 : i64} : memref<complex<f32>>
    ...
    scf.for %low = %c0 to %c8704 step %c512 {
      %x = memref.subview %a[%low] [512] [1]
      linalg.generic ... ins(%x) outs(%parts)
      ...
    }

What `linalg-ext-vectorize-loops` and `linalg-ext-pack-contractions` have left: complex numbers,
rows that do not lie along memory, elements read where the body says. Sums of f16 and bf16 stay as
they are: their order is kept.
"""

from __future__ import annotations

from linalg_ext.bindings import arith, ir, scf
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.codegen._long_sums import BLOCK
from linalg_ext.transforms.codegen._splitting import (
    can_be_split,
    length_at_run_time,
    length_of_sums,
    split_sums,
)
from linalg_ext.transforms.lowering._elementwise import index
from linalg_ext.transforms.lowering._walk import operations

NAME = "linalg-ext-split-long-sums"

_BLOCK = 2 * BLOCK


@module_pass(NAME, on="linalg.generic")
def split_long_sums(module: ir.Operation) -> Report:
    """Have structured ops on buffers add up floats in blocks, where they are long."""
    report = Report(NAME)
    for op in operations(module, {"linalg.generic"}):
        if len(op.results) or not can_be_split(op):
            continue
        report.matched[op.name] += 1
        length = length_of_sums(op)
        if length is not None and length <= _BLOCK:
            continue
        report.changed[op.name] += 1
        with op.location, ir.InsertionPoint(op):
            if length is not None:
                split_sums(op, _BLOCK)
                op.erase()
                continue
            are_many = arith.cmpi(arith.CmpIPredicate.ugt, length_at_run_time(op), index(_BLOCK))
            branch = scf.IfOp(are_many, has_else=True)
            with ir.InsertionPoint(branch.then_block):
                split_sums(op, _BLOCK)
                scf.YieldOp([])
            with ir.InsertionPoint(branch.else_block):
                op.move_before(scf.YieldOp([]).operation)
    return report
