"""Plans, which are moves one after another, and the IR of a state."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.dialects.linalg_ext.grouping import empty_group, end_group
from linalg_ext.errors import ArgumentError, ArgumentTypeError, GroupingError
from linalg_ext.module import Module, ModuleLike, as_module

from ._annotations import AttributeText
from ._graph import ARGUMENTS, Value
from ._moves import MOVES, Annotate
from ._reading import destination_of, find_function, flatten, outer_operands, read_graph
from ._state import ROOT, Move, State, destination
from .inline_groups import replace_uses


@dataclass(frozen=True)
class Plan:
    """Moves one after another.

    >>> plan = Plan([Insert((3, 4)), Insert((5, 6)), Merge(9, 10)])
    >>> plan.apply_to(State(graph))         # in Python alone
    >>> plan.realize(module)                # in IR, once

    Attributes:
        moves: the first one first.
    """

    moves: tuple[Move, ...]

    def __init__(self, moves: Iterable[Move] = ()) -> None:
        object.__setattr__(self, "moves", tuple(moves))

    def apply_to(self, state: State) -> Plan:
        """Make all moves on a state; returns the plan that takes them back.

        Raises:
            GroupingError: one is not legal; says which. The state is as it was.
        """
        inverses: list[Move] = []
        for number, move in enumerate(self.moves):
            try:
                inverses.append(state.apply(move))
            except (GroupingError, ArgumentError) as error:
                state.undo(number)
                error.where = f"move {number} of {len(self.moves)}: {move!r}"
                raise
        return Plan(reversed(inverses))

    def realize(self, module: ModuleLike, function: str | None = None) -> State:
        """Make all moves on a function of a module, and change its IR once; returns the state.

        Args:
            module: it is changed as a whole or not at all.
            function: its name; may be left out where the module has one function with a body.

        Raises:
            GroupingError: a move is not legal; says which, and why.
        """
        state = State(read_graph(module, function))
        self.apply_to(state)
        realize(module, state)
        return state

    def to_json(self) -> str:
        """Return the plan as JSON: a list of moves, each an object with its kind and its fields."""
        return json.dumps([_written(move) for move in self.moves])

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Return the plan that `to_json` wrote.

        Raises:
            ArgumentError: the text is not a plan; names the move and the field.
        """
        try:
            data = json.loads(text)
        except ValueError as error:
            raise ArgumentError(f"the text is not JSON: {error}") from None
        if not isinstance(data, list):
            raise ArgumentError("the text is not a plan", expected="a list of moves")
        return cls(_read(written, number) for number, written in enumerate(data))

    def __len__(self) -> int:
        return len(self.moves)

    def __iter__(self) -> Iterator[Move]:
        return iter(self.moves)

    def __repr__(self) -> str:
        rows = [f"Plan of {len(self.moves)} move{'s' * (len(self.moves) != 1)}"]
        return "\n".join([*rows, *(f"  {n:>3}  {move!r}" for n, move in enumerate(self.moves))])


def apply_move(module: ModuleLike, move: Move, function: str | None = None) -> Move:
    """Make one move on the IR of a module; returns the one that takes it back.

    Items are numbered as `read_graph(module)` numbers them now; in the move that is returned, as it
    numbers those of the module that was changed.

    Args:
        module: it is changed as a whole or not at all.
        move: it.
        function: its name; may be left out where the module has one function with a body.

    Raises:
        GroupingError: it is not legal; says why.
    """
    state = State(read_graph(module, function))
    inverse = state.apply(move)
    realize(module, state)
    numbers = _numbers_after(state)

    def number(item: int) -> int:
        # An item that the move removed has no number: the inverse makes it with the next one.
        return item if item == ROOT else numbers.setdefault(item, len(numbers))

    return inverse.renumbered(number)


def _numbers_after(state: State) -> dict[int, int]:
    numbers = {node: number for number, node in enumerate(state.nodes_of(ROOT))}

    def number_groups(items: Sequence[int]) -> None:
        for item in items:
            if state.is_group(item):
                number_groups(state.children(item))
                numbers[item] = len(numbers)

    number_groups(state.children())
    return numbers


def _written(move: Move) -> dict[str, Any]:
    defaults = {own.name: own.default for own in fields(move)}
    values = {name: getattr(move, name) for name in defaults}
    changed = {name: value for name, value in values.items() if value != defaults[name]}
    return {"move": type(move).__name__, **changed}


def _read(written: Any, number: int) -> Move:
    where = f"move {number} of the plan"
    kind = MOVES.get(written.get("move", "")) if isinstance(written, dict) else None
    if kind is None:
        raise ArgumentError(
            f"{where} is {written!r}", expected='an object with "move": one of ' + ", ".join(MOVES)
        )
    names = {own.name for own in fields(kind)}
    values = {name: _tuples(value) for name, value in written.items() if name != "move"}
    if unknown := sorted(set(values) - names):
        raise ArgumentError(f"{where} has the field {unknown[0]!r}", expected=", ".join(names))
    if kind is Annotate and isinstance(values.get("value"), str):
        values["value"] = AttributeText(values["value"])
    try:
        return kind(**values)
    except TypeError as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentTypeError(f"{where} is incomplete: {error}") from None


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def realize(module: ModuleLike, state: State) -> Module:
    """Give a module the groups of a state; those that it had are no more.

    Args:
        module: the one that the graph of the state was made from. It is changed as a whole or not
            at all.
        state: of one of its functions.

    Returns:
        The module.

    Raises:
        GroupingError: the function is not the one that the graph was made from.
        VerificationError: the result breaks a rule of one of its ops.
    """
    target = as_module(module)
    clone = target.clone()
    root = clone.ir.operation
    with root.context, root.location:
        _Writer(find_function(root, state.graph.function), state).write()
    clone.verify(after="realizing groups")
    target.swap(clone)
    return target


