"""Take ops out of the regions that `linalg-ext-keep-effects` put them into.

before:
    %r = scf.execute_region -> tensor<9xi32> no_inline {
      %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                           iterator_types = ["parallel"]}
          ins(%x : tensor<9xi32>) outs(%e : tensor<9xi32>) {
      ^bb0(%a: i32, %o: i32):
        %i = arith.index_cast %a : i32 to index
        %n = memref.atomic_rmw addi %one, %h[%i] : (i32, memref<4xi32>) -> i32
        linalg.yield %a : i32
      } -> tensor<9xi32>
      scf.yield %s : tensor<9xi32>
    }
after:
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                         iterator_types = ["parallel"]}
        ins(%x : tensor<9xi32>) outs(%e : tensor<9xi32>) {
    ^bb0(%a: i32, %o: i32):
      %i = arith.index_cast %a : i32 to index
      %n = memref.atomic_rmw addi %one, %h[%i] : (i32, memref<4xi32>) -> i32
      linalg.yield %a : i32
    } -> tensor<9xi32>

A region of one block is what its ops are in its place, so that any other of upstream's is taken
out too, those on buffers as well as those on tensors.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.walking import operations

from .keep_effects import KEPT

NAME = "linalg-ext-release-effects"


@module_pass(NAME, on=KEPT)
def release_effects(module: ir.Operation) -> Report:
    """Put the ops of regions of one block into the place of the regions."""
    report = Report(NAME)
    for op in reversed(operations(module, [KEPT])):
        report.matched[op.name] += 1
        if len(op.regions[0].blocks) > 1:
            report.leave(op.name, "it has several blocks")
            continue
        report.changed[op.name] += 1
        *inner, end = op.regions[0].blocks[0].operations
        for each in inner:
            each.operation.move_before(op)
        for result, value in zip(op.results, end.operation.operands, strict=True):
            result.replace_all_uses_with(value)
        op.erase()
    return report
