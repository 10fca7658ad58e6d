"""`aten.lstm`, `gru` and `rnn`: a product for all inputs, and a loop over the steps of the state.

PyTorch itself writes each step of a sequence down by itself. Here a layer is one op,
`linalg_ext::lstm`, `linalg_ext::lstm_backward`, ..., until its graph has become linalg.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from linalg_ext.frameworks.torch.cells import CELLS, Cell
from linalg_ext.frameworks.torch.requirements import torch

NAMESPACE = "linalg_ext"
BACKWARD = "_backward"
"""Ends the name of an op that goes from the last step to the first."""


@functools.cache
def decompositions() -> Mapping[Any, Callable[..., Any]]:
    """By PyTorch's ops."""
    for name, cell in CELLS.items():
        for ending in ("", BACKWARD):
            _define(name + ending, cell, is_backward=bool(ending))
    aten = torch().ops.aten
    return {
        getattr(aten, name).input: functools.partial(_layers, name, getattr(aten, name).input)
        for name in CELLS
    }


def _define(name: str, cell: Cell, *, is_backward: bool) -> None:
    """Have PyTorch know an op: how it runs it, and what it gives."""

    def run(rows: Any, *others: Any) -> tuple[Any, ...]:
        weights, state = others[: cell.weights], others[cell.weights :]
        shown = []
        for row in reversed(rows) if is_backward else rows:
            state = cell.step(torch(), row, weights, state)
            shown.append(state[0])
        shown = shown[::-1] if is_backward else shown
        return (torch().stack(shown), *(each.clone() for each in state))

    def like(rows: Any, *others: Any) -> tuple[Any, ...]:
        state = others[cell.weights :]
        shown = state[0].new_empty((rows.shape[0], *state[0].shape))
        return (shown, *map(torch().empty_like, state))

    takes = ["rows", *(f"weight_{n}" for n in range(cell.weights))]
    takes += [f"state_{n}" for n in range(cell.states)]
    gives = ", ".join(["Tensor"] * (1 + cell.states))
    schema = f"({', '.join(f'Tensor {each}' for each in takes)}) -> ({gives})"
    library = torch().library
    op = library.custom_op(f"{NAMESPACE}::{name}", run, mutates_args=(), schema=schema)
    op.register_fake(like)


def _layers(
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
    """An op of PyTorch's: the output of the last layer, and the states of all."""
    given = list(hx) if isinstance(hx, list | tuple) else [hx]
    if not _is_ours(input, given, dropout if train else 0.0):
        own: tuple[Any, ...] = torch()._decomp.decomposition_table[op](
            input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
        )
        return own
    directions = ("", BACKWARD) if bidirectional else ("",)
    count = 4 if has_biases else 2
    x = input.transpose(0, 1) if batch_first else input
    states: list[Sequence[Any]] = []
    for _ in range(num_layers):
        outputs = []
        for ending in directions:
            at = len(states)
            weights = params[at * count : (at + 1) * count]
            shown, *state = _layer(name, ending, x, weights, [each[at] for each in given])
            outputs.append(shown)
            states.append(state)
        x = outputs[0] if len(outputs) == 1 else torch().cat(outputs, 2)
    x = x.transpose(0, 1) if batch_first else x
    return (x, *(torch().stack(parts) for parts in zip(*states, strict=True)))


def _is_ours(input: Any, state: Sequence[Any], dropout: float) -> bool:
    """Whether a recurrence is one that is a loop here: no dropout between, and no projections."""
    is_plain = len({each.shape[2] for each in state}) == 1
    known = torch().float32, torch().float64
    return not dropout and is_plain and input.dtype in known


def _layer(name: str, ending: str, x: Any, weights: Sequence[Any], state: Sequence[Any]) -> Any:
    """One direction of one layer: what is shown after each step, and the last state."""
    of_input, of_state, *biases = weights
    of_cell = [of_state]
    if CELLS[name].weights == 2:
        # Its bias is added to the product with the state, before that is reset.
        of_cell.append(biases[1] if biases else of_state.new_zeros(of_state.shape[0]))
        bias = biases[0] if biases else None
    else:
        bias = biases[0] + biases[1] if biases else None
    rows = torch().nn.functional.linear(x, of_input, bias)
    op = getattr(torch().ops.linalg_ext, name + ending).default
    return op(rows, *of_cell, *state)
