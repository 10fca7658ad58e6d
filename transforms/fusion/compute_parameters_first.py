"""Compute small results that need no large one before the large ones.

before:
    %r = linalg.matmul ins(%a, %b : tensor<800x900xf32>, tensor<900x700xf32>)
                       outs(%c : tensor<800x700xf32>) -> tensor<800x700xf32>
    %e = tensor.empty() : tensor<700xf32>
    %s = linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> (n)>],
                         iterator_types = ["parallel"]}
        ins(%v : tensor<700xf32>) outs(%e : tensor<700xf32>) {
    ^bb0(%x: f32, %o: f32):
      %y = math.rsqrt %x : f32
      linalg.yield %y : f32
    } -> tensor<700xf32>
after:
    %e = tensor.empty() : tensor<700xf32>
    %s = linalg.generic {indexing_maps = [affine_map<(n) -> (n)>, affine_map<(n) -> (n)>],
                         iterator_types = ["parallel"]}
        ins(%v : tensor<700xf32>) outs(%e : tensor<700xf32>) {
    ^bb0(%x: f32, %o: f32):
      %y = math.rsqrt %x : f32
      linalg.yield %y : f32
    } -> tensor<700xf32>
    %r = linalg.matmul ins(%a, %b : tensor<800x900xf32>, tensor<900x700xf32>)
                       outs(%c : tensor<800x700xf32>) -> tensor<800x700xf32>

An example is the factors of a norm, which are computed from its parameters. Their reader then
follows the op on whose result it works, and can be fused with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.generics import input_count, parallel_loops
from linalg_ext.transforms.ir_utils.walking import functions, producer

NAME = "linalg-ext-compute-parameters-first"

_MOST_ELEMENTS = 1 << 14
"""The most elements of a small result; a larger one would displace other data from the caches."""

_PREPARING = frozenset(
    {"arith.constant", "tensor.collapse_shape", "tensor.empty", "tensor.expand_shape"}
)

_PURE = ("arith.", "math.", "linalg.yield")


@module_pass(NAME, on="linalg.generic")
def compute_parameters_first(module: ir.Operation) -> Report:
    """Move small element-wise ops up to where their operands are defined."""
    report = Report(NAME)
    for function in functions(module):
        for block in function.regions[0].blocks:
            _advance_all(block, report)
    return report


def _advance_all(block: Any, report: Report) -> None:
    ops = [view.operation for view in block.operations]
    order = {op: place for place, op in enumerate(ops)}
    large: int | None = None
    for op in ops:
        if not _is_small(op):
            if large is None and op.name.startswith("linalg."):
                large = order[op]
            continue
        if large is None or any(_place(value, order) >= large for value in _needs(op)):
            continue
        first = ops[large]
        for needed in _with_what_it_needs(op, first, order):
            needed.move_before(first)
            order[needed] = large - 1
        report.matched[op.name] += 1
        report.changed[op.name] += 1


def _place(value: Any, order: dict[Any, int]) -> int:
    """Return the place of the last op that a value needs; -1 where it needs none in `order`."""
    op = producer(value)
    if op is None or op not in order:
        return -1
    if op.name in _PREPARING:
        return max((_place(operand, order) for operand in _needs(op)), default=-1)
    return order[op]


def _with_what_it_needs(op: Any, first: Any, order: dict[Any, int]) -> Iterator[Any]:
    """Yield the ops after `first` that prepare the operands of an op, and then the op."""
    for value in _needs(op):
        owner = producer(value)
        if owner in order and owner.name in _PREPARING and first.is_before_in_block(owner):
            yield from _with_what_it_needs(owner, first, order)
    yield op


def _needs(op: Any) -> list[Any]:
    """Return the operands of an op, and those of the ops in its body."""
    inside = [
        value
        for region in op.regions
        for block in region.blocks
        for inner in block.operations
        for value in inner.operation.operands
    ]
    return [*op.operands, *inside]


def _is_small(op: Any) -> bool:
    if op.name != "linalg.generic" or len(op.results) != 1 or not all(parallel_loops(op)):
        return False
    type_: Any = op.results[0].type
    if not type_.has_static_shape or math.prod(type_.shape) > _MOST_ELEMENTS:
        return False
    body = op.regions[0].blocks[0].operations
    if not input_count(op) or len(body) < 2:
        return False  # a fill stays before the op that adds to its result
    return all(inner.operation.name.startswith(_PURE) for inner in body)
