"""The step that unrolls windows, and the choice of the loops that it takes out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

from linalg_ext.bindings import arith, ir, linalg, scf, tensor
from linalg_ext.dialects.gml_st.rules.bodies import as_generic
from linalg_ext.structured.loops import counted
from linalg_ext.structured.maps import indexing_maps, split_operands
from linalg_ext.structured.mixed import Index, mixed_operands, type_shape
from linalg_ext.structured.sizes import as_number, mixed_size, size_of, value_of
from linalg_ext.structured.views import is_view, tile_view
from linalg_ext.symbolic.affine import AffineConst, AffineDim, AffineExpr, AffineMap, linear_terms
from linalg_ext.symbolic.integers import Number
from linalg_ext.transforms.ir_utils.generics import loop_of
from linalg_ext.transforms.ir_utils.walking import operations, replace_op

from ._checks import DYNAMIC, Loops, check_maps, check_not_empty, refusal
from .step import schedule_step


@schedule_step("linalg-ext-unroll-windows")
def unroll_windows(op: ir.Operation) -> list[ir.Operation]:
    """Compute a convolution or a pooling by one op for each place in its window.

    before:
        %r = linalg.conv_2d ins(%a, %b : tensor<6x8xf32>, tensor<1x2xf32>)
            outs(%c : tensor<6x7xf32>) -> tensor<6x7xf32>
    after `match("conv_2d").unroll_windows().simplify()`:
        %slice = tensor.extract_slice %a[0, 0] [6, 7] [1, 1] : tensor<6x8xf32> to tensor<6x7xf32>
        %slice_0 = tensor.extract_slice %b[0, 0] [1, 1] [1, 1] : tensor<1x2xf32> to tensor<f32>
        %0 = linalg.generic {
            indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>,
                             affine_map<(i, j) -> (i, j)>],
            iterator_types = ["parallel", "parallel"]
        } ins(%slice, %slice_0 : tensor<6x7xf32>, tensor<f32>) outs(%c : tensor<6x7xf32>) {
        ^bb0(%x: f32, %w: f32, %o: f32):
          %p = arith.mulf %x, %w : f32
          %s = arith.addf %o, %p : f32
          linalg.yield %s : f32
        } -> tensor<6x7xf32>
        %slice_1 = tensor.extract_slice %a[0, 1] [6, 7] [1, 1] : tensor<6x8xf32> to tensor<6x7xf32>
        %slice_2 = tensor.extract_slice %b[0, 1] [1, 1] [1, 1] : tensor<1x2xf32> to tensor<f32>
        %r = linalg.generic {
            indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>,
                             affine_map<(i, j) -> (i, j)>],
            iterator_types = ["parallel", "parallel"]
        } ins(%slice_1, %slice_2 : tensor<6x7xf32>, tensor<f32>) outs(%0 : tensor<6x7xf32>) {
        ^bb0(%x: f32, %w: f32, %o: f32):
          %p = arith.mulf %x, %w : f32
          %s = arith.addf %o, %p : f32
          linalg.yield %s : f32
        } -> tensor<6x7xf32>

    Where channels are summed, each is a product of matrices, which `specialize` names. `vectorize`
    does this by itself: upstream has vectors for windows along one dimension only.

    Source: the direct convolution of Georganas et al., "Anatomy of High-Performance Deep Learning
    Convolutions on SIMD Architectures" (SC 2018): a small product of matrices for each place.

    Any op is taken whose indices are sums of loops. Those loops are unrolled that leave each
    operand a slice read by plain dimensions: the reductions, where the others run more than once.

    Args:
        op: a structured op.

    Raises:
        ScheduleError: it has no indexing maps, or no window, or the places are not known or more
            than 128.
    """
    loops = check_maps(op, "unroll_windows")
    check_not_empty(op, loops)
    maps = indexing_maps(op)
    if all(map(is_plain, maps)):
        raise refusal(
            op,
            f"unroll_windows is for ops that read windows; this {op.name} has none",
            expected="an index that is a sum of loops, such as d1 + d4",
        )
    check_layouts(op, "unroll_windows")
    unrolling = choose_unrolling(maps, loops, loops.ranges, limit=MOST_POSITIONS)
    if unrolling is None:
        number, index, own = reading(maps, loops)
        shown = ", ".join(
            f"loop {loop} runs {count if (count := loops.ranges[loop]) > 0 else '?'} times"
            for loop in own
        )
        raise refusal(
            op,
            f"operand {number} of this {op.name} is indexed by {index}: {shown}",
            expected=f"at most {MOST_POSITIONS} places in all",
            hint="tile(...) these loops first, by sizes that divide them",
        )
    return [piece.op for piece in unrolled(op, loops, unrolling)]


MOST_POSITIONS = 128
"""The most copies of one op: a window of 11 x 11 has fewer."""


class Piece(NamedTuple):
    """An op for one position of the window.

    Attributes:
        op: a `linalg.generic`.
        depth: the number of ops around it that were made for it: loops, and `scf.if` where there
            may be no such position.
    """

    op: ir.Operation
    depth: int


@dataclass(frozen=True)
class _Slice:
    base: ir.Value
    axes: tuple[Axis, ...]
    sizes: tuple[Number, ...]
    is_all: bool

    def value(self) -> ir.Value:
        """Return the part, at the insertion point."""
        if self.is_all:
            return self.base
        kept_axes = [number for number, axis in enumerate(self.axes) if axis.dim is not None]
        if isinstance(self.base.type, ir.MemRefType):
            return tile_view(self.base, *self._geometry(), dims=kept_axes)
        shape = type_shape([self.sizes[number] for number in kept_axes])
        type_ = ir.RankedTensorType.get(shape, ir.ShapedType(self.base.type).element_type)
        return _result(tensor.ExtractSliceOp(type_, self.base, *mixed_operands(*self._geometry())))

    def put(self, part: ir.Value) -> ir.Value:
        """Return the whole with another part, at the insertion point."""
        if self.is_all:
            return part
        return _result(tensor.InsertSliceOp(part, self.base, *mixed_operands(*self._geometry())))

    def _geometry(self) -> tuple[list[Index], list[Index], list[Index]]:
        sizes = [mixed_size(size) for size in self.sizes]
        offsets = [mixed_size(axis.offset) for axis in self.axes]
        return offsets, sizes, [axis.stride for axis in self.axes]


def check_layouts(op: ir.Operation, step: str) -> None:
    """Raise `ScheduleError` for a buffer whose layout is not a list of strides."""
    for number, value in enumerate(op.operands):
        if isinstance(value.type, ir.MemRefType) and not is_view(value.type):
            raise refusal(
                op,
                f"{step} takes slices of operands; operand {number} is {value.type}",
                expected="a buffer whose layout is strides",
            )


def unrolled(op: ir.Operation, loops: Loops, unrolling: Unrolling) -> list[Piece]:
    """Replace an op by one op for each position of its window."""
    maps = indexing_maps(op)
    nest = _Nest(op, loops, unrolling, maps, _sizes(op, loops, maps), _unused(op, unrolling, maps))
    with op.location, ir.InsertionPoint(op):
        state = nest.around({}, split_operands(op)[1], 0)
        for result, value in zip(op.results, state, strict=False):
            result.replace_all_uses_with(value)
        op.erase()
    return nest.pieces


@dataclass(frozen=True)
class _Nest:
    """The loops around the positions of an op's window, and the ops for these."""

    op: ir.Operation
    loops: Loops
    unrolling: Unrolling
    maps: Sequence[AffineMap]
    sizes: Mapping[str, Number]
    unused: frozenset[int]
    pieces: list[Piece] = field(default_factory=list)

    def around(
        self, position: Mapping[str, Number], state: Sequence[ir.Value], depth: int
    ) -> list[ir.Value]:
        """Build the loops whose numbers `position` lacks; return the new destinations."""
        rest = [dim for dim in self.unrolling.looped if dim not in position]
        if not rest:
            return self._within(position, state, depth)
        dim, size = rest[0], self.sizes[rest[0]]
        if size == 1:
            return self.around({**position, dim: 0}, state, depth)
        carried = list(state) if self.op.results else []

        def step(at: ir.Value, inner_state: list[ir.Value]) -> list[ir.Value]:
            inner_position = {**position, dim: as_number(at)}
            inner = self.around(inner_position, inner_state or state, depth + 1)
            return inner if carried else []

        return counted(0, value_of(size), carried, step) or list(state)

    def _within(
        self, position: Mapping[str, Number], state: Sequence[ir.Value], depth: int
    ) -> list[ir.Value]:
        values = list(state)
        for numbers in self.unrolling:
            conditions = [
                (number, self.sizes[dim])
                for dim, number in numbers.items()
                if not isinstance(self.sizes[dim], int)
            ]
            inner_position = {**position, **numbers}
            if conditions:
                op, values = self._guarded(inner_position, values, conditions)
            else:
                op, values = self._built(inner_position, values)
            self.pieces.append(Piece(op, depth + bool(conditions)))
        return values

    def _guarded(
        self,
        position: Mapping[str, Number],
        state: Sequence[ir.Value],
        conditions: Sequence[tuple[int, Number]],
    ) -> tuple[ir.Operation, list[ir.Value]]:
        """Build the op for a position that exists only if its numbers are below sizes."""
        tests = [
            arith.CmpIOp(arith.CmpIPredicate.slt, value_of(number), value_of(size)).result
            for number, size in conditions
        ]
        holds = reduce(lambda first, second: arith.AndIOp(first, second).result, tests)
        types = [value.type for value in state if self.op.results]
        choice = scf.IfOp(holds, types, has_else=bool(types))
        with ir.InsertionPoint(choice.operation.regions[0].blocks[0]):
            new_op, new = self._built(position, state)
            scf.YieldOp(new if types else [])
        if not types:
            return new_op, list(state)
        with ir.InsertionPoint(choice.operation.regions[1].blocks[0]):
            scf.YieldOp(list(state))
        return new_op, list(choice.results)

    def _built(
        self, position: Mapping[str, Number], state: Sequence[ir.Value]
    ) -> tuple[ir.Operation, list[ir.Value]]:
        """Build the op for one position at the insertion point; return it and the destinations."""
        values = [*list(self.op.operands)[: len(self.maps) - len(state)], *state]
        slices = [self._slice(*pair, position) for pair in zip(values, self.maps, strict=True)]
        used = [number for number in range(len(values)) if number not in self.unused]
        operands = [slices[number].value() for number in used]
        results = len(self.op.results)
        types = [value.type for value in operands[len(operands) - results :]] if results else []
        names = self.maps[0].dims
        kinds = [
            "reduction" if names.index(dim) in self.loops.reductions else "parallel"
            for dim in self.unrolling.kept_dims
        ]
        generic = as_generic(
            self.op,
            operands,
            types,
            [self.unrolling.remaining_map(self.maps[number]) for number in used],
            kinds,
            outputs=len(state),
            without=self.unused,
        )
        self._settle_positions(generic, names, position)
        if not results:
            return generic, list(state)
        written = slices[len(slices) - len(state) :]
        return generic, [
            slice_.put(part) for slice_, part in zip(written, generic.results, strict=True)
        ]

    def _slice(self, value: ir.Value, map_: AffineMap, position: Mapping[str, Number]) -> _Slice:
        axes = axes_at(map_, position)
        if axes is None:
            raise ValueError(f"{map_} at {dict(position)} is not a slice")
        if not isinstance(value.type, ir.ShapedType):
            return _Slice(value, (), (), True)
        sizes: list[Number] = [1 if axis.dim is None else self.sizes[axis.dim] for axis in axes]
        is_all = all(
            axis.dim is not None
            and (isinstance(index, AffineDim) or (axis.is_whole and size == size_of(value, number)))
            for number, (index, axis, size) in enumerate(
                zip(map_.results, axes, sizes, strict=True)
            )
        )
        return _Slice(value, tuple(axes), tuple(sizes), is_all)

    def _settle_positions(
        self, generic: ir.Operation, names: Sequence[str], position: Mapping[str, Number]
    ) -> None:
        """Let the body see the positions of the whole."""
        body = generic.regions[0].blocks[0]
        for index_op in operations(generic, {"linalg.index"}):
            dim = names[loop_of(index_op)]
            with ir.InsertionPoint.at_block_begin(body):
                if dim in position:
                    new = value_of(position[dim])
                else:
                    new = linalg.IndexOp(self.unrolling.kept_dims.index(dim)).result
            replace_op(index_op, new)


