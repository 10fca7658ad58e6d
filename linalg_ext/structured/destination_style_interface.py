"""The destination-style interface: inputs, inits, and the results tied to them.

After the RFC "DestinationStyleOpInterface": an op with `n` inputs and `m` inits, whose result `i`
is the new value of init `i`, and of its type; on buffers it has no results and writes to its inits.
Where the discussion below the RFC settled something, it is as settled there: `inits` for the
outputs of the RFC, and one list for tensors and buffers, for no op may mix them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ArityError, DTypeError, ShapeError, counted
from linalg_ext.ir.diagnostics import collected, joined, of_error
from linalg_ext.structured.destinations import DestinationRule, rule_of, why_without
from linalg_ext.structured.interface_dispatch import (
    OperandLike,
    as_value,
    listed,
    operation_of,
    position_of,
)
from linalg_ext.structured.invariants import broken_rules, check, is_buffer, is_shaped, is_tensor
from linalg_ext.structured.maps import has_payload, is_valid, place_of
from linalg_ext.structured.operands import copy_regions, ops_inside, static_sizes
from linalg_ext.structured.sizes import size_at

Captured: TypeAlias = Mapping[ir.Value, ir.Value]
"""Replacements of the values from outside that a region uses."""


def check_operands(op: ir.Operation, values: Sequence[ir.Value]) -> None:
    """Raise where values cannot stand for the operands of an op.

    Raises:
        ArityError: there are too few or too many.
        ArgumentError: a value is of another context.
        DTypeError, ShapeError: a value is of another kind or, for an op with a body, of another
            rank or element type.
    """
    if len(values) != len(op.operands):
        raise ArityError(
            f"{op.name} got {counted(len(values), 'operand')}",
            where=place_of(op),
            expected=f"{len(op.operands)}: inputs and inits, in the order of the op",
        )
    for position, (value, old) in enumerate(zip(values, op.operands, strict=True)):
        if value.context != op.context:
            raise ArgumentError(
                f"operand {position} for {op.name} is a value of another context",
                hint="build both in one ir.Context",
            )
        if has_payload(op) and is_shaped(value.type) and is_shaped(old.type):
            _check_fits_body(op, position, value.type, old.type)


def require_insertion_point(op: ir.Operation) -> None:
    """Raise an ArgumentError where there is no current insertion point."""
    try:
        _ = ir.InsertionPoint.current
    except ValueError:
        # An op that stands nowhere is freed after its context, which ends the process.
        raise ArgumentError(
            f"{op.name} cannot be built: no insertion point is set",
            hint="build it under `with ir.InsertionPoint(op):`",
        ) from None


def _check_fits_body(op: ir.Operation, position: int, new: ir.Type, old: ir.Type) -> None:
    for type_, subject in ((new, "the new value"), (old, "the old value")):
        if isinstance(type_, ir.UnrankedTensorType | ir.UnrankedMemRefType):
            raise ShapeError(
                f"operand {position} of {op.name}: {subject} is of type {type_}, which has no rank",
                where=place_of(op),
            )
    new_shaped, old_shaped = ir.ShapedType(new), ir.ShapedType(old)
    if new_shaped.rank != old_shaped.rank:
        raise ShapeError(
            f"operand {position} for {op.name} is of rank {new_shaped.rank}: {new}",
            where=place_of(op),
            expected=f"rank {old_shaped.rank}, as {old}",
        )
    if new_shaped.element_type != old_shaped.element_type:
        raise DTypeError(
            f"operand {position} for {op.name} is of {new_shaped.element_type}: {new}",
            where=place_of(op),
            expected=f"elements of {old_shaped.element_type}: the body computes with them",
        )


def _check_buffer_of(op: ir.Operation, position: int, new: ir.Type, old: ir.Type) -> None:
    tensor = ir.RankedTensorType(old)
    buffer = ir.MemRefType(new) if isinstance(new, ir.MemRefType) else None
    if buffer is None or (buffer.shape, buffer.element_type) != (
        tensor.shape,
        tensor.element_type,
    ):
        raise DTypeError(
            f"operand {position} of {op.name} is of type {old}, and {new} is not a buffer for it",
            where=place_of(op),
            expected="a memref of its shape and element type, of any layout and memory space",
        )


def _retype_carried(rule: DestinationRule, op: ir.Operation, new: ir.Operation) -> None:
    """Give the arguments that carry whole destinations the types of the new destinations."""
    if rule.carried is None:
        return
    for position in rule.inits(op):
        rule.carried(new, position).set_type(new.operands[position].type)


def _replace_captured(new: ir.Operation, mapping: Captured) -> None:
    """Replace the values from outside that the regions use, but for the op's own operands."""
    for inner in ops_inside(new):
        for position, value in enumerate(inner.operands):
            if value in mapping:
                inner.operands[position] = mapping[value]


