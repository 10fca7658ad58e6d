"""Recurrent cells: one step of each, and a loop over the steps in the kernel.

A step is written once: PyTorch runs it where a model is left to it, and traced as a user's function
is, it is the body of a loop, whatever the number of steps. What does not hang on the state is
computed before, for all steps at once, and comes in as rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

Step = Callable[[Any, Any, Sequence[Any], Sequence[Any]], tuple[Any, ...]]


@dataclass(frozen=True)
class Cell:
    """A recurrent cell of PyTorch's.

    Attributes:
        step: takes NumPy or PyTorch, what the input of a step adds to the gates, the weights, and
            the state; gives the new state, of which the first part is shown.
        weights: how many, of the state alone: (gates x width, width), then (gates x width).
        states: of how many parts the state is, (batch, width) each.
    """

    step: Step
    weights: int
    states: int

    def over_rows(self, is_backward: bool, rows: Any, *others: Any) -> tuple[Any, ...]:
        """All steps, traced.

        Args:
            is_backward: whether the last row comes first.
            rows: (steps, batch, gates x width).
            others: the weights, then the state.

        Returns:
            What is shown after each step, (steps, batch, width), and the state after the last.
        """
        # Who traces has MLIR; who knows the op by its name alone does without.
        from linalg_ext.tracing.control import loop
        from linalg_ext.tracing.creation import zeros

        weights, state = others[: self.weights], others[self.weights :]
        steps, hidden = rows.shape[0], state[0]

        def step(at: Any, carried: Any) -> Any:
            *state, shown = carried
            place = steps - 1 - at if is_backward else at
            state = self.step(np, rows[place], weights, state)
            return (*state, shown.at[place].set(state[0]))

        room = zeros((steps, *hidden.shape), hidden.dtype)
        *state, shown = loop(steps, step, (*state, room))
        return (shown, *state)


def _lstm(xp: Any, row: Any, weights: Sequence[Any], state: Sequence[Any]) -> tuple[Any, ...]:
    """Long short-term memory (Hochreiter and Schmidhuber, 1997)."""
    hidden, cell = state
    taken, kept, new, given = _parts(row + hidden @ weights[0].T, 4)
    cell = _sigmoid(xp, kept) * cell + _sigmoid(xp, taken) * xp.tanh(new)
    return _sigmoid(xp, given) * xp.tanh(cell), cell


def _gru(xp: Any, row: Any, weights: Sequence[Any], state: Sequence[Any]) -> tuple[Any, ...]:
    """A gated recurrent unit (Cho and others, 2014), whose reset comes after the product."""
    (weight, bias), (hidden,) = weights, state
    reset, kept, new = _parts(row, 3)
    own_reset, own_kept, own_new = _parts(hidden @ weight.T + bias, 3)
    new = xp.tanh(new + _sigmoid(xp, reset + own_reset) * own_new)
    return (new + _sigmoid(xp, kept + own_kept) * (hidden - new),)


def _rnn_tanh(xp: Any, row: Any, weights: Sequence[Any], state: Sequence[Any]) -> tuple[Any, ...]:
    return (xp.tanh(row + state[0] @ weights[0].T),)


def _rnn_relu(xp: Any, row: Any, weights: Sequence[Any], state: Sequence[Any]) -> tuple[Any, ...]:
    found = row + state[0] @ weights[0].T
    return (xp.where(found < 0, 0, found),)


def _parts(gates: Any, count: int) -> list[Any]:
    width = gates.shape[1] // count
    return [gates[:, n * width : (n + 1) * width] for n in range(count)]


def _sigmoid(xp: Any, x: Any) -> Any:
    return 1 / (1 + xp.exp(-x))


CELLS: Mapping[str, Cell] = MappingProxyType(
    {
        "lstm": Cell(_lstm, weights=1, states=2),
        "gru": Cell(_gru, weights=2, states=1),
        "rnn_tanh": Cell(_rnn_tanh, weights=1, states=1),
        "rnn_relu": Cell(_rnn_relu, weights=1, states=1),
    }
)
"""By PyTorch's names."""
