"""The iteration space of a structured op: its loops, its maps, and the sizes that follow.

After the RFC "DestinationStyleOpInterface", of the methods that it lists as staying those that need
no payload.

Upstream's iterator types are two: parallel and reduction. The documents name more kinds: window,
sequential, partition, permutable, and the distance of dependences. Those are derived here from the
maps and the payload:

    window      a reduction that slides: an input is indexed by it together with a parallel loop,
                as the height of a kernel is in `oh * 2 + kh`
    sequential  a reduction whose iterations cannot be reordered: its function is not known to be
                a sum, product, maximum, ... As everywhere in this field, sums of floats are
                reordered.
    partition   a parallel loop that parts the work: no two of its iterations touch one element of
                any tensor, as those of a batch. The rows of a matmul read all of B: they are none
    permutable  it may be moved to any place in the order of the loops
    distance    the least number of iterations between two that depend on each other while the
                outer loops stand still: 0 for none, None where it is not known

Iterator types are trusted, as MLIR's documents define them: the author of the op guarantees that a
parallel loop is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from linalg_ext.bindings import ir
from linalg_ext.definition.model import Assignment, IteratorType
from linalg_ext.definition.scalar import Access
from linalg_ext.errors import ArgumentError, LinalgExtError, counted
from linalg_ext.structured import extension as extension_ops
from linalg_ext.structured import maps as live_maps
from linalg_ext.structured.destination_style_interface import DestinationStyle
from linalg_ext.structured.interface_dispatch import OperandLike, listed, position_of
from linalg_ext.structured.invariants import is_shaped
from linalg_ext.structured.maps import INDEXING_MAPS, place_of
from linalg_ext.structured.payload import reaches_outside_memory
from linalg_ext.structured.recognition import definition_of
from linalg_ext.symbolic.affine import AffineDim, AffineExpr, AffineMap, linear_terms

_WINDOW = ("strides", "dilations")
_LISTS = ("permutation", "dimensions")


def map_attributes(op: ir.Operation) -> tuple[str, ...]:
    """The names of the attributes that ops of this kind have for their maps."""
    if op.name in extension_ops.NAMES:
        return (INDEXING_MAPS, *sorted(extension_ops.sugar_attributes(op)))
    # Ops of this kind declare the attribute, even if an op omits it for its default.
    return tuple(
        name
        for name in (INDEXING_MAPS, *_WINDOW, *_LISTS)
        if name in op.attributes or isinstance(getattr(type(op.opview), name, None), property)
    )


def check_map_attributes(op: ir.Operation) -> None:
    """Check all attributes that the maps of an op are made of.

    Raises:
        ArgumentError: one of them is of another kind, or has numbers that make no maps.
    """
    try:
        if op.name in extension_ops.NAMES:
            extension_ops.indexing_maps(op)
        else:
            for name in map_attributes(op):
                if name in op.attributes:
                    _check(op, name, op.attributes[name])
    except LinalgExtError as error:
        error.where = error.where or place_of(op)
        raise


def _check(op: ir.Operation, name: str, attribute: ir.Attribute) -> None:
    if name == INDEXING_MAPS:
        _check_maps(op, attribute)
        return
    numbers = _numbers(attribute)
    if numbers is None:
        raise ArgumentError(f"{name} = {attribute} of {op.name}", expected="integers")
    if name in _WINDOW and any(number < 1 for number in numbers):
        raise ArgumentError(
            f"{name} = {numbers} of {op.name}", expected="numbers that are not less than 1"
        )
    rank = ir.ShapedType(op.operands[0].type).rank + (
        len(numbers) if op.name == "linalg.broadcast" else 0
    )
    if name in _LISTS and (
        len(set(numbers)) != len(numbers) or any(not 0 <= number < rank for number in numbers)
    ):
        raise ArgumentError(
            f"{name} = {numbers} of {op.name}",
            expected=f"numbers from 0 to {rank - 1}, each once",
        )
    if name == "permutation" and len(numbers) != rank:
        raise ArgumentError(f"{name} = {numbers} of {op.name}", expected=f"{rank} numbers")


def _check_maps(op: ir.Operation, attribute: ir.Attribute) -> None:
    if not isinstance(attribute, ir.ArrayAttr) or not all(
        isinstance(item, ir.AffineMapAttr) for item in attribute
    ):
        raise ArgumentError(f"{INDEXING_MAPS} = {attribute}", expected="an array of affine maps")
    maps = [ir.AffineMapAttr(item).value for item in attribute]
    if len(maps) != len(op.operands):
        raise ArgumentError(
            f"{op.name} has {counted(len(maps), 'map')} for {len(op.operands)} operands",
            expected="one for each",
        )
    if len({(map.n_dims, map.n_symbols) for map in maps}) > 1 or maps[0].n_symbols:
        raise ArgumentError(
            f"{INDEXING_MAPS} = {attribute}", expected="maps of one iteration space, no symbols"
        )
    for position, (map, value) in enumerate(zip(maps, op.operands, strict=True)):
        rank = ir.ShapedType(value.type).rank if isinstance(value.type, ir.ShapedType) else 0
        if len(map.results) != rank:
            raise ArgumentError(
                f"the map of operand {position} of {op.name}, {map}, has "
                f"{counted(len(map.results), 'result')}",
                expected=f"{rank}, as the operand is of type {value.type}",
            )


def _numbers(attribute: ir.Attribute) -> list[int] | None:
    if isinstance(attribute, ir.DenseI64ArrayAttr):
        return list(attribute)
    if isinstance(attribute, ir.DenseIntElementsAttr):
        return [int(attribute[i]) for i in range(len(attribute))]
    return None


@dataclass(frozen=True)
class Loop:
    """One dimension of the iteration space of an op; see this module for the meaning of the words.

    Attributes:
        dim: its number, which is its place in the order of the loops.
        iterator_type: its type in the op.
        size: how many iterations it has; None where a size is dynamic.
        is_window, is_sequential, is_partition, is_permutable: its kinds besides.
        distance: of the dependences that it carries.
    """

    dim: int
    iterator_type: IteratorType
    size: int | None
    is_window: bool
    is_sequential: bool
    is_partition: bool
    is_permutable: bool
    distance: int | None

    @property
    def kinds(self) -> tuple[str, ...]:
        """The words for it: `("reduction", "window", "permutable")`."""
        words = ("window", "sequential", "partition", "permutable")
        return (self.iterator_type.value, *(w for w in words if getattr(self, f"is_{w}")))


def loops_of(
    op: ir.Operation,
    maps: Sequence[AffineMap],
    iterator_types: Sequence[IteratorType],
    sizes: Sequence[int | None],
    inits: Sequence[int],
) -> tuple[Loop, ...]:
    """The loops of a structured op.

    Args:
        op: the op.
        maps: one for each operand, of dimensions d0, d1, ...
        iterator_types, sizes: one for each loop.
        inits: the positions of the destinations.
    """
    dims = [AffineDim(name) for name in maps[0].dims]
    parallel = {d for d, kind in zip(dims, iterator_types, strict=True) if kind is _PARALLEL}
    reductions = [dim for dim in dims if dim not in parallel]
    is_ordered = bool(reductions) and not _is_reorderable(op)
    reaches_outside = reaches_outside_memory(op)
    inputs = [map for position, map in enumerate(maps) if position not in inits]
    outputs = [maps[position] for position in inits]
    shaped = [map for map, value in zip(maps, op.operands, strict=True) if is_shaped(value.type)]
    spans = {d: None if n is None else max(n - 1, 0) for d, n in zip(dims, sizes, strict=True)}
    loops = []
    for number, dim in enumerate(dims):
        is_parallel = dim in parallel
        is_sequential = is_ordered and not is_parallel
        loops.append(
            Loop(
                dim=number,
                iterator_type=iterator_types[number],
                size=sizes[number],
                is_window=not is_parallel and any(_slides(map, dim, parallel) for map in inputs),
                is_sequential=is_sequential,
                is_partition=is_parallel
                and not reaches_outside
                and all(_separates(map, dim, spans) for map in shaped),
                is_permutable=not is_sequential or len(reductions) == 1,
                distance=0 if is_parallel else None if reaches_outside else _distance(outputs, dim),
            )
        )
    return tuple(loops)


_PARALLEL = IteratorType.PARALLEL


def _is_reorderable(op: ir.Operation) -> bool:
    """Return whether every output combines by a function whose order does not matter."""
    try:
        definition = definition_of(op)
    except LinalgExtError:
        return False  # the function of the body is not known
    running = {
        assignment.target.operand for assignment in definition.assignments if _reduces(assignment)
    }
    for assignment in definition.assignments:
        if _reduces(assignment) and (
            assignment.reduction is None or assignment.reduction.function is None
        ):
            return False
        read = {expr.operand for expr in assignment.value.walk() if isinstance(expr, Access)}
        if read & running - {assignment.target.operand}:
            return False  # it reads a running value of another assignment, as a scan does
    return True


def _reduces(assignment: Assignment) -> bool:
    return assignment.reduction is not None and len(assignment.reduction.dims) > 0


def _slides(map: AffineMap, dim: AffineDim, parallel: set[AffineDim]) -> bool:
    """Return whether some index contains a dimension and a parallel dimension."""
    names = {other.name for other in parallel}
    return any(dim.name in index.dims and not names.isdisjoint(index.dims) for index in map.results)


def _separates(map: AffineMap, dim: AffineDim, spans: dict[AffineDim, int | None]) -> bool:
    """Return whether no two iterations of a loop touch one element.

    One index of the map must suffice to show it.
    """
    return spans[dim] == 0 or any(_steps_over(index, dim, spans) for index in map.results)


def _steps_over(index: AffineExpr, dim: AffineDim, spans: dict[AffineDim, int | None]) -> bool:
    """Return whether a step of a dimension moves an index farther than all others together can."""
    linear = linear_terms(index)
    if linear is None:
        return False
    factors, _ = linear
    step = abs(factors.pop(dim.name, 0))
    reach = 0
    for other, factor in factors.items():
        span = spans[AffineDim(other)]
        if span is None:
            return False
        reach += abs(factor) * span
    return step > reach


def _distance(outputs: Sequence[AffineMap], dim: AffineDim) -> int | None:
    """Return the distance of a loop, as the module defines it, from the outputs' indexing maps."""
    distances = [_distance_in(map, dim) for map in outputs]
    if 1 in distances:
        return 1
    return None if None in distances else 0