def _sizes(op: ir.Operation, loops: Loops, maps: Sequence[AffineMap]) -> dict[str, Number]:
    """Return the trip count of each loop: a number, or a size that the program computes."""
    sizes: dict[str, Number] = {}
    for value, map_ in zip(op.operands, maps, strict=True):
        for axis, expression in enumerate(map_.results):
            if isinstance(expression, AffineDim) and expression.name not in sizes:
                sizes[expression.name] = size_of(value, axis)
    static = {
        dim: extent
        for dim, extent in zip(maps[0].dims, loops.ranges, strict=True)
        if extent != DYNAMIC
    }
    return sizes | static


def _unused(op: ir.Operation, unrolling: Unrolling, maps: Sequence[AffineMap]) -> frozenset[int]:
    """Return the inputs that neither the body reads nor a loop needs: shapes of windows."""
    arguments = op.regions[0].blocks[0].arguments
    inputs = len(split_operands(op)[0])
    remaining = [unrolling.remaining_map(map_) for map_ in maps]
    unread: set[int] = set()
    for number in range(inputs):
        other_dims = {
            dim
            for other, map_ in enumerate(remaining)
            if other != number and other not in unread
            for dim in map_.results
        }
        if not list(arguments[number].uses) and other_dims.issuperset(remaining[number].results):
            unread.add(number)
    return frozenset(unread)


