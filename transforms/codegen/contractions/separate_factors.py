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

An op of a user's may say such a sum, and so does what upstream's fusion has been through. The work
is repeated for each row or column, and the product is no contraction. The result is the same to the
last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir, linalg, tensor
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.generics import generic_on_tensors, maps_of, parallel_loops
from linalg_ext.transforms.ir_utils.walking import producer, replace_op

NAME = "linalg-ext-separate-factors"

_ELEMENTS = ("f32", "f64")

_CONVERTED = "the factors are converted while they are packed"


@module_pass(NAME)
def separate_factors(module: ir.Operation) -> Report:
    """Compute the factors of sums of products before the sums, where that saves work."""
    report = Report(NAME)
    found: list[Any] = []

    def visit(op: Any) -> Any:
        if op.name == "linalg.generic" and len(op.results) == 1:
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.walk(visit, ir.WalkOrder.PRE_ORDER)
    for op in found:
        product = _product(op)
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
    """Return the product that a generic sums, where one of its factors is computed; else None."""
    if all(parallel_loops(op)):
        return None
    body = op.regions[0].blocks[0]
    total = producer(body.operations[len(body.operations) - 1].operation.operands[0])
    if total is None or total.name != "arith.addf" or total.block != body:
        return None
    before = list(body.arguments)[-1]
    sides = list(total.operands)
    if sides.count(before) != 1 or sum(1 for _ in before.uses) != 1:
        return None
    product = producer(sides[1 - sides.index(before)])
    if product is None or product.name != "arith.mulf" or product.block != body:
        return None
    computed = [value for value in product.operands if producer(value) is not None]
    return product if computed else None


@dataclass(frozen=True)
class _Factor:
    """A factor of a product.

    Attributes:
        value: in the body of the sum.
        ops: what computes it, in order; none where it is an operand as it is.
        operands: the numbers of the operands that it is computed from.
        loops: of the sum that it depends on, in the order of the axes of what it becomes.
    """

    value: Any
    ops: tuple[Any, ...]
    operands: tuple[int, ...]
    loops: tuple[int, ...]


def _separate(op: Any, product: Any) -> str | None:
    """Compute the factors of a product before its sum; None, or why that is left."""
    sizes = _sizes(op)
    if any(size is None for size in sizes):
        return "the sizes are not known"
    factors = [_factor(op, value) for value in product.operands]
    for factor in factors:
        if isinstance(factor, str):
            return factor
    pair = [factor for factor in factors if isinstance(factor, _Factor)]
    if any(factor.ops and len(factor.loops) == len(sizes) for factor in pair):
        return "a factor depends on all dimensions"
    if any(str(factor.value.type) not in _ELEMENTS for factor in pair):
        return "the elements are not f32 or f64"
    if all(not factor.ops or _is_converted(op, factor) for factor in pair):
        return _CONVERTED
    with op.location, ir.InsertionPoint(op):
        inputs = [_computed(op, factor, sizes) for factor in pair]
        result = _sum(op, product, inputs)
    replace_op(op, result)
    return None


def _is_converted(op: Any, factor: _Factor) -> bool:
    """Return whether a factor is narrower elements in another type: packing reads less of them."""
    maps = [maps_of(op)[number] for number in factor.operands]
    largest = max(zip(factor.operands, maps, strict=True), key=lambda each: len(each[1].results))
    operand = op.operands[largest[0]]
    element: Any = ir.ShapedType(operand.type).element_type if _is_tensor(operand) else None
    # An index has no width of its own, and a complex number is wider than its parts.
    width = element.width if isinstance(element, ir.IntegerType | ir.FloatType) else 64
    plain = all(isinstance(result, ir.AffineDimExpr) for map_ in maps for result in map_.results)
    return plain and bool(width < factor.value.type.width)


def _is_tensor(value: Any) -> bool:
    return isinstance(value.type, ir.ShapedType)


def _sizes(op: Any) -> list[int | None]:
    maps = maps_of(op)
    sizes: list[int | None] = [None] * maps[0].n_dims
    for value, map_ in zip(op.operands, maps, strict=True):
        if not isinstance(value.type, ir.ShapedType):
            continue
        shape = ir.ShapedType(value.type)
        for axis, result in enumerate(map_.results):
            if isinstance(result, ir.AffineDimExpr) and not shape.is_dynamic_dim(axis):
                sizes[result.position] = shape.get_dim_size(axis)
    return sizes


