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
Where the taps are a multiple of the stride, S of them in a direction are one contraction: their
results lie side by side.

Conditions are not judged by their form: they are computed for every position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linalg_ext.bindings import ir, linalg, tensor
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.loops import counted
from linalg_ext.structured.maps import indexing_maps, maps_attribute, split_operands
from linalg_ext.structured.mixed import mixed_operands
from linalg_ext.symbolic.affine import AffineBinary, AffineDim, AffineExpr, AffineMap, linear_terms
from linalg_ext.transforms.codegen.base.index_conditions import (
    ConditionalStep,
    conditional_step,
    is_plain,
    loops_of,
    plain_sizes,
    positions_met,
)
from linalg_ext.transforms.ir_utils.arithmetic import times
from linalg_ext.transforms.ir_utils.generics import computed_anew, generic_on_tensors
from linalg_ext.transforms.ir_utils.walking import replace_each, select

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
    """Return the result, computed by loops over taps, or why they do not compute it."""
    convolution = read_transposed_convolution(op)
    if isinstance(convolution, str):
        return convolution
    axes = list(convolution.axes.values())
    (output,) = split_operands(convolution.op)[1]

    def nest(rest: Sequence[Axis], rounds: Mapping[str, Any], total: Any) -> Any:
        if not rest:
            return _contract(convolution, rounds, total)
        axis = rest[0]
        if axis.rounds == 1:
            return nest(rest[1:], {**rounds, axis.out: 0}, total)

        def step(at: Any, carried: list[Any]) -> list[Any]:
            return [nest(rest[1:], {**rounds, axis.out: at}, *carried)]

        return counted(0, axis.rounds, [total], step)[0]

    return nest(axes, {}, output)


def _contract(convolution: TransposedConvolution, rounds: Mapping[str, Any], total: Any) -> Any:
    """Return `total` with the products of the taps at some rounds, by loop over places."""
    by_tap = {axis.tap: axis for axis in convolution.axes.values()}
    inputs, _ = split_operands(convolution.op)
    maps = list(convolution.maps)
    for number, value in enumerate(inputs):
        if number != convolution.image:
            inputs[number], maps[number] = _of_taps(value, maps[number], by_tap, rounds)
    offsets: list[Any] = []
    sizes: list[int] = []
    strides: list[int] = []
    shape: list[int] = []  # with taps that are one contraction as dimensions of their own
    groups: list[list[int]] = []
    indices: list[AffineExpr] = []
    for place, index in enumerate(convolution.maps[-1].results):
        axis = convolution.axes.get(index.name) if isinstance(index, AffineDim) else None
        offsets.append(0 if axis is None else times(rounds[axis.out], axis.step))
        sizes.append(total.type.get_dim_size(place) if axis is None else axis.size * axis.together)
        strides.append(1 if axis is None or axis.together > 1 else axis.stride)
        indices.append(index)
        groups.append([len(shape)])
        shape.append(sizes[-1])
        if axis is not None and axis.together > 1:
            indices.append(AffineDim(axis.tap))
            groups[-1].append(len(shape))
            shape[-1:] = [axis.size, axis.together]
    element = total.type.element_type
    window = _Window(ir.RankedTensorType.get(sizes, element), offsets, sizes, strides)
    part = window.slice(total)
    if len(shape) > len(sizes):
        wide = ir.RankedTensorType.get(shape, element)
        part = tensor.ExpandShapeOp(wide, part, groups, [], shape).result
    maps[-1] = replace(maps[-1], results=tuple(indices))
    together = {axis.tap for axis in convolution.axes.values() if axis.together > 1}
    result = _generic(convolution, [*inputs, part], maps, _kinds(convolution, together))
    if len(shape) > len(sizes):
        result = tensor.CollapseShapeOp(window.type, result, groups).result
    return window.insert(result, total)


@dataclass(frozen=True)
class _Window:
    """A part of a tensor, and its type; the offsets are numbers or values."""

    type: Any
    offsets: Sequence[Any]
    sizes: Sequence[int]
    strides: Sequence[int]

    def slice(self, value: Any) -> Any:
        if value.type == self.type and value.type.has_static_shape:
            return value
        return tensor.ExtractSliceOp(self.type, value, *self._arguments()).result

    def insert(self, part: Any, value: Any) -> Any:
        if value.type == part.type and value.type.has_static_shape:
            return part
        return tensor.InsertSliceOp(part, value, *self._arguments()).result

    def _arguments(self) -> tuple[Any, ...]:
        return mixed_operands(self.offsets, self.sizes, self.strides)


