"""A cost model that is easily foreseen: bytes that go in and out of groups, and a start of each."""

from __future__ import annotations

import math
import re

from linalg_ext.transforms.grouping import ARGUMENTS, Cost, State, Value

_BYTES_A_SECOND = 1e10
_START = 1e-6
_FREE = ("arith.constant", "tensor.empty", "tensor.dim")
_SIZES = re.compile(r"tensor<((?:\d+x)*)[a-z]+(\d+)>")


class Traffic:
    """Costs of bytes and starts."""

    def of_group(self, state: State, group: int) -> Cost:
        """What goes in and out of a group or a node, and its start."""
        if not state.is_group(group) and state.node(group).op in _FREE:
            return Cost.of([])
        inputs = state.inputs(group)
        moved = sum(_bytes(state, each) for each in (*inputs, *state.outputs(group)))
        return Cost.of([("memory", moved / _BYTES_A_SECOND), ("start", _START)])

    def of_state(self, state: State) -> Cost:
        """The sum over what stands outside all groups."""
        return Cost.sum(self.of_group(state, item) for item in state.children())

    def what_if(self, state: State, group: int, tiling: tuple[int, ...]) -> Cost:
        """As it is: tiles change no traffic here."""
        return self.of_group(state, group)


def _bytes(state: State, value: Value) -> int:
    if value.node == ARGUMENTS or state.node(value.node).op in _FREE:
        return 0
    found = _SIZES.fullmatch(state.node(value.node).results[value.number].type)
    if found is None:
        return 0
    sizes = [int(size) for size in found[1].split("x") if size]
    return math.prod(sizes) * int(found[2]) // 8
