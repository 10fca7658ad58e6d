"""The oracle called as an op is called."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, ArityError, DTypeError, ShapeError
from linalg_ext.opdsl import BinaryFn, D, S, T, TensorDef, structured_op

A, B = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize(
    ("name", "operands", "keywords"),
    [
        ("matmul", (A, B), {}),
        ("matmul", (A, B), {"init": np.ones((2, 4))}),
        ("matmul", (A.astype(np.int8), B.astype(np.int8)), {"dtype": np.int32}),
        ("matmul", (), {"A": A, "B": B, "cast": "cast_unsigned"}),
        ("row_max", (A,), {}),
        ("exp", (A.astype(np.float32),), {}),
        ("elemwise_binary", (A, A + 1), {"fun": "mul"}),
        ("fill", (2.5,), {"init": np.zeros((2, 2))}),
        ("arange", (1, 2), {"init": np.zeros(4, np.int64)}),
        ("conv_1d_nwc_wcf", (np.ones((1, 9, 2)), np.ones((3, 2, 4))), {"strides": 2}),
        ("pooling_nwc_max", (np.arange(8.0).reshape(1, 8, 1), np.ones(2)), {"dilations": 2}),
        ("row_sum", (A.astype(np.uint8),), {}),
    ],
)
def test_the_oracle_and_the_compiled_op_agree(
    name: str, operands: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    op = getattr(lx.ops, name)
    expected = op.definition.reference(*operands, **keywords)
    found = op(*operands, **keywords)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_nothing_that_is_given_is_changed() -> None:
    init = np.ones((2, 4))
    result = lx.ops.matmul.definition.reference(A, B, init=init)
    np.testing.assert_array_equal(init, 1)
    np.testing.assert_allclose(result, A @ B + 1)


def test_sizes_stand_in_indices() -> None:
    @structured_op
    def reverse(A=TensorDef(T, S.N), C=TensorDef(T, S.N, output=True)):
        C[D.n] = A[S.N - 1 - D.n]

    @structured_op
    def ends(A=TensorDef(T, S.N), C=TensorDef(T, S.N, output=True)):
        C[D.n] = BinaryFn.sub(A[D.n], A[S.N - 1 - D.n])

    array = np.array([1.0, 4.0, 9.0])
    for op, expected in ((reverse, [9, 4, 1]), (ends, [-8, 0, 8])):
        np.testing.assert_array_equal(op.definition.reference(array), expected)
        np.testing.assert_array_equal(op(array), expected)


def test_a_scalar_array_is_read_at_every_point_of_an_elementwise_op() -> None:
    result = lx.ops.elemwise_binary.definition.reference(A, np.float64(2), fun="mul")
    np.testing.assert_array_equal(result, A * 2)


def test_it_needs_no_mlir() -> None:
    program = (
        "import sys, numpy as np\n"
        "from linalg_ext.opdsl_defs import matmul\n"
        "print(matmul.definition.reference(np.eye(2), np.eye(2)).sum())\n"
        "assert not {'mlir', 'torch_mlir'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "2.0\n"), done.stderr


@pytest.mark.parametrize(
    ("operands", "keywords", "error", "message"),
    [
        ((A,), {}, ArityError, "got no input B"),
        ((A, B, A), {}, ArityError, "got 3 inputs"),
        ((A, A), {}, ShapeError, "dimension k is 3 for A"),
        ((A, B), {"out": A}, ArityError, "no argument 'out'"),
        ((A, B), {"init": A}, ShapeError, "dimension n"),
        ((A, B), {"init": (A, A)}, ArityError, r"init= has 2 arrays"),
        ((A, B), {"dtype": "furlong"}, DTypeError, "is not a dtype"),
        ((A, B), {"cast": "exp"}, ArgumentError, "cast cannot be 'exp'"),
        ((A, [["a"]]), {}, DTypeError, "not of numbers"),
        ((A, [[1], [1, 2]]), {}, ArgumentError, "B is not an array"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(
    operands: tuple[Any, ...], keywords: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        lx.ops.matmul.definition.reference(*operands, **keywords)


def test_a_number_that_a_scalar_cannot_hold_is_refused() -> None:
    with pytest.raises(DTypeError, match=r"step=0\.5 is not a number of int64"):
        lx.ops.arange.definition.reference(1, 0.5, init=np.zeros(4, np.int64))
