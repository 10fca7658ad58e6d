"""`aten.lstm`, `gru` and `rnn`: a product for all inputs, and a loop over the steps of the state.

PyTorch itself writes out each step of a sequence, and traces `nn.LSTM`, `nn.GRU` and `nn.RNN` only
with a flag. Here one direction of one layer is one op, `linalg_ext::lstm`,
`linalg_ext::lstm_backward`, ..., until its graph has become linalg; `lstm_gradient` and the like
are their gradients.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from linalg_ext.frameworks.recurrent_cells import CELLS, PROJECTED, Cell
from linalg_ext.frameworks.requirements import torch


@functools.cache
def decompositions() -> Mapping[Any, Callable[..., Any]]:
    """Return the decompositions of recurrent layers, by PyTorch's ops."""
    define_all()
    aten = torch().ops.aten
    return {
        getattr(aten, name).input: functools.partial(layers, name, getattr(aten, name).input)
        for name in CELLS
        if name != PROJECTED
    }


_SEVERAL_STEPS = ("one_layer_lstm", "one_layer_rnn")
"""PyTorch's functions of one direction of a layer."""

_INFERENCE = threading.RLock()


@contextmanager
def shapes_by_one_step() -> Iterator[None]:
    """In a `with` block, PyTorch infers the shapes of recurrent layers from one step.

    It takes all steps of a sequence, on tensors without elements: many seconds for some hundreds.
    """
    functions = vars(torch()._decomp.decompositions)
    with _INFERENCE:
        own = {name: functions[name] for name in _SEVERAL_STEPS if name in functions}
        functions.update((name, functools.partial(_by_one_step, own[name])) for name in own)
        try:
            yield
        finally:
            functions.update(own)


def _by_one_step(layer: Callable[..., Any], sequence: Any, *rest: Any, **options: Any) -> Any:
    from torch.fx.experimental.proxy_tensor import get_proxy_mode

    is_fake = isinstance(sequence, torch()._subclasses.FakeTensor)
    if not is_fake or get_proxy_mode() is not None:
        return layer(sequence, *rest, **options)
    outputs, states = layer(sequence[:1], *rest, **options)
    return outputs.new_empty((sequence.shape[0], *outputs.shape[1:])), states


def layers(
    name: str,
    op: Any,
    input: Any,
    hx: Any,
    params: Sequence[Any],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Any, ...]:
    """Return an op of PyTorch's: the output of the last layer, and the states of all."""
    initial = list(hx) if isinstance(hx, list | tuple) else [hx]
    if not _is_ours(input, initial):
        own: tuple[Any, ...] = torch()._decomp.decomposition_table[op](
            input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
        )
        return own
    directions = ("", BACKWARD) if bidirectional else ("",)
    is_projected = _is_projected(initial)
    name = PROJECTED if is_projected else name
    count = (4 if has_biases else 2) + is_projected
    x = input.transpose(0, 1) if batch_first else input
    states: list[Sequence[Any]] = []
    for layer in range(num_layers):
        if layer and dropout and train:
            x = torch().dropout(x, dropout, True)
        outputs = []
        for ending in directions:
            index = len(states)
            weights = params[index * count : (index + 1) * count]
            shown, *state = _layer(name, ending, x, weights, [part[index] for part in initial])
            outputs.append(shown)
            states.append(state)
        x = outputs[0] if len(outputs) == 1 else torch().cat(outputs, 2)
    x = x.transpose(0, 1) if batch_first else x
    return (x, *(torch().stack(parts) for parts in zip(*states, strict=True)))


def _is_ours(input: Any, state: Sequence[Any]) -> bool:
    """Return whether a recurrence is a loop here: not the gradient of one with projections."""
    if _is_projected(state) and torch().is_grad_enabled():
        return False
    return input.dtype in (torch().float32, torch().float64)


def _is_projected(state: Sequence[Any]) -> bool:
    return len({part.shape[2] for part in state}) > 1


def _layer(name: str, ending: str, x: Any, weights: Sequence[Any], state: Sequence[Any]) -> Any:
    """Return one direction of one layer: the output of each step, and the last state."""
    of_input, of_state, *biases = weights
    of_cell = [of_state, *([biases.pop()] if name == PROJECTED else [])]
    if name == "gru":
        # A bias is added to the product with the state before the reset gate.
        of_cell.append(biases[1] if biases else of_state.new_zeros(of_state.shape[0]))
        bias = biases[0] if biases else None
    else:
        bias = biases[0] + biases[1] if biases else None
    rows = torch().nn.functional.linear(x, of_input, bias)
    return layer_op(name, ending)(rows, *of_cell, *state)


_HAS_BIASES = 3
"""The position of `has_biases` among the arguments; with packed sequences it is another."""


def trace_recurrent_layers() -> None:
    """Let TorchDynamo trace recurrent layers, in this process."""
    from torch._dynamo import config

    config.allow_rnn = True


