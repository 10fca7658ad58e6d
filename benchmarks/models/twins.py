"""Some models once more in JAX, with the same weights, for `jax.jit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp

Weights = Mapping[str, Any]
Twin = Callable[[Weights, Any], Any]


def _linear(weights: Weights, name: str, x: Any) -> Any:
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _layer_norm(weights: Weights, name: str, x: Any) -> Any:
    centered = x - x.mean(-1, keepdims=True)
    scale = jax.lax.rsqrt((centered * centered).mean(-1, keepdims=True) + 1e-5)
    return centered * scale * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def _attention(weights: Weights, name: str, x: Any, heads: int = 8) -> Any:
    batch, length, width = x.shape
    packed = _linear(weights, f"{name}.packed", x).reshape(batch, length, 3, heads, -1)
    query, key, value = (packed[:, :, part] for part in range(3))
    attended = jax.nn.dot_product_attention(query, key, value, is_causal=True)
    return _linear(weights, f"{name}.joined", attended.reshape(batch, length, width))


def _decoder(weights: Weights, x: Any) -> Any:
    x = x + _attention(weights, "attention", _layer_norm(weights, "norms.0", x))
    hidden = _linear(weights, "wide", _layer_norm(weights, "norms.1", x))
    return x + _linear(weights, "narrow", jax.nn.gelu(hidden, approximate=False))


def _perceptron(weights: Weights, x: Any) -> Any:
    x = jax.nn.relu(_linear(weights, "0", x))
    x = jax.nn.gelu(_linear(weights, "2", x), approximate=False)
    return jax.nn.log_softmax(_linear(weights, "4", x), -1)


def _scan(weights: Weights, x: Any) -> Any:
    gate, candidate = _linear(weights, "gate", x), _linear(weights, "candidate", x)
    log_decay = -jnp.cumsum(jax.nn.softplus(gate), 1)
    positive = jnp.where(candidate >= 0, candidate + 0.5, jax.nn.sigmoid(candidate))
    new = -jax.nn.softplus(-gate) + jnp.log(positive)
    return jnp.exp(log_decay + jax.lax.cumlogsumexp(new - log_decay, 1))


def _lstm(weights: Weights, x: Any) -> Any:
    for layer in range(2):
        rows = x @ weights[f"weight_ih_l{layer}"].T
        rows = rows + weights[f"bias_ih_l{layer}"] + weights[f"bias_hh_l{layer}"]
        recurrent = weights[f"weight_hh_l{layer}"].T

        def step(state: Any, row: Any, recurrent: Any = recurrent) -> Any:
            hidden, cell = state
            parts = jnp.split(row + hidden @ recurrent, 4, -1)
            admit, keep, show = (jax.nn.sigmoid(parts[gate]) for gate in (0, 1, 3))
            cell = keep * cell + admit * jnp.tanh(parts[2])
            hidden = show * jnp.tanh(cell)
            return (hidden, cell), hidden

        zeros = jnp.zeros((x.shape[0], recurrent.shape[0]), x.dtype)
        x = jax.lax.scan(step, (zeros, zeros), rows.swapaxes(0, 1))[1].swapaxes(0, 1)
    return x


TWINS: Mapping[str, Twin] = {
    "MLP": _perceptron,
    "LSTM": _lstm,
    "decoder layer": _decoder,
    "scan": _scan,
}
"""By the family: a function of the weights, by their names, and of the input."""
