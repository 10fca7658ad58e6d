"""Tuples, lists, dicts, named tuples and dataclasses of arrays, in and out."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, ArityError, DTypeError
from linalg_ext.tracing.values.containers import flatten, unflatten
from traced_functions import random

Pair = namedtuple("Pair", "first second")


@dataclass
class Layer:
    weights: Any
    bias: Any


def compute(pair: Any, layer: Any, named: Any, items: Any) -> Any:
    return {
        "sum": pair.first + layer.weights,
        "nested": (named["x"] * 2, [items[0], items[1]]),
        "pair": Pair(pair.second, layer.bias),
        "nothing": None,
    }


ARGUMENTS: tuple[Any, ...] = (
    Pair(random(2), random(3)),
    Layer(random(2, seed=1), random(1)),
    {"x": random(2, seed=2)},
    [random(2, seed=3), 3],
)


def test_containers_in_and_out() -> None:
    found = lx.jit(compute)(*ARGUMENTS)
    expected = compute(*ARGUMENTS)
    leaves, structure = flatten(found)
    own, wanted = flatten(expected)
    assert structure == wanted
    for one, other in zip(leaves, own, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_out_is_a_container_like_the_result() -> None:
    first, bias = np.empty(2, np.float32), np.empty(1, np.float32)
    out = {"sum": first, "nested": None, "pair": Pair(None, bias), "nothing": None}
    found = lx.jit(compute)(*ARGUMENTS, out=out)
    assert found["sum"] is first
    assert found["pair"].second is bias
    np.testing.assert_allclose(first, compute(*ARGUMENTS)["sum"], rtol=1e-6)


@pytest.mark.parametrize("out", [np.empty(2, np.float32), {"sum": None}, [None] * 4])
def test_another_container_for_out_is_refused(out: Any) -> None:
    with pytest.raises(ArgumentError, match="out"):
        lx.jit(compute)(*ARGUMENTS, out=out)


def test_a_tuple_of_one_stays_one() -> None:
    assert isinstance(lx.jit(lambda x: (x,))(random(2)), tuple)
    assert isinstance(lx.jit(lambda x: [x, x])(random(2)), list)


@pytest.mark.parametrize("value", [1, (1, [2, {"a": 3}]), Pair(1, None), Layer(1, (2,)), {}, ()])
def test_flattening_is_undone(value: Any) -> None:
    leaves, structure = flatten(value)
    assert unflatten(structure, leaves) == value
    assert structure.leaves == len(leaves)


def test_errors_name_the_part() -> None:
    with pytest.raises(DTypeError, match=r"named\['x'\]"):
        lx.jit(compute)(*ARGUMENTS[:2], {"x": {1, 2}}, ARGUMENTS[3])  # type: ignore[call-overload]


def test_static_arguments() -> None:
    @lx.jit(static_argnames=("axis", "mode"))
    def reduce(x: Any, axis: Any = 0, *, mode: str = "sum") -> Any:
        return getattr(x, mode)(axis)

    x = random(2, 3)
    np.testing.assert_allclose(reduce(x, axis=1), x.sum(1), rtol=1e-6)
    np.testing.assert_allclose(reduce(x, 1), x.sum(1), rtol=1e-6)
    np.testing.assert_allclose(reduce(x, mode="max"), x.max(0))
    assert "2 kernels" in repr(reduce)
    for misuse in ({"axis": [1]}, {"axis": x}):
        with pytest.raises(ArgumentError, match="static argument axis"):
            reduce(x, **misuse)
    with pytest.raises(ArgumentError, match=r"(?s)no parameter 'axes'.*expected one of x"):
        lx.jit(lambda x: x, static_argnames="axes")


def test_keyword_only_arrays_and_defaults() -> None:
    @lx.jit
    def scale(x: Any, *, by: Any, shift: float = 1.0) -> Any:
        return x * by + shift

    x = random(3)
    np.testing.assert_allclose(scale(x, by=x), x * x + 1, rtol=1e-6)
    np.testing.assert_allclose(scale(by=x, x=x, shift=2.0), x * x + 2, rtol=1e-6)
    with pytest.raises(ArityError, match="missing"):
        scale(x)  # type: ignore[call-overload]


def test_a_compiled_function_takes_the_same() -> None:
    compiled = lx.jit(compute).lower(*ARGUMENTS).compile()
    found = compiled(*ARGUMENTS)
    np.testing.assert_allclose(found["sum"], compute(*ARGUMENTS)["sum"], rtol=1e-6)
    with pytest.raises(ArityError, match="missing a required argument: 'layer'"):
        compiled(random(2))


def test_a_list_of_numbers_in_the_place_of_an_array_is_told() -> None:
    kernel = lx.jit(lambda x, y: x + y).lower(np.ones(3), np.ones(3)).compile()
    with pytest.raises(ArityError, match=r"got 4 arrays(.|\n)*np\.asarray\(numbers\) is one array"):
        kernel([1.0, 2.0, 3.0], np.ones(3))
