"""Complex numbers that are moved or added: on vectors, as integers or as pairs of floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.bindings import ir
from linalg_ext.module import Module
from linalg_ext.transforms.codegen.vectorization._complex_elements import in_vector_elements
from linalg_ext.transforms.ir_utils.walking import operations

RANDOM = np.random.default_rng(6)
PLACES = np.array([3, 0, 3, 6])

MOVES: dict[str, Callable[[Any, Any], Any]] = {
    "looked up rows": lambda a, b: a[PLACES],
    "a transposition": lambda a, b: a.T + 0,
    "rows, turned": lambda a, b: np.concatenate([a, b])[:, ::-1],
    "padding": lambda a, b: np.pad(a, 2),
    "a choice": lambda a, b: np.where(np.arange(a.shape[1]) % 3 == 0, a, b),
}
OTHERS: dict[str, Callable[[Any, Any], Any]] = {
    "a choice by parts": lambda a, b: np.where(a.real > 0, a, b),
    "a choice of a number": lambda a, b: np.where(a.imag > 0, a, 2j),
    "products": lambda a, b: (a * b - a).sum(),
}
SUMS: dict[str, Callable[[Any, Any], Any]] = {
    "differences": lambda a, b: a - b,
    "the sum": lambda a, b: a.sum(),
    "sums of columns": lambda a, b: (a - b).sum(0),
    "sums of rows": lambda a, b: a.sum(1),
    "opposites": lambda a, b: (-a).sum(),
}


def numbers(dtype: str, *shape: int) -> Any:
    parts = RANDOM.standard_normal((2, *shape))
    return (parts[0] + 1j * parts[1]).astype(dtype)


@pytest.mark.parametrize("name", [*MOVES, *SUMS, *OTHERS])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_the_numbers(name: str, dtype: str, order: Any, dynamic: bool) -> None:
    function = (MOVES | SUMS | OTHERS)[name]
    a, b = (np.asarray(numbers(dtype, 7, 19), order=order) for _ in range(2))
    a[2, 3], a[4, 5] = complex(np.nan, 1), complex(-0.0, 3)
    found, expected = lx.jit(function, dynamic=dynamic)(a, b), function(a, b)
    assert found.dtype == expected.dtype
    tolerance = np.finfo(expected.dtype).eps * 20
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", [*MOVES, *SUMS])
def test_they_are_on_vectors(name: str) -> None:
    a = numbers("complex64", 40, 64)
    text = lx.jit((MOVES | SUMS)[name]).lower(a, a).compile().kernel.as_text("loops")
    assert "vector.load" in text


def of_generic(body: str, around: str = "") -> list[str]:
    """The elements of the operands of a generic, as it is and with those that vectors hold."""
    type_ = "memref<8xcomplex<f32>>"
    map_ = "affine_map<(i) -> (i)>"
    text = f"""
    func.func @f(%a: {type_}, %c: {type_}) {{
      {around}
      linalg.generic {{indexing_maps = [{map_}, {map_}], iterator_types = ["parallel"]}}
          ins(%a : {type_}) outs(%c : {type_}) {{
      ^bb0(%x: complex<f32>, %old: complex<f32>):
        {body}
        linalg.yield %r : complex<f32>
      }}
      return
    }}"""
    module = Module.parse(text, trusted=True)
    with module.ir.context, ir.Location.unknown():
        (op,) = operations(module.ir.operation, {"linalg.generic"})
        op = in_vector_elements(op)
        assert module.ir.operation.verify()
        return [str(value.type.element_type) for value in op.operands]


def test_what_is_left() -> None:
    around = "%two = complex.constant [2.0 : f32, 0.0 : f32] : complex<f32>\n"
    around += "%yes = arith.constant true"
    select = "%r = arith.select %yes, {}, %old : complex<f32>"
    assert of_generic(select.format("%x"), around) == ["i64"] * 2
    assert of_generic("%r = complex.add %x, %old : complex<f32>") == ["f32"] * 2
    assert of_generic("%r = complex.mul %x, %old : complex<f32>") == ["complex<f32>"] * 2
    assert of_generic(select.format("%two"), around) == ["complex<f32>"] * 2
    assert of_generic("%r = complex.add %x, %two : complex<f32>", around) == ["complex<f32>"] * 2
