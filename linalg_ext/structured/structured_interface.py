"""The structured interface: loops, maps and payload of an op, besides its destination style.

After the RFC "DestinationStyleOpInterface", which lists the methods of LinalgStructuredInterface
and says which of them stay there.
"""

from __future__ import annotations

import re

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ArgumentTypeError
from linalg_ext.structured import extension as extension_ops
from linalg_ext.structured import maps as live_maps
from linalg_ext.structured import payload
from linalg_ext.structured.destination_style_interface import is_destination_style
from linalg_ext.structured.destinations import rule_of
from linalg_ext.structured.footprints import (
    Footprint,
    OperandFootprint,
    captured_buffers,
    shape_under,
    sizes_as_numbers,
)
from linalg_ext.structured.interface_dispatch import OperandLike, operation_of, position_of
from linalg_ext.structured.invariants import check
from linalg_ext.structured.iteration_space import IterationSpace
from linalg_ext.structured.maps import place_of
from linalg_ext.structured.operands import type_sizes
from linalg_ext.structured.payload import RegionBuilder
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


class StructuredInterface(IterationSpace):
    """A view of one live structured op: it is good for as long as the op is.

    Loops are told by number, outermost first. Maps are this library's, of dimensions d0, d1, ...;
    `str(map)` is MLIR's text of one.
    """

    @property
    def block(self) -> ir.Block:
        """The body.

        Raises:
            ArgumentError: it is an op of `linalg_ext`, which has none.
        """
        return payload.block_of(self.op)

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
        return payload.uses_operand(self.op, position_of(self.op, operand))

    @property
    def has_index_semantics(self) -> bool:
        """Return whether the payload uses the numbers of the iteration that it is in."""
        return payload.has_index_semantics(self.op)

    def region_builder(self) -> RegionBuilder:
        """Return a function that appends the body to a block, for a `linalg.generic`.

        The `linalg.generic` has operands of the same types. The block has an argument for each
        operand, of its element type, and no ops. For an op of `linalg_ext` the body is made from
        its definition.
        """
        return payload.region_builder(self.op)

    @property
    def library_call_name(self) -> str | None:
        """The function that upstream calls for this op, on buffers; None where it has no name."""
        return _library_call_name(self.op)

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


def _has_loops(op: ir.Operation) -> bool:
    return op.name in extension_ops.NAMES or live_maps.has_payload(op)


_WITHOUT_NAME = frozenset({"generic", "map", "reduce", "transpose", "broadcast"})
_FUNCTION = re.compile(r"#linalg\.(?:unary|binary)_fn<(\w+)>")


def _library_call_name(op: ir.Operation) -> str | None:
    """Return the name of the library function for an op; None where it has none.

    A `linalg.generic` says it in `library_call`; the named ops have names of one scheme: the op,
    the functions that it is given, then the type of each operand, as in
    `linalg_matmul_view4x8xf32_view8xsxf32_view4xsxf32`. An op on tensors has that of buffers.
    """
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
