"""Functions of ops, traced and compiled."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from letters import said
from linalg_ext.errors import ArgumentError, DTypeError, LinalgExtError, ShapeError
from linalg_ext.opdsl import D, S, ScalarDef, T, TensorDef, structured_op

Array = np.ndarray[Any, Any]


def random(*shape: int, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(5).standard_normal(shape).astype(dtype)


def check(function: Any, *arrays: Array, rtol: float = 1e-5) -> None:
    """The jitted function equals the same function in NumPy."""
    np.testing.assert_allclose(
        lx.jit(function)(*arrays), function(*arrays), rtol=rtol, atol=rtol, strict=True
    )


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: a + b,
        lambda a, b: a - b * 2,
        lambda a, b: 1 / (a * a + 1) - b,
        lambda a, b: -a / 3,
        lambda a, b: 2 - a + 3 * b,
    ],
)
def test_operators_are_numpys(function: Any) -> None:
    check(function, random(3, 4), random(3, 4))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 4), (4,)),
        ((3, 1), (1, 4)),
        ((2, 3, 4), (3, 1)),
        ((), (2, 2)),
        ((1, 1), (2, 3)),
        ((5,), (1,)),
    ],
)
def test_operators_broadcast(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    check(lambda a, b: a * b + a, random(*left), random(*right))


@pytest.mark.parametrize(
    ("left", "right"),
    [(np.int8, np.int32), (np.float32, np.float64), (np.uint8, np.int8), (np.int32, np.float32)],
)
def test_operators_follow_numpys_dtypes(left: Any, right: Any) -> None:
    a = np.arange(6).reshape(2, 3).astype(left)
    check(lambda a, b: a * b + 1, a, np.full((2, 3), 3, right))
    check(lambda a, b: a / b, a, np.full((2, 3), 3, right))


def test_a_layer_is_one_fused_kernel() -> None:
    def layer(x: Any, w: Any, b: Any) -> Any:
        return lx.ops.tanh(x @ w + b) * 0.5

    x, w, b = random(6, 5), random(5, 3), random(3)
    kernel = lx.jit(layer).lower(x, w, b).compile()
    np.testing.assert_allclose(kernel(x, w, b), np.tanh(x @ w + b) * 0.5, rtol=1e-5)
    # The zero that the matmul starts from, the matmul, and all that is element-wise in one.
    assert kernel.as_text("linalg").count("linalg.generic") == 3


def test_a_call_and_lower_then_compile_share_one_kernel() -> None:
    traced = []

    def function(x: Any) -> Any:
        traced.append(x)
        return x * 2

    x = random(5)
    jitted = lx.jit(function)
    compiled = jitted.lower(x).compile()
    np.testing.assert_array_equal(jitted(x), 2 * x)
    assert len(traced) == 1
    assert jitted.lower(x).compile() is compiled
    assert "1 kernel" in repr(jitted)


def test_what_was_lowered_is_compiled_where_the_function_does_something_else_by_now() -> None:
    scale = 2.0
    jitted = lx.jit(lambda x: x * scale)
    x = random(5)
    first = jitted(x)
    scale = 3.0
    np.testing.assert_array_equal(jitted.lower(x).compile()(x), 3 * x)
    np.testing.assert_array_equal(jitted(x), first)


def test_ops_of_the_user_are_recorded() -> None:
    @structured_op
    def scaled(a=ScalarDef(T), X=TensorDef(T, S.N), C=TensorDef(T, S.N, output=True)):
        C[D.n] = a * X[D.n]

    x = random(4)
    np.testing.assert_array_equal(lx.jit(lambda v: scaled(3.0, v) + 1)(x), 3 * x + 1)
    total = lx.jit(lambda v, s: scaled(s, v))
    np.testing.assert_array_equal(total(x, np.array(2, np.float32)), 2 * x)


def test_arrays_from_outside_become_constants() -> None:
    weights = random(4, 2)
    x = random(3, 4)
    layer = lx.jit(lambda v: v @ weights)
    np.testing.assert_allclose(layer(x), x @ weights, rtol=1e-5)
    assert "arith.constant dense" in layer.lower(x).as_text()


@pytest.mark.parametrize(
    "dtype",
    [np.float64, np.int8, np.uint16, np.complex64, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2],
)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)])
def test_constants_of_any_dtype_and_shape(dtype: Any, shape: tuple[int, ...]) -> None:
    outside = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    result = lx.jit(lambda a: (a, outside))(random(2))[1]
    np.testing.assert_array_equal(result, outside, strict=True)


def test_init_inside_a_trace() -> None:
    a, b, c = random(2, 3), random(3, 2), random(2, 2)
    traced = lx.jit(lambda a, b, c: lx.ops.matmul(a, b, init=c))
    # The sum is rounded in units of its terms, which may cancel.
    np.testing.assert_allclose(traced(a, b, c), c + a @ b, rtol=1e-6, atol=5e-7)


def test_several_results_and_out() -> None:
    a, b = random(3), random(3)
    both = lx.jit(lambda a, b: (a + b, a * b))
    total, product = both(a, b)
    np.testing.assert_array_equal(total, a + b)
    np.testing.assert_array_equal(product, a * b)
    out = (np.empty(3, np.float32), np.empty(3, np.float32))
    both(a, b, out=out)
    np.testing.assert_array_equal(out[1], a * b)


def test_a_result_may_be_an_input_or_a_constant() -> None:
    a = random(3)
    same, one = lx.jit(lambda a: (a, 1.5))(a)
    np.testing.assert_array_equal(same, a)
    assert not np.shares_memory(same, a)
    assert one == 1.5


def test_one_kernel_for_each_set_of_shapes() -> None:
    traces = []

    @lx.jit
    def function(a: Any) -> Any:
        traces.append(a.shape)
        return a + a

    for shape in ((2,), (2,), (3,), (2,)):
        function(random(*shape))
    assert traces == [(2,), (3,)]
    assert repr(function) == "<jit function, 2 kernels>"


def test_many_threads_compile_once() -> None:
    traces = []

    @lx.jit
    def function(a: Any) -> Any:
        traces.append(a.shape)
        return a * 2 + 1

    x = random(7)
    with ThreadPoolExecutor(16) as pool:
        results = list(pool.map(function, [x] * 64))
    assert len(traces) == 1
    for result in results:
        np.testing.assert_array_equal(result, x * 2 + 1)


def test_a_method_gets_its_instance() -> None:
    @dataclass
    class Scale:
        by: Any

        @lx.jit
        def __call__(self, x: Any) -> Any:
            return x * self.by

        @lx.jit
        def twice(self, x: Any) -> Any:
            return self(self(x))

    x = random(4)
    np.testing.assert_allclose(Scale(x).twice(x), x**3, rtol=1e-6)


def test_the_ir_points_at_the_function() -> None:
    def somewhere(a: Any) -> Any:
        return a + a

    lowered = lx.jit(somewhere).lower(random(2))
    text = lowered.module.ir.operation.get_asm(enable_debug_info=True)
    assert f'test_jit.py":{somewhere.__code__.co_firstlineno}:' in text


def _branch(a: Any) -> Any:
    return a if a else -a


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (_branch, ArgumentError, r"truth of a traced value(.|\n)*np\.where(.|\n)*lx\.cond"),
        (lambda a: np.float64(a), ArgumentError, r"cannot become a NumPy array"),
        (lambda a: np.maximum.reduce([a, a]), ArgumentError, r"np\.array\(\[x, y\]\) for a list"),
        (lambda a: a + random(7), ShapeError, r"shapes \(2, 3\) and \(7,\)"),
        (
            lambda a: a @ a,
            ShapeError,
            r"matmul of shapes \(2, 3\) and \(2, 3\) sums over sizes that differ: 3 and 2",
        ),
        (lambda a: a @ np.float32(2), ShapeError, r"rank 0(.|\n)*x \* y"),
        (lambda a: lx.ops.exp(a, out=random(2, 3)), ArgumentError, "out= inside a traced"),
        (lambda a: "text", ArgumentError, "returns 'text' under jit"),
        (lambda a: None, ArgumentError, "returns None under jit"),
        (lambda a: a + np.array(["x"]), DTypeError, "dtype <U1 has no element type"),
        (lambda a: list(np.tile(a, (1100, 1))), ArgumentError, "iteration over 2200 parts"),
    ],
)
def test_what_cannot_be_traced_is_refused(
    function: Any, kind: type[LinalgExtError], message: str
) -> None:
    with pytest.raises(kind) as caught:
        lx.jit(function)(random(2, 3))
    assert re.search(message, said(caught.value))


def test_an_argument_must_be_an_array_that_mlir_knows() -> None:
    with pytest.raises(DTypeError, match="dtype object"):
        lx.jit(lambda a: a)(np.array([None]))


def test_only_a_function_can_be_traced() -> None:
    with pytest.raises(ArgumentError, match="jit got 3"):
        lx.jit(3)  # type: ignore[call-overload]


def test_an_exception_of_the_function_passes_through() -> None:
    def broken(a: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        lx.jit(broken)(random(2))