def _of_taps(
    value: Any, map_: AffineMap, by_tap: Mapping[str, Axis], rounds: Mapping[str, Any]
) -> tuple[Any, AffineMap]:
    """Return the part of an operand that belongs to some taps, and its indexing map."""
    if not isinstance(value.type, ir.ShapedType):
        return value, map_
    names = [index.name for index in map_.results if isinstance(index, AffineDim)]
    offsets: list[Any] = []
    sizes: list[int] = []
    kept_sizes: list[tuple[int, str]] = []
    for place, name in enumerate(names):
        axis = by_tap.get(name)
        offsets.append(0 if axis is None else times(rounds[axis.out], axis.together))
        sizes.append(value.type.get_dim_size(place) if axis is None else axis.together)
        if axis is None or axis.together > 1:
            kept_sizes.append((sizes[-1], name))
    type_ = ir.RankedTensorType.get([size for size, _ in kept_sizes], value.type.element_type)
    part = value
    if type_ != value.type:
        part = _Window(type_, offsets, sizes, [1] * len(sizes)).slice(value)
    plain = tuple(AffineDim(name) for _, name in kept_sizes)
    return part, AffineMap(map_.dims, map_.symbols, plain)


def _kinds(convolution: TransposedConvolution, parallel: set[str]) -> dict[str, str]:
    """Return the iterator type of each remaining loop; taps of one contraction are parallel."""
    iterators = ir.ArrayAttr(convolution.op.attributes["iterator_types"])
    dropped = {axis.tap for axis in convolution.axes.values()} - parallel
    return {
        name: "parallel" if name in parallel or "parallel" in str(kind) else "reduction"
        for name, kind in zip(convolution.maps[0].dims, iterators, strict=True)
        if name not in dropped
    }


def _generic(
    convolution: TransposedConvolution,
    operands: Sequence[Any],
    maps: Sequence[AffineMap],
    kinds: dict[str, str],
) -> Any:
    own_maps = maps_attribute(
        [AffineMap(tuple(kinds), map_.symbols, map_.results) for map_ in maps]
    )
    generic = generic_on_tensors(operands[:-1], operands[-1], own_maps, kinds.values())
    old = convolution.op.regions[0].blocks[0]
    new = generic.regions[0].blocks.append(*[argument.type for argument in old.arguments])
    mapping = dict(zip(old.arguments, new.arguments, strict=True))
    step = convolution.step
    with ir.InsertionPoint(new):
        mapping[step.choice.results[0]] = computed_anew(step.value, old, mapping)
        linalg.YieldOp([computed_anew(step.combiner.results[0], old, mapping)])
    return generic.results[0]


_ADDITIONS = ("arith.addf", "arith.addi")


@dataclass(frozen=True)
class Axis:
    """A direction in which elements are spread: element i by tap t to `i * stride + t * dilation`.

    Attributes:
        out: the loop over places of the result.
        tap: the loop over taps.
        size: the number of elements.
        taps: the number of taps.
        stride, dilation: the distance from one element, or tap, to the next.
    """

    out: str
    tap: str
    size: int
    taps: int
    stride: int
    dilation: int

    @property
    def reach(self) -> int:
        """The length that the result must have."""
        return (self.size - 1) * self.stride + (self.taps - 1) * self.dilation + 1

    @property
    def together(self) -> int:
        """The number of taps in one contraction."""
        whole = self.dilation == 1 and self.taps % self.stride == 0
        return self.stride if whole else 1

    @property
    def rounds(self) -> int:
        """The number of contractions."""
        return self.taps // self.together

    @property
    def step(self) -> int:
        """The distance in the result from one contraction to the next."""
        return self.dilation * self.together

    def is_met(self) -> np.ndarray[Any, Any]:
        """For each place that is reached and each tap whether an element goes there."""
        offsets = np.subtract.outer(np.arange(self.reach), np.arange(self.taps) * self.dilation)
        return np.asarray(
            (offsets >= 0) & (offsets < self.size * self.stride) & (offsets % self.stride == 0)
        )


@dataclass(frozen=True)
class TransposedConvolution:
    """A transposed convolution.

    Attributes:
        op: the op.
        maps: the maps of its operands, that of the image with plain loops.
        image: the number of the operand that is spread.
        axes: the directions, by the loop over places of the result.
        step: the work of its body.
    """

    op: Any
    maps: tuple[AffineMap, ...]
    image: int
    axes: Mapping[str, Axis]
    step: ConditionalStep