def _verified(op: ir.Operation, new: ir.Operation) -> ir.Operation:
    with collected(op.context) as emitted:
        try:
            if new.verify():
                return new
            diagnostics = joined(emitted)
        except ir.MLIRError as error:
            diagnostics = joined(of_error(error), emitted)
    types = ", ".join(str(value.type) for value in new.operands)
    new.erase()
    raise ArgumentError(
        f"{op.name} cannot be built on operands of types {types}"
        + (f": {diagnostics[0].message}" if diagnostics else ""),
        where=place_of(op),
    )


def destination_style(op: ir.Operation | ir.OpView) -> DestinationStyle:
    """The destination-style interface of an op.

        >>> x = lx.structured.destination_style(op)
        >>> x.inits, x.tied_result(x.inits[0]), x.uses_initial_value(x.inits[0])

    Args:
        op: of linalg, named, generic, of a category, `pack`, `unpack`, `softmax` or Winograd's;
            `tensor.insert`, `insert_slice`, `scatter`; `scf.for`, `scf.forall`;
            `bufferization.materialize_in_destination`; `vector.transfer_write`; an op of
            `linalg_ext`, a loop of `gml_st`; or one that `declare_destination_style` was told of.

    Raises:
        ArgumentError: it has no destinations, or breaks a rule of such ops (it mixes tensors and
            buffers, is on unranked ones, carries a scalar); names the op's line.
    """
    operation = operation_of(op)
    rule = rule_of(operation)
    if rule is None:
        raise ArgumentError(
            f"{operation.name} is not a destination-style op",
            where=place_of(operation),
            hint=why_without(operation),
        )
    check(operation, rule.inits(operation))
    return DestinationStyle(operation, rule)


def check_destination_style(
    op: ir.Operation | ir.OpView, *, inits: Sequence[int] | None = None
) -> None:
    """Check the rules of destination-style ops on any op.

    Args:
        op: the op.
        inits: the positions of its destinations among its operands, for an op that nothing is
            known of.

    Raises:
        ArgumentError: the op breaks a rule; the further rules that it breaks are notes.
    """
    operation = operation_of(op)
    if inits is None:
        destination_style(operation)
    else:
        check(operation, listed("inits", inits))


def is_destination_style(op: ir.Operation | ir.OpView) -> bool:
    """Return whether an op has destinations and keeps the rules of `destination_style`."""
    operation = operation_of(op)
    rule = rule_of(operation)
    return rule is not None and not any(broken_rules(operation, rule.inits(operation)))