def _result(op: ir.OpView) -> ir.Value:
    value: ir.Value = op.operation.results[0]
    return value


_MOST_CANDIDATES = 10
"""The most loops whose combinations are all tried."""

_MANY = 1 << 20
"""The trip count assumed for a loop of unknown trip count."""


@dataclass(frozen=True)
class Axis:
    """The part of one dimension of an operand that is read at one position.

    Attributes:
        dim: the loop dimension along which it is read; None where one element of it is read.
        offset: the first element that is read.
        stride: the distance to the next element.
    """

    dim: str | None
    offset: Number = 0
    stride: int = 1

    @property
    def is_whole(self) -> bool:
        """True where the dimension may be read from end to end; that depends on its size, too."""
        return self.dim is not None and self.offset == 0 and self.stride == 1


@dataclass(frozen=True)
class Unrolling:
    """The loops that are taken out of an op, so that the rest reads by plain dimensions.

        input  (n, oh + kh, 2 * ow + kw, c)     unrolled: kh, kw
        position  kh = 0, kw = 2                input (n, oh, ow, c), a slice of it from 0 and 2 on,
                                                the second by steps of 2

    Attributes:
        dims: the dimensions that are unrolled, outermost first.
        counts: the number of copies that each makes.
        looped: the dimensions that become loops around the copies, outermost first.
        kept_dims: the dimensions that stay in the op.
    """

    dims: tuple[str, ...]
    counts: tuple[int, ...]
    looped: tuple[str, ...]
    kept_dims: tuple[str, ...]

    def __iter__(self) -> Iterator[dict[str, int]]:
        """Yield the positions that are unrolled, in the order of the loops."""
        for numbers in itertools.product(*map(range, self.counts)):
            yield dict(zip(self.dims, numbers, strict=True))

    def __len__(self) -> int:
        return math.prod(self.counts)

    def remaining_map(self, map_: AffineMap) -> AffineMap:
        """Return the rest of an indexing map; it is the same at every position."""
        axes = axes_at(map_, dict.fromkeys((*self.dims, *self.looped), 0)) or []
        read = tuple(AffineDim(axis.dim) for axis in axes if axis.dim is not None)
        return AffineMap(self.kept_dims, (), read)


