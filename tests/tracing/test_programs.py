"""Programs as people write them for NumPy, traced as they stand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from traced_functions import check, random


def gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def layer_norm(x: Any, scale: Any, shift: Any) -> Any:
    mean = x.mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5) * scale + shift


def test_perceptron_with_layer_norm_and_gelu() -> None:
    def perceptron(x: Any, layers: Any) -> Any:
        for weights, bias, scale, shift in layers:
            x = gelu(layer_norm(x @ weights + bias, scale, shift))
        return x

    layers = [
        (random(8, 16), random(16), random(16), random(16)),
        (random(16, 4), random(4), random(4), random(4)),
    ]
    check(perceptron, random(6, 8), layers)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("length", [1, 3, 12])
def test_attention_with_a_causal_mask(length: int) -> None:
    heads = 2

    def attention(x: Any, wq: Any, wk: Any, wv: Any, wo: Any) -> Any:
        batch, time, width = x.shape

        def split(y: Any) -> Any:
            return y.reshape(batch, time, heads, width // heads).transpose(0, 2, 1, 3)

        q, k, v = split(x @ wq), split(x @ wk), split(x @ wv)
        scores = np.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(np.float32(width // heads))
        mask = np.arange(time)[:, None] >= np.arange(time)
        scores = np.where(mask, scores, np.float32(-1e9))
        return (softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(batch, time, width) @ wo

    check(attention, random(2, length, 8), *(random(8, 8, seed=n) for n in range(4)))


def test_a_causal_mask_is_no_constant() -> None:
    lowered = lx.jit(lambda x: np.where(np.tril(np.ones((64, 64), bool)), x, -np.inf)).lower(
        random(64, 64)
    )
    assert "dense" not in lowered.as_text()
    assert "linalg.index" in lowered.as_text()


def test_k_means_step() -> None:
    def step(points: Any, centres: Any) -> Any:
        distances = ((points[:, None, :] - centres[None]) ** 2).sum(-1)
        labels = np.argmin(distances, axis=1)
        members = (labels[:, None] == np.arange(centres.shape[0])).astype(points.dtype)
        return members.T @ points / np.maximum(members.sum(0), 1)[:, None], labels

    check(step, random(50, 3), random(4, 3, seed=1))


def test_n_body_step() -> None:
    def step(place: Any, velocity: Any, mass: Any, dt: float) -> Any:
        apart = place[None] - place[:, None]
        squared = (apart * apart).sum(-1) + 1e-3
        velocity = velocity + dt * (apart * (mass * squared**-1.5)[..., None]).sum(1)
        return place + dt * velocity, velocity

    check(
        step,
        random(7, 3, dtype=np.float64),
        random(7, 3, dtype=np.float64, seed=1),
        np.abs(random(7, dtype=np.float64)),
        0.01,
    )


def test_image_filters_by_slices() -> None:
    def filters(x: Any) -> Any:
        laplace = 4 * x[1:-1, 1:-1] - x[:-2, 1:-1] - x[2:, 1:-1] - x[1:-1, :-2] - x[1:-1, 2:]
        padded = np.pad(x, 1, mode="edge")
        blur = sum(padded[i : i + 9, j : j + 11] for i in range(3) for j in range(3)) / 9
        return laplace, blur, x[1:] - x[:-1], np.diff(x, axis=1)

    check(filters, random(9, 11))


def test_black_scholes() -> None:
    def price(spot: Any, strike: Any, time: Any, rate: float, volatility: float) -> Any:
        spread = volatility * np.sqrt(time)
        first = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * time) / spread

        def normal(x: Any) -> Any:
            return 0.5 * (1 + np.tanh(0.79788 * (x + 0.044715 * x**3)))

        return spot * normal(first) - strike * np.exp(-rate * time) * normal(first - spread)

    values = [np.abs(random(100, dtype=np.float64, seed=n)) + 0.5 for n in range(3)]
    check(price, *values, 0.05, 0.2)


def test_rotary_embedding_after_rms_norm() -> None:
    def embed(x: Any) -> Any:
        length, width = x.shape
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)
        angles = np.arange(length)[:, None] * 10000.0 ** (-np.arange(0, width, 2) / width)
        cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
        even, odd = x[:, ::2], x[:, 1::2]
        return np.concatenate([even * cos - odd * sin, even * sin + odd * cos], axis=-1)

    check(embed, random(6, 8))


def test_log_sum_exp() -> None:
    def log_sum_exp(x: Any) -> Any:
        top = x.max(axis=1, keepdims=True)
        return np.squeeze(top, 1) + np.log(np.exp(x - top).sum(axis=1))

    check(log_sum_exp, random(5, 7))


def test_mandelbrot() -> None:
    def rounds(c: Any) -> Any:
        def step(_: Any, state: Any) -> Any:
            z, count = state
            z = np.where(np.abs(z) < 2, z * z + c, z)
            return z, count + (np.abs(z) < 2)

        return lx.loop(20, step, (np.zeros_like(c), np.zeros(c.shape, np.int64)))[1]

    check(rounds, np.linspace(-2, 1, 7)[None] + 1j * np.linspace(-1, 1, 5)[:, None])


def test_what_is_fused() -> None:
    """Softmax is two reductions with their fills, and one element-wise op behind each."""
    kernel = lx.jit(softmax).lower(random(64, 32)).compile()
    assert kernel.as_text("linalg").count("linalg.generic") <= 6
