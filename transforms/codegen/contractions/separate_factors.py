"""Factors of a sum of products, of fewer dimensions than the sum, are computed once and before it.

before:
    %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
                                          affine_map<(m, n, k) -> (k)>,
                                          affine_map<(m, n, k) -> (k, n)>,
                                          affine_map<(m, n, k) -> (m, n)>],
                         iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %c, %b : tensor<8x9xf32>, tensor<9xf32>, tensor<9x7xf32>)
        outs(%z : tensor<8x7xf32>) {
    ^bb0(%x: f32, %y: f32, %u: f32, %o: f32):
      %s = arith.addf %x, %y : f32
      %p = arith.mulf %s, %u : f32
      %t = arith.addf %o, %p : f32
      linalg.yield %t : f32
    } -> tensor<8x7xf32>
after:
    %e = tensor.empty() : tensor<8x9xf32>
    %f = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>,
                                          affine_map<(m, k) -> (k)>,
                                          affine_map<(m, k) -> (m, k)>],
                         iterator_types = ["parallel", "parallel"]}
        ins(%a, %c : tensor<8x9xf32>, tensor<9xf32>) outs(%e : tensor<8x9xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %s = arith.addf %x, %y : f32
      linalg.yield %s : f32
    } -> tensor<8x9xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
                                          affine_map<(m, n, k) -> (k, n)>,
                                          affine_map<(m, n, k) -> (m, n)>],
                         iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%f, %b : tensor<8x9xf32>, tensor<9x7xf32>) outs(%z : tensor<8x7xf32>) {
    ^bb0(%x: f32, %u: f32, %o: f32):
      %p = arith.mulf %x, %u : f32
      %t = arith.addf %o, %p : f32
      linalg.yield %t : f32
    } -> tensor<8x7xf32>

Such sums are written by users, and made by upstream's fusion. The work is repeated for each row or
column, and the product is not a contraction. The result is the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir, linalg, tensor
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.codegen.base.payload import combination_of, needed_for
from linalg_ext.transforms.ir_utils.generics import (
    computed_anew,
    extents_of,
    generic_on_tensors,
    inside,
    maps_of,
    output_of,
    parallel_loops,
    yielded_by,
)
from linalg_ext.transforms.ir_utils.walking import copied_on, operations, producer, replace_op

NAME = "linalg-ext-separate-factors"

_ELEMENTS = ("f32", "f64")

_CONVERTED = "the factors are converted while they are packed"


@module_pass(NAME)
def separate_factors(module: ir.Operation) -> Report:
    """Compute the factors of sums of products before the sums, where that saves work."""
    report = Report(NAME)
    for op in operations(module, {"linalg.generic"}):
        product = _product(op) if len(op.results) == 1 else None
        if product is None:
            continue
        report.matched["linalg.generic"] += 1
        reason = _separate(op, product)
        if reason is None:
            report.changed["linalg.generic"] += 1
        elif reason != _CONVERTED:  # which is as good
            report.leave("linalg.generic", reason)
    return report


def _product(op: Any) -> Any:
    """Return the product that a generic sums, if one of its factors is computed; else None."""
    combination = None if all(parallel_loops(op)) else combination_of(op)
    if combination is None or combination[0].name != "arith.addf":
        return None
    product = inside(combination[1], op.regions[0].blocks[0])
    if product is None or product.name != "arith.mulf":
        return None
    return product if any(producer(value) is not None for value in product.operands) else None


@dataclass(frozen=True)
class _Factor:
    """A factor of a product.

    Attributes:
        value: in the body of the sum.
        ops: the ops that compute it, in order; none for an operand itself.
        operands: the numbers of the operands that it is computed from.
        loops: the loops of the sum that it depends on, in the order of the axes of its tensor.
    """

    value: Any
    ops: tuple[Any, ...]
    operands: tuple[int, ...]
    loops: tuple[int, ...]


def _separate(op: Any, product: Any) -> str | None:
    extents, loops = extents_of(op), len(parallel_loops(op))
    sizes = [extents.get(loop) for loop in range(loops)]
    if None in sizes:
        return "the sizes are not known"
    factors: list[_Factor] = []
    for value in product.operands:
        factor = _factor(op, value)
        if isinstance(factor, str):
            return factor
        factors.append(factor)
    if any(factor.ops and len(factor.loops) == loops for factor in factors):
        return "a factor depends on all dimensions"
    if any(str(factor.value.type) not in _ELEMENTS for factor in factors):
        return "the elements are not f32 or f64"
    if all(not factor.ops or _is_converted(op, factor) for factor in factors):
        return _CONVERTED
    read = {loop for factor in factors for loop in factor.loops}
    if len(read.union(_loops([maps_of(op)[-1]]) or ())) < loops:
        return "a dimension is in neither factor"
    with op.location, ir.InsertionPoint(op):
        inputs = [_computed(op, factor, sizes) for factor in factors]
        result = _sum(op, product, inputs)
    replace_op(op, result)
    return None


def _is_converted(op: Any, factor: _Factor) -> bool:
    """Return whether a factor is narrower elements in another type: packing reads less of them."""
    maps = [maps_of(op)[number] for number in factor.operands]
    largest = max(zip(factor.operands, maps, strict=True), key=lambda pair: len(pair[1].results))
    type_ = op.operands[largest[0]].type
    element: Any = ir.ShapedType(type_).element_type if isinstance(type_, ir.ShapedType) else None
    # An index has no width of its own, and a complex number is wider than its parts.
    width = element.width if isinstance(element, ir.IntegerType | ir.FloatType) else 64
    plain = all(isinstance(result, ir.AffineDimExpr) for map_ in maps for result in map_.results)
    return plain and bool(width < factor.value.type.width)


def _factor(op: Any, value: Any) -> _Factor | str:
    """Return a factor, or why it cannot be computed by itself."""
    body = op.regions[0].blocks[0]
    needed = needed_for(value)
    ops = tuple(inner.operation for inner in body.operations if inner.operation in needed)
    if any(inner.name == "linalg.index" or len(inner.regions) for inner in ops):
        return "a factor asks for its position"
    read = {value, *(operand for inner in ops for operand in inner.operands)}
    operands = tuple(at for at, argument in enumerate(body.arguments) if argument in read)
    if not operands or len(body.arguments) - 1 in operands:
        return "a factor is a constant"
    loops = _loops([maps_of(op)[number] for number in operands])
    if loops is None:
        return "a factor is read along a sum of dimensions"
    return _Factor(value, ops, operands, loops)


def _loops(maps: Sequence[Any]) -> tuple[int, ...] | None:
    """Return the loops that index some operands, in the order of the largest of them."""
    loops: dict[int, None] = {}
    for map_ in sorted(maps, key=lambda map_: -len(map_.results)):
        for result in map_.results:
            if isinstance(result, ir.AffineDimExpr):
                loops[result.position] = None
            elif not isinstance(result, ir.AffineConstantExpr):
                return None
    return tuple(loops)


def _computed(op: Any, factor: _Factor, sizes: Sequence[int | None]) -> tuple[Any, Any]:
    """Return a factor as a tensor, and the map by which the sum reads it."""
    maps = maps_of(op)
    if not factor.ops:
        (number,) = factor.operands
        return op.operands[number], maps[number]
    dims = [ir.AffineExpr.get_dim(place) for place in range(len(factor.loops))]
    places = dict(zip(factor.loops, dims, strict=True))
    read = [
        [places[r.position] if isinstance(r, ir.AffineDimExpr) else r for r in maps[number].results]
        for number in factor.operands
    ]
    element, body = factor.value.type, op.regions[0].blocks[0]
    init = tensor.EmptyOp([sizes[loop] or 0 for loop in factor.loops], element).result
    own_maps = [ir.AffineMap.get(len(dims), 0, results) for results in (*read, dims)]
    generic = generic_on_tensors(
        [op.operands[number] for number in factor.operands],
        init,
        _attribute(own_maps),
        ["parallel"] * len(dims),
    )
    arguments = [body.arguments[number] for number in factor.operands]
    block = generic.regions[0].blocks.append(*[argument.type for argument in arguments], element)
    mapping = dict(zip(arguments, block.arguments, strict=False))
    with ir.InsertionPoint(block):
        for inner in factor.ops:
            computed_anew(inner.results[0], body, mapping)
        linalg.YieldOp([mapping[factor.value]])
    loops = [ir.AffineExpr.get_dim(loop) for loop in factor.loops]
    return generic.results[0], ir.AffineMap.get(maps[0].n_dims, 0, loops)


def _sum(op: Any, product: Any, inputs: Sequence[tuple[Any, Any]]) -> Any:
    output, body = output_of(op), op.regions[0].blocks[0]
    kinds = ["parallel" if is_parallel else "reduction" for is_parallel in parallel_loops(op)]
    own_maps = _attribute([*(map_ for _, map_ in inputs), maps_of(op)[-1]])
    generic = generic_on_tensors([value for value, _ in inputs], output, own_maps, kinds)
    types = [value.type for value in product.operands]
    block = generic.regions[0].blocks.append(*types, output.type.element_type)
    *factors, total = block.arguments
    with ir.InsertionPoint(block):
        multiplied = copied_on(product, factors)
        known = {
            body.arguments[len(body.arguments) - 1]: total,
            product.results[0]: multiplied.results[0],
        }
        yielded = yielded_by(body)[0]
        linalg.YieldOp([computed_anew(yielded, body, known)])
    return generic.results[0]


def _attribute(maps: Sequence[Any]) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps])