def is_plain(map_: AffineMap) -> bool:
    """Return whether all indices are constants or dimensions, each dimension at most once."""
    dims = [index for index in map_.results if not isinstance(index, AffineConst)]
    return all(isinstance(index, AffineDim) for index in dims) and len(set(dims)) == len(dims)


def axes_at(map_: AffineMap, position: Mapping[str, Number]) -> list[Axis] | None:
    """Return the axes of the slice that is read at a position; None where it is not a slice."""
    axes = [_axis(index, position) for index in map_.results]
    read = [axis for axis in axes if axis is not None]
    dims = [axis.dim for axis in read if axis.dim is not None]
    return read if len(read) == len(axes) and len(set(dims)) == len(dims) else None


def _axis(index: AffineExpr, position: Mapping[str, Number]) -> Axis | None:
    constants: dict[AffineExpr, AffineExpr | int] = {
        AffineDim(dim): number for dim, number in position.items() if isinstance(number, int)
    }
    index = index.substitute(constants)
    numbers: dict[AffineExpr, Number] = {AffineDim(dim): position[dim] for dim in position}
    match [dim for dim in index.dims if dim not in position]:
        case []:
            return Axis(None, index.evaluate(numbers))
        case [dim]:
            terms = linear_terms(index)
            if terms is not None and terms[0][dim] > 0:
                offset = index.evaluate(numbers | {AffineDim(dim): 0})
                return Axis(dim, offset, terms[0][dim])
    return None


