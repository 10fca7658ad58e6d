"""Split long sums in loops over scalars into blocks.

before:
    linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>],
                    iterator_types = ["reduction"]}
        ins(%a : memref<8192xf32, strided<[2]>>) outs(%c : memref<f32>) {
    ^bb0(%x: f32, %old: f32):
      %s = arith.addf %old, %x : f32
      linalg.yield %s : f32
    }
after:
    %parts = memref.alloc() {alignment = 64 : i64} : memref<f32>
    %errors = memref.alloc() {alignment = 64 : i64} : memref<f32>
    linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []}
        outs(%errors : memref<f32>) {
    ^bb0(%old: f32):
      %none = arith.constant -0.0 : f32
      linalg.yield %none : f32
    }
    scf.for %low = %c0 to %c8192 step %c64 {
      linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []}
          outs(%parts : memref<f32>) {
      ^bb0(%old: f32):
        %none = arith.constant -0.0 : f32
        linalg.yield %none : f32
      }
      %block = memref.subview %a[%low] [64] [1]
          : memref<8192xf32, strided<[2]>> to memref<64xf32, strided<[2], offset: ?>>
      linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> ()>],
                      iterator_types = ["reduction"]}
          ins(%block : memref<64xf32, strided<[2], offset: ?>>) outs(%parts : memref<f32>) {
      ^bb0(%x: f32, %old: f32):
        %s = arith.addf %old, %x : f32
        linalg.yield %s : f32
      }
      linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>,
                                       affine_map<() -> ()>], iterator_types = []}
          ins(%parts : memref<f32>) outs(%c, %errors : memref<f32>, memref<f32>) {
      ^bb0(%part: f32, %total: f32, %error: f32):
        %more = arith.addf %part, %error : f32
        %new = arith.addf %total, %more : f32
        %second = arith.subf %new, %total : f32
        %first = arith.subf %new, %second : f32
        %of_first = arith.subf %total, %first : f32
        %of_second = arith.subf %more, %second : f32
        %lost = arith.addf %of_first, %of_second : f32
        %zero = arith.constant 0.0 : f32
        %has_lost = arith.cmpf one, %lost, %zero : f32
        %none = arith.constant -0.0 : f32
        %kept = arith.select %has_lost, %lost, %none : f32
        linalg.yield %new, %kept : f32, f32
      }
    }
    memref.dealloc %parts : memref<f32>
    memref.dealloc %errors : memref<f32>

The sums are those that `linalg-ext-vectorize-loops` and `linalg-ext-pack-contractions` leave: of
complex numbers, of rows that do not lie along memory, of elements at computed indices. Sums of f16
and bf16 keep their order.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import arith, ir, scf
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.constants import index
from linalg_ext.transforms.codegen.base.blocked_sums import (
    BLOCK,
    can_be_split,
    dynamic_length,
    length_of_sums,
    split_sums,
)
from linalg_ext.transforms.ir_utils.walking import operations

NAME = "linalg-ext-split-long-sums"


@module_pass(NAME, on="linalg.generic")
def split_long_sums(module: ir.Operation) -> Report:
    """Split long sums of floats in structured ops on buffers into blocks."""
    report = Report(NAME)
    for op in operations(module, {"linalg.generic"}):
        if len(op.results) or not can_be_split(op):
            continue
        report.matched[op.name] += 1
        length = length_of_sums(op)
        if length is not None and length <= BLOCK:
            continue
        report.changed[op.name] += 1
        with op.location, ir.InsertionPoint(op):
            if length is not None:
                split_sums(op, BLOCK)
                op.erase()
                continue
            are_many = arith.cmpi(arith.CmpIPredicate.ugt, dynamic_length(op), index(BLOCK))
            branch: Any = scf.IfOp(are_many, has_else=True)
            with ir.InsertionPoint(branch.then_block):
                split_sums(op, BLOCK)
                scf.YieldOp([])
            with ir.InsertionPoint(branch.else_block):
                op.move_before(scf.YieldOp([]).operation)
    return report
