"""Write `stablehlo.sort` as our own sort.

before:
    %r = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %s : tensor<i1>
    }) : (tensor<9xf32>) -> tensor<9xf32>
after:
    %e = tensor.empty() : tensor<9xf32>
    %r = "linalg_ext.sort"(%x, %e) ({
    ^bb0(%a: f32, %b: f32):
      %a0 = tensor.from_elements %a : tensor<f32>
      %b0 = tensor.from_elements %b : tensor<f32>
      %s = stablehlo.compare LT, %a0, %b0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %s0 = tensor.extract %s[] : tensor<i1>
      "linalg_ext.yield"(%s0) : (i1) -> ()
    }) {dimension = 0 : i64, is_stable = true, operandSegmentSizes =
        array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>,
        resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
      : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xf32>
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.dialects.linalg_ext import sort
from linalg_ext.rewriting import Report, module_pass

from ._stablehlo import body, cast, lower_each, signless

NAME = "linalg-ext-lower-stablehlo-sort"

_OP = "stablehlo.sort"


@module_pass(NAME, on=_OP)
def lower_stablehlo_sort(module: ir.Operation) -> Report:
    """Write stablehlo.sort as linalg_ext.sort."""
    return lower_each(NAME, module, {_OP: _sorted})


def _sorted(op: Any) -> list[Any]:
    block = op.regions[0].blocks[0]

    def comparator(*elements: Any) -> Any:
        (precedes,) = body(block, elements)
        return precedes

    return sort(
        *(cast(value, signless(value.type)) for value in op.operands),
        dimension=ir.IntegerAttr(op.attributes["dimension"]).value,
        comparator=comparator,
        is_stable=ir.BoolAttr(op.attributes["is_stable"]).value,
    )
