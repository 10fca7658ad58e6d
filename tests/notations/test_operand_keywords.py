"""`permutation_x`, `broadcast_x` and `map_x` in calls: on arrays, under jit, on values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import linalg_ext as lx
from linalg_ext.bindings import func, ir
from linalg_ext.errors import ArgumentError, ArityError, LinalgExtError, ShapeError
from linalg_ext.ir.context import new_context

ops = lx.ops
Array = NDArray[Any]
RNG = np.random.default_rng(7)
X, Y = RNG.random(16).astype("f4"), RNG.random((16, 64)).astype("f4")
P, Q = RNG.random((64, 32, 64)), RNG.random((32, 64, 64))
A, B = RNG.random((5, 8)), RNG.random((5, 7))
IMAGE, KERNEL = RNG.random((1, 6, 6, 3)), RNG.random((3, 3, 3, 4))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: ops.add(X, Y, broadcast_x=[1]), X[:, None] + Y),
        (lambda: ops.add(X, Y, broadcast_lhs=1), X[:, None] + Y),
        (lambda: ops.add(X, Y, map_a="(d0, d1) -> (d0)"), X[:, None] + Y),
        (lambda: ops.add(Y, X, broadcast_y=[1]), X[:, None] + Y),
        (lambda: ops.add(X, Y, broadcast_a=[1], permute_c=[1, 0]), (X[:, None] + Y).T),
        (lambda: ops.matmul(A, B, permutation_a=[1, 0]), A.T @ B),
        (lambda: ops.matmul(A, B, transpose_a=True), A.T @ B),
        (lambda: ops.matmul(A.T, B.T, transpose_b=True), A.T @ B),
        (lambda: ops.matmul(A, B, map_A="(m, n, k) -> (k, m)", permutation_C=[1, 0]), (A.T @ B).T),
        (
            lambda: ops.matmul(A[:, 0], B, broadcast_a=[0], init=np.zeros((3, 7))),
            np.broadcast_to(A[:, 0] @ B, (3, 7)),
        ),
        (
            lambda: ops.add(P, Q, permutation_a=[0, 2, 1], permutation_b=[1, 2, 0]),
            P.transpose(0, 2, 1) + Q.transpose(1, 2, 0),
        ),
        (
            lambda: ops.conv_2d_nhwc_hwcf(
                IMAGE.transpose(0, 3, 1, 2), KERNEL, permutation_I=[0, 2, 3, 1]
            ),
            ops.conv_2d_nhwc_hwcf(IMAGE, KERNEL),
        ),
        (
            lambda: ops.select(Y > 0.5, X, 0.0, broadcast_b=[1]),
            np.where(Y > 0.5, X[:, None], 0).astype("f4"),
        ),
    ],
)
def test_calls_on_arrays(call: Callable[[], Array], expected: Array) -> None:
    result = call()
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=1e-5)


def test_square_operands_run_as_they_stand() -> None:
    square = RNG.random((16, 16))
    np.testing.assert_array_equal(ops.add(square, square.T), square + square.T)


def test_one_op_with_and_without_maps_is_two_kernels() -> None:
    square = RNG.random((4, 4))
    np.testing.assert_allclose(ops.matmul(square, square), square @ square)
    np.testing.assert_allclose(ops.matmul(square, square, transpose_a=True), square.T @ square)
    np.testing.assert_allclose(ops.matmul(square, square), square @ square)


def test_out_is_written_as_it_is_given() -> None:
    out = np.empty((64, 16), "f4")
    assert ops.add(X, Y, broadcast_x=[1], permutation_O=[1, 0], out=out) is out
    np.testing.assert_array_equal(out, (X[:, None] + Y).T)


def test_under_jit() -> None:
    @lx.jit
    def layer(a: Any, b: Any, x: Any) -> Any:
        return ops.add(ops.matmul(a, b, permutation_a=[1, 0]), x, broadcast_rhs=[1])

    np.testing.assert_allclose(layer(A, B, A[0]), A.T @ B + A[0][:, None])
    text = layer.lower(A, B, A[0]).as_text()
    assert "linalg.matmul indexing_maps" in text
    assert "linalg.elementwise kind=#linalg.elementwise_kind<add>" in text


@st.composite
def elementwise_calls(draw: st.DrawFn) -> tuple[list[Array], dict[str, Any], Array]:
    """Operands of `add` given transposed and broadcast, the keywords, and what NumPy says."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    rank = len(sizes)
    arrays, spread = [], []
    keywords: dict[str, Any] = {}
    for name, seed in (("lhs", 1), ("rhs", 2)):
        added = sorted(draw(st.permutations(range(rank)))[: draw(st.integers(0, rank - 1))])
        if name == "rhs":
            added = [dim for dim in added if dim not in keywords.get("broadcast_lhs", [])]
        kept = [size for dim, size in enumerate(sizes) if dim not in added]
        order = draw(st.permutations(range(len(kept))))
        natural = np.random.default_rng(seed).integers(0, 9, kept).astype("f4")
        arrays.append(np.ascontiguousarray(natural.transpose(np.argsort(order))))
        keywords[f"permutation_{name}"] = order
        keywords[f"broadcast_{name}"] = added
        spread.append(np.expand_dims(natural, tuple(added)))
    return arrays, keywords, np.broadcast_to(spread[0] + spread[1], sizes)


