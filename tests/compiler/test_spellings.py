"""All spellings of one computation reach one kernel: their plans are equal, row by row."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.executable.kernel import Kernel

Spelling = Callable[[], Any]

RNG = np.random.default_rng(0)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> list[Kernel]:
    """The kernels that come into being, none of them from an earlier test."""
    kernels: list[Kernel] = []
    plain = Kernel.__init__

    def noting(kernel: Kernel, *args: Any, **keywords: Any) -> None:
        plain(kernel, *args, **keywords)
        kernels.append(kernel)

    monkeypatch.setattr(Kernel, "__init__", noting)
    monkeypatch.setenv("LINALG_EXT_CACHE_DIR", str(tmp_path))
    return kernels


def plan(kernel: Kernel) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """The decisions about a kernel; loops have no names, and estimates no digits."""
    return [
        (
            re.sub(r"@\w+", "@", decision.title),
            tuple(
                (name, re.sub(r"\b[a-z]\w*:(?=\d)", "", text))
                for name, text in decision.rows()
                if name not in ("not", "model")
            ),
        )
        for decision in kernel.explain().decisions
    ]


def check(spellings: dict[str, Spelling], made: list[Kernel]) -> None:
    plans, results = {}, {}
    for name, spelling in spellings.items():
        made.clear()
        results[name] = np.asarray(spelling())
        assert len(made) == 1, f"{name} makes {len(made)} kernels"
        plans[name] = plan(made[0])
    first, *others = spellings
    assert plans[first]
    for other in others:
        assert plans[other] == plans[first], f"{other} beside {first}"
        np.testing.assert_array_equal(results[other], results[first], err_msg=other)


def text(body: str, *arguments: str, result: str) -> str:
    named = ", ".join(f"%{chr(97 + n)}: {type_}" for n, type_ in enumerate(arguments))
    return f"func.func @f({named}) -> {result} {{\n{body}\nreturn %r : {result}\n}}"


NARROW = {
    "bf16": (ml_dtypes.bfloat16, np.float32, "f32"),
    "f16": (np.float16, np.float32, "f32"),
    "i8": (np.int8, np.int32, "i32"),
    "f32": (np.float32, np.float32, "f32"),
}


@pytest.mark.parametrize("element", NARROW)
def test_products(element: str, made: list[Kernel]) -> None:
    dtype, wide, name = NARROW[element]
    a, b = ((RNG.random(shape) * 8 - 4).astype(dtype) for shape in ((256, 320), (320, 192)))
    zero = "0" if name == "i32" else "0.0"
    types = f"tensor<256x320x{element}>", f"tensor<320x192x{element}>", f"tensor<256x192x{name}>"
    module = text(
        f"""
        %zero = arith.constant {zero} : {name}
        %e = tensor.empty() : {types[2]}
        %f = linalg.fill ins(%zero : {name}) outs(%e : {types[2]}) -> {types[2]}
        %r = linalg.matmul ins(%a, %b : {types[0]}, {types[1]}) outs(%f : {types[2]}) -> {types[2]}
        """,
        *types[:2],
        result=types[2],
    )

    def out() -> Any:
        return np.zeros((256, 192), wide)

    def jit(function: Callable[[Any, Any], Any]) -> Spelling:
        return lambda: lx.jit(function)(a, b)

    def cast(x: Any) -> Any:
        return x.astype(wide)

    def einsum(**options: Any) -> Any:
        return lx.einsum("mk,kn->mn", a, b, backend="kernel", **options)

    check(
        {
            "module": lambda: lx.compile(module)(a, b),
            "op": lambda: lx.ops.matmul(a, b, out=out()),
            "einsum, compute_type=": lambda: einsum(compute_type=name, out=out()),
            "einsum, dtype=": lambda: einsum(dtype=wide),
            "matmul, dtype=": jit(lambda a, b: np.matmul(a, b, dtype=wide)),
            "@ of casts": jit(lambda a, b: cast(a) @ cast(b)),
            "dot of casts": jit(lambda a, b: cast(a).dot(cast(b))),
            "numpy.einsum of casts": jit(lambda a, b: np.einsum("ij,jk->ik", cast(a), cast(b))),
            "tensordot of casts": jit(lambda a, b: np.tensordot(cast(a), cast(b), 1)),
            "lx.einsum in jit": jit(lambda a, b: lx.einsum("mk,kn->mn", a, b, dtype=wide)),
        },
        made,
    )


def test_sums_of_rows(made: list[Kernel]) -> None:
    x = RNG.random((300, 1000), np.float32)

    def jit(function: Callable[[Any], Any]) -> Spelling:
        return lambda: lx.jit(function)(x)

    module = text(
        """
        %zero = arith.constant 0.0 : f32
        %e = tensor.empty() : tensor<300xf32>
        %f = linalg.fill ins(%zero : f32) outs(%e : tensor<300xf32>) -> tensor<300xf32>
        %r = linalg.reduce ins(%a : tensor<300x1000xf32>) outs(%f : tensor<300xf32>)
            dimensions = [1] (%new: f32, %old: f32) {
          %s = arith.addf %old, %new : f32
          linalg.yield %s : f32
        }
        """,
        "tensor<300x1000xf32>",
        result="tensor<300xf32>",
    )
    check(
        {
            "module": lambda: lx.compile(module)(x),
            "function": jit(lambda x: np.sum(x, axis=1)),
            "method": jit(lambda x: x.sum(axis=-1)),
            "ufunc": jit(lambda x: np.add.reduce(x, axis=1)),
            "numpy.einsum": jit(lambda x: np.einsum("ij->i", x)),
            "lx.einsum": lambda: lx.einsum("ij->i", x, backend="kernel"),
        },
        made,
    )


def test_element_wise_chains(made: list[Kernel]) -> None:
    a, b, c = RNG.random((3, 200, 500), np.float32)

    def jit(function: Callable[..., Any]) -> Spelling:
        return lambda: lx.jit(function)(a, b, c)

    def by_ops(a: Any, b: Any, c: Any) -> Any:
        return lx.ops.exp(lx.ops.add(lx.ops.mul(a, b), c))

    type_ = "tensor<200x500xf32>"
    module = text(
        f"""
        %p = arith.mulf %a, %b : {type_}
        %s = arith.addf %p, %c : {type_}
        %r = math.exp %s : {type_}
        """,
        *[type_] * 3,
        result=type_,
    )
    check(
        {
            "module": lambda: lx.compile(module)(a, b, c),
            "operators": jit(lambda a, b, c: np.exp(a * b + c)),
            "functions": jit(lambda a, b, c: np.exp(np.add(np.multiply(a, b), c))),
            "ops in jit": jit(by_ops),
            "ops, lowered": lambda: lx.jit(by_ops).lower(a, b, c).compile()(a, b, c),
        },
        made,
    )


@pytest.mark.parametrize("stride", [1, 2])
def test_convolutions(stride: int, made: list[Kernel]) -> None:
    x, w = RNG.random((2, 29, 29, 16), np.float32), RNG.random((3, 3, 16, 32), np.float32)
    size = 27 if stride == 1 else 14
    shapes = x.shape, w.shape, (2, size, size, 32)
    types = [f"tensor<{'x'.join(map(str, shape))}xf32>" for shape in shapes]
    module = text(
        f"""
        %zero = arith.constant 0.0 : f32
        %e = tensor.empty() : {types[2]}
        %f = linalg.fill ins(%zero : f32) outs(%e : {types[2]}) -> {types[2]}
        %r = linalg.conv_2d_nhwc_hwcf {{strides = dense<{stride}> : tensor<2xi64>}}
            ins(%a, %b : {types[0]}, {types[1]}) outs(%f : {types[2]}) -> {types[2]}
        """,
        *types[:2],
        result=types[2],
    )
    op, strides = lx.ops.conv_2d_nhwc_hwcf, (stride, stride)
    check(
        {
            "module": lambda: lx.compile(module)(x, w),
            "op": lambda: op(x, w, strides=strides),
            "op in jit": lambda: lx.jit(lambda x, w: op(x, w, strides=strides))(x, w),
            "op, out=": lambda: op(
                x, w, strides=strides, out=np.zeros((2, size, size, 32), np.float32)
            ),
        },
        made,
    )