def _factor(op: Any, value: Any) -> _Factor | str:
    """A factor, or why it cannot be computed by itself."""
    body = op.regions[0].blocks[0]
    arguments = list(body.arguments)
    wanted, ops, numbers = [value], [], set()
    while wanted:
        one = wanted.pop()
        if one in arguments:
            numbers.add(arguments.index(one))
            continue
        inner = producer(one)
        if inner is None or inner.block != body:
            continue  # a scalar from outside
        if inner.name == "linalg.index" or len(inner.regions):
            return "a factor asks for its position"
        if inner not in ops:
            ops.append(inner)
            wanted += list(inner.operands)
    order = [each.operation for each in body.operations]
    operands = tuple(sorted(numbers))
    if not operands or len(arguments) - 1 in operands:
        return "a factor is a constant"
    loops = _loops([maps_of(op)[number] for number in operands])
    if loops is None:
        return "a factor is read along a sum of dimensions"
    return _Factor(value, tuple(sorted(ops, key=order.index)), operands, loops)


def _loops(maps: Sequence[Any]) -> tuple[int, ...] | None:
    """The loops that some operands are read along, in the order of the largest of them."""
    found: list[int] = []
    for map_ in sorted(maps, key=lambda each: -len(each.results)):
        for result in map_.results:
            if isinstance(result, ir.AffineDimExpr):
                if result.position not in found:
                    found.append(result.position)
            elif not isinstance(result, ir.AffineConstantExpr):
                return None
    return tuple(found)


def _computed(op: Any, factor: _Factor, sizes: Sequence[int | None]) -> tuple[Any, Any]:
    """A factor as a tensor, and the map by which the sum reads it."""
    maps = maps_of(op)
    if not factor.ops:
        (number,) = factor.operands
        return op.operands[number], maps[number]
    dims = [ir.AffineExpr.get_dim(place) for place in range(len(factor.loops))]
    places = dict(zip(factor.loops, dims, strict=True))
    identity = ir.AffineMap.get_identity(len(dims))
    read = [
        ir.AffineMap.get(
            len(dims),
            0,
            [
                places[result.position] if isinstance(result, ir.AffineDimExpr) else result
                for result in maps[number].results
            ],
        )
        for number in factor.operands
    ]
    element = factor.value.type
    made = tensor.EmptyOp([sizes[loop] or 0 for loop in factor.loops], element).result
    inputs = [op.operands[number] for number in factor.operands]
    generic = generic_on_tensors(
        inputs, made, _attribute([*read, identity]), ["parallel"] * len(dims)
    )
    block = generic.regions[0].blocks.append(
        *[op.regions[0].blocks[0].arguments[number].type for number in factor.operands], element
    )
    known = [
        (op.regions[0].blocks[0].arguments[number], block.arguments[place])
        for place, number in enumerate(factor.operands)
    ]
    with ir.InsertionPoint(block):
        for inner in factor.ops:
            clone = inner.clone()
            for place, value in enumerate(inner.operands):
                clone.operands[place] = _new(value, known)
            known += zip(inner.results, clone.results, strict=True)
        linalg.YieldOp([_new(factor.value, known)])
    loops = maps[0].n_dims
    results = [ir.AffineExpr.get_dim(loop) for loop in factor.loops]
    return generic.results[0], ir.AffineMap.get(loops, 0, results)


def _sum(op: Any, product: Any, inputs: Sequence[tuple[Any, Any]]) -> Any:
    """The sum of products of tensors as they are."""
    output = op.operands[len(op.operands) - 1]
    kinds = ["parallel" if is_parallel else "reduction" for is_parallel in parallel_loops(op)]
    maps = [map_ for _, map_ in inputs]
    own_maps = _attribute([*maps, maps_of(op)[-1]])
    generic = generic_on_tensors([value for value, _ in inputs], output, own_maps, kinds)
    body = op.regions[0].blocks[0]
    total = producer(body.operations[len(body.operations) - 1].operation.operands[0])
    element = output.type.element_type
    block = generic.regions[0].blocks.append(*[value.type for value in product.operands], element)
    known = [(list(body.arguments)[-1], block.arguments[2])]
    with ir.InsertionPoint(block):
        clone = product.clone()
        for place in range(2):
            clone.operands[place] = block.arguments[place]
        known.append((product.results[0], clone.results[0]))
        added = total.clone()
        for place, value in enumerate(total.operands):
            added.operands[place] = _new(value, known)
        linalg.YieldOp([added.results[0]])
    return generic.results[0]


def _attribute(maps: Sequence[Any]) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps])


def _new(value: Any, known: Sequence[tuple[Any, Any]]) -> Any:
    return next((new for old, new in known if old == value), value)
