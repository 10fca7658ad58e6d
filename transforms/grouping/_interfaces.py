"""The operands and results of a group: their limits in `linalg_ext.group`, and the destinations."""

from __future__ import annotations

from linalg_ext.errors import GroupingError
from linalg_ext.structured.group import INIT_SLOTS, INPUT_SLOTS

from ._graph import Value
from ._state import State


def check_interface(state: State, group: int) -> None:
    """Raise GroupingError where what goes in and out of a group cannot be so."""
    outputs = state.outputs(group)
    inputs = state.inputs(group)
    for what, found, most in (
        ("inputs", inputs, INPUT_SLOTS),
        ("results", outputs, INIT_SLOTS),
    ):
        if len(found) > most:
            raise GroupingError(
                f"the group would have {len(found)} {what}", expected=f"{most} at most"
            )
    members = set(state.nodes_of(group))
    for value in outputs:
        destination(state, value, members)


def destination(state: State, value: Value, members: set[int]) -> Value | None:
    """The value from outside that a result of a group is computed in.

    It is a result of a `tensor.empty` of the group where one with the same sizes can be made
    outside; None where any tensor of its type will do.

    Raises:
        GroupingError: there is none.
    """
    first = value
    while True:
        node, result = state.node(value.node), state.node(value.node).results[value.number]
        if not result.is_tensor:
            raise GroupingError(
                f"{state.describe(first.node)} gives {result.type} to ops outside, and a group "
                "gives tensors",
                hint="take the ops that read it into the group, or leave it outside",
            )
        if result.destination is None:
            break
        value = state.reads(value.node)[result.destination]
        if value.node not in members:
            return value
    if result.is_static:
        return None
    if node.op == "tensor.empty" and all(v.node not in members for v in state.reads(value.node)):
        return value
    raise GroupingError(
        f"the sizes of what {state.describe(first.node)} gives to ops outside, {result.type}, "
        f"come from {state.describe(value.node)} in the group: there is no destination for it",
        hint="leave that op outside the group",
    )
