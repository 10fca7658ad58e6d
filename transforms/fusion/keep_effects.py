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

A body that asserts is kept as well: upstream would leave it where it was, and assert twice. One
that reads a tensor where it says itself, as a gather does, is kept where a reader asks for its
elements more than once: each time they would be looked up again. A reader that asks once may have
it: `linalg-ext-vectorize-loops` gathers on vectors.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir, scf
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.interfaces.payload import reaches_outside_memory
from linalg_ext.transforms.ir_utils.generics import extents_of, maps_of
from linalg_ext.transforms.ir_utils.walking import operations, select

NAME = "linalg-ext-keep-effects"

KEPT = "scf.execute_region"

_LONGEST = 1024
"""More operations than any body has that somebody wrote, and few enough to be copied as often."""

_VIEWS = ("tensor.cast", "tensor.collapse_shape", "tensor.expand_shape")


@module_pass(NAME, on="linalg.generic")
def keep_effects(module: ir.Operation) -> Report:
    """Put generics on tensors that reach memory outside, or assert, into regions of their own."""
    report = Report(NAME)
    lengths: dict[Any, int] = {}
    for op in select(module, lambda op: _is_kept(op, lengths)):
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


def _is_kept(op: ir.Operation, lengths: dict[Any, int]) -> bool:
    """Return whether an op must not be fused; `lengths` says how long bodies become."""
    if op.name != "linalg.generic" or not len(op.results):
        return False
    if reaches_outside_memory(op) or operations(op, {"cf.assert"}):
        return True
    if operations(op, {"tensor.extract"}) and _is_repeated(op):
        return True
    length = len(op.regions[0].blocks[0].operations) + sum(
        lengths.get(operand, 0) for operand in set(op.operands)
    )
    if length > _LONGEST:
        return True
    lengths.update(dict.fromkeys(op.results, length))
    return False


def _is_repeated(op: Any) -> bool:
    """Return whether an op that reads the only result asks for an element several times.

    So does one that reads what is computed of these elements alone, and could be fused as well.
    """
    uses = [use for result in op.results for use in result.uses]
    if len(uses) != 1:
        return False
    reader = uses[0].owner.operation
    if reader.name in _VIEWS:
        return _is_repeated(reader)
    if reader.name != "linalg.generic":
        return False
    return _repeats(reader, uses[0].operand_number) or _is_repeated(reader)


def _repeats(op: Any, operand: int) -> bool:
    """Return whether an op has a loop whose iterations read the same elements of an operand."""
    indexed = maps_of(op)[operand].results
    along = {each.position for each in indexed if isinstance(each, ir.AffineDimExpr)}
    return any(rounds != 1 for dim, rounds in extents_of(op).items() if dim not in along)
