"""What `help()` says of an op: in the sections of NumPy's, and the same for every op."""

from __future__ import annotations

import inspect
import pydoc

import numpy as np
import pytest

import linalg_ext as lx

MATMUL = """matmul(A, B, *, out=None, init=None, dtype=None, compute_type=None, threads=None,
cast='cast_signed')

Matrix product, added to C.
"""


def test_it_begins_as_numpys_does() -> None:
    said = inspect.getdoc(lx.ops.matmul)
    assert said is not None
    assert said.startswith(MATMUL)
    assert "\nParameters\n----------\nA : array of T1, shape (M, K)\n" in said
    assert "\nReturns\n-------\nC : array of U, shape (M, N)\n" in said
    assert "cast : optional, 'cast_signed' by default" in said
    assert "    Parameters\n    ----------\n" in pydoc.plain(pydoc.render_doc(lx.ops.matmul))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("fill", "value : scalar of T"),
        ("exp", "I : array of T1, of any shape"),
        ("pooling_nhwc_max", "strides : optional, (1, 1) by default"),
    ],
)
def test_operands_of_each_kind(name: str, told: str) -> None:
    assert told in getattr(lx.ops, name).__doc__.splitlines()


def test_every_parameter_of_every_op_is_told() -> None:
    for name in dir(lx.ops):
        op = getattr(lx.ops, name)
        _, _, parameters = op.__doc__.partition("\nParameters\n")
        for parameter in inspect.signature(op).parameters:
            assert f"\n{parameter} : " in parameters, f"{name}: {parameter}"
        assert op.definition.doc in op.__doc__


def test_what_is_told_of_keywords_is_true() -> None:
    a = np.ones((2, 3), np.float16)
    result = lx.ops.matmul(a, a.T, dtype=np.float32, compute_type=np.float64, threads=1)
    assert result.dtype == np.float32
