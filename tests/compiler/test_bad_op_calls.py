"""Calls of ops that are refused: what the error says, and that nothing was written."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from declared_ops import add_, apply_to, axpy, correlate, decay, matmul_plus, random
from letters import said
from linalg_ext.errors import (
    AliasingError,
    ArgumentError,
    ArityError,
    DTypeError,
    LayoutError,
    LinalgExtError,
    ShapeError,
)
from linalg_ext.opdsl import BinaryFn

Array = np.ndarray[Any, Any]


def test_an_op_that_reads_its_output_needs_init() -> None:
    a, init = random(4), random(4)
    np.testing.assert_array_equal(decay(a, init=init), init * 0.5 + a)
    with pytest.raises(ArgumentError, match=r"reads C as it was before the op(.|\n)*init="):
        decay(a)


def test_another_op_may_not() -> None:
    a = random(4, 4)
    with pytest.raises(AliasingError, match="out shares memory with argument 0"):
        matmul_plus(a, random(4, 4), out=a)


GOOD = (random(4, 3), random(3, 2))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda a, b: matmul_plus(a), ArityError, "got no input B"),
        (lambda a, b: matmul_plus(a, b, b), ArityError, r"got 3 inputs(.|\n)*2: A, B"),
        (lambda a, b: matmul_plus(a, b, A=a), ArityError, "input A twice"),
        (lambda a, b: matmul_plus(a, b, otu=a), ArityError, "did you mean out"),
        (lambda a, b: matmul_plus(a, b.T), ShapeError, r"dimension k is 3 for A \(axis 1\), but B"),
        (lambda a, b: matmul_plus(a[0], b), ShapeError, "A is of rank 1(.|\n)*rank 2"),
        (lambda a, b: matmul_plus(a, b, out=np.empty((4, 3))), ShapeError, "C has size 3"),
        (lambda a, b: matmul_plus(a, b, out=(a, b)), ArityError, r"out= has 2(.|\n)*1: for C"),
        (lambda a, b: matmul_plus(a, b, out=[[1.0]]), ArgumentError, "is a list"),
        (lambda a, b: matmul_plus(a, b, init=1.0), ShapeError, "C is of rank 0"),
        (
            lambda a, b: matmul_plus(a.astype(">f8"), b),
            DTypeError,
            r"A(.|\n)*big-endian(.|\n)*newbyteorder",
        ),
        (lambda a, b: matmul_plus(a.astype(object), b), DTypeError, "A: dtype object"),
        (lambda a, b: matmul_plus("text", b), DTypeError, "A is 'text'"),
        (
            lambda a, b: matmul_plus([[1], [2, 3]], b),
            ArgumentError,
            "A is a list, which makes",
        ),
        (lambda a, b: matmul_plus(np.ma.array(a), b), ArgumentError, "masked(.|\n)*filled"),
        (lambda a, b: matmul_plus(a, b, dtype="double-double"), DTypeError, "is not a dtype"),
        (
            lambda a, b: matmul_plus(a.astype(np.longdouble), b),
            DTypeError,
            "A: dtype float128|longdouble",
        ),
        (lambda a, b: correlate(a[0], b[:, 0], strides=0), ArgumentError, "is not positive"),
        (lambda a, b: correlate(a[0], b[:, 0], strides=(1, 2)), ArgumentError, "1 integer"),
        (lambda a, b: correlate(a[0], b[:, 0], strides=1.5), ArgumentError, "cannot be 1.5"),
        (lambda a, b: apply_to(a, fun="sinus"), ArgumentError, "unary function: exp, log"),
        (lambda a, b: apply_to(a, fun=BinaryFn.add), ArgumentError, "unary function"),
        (lambda a, b: axpy(a, a, a), ShapeError, "a is a scalar"),
        (lambda a, b: apply_to(a > 0, fun="exp"), DTypeError, "exp has no meaning for i1"),
    ],
)
def test_what_does_not_fit_is_refused(
    call: Callable[[Array, Array], Any], kind: type[LinalgExtError], message: str
) -> None:
    with pytest.raises(kind) as caught:
        call(*GOOD)
    assert re.search(message, said(caught.value))


def test_a_read_only_out_is_refused() -> None:
    out = np.empty((4, 2))
    out.flags.writeable = False
    with pytest.raises(LayoutError, match="read-only"):
        matmul_plus(*GOOD, out=out)


def test_no_common_dtype_is_refused() -> None:
    a = random(3, dtype=ml_dtypes.float8_e5m2)
    with pytest.raises(DTypeError, match=r"have no common dtype(.|\n)*astype"):
        add_(a, random(3, dtype=ml_dtypes.float8_e4m3fn))


def test_an_op_without_shapes_needs_out() -> None:
    with pytest.raises(ShapeError, match=r"fill: no operand has a shape(.|\n)*out="):
        lx.ops.fill(1.0)
    out = np.empty(3, np.float32)
    np.testing.assert_array_equal(lx.ops.fill(2.5, out=out), [2.5] * 3)


def test_errors_point_at_the_call() -> None:
    with pytest.raises(ShapeError) as caught:
        lx.ops.add(np.ones(3), np.ones(4))
    assert "test_errors_point_at_the_call" in str(caught.value.where)
