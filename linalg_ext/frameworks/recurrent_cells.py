"""Recurrent cells: one step of each, its gradient, and loops over the steps in the kernel.

A step is written once: PyTorch runs it in models that are left to it, and traced as a user's
function, it is the body of a loop over any number of steps. The part of a step that is independent
of the state is computed before, for all steps at once; the loop reads it as rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linalg_ext.errors import ModelError

Step = Callable[[Any, Any, Sequence[Any], Sequence[Any]], tuple[Any, ...]]
Gradient = Callable[[Any, Any, Sequence[Any], Sequence[Any], Sequence[Any]], tuple[Any, Any, Any]]


Advance = Callable[[Any, Any, Sequence[Any]], tuple[Any, Sequence[Any]]]


def over_rows(
    advance: Advance, is_backward: bool, rows: Any, state: Sequence[Any]
) -> tuple[Any, ...]:
    """Trace a loop in the kernel over the steps of a sequence.

    Args:
        advance: takes the number of a row, the row and the state; gives the output of the step,
            like the first part of the state, and the new state.
        is_backward: True where the last row comes first.
        rows: (steps, ...), all that the steps add without the state.
        state: its parts, before the first step.

    Returns:
        The output of each step, (steps, ...), and the state after the last.
    """
    # Tracing needs MLIR; callers that know a cell by its name alone do without.
    from linalg_ext.tracing.functions.control import loop
    from linalg_ext.tracing.functions.creation import zeros

    steps = rows.shape[0]

    def step(number: Any, carried: Any) -> Any:
        *state, outputs = carried
        position = steps - 1 - number if is_backward else number
        output, state = advance(position, rows[position], state)
        return (*state, outputs.at[position].set(output))

    *state, outputs = loop(steps, step, (*state, zeros((steps, *state[0].shape), state[0].dtype)))
    return (outputs, *state)


@dataclass(frozen=True)
class Cell:
    """A recurrent cell of PyTorch's.

    Attributes:
        step: takes NumPy or PyTorch, the input's part of the gates, the weights, and the state;
            returns the new state, of which the first part is the output.
        gradient: takes the arguments of a step, and the gradients of the new state; returns those
            of the row, of the product of state and weights, and of the state, a tuple; None if
            unknown.
        weights: the number of weights of the state: (gates x width, width), then (gates x width).
        states: the number of parts of the state, (batch, width) each.
    """

    step: Step
    gradient: Gradient | None
    weights: int
    states: int

    def over_rows(self, is_backward: bool, rows: Any, *weights_and_state: Any) -> tuple[Any, ...]:
        """Trace all steps.

        Args:
            is_backward: True where the last row comes first.
            rows: (steps, batch, gates x width).
            weights_and_state: the weights, then the state.

        Returns:
            The output of each step, (steps, batch, width), and the state after the last.
        """
        weights, state = weights_and_state[: self.weights], weights_and_state[self.weights :]

        def advance(position: Any, row: Any, state: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
            new = self.step(np, row, weights, state)
            return new[0], new

        return over_rows(advance, is_backward, rows, state)

    def gradient_over_rows(self, is_backward: bool, rows: Any, *values: Any) -> tuple[Any, ...]:
        """Return the gradient of all steps, traced: the states again, then back through them.

        Args:
            is_backward: whether the last row comes first.
            rows: (steps, batch, gates x width).
            values: the weights, the state, and the gradients of the results of `over_rows`.

        Returns:
            The gradients of the rows, of the products of state and weights, both like the rows,
            and of the state.
        """
        from linalg_ext.tracing.functions.control import loop
        from linalg_ext.tracing.functions.creation import zeros

        if self.gradient is None:
            raise ModelError(
                "the gradient of this recurrent layer is not a loop here",
                hint="train it with PyTorch's own backend, or without projections",
            )
        derived = self.gradient
        weights = values[: self.weights]
        first = values[self.weights : self.weights + self.states]
        of_shown, *of_last = values[self.weights + self.states :]
        steps = rows.shape[0]

        def position_of(number: Any) -> Any:
            return steps - 1 - number if is_backward else number

        def ahead(number: Any, carried: Any) -> Any:
            state, stored = carried[: self.states], carried[self.states :]
            position = position_of(number)
            stored = [all_.at[position].set(part) for all_, part in zip(stored, state, strict=True)]
            return (*self.step(np, rows[position], weights, state), *stored)

        def back(number: Any, carried: Any) -> Any:
            of_rows, of_products, of_first, *of_state = carried
            position = position_of(steps - 1 - number)
            of_new = (of_first + of_shown[position], *of_state)
            state = [states[position] for states in before]
            of_row, of_product, of_old = derived(np, rows[position], weights, state, of_new)
            of_rows = of_rows.at[position].set(of_row)
            return (of_rows, of_products.at[position].set(of_product), *of_old)

        outputs = [zeros((steps, *part.shape), part.dtype) for part in first]
        before = loop(steps, ahead, (*first, *outputs))[self.states :]
        grads = [zeros(rows.shape, rows.dtype) for _ in range(2)]
        return tuple(loop(steps, back, (*grads, *of_last)))


PROJECTED = "lstm_projected"


def _lstm(xp: Any, row: Any, weights: Sequence[Any], state: Sequence[Any]) -> tuple[Any, ...]:
    """Long short-term memory (Hochreiter and Schmidhuber, 1997)."""
    hidden, cell = state
    input_gate, forget_gate, candidate, output_gate = _lstm_gates(xp, row, weights, hidden)
    cell = forget_gate * cell + input_gate * candidate
    return output_gate * xp.tanh(cell), cell


def _lstm_gates(xp: Any, row: Any, weights: Sequence[Any], hidden: Any) -> list[Any]:
    input_gate, forget_gate, candidate, output_gate = parts(row + hidden @ weights[0].T, 4)
    return [
        sigmoid(xp, input_gate),
        sigmoid(xp, forget_gate),
        xp.tanh(candidate),
        sigmoid(xp, output_gate),
    ]


def _lstm_gradient(
    xp: Any, row: Any, weights: Sequence[Any], state: Sequence[Any], of_new: Sequence[Any]
) -> tuple[Any, Any, Any]:
    hidden, cell = state
    of_hidden, of_cell = of_new
    input_gate, forget_gate, candidate, output_gate = _lstm_gates(xp, row, weights, hidden)
    squashed = xp.tanh(forget_gate * cell + input_gate * candidate)
    of_cell = of_cell + of_hidden * output_gate * (1 - squashed * squashed)
    of_gates = xp.concatenate(
        [
            of_cell * candidate * _slope(input_gate),
            of_cell * cell * _slope(forget_gate),
            of_cell * input_gate * (1 - candidate * candidate),
            of_hidden * squashed * _slope(output_gate),
        ],
        1,
    )
    return of_gates, of_gates, (of_gates @ weights[0], of_cell * forget_gate)


def _lstm_projected(
    xp: Any, row: Any, weights: Sequence[Any], state: Sequence[Any]
) -> tuple[Any, ...]:
    """One whose hidden state is a projection (Sak and others, 2014)."""
    hidden, cell = _lstm(xp, row, weights, state)
    return hidden @ weights[1].T, cell


def _gru(xp: Any, row: Any, weights: Sequence[Any], state: Sequence[Any]) -> tuple[Any, ...]:
    """A gated recurrent unit (Cho and others, 2014), whose reset comes after the product."""
    (hidden,) = state
    _, update, candidate, _ = _gru_gates(xp, row, weights, hidden)
    return (candidate + update * (hidden - candidate),)


def _gru_gates(xp: Any, row: Any, weights: Sequence[Any], hidden: Any) -> tuple[Any, ...]:
    weight, bias = weights
    reset, update, candidate = parts(row, 3)
    own_reset, own_update, own_candidate = parts(hidden @ weight.T + bias, 3)
    reset = sigmoid(xp, reset + own_reset)
    return (
        reset,
        sigmoid(xp, update + own_update),
        xp.tanh(candidate + reset * own_candidate),
        own_candidate,
    )


def _gru_gradient(
    xp: Any, row: Any, weights: Sequence[Any], state: Sequence[Any], of_new: Sequence[Any]
) -> tuple[Any, Any, Any]:
    (hidden,), (of_hidden,) = state, of_new
    reset, update, candidate, own_candidate = _gru_gates(xp, row, weights, hidden)
    of_sum = of_hidden * (1 - update) * (1 - candidate * candidate)
    of_gates = [
        of_sum * own_candidate * _slope(reset),
        of_hidden * (hidden - candidate) * _slope(update),
    ]
    of_product = xp.concatenate([*of_gates, of_sum * reset], 1)
    of_row = xp.concatenate([*of_gates, of_sum], 1)
    return of_row, of_product, (of_hidden * update + of_product @ weights[0],)


def _rnn_tanh(xp: Any, row: Any, weights: Sequence[Any], state: Sequence[Any]) -> tuple[Any, ...]:
    return (xp.tanh(row + state[0] @ weights[0].T),)


def _rnn_tanh_gradient(
    xp: Any, row: Any, weights: Sequence[Any], state: Sequence[Any], of_new: Sequence[Any]
) -> tuple[Any, Any, Any]:
    (shown,) = _rnn_tanh(xp, row, weights, state)
    of_sum = of_new[0] * (1 - shown * shown)
    return of_sum, of_sum, (of_sum @ weights[0],)


def _rnn_relu(xp: Any, row: Any, weights: Sequence[Any], state: Sequence[Any]) -> tuple[Any, ...]:
    total = row + state[0] @ weights[0].T
    return (xp.where(total < 0, 0, total),)


def _rnn_relu_gradient(
    xp: Any, row: Any, weights: Sequence[Any], state: Sequence[Any], of_new: Sequence[Any]
) -> tuple[Any, Any, Any]:
    total = row + state[0] @ weights[0].T
    of_sum = xp.where(total <= 0, 0, of_new[0])
    return of_sum, of_sum, (of_sum @ weights[0],)


def parts(gates: Any, count: int) -> list[Any]:
    """Return the gates that lie side by side along the second axis."""
    width = gates.shape[1] // count
    return [gates[:, n * width : (n + 1) * width] for n in range(count)]


def sigmoid(xp: Any, x: Any) -> Any:
    """Return the logistic function, by NumPy or PyTorch."""
    return 1 / (1 + xp.exp(-x))


def _slope(y: Any) -> Any:
    """The derivative of a sigmoid, from the sigmoid's result."""
    return y * (1 - y)


CELLS: Mapping[str, Cell] = {
    "lstm": Cell(_lstm, _lstm_gradient, weights=1, states=2),
    PROJECTED: Cell(_lstm_projected, None, weights=2, states=2),
    "gru": Cell(_gru, _gru_gradient, weights=2, states=1),
    "rnn_tanh": Cell(_rnn_tanh, _rnn_tanh_gradient, weights=1, states=1),
    "rnn_relu": Cell(_rnn_relu, _rnn_relu_gradient, weights=1, states=1),
}
"""By PyTorch's names, and that with projections by one of its own."""
