"""Sums of products of complex numbers become sums of products of their real and imaginary parts.

before:
    linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (k)>,
                                     affine_map<(m, k) -> (m)>],
                    iterator_types = ["parallel", "reduction"]}
        ins(%a, %x : memref<64x50xcomplex<f32>>, memref<50xcomplex<f32>>)
        outs(%c : memref<64xcomplex<f32>>) {
    ^bb0(%u: complex<f32>, %v: complex<f32>, %o: complex<f32>):
      %p = complex.mul %u, %v : complex<f32>
      %s = complex.add %o, %p : complex<f32>
      linalg.yield %s : complex<f32>
    }
after:
    %parts = memref.alloc() {alignment = 64 : i64} : memref<2x50x2xf32>
    %0 = memref.subview %parts[0, 0, 0] [1, 50, 1] [1, 1, 1]
        : memref<2x50x2xf32> to memref<50xf32, strided<[2]>>
    %1 = memref.subview %parts[1, 0, 0] [1, 50, 1] [1, 1, 1]
        : memref<2x50x2xf32> to memref<50xf32, strided<[2], offset: 100>>
    %2 = memref.subview %parts[0, 0, 1] [1, 50, 1] [1, 1, 1]
        : memref<2x50x2xf32> to memref<50xf32, strided<[2], offset: 1>>
    %3 = memref.subview %parts[1, 0, 1] [1, 50, 1] [1, 1, 1]
        : memref<2x50x2xf32> to memref<50xf32, strided<[2], offset: 101>>
    linalg.generic {indexing_maps = [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>,
                                     affine_map<(k) -> (k)>, affine_map<(k) -> (k)>,
                                     affine_map<(k) -> (k)>],
                    iterator_types = ["parallel"]}
        ins(%x : memref<50xcomplex<f32>>)
        outs(%0, %1, %2, %3 : memref<50xf32, strided<[2]>>,
                              memref<50xf32, strided<[2], offset: 100>>,
                              memref<50xf32, strided<[2], offset: 1>>,
                              memref<50xf32, strided<[2], offset: 101>>) {
    ^bb0(%v: complex<f32>, %o: f32, %o_1: f32, %o_2: f32, %o_3: f32):
      %re = complex.re %v : complex<f32>
      %im = complex.im %v : complex<f32>
      %i = complex.im %v : complex<f32>
      %minus = arith.negf %i : f32
      %r = complex.re %v : complex<f32>
      linalg.yield %re, %im, %minus, %r : f32, f32, f32, f32
    }
    %a_parts = builtin.unrealized_conversion_cast %a
        : memref<64x50xcomplex<f32>> to memref<64x50xf32>
    %a_pairs = memref.reinterpret_cast %a_parts
        to offset: [0], sizes: [64, 50, 2], strides: [100, 2, 1]
        : memref<64x50xf32> to memref<64x50x2xf32, strided<[100, 2, 1]>>
    %c_parts = builtin.unrealized_conversion_cast %c : memref<64xcomplex<f32>> to memref<64xf32>
    %c_pairs = memref.reinterpret_cast %c_parts to offset: [0], sizes: [64, 2], strides: [2, 1]
        : memref<64xf32> to memref<64x2xf32, strided<[2, 1]>>
    linalg.generic {indexing_maps = [affine_map<(m, k, a, c) -> (m, k, a)>,
                                     affine_map<(m, k, a, c) -> (c, k, a)>,
                                     affine_map<(m, k, a, c) -> (m, c)>],
                    iterator_types = ["parallel", "reduction", "reduction", "parallel"]}
        ins(%a_pairs, %parts : memref<64x50x2xf32, strided<[100, 2, 1]>>, memref<2x50x2xf32>)
        outs(%c_pairs : memref<64x2xf32, strided<[2, 1]>>) {
    ^bb0(%u: f32, %v: f32, %o: f32):
      %p = arith.mulf %u, %v : f32
      %s = arith.addf %o, %p : f32
      linalg.yield %s : f32
    }
    memref.dealloc %parts : memref<2x50x2xf32>

The larger operand, `%a`, is read as it lies in memory: as pairs of floats. The parts of the other
are arranged for it, in a new buffer. Where `k`, along which `%a` lies in memory, is summed, they
are the matrix by which a pair is multiplied: `(re, -im)` for the real part of the result, `(im,
re)` for the imaginary one. Where it is not, they are `re` and `im`: the four real products of each
complex one are summed apart, and added up afterwards.

Products that are NaN are not repaired, as C's Annex G has it. NumPy's are not, either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, complex, ir, linalg, memref
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.constants import float_constant
from linalg_ext.structured.maps import indexing_maps, iterators_attribute, maps_attribute
from linalg_ext.structured.mixed import type_shape
from linalg_ext.structured.views import tile_view
from linalg_ext.symbolic.affine import AffineDim, AffineMap
from linalg_ext.transforms.analysis.buffers import buffer_of
from linalg_ext.transforms.analysis.fills import preceding_zeros
from linalg_ext.transforms.codegen.base.payload import combination_of
from linalg_ext.transforms.ir_utils.arithmetic import size_of, strides_of
from linalg_ext.transforms.ir_utils.complex_memory import pairs_of, part_of
from linalg_ext.transforms.ir_utils.generics import extents_of, input_count, inside, parallel_loops
from linalg_ext.transforms.ir_utils.tensor_loops import elementwise
from linalg_ext.transforms.ir_utils.walking import select

from .products import LEAST_PRODUCTS, Dims

NAME = "linalg-ext-split-complex-products"

_NO_SUM = "the body is not a sum of products"

_PART, _OF_RESULT, _OF_PARTS = "a", "c", "s"
"""The dimensions of parts: of the operand that is read as it lies, of the result, of the other."""


@dataclass(frozen=True)
class _Operand:
    """A buffer of complex numbers.

    Attributes:
        value: the buffer.
        dims: the loop of each axis.
        is_conjugate: whether its elements are conjugated before they are multiplied.
    """

    value: Any
    dims: Dims
    is_conjugate: bool = False

    @property
    def along(self) -> str | None:
        """The loop along which it lies in memory; None if none is known."""
        strides = strides_of(self.value.type) or []
        return next((dim for dim, by in zip(self.dims, strides, strict=False) if by == 1), None)

    @property
    def elements(self) -> float:
        """Their number, if it is known."""
        type_ = self.value.type
        return math.prod(type_.shape) if type_.has_static_shape else math.inf


@module_pass(NAME, on="linalg.generic")
def split_complex_products(module: ir.Operation) -> Report:
    """Turn contractions of complex numbers on buffers into contractions of floats."""
    report = Report(NAME)
    for op in select(module, _is_complex):
        report.matched[op.name] += 1
        report.record(op.name, _rewrite(op))
    return report


def _is_complex(op: Any) -> bool:
    """Return whether a generic on buffers sums complex numbers of two operands."""
    if op.name != "linalg.generic" or len(op.results) or input_count(op) != 2:
        return False
    types = [value.type for value in op.operands]
    return (
        len(types) == 3
        and all(isinstance(type_, ir.MemRefType) for type_ in types)
        and len({str(type_.element_type) for type_ in types}) == 1
        and str(types[0].element_type) in ("complex<f32>", "complex<f64>")
        and not all(parallel_loops(op))
    )


def _rewrite(op: Any) -> str | None:
    """Rewrite a sum of products; return why it stays, or None."""
    operands = _operands(op)
    if isinstance(operands, str):
        return operands
    *factors, result = operands
    loops = indexing_maps(op)[0].dims
    extents = list(extents_of(op).values())
    if None not in extents and math.prod(size or 0 for size in extents) < LEAST_PRODUCTS:
        return "the product is small"
    if any(buffer_of(factor.value) == buffer_of(result.value) for factor in factors):
        return "the output is an input"
    by_size = sorted(factors, key=lambda factor: -factor.elements)
    raw, other = by_size if by_size[0].along is not None else reversed(by_size)
    along = raw.along
    if along is None:
        return "neither operand lies along a loop"
    if any(strides_of(operand.value.type) is None for operand in operands):
        return "an operand has no strides"
    summed = set(loops) - set(result.dims)
    if not all(summed <= set(factor.dims) for factor in factors):
        return "an axis of one operand alone is summed"
    if not set(raw.dims) - set(other.dims):
        return "each element of both operands is used once"
    zeros = preceding_zeros(op)
    with op.location, ir.InsertionPoint(op):
        build = _sum_apart if along in result.dims else _sum_pairs
        build(raw, other, result, along, loops, has_zeros=zeros is not None)
    op.erase()
    if zeros is not None:
        zeros.erase()
    return None


def _operands(op: Any) -> list[_Operand] | str:
    """Return the two factors of a sum of products and its output, or why there are none."""
    body = op.regions[0].blocks[0]
    combination = combination_of(op)
    product = None if combination is None else inside(combination[1], body)
    if combination is None or product is None:
        return _NO_SUM
    if (combination[0].name, product.name) != ("complex.add", "complex.mul"):
        return _NO_SUM
    conjugates: dict[Any, bool] = {}
    for value in product.operands:
        conjugated = inside(value, body)
        is_conjugate = conjugated is not None and conjugated.name == "complex.conj"
        argument = conjugated.operands[0] if is_conjugate else value
        conjugates[argument] = is_conjugate
    arguments = list(body.arguments)
    if set(conjugates) != set(arguments[:2]):
        return "a factor is computed"
    operands = []
    for value, map_, argument in zip(op.operands, indexing_maps(op), arguments, strict=True):
        dims = tuple(expr.name for expr in map_.results if isinstance(expr, AffineDim))
        if len(dims) != len(map_.results) or len(set(dims)) != len(dims):
            return "an axis is not indexed by a loop of its own"
        operands.append(_Operand(value, dims, conjugates.get(argument, False)))
    read = {dim for operand in operands[:2] for dim in operand.dims}
    if read != set(indexing_maps(op)[0].dims):
        return "a loop reaches no factor"
    return operands


def _sum_pairs(
    raw: _Operand, other: _Operand, result: _Operand, along: str, loops: Dims, *, has_zeros: bool
) -> None:
    """Multiply pairs by matrices of 2 x 2: `along` is summed, and with it the parts of a pair."""
    free = [
        dim
        for axis, dim in enumerate(other.dims)
        if dim in result.dims and dim not in raw.dims and size_of(other.value, axis) != 1
    ]
    dims: list[str] = [] if free else [_OF_RESULT]
    for dim in other.dims:
        dims.append(dim)
        dims += [_PART] if dim == along else []
        dims += [_OF_RESULT] if dim in free[-1:] else []
    # conj(r) x = (r0 x0 + r1 x1) + (r0 x1 - r1 x0) i, and r x has the other signs of r1.
    minus, plus = (1, -1) if raw.is_conjugate else (-1, 1)
    parts = _arranged(
        other,
        dims,
        {
            (0, 0): (complex.ReOp, 1),
            (0, 1): (complex.ImOp, 1),
            (1, 0): (complex.ImOp, minus),
            (1, 1): (complex.ReOp, plus),
        },
        (_PART, _OF_RESULT),
    )
    raw_pairs, pairs = pairs_of(raw.value), pairs_of(result.value)
    if has_zeros:
        _clear(pairs)
    _contract(
        (raw_pairs, (*raw.dims, _PART)),
        (parts, tuple(dims)),
        (pairs, (*result.dims, _OF_RESULT)),
        (*loops, _PART, _OF_RESULT),
    )
    memref.dealloc(parts)


def _sum_apart(
    raw: _Operand, other: _Operand, result: _Operand, along: str, loops: Dims, *, has_zeros: bool
) -> None:
    """Sum the four products of parts each by itself: no two parts of `raw` are added up."""
    parts = _arranged(
        other,
        [_OF_PARTS, *other.dims],
        {(0,): (complex.ReOp, 1), (1,): (complex.ImOp, 1)},
        (_OF_PARTS,),
    )
    dims = [_OF_PARTS]
    for dim in result.dims:
        dims += [dim, _PART] if dim == along else [dim]
    raw_pairs, sums = pairs_of(raw.value), _allocated(result, dims)
    _clear(sums)
    _contract(
        (raw_pairs, (*raw.dims, _PART)),
        (parts, (_OF_PARTS, *other.dims)),
        (sums, tuple(dims)),
        (*loops, _PART, _OF_PARTS),
    )
    memref.dealloc(parts)
    products = [
        _slice(sums, dims, {_OF_PARTS: of_other, _PART: of_raw})
        for of_other in range(2)
        for of_raw in range(2)
    ]

    def added(rr: Any, ri: Any, ir_: Any, ii: Any, old: Any) -> list[Any]:
        # The first letter is of `other`, the second of `raw`.
        if raw.is_conjugate:
            real, imaginary = arith.addf(rr, ii), arith.subf(ir_, ri)
        else:
            real, imaginary = arith.subf(rr, ii), arith.addf(ir_, ri)
        new = complex.CreateOp(old.type, real, imaginary).result
        return [new if has_zeros else complex.AddOp(old, new).result]

    elementwise(products, [result.value], added)
    memref.dealloc(sums)


def _arranged(
    operand: _Operand,
    dims: Sequence[str],
    parts: dict[tuple[int, ...], tuple[Any, int]],
    by: Sequence[str],
) -> Any:
    """Return a new buffer with the parts of an operand.

    Args:
        operand: the operand.
        dims: the loop of each axis of the buffer.
        parts: for each position along the axes `by`, the part that lies there, and its sign.
        by: the axes of parts.
    """
    buffer = _allocated(operand, dims)
    outputs = [_slice(buffer, dims, dict(zip(by, at, strict=True))) for at in parts]

    def split(element: Any, *_: Any) -> list[Any]:
        values = []
        for part, sign in parts.values():
            value = part(element).result
            is_negative = (sign < 0) != (operand.is_conjugate and part is complex.ImOp)
            values.append(arith.negf(value) if is_negative else value)
        return values

    elementwise([operand.value], outputs, split)
    return buffer


def _allocated(like: _Operand, dims: Sequence[str]) -> Any:
    """Return a buffer of floats with the axes of another, and axes of parts."""
    own = {dim: size_of(like.value, axis) for axis, dim in enumerate(like.dims)}
    sizes = [own.get(dim, 2) for dim in dims]
    part = part_of(like.value.type.element_type)
    type_ = ir.MemRefType.get(type_shape(sizes), part)
    dynamic = [size for size in sizes if not isinstance(size, int)]
    return memref.alloc(type_, dynamic, [], alignment=64)


def _slice(buffer: Any, dims: Sequence[str], at: dict[str, int]) -> Any:
    """Return the view of a buffer at positions along some axes, without these axes."""
    sizes = [1 if dim in at else size_of(buffer, axis) for axis, dim in enumerate(dims)]
    axes = [axis for axis, dim in enumerate(dims) if dim not in at]
    return tile_view(buffer, [at.get(dim, 0) for dim in dims], sizes, None, axes)


def _contract(
    first: tuple[Any, Dims], second: tuple[Any, Dims], output: tuple[Any, Dims], loops: Dims
) -> None:
    """Build a sum of products; each operand comes with the loops of its axes."""
    maps = [
        AffineMap(loops, (), tuple(map(AffineDim, dims))) for _, dims in (first, second, output)
    ]
    kinds = ["parallel" if loop in output[1] else "reduction" for loop in loops]
    values = [first[0], second[0], output[0]]
    generic = linalg.GenericOp(
        [], values[:2], values[2:], maps_attribute(maps), iterators_attribute(kinds)
    )
    block = generic.regions[0].blocks.append(*(value.type.element_type for value in values))
    with ir.InsertionPoint(block):
        left, right, old = block.arguments
        linalg.YieldOp([arith.addf(old, arith.mulf(left, right))])


def _clear(buffer: Any) -> None:
    linalg.fill(float_constant(buffer.type.element_type, 0.0), outs=[buffer])