def _distance_in(map: AffineMap, dim: AffineDim) -> int | None:
    indices = [index for index in map.results if dim.name in index.dims]
    if not indices:
        return 1  # every iteration writes the element that the one before wrote
    is_alone = any(
        index.dims == (dim.name,) and linear_terms(index) is not None for index in indices
    )
    return 0 if is_alone else None


class LoopRange(NamedTuple):
    """The iterations of a loop: numbers, or index values."""

    offset: int | ir.Value
    size: int | ir.Value
    stride: int | ir.Value


class IterationSpace(DestinationStyle):
    """The relation of a structured op's loops to its operands: iterator types, maps and sizes."""

    @property
    def iterator_types(self) -> tuple[IteratorType, ...]:
        """One for each loop: the type that a generic has; else those in no init's map reduce."""
        maps = self.indexing_maps
        return live_maps.iterator_types(self.op, maps, [maps[i] for i in self.init_positions])

    @property
    def iterator_types_attribute(self) -> ir.ArrayAttr:
        """The iterator types as `linalg.generic` has them."""
        with self.op.context:
            return live_maps.iterators_attribute(kind.value for kind in self.iterator_types)

    @property
    def loops(self) -> tuple[Loop, ...]:
        """All that is known of each loop; `loop_info` lists the kinds.

        Frequent questions have properties of their own: `parallel_dims`, `window_dims`, ...
        """
        return loops_of(
            self.op,
            self.indexing_maps,
            self.iterator_types,
            self.static_loop_ranges,
            self.init_positions,
        )

    @property
    def num_loops(self) -> int:
        """The number of loops."""
        return len(self.iterator_types)

    @property
    def parallel_dims(self) -> tuple[int, ...]:
        """The loops whose iterations do not depend on each other."""
        return self._dims(IteratorType.PARALLEL)

    @property
    def num_parallel_loops(self) -> int:
        """The number of parallel loops."""
        return len(self.parallel_dims)

    @property
    def reduction_dims(self) -> tuple[int, ...]:
        """The loops that combine values, those over windows included."""
        return self._dims(IteratorType.REDUCTION)

    @property
    def num_reduction_loops(self) -> int:
        """The number of reduction loops."""
        return len(self.reduction_dims)

    @property
    def window_dims(self) -> tuple[int, ...]:
        """The reductions over a window that slides along a parallel loop."""
        return tuple(loop.dim for loop in self.loops if loop.is_window)

    @property
    def num_window_loops(self) -> int:
        """The number of window loops."""
        return len(self.window_dims)

    @property
    def sequential_dims(self) -> tuple[int, ...]:
        """The reductions whose iterations cannot be reordered."""
        return tuple(loop.dim for loop in self.loops if loop.is_sequential)

    @property
    def partition_dims(self) -> tuple[int, ...]:
        """The parallel loops no two of whose iterations touch one element."""
        return tuple(loop.dim for loop in self.loops if loop.is_partition)

    @property
    def permutable_dims(self) -> tuple[int, ...]:
        """The loops that may stand at any place in the order of the loops."""
        return tuple(loop.dim for loop in self.loops if loop.is_permutable)

    @property
    def dependence_distances(self) -> tuple[int | None, ...]:
        """For each loop, how far apart iterations are that depend on each other; 0 for none."""
        return tuple(loop.distance for loop in self.loops)

    @property
    def has_single_reduction_loop(self) -> bool:
        """Return whether there is one loop, and it is a reduction."""
        return self.iterator_types == (IteratorType.REDUCTION,)

    @property
    def indexing_maps(self) -> tuple[AffineMap, ...]:
        """A map for each operand, from the iteration space to its indices; () for a scalar."""
        return tuple(live_maps.indexing_maps(self.op))

    @property
    def indexing_maps_attribute(self) -> ir.ArrayAttr:
        """The maps as an attribute of MLIR."""
        with self.op.context:
            return live_maps.maps_attribute(self.indexing_maps)

    @property
    def has_dynamic_indexing_maps(self) -> bool:
        """Return whether the op's attributes (strides, a permutation, maps) determine its maps."""
        return bool(map_attributes(self.op))

    def check_map_attributes(self) -> None:
        """Check the attributes that the maps are made of.

        Raises:
            ArgumentError: one of them makes no map.
        """
        check_map_attributes(self.op)

    @property
    def has_only_projected_permutations(self) -> bool:
        """Return whether every index of every map is a loop, none of them twice in one map."""
        return all(map.is_projected_permutation for map in self.indexing_maps)

    def tied_indexing_map(self, operand: OperandLike) -> AffineMap:
        """The map of an operand."""
        return self.indexing_maps[position_of(self.op, operand)]

    def tied_indexing_map_of_result(self, result: ir.Value | ir.OpView | int) -> AffineMap:
        """The map of a result, which is that of its init."""
        return self.indexing_maps[self.tied_init_position(result)]

    @property
    def loops_to_shapes_map(self) -> AffineMap:
        """From an iteration to the indices of all operands, one after the other."""
        maps = self.indexing_maps
        return AffineMap(maps[0].dims, (), tuple(index for map in maps for index in map.results))

    @property
    def shapes_to_loops_map(self) -> AffineMap:
        """From the sizes of all operands, one after the other, to those of the loops.

        Raises:
            ArgumentError: some loop is the size of no operand by itself.
        """
        flat = self.loops_to_shapes_map
        sizes = tuple(f"d{axis}" for axis in range(len(flat.results)))
        picked = []
        for number, dim in enumerate(flat.dims):
            if AffineDim(dim) not in flat.results:
                raise ArgumentError(
                    f"loop {number} of {self.op.name} is the size of no operand",
                    where=place_of(self.op),
                )
            picked.append(AffineDim(sizes[flat.results.index(AffineDim(dim))]))
        return AffineMap(sizes, (), tuple(picked))

    @property
    def result_positions_in_loops_to_shapes_map(self) -> range:
        """The indices of `loops_to_shapes_map` that belong to the inits, and so to the results."""
        maps = self.indexing_maps
        ends = [0]
        for map in maps:
            ends.append(ends[-1] + len(map.results))
        return range(ends[self.num_inputs], ends[-1])

    @property
    def static_shape(self) -> tuple[int | None, ...]:
        """The sizes of all operands, one after the other; None where one is dynamic."""
        return tuple(size for i in range(self.num_operands) for size in self.shape(i))

    @property
    def static_loop_ranges(self) -> tuple[int | None, ...]:
        """The number of iterations of each loop; None where no operand has it as a static size."""
        flat, sizes = self.loops_to_shapes_map, self.static_shape
        size_of_index = {
            index: size for index, size in zip(flat.results, sizes, strict=True) if size is not None
        }
        return tuple(size_of_index.get(AffineDim(dim)) for dim in flat.dims)

    def operand_sizes(self) -> list[int | ir.Value]:
        """The sizes of all operands, one after the other: numbers, or values made here.

        Raises:
            ArgumentError: a size is dynamic, and there is no insertion point.
        """
        return [
            self._reified(position, axis)
            for position in range(self.num_operands)
            for axis in range(self.rank(position))
        ]

    def loop_ranges(self) -> list[LoopRange]:
        """The iterations of each loop; dynamic sizes are made at the current insertion point.

        Raises:
            ArgumentError: a size is dynamic, and there is no insertion point.
        """
        return [LoopRange(0, self._loop_size(AffineDim(d)), 1) for d in self._loop_dims]

    def reified_result_shapes(self) -> list[list[int | ir.Value]]:
        """The sizes of each result, where they can be of the inputs': see `DestinationStyle`."""
        return [
            [
                self._size_of_result(position, axis)
                for axis in range(ir.ShapedType(result.type).rank)
            ]
            for position, result in zip(self.init_positions, self.op.results, strict=False)
        ]

    def can_drop(self, operands: Sequence[OperandLike]) -> bool:
        """Return whether every loop is still the size of some operand when these are gone."""
        dropped = {position_of(self.op, operand) for operand in listed("operands", operands)}
        maps = [map for i, map in enumerate(self.indexing_maps) if i not in dropped]
        return {AffineDim(d) for d in self._loop_dims} <= {e for m in maps for e in m.results}

    @property
    def _loop_dims(self) -> tuple[str, ...]:
        return self.indexing_maps[0].dims

    def _dims(self, kind: IteratorType) -> tuple[int, ...]:
        return tuple(
            i for i, iterator_type in enumerate(self.iterator_types) if iterator_type is kind
        )

    def _places(self, dim: AffineDim, positions: Sequence[int]) -> list[tuple[ir.Value, int]]:
        """The axes of some operands that are as long as a loop."""
        maps, operands = self.indexing_maps, self.operands
        return [
            (operands[position], axis)
            for position in positions
            for axis, index in enumerate(maps[position].results)
            if index == dim
        ]

    def _loop_size(self, dim: AffineDim) -> int | ir.Value:
        return self._size_value(self._places(dim, range(self.num_operands)))

    def _size_of_result(self, position: int, axis: int) -> int | ir.Value:
        index = self.indexing_maps[position].results[axis]
        axes = self._places(index, self.input_positions) if isinstance(index, AffineDim) else []
        static = self.shape(position)[axis]
        if static is not None or not axes:
            return self._reified(position, axis)
        return self._size_value(axes)

    def _columns_of(self, position: int) -> tuple[str, ...]:
        return (str(self.indexing_maps[position]).removeprefix("affine_map<").removesuffix(">"),)

    def __repr__(self) -> str:
        loops = ", ".join(
            f"d{loop.dim} {' '.join(loop.kinds[:-1] if loop.is_permutable else loop.kinds)} "
            f"{'?' if loop.size is None else loop.size}"
            for loop in self.loops
        )
        return f"{super().__repr__()}\n  loops: {loops or 'none'}"
