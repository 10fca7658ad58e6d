"""Ops called on arrays: results, dtypes, `out=` and `init=`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from declared_ops import (
    add_,
    apply_to,
    axpy,
    correlate,
    differences,
    matmul_plus,
    random,
    row_max,
    row_min,
    row_reduce,
    stats,
)
from linalg_ext.compiler.module_compilation import compile_built
from linalg_ext.errors import DTypeError, ShapeError
from linalg_ext.opdsl import BinaryFn, D, S, T, TensorDef, UnaryFn, structured_op

Array = np.ndarray[Any, Any]


def test_the_result_is_allocated() -> None:
    a, b = random(5, 7), random(7, 3)
    np.testing.assert_array_equal(matmul_plus(a, b), a @ b)


def test_inputs_may_be_given_by_name() -> None:
    a, b = random(5, 7), random(7, 3)
    np.testing.assert_array_equal(matmul_plus(B=b, A=a), a @ b)
    np.testing.assert_array_equal(matmul_plus(a, B=b), a @ b)


def test_out_is_overwritten_and_returned() -> None:
    a, b, out = random(5, 7), random(7, 3), np.full((5, 3), np.nan)
    assert matmul_plus(a, b, out=out) is out
    np.testing.assert_array_equal(out, a @ b)


def test_init_is_what_the_op_starts_from() -> None:
    a, b, init = random(5, 7), random(7, 3), random(5, 3)
    before = init.copy()
    np.testing.assert_array_equal(matmul_plus(a, b, init=init), init + a @ b)
    np.testing.assert_array_equal(init, before)


def test_init_and_out_together() -> None:
    a, b, init, out = random(5, 7), random(7, 3), random(5, 3), np.empty((5, 3))
    matmul_plus(a, b, init=init, out=out)
    np.testing.assert_array_equal(out, init + a @ b)


def test_several_outputs_are_a_tuple() -> None:
    a = random(4, 6)
    total, largest = stats(a)
    np.testing.assert_array_equal(total, a.sum(1))
    np.testing.assert_array_equal(largest, a.max(1))
    out = np.empty(4)
    assert stats(a, out=(None, out))[1] is out
    np.testing.assert_array_equal(out, a.max(1))


def test_one_tensor_read_twice() -> None:
    a = random(5)
    np.testing.assert_array_equal(differences(a), a[:, None] - a[None])


def test_index_attributes_by_sequence_or_number() -> None:
    x, k = random(12), random(3)
    np.testing.assert_array_equal(correlate(x, k), np.correlate(x, k, "valid"))
    expected = np.array([x[2 * o : 2 * o + 7 : 3] @ k for o in range(3)])
    np.testing.assert_array_equal(correlate(x, k, strides=2, dilations=[3]), expected)


@pytest.mark.parametrize(
    ("function", "expected"),
    [(UnaryFn.exp, np.exp), ("abs", np.abs), (UnaryFn.square, np.square)],
)
def test_function_attributes_by_function_or_name(
    function: Any, expected: Callable[[Array], Array]
) -> None:
    x = random(6)
    np.testing.assert_allclose(apply_to(x, fun=function), expected(x), rtol=1e-12)


def test_a_reduction_chosen_by_attribute_starts_from_its_own_neutral_element() -> None:
    a = -np.abs(random(3, 5)) - 1
    np.testing.assert_array_equal(row_reduce(a), a.sum(1))
    np.testing.assert_array_equal(row_reduce(a, by=BinaryFn.max_signed), a.max(1))
    np.testing.assert_array_equal(row_reduce(a, by="mul"), a.prod(1))


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3, 4), (1,) * 9])
def test_an_elementwise_op_takes_any_rank(shape: tuple[int, ...]) -> None:
    a, b = random(*shape), random(*shape)
    result = add_(a, b)
    assert result.shape == shape
    np.testing.assert_array_equal(result, a + b)


def test_rank_0_is_read_at_every_point_and_nothing_else_is_broadcast() -> None:
    a = random(3, 4)
    np.testing.assert_array_equal(add_(a, np.array(2.0)), a + 2)
    with pytest.raises(ShapeError, match=r"B has shape \(4,\), but A has shape \(3, 4\)"):
        add_(a, random(4))


def test_numbers_are_weak() -> None:
    x, y = random(4, dtype=np.float32), random(4, dtype=np.float32)
    result = axpy(0.5, x, y)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, np.float32(0.5) * x + y)


@pytest.mark.parametrize(
    ("left", "right"),
    [(np.int8, np.int32), (np.float32, np.int16), (ml_dtypes.bfloat16, np.float32)],
)
def test_the_result_has_the_common_dtype(left: Any, right: Any) -> None:
    a, b = random(3, 4, dtype=left), random(4, 2, dtype=right)
    result = matmul_plus(a, b)
    assert result.dtype == np.result_type(left, right)
    np.testing.assert_array_equal(result, a.astype(result.dtype) @ b.astype(result.dtype))


def test_operands_of_one_type_variable_meet_in_their_common_dtype() -> None:
    result = add_(random(4, dtype=np.int8), random(4, dtype=np.float32))
    assert result.dtype == np.float32


def test_dtype_decides() -> None:
    a, b = np.full((1, 3), 100, np.int8), np.full((3, 1), 100, np.int8)
    assert matmul_plus(a, b, dtype=np.int32)[0, 0] == 30_000
    assert matmul_plus(a, b, dtype=np.float64).dtype == np.float64


def test_the_dtype_of_out_decides() -> None:
    a, b = np.full((1, 3), 100, np.int8), np.full((3, 1), 100, np.int8)
    out = np.empty((1, 1), np.int64)
    assert matmul_plus(a, b, out=out)[0, 0] == 30_000


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64, ml_dtypes.uint4])
def test_unsigned_arrays_keep_their_values(dtype: Any) -> None:
    """The `_signed` functions compute on what an array holds, not on its bits."""
    top = int(ml_dtypes.iinfo(dtype).max)
    a = np.array([[1, top], [top - 1, 2]], np.uint64).astype(dtype)
    np.testing.assert_array_equal(row_max(a).astype(object), [top, top - 1])
    np.testing.assert_array_equal(row_min(a).astype(object), [1, 2])
    wide = matmul_plus(a, np.eye(2, dtype=dtype), dtype=np.float64)
    np.testing.assert_array_equal(wide, a.astype(np.float64))


def test_booleans_are_zero_and_one() -> None:
    a = np.array([[True, False], [True, True]])
    np.testing.assert_array_equal(matmul_plus(a, a, dtype=np.int32), a.astype(int) @ a.astype(int))
    np.testing.assert_array_equal(row_max(a), a.max(1))
    np.testing.assert_array_equal(row_min(a), a.min(1))


def test_an_elementwise_op_may_write_over_an_input() -> None:
    a, b = random(5), random(5)
    expected = a + b
    assert add_(a, b, out=a) is a
    np.testing.assert_array_equal(a, expected)
    c = random(6)
    expected = c[:-1] + c[1:]
    add_(c[:-1], c[1:], out=c[1:])
    np.testing.assert_array_equal(c[1:], expected)


@pytest.mark.parametrize(
    "arrange",
    [
        np.asfortranarray,
        lambda a: a[::-1],
        lambda a: np.repeat(a, 2, 1)[:, ::2],
        lambda a: a.T.copy().T,
    ],
    ids=["fortran", "negative", "strided", "transposed"],
)
def test_any_strides(arrange: Callable[[Array], Array]) -> None:
    a, b = arrange(random(4, 4)), arrange(random(4, 4))
    np.testing.assert_array_equal(matmul_plus(a, b), a @ b)


def test_a_broadcast_input() -> None:
    a = np.broadcast_to(random(4), (3, 4))
    np.testing.assert_array_equal(row_max(a), a.max(1))


def test_a_kernel_is_compiled_once_for_each_combination(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []

    def counting(*args: Any, **keywords: Any) -> Any:
        compiled.append(args)
        return compile_built(*args, **keywords)

    monkeypatch.setattr("linalg_ext.compiler.op_kernels.compile_built", counting)

    @structured_op
    def fresh(A=TensorDef(T, S.N), C=TensorDef(T, S.N, output=True)):
        C[D.n] = A[D.n] * 3

    threads = [threading.Thread(target=fresh, args=(random(8),)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(compiled) == 1
    fresh(random(8, dtype=np.float32))
    fresh(random(9))
    fresh(random(9))
    assert len(compiled) == 3


def test_python_numbers_take_the_dtype_they_meet() -> None:
    x = np.ones(3, np.float32)
    assert lx.ops.add(x, 2).dtype == np.float32
    assert lx.ops.mul(np.ones(3, np.int8), 2).dtype == np.int8
    assert lx.ops.add(np.ones(3, np.int8), 0.5).dtype == np.float64
    with pytest.raises(DTypeError, match="rhs is 300, which int8 cannot hold"):
        lx.ops.add(np.ones(3, np.int8), 300)
