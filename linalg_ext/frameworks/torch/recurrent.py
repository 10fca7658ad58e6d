"""`aten.lstm`, `gru` and `rnn`: a product for all inputs, and a loop over the steps of the state.

PyTorch itself writes each step of a sequence down by itself. Here a layer is one op,
`linalg_ext::lstm`, `linalg_ext::lstm_backward`, ..., until its graph has become linalg.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from linalg_ext.frameworks.torch.cells import CELLS, PROJECTED
from linalg_ext.frameworks.torch.recurrent_ops import BACKWARD, define_all, layer_op
from linalg_ext.frameworks.torch.requirements import torch


@functools.cache
def decompositions() -> Mapping[Any, Callable[..., Any]]:
    """By PyTorch's ops."""
    define_all()
    aten = torch().ops.aten
    return {
        getattr(aten, name).input: functools.partial(layers, name, getattr(aten, name).input)
        for name in CELLS
        if name != PROJECTED
    }


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
    """An op of PyTorch's: the output of the last layer, and the states of all.

    Args:
        name: of the cell.
        op: of PyTorch.
        input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first: as
            the op takes them.
    """
    given = list(hx) if isinstance(hx, list | tuple) else [hx]
    if not _is_ours(input, given):
        own: tuple[Any, ...] = torch()._decomp.decomposition_table[op](
            input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
        )
        return own
    directions = ("", BACKWARD) if bidirectional else ("",)
    is_projected = _is_projected(given)
    name = PROJECTED if is_projected else name
    count = (4 if has_biases else 2) + is_projected
    x = input.transpose(0, 1) if batch_first else input
    states: list[Sequence[Any]] = []
    for layer in range(num_layers):
        if layer and dropout and train:
            x = torch().dropout(x, dropout, True)
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


def _is_ours(input: Any, state: Sequence[Any]) -> bool:
    """Return whether a recurrence is a loop here: not the gradient of one with projections."""
    if _is_projected(state) and torch().is_grad_enabled():
        return False
    return input.dtype in (torch().float32, torch().float64)


def _is_projected(state: Sequence[Any]) -> bool:
    return len({each.shape[2] for each in state}) > 1


def _layer(name: str, ending: str, x: Any, weights: Sequence[Any], state: Sequence[Any]) -> Any:
    """One direction of one layer: what is shown after each step, and the last state."""
    of_input, of_state, *biases = weights
    of_cell = [of_state, *([biases.pop()] if name == PROJECTED else [])]
    if name == "gru":
        # Its bias is added to the product with the state, before that is reset.
        of_cell.append(biases[1] if biases else of_state.new_zeros(of_state.shape[0]))
        bias = biases[0] if biases else None
    else:
        bias = biases[0] + biases[1] if biases else None
    rows = torch().nn.functional.linear(x, of_input, bias)
    return layer_op(name, ending)(rows, *of_cell, *state)