def read_transposed_convolution(op: Any) -> TransposedConvolution | str:
    """Return the transposed convolution that an op is, or why it is not one."""
    maps = indexing_maps(op)
    sizes = plain_sizes(op, maps)
    if isinstance(sizes, str):
        return sizes

    shapes = [value.type for value in op.operands if isinstance(value.type, ir.ShapedType)]
    if any(0 in type_.shape for type_ in shapes):
        return "an operand is empty"
    inputs, _ = split_operands(op)
    images = [number for number in range(len(inputs)) if not is_plain(maps[number])]
    if len(images) != 1 or not is_plain(maps[-1]):
        return "the operands along sums of loops are not one input alone"
    (image,) = images
    conditions = Conditions.of(op, sizes)
    if isinstance(conditions, str):
        return conditions
    axes: dict[str, Axis] = {}
    plain: list[AffineExpr] = []
    for place, index in enumerate(maps[image].results):
        if not isinstance(index, AffineDim):
            size = ir.ShapedType(inputs[image].type).get_dim_size(place)
            axis = conditions.axis(index, size, maps[-1])
            if isinstance(axis, str):
                return axis
            index = AffineDim(axis.out)
            axes[axis.out] = axis
        plain.append(index)
    if len(set(plain)) != len(plain) or not _are_apart(maps, axes):
        return "an operand is read along a loop twice"
    if len(axes) != len(conditions.by_loops):
        return "the conditions are not those of taps"
    maps[image] = AffineMap(maps[image].dims, maps[image].symbols, tuple(plain))
    return TransposedConvolution(op, tuple(maps), image, axes, conditions.step)


def _are_apart(maps: Sequence[AffineMap], axes: Mapping[str, Axis]) -> bool:
    """Return whether places are loops of the result alone, and taps of other operands alone."""
    taps = {axis.tap for axis in axes.values()}
    output = [index.name for index in maps[-1].results if isinstance(index, AffineDim)]
    inputs = {
        index.name for map_ in maps[:-1] for index in map_.results if isinstance(index, AffineDim)
    }
    return (
        len(taps) == len(axes)
        and not taps & set(output)
        and axes.keys() <= set(output)
        and not axes.keys() & inputs
    )


@dataclass(frozen=True)
class Conditions:
    """The conditions under which a value is summed.

    Attributes:
        step: the work of the body: it adds a value where all conditions hold.
        by_loops: the conditions, by the loops that they depend on.
        sizes: of the loops.
        dims: the loops, in order.
    """

    step: ConditionalStep
    by_loops: Mapping[frozenset[str], Sequence[Any]]
    sizes: Mapping[str, int]
    dims: tuple[str, ...]

    @classmethod
    def of(cls, op: Any, sizes: Mapping[str, int]) -> Conditions | str:
        """Return the conditions in the body of an op, or why it is not a sum under conditions."""
        step = conditional_step(op)
        if isinstance(step, str):
            return step
        if step.combiner.name not in _ADDITIONS or not step.is_neutral_elsewhere:
            return "the body does not sum a product or 0"
        dims = indexing_maps(op)[0].dims
        parts = [(frozenset(dims[loop] for loop in loops_of(p)), p) for p in step.conditions]
        largest = {loops for loops, _ in parts if not any(loops < other for other, _ in parts)}
        by_loops = {loops: [part for names, part in parts if names <= loops] for loops in largest}
        return cls(step, by_loops, sizes, dims)

    def axis(self, index: AffineExpr, size: int, output: AffineMap) -> Axis | str:
        """Return the direction that an index of the image runs in, or why it is not one."""
        written = {expr.name for expr in output.results if isinstance(expr, AffineDim)}
        outs = [name for name in index.dims if name in written]
        taps = [name for name in index.dims if name not in written]
        if len(outs) != 1 or len(taps) != 1:
            return f"the index {index} is not of one place and one tap"
        ((out,), (tap,)) = outs, taps
        sizes = {self.dims.index(loop): self.sizes[loop] for loop in (out, tap)}
        met = positions_met(self.by_loops.get(frozenset((out, tap)), ()), sizes)
        if isinstance(met, str):
            return met
        axis = Axis(out, tap, size, self.sizes[tap], *_steps(met))
        if axis.reach > self.sizes[out]:
            return "the result is shorter than the taps reach"
        expected = np.zeros_like(met)
        expected[: axis.reach] = axis.is_met()
        places, tap_numbers = np.nonzero(expected)
        read = index.evaluate({AffineDim(out): places, AffineDim(tap): tap_numbers})
        if not np.array_equal(met, expected) or not np.array_equal(
            read, (places - tap_numbers * axis.dilation) // axis.stride
        ):
            return "the conditions are not those of taps"
        return axis


def _steps(met: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Return the stride and the dilation of a transposed convolution that meets these positions."""
    first = np.flatnonzero(met[:, 0])
    stride = int(first[1] - first[0]) if len(first) > 1 else 1
    starts = met.argmax(axis=0)
    dilation = int(starts[1] - starts[0]) if len(starts) > 1 else 1
    return stride, max(dilation, 1)
