"""LSTM, GRU and RNN, as layers of one direction, or step after step.

torch-mlir has a loop for layers that go forward and have nothing unusual; those that go backwards
are such of rows in the other order. Lengths of sequences, peepholes, clipping and other activations
are written step by step, where the number of steps is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from linalg_ext.frameworks.onnx.writing import Rewrite, Unwritten, Writer, at

_MOST_STEPS = 256

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_ACTIVATIONS = {
    "LSTM": ["Sigmoid", "Tanh", "Tanh"],
    "GRU": ["Sigmoid", "Tanh"],
    "RNN": ["Tanh"],
}
_PARAMETERS: Mapping[str, Mapping[str, float]] = {
    "Affine": {"alpha": 1.0, "beta": 0.0},
    "Elu": {"alpha": 1.0},
    "HardSigmoid": {"alpha": 0.2, "beta": 0.5},
    "LeakyRelu": {"alpha": 0.01},
    "Relu": {},
    "ScaledTanh": {"alpha": 1.0, "beta": 1.0},
    "Sigmoid": {},
    "Softplus": {},
    "Softsign": {},
    "Tanh": {},
    "ThresholdedRelu": {"alpha": 1.0},
}
"""Parameters of the activations, with their defaults for a layer that gives none."""

Activation = Callable[[str], str]


@dataclass
class _Layer:
    """One direction of a layer.

    Attributes:
        write: of the node.
        op: LSTM, GRU or RNN.
        said: the attributes of the node.
        activations: those of this direction, in order.
        hidden: the size of its state.
        weights: of its gates: of inputs and of states, transposed; their terms; peepholes.
    """

    write: Writer
    op: str
    said: Mapping[str, Any]
    activations: list[Activation]
    hidden: int
    weights: Mapping[str, str]

    def gate(self, value: str, place: int) -> str:
        """A part of what all gates have, side by side."""
        if _GATES[self.op] == 1:
            return value
        return self.write.sliced(value, 1, place * self.hidden, (place + 1) * self.hidden)

    def clipped(self, value: str) -> str:
        """Clip the input of an activation, if the layer has a limit."""
        limit = self.said.get("clip")
        if limit is None:
            return value
        kind = self.weights["w"]
        bounds = self.write.number(-limit, kind), self.write.number(limit, kind)
        return self.write("Clip", value, *bounds)

    def step(self, row: str, state: str, cell: str) -> tuple[str, str]:
        """The next state, and the next cell of an LSTM.

        Args:
            row: what the inputs of this step give to the gates, their terms added.
            state: that of the step before.
            cell: likewise.
        """
        if self.op == "LSTM":
            return self._lstm(row, state, cell)
        return (self._gru if self.op == "GRU" else self._rnn)(row, state), ""

    def _of_state(self, state: str) -> str:
        found = self.write("MatMul", state, self.weights["r"])
        return self.write("Add", found, self.weights["rb"]) if self.weights["rb"] else found

    def _rnn(self, row: str, state: str) -> str:
        found = self.write("Add", row, self._of_state(state))
        return self.activations[0](self.clipped(found))

    def _gru(self, row: str, state: str) -> str:
        write, (f, g) = self.write, self.activations
        given = self._of_state(state)
        z, r = (
            f(self.clipped(write("Add", self.gate(row, place), self.gate(given, place))))
            for place in (0, 1)
        )
        if self.said.get("linear_before_reset", 0):
            past = write("Mul", r, self.gate(given, 2))
        else:
            past = write("MatMul", write("Mul", r, state), self.gate(self.weights["r"], 2))
            if self.weights["rb"]:
                past = write("Add", past, self.gate(self.weights["rb"], 2))
        h = g(self.clipped(write("Add", self.gate(row, 2), past)))
        rest = write("Sub", write.number(1, self.weights["w"]), z)
        return write("Add", write("Mul", rest, h), write("Mul", z, state))

    def _lstm(self, row: str, state: str, cell: str) -> tuple[str, str]:
        write, (f, g, h) = self.write, self.activations
        sums = write("Add", row, self._of_state(state))
        i = f(self.clipped(self._with_peephole(self.gate(sums, 0), 0, cell)))
        if self.said.get("input_forget", 0):
            forget = write("Sub", write.number(1, self.weights["w"]), i)
        else:
            forget = f(self.clipped(self._with_peephole(self.gate(sums, 2), 2, cell)))
        c = g(self.clipped(self.gate(sums, 3)))
        new = write("Add", write("Mul", forget, cell), write("Mul", i, c))
        o = f(self.clipped(self._with_peephole(self.gate(sums, 1), 1, new)))
        return write("Mul", o, h(new)), new

    def _with_peephole(self, value: str, place: int, cell: str) -> str:
        peepholes = self.weights.get("p", "")
        if not peepholes:
            return value
        part = self.gate(peepholes, place)
        return self.write("Add", value, self.write("Mul", part, cell))


def _layer(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """A layer of one direction, or both, in parts that torch-mlir knows, or in steps."""
    direction = attributes.get("direction", "forward")
    if write.known.opset < 13:
        raise Unwritten
    lengths = at(node.input, 4)
    unusual = {"activations", "activation_alpha", "activation_beta", "clip", "input_forget"}
    in_steps = bool(lengths or at(node.input, 7) or unusual & attributes.keys())
    in_steps |= bool(attributes.get("linear_before_reset", 0))
    other_layout = attributes.get("layout", 0) == 1
    if direction == "forward" and not (in_steps or other_layout):
        return
    x, first = node.input[0], [at(node.input, place) for place in (5, 6)]
    if other_layout:
        x = write("Transpose", x, perm=[1, 0, 2])
        first = [write("Transpose", each, perm=[1, 0, 2]) if each else "" for each in first]
    ways = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    parts = []
    for number, is_back in enumerate(ways):
        build = _in_steps if in_steps else _by_torch_mlir
        state = [_of_direction(write, each, number) for each in first]
        parts.append(build(write, node, _Direction(attributes, x, state, number, is_back)))
    perms = [[2, 0, 1, 3], [1, 0, 2], [1, 0, 2]]
    for place, name in enumerate(node.output):
        if not name:
            continue
        values = [part[place] for part in parts]
        joined = values[0]
        if len(values) > 1:
            joined = write("Concat", *values, axis=1 if place == 0 else 0)
        if other_layout:
            write("Transpose", joined, gives=name, perm=perms[place])
        else:
            write("Identity", joined, gives=name)


def _of_direction(write: Writer, value: str, number: int) -> str:
    """The part of a direction of what all have, whose first axis is theirs."""
    return write.sliced(value, 0, number, number + 1) if value else ""


class _Direction(NamedTuple):
    """One direction of a layer.

    Attributes:
        attributes: of the layer.
        x: its input, steps first.
        state: what it begins with: the hidden state, and the cell; empty names for zeros.
        number: of the direction.
        is_back: whether the last step comes first.
    """

    attributes: Mapping[str, Any]
    x: str
    state: list[str]
    number: int
    is_back: bool


def _by_torch_mlir(write: Writer, node: Any, one: _Direction) -> list[str]:
    """One direction as a layer that goes forward."""
    weights = [_of_direction(write, at(node.input, place), one.number) for place in (1, 2, 3)]
    rows = write.reversed(one.x, 0) if one.is_back else one.x
    inputs = [rows, *weights, "", *one.state[: 2 if node.op_type == "LSTM" else 1]]
    kept = {"hidden_size": one.attributes["hidden_size"]}
    count = 3 if node.op_type == "LSTM" else 2
    found = write.several(node.op_type, inputs, [""] * count, **kept)
    return [write.reversed(found[0], 0), *found[1:]] if one.is_back else found


def _in_steps(write: Writer, node: Any, one: _Direction) -> list[str]:
    """One direction, step after step: all states, the last one, and the last cell."""
    sizes = write.sizes(node.input[0])
    other_layout = one.attributes.get("layout", 0) == 1
    (batch, steps) = (sizes[0], sizes[1]) if other_layout else (sizes[1], sizes[0])
    if steps > _MOST_STEPS:
        raise Unwritten
    hidden = write.sizes(node.input[2])[2]
    layer = _layer_of(write, node, one.attributes, one.number, hidden)
    axis = write.integers(0)
    zero = write("Expand", write.number(0, node.input[0]), write.integers(batch, hidden))
    h, c = (write("Squeeze", each, axis) if each else zero for each in one.state)
    rows = write("MatMul", one.x, layer.weights["wt"])
    if layer.weights["wb"]:
        rows = write("Add", rows, layer.weights["wb"])
    lengths = at(node.input, 4)
    if lengths:
        lengths = write("Reshape", lengths, write.integers(batch, 1))
    made = [""] * steps
    for step in reversed(range(steps)) if one.is_back else range(steps):
        row = write("Gather", rows, write.constant(step), axis=0)
        new, cell = layer.step(row, h, c)
        given = new
        if lengths:
            runs = write("Greater", lengths, write.number(step, at(node.input, 4)))
            new, given = (write("Where", runs, new, other) for other in (h, zero))
            cell = write("Where", runs, cell, c) if cell else cell
        h, c = new, cell or c
        made[step] = write("Unsqueeze", given, axis)
    joined = write("Concat", *made, axis=0)
    last = [write("Unsqueeze", each, axis) for each in (h, c)]
    return [write("Unsqueeze", joined, write.integers(1)), *last]


def _layer_of(
    write: Writer, node: Any, attributes: Mapping[str, Any], number: int, hidden: int
) -> _Layer:
    gates, axis = _GATES[node.op_type], write.integers(0)
    w, r = (
        write("Squeeze", _of_direction(write, node.input[place], number), axis) for place in (1, 2)
    )
    weights = {
        "w": node.input[1],
        "wt": write("Transpose", w, perm=[1, 0]),
        "r": write("Transpose", r, perm=[1, 0]),
        "wb": "",
        "rb": "",
    }
    if bias := at(node.input, 3):
        part, width = _of_direction(write, bias, number), gates * hidden
        weights["wb"] = write.sliced(part, 1, 0, width)
        weights["rb"] = write.sliced(part, 1, width, 2 * width)
    if peepholes := at(node.input, 7):
        weights["p"] = _of_direction(write, peepholes, number)
    functions = _activations(write, node, attributes, number)
    return _Layer(write, node.op_type, attributes, functions, hidden, weights)


def _activations(
    write: Writer, node: Any, attributes: Mapping[str, Any], number: int
) -> list[Activation]:
    """Those of a direction: their parameters are listed for those alone that have any."""
    usual = _ACTIVATIONS[node.op_type]
    every = attributes.get("activations") or usual * (number + 1)
    names = [each.decode() if isinstance(each, bytes) else each for each in every]
    known = {each.lower(): each for each in _PARAMETERS}
    if any(each.lower() not in known for each in names):
        raise Unwritten
    given = {key: list(attributes.get(f"activation_{key}") or []) for key in ("alpha", "beta")}
    found = []
    for name in (known[each.lower()] for each in names):
        said = {
            key: given[key].pop(0) if given[key] else usual_value
            for key, usual_value in _PARAMETERS[name].items()
        }
        found.append(_activation(write, name, said, node.input[0]))
    count = len(usual)
    return found[number * count : (number + 1) * count]


def _activation(write: Writer, name: str, said: Mapping[str, float], like: str) -> Activation:
    def of(value: str) -> str:
        if name == "Affine":
            scaled = write("Mul", value, write.number(said["alpha"], like))
            return write("Add", scaled, write.number(said["beta"], like))
        if name == "ScaledTanh":
            inner = write("Tanh", write("Mul", value, write.number(said["beta"], like)))
            return write("Mul", inner, write.number(said["alpha"], like))
        (found,) = write.several(name, [value], [""], **said)
        return found

    return of


REWRITES: Mapping[str, Rewrite] = MappingProxyType({"GRU": _layer, "LSTM": _layer, "RNN": _layer})
