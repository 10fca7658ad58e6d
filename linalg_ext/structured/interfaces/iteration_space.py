"""The iteration space of a structured op: its loops, its maps, and the sizes that follow.

After the RFC "DestinationStyleOpInterface", of the methods that it lists as staying those that need
no payload.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from linalg_ext.bindings import ir
from linalg_ext.definition.affine import AffineDim, AffineMap
from linalg_ext.definition.model import IteratorType
from linalg_ext.errors import ArgumentError
from linalg_ext.structured.interfaces import map_attributes
from linalg_ext.structured.interfaces.asked import OperandLike, listed, position_of
from linalg_ext.structured.interfaces.destination_style import DestinationStyle
from linalg_ext.structured.interfaces.loop_info import Loop, loops_of
from linalg_ext.structured.utils import maps as live_maps
from linalg_ext.structured.utils.place import place_of


class LoopRange(NamedTuple):
    """The iterations of a loop: numbers, or index values."""

    offset: int | ir.Value
    size: int | ir.Value
    stride: int | ir.Value


class IterationSpace(DestinationStyle):
    """The relation of a structured op's loops to its operands: iterator types, maps and sizes."""

    @property
    def iterator_types(self) -> tuple[IteratorType, ...]:
        """One for each loop: what a generic says; else those in no map of an init reduce."""
        if "iterator_types" in self.op.attributes:
            said = ir.ArrayAttr(self.op.attributes["iterator_types"])
            return tuple(
                IteratorType.PARALLEL if "<parallel>" in str(each) else IteratorType.REDUCTION
                for each in said
            )
        maps = self.indexing_maps
        written = {d for i in self.init_positions for e in maps[i].results for d in e.dims}
        return tuple(
            IteratorType.PARALLEL if dim in written else IteratorType.REDUCTION
            for dim in maps[0].dims
        )

    @property
    def iterator_types_attribute(self) -> ir.ArrayAttr:
        """The iterator types as `linalg.generic` has them."""
        with self.op.context:
            return ir.ArrayAttr.get(
                [
                    ir.Attribute.parse(f"#linalg.iterator_type<{kind.value}>")
                    for kind in self.iterator_types
                ]
            )

    @property
    def loops(self) -> tuple[Loop, ...]:
        """All that is known of each loop; `loop_info` lists the kinds.

        What is asked often is there by itself: `parallel_dims`, `window_dims`, ...
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
        """Return whether attributes of the op (strides, a permutation, maps) have a part in its
        maps.
        """
        return bool(map_attributes.map_attributes(self.op))

    def check_map_attributes(self) -> None:
        """Check the attributes that the maps are made of.

        Raises:
            ArgumentError: one of them makes no map.
        """
        map_attributes.check_map_attributes(self.op)

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
            axis = _first(flat, dim)
            if axis is None:
                raise ArgumentError(
                    f"loop {number} of {self.op.name} is the size of no operand",
                    where=place_of(self.op),
                )
            picked.append(AffineDim(sizes[axis]))
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
        known = {
            index: size for index, size in zip(flat.results, sizes, strict=True) if size is not None
        }
        return tuple(known.get(AffineDim(dim)) for dim in flat.dims)

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
        return tuple(i for i, each in enumerate(self.iterator_types) if each is kind)

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
        places = self._places(index, self.input_positions) if isinstance(index, AffineDim) else []
        static = self.shape(position)[axis]
        if static is not None or not places:
            return self._reified(position, axis)
        return self._size_value(places)

    def _more(self, position: int) -> tuple[str, ...]:
        return (str(self.indexing_maps[position]).removeprefix("affine_map<").removesuffix(">"),)

    def __repr__(self) -> str:
        loops = ", ".join(
            f"d{loop.dim} {' '.join(loop.kinds[:-1] if loop.is_permutable else loop.kinds)} "
            f"{'?' if loop.size is None else loop.size}"
            for loop in self.loops
        )
        return f"{super().__repr__()}\n  loops: {loops or 'none'}"


def _first(map: AffineMap, dim: str) -> int | None:
    """The first result of a map that is a plain dimension."""
    return next((i for i, index in enumerate(map.results) if index == AffineDim(dim)), None)
