"""Compute transposed convolutions tap by tap, each a plain contraction into strided results.

before:
    %r = linalg.generic {indexing_maps = [affine_map<(w, f, k, c) ->
                                            (((w - k) floordiv 2) mod 5, c)>,
                                          affine_map<(w, f, k, c) -> (k, c, f)>,
                                          affine_map<(w, f, k, c) -> (w, f)>],
                         iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
        ins(%i, %k : tensor<5x4xf32>, tensor<3x4x8xf32>) outs(%z : tensor<11x8xf32>) {
    ^bb0(%x: f32, %y: f32, %o: f32):
      %w = linalg.index 0 : index
      %t = linalg.index 2 : index
      %d = arith.subi %w, %t : index
      %inside = arith.cmpi sge, %d, %c0 : index
      %before = arith.cmpi sle, %d, %c8 : index
      %even = arith.remsi %d, %c2 : index
      %meets = arith.cmpi eq, %even, %c0 : index
      %both = arith.andi %inside, %before : i1
      %met = arith.andi %both, %meets : i1
      %p = arith.mulf %x, %y : f32
      %s = arith.select %met, %p, %zero : f32
      %a = arith.addf %o, %s : f32
      linalg.yield %a : f32
    } -> tensor<11x8xf32>
after:
    %lower = arith.constant 0 : index
    %upper = arith.constant 3 : index
    %step = arith.constant 1 : index
    %r = scf.for %t = %lower to %upper step %step iter_args(%all = %z) -> (tensor<11x8xf32>) {
      %u = tensor.extract_slice %k[%t, 0, 0] [1, 4, 8] [1, 1, 1]
        : tensor<3x4x8xf32> to tensor<4x8xf32>
      %b = tensor.extract_slice %all[%t, 0] [5, 8] [2, 1] : tensor<11x8xf32> to tensor<5x8xf32>
      %s = linalg.generic {indexing_maps = [affine_map<(w, f, c) -> (w, c)>,
                                            affine_map<(w, f, c) -> (c, f)>,
                                            affine_map<(w, f, c) -> (w, f)>],
                           iterator_types = ["parallel", "parallel", "reduction"]}
          ins(%i, %u : tensor<5x4xf32>, tensor<4x8xf32>) outs(%b : tensor<5x8xf32>) {
      ^bb0(%x: f32, %y: f32, %o: f32):
        %p = arith.mulf %x, %y : f32
        %a = arith.addf %o, %p : f32
        linalg.yield %a : f32
      } -> tensor<5x8xf32>
      %n = tensor.insert_slice %s into %all[%t, 0] [5, 8] [2, 1]
        : tensor<5x8xf32> into tensor<11x8xf32>
      scf.yield %n : tensor<11x8xf32>
    }

As one op, each element of the result asks every tap whether it is met: of S taps in each direction
S - 1 are not, for a stride of S. Each tap by itself is a plain contraction, and nothing is asked.
Where the taps are a multiple of the stride, S of them in a direction are one contraction: what they
write lies side by side.

What is meant is not told by the form of the conditions: they are computed for every position.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir, linalg, tensor
from linalg_ext.definition.affine import (
    AffineBinary,
    AffineDim,
    AffineExpr,
    AffineMap,
    linear_terms,
)
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.utils.maps import indexing_maps, maps_attribute, split_operands
from linalg_ext.transforms.ir_utils.buffer_sizes import times
from linalg_ext.transforms.ir_utils.generics import computed_anew, generic_on_tensors
from linalg_ext.transforms.ir_utils.replacing import replace_each
from linalg_ext.transforms.ir_utils.tensor_loops import counted
from linalg_ext.transforms.ir_utils.walking import producer, select

from ._transposed_convolution import (
    Axis,
    TransposedConvolution,
    read_transposed_convolution,
)

NAME = "linalg-ext-spread-transposed-convolutions"


@module_pass(NAME, on="linalg.generic")
def spread_transposed_convolutions(module: ir.Operation) -> Report:
    """Replace transposed convolutions by contractions, one for each tap or stride of taps."""
    return replace_each(NAME, select(module, _divides_positions), _spread)


def _divides_positions(op: Any) -> bool:
    """Return whether an op on tensors reads an input at an index with a quotient or a remainder."""
    if op.name != "linalg.generic" or len(op.results) != 1:
        return False
    return any(
        isinstance(index, AffineBinary) and linear_terms(index) is None
        for map_ in indexing_maps(op)[:-1]
        for index in map_.results
    )


def _spread(op: Any) -> Any:
    """The result, by loops over taps; or why they do not compute it."""
    found = read_transposed_convolution(op)
    if isinstance(found, str):
        return found
    axes = list(found.axes.values())
    (output,) = split_operands(found.op)[1]

    def nest(rest: Sequence[Axis], rounds: Mapping[str, Any], total: Any) -> Any:
        if not rest:
            return _contract(found, rounds, total)
        axis = rest[0]
        if axis.rounds == 1:
            return nest(rest[1:], {**rounds, axis.out: 0}, total)

        def step(at: Any, carried: list[Any]) -> list[Any]:
            return [nest(rest[1:], {**rounds, axis.out: at}, *carried)]

        return counted(0, axis.rounds, [total], step)[0]

    return nest(axes, {}, output)


def _contract(found: TransposedConvolution, rounds: Mapping[str, Any], total: Any) -> Any:
    """`total` with what some taps add; `rounds` says which, by the loop over places."""
    by_tap = {axis.tap: axis for axis in found.axes.values()}
    inputs, _ = split_operands(found.op)
    maps = list(found.maps)
    for number, value in enumerate(inputs):
        if number != found.image:
            inputs[number], maps[number] = _of_taps(value, maps[number], by_tap, rounds)
    window = _window(found, total, rounds)
    together = [axis for axis in found.axes.values() if axis.together > 1]
    part = _expanded(window.slice(total), maps[-1], found.axes)
    maps[-1] = _with_taps(maps[-1], found.axes)
    kinds = _kinds(found, {axis.tap for axis in together})
    generic = _generic(found, [*inputs, part], maps, kinds)
    result = _collapsed(generic, window.type, found.maps[-1], found.axes)
    return window.insert(result, total)


@dataclass(frozen=True)
class _Window:
    """A part of a tensor.

    Attributes:
        type: of the part.
        offsets: of its first element; numbers or values.
        strides: between its elements.
    """

    type: Any
    offsets: tuple[Any, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def slice(self, value: Any) -> Any:
        """The part of `value`."""
        if value.type == self.type and value.type.has_static_shape:
            return value
        return tensor.ExtractSliceOp(self.type, value, *self._arguments()).result

    def insert(self, part: Any, value: Any) -> Any:
        """`value` with another part."""
        if value.type == part.type and value.type.has_static_shape:
            return part
        return tensor.InsertSliceOp(part, value, *self._arguments()).result

    def _arguments(self) -> tuple[Any, ...]:
        dynamic = ir.ShapedType.get_dynamic_size()
        return (
            [offset for offset in self.offsets if not isinstance(offset, int)],
            [],
            [],
            [offset if isinstance(offset, int) else dynamic for offset in self.offsets],
            list(self.sizes),
            list(self.strides),
        )


def _of_taps(
    value: Any, map_: AffineMap, by_tap: Mapping[str, Axis], rounds: Mapping[str, Any]
) -> tuple[Any, AffineMap]:
    """The part of an operand that belongs to some taps, and how it is read."""
    if not isinstance(value.type, ir.ShapedType):
        return value, map_
    names = [index.name for index in map_.results if isinstance(index, AffineDim)]
    offsets: list[Any] = []
    sizes: list[int] = []
    kept: list[tuple[int, str]] = []
    for place, name in enumerate(names):
        axis = by_tap.get(name)
        offsets.append(0 if axis is None else times(rounds[axis.out], axis.together))
        sizes.append(value.type.get_dim_size(place) if axis is None else axis.together)
        if axis is None or axis.together > 1:
            kept.append((sizes[-1], name))
    type_ = ir.RankedTensorType.get([size for size, _ in kept], value.type.element_type)
    part = value
    if type_ != value.type:
        window = _Window(type_, tuple(offsets), tuple(sizes), (1,) * len(sizes))
        part = window.slice(value)
    plain = tuple(AffineDim(name) for _, name in kept)
    return part, AffineMap(map_.dims, map_.symbols, plain)


def _window(found: TransposedConvolution, total: Any, rounds: Mapping[str, Any]) -> _Window:
    """Return the slice of the result that some taps write."""
    offsets: list[Any] = []
    sizes: list[int] = []
    strides: list[int] = []
    for place, index in enumerate(found.maps[-1].results):
        axis = found.axes.get(index.name) if isinstance(index, AffineDim) else None
        if axis is None:
            offsets.append(0)
            sizes.append(total.type.get_dim_size(place))
            strides.append(1)
        else:
            offsets.append(times(rounds[axis.out], axis.step))
            sizes.append(axis.size * axis.together)
            strides.append(1 if axis.together > 1 else axis.stride)
    type_ = ir.RankedTensorType.get(sizes, total.type.element_type)
    return _Window(type_, tuple(offsets), tuple(sizes), tuple(strides))


def _pairs(map_: AffineMap, axes: Mapping[str, Axis]) -> list[list[Axis | None]]:
    """For each dimension of the result what it is split into: its places, and taps."""
    groups: list[list[Axis | None]] = []
    for index in map_.results:
        axis = axes.get(index.name) if isinstance(index, AffineDim) else None
        split = axis is not None and axis.together > 1
        groups.append([None, axis] if split else [None])
    return groups


def _groups(map_: AffineMap, axes: Mapping[str, Axis]) -> list[list[int]]:
    count = itertools.count()
    return [[next(count) for _ in group] for group in _pairs(map_, axes)]


def _expanded(part: Any, map_: AffineMap, axes: Mapping[str, Axis]) -> Any:
    sizes: list[int] = []
    for place, group in enumerate(_pairs(map_, axes)):
        size = part.type.get_dim_size(place)
        axis = group[-1]
        sizes += [size] if axis is None else [size // axis.together, axis.together]
    if len(sizes) == part.type.rank:
        return part
    type_ = ir.RankedTensorType.get(sizes, part.type.element_type)
    return tensor.ExpandShapeOp(type_, part, _groups(map_, axes), [], sizes).result


def _collapsed(result: Any, type_: Any, map_: AffineMap, axes: Mapping[str, Axis]) -> Any:
    if result.type == type_:
        return result
    return tensor.CollapseShapeOp(type_, result, _groups(map_, axes)).result


def _with_taps(map_: AffineMap, axes: Mapping[str, Axis]) -> AffineMap:
    results: list[AffineExpr] = []
    for index, group in zip(map_.results, _pairs(map_, axes), strict=True):
        results += [index if axis is None else AffineDim(axis.tap) for axis in group]
    return AffineMap(map_.dims, map_.symbols, tuple(results))


def _kinds(found: TransposedConvolution, parallel: set[str]) -> dict[str, str]:
    """For each loop that is left what it is, taps that are one contraction being parallel."""
    iterators = ir.ArrayAttr(found.op.attributes["iterator_types"])
    dropped = {axis.tap for axis in found.axes.values()} - parallel
    return {
        name: "parallel" if name in parallel or "parallel" in str(kind) else "reduction"
        for name, kind in zip(found.maps[0].dims, iterators, strict=True)
        if name not in dropped
    }


def _generic(
    found: TransposedConvolution,
    operands: Sequence[Any],
    maps: Sequence[AffineMap],
    kinds: dict[str, str],
) -> Any:
    own_maps = maps_attribute(
        [AffineMap(tuple(kinds), map_.symbols, map_.results) for map_ in maps]
    )
    generic = generic_on_tensors(operands[:-1], operands[-1], own_maps, kinds.values())
    old = found.op.regions[0].blocks[0]
    new = generic.regions[0].blocks.append(*[argument.type for argument in old.arguments])
    known = dict(zip(old.arguments, new.arguments, strict=True))
    total = producer(old.operations[len(old.operations) - 1].operation.operands[0])
    (choice,) = (
        value for value in total.operands if value != old.arguments[len(old.arguments) - 1]
    )
    with ir.InsertionPoint(new):
        known[choice] = computed_anew(found.product, old, known)
        linalg.YieldOp([computed_anew(total.results[0], old, known)])
    return generic.results[0]