@settings(max_examples=25, deadline=None)
@given(elementwise_calls())
def test_sugar_is_numpys_explicit_broadcasting(
    case: tuple[list[Array], dict[str, Any], Array],
) -> None:
    arrays, keywords, expected = case
    for array, name in zip(arrays, ("lhs", "rhs"), strict=True):
        # The words mean what NumPy's functions of arrays do.
        moved = array.transpose(keywords[f"permutation_{name}"])
        assert np.expand_dims(moved, tuple(keywords[f"broadcast_{name}"])).ndim == expected.ndim
    np.testing.assert_array_equal(ops.add(*arrays, **keywords), expected)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ops.add(X, Y), ShapeError, r"lhs has shape \(16,\)(.|\n)*broadcast_lhs=\[1\]"),
        (lambda: ops.add(Y.T, Y), ShapeError, r"permutation_lhs=\[1, 0\] or permutation_rhs"),
        (lambda: ops.matmul(Y, Y), ShapeError, r"permutation_A=\[1, 0\] or permutation_B"),
        (lambda: ops.add(X, Y, broadcast_x=[0]), ShapeError, "dimension d1 is 16 for lhs"),
        (lambda: ops.add(X, Y, broadcast_x=[2]), ArgumentError, "adds dimension 2"),
        (lambda: ops.add(X, Y, broadcast_x=[1, 1]), ArgumentError, "lhs spans 3 dimension"),
        (lambda: ops.add(X, Y, broadcast_q=[1]), ArityError, "no operand 'q'"),
        (lambda: ops.add(X, Y, broadcast_x=[1], broadcast_a=[1]), ArgumentError, "said twice"),
        (lambda: ops.matmul(A, B, permutation_a=[0, 0]), ArgumentError, "not a permutation"),
        (lambda: ops.matmul(A, B, permutation_a=[0]), ArgumentError, "not a permutation"),
        (lambda: ops.matmul(A, B, permutation_a="x"), ArgumentError, "a list of integers"),
        (lambda: ops.matmul(A, B, map_a="(m, n, k) -> (k, n)"), ArgumentError, "has the index n"),
        (lambda: ops.matmul(A, B, map_a="(m, n) -> (n)"), ArgumentError, "of 2 dimension"),
        (lambda: ops.matmul(A, B, map_a="(m, n, k) -> (k"), LinalgExtError, "affine map cannot"),
        (lambda: ops.matmul(A, B, map_a=[1, 0]), ArgumentError, r"say permutation = \[1, 0\]"),
        (
            lambda: ops.matmul(A, B, map_a="(m, n, k) -> (k, m)", permute_a=[1, 0]),
            ArgumentError,
            "both the map and the permutation",
        ),
        (lambda: ops.add(P, P, transpose_a=True), ArgumentError, "says nothing of 3 dimension"),
        (lambda: ops.fill(1.0, permutation_a=[0]), ArgumentError, "is not a tensor"),
        (lambda: ops.matmul(A, B, transpose_a=True, compute_type="foo"), ArgumentError, "foo"),
        (
            lambda: ops.add(P, Q, permutation_a=[0, 2, 1], map_b="(i, j, k) -> (j, k, i)"),
            ShapeError,
            r"inverse of the permutation that fits: say map_rhs = \(d0, d1, d2\) -> \(d2, d0, d1\)",
        ),
        (
            lambda: ops.add(P, Q, permutation_a=[0, 2, 1], permutation_b=[2, 0, 1]),
            ShapeError,
            r"say permutation_rhs = \[1, 2, 0\]",
        ),
    ],
)
def test_mistakes_are_named(
    call: Callable[[], object], error: type[LinalgExtError], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()


def built(body: Callable[..., object], *types: str) -> str:
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            func.FuncOp.from_py_func(*map(ir.Type.parse, types), name="f")(body)
        assert module.operation.verify()
        return str(module)


@pytest.mark.parametrize(
    ("body", "types", "op"),
    [
        (lambda x, y: ops.add(x, y, broadcast_x=[1]), "16 16x64", "linalg.elementwise"),
        (lambda a, b: ops.matmul(a, b, permutation_a=[1, 0]), "5x8 5x7", "linalg.matmul"),
        (lambda a, b: ops.matmul(a, b, permutation_c=[1, 0]), "8x5 5x7", "linalg.matmul"),
        (
            lambda a, b: ops.batch_matmul(a, b, permutation_a=[0, 2, 1]),
            "3x5x8 3x5x7",
            "linalg.batch_matmul",
        ),
        (
            lambda a, b: ops.batch_matmul(a, b, permutation_a=[1, 0, 2]),
            "8x3x5 3x5x7",
            "linalg.contract",
        ),
        (lambda a, b: ops.matvec(a, b, permutation_a=[1, 0]), "5x8 5", "linalg.contract"),
        (
            lambda x, y: ops.add(x, y, broadcast_x=[1], emit_generic=True),
            "16 16x64",
            "linalg.generic",
        ),
        (
            lambda a, b: ops.pooling_nhwc_max(a, b, permutation_I=[0, 2, 3, 1]),
            "1x4x6x6 2x2",
            "linalg.generic",
        ),
        (lambda a, b: ops.add(a, b), "4x4 4x4", "linalg.add"),
    ],
)
def test_the_most_specific_op_that_holds_the_maps_is_built(
    body: Callable[..., object], types: str, op: str
) -> None:
    text = built(body, *(f"tensor<{shape}xf32>" for shape in types.split()))
    made = [line.split("= ")[1].split()[0] for line in text.splitlines() if " = linalg" in line]
    assert made[-1] == op


def test_a_compute_type_is_noted_on_the_op() -> None:
    text = built(
        lambda a, b: ops.matmul(a, b, permutation_a=[1, 0], compute_type=np.float64),
        "tensor<5x8xf32>",
        "tensor<5x7xf32>",
    )
    assert "linalg_ext.compute_type = f64" in text
    with pytest.raises(ArgumentError, match=r"exp: .* is not a compute type"):
        built(lambda a: ops.exp(a, compute_type="tensor<2xf32>"), "tensor<5xf32>")


def test_operands_of_several_types_meet_in_the_compute_type() -> None:
    text = built(
        lambda x, y, o: ops.add(x, y, compute_type="f32", outs=[o]),
        "tensor<5xbf16>",
        "tensor<5xf32>",
        "tensor<5xi8>",
    )
    assert '"linalg_ext.elementwise"' in text
    with pytest.raises(ArgumentError, match="type variable T1"):
        built(lambda x, y: ops.add(x, y), "tensor<5xbf16>", "tensor<5xf32>")


def test_maps_on_memrefs() -> None:
    text = built(
        lambda x, y: ops.add(x, y, broadcast_x=[1], outs=[y]),
        "memref<16xf32>",
        "memref<16x64xf32>",
    )
    assert "linalg.elementwise" in text


def test_a_mistake_on_values_leaves_nothing_behind() -> None:
    def body(x: ir.Value, y: ir.Value) -> None:
        with pytest.raises(ShapeError, match=r"broadcast_lhs=\[1\]|lhs"):
            ops.add(x, y)

    assert "linalg" not in built(body, "tensor<16xf32>", "tensor<16x64xf32>")


@pytest.mark.parametrize("compute_type", ["f64", np.float64, "float64"])
def test_arrays_take_a_compute_type_by_either_name(compute_type: Any) -> None:
    a, b = (RNG.random(shape, dtype=np.float32) for shape in ((4, 300), (300, 4)))
    exact = (a.astype("f8") @ b.astype("f8")).astype("f4")
    np.testing.assert_array_equal(ops.matmul(a, b, compute_type=compute_type), exact)
    np.testing.assert_array_equal(lx.einsum("ij,jk->ik", a, b, compute_type=compute_type), exact)
    product = lx.jit(lambda x, y: ops.matmul(x, y, compute_type=compute_type))
    np.testing.assert_array_equal(product(a, b), exact)
