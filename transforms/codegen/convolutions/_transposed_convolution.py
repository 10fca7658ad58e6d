"""Recognition of transposed convolutions, from the values of their conditions at every position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.definition.affine import AffineDim, AffineExpr, AffineMap
from linalg_ext.structured.maps import indexing_maps, split_operands
from linalg_ext.transforms.codegen.base.index_conditions import (
    conditional_step,
    evaluated,
    grid,
    loops_of,
)
from linalg_ext.transforms.ir_utils.walking import producer

_ADDITIONS = ("arith.addf", "arith.addi")


@dataclass(frozen=True)
class Axis:
    """A direction in which elements are spread: element i by tap t to `i * stride + t * dilation`.

    Attributes:
        out: the loop over places of the result.
        tap: the loop over taps.
        size: how many elements there are.
        taps: how many taps.
        stride, dilation: how far from one to the next.
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
        way = np.subtract.outer(np.arange(self.reach), np.arange(self.taps) * self.dilation)
        return np.asarray((way >= 0) & (way < self.size * self.stride) & (way % self.stride == 0))


@dataclass(frozen=True)
class TransposedConvolution:
    """A transposed convolution.

    Attributes:
        op: it.
        maps: of its operands, the image's with plain loops.
        image: the number of the operand that is spread.
        axes: the directions, by the loop over places of the result.
        product: what is summed; in its body.
    """

    op: Any
    maps: tuple[AffineMap, ...]
    image: int
    axes: Mapping[str, Axis]
    product: Any


def read_transposed_convolution(op: Any) -> TransposedConvolution | str:
    """The transposed convolution that an op is, or why it is not one."""
    if not all(_is_static(value) for value in op.operands):
        return "the sizes are not known"
    if any(0 in value.type.shape for value in op.operands if _is_shaped(value)):
        return "an operand is empty"
    maps = indexing_maps(op)
    inputs, _ = split_operands(op)
    images = [n for n in range(len(inputs)) if not _is_plain(maps[n])]
    if len(images) != 1 or not _is_plain(maps[-1]):
        return "the operands along sums of loops are not one input alone"
    (image,) = images
    sizes = _sizes(op, maps)
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
    return TransposedConvolution(op, tuple(maps), image, axes, conditions.product)


def _is_static(value: Any) -> bool:
    return not _is_shaped(value) or value.type.has_static_shape


def _is_shaped(value: Any) -> bool:
    return isinstance(value.type, ir.ShapedType)


def _is_plain(map_: AffineMap) -> bool:
    return all(isinstance(index, AffineDim) for index in map_.results)


def _sizes(op: Any, maps: Sequence[AffineMap]) -> dict[str, int]:
    return {
        index.name: ir.ShapedType(value.type).get_dim_size(place)
        for value, map_ in zip(op.operands, maps, strict=True)
        for place, index in enumerate(map_.results)
        if isinstance(index, AffineDim)
    }


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
    """The value that is summed, and the conditions under which it is.

    Attributes:
        product: the value in the body that is added where all conditions hold.
        by_loops: the conditions, by the loops that they depend on.
        sizes: of the loops.
        dims: the loops, in order.
    """

    product: Any
    by_loops: Mapping[frozenset[str], Sequence[Any]]
    sizes: Mapping[str, int]
    dims: tuple[str, ...]

    @classmethod
    def of(cls, op: Any, sizes: Mapping[str, int]) -> Conditions | str:
        """The conditions in the body of an op; or why it is no sum under conditions."""
        step = conditional_step(op)
        if isinstance(step, str):
            return step
        if step.combiner.name not in _ADDITIONS or not _is_zero(step.otherwise):
            return "the body does not sum a product or 0"
        dims = indexing_maps(op)[0].dims
        parts = [(_names(part, dims), part) for part in step.conditions]
        largest = {loops for loops, _ in parts if not any(loops < other for other, _ in parts)}
        by_loops = {loops: [part for names, part in parts if names <= loops] for loops in largest}
        return cls(step.value, by_loops, sizes, dims)

    def axis(self, index: AffineExpr, size: int, output: AffineMap) -> Axis | str:
        """The direction that an index of the image runs in, or why it is not one."""
        written = {each.name for each in output.results if isinstance(each, AffineDim)}
        outs = [name for name in index.dims if name in written]
        taps = [name for name in index.dims if name not in written]
        if len(outs) != 1 or len(taps) != 1:
            return f"the index {index} is not of one place and one tap"
        ((out,), (tap,)) = outs, taps
        places = {self.dims.index(out): self.sizes[out], self.dims.index(tap): self.sizes[tap]}
        positions = grid(places)
        if positions is None:
            return "the loops are too long to be checked point by point"
        met = np.ones(tuple(places.values()), bool)
        for condition in self.by_loops.get(frozenset((out, tap)), ()):
            holds = evaluated(condition, positions)
            if holds is None:
                return "a condition is more than sums and comparisons of positions"
            met = met & holds
        met = np.moveaxis(met, list(places).index(self.dims.index(out)), 0)
        axis = Axis(out, tap, size, self.sizes[tap], *_steps(met))
        if axis.reach > self.sizes[out]:
            return "the result is shorter than the taps reach"
        expected = np.zeros_like(met)
        expected[: axis.reach] = axis.is_met()
        way, taken = np.nonzero(expected)
        read = index.evaluate({AffineDim(out): way, AffineDim(tap): taken})
        if not np.array_equal(met, expected) or not np.array_equal(
            read, (way - taken * axis.dilation) // axis.stride
        ):
            return "the conditions are not those of taps"
        return axis


def _names(value: Any, dims: Sequence[str]) -> frozenset[str]:
    return frozenset(dims[loop] for loop in loops_of(value))


def _steps(met: np.ndarray[Any, Any]) -> tuple[int, int]:
    """The stride and the dilation, if a transposed convolution is what was met."""
    first = np.flatnonzero(met[:, 0])
    stride = int(first[1] - first[0]) if len(first) > 1 else 1
    starts = met.argmax(axis=0)
    dilation = int(starts[1] - starts[0]) if len(starts) > 1 else 1
    return stride, max(dilation, 1)


def _is_zero(value: Any) -> bool:
    op = producer(value)
    constant = op.attributes["value"] if op is not None and op.name == "arith.constant" else None
    return isinstance(constant, ir.FloatAttr | ir.IntegerAttr) and bool(constant.value == 0)