class _Writer:
    """The ops and values of each node while groups are built."""

    def __init__(self, function: Any, state: State) -> None:
        flat = flatten(function)
        nodes = state.graph.nodes
        if [op.name for op in flat.ops] != [node.op for node in nodes]:
            raise GroupingError(
                f"@{state.graph.function} is not the function that the graph was made from: it has "
                f"{len(flat.ops)} ops, the graph has {len(nodes)}, or they are of other names",
                hint="make the graph again: read_graph(module)",
            )
        self.state = state
        self.end = flat.end
        self.arguments = flat.arguments
        self.ops: dict[int, Any] = dict(enumerate(flat.ops))
        self.group_results: dict[Value, Any] = {}
        self.new_empties: set[Any] = set()

    def write(self) -> None:
        """Write the copies, their readers, the order, and then the groups."""
        state = self.state
        order = list(state.nodes_of(ROOT))
        copies = [node for node in order if state.is_copy(node)]
        sources = dict(self.ops)
        for copy in copies:
            source = sources[state.node(copy).number]
            self.ops[copy] = source.clone(ip=ir.InsertionPoint(self.end))
        for node in order:
            op = self.ops[node]
            op.move_before(self.end)
            if copies or state.removed:
                self._connect(op, node)
        for node in sorted(state.removed, reverse=True):
            self.ops.pop(node).erase()
        for item in state.children():
            self._build(item)

    def _connect(self, op: Any, node: int) -> None:
        reads = self.state.reads(node)
        if reads == self.state.node(node).reads and not self.state.is_copy(node):
            return
        for (inner, position), read in zip(outer_operands(op), reads, strict=True):
            value = self._current(read)
            if inner.operands[position] != value:
                inner.operands[position] = value

    def _current(self, value: Value) -> Any:
        """Return the SSA value now: the result of a group, where one was built around it."""
        if value.node == ARGUMENTS:
            return self.arguments[value.number]
        return self.group_results.get(value) or self.ops[value.node].results[value.number]

    def _build(self, item: int) -> list[Any]:
        """Build an item; return its op, behind the new destinations of a group."""
        state = self.state
        if not state.is_group(item):
            return [self.ops[item]]
        inner = [op for child in state.children(item) for op in self._build(child)]
        members = set(state.nodes_of(item))
        values = state.outputs(item)
        outputs = [self._current(value) for value in values]
        with inner[0].location, ir.InsertionPoint(inner[0]):
            inits = [self._init(value, members) for value in values]
            destinations = set(inits)
            inputs = [self._current(value) for value in state.inputs(item)]
            inputs = [value for value in inputs if value not in destinations]
            data = state.data(item)
            notes = {name: ir.Attribute.parse(text) for name, text in data.texts.items()}
            group = empty_group(inputs, inits, notes, isolated=data.is_isolated)
        block = group.regions[0].blocks[0]
        with group.location, ir.InsertionPoint(block):
            end = end_group(outputs)
        for op in inner:
            op.move_before(end)
        arguments = list(block.arguments)
        for outer, argument in zip([*inputs, *inits], arguments, strict=True):
            replace_uses(outer, argument, group, inside=True)
        for output, argument in zip(outputs, arguments[len(inputs) :], strict=True):
            self._write_to(output, argument, arguments)
        for value, output, result in zip(values, outputs, group.results, strict=True):
            replace_uses(output, result, group, inside=False)
            self.group_results[value] = result
        new_destinations = [init.owner.operation for init in inits if init in self.new_empties]
        return [*new_destinations, group]

    def _init(self, value: Value, members: set[int]) -> Any:
        """Return the destination of a result of a group, made here where it would stand inside."""
        outer = destination(self.state, value, members)
        if outer is not None and outer.node not in members:
            return self._current(outer)
        sizes = () if outer is None else self.state.reads(outer.node)
        empty = ir.Operation.create(
            "tensor.empty",
            results=[self._current(value).type],
            operands=[self._current(size) for size in sizes],
        ).result
        self.new_empties.add(empty)
        return empty

    def _write_to(self, output: Any, argument: Any, arguments: list[Any]) -> None:
        """Have the results of a group computed in its own destinations.

        Where it comes from a group inside, that has made one for itself, or took that of another
        result, which was equal.
        """
        while not isinstance(output.owner, ir.Block):
            op = output.owner.operation
            position = destination_of(op, ir.OpResult(output).result_number)
            if position is None:
                return
            output = op.operands[position]
            if output in arguments or output in self.new_empties:
                op.operands[position] = argument
                if output in self.new_empties:
                    self.new_empties.discard(output)
                    output.owner.operation.erase()
                return