def choose_unrolling(
    maps: Sequence[AffineMap],
    loops: Loops,
    most: Sequence[int],
    *,
    limit: int | None,
    looped: Collection[str] = (),
) -> Unrolling | None:
    """Choose the loops without which all operands are read by plain dimensions.

    Parallel loops are kept where they can be: each of their positions writes its own slice of the
    result. Among the choices left, the one with the fewest copies is taken. The result is None
    where no choice leaves plain dimensions, or all make more copies than `limit`.

    Args:
        maps: the indexing maps of all operands.
        loops: the loops of the op.
        most: the largest trip count of each loop; `DYNAMIC` if unknown.
        limit: the most copies; None for loops of any trip count in the place of copies.
        looped: the dimensions that become loops in any case.
    """
    names = maps[0].dims
    sizes = [_MANY if size == DYNAMIC and limit is None else size for size in most]
    counts_of = dict(zip(names, sizes, strict=True))
    open_ = [dim for dim in names if dim not in looped and _is_candidate(dim, maps)]
    best: tuple[tuple[int, int, int], tuple[str, ...]] | None = None
    for count in range(min(len(open_), _MOST_CANDIDATES) + 1):
        for chosen in itertools.combinations(open_[-_MOST_CANDIDATES:], count):
            counts = [counts_of[dim] for dim in chosen]
            if DYNAMIC in counts or (limit is not None and math.prod(counts) > limit):
                continue
            at_zero = dict.fromkeys((*chosen, *looped), 0)
            if any(axes_at(map_, at_zero) is None for map_ in maps):
                continue
            parallel = [counts_of[d] for d in chosen if names.index(d) not in loops.reductions]
            key = (math.prod(parallel), math.prod(counts), count)
            if best is None or key < best[0]:
                best = key, chosen
    if best is None:
        return None
    _, chosen = best
    dims = () if limit is None else tuple(dim for dim in names if dim in chosen)
    removed = {*chosen, *looped}
    around = tuple(dim for dim in names if dim in removed and dim not in dims)
    remaining = tuple(dim for dim in names if dim not in removed)
    return Unrolling(dims, tuple(counts_of[dim] for dim in dims), around, remaining)


def _is_candidate(dim: str, maps: Sequence[AffineMap]) -> bool:
    """Return whether a dimension is part of a computed index, or is an index twice in a map."""
    return any(
        (dim in index.dims and not isinstance(index, AffineDim))
        or [result for result in map_.results if result == AffineDim(dim)][1:]
        for map_ in maps
        for index in map_.results
    )


def reading(maps: Sequence[AffineMap], loops: Loops) -> tuple[int, AffineExpr, list[int]]:
    """Return the first operand that is not read by plain dimensions, its index, and its loops.

    Where the index is a sum with reduction loops, only those loops are returned.
    """
    for number, map_ in enumerate(maps):
        for expression in map_.results:
            if not isinstance(expression, AffineDim | AffineConst):
                own = [map_.dims.index(dim) for dim in expression.dims]
                is_sum = linear_terms(expression) is not None
                summed = [n for n in own if n in loops.reductions and is_sum]
                return number, expression, summed or own
    number = next(number for number, map_ in enumerate(maps) if not is_plain(map_))
    repeated = next(i for i in maps[number].results if maps[number].results.count(i) > 1)
    return number, repeated, [maps[number].dims.index(dim) for dim in repeated.dims]
