"""The structured interface: loops, maps and payload of an op, besides its destination style.

After the RFC "DestinationStyleOpInterface", which lists the methods of LinalgStructuredInterface
and says which of them stay there.

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

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from linalg_ext.bindings import ir
from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.model import Assignment, IteratorType
from linalg_ext.definition.scalar import Access, ScalarOperand
from linalg_ext.errors import ArgumentError, ArgumentTypeError, LinalgExtError, counted
from linalg_ext.structured import extension as extension_ops
from linalg_ext.structured import maps as live_maps
from linalg_ext.structured.destination_style_interface import (
    DestinationStyle,
    is_destination_style,
)
from linalg_ext.structured.destinations import extension_op_reads, payload_reads, rule_of
from linalg_ext.structured.footprints import (
    Footprint,
    OperandFootprint,
    captured_buffers,
    shape_under,
    sizes_as_numbers,
)
from linalg_ext.structured.interface_dispatch import (
    OperandLike,
    listed,
    operation_of,
    position_of,
)
from linalg_ext.structured.invariants import check, is_shaped
from linalg_ext.structured.maps import INDEXING_MAPS, place_of
from linalg_ext.structured.operands import bind, type_sizes
from linalg_ext.structured.payload import build_generic, reaches_outside_memory
from linalg_ext.structured.recognition import definition_of
from linalg_ext.symbolic.affine import AffineDim, AffineExpr, AffineMap, linear_terms
from linalg_ext.symbolic.index_sets import (
    Point,
    Preimage,
    Subset,
    Tile,
    as_tile,
    check_within,
    full,
    image,
    preimage,
)

RegionBuilder: TypeAlias = Callable[[ir.Block], None]
"""Appends a payload to a block whose arguments are elements of the operands, inits last."""


def interface(op: ir.Operation | ir.OpView) -> StructuredInterface:
    """The structured interface of an op, which answers for its destination style too.

        >>> x = lx.structured.interface(op)
        >>> x.parallel_dims, x.static_loop_ranges, x.indexing_maps[0]

    Args:
        op: an op of linalg with a body (`generic`, named, or of a category), or
            `linalg_ext.contract` or `elementwise`.

    Raises:
        ArgumentError: it is not a structured op, or breaks a rule of destination-style ops (it
            mixes tensors and buffers, is on unranked ones, ...); names the op's line.
    """
    operation = operation_of(op)
    rule = rule_of(operation)
    if rule is None or not _has_loops(operation):
        raise ArgumentError(
            f"{operation.name} is not a structured op",
            where=place_of(operation),
            expected="an op of linalg with a body, such as linalg.matmul, or one of linalg_ext",
            hint="the op is destination-style: ask lx.structured.destination_style(op)"
            if rule is not None
            else None,
        )
    check(operation, rule.inits(operation))
    return StructuredInterface(operation, rule)


def is_structured(op: ir.Operation | ir.OpView) -> bool:
    """Return whether an op has loops, maps and a payload: whether `interface` takes it."""
    return _has_loops(operation_of(op)) and is_destination_style(op)


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


class LoopRange(NamedTuple):
    """The iterations of a loop: numbers, or index values."""

    offset: int | ir.Value
    size: int | ir.Value
    stride: int | ir.Value


class StructuredInterface(DestinationStyle):
    """A view of one live structured op: it is good for as long as the op is.

    Loops are told by number, outermost first. Maps are this library's, of dimensions d0, d1, ...;
    `str(map)` is MLIR's text of one.
    """

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
        op, maps, sizes = self.op, self.indexing_maps, self.static_loop_ranges
        iterator_types = self.iterator_types
        dims = [AffineDim(name) for name in maps[0].dims]
        parallel = {d for d, kind in zip(dims, iterator_types, strict=True) if kind is _PARALLEL}
        reductions = [dim for dim in dims if dim not in parallel]
        is_ordered = bool(reductions) and not _is_reorderable(op)
        reaches_outside = reaches_outside_memory(op)
        inputs = [maps[position] for position in self.input_positions]
        outputs = [maps[position] for position in self.init_positions]
        shaped = [m for m, value in zip(maps, op.operands, strict=True) if is_shaped(value.type)]
        spans = {d: None if n is None else max(n - 1, 0) for d, n in zip(dims, sizes, strict=True)}
        loops = []
        for number, dim in enumerate(dims):
            is_parallel = dim in parallel
            is_sequential = is_ordered and not is_parallel
            distance = None if reaches_outside else _distance(outputs, dim)
            loops.append(
                Loop(
                    dim=number,
                    iterator_type=iterator_types[number],
                    size=sizes[number],
                    is_window=not is_parallel and any(_slides(m, dim, parallel) for m in inputs),
                    is_sequential=is_sequential,
                    is_partition=is_parallel
                    and not reaches_outside
                    and all(_separates(map, dim, spans) for map in shaped),
                    is_permutable=not is_sequential or len(reductions) == 1,
                    distance=0 if is_parallel else distance,
                )
            )
        return tuple(loops)

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
        return bool(_map_attributes(self.op))

    def check_map_attributes(self) -> None:
        """Check the attributes that the maps are made of.

        Raises:
            ArgumentError: one of them is of another kind, or has numbers that make no maps.
        """
        op = self.op
        try:
            if op.name in extension_ops.NAMES:
                extension_ops.indexing_maps(op)
            else:
                for name in _map_attributes(op):
                    if name in op.attributes:
                        _check_map_attribute(op, name, op.attributes[name])
        except LinalgExtError as error:
            error.where = error.where or place_of(op)
            raise

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
        positions = range(self.num_operands)
        places = [self._places(AffineDim(dim), positions) for dim in self._loop_dims]
        return [LoopRange(0, self._size_value(axes), 1) for axes in places]

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
    def block(self) -> ir.Block:
        """The body.

        Raises:
            ArgumentError: it is an op of `linalg_ext`, which has none.
        """
        if self.op.name in extension_ops.NAMES:
            raise ArgumentError(
                f"{self.op.name} has no body: its attributes define it",
                where=place_of(self.op),
                hint="make a body with .region_builder(), or run linalg-ext-lower-contract and "
                "linalg-ext-lower-elementwise first",
            )
        return self.op.regions[0].blocks[0]

    @property
    def region_init_args(self) -> tuple[ir.BlockArgument, ...]:
        """The arguments of the body that stand for elements of the inits."""
        return tuple(self.block.arguments)[self.num_inputs :]

    def tied_block_argument(self, operand: OperandLike) -> ir.BlockArgument:
        """The argument of the body that stands for the element of an operand.

        Raises:
            ArgumentError: the body has none for it.
        """
        position, arguments = position_of(self.op, operand), self.block.arguments
        if position < len(arguments):
            return arguments[position]
        raise ArgumentError(
            f"the body of {self.op.name} has no argument for operand {position}",
            where=place_of(self.op),
        )

    def tied_operand(self, argument: ir.BlockArgument) -> ir.Value:
        """The operand whose element an argument of the body stands for.

        Raises:
            ArgumentError: it is not an argument of the body.
        """
        if isinstance(argument, ir.BlockArgument) and argument.owner == self.block:
            return self.operands[argument.arg_number]
        raise ArgumentError(
            f"the value is not an argument of the body of {self.op.name}", where=place_of(self.op)
        )

    def tied_yield_value(self, init: OperandLike) -> ir.Value:
        """Return the value that the body yields for a destination.

        Raises:
            ArgumentError: the operand is not a destination.
        """
        number, body = self._init_number(init), self.block.operations
        yielded: ir.Value = body[len(body) - 1].operation.operands[number]
        return yielded

    def payload_uses_value_of(self, operand: OperandLike) -> bool:
        """Return whether the payload uses the element of an operand; else it need not be loaded."""
        op, position = self.op, position_of(self.op, operand)
        if op.name not in extension_ops.NAMES:
            return payload_reads(op, position)
        if position == len(op.operands) - 1:
            return extension_op_reads(op, position)
        definition = extension_ops.extension_definition(op)
        name = definition.inputs[position].name
        return any(
            isinstance(expr, Access | ScalarOperand) and expr.operand == name
            for expr in definition.expressions()
        )

    @property
    def has_index_semantics(self) -> bool:
        """Return whether the payload uses the numbers of the iteration that it is in."""
        if self.op.name in extension_ops.NAMES:
            return False
        return any(inner.operation.name == "linalg.index" for inner in self.block.operations)

    def region_builder(self) -> RegionBuilder:
        """Return a function that appends the body to a block, for a `linalg.generic`.

        The `linalg.generic` has operands of the same types. The block has an argument for each
        operand, of its element type, and no ops. For an op of `linalg_ext` the body is made from
        its definition.
        """

        def build(block: ir.Block) -> None:
            copy = _copy_with_body(self.op)
            try:
                body = copy.regions[0].blocks[0]
                _check_arguments(self.op, body, block)
                for old, new in zip(body.arguments, block.arguments, strict=False):
                    old.replace_all_uses_with(new)
                for inner in list(body.operations):
                    block.append(inner.operation)
            finally:
                copy.erase()

        return build

    @property
    def library_call_name(self) -> str | None:
        """The function that upstream calls for this op, on buffers; None where it has no name.

        A `linalg.generic` says it in `library_call`; the named ops have names of one scheme: the
        op, the functions that it is given, then the type of each operand, as in
        `linalg_matmul_view4x8xf32_view8xsxf32_view4xsxf32`. An op on tensors has that of buffers.
        """
        op = self.op
        if "library_call" in op.attributes:
            return ir.StringAttr(op.attributes["library_call"]).value
        if op.name in extension_ops.NAMES or op.name.removeprefix("linalg.") in _WITHOUT_NAME:
            return None
        functions = (_FUNCTION.fullmatch(str(attribute)) for _, attribute in op.attributes.items())
        types = [_mangled(value.type) for value in op.operands]
        names = [type_ for type_ in types if type_ is not None]
        if len(names) != len(types):
            return None
        return "_".join(
            [op.name.replace(".", "_"), *(match[1] for match in functions if match), *names]
        )

    @property
    def iteration_space(self) -> Tile:
        """All iterations, as a tile: the size of loop 1 is `n1` where it is not known."""
        return full(sizes_as_numbers(self.static_loop_ranges))

    def footprint(self, iterations: Subset | None = None) -> Footprint:
        """Return the part of each operand that a part of the loops reads and writes.

            >>> x.footprint(Tile((0, 16, 0), (8, 16, 64)))

        Args:
            iterations: a tile or point of `iteration_space`, of numbers that need not be known;
                the whole space where it is not given.

        Raises:
            SubsetError: the part has another rank, or is known to leave the iteration space.
        """
        space = self.iteration_space
        part = self._part(iterations, space)
        operands = []
        for position, (map, name) in enumerate(zip(self.indexing_maps, self._names(), strict=True)):
            reached = image(map, part)
            operands.append(
                OperandFootprint(
                    name=name,
                    shape=shape_under(map, self.shape(position), space.sizes),
                    map=map,
                    tile=reached.tile,
                    is_exact=reached.is_exact,
                    is_read=self.payload_uses_value_of(position),
                    is_written=self.is_init(position),
                )
            )
        captured = captured_buffers(self.op)
        return Footprint(self.op.name, space.sizes, part, tuple(operands), captured)

    def iterations_touching(
        self, operand: OperandLike, data: Subset, *, among: Subset | None = None
    ) -> Preimage:
        """Return the iterations that read or write a part of an operand.

            >>> x.iterations_touching(2, Tile((0, 0), (8, 8))).tiles

        Args:
            operand: the operand.
            data: a tile or point of the operand, of numbers that need not be known.
            among: the part of the loops to search; all of them where it is not given.

        Raises:
            SubsetError: a part has another rank, or is known to leave its whole.
        """
        position, space = position_of(self.op, operand), self.iteration_space
        map = self.indexing_maps[position]
        shape = shape_under(map, self.shape(position), space.sizes)
        return preimage(map, self._part(data, full(shape)), self._part(among, space))

    def _part(self, subset: Subset | None, whole: Tile) -> Tile:
        if subset is None:
            return whole
        if not isinstance(subset, Tile | Point):
            raise ArgumentTypeError(
                f"{subset!r} is not a part of a space of {self.op.name}",
                where=place_of(self.op),
                expected="a Tile or Point of linalg_ext.symbolic.index_sets",
            )
        check_within(subset, whole.sizes)
        return as_tile(subset)

    def _names(self) -> list[str]:
        inputs = [f"input {number}" for number in range(self.num_inputs)]
        return inputs + [f"init {number}" for number in range(self.num_inits)]

    @property
    def droppable_operands(self) -> tuple[int, ...]:
        """The positions of inputs that the payload does not use, each of which can be dropped."""
        return tuple(
            position
            for position in self.input_positions
            if not self.payload_uses_value_of(position) and self.can_drop([position])
        )

    def set_segments(self, num_inputs: int, num_inits: int) -> None:
        """Change, in place, how many operands are inputs and how many are inits.

        A step of surgery: the body and the results are the caller's to bring in line, and the op is
        not verified.

        Raises:
            ArgumentError: the numbers are not those of the operands together, or the op says them
                nowhere.
        """
        name = extension_ops.SEGMENTS
        counts = self.op.attributes.get(name)
        if counts is None or len(ir.DenseI32ArrayAttr(counts)) != 2:
            raise ArgumentError(
                f"{self.op.name} has its inputs and inits in fixed numbers", where=place_of(self.op)
            )
        if not isinstance(num_inputs, int) or not isinstance(num_inits, int):
            raise ArgumentTypeError(
                f"{num_inputs!r} inputs and {num_inits!r} inits of {self.op.name}",
                where=place_of(self.op),
                expected="two numbers",
            )
        if min(num_inputs, num_inits) < 0 or num_inputs + num_inits != self.num_operands:
            raise ArgumentError(
                f"{num_inputs} inputs and {num_inits} inits of {self.op.name}",
                where=place_of(self.op),
                expected=f"{self.num_operands} together, as it has operands",
            )
        with self.op.context:
            segments = ir.DenseI32ArrayAttr.get([num_inputs, num_inits])
        self.op.attributes[name] = segments

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


def _copy_with_body(op: ir.Operation) -> ir.Operation:
    # Beside the op, for a while: an op that stands nowhere is freed too late.
    beside = ir.InsertionPoint(op)
    if op.name not in extension_ops.NAMES:
        return op.clone(ip=beside)
    *inputs, destination = op.operands
    definition = extension_ops.extension_definition(op)
    with beside, op.location:
        return build_generic(bind(definition, inputs, [destination], CallAttributes()))


def _check_arguments(op: ir.Operation, body: ir.Block, block: ir.Block) -> None:
    body_types = [argument.type for argument in body.arguments]
    block_types = [argument.type for argument in block.arguments]
    # A body may be without an argument for a destination that it never reads.
    if block_types[: len(body_types)] != body_types or len(block_types) > len(op.operands):
        raise ArgumentError(
            f"the block has arguments ({', '.join(map(str, block_types))})",
            where=place_of(op),
            expected=f"one for each operand of {op.name}: ({', '.join(map(str, body_types))})",
        )
    if len(block.operations):
        raise ArgumentError(f"the block for the body of {op.name} has ops already")


_WINDOW = ("strides", "dilations")
_LISTS = ("permutation", "dimensions")


def _map_attributes(op: ir.Operation) -> tuple[str, ...]:
    """The names of the attributes that ops of this kind have for their maps."""
    if op.name in extension_ops.NAMES:
        return (INDEXING_MAPS, *sorted(extension_ops.sugar_attributes(op)))
    # Ops of this kind declare the attribute, even if an op omits it for its default.
    return tuple(
        name
        for name in (INDEXING_MAPS, *_WINDOW, *_LISTS)
        if name in op.attributes or isinstance(getattr(type(op.opview), name, None), property)
    )


def _check_map_attribute(op: ir.Operation, name: str, attribute: ir.Attribute) -> None:
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


def _has_loops(op: ir.Operation) -> bool:
    return op.name in extension_ops.NAMES or live_maps.has_payload(op)


_WITHOUT_NAME = frozenset({"generic", "map", "reduce", "transpose", "broadcast"})
_FUNCTION = re.compile(r"#linalg\.(?:unary|binary)_fn<(\w+)>")


def _mangled(type_: ir.Type) -> str | None:
    if isinstance(type_, ir.RankedTensorType | ir.MemRefType):
        element = _mangled(type_.element_type)
        space = type_.memory_space if isinstance(type_, ir.MemRefType) else None
        if element is None or not (space is None or isinstance(space, ir.IntegerAttr)):
            return None
        sizes = ("s" if size is None else str(size) for size in type_sizes(type_))
        return f"view{'x'.join([*sizes, element])}" + (f"as{space.value}" if space else "")
    if isinstance(type_, ir.VectorType):
        element = _mangled(type_.element_type)
        return None if element is None else f"vector{'x'.join(map(str, type_.shape))}{element}"
    text = str(type_)
    return text if re.fullmatch(r"i\d+|index|t?b?f\d+\w*", text) else None