def keep_whole(graph_module: Any) -> None:
    """Replace each recurrent layer of a graph by ops of this file."""
    aten = torch().ops.aten
    kinds = {getattr(torch(), name): name for name in CELLS if name != PROJECTED}
    for node in graph_module.graph.nodes:
        name = kinds.get(node.target) if node.op == "call_function" else None
        if name is not None and _is_of_tensors(node):
            node.target = functools.partial(layers, name, getattr(aten, name).input)
    graph_module.recompile()


def _is_of_tensors(node: Any) -> bool:
    return len(node.args) > _HAS_BIASES and isinstance(node.args[_HAS_BIASES], bool)


NAMESPACE = "linalg_ext"
BACKWARD = "_backward"
"""The suffix of ops that go from the last step to the first."""

GRADIENT = "_gradient"
"""The suffix of the name of a cell in that of its gradient."""


def layer_op(name: str, ending: str) -> Any:
    """Return the op of a cell, and of a direction."""
    define_all()
    return getattr(torch().ops.linalg_ext, name + ending).default


@functools.cache
def define_all() -> None:
    """Register the ops of all cells with PyTorch."""
    for name, cell in CELLS.items():
        for ending in ("", BACKWARD):
            op = _define(name + ending, cell, bool(ending))
            if cell.gradient is not None:
                gradient = _define_gradient(f"{name}{GRADIENT}{ending}", cell, bool(ending))
                _derive(op, cell, gradient, bool(ending))


def _define(name: str, cell: Cell, is_backward: bool) -> Any:
    """Register an op with PyTorch: its implementation, and the forms of its results."""

    def run(rows: Any, *weights_and_state: Any) -> tuple[Any, ...]:
        weights, state = weights_and_state[: cell.weights], weights_and_state[cell.weights :]
        shown = [None] * len(rows)
        for position in _order(rows, is_backward):
            state = cell.step(torch(), rows[position], weights, state)
            shown[position] = state[0]
        return (torch().stack(shown), *(part.clone() for part in state))

    def like(rows: Any, *weights_and_state: Any) -> tuple[Any, ...]:
        state = weights_and_state[cell.weights :]
        shown = state[0].new_empty((rows.shape[0], *state[0].shape))
        return (shown, *map(torch().empty_like, state))

    return define_op(name, run, like, _takes(cell), 1 + cell.states)


def _derive(op: Any, cell: Cell, gradient: Any, is_backward: bool) -> None:
    """Register the gradient of an op with PyTorch."""

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs, output[0])

    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        rows, *weights_and_state, shown = ctx.saved_tensors
        of_rows, of_products, *of_state = gradient(rows, *weights_and_state, *grads)
        first = weights_and_state[cell.weights].unsqueeze(0)
        before = [shown[1:], first] if is_backward else [first, shown[:-1]]
        states, products = torch().cat(before).flatten(0, 1), of_products.flatten(0, 1)
        of_weights = [products.t() @ states, products.sum(0)][: cell.weights]
        return (of_rows, *of_weights, *of_state)

    op.register_autograd(backward, setup_context=keep)


def _define_gradient(name: str, cell: Cell, is_backward: bool) -> Any:
    """Register the op of a gradient with PyTorch: `Cell.gradient_over_rows`."""
    derived: Any = cell.gradient

    def run(rows: Any, *weights_and_state: Any) -> tuple[Any, ...]:
        weights = weights_and_state[: cell.weights]
        state = weights_and_state[cell.weights : cell.weights + cell.states]
        of_shown, *of_state = weights_and_state[cell.weights + cell.states :]
        order, before = _order(rows, is_backward), {}
        for position in order:
            before[position] = state
            state = cell.step(torch(), rows[position], weights, state)
        of_rows, of_products = torch().empty_like(rows), torch().empty_like(rows)
        for position in reversed(order):
            of_new = (of_state[0] + of_shown[position], *of_state[1:])
            operands = torch(), rows[position], weights, before[position], of_new
            of_rows[position], of_products[position], of_state = derived(*operands)
        return (of_rows, of_products, *(part.clone() for part in of_state))

    def like(rows: Any, *weights_and_state: Any) -> tuple[Any, ...]:
        state = weights_and_state[cell.weights : cell.weights + cell.states]
        return tuple(map(torch().empty_like, (rows, rows, *state)))

    takes = [*_takes(cell), "of_shown", *(f"of_state_{n}" for n in range(cell.states))]
    return define_op(name, run, like, takes, 2 + cell.states)


def _takes(cell: Cell) -> list[str]:
    weights = (f"weight_{n}" for n in range(cell.weights))
    return ["rows", *weights, *(f"state_{n}" for n in range(cell.states))]


def define_op(name: str, run: Any, like: Any, takes: Sequence[str], gives: int) -> Any:
    """Register an op of tensors with PyTorch: its implementation, and the forms of its results."""
    parameters = ", ".join(f"Tensor {name_}" for name_ in takes)
    schema = f"({parameters}) -> ({', '.join(['Tensor'] * gives)})"
    library = torch().library
    op = library.custom_op(f"{NAMESPACE}::{name}", run, mutates_args=(), schema=schema)
    op.register_fake(like)
    return op


def _order(rows: Any, is_backward: bool) -> range:
    return range(len(rows))[:: -1 if is_backward else 1]