class DestinationStyle:
    """A view of one live op: it is good for as long as the op is, and follows changes of it.

    As any handle of upstream's, it does not keep the module alive: hold that besides.

    Operands are told by position among all of the op's, counted from 0, by upstream's
    `ir.OpOperand`, or by value where the op has the value once. Results of an op on buffers are
    None.

    Attributes:
        op: the op.
    """

    def __init__(self, op: ir.Operation, rule: DestinationRule) -> None:
        """Use `destination_style(op)`."""
        self.op = op
        self._rule = rule

    @property
    def init_positions(self) -> tuple[int, ...]:
        """The positions of the inits among the operands."""
        return tuple(self._rule.inits(self.op))

    @property
    def input_positions(self) -> tuple[int, ...]:
        """The positions of the inputs: of all operands that are not inits."""
        inits = self.init_positions
        return tuple(i for i in range(len(self.op.operands)) if i not in inits)

    @property
    def operands(self) -> tuple[ir.Value, ...]:
        """Inputs and inits, in the order of the op."""
        return tuple(self.op.operands)

    @property
    def inputs(self) -> tuple[ir.Value, ...]:
        """The operands that are not inits: tensors or buffers, and scalars (offsets, bounds)."""
        operands = self.operands
        return tuple(operands[position] for position in self.input_positions)

    @property
    def shaped_inputs(self) -> tuple[ir.Value, ...]:
        """The inputs that are tensors or buffers."""
        return tuple(value for value in self.inputs if is_shaped(value.type))

    @property
    def inits(self) -> tuple[ir.Value, ...]:
        """The destinations, one for each result."""
        operands = self.operands
        return tuple(operands[position] for position in self.init_positions)

    @property
    def init_types(self) -> tuple[ir.Type, ...]:
        """The types of the destinations, which are those of the results too."""
        return tuple(value.type for value in self.inits)

    @property
    def num_inputs(self) -> int:
        """The number of inputs."""
        return len(self.input_positions)

    @property
    def num_inits(self) -> int:
        """The number of destinations."""
        return len(self.init_positions)

    @property
    def num_operands(self) -> int:
        """The number of inputs and destinations together."""
        return len(self.op.operands)

    @property
    def has_tensor_semantics(self) -> bool:
        """Return whether the op has tensor operands, so that its results are new tensors."""
        return any(is_tensor(value.type) for value in self.op.operands)

    @property
    def has_buffer_semantics(self) -> bool:
        """Return whether the op has buffer operands, which it writes to."""
        return any(is_buffer(value.type) for value in self.op.operands)

    @property
    def has_dynamic_shape(self) -> bool:
        """Return whether any size of any operand is known only when the program runs."""
        return any(
            not ir.ShapedType(value.type).has_static_shape
            for value in self.op.operands
            if is_shaped(value.type)
        )

    def is_input(self, operand: OperandLike) -> bool:
        """Return whether an operand is an input."""
        return not self.is_init(operand)

    def is_init(self, operand: OperandLike) -> bool:
        """Return whether an operand is a destination."""
        return position_of(self.op, operand) in self.init_positions

    def is_scalar(self, operand: OperandLike) -> bool:
        """Return whether an operand is neither tensor nor buffer."""
        return not is_shaped(self._value(operand).type)

    def rank(self, operand: OperandLike) -> int:
        """Return the number of dimensions of an operand; 0 for a scalar."""
        return len(self.shape(operand))

    def shape(self, operand: OperandLike) -> tuple[int | None, ...]:
        """The sizes of an operand, None where one is dynamic; empty for a scalar."""
        value = self._value(operand)
        return tuple(static_sizes(value)) if is_shaped(value.type) else ()

    def tied_result(self, init: OperandLike) -> ir.OpResult | None:
        """The result that is the new value of a destination; None on buffers.

        Raises:
            ArgumentError: the operand is not a destination.
        """
        number = self._init_number(init)
        return self.op.results[number] if len(self.op.results) else None

    def tied_init(self, result: ir.Value | ir.OpView | int) -> ir.Value:
        """The destination of a result: `operands[tied_init_position(result)]`."""
        return self.operands[self.tied_init_position(result)]

    def tied_init_position(self, result: ir.Value | ir.OpView | int) -> int:
        """The position among the operands of the destination of a result.

        Args:
            result: a result of the op, or its number.

        Raises:
            ArgumentError: the op has no such result.
        """
        return self.init_positions[self._result_number(result)]

    def uses_initial_value(self, init: OperandLike) -> bool:
        """Return whether the old elements of a destination may matter to the results.

        False is a promise: it may be memory that is not written yet. Of an `scf.forall`, for
        example, it is never given, whatever its body writes.

        Raises:
            ArgumentError: the operand is not a destination.
        """
        return self._rule.reads(self.op, self.init_positions[self._init_number(init)])

    def reified_result_shapes(self) -> list[list[int | ir.Value]]:
        """The sizes of each result: numbers, and index values made at the current insertion point.

        Raises:
            ArgumentError: a size is dynamic, and there is no insertion point.
        """
        return [
            [
                self._reified(self.tied_init_position(result), axis)
                for axis in range(ir.RankedTensorType(result.type).rank)
            ]
            for result in self.op.results
        ]

    def set_init(self, number: int, value: ir.Value | ir.OpView) -> None:
        """Let the op write to another destination, in place.

        Args:
            number: the number of the destination among `inits`.
            value: of the same type; a buffer may be of another layout or memory space.

        Raises:
            ArgumentError: there is no such destination, or the value does not fit; the op is left
                as it was.
        """
        if type(number) is not int or not 0 <= number < self.num_inits:
            raise ArgumentError(
                f"{self.op.name} has no init {number!r}",
                where=place_of(self.op),
                expected=f"a number from 0 to {self.num_inits - 1}" if self.num_inits else None,
            )
        op, position, new = self.op, self.init_positions[number], as_value(value)
        old, values = op.operands[position], list(op.operands)
        values[position] = new
        check_operands(op, values)
        if new.type != old.type and not (is_buffer(new.type) and is_buffer(old.type)):
            raise DTypeError(
                f"the destination at operand {position} of {op.name} is of type {old.type}, the "
                f"new one of type {new.type}",
                where=place_of(op),
                expected="one type: in place, results keep theirs",
                hint="build the op on it with .clone(operands)",
            )
        op.operands[position] = new
        if new.type != old.type and not is_valid(op):
            op.operands[position] = old
            raise DTypeError(
                f"{op.name} cannot write to {new.type} in place of {old.type}", where=place_of(op)
            )

    def clone(
        self,
        operands: Sequence[ir.Value | ir.OpView] | None = None,
        *,
        result_types: Sequence[ir.Type] | None = None,
        mapping: Captured | None = None,
        location: ir.Location | None = None,
    ) -> ir.Operation:
        """Build the op again, at the current insertion point, with its regions and attributes.

        Args:
            operands: inputs and inits, in the order of the op; its own where nothing is given.
            result_types: those of the new inits where nothing is given.
            mapping: replacements of the values from outside that the regions use.
            location: that of the op where nothing is given.

        Raises:
            ArgumentError: the op cannot be built on these; nothing is.
        """
        new = self.clone_without_regions(operands, result_types=result_types, location=location)
        copy_regions(self.op, new)
        _retype_carried(self._rule, self.op, new)
        if mapping:
            _replace_captured(new, mapping)
        return _verified(self.op, new)

    def clone_without_regions(
        self,
        operands: Sequence[ir.Value | ir.OpView] | None = None,
        *,
        result_types: Sequence[ir.Type] | None = None,
        location: ir.Location | None = None,
    ) -> ir.Operation:
        """As `clone`, with regions that are empty: fill them before the op is verified or printed.

        Raises:
            ArgumentError: the operands are too few or too many, or of other kinds.
        """
        op = self.op
        new_operands = op.operands if operands is None else listed("operands", operands)
        values = [as_value(operand) for operand in new_operands]
        check_operands(op, values)
        if result_types is None:
            types = [values[position].type for position in self.init_positions]
            result_types = [type_ for type_ in types if is_tensor(type_)]
        require_insertion_point(op)
        return ir.Operation.create(
            op.name,
            results=list(result_types),
            operands=values,
            attributes=dict(op.attributes.items()),
            regions=len(op.regions),
            loc=location or op.location,
        )

    def bufferized(self, operands: Sequence[ir.Value | ir.OpView]) -> ir.Operation:
        """Build the op on buffers, at the current insertion point: it has no results.

        Args:
            operands: a buffer in place of each tensor, of its shape and element type; scalars as
                they are.

        Raises:
            ArgumentError: the op has no form on buffers, or the operands do not fit.
        """
        op = self.op
        if not self._rule.on_buffers:
            raise ArgumentError(
                f"{op.name} has no form on buffers",
                where=place_of(op),
                hint="one-shot-bufferize makes other ops of it",
            )
        values = [as_value(operand) for operand in listed("operands", operands)]
        check_operands(op, values)
        for position, (value, old) in enumerate(zip(values, op.operands, strict=True)):
            if is_tensor(old.type):
                _check_buffer_of(op, position, value.type, old.type)
            elif value.type != old.type:
                raise DTypeError(
                    f"operand {position} of {op.name} is of type {old.type}, its new value of "
                    f"{value.type}",
                    where=place_of(op),
                    expected="scalars as they are",
                )
        return self.clone(values, result_types=[])

    def _value(self, operand: OperandLike) -> ir.Value:
        return self.op.operands[position_of(self.op, operand)]

    def _init_number(self, init: OperandLike) -> int:
        position, positions = position_of(self.op, init), self.init_positions
        if position in positions:
            return positions.index(position)
        raise ArgumentError(
            f"operand {position} of {self.op.name} is an input",
            where=place_of(self.op),
            expected=f"an init: operand {', '.join(map(str, positions)) or '(it has none)'}",
        )

    def _result_number(self, result: ir.Value | ir.OpView | int) -> int:
        results = list(self.op.results)
        number = result if type(result) is int else -1
        if isinstance(result, ir.OpResult) and result in results:
            number = result.result_number
        elif isinstance(result, ir.OpView) and result.operation == self.op and len(results) == 1:
            number = 0
        if 0 <= number < len(results):
            return number
        described = f"result {result}" if type(result) is int else "result of that kind"
        raise ArgumentError(
            f"{self.op.name} has no {described}",
            where=place_of(self.op),
            expected=f"one of its {counted(len(results), 'result')}, or the number of one",
        )

    def _reified(self, position: int, axis: int) -> int | ir.Value:
        size = self.shape(position)[axis]
        if size is not None:
            return size
        return self._size_value([(self.operands[position], axis)])

    def _size_value(self, places: Sequence[tuple[ir.Value, int]]) -> int | ir.Value:
        if all(ir.ShapedType(value.type).is_dynamic_dim(axis) for value, axis in places):
            require_insertion_point(self.op)
        size = size_at(places)
        if size is None:
            raise ArgumentError(f"{self.op.name}: no operand has that size")
        return size

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = []
        for kind, positions in (("input", self.input_positions), ("init", self.init_positions)):
            for number, position in enumerate(positions):
                notes = ""
                if kind == "init":
                    notes = "read" if self.uses_initial_value(position) else "overwritten"
                    notes += f", gives result {number}" if len(self.op.results) else ""
                type_ = str(self.op.operands[position].type)
                rows.append((f"{kind} {number}", type_, *self._columns_of(position), notes))
        return rows

    def _columns_of(self, position: int) -> tuple[str, ...]:
        return ()

    def __repr__(self) -> str:
        rows = self._rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)] if rows else []
        lines = [
            "  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([self.op.name, *lines])
