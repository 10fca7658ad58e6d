"""Keep ops whose bodies do more than compute from being fused into what reads them.

before:
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                         iterator_types = ["parallel"]}
        ins(%x : tensor<9xi32>) outs(%e : tensor<9xi32>) {
    ^bb0(%a: i32, %o: i32):
      %i = arith.index_cast %a : i32 to index
      %n = memref.atomic_rmw addi %one, %h[%i] : (i32, memref<4xi32>) -> i32
      linalg.yield %a : i32
    } -> tensor<9xi32>
after:
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

Upstream fuses an element-wise producer into an op that repeats its iterations, a broadcast for
example, and looks at neither what its body captures nor what happens between the two. What is not
in the same block it leaves alone. `linalg-ext-release-effects` is the way back.

A body that asserts is kept as one that reaches memory outside is: in an op that repeats it, it
would be asked again for every element, and what asserts is not computed on vectors.
"""

from __future__ import annotations

from linalg_ext.bindings import ir, scf
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.interfaces.payload import reaches_outside_memory

from ._walk import select

NAME = "linalg-ext-keep-effects"

KEPT = "scf.execute_region"


@module_pass(NAME, on="linalg.generic")
def keep_effects(module: ir.Operation) -> Report:
    """Put generics on tensors that reach memory outside, or assert, into regions of their own."""
    report = Report(NAME)
    for op in select(module, _may_be_fused):
        report.matched[op.name] += 1
        report.changed[op.name] += 1
        types = [result.type for result in op.results]
        with op.location, ir.InsertionPoint(op):
            kept = scf.ExecuteRegionOp(types, no_inline=True)
        for result, outer in zip(op.results, kept.results, strict=True):
            result.replace_all_uses_with(outer)
        block = kept.region.blocks.append()
        block.append(op)
        with op.location, ir.InsertionPoint(block):
            scf.YieldOp(list(op.results))
    return report


def _may_be_fused(op: ir.Operation) -> bool:
    if op.name != "linalg.generic" or not len(op.results):
        return False
    return _asserts(op) or reaches_outside_memory(op)


def _asserts(op: ir.Operation) -> bool:
    return any(select(op, lambda inner: inner.name == "cf.assert"))
