"""The ops `linalg_ext::lstm`, `linalg_ext::lstm_backward`, ...: what PyTorch knows of them.

Each is one direction of one layer. Those called `lstm_gradient` and the like are their gradients.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

from linalg_ext.frameworks.torch.cells import CELLS, Cell
from linalg_ext.frameworks.torch.requirements import torch

NAMESPACE = "linalg_ext"
BACKWARD = "_backward"
"""Ends the name of an op that goes from the last step to the first."""

GRADIENT = "_gradient"
"""Comes after the name of a cell in that of its gradient."""


def layer_op(name: str, ending: str) -> Any:
    """The op of a cell, and of a direction."""
    define_all()
    return getattr(torch().ops.linalg_ext, name + ending).default


@functools.cache
def define_all() -> None:
    """Have PyTorch know the ops of all cells."""
    for name, cell in CELLS.items():
        for ending in ("", BACKWARD):
            op = _define(name + ending, cell, bool(ending))
            if cell.gradient is not None:
                gradient = _define_gradient(f"{name}{GRADIENT}{ending}", cell, bool(ending))
                _derive(op, cell, gradient, bool(ending))


def _define(name: str, cell: Cell, is_backward: bool) -> Any:
    """Have PyTorch know an op: how it runs it, and what it gives."""

    def run(rows: Any, *others: Any) -> tuple[Any, ...]:
        weights, state = others[: cell.weights], others[cell.weights :]
        shown = [None] * len(rows)
        for place in _order(rows, is_backward):
            state = cell.step(torch(), rows[place], weights, state)
            shown[place] = state[0]
        return (torch().stack(shown), *(each.clone() for each in state))

    def like(rows: Any, *others: Any) -> tuple[Any, ...]:
        state = others[cell.weights :]
        shown = state[0].new_empty((rows.shape[0], *state[0].shape))
        return (shown, *map(torch().empty_like, state))

    op = _op(name, run, _takes(cell), 1 + cell.states)
    op.register_fake(like)
    return op


def _derive(op: Any, cell: Cell, gradient: Any, is_backward: bool) -> None:
    """Have PyTorch know how an op is derived."""

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs, output[0])

    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        rows, *others, shown = ctx.saved_tensors
        of_rows, of_products, *of_state = gradient(rows, *others, *grads)
        first = others[cell.weights].unsqueeze(0)
        before = [shown[1:], first] if is_backward else [first, shown[:-1]]
        states, products = torch().cat(before).flatten(0, 1), of_products.flatten(0, 1)
        of_weights = [products.t() @ states, products.sum(0)][: cell.weights]
        return (of_rows, *of_weights, *of_state)

    op.register_autograd(backward, setup_context=keep)


def _define_gradient(name: str, cell: Cell, is_backward: bool) -> Any:
    """Have PyTorch know the gradient of an op: `Cell.gradient_over_rows`."""
    derived: Any = cell.gradient

    def run(rows: Any, *others: Any) -> tuple[Any, ...]:
        weights = others[: cell.weights]
        state = others[cell.weights : cell.weights + cell.states]
        of_shown, *of_state = others[cell.weights + cell.states :]
        order, before = list(_order(rows, is_backward)), {}
        for place in order:
            before[place] = state
            state = cell.step(torch(), rows[place], weights, state)
        of_rows, of_products = torch().empty_like(rows), torch().empty_like(rows)
        for place in reversed(order):
            of_new = (of_state[0] + of_shown[place], *of_state[1:])
            given = torch(), rows[place], weights, before[place], of_new
            of_rows[place], of_products[place], of_state = derived(*given)
        return (of_rows, of_products, *(each.clone() for each in of_state))

    def like(rows: Any, *others: Any) -> tuple[Any, ...]:
        state = others[cell.weights : cell.weights + cell.states]
        return tuple(map(torch().empty_like, (rows, rows, *state)))

    takes = [*_takes(cell), "of_shown", *(f"of_state_{n}" for n in range(cell.states))]
    op = _op(name, run, takes, 2 + cell.states)
    op.register_fake(like)
    return op


def _takes(cell: Cell) -> list[str]:
    weights = (f"weight_{n}" for n in range(cell.weights))
    return ["rows", *weights, *(f"state_{n}" for n in range(cell.states))]


def _op(name: str, run: Any, takes: Sequence[str], gives: int) -> Any:
    given = ", ".join(f"Tensor {each}" for each in takes)
    schema = f"({given}) -> ({', '.join(['Tensor'] * gives)})"
    library = torch().library
    return library.custom_op(f"{NAMESPACE}::{name}", run, mutates_args=(), schema=schema)


def _order(rows: Any, is_backward: bool) -> Iterator[int]:
    """The places of rows, as the steps come."""
    places = range(len(rows))
    return iter(reversed(places) if is_backward else places)
