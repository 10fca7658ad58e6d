"""Random numbers by keys: known answers, distributions at fixed seeds, the same ones everywhere."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, DTypeError, ExecutionError, ShapeError
from linalg_ext.tracing.random import UINT32, philox
from linalg_ext.tracing.values.emission import structured_results

KEY = lx.random.key(2026)
MANY = 20_000
UNKNOWN: Any = {"scale": 2}

KNOWN = {
    "zeros": ([0] * 4, [0] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    "ones": ([2**32 - 1] * 4, [2**32 - 1] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    "pi": (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
}
"""Counters and keys with their words, of Random123's kat_vectors for philox4x32, 10 rounds."""


@pytest.mark.parametrize("name", KNOWN)
def test_known_answers(name: str) -> None:
    counter, key, expected = KNOWN[name]

    def words(counter: Any, key: Any) -> Any:
        operands = [*(counter[n][None] for n in range(4)), *(key[n][None] for n in range(2))]
        return tuple(
            structured_results(lambda *x: philox(x[:4], x[4:]), operands, (1,), [UINT32] * 4)
        )

    found = lx.jit(words)(np.array(counter, np.uint32), np.array(key, np.uint32))
    assert " ".join(f"{int(word[0]):08x}" for word in found) == expected


def reference(key: Any, count: int) -> Any:
    """The words of `bits` in NumPy: all first ones of the blocks, then all second ones."""
    blocks = -(-count // 4)
    x = [np.arange(blocks, dtype=np.uint64), *np.zeros((3, blocks), np.uint64)]
    k, low = [int(word) for word in key], np.uint64(2**32 - 1)
    for number in range(10):
        left, right = ((k[0] + number * 0x9E3779B9) % 2**32, (k[1] + number * 0xBB67AE85) % 2**32)
        a, b = x[0] * np.uint64(0xD2511F53), x[2] * np.uint64(0xCD9E8D57)
        half = np.uint64(32)
        x = [
            (b >> half) ^ x[1] ^ np.uint64(left),
            b & low,
            (a >> half) ^ x[3] ^ np.uint64(right),
            a & low,
        ]
    return np.concatenate(x)[:count].astype(np.uint32)


@pytest.mark.parametrize("count", [0, 1, 4, 7, 1000])
def test_words_are_those_of_counters_in_order(count: int) -> None:
    np.testing.assert_array_equal(lx.random.bits(KEY, (count,)), reference(KEY, count))
    shape = (count // 4, 4)
    block = lx.random.bits(KEY, shape)
    np.testing.assert_array_equal(block, reference(KEY, shape[0] * 4).reshape(shape))


def everything(key: Any, x: Any) -> Any:
    one, other, third = lx.random.split(key, 3)
    return (
        lx.random.normal(one, x.shape),
        lx.random.uniform(other, (5,), np.float32, -1.0, 2.0),
        lx.random.integers(third, (4,), 0, 10),
        lx.random.permutation(lx.random.fold_in(key, 3), x),
        lx.random.choice(one, 9, (3,), replace=False),
        lx.random.choice(other, x, (6,), p=np.full(6, 1 / 6)),
        lx.random.bernoulli(third, np.full(8, 0.5)),
    )


def test_the_same_in_a_trace_and_outside() -> None:
    x = np.arange(12.0).reshape(6, 2)
    for found, expected in zip(lx.jit(everything)(KEY, x), everything(KEY, x), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_the_same_on_any_number_of_threads() -> None:
    draw = lx.jit(lambda key: lx.random.normal(key, (600, 700), np.float32))
    found = [draw(KEY, threads=count) for count in (1, 2, 3)]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_keys_of_a_loop() -> None:
    def walk(key: Any) -> Any:
        def step(i: Any, total: Any) -> Any:
            return total + lx.random.normal(lx.random.fold_in(key, i), (3,))

        return lx.loop(4, step, np.zeros(3))

    steps = [lx.random.normal(lx.random.fold_in(KEY, n), (3,)) for n in range(4)]
    np.testing.assert_allclose(lx.jit(walk)(KEY), sum(steps))


def chi_squared(counts: Any, expected: Any) -> bool:
    """Tell whether counts are what is expected, up to 1 chance in 10,000 (Wilson and Hilferty)."""
    statistic, free = float(((counts - expected) ** 2 / expected).sum()), len(counts) - 1
    most = free * (1 - 2 / (9 * free) + 3.72 * math.sqrt(2 / (9 * free))) ** 3
    return bool(statistic < most)


def kolmogorov_smirnov(values: Any, distribution: Any) -> bool:
    """Tell whether values are of a distribution, up to 1 chance in 10,000."""
    ordered, count = np.sort(values.astype(float)), len(values)
    below = np.array([distribution(x) for x in ordered])
    steps = np.arange(count + 1) / count
    distance = max((steps[1:] - below).max(), (below - steps[:-1]).max())
    return bool(distance * math.sqrt(count) < 2.23)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_uniform(dtype: Any) -> None:
    found = lx.random.uniform(KEY, (MANY,), dtype)
    assert found.dtype == dtype
    assert (found >= 0).all()
    assert (found < 1).all()
    counts = np.bincount((found.astype(float) * 64).astype(int), minlength=64)
    assert chi_squared(counts, np.full(64, MANY / 64))
    if np.dtype(dtype).itemsize > 2:
        assert kolmogorov_smirnov(found, lambda x: x)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_normal(dtype: Any) -> None:
    found = lx.random.normal(KEY, (MANY,), dtype)
    assert found.dtype == dtype
    assert kolmogorov_smirnov(found, lambda x: 0.5 * math.erfc(-x / math.sqrt(2)))
    halves = found.reshape(2, -1)
    assert abs(np.corrcoef(halves)[0, 1]) < 4 / math.sqrt(MANY / 2)


def test_keys_that_were_split_are_apart() -> None:
    keys = lx.random.split(KEY, 100)
    assert len({tuple(key) for key in (*keys, KEY)}) == 101
    first = np.array([lx.random.bits(key) for key in keys])
    assert chi_squared(np.bincount(first >> np.uint32(30), minlength=4), np.full(4, 25.0))
    assert tuple(lx.random.key(2**40 + 5)) == (256, 5)
    assert tuple(lx.random.key(-1)) == (2**32 - 1, 2**32 - 1)


def test_integers_and_booleans() -> None:
    found = lx.random.integers(KEY, (MANY,), -3, 4)
    assert found.dtype == np.int64
    assert chi_squared(np.bincount(found + 3, minlength=7), np.full(7, MANY / 7))
    wide = lx.random.integers(KEY, (MANY,), -(2**63), 2**63 - 1)
    assert chi_squared(np.bincount((wide >> 61) + 4, minlength=8), np.full(8, MANY / 8))
    bounded = lx.random.integers(KEY, (3,), [0, 10, 100], [5, 20, 101], np.int16)
    assert bounded.dtype == np.int16
    assert (bounded >= [0, 10, 100]).all()
    assert (bounded < [5, 20, 101]).all()
    yes = lx.random.bernoulli(KEY, 0.3, (MANY,)).sum()
    assert chi_squared(np.array([yes, MANY - yes]), MANY * np.array([0.3, 0.7]))
    np.testing.assert_array_equal(lx.random.bernoulli(KEY, np.array([0.0, 1.0])), [False, True])


def test_orders_and_choices() -> None:
    orders = [tuple(lx.random.permutation(key, 3)) for key in lx.random.split(KEY, 600)]
    counts = np.array([orders.count(each) for each in set(orders)])
    assert len(counts) == 6
    assert chi_squared(counts, np.full(6, 100.0))
    p = np.array([0.1, 0.6, 0.3, 0.0])
    found = lx.random.choice(KEY, 4, (MANY,), p=p)
    assert not (found == 3).any()
    assert chi_squared(np.bincount(found, minlength=3), MANY * p[:3])
    few = [lx.random.choice(key, 4, (2,), replace=False, p=p) for key in lx.random.split(KEY, 50)]
    assert all(len(set(map(int, each))) == 2 and 3 not in each for each in few)
    x = np.arange(12).reshape(3, 4)
    columns = lx.random.permutation(KEY, x, axis=1)
    np.testing.assert_array_equal(np.sort(columns, 1), x)
    assert lx.random.choice(KEY, x, (5, 2), axis=1).shape == (3, 5, 2)


@pytest.mark.parametrize(
    ("draw", "kind", "message"),
    [
        (lambda: lx.random.normal(7, (3,)), ArgumentError, r"uint32 of shape \(2,\)(.|\n)*key"),
        (lambda: lx.random.normal(np.zeros(2), (3,)), ArgumentError, "a random key of float64"),
        (lambda: lx.random.key(1.5), ArgumentError, "expected an integer"),
        (lambda: lx.random.uniform(KEY, (3,), np.int32), DTypeError, "float64, float32"),
        (lambda: lx.random.normal(KEY, (3,), np.complex64), DTypeError, "float64, float32"),
        (lambda: lx.random.bits(KEY, (3,), np.int32), DTypeError, "an unsigned integer"),
        (lambda: lx.random.integers(KEY, (3,), 0, 5, float), DTypeError, "an integer"),
        (lambda: lx.random.integers(KEY, (3,), 5, 5), ExecutionError, "minval has to be below"),
        (lambda: lx.random.normal(KEY, (-3,)), ShapeError, "negative"),
        (lambda: lx.random.normal(KEY, 2.5), ArgumentError, "a shape with 2.5"),
        (lambda: lx.random.choice(KEY, 3, (4,), replace=False), ArgumentError, "4 of 3 parts"),
        (lambda: lx.random.choice(KEY, 3, (4,), p=np.ones(2)), ShapeError, "p of shape"),
        (lambda: lx.random.permutation(KEY, np.float64(3)), ArgumentError, "permutation"),
        (lambda: lx.random.normal(KEY, (3,), **UNKNOWN), TypeError, "scale"),
    ],
)
def test_misuse(draw: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        draw()
