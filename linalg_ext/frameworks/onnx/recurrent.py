"""LSTM, GRU and RNN: a product for all inputs, and a loop over the steps of the state.

One direction of a layer becomes one node of this library's, and in the module a call of a traced
function. Sequences of different lengths, peepholes, clipping and other activations concern the step
alone, which is written once, in NumPy.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from linalg_ext.frameworks.onnx.writing import DOMAIN, Rewrite, Unwritten, Writer, at
from linalg_ext.frameworks.recurrent_cells import over_rows, parts, sigmoid

NODE = "Recurrence"

Activation = Callable[..., Any]

_ACTIVATIONS: Mapping[str, tuple[Activation, Sequence[float]]] = {
    "Affine": (lambda x, alpha, beta: alpha * x + beta, (1.0, 0.0)),
    "Elu": (lambda x, alpha: np.where(x < 0, alpha * np.expm1(x), x), (1.0,)),
    "HardSigmoid": (lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1), (0.2, 0.5)),
    "LeakyRelu": (lambda x, alpha: np.where(x < 0, alpha * x, x), (0.01,)),
    "Relu": (lambda x: np.where(x < 0, 0, x), ()),
    "ScaledTanh": (lambda x, alpha, beta: alpha * np.tanh(beta * x), (1.0, 1.0)),
    "Sigmoid": (partial(sigmoid, np), ()),
    "Softplus": (lambda x: np.logaddexp(x, 0), ()),
    "Softsign": (lambda x: x / (1 + np.abs(x)), ()),
    "Tanh": (np.tanh, ()),
    "ThresholdedRelu": (lambda x, alpha: np.where(x > alpha, x, 0), (1.0,)),
}
"""Activations by their names in ONNX, with the defaults of their parameters alpha and beta."""

_DEFAULT_ACTIVATIONS = {
    "LSTM": ["Sigmoid", "Tanh", "Tanh"],
    "GRU": ["Sigmoid", "Tanh"],
    "RNN": ["Tanh"],
}


@dataclass(frozen=True)
class Recurrence:
    """One direction of a layer, as plain data.

    Attributes:
        op: LSTM, GRU or RNN.
        is_backward: True if the last step comes first.
        operands: names of the operands behind the weights: `rows_bias`, `bias` (of the product
            with the state, if that is reset), `peepholes`, `lengths`, `hidden`, `cell`.
        activations: the name of each, and its parameters.
        clip: the limit of the operands of activations, or None.
        input_forget: True if the forget gate of an LSTM is 1 minus the input gate.
        linear_before_reset: True if the reset gate of a GRU comes after the product.
    """

    op: str
    is_backward: bool
    operands: Sequence[str]
    activations: Sequence[tuple[str, Sequence[float]]]
    clip: float | None
    input_forget: bool
    linear_before_reset: bool

    def over_rows(self, x: Any, inputs: Any, weights: Any, *operands: Any) -> tuple[Any, ...]:
        """Trace all steps.

        Args:
            x: (steps, batch, width of the input).
            inputs: (gates x width, width of the input), the weights of the input.
            weights: (width, gates x width), those of the state.
            operands: as `operands` names them.

        Returns:
            The output of each step, (steps, batch, width), the last hidden state, and the last cell
            of an LSTM.
        """
        from linalg_ext.tracing.functions.creation import zeros

        optional = dict(zip(self.operands, operands, strict=True))
        rows = x @ inputs.T
        rows = rows + optional["rows_bias"] if "rows_bias" in optional else rows
        names = ("hidden", "cell") if self.op == "LSTM" else ("hidden",)
        zero = zeros((rows.shape[1], weights.shape[0]), rows.dtype)
        cell = {"LSTM": self._lstm, "GRU": self._gru, "RNN": self._rnn}[self.op]

        def advance(position: Any, row: Any, state: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
            new = cell(row, weights, optional, state)
            if (lengths := optional.get("lengths")) is None:
                return new[0], new
            runs = (lengths > position)[:, None]
            states = [np.where(runs, part, old) for part, old in zip(new, state, strict=True)]
            return np.where(runs, new[0], 0), states

        return over_rows(
            advance, self.is_backward, rows, [optional.get(name, zero) for name in names]
        )

    def _activate(self, index: int, value: Any) -> Any:
        name, parameters = self.activations[index]
        if self.clip is not None:
            value = np.clip(value, -self.clip, self.clip)
        return _ACTIVATIONS[name][0](value, *parameters)

    def _rnn(self, row: Any, weights: Any, optional: Any, state: Sequence[Any]) -> Sequence[Any]:
        return [self._activate(0, row + state[0] @ weights)]

    def _gru(self, row: Any, weights: Any, optional: Any, state: Sequence[Any]) -> Sequence[Any]:
        (hidden,) = state
        # Gate by gate, so that each product ends in its activation.
        rows, factors = parts(row, 3), parts(weights, 3)
        biases = parts(optional["bias"][None], 3) if "bias" in optional else [0, 0, 0]
        update, reset = (
            self._activate(0, rows[gate] + _affine(hidden, factors[gate], biases[gate]))
            for gate in (0, 1)
        )
        if self.linear_before_reset:
            past = reset * _affine(hidden, factors[2], biases[2])
        else:
            past = (reset * hidden) @ factors[2]
        candidate = self._activate(1, rows[2] + past)
        return [(1 - update) * candidate + update * hidden]

    def _lstm(self, row: Any, weights: Any, optional: Any, state: Sequence[Any]) -> Sequence[Any]:
        hidden, cell = state
        # Gate by gate, so that each product ends in its activation.
        pairs = zip(parts(row, 4), parts(weights, 4), strict=True)
        input_gate, output_gate, forget_gate, candidate = (
            own + hidden @ factor for own, factor in pairs
        )
        if "peepholes" in optional:
            to_input, to_output, to_forget = parts(optional["peepholes"][None], 3)
            input_gate, forget_gate = input_gate + to_input * cell, forget_gate + to_forget * cell
        input_gate = self._activate(0, input_gate)
        forget_gate = 1 - input_gate if self.input_forget else self._activate(0, forget_gate)
        cell = forget_gate * cell + input_gate * self._activate(1, candidate)
        output_gate = self._activate(
            0, output_gate + to_output * cell if "peepholes" in optional else output_gate
        )
        name, parameters = self.activations[2]
        return [output_gate * _ACTIVATIONS[name][0](cell, *parameters), cell]


def _affine(hidden: Any, factors: Any, bias: Any) -> Any:
    product = hidden @ factors
    return product if isinstance(bias, int) else product + bias


def recurrence_of(text: str) -> Recurrence:
    """Return the layer of the attribute `cell` of a node."""
    return Recurrence(**json.loads(text))


def _layer(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    if write.known.opset < 13:
        raise Unwritten
    x, first = node.input[0], [at(node.input, index) for index in (5, 6)]
    sizes = write.known.shapes[x]
    other_layout = attributes.get("layout", 0) == 1
    if other_layout:
        sizes = (sizes[1], sizes[0], *sizes[2:])
        x = write("Transpose", x, perm=[1, 0, 2])
        first = [write("Transpose", part, perm=[1, 0, 2]) if part else "" for part in first]
    direction = attributes.get("direction", "forward")
    ways = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    directions = []
    for number, is_backward in enumerate(ways):
        state = [_of_direction(write, part, number) for part in first]
        directions.append(
            _write_direction(write, node, attributes, x, state, number, is_backward, sizes)
        )
    perms = [[2, 0, 1, 3], [1, 0, 2], [1, 0, 2]]
    for index, name in enumerate(node.output):
        if not name:
            continue
        values = [part[index] for part in directions]
        joined = values[0]
        if len(values) > 1:
            joined = write("Concat", *values, axis=1 if index == 0 else 0)
        if other_layout:
            write("Transpose", joined, gives=name, perm=perms[index])
        else:
            write("Identity", joined, gives=name)


def _write_direction(
    write: Writer,
    node: Any,
    attributes: Mapping[str, Any],
    x: str,
    state: Sequence[str],
    number: int,
    is_backward: bool,
    sizes: Sequence[int | None],
) -> list[str]:
    """Write one direction: all outputs, the last one, and the last cell.

    Args:
        x: its input, steps first.
        state: the hidden state and the cell before the first step; empty names for zeros.
        is_backward: True where the last step comes first.
    """
    _, width, hidden = write.sizes(node.input[2])
    axis = write.integers(0)

    def squeezed(value: str) -> str:
        return write("Squeeze", value, axis) if value else ""

    inputs, weights = (
        squeezed(_of_direction(write, node.input[index], number)) for index in (1, 2)
    )
    # One transpose saves the loop from reading columns at each step.
    weights = write("Transpose", weights, perm=[1, 0])
    operands: dict[str, str] = {}
    if bias := at(node.input, 3):
        part = _of_direction(write, bias, number)
        of_rows, of_state = write.sliced(part, 1, 0, width), write.sliced(part, 1, width, 2 * width)
        if node.op_type == "GRU" and attributes.get("linear_before_reset", 0):
            operands["bias"] = squeezed(of_state)
        else:
            of_rows = write("Add", of_rows, of_state)
        operands["rows_bias"] = squeezed(of_rows)
    operands["peepholes"] = squeezed(_of_direction(write, at(node.input, 7), number))
    operands["lengths"] = at(node.input, 4)
    operands["hidden"] = squeezed(state[0])
    operands["cell"] = squeezed(state[1]) if node.op_type == "LSTM" else ""
    operands = {name: value for name, value in operands.items() if value}
    cell = Recurrence(
        node.op_type,
        is_backward,
        list(operands),
        _activations(node.op_type, attributes, number),
        attributes.get("clip"),
        bool(attributes.get("input_forget", 0)),
        bool(attributes.get("linear_before_reset", 0)),
    )
    count = 3 if node.op_type == "LSTM" else 2
    outputs, *last = write.several(
        NODE,
        [x, inputs, weights, *operands.values()],
        [""] * count,
        domain=DOMAIN,
        cell=json.dumps(asdict(cell)),
        kind=write.kinds[node.input[0]],
        shape=[-1 if size is None else size for size in (*sizes[:2], hidden)],
    )
    unsqueezed = [write("Unsqueeze", part, axis) for part in last]
    return [write("Unsqueeze", outputs, write.integers(1)), *unsqueezed]


def _of_direction(write: Writer, value: str, number: int) -> str:
    """Return the part of a direction; directions are the first axis of a value."""
    return write.sliced(value, 0, number, number + 1) if value else ""


def _activations(
    op: str, attributes: Mapping[str, Any], number: int
) -> list[tuple[str, list[float]]]:
    """Return the activations of a direction; only those with parameters have them listed."""
    names = attributes.get("activations") or _DEFAULT_ACTIVATIONS[op] * (number + 1)
    names = [name.decode() if isinstance(name, bytes) else name for name in names]
    known = {name.lower(): name for name in _ACTIVATIONS}
    if any(name.lower() not in known for name in names):
        raise Unwritten
    listed = [list(attributes.get(f"activation_{key}") or []) for key in ("alpha", "beta")]
    functions = []
    for name in (known[name.lower()] for name in names):
        defaults = _ACTIVATIONS[name][1]
        pairs = zip(defaults, listed, strict=False)
        functions.append((name, [values.pop(0) if values else usual for usual, values in pairs]))
    count = len(_DEFAULT_ACTIVATIONS[op])
    return functions[number * count : (number + 1) * count]


REWRITES: Mapping[str, Rewrite] = {"GRU": _layer, "LSTM": _layer, "RNN": _layer}
