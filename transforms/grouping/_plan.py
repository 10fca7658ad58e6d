"""Plans: moves one after another, replayed on a graph or on a module, and kept as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from linalg_ext.errors import ArgumentError, ArgumentTypeError, GroupingError
from linalg_ext.module import ModuleLike

from ._annotations import AttributeText
from ._moves_of_groups import Annotate, Dissolve, Insert, Merge, Split
from ._moves_of_ops import Deduplicate, Duplicate, MoveIn, MoveOut, Reorder
from ._reading import read_graph
from ._realizing import realize
from ._state import ROOT, Move, State

MOVES: dict[str, type[Move]] = {
    kind.__name__: kind
    for kind in (
        *(Insert, Dissolve, Merge, Split, Annotate),
        *(MoveIn, MoveOut, Reorder, Duplicate, Deduplicate),
    )
}
"""All kinds of moves, by name."""


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
        """The plan as JSON: a list of moves, each an object with its kind and its fields."""
        return json.dumps([_written(move) for move in self.moves])

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan that `to_json` wrote.

        Raises:
            ArgumentError: the text is no plan; names the move and the field.
        """
        try:
            found = json.loads(text)
        except ValueError as error:
            raise ArgumentError(f"the text is no JSON: {error}") from None
        if not isinstance(found, list):
            raise ArgumentError("the text is no plan", expected="a list of moves")
        return cls(_read(each, number) for number, each in enumerate(found))

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
    """Return the numbers of the items of a state in the graph of the realized module."""
    numbers = {node: at for at, node in enumerate(state.nodes_of(ROOT))}

    def number_groups(items: Sequence[int]) -> None:
        for item in items:
            if state.is_group(item):
                number_groups(state.children(item))
                numbers[item] = len(numbers)

    number_groups(state.children())
    return numbers


def _written(move: Move) -> dict[str, Any]:
    said: dict[str, Any] = {"move": type(move).__name__}
    for each in fields(move):
        value = getattr(move, each.name)
        if value != each.default:
            said[each.name] = value
    return said


def _read(said: Any, number: int) -> Move:
    where = f"move {number} of the plan"
    kind = MOVES.get(said.get("move", "")) if isinstance(said, dict) else None
    if kind is None:
        raise ArgumentError(
            f"{where} is {said!r}", expected='an object with "move": one of ' + ", ".join(MOVES)
        )
    known = {each.name for each in fields(kind)}
    given = {name: _tuples(value) for name, value in said.items() if name != "move"}
    if unknown := sorted(set(given) - known):
        raise ArgumentError(f"{where} has the field {unknown[0]!r}", expected=", ".join(known))
    if kind is Annotate and isinstance(given.get("value"), str):
        given["value"] = AttributeText(given["value"])
    try:
        return kind(**given)
    except TypeError as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentTypeError(f"{where} is incomplete: {error}") from None


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
