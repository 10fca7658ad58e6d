"""What the language says beyond upstream's OpDSL: on arrays, against NumPy."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from linalg_ext.definition.functions import UNARY
from linalg_ext.errors import ArgumentError, DTypeError, NotationError, ShapeError
from linalg_ext.notations import to_yaml
from linalg_ext.opdsl import (
    I32,
    I64,
    TV,
    BinaryFn,
    D,
    IndexAttrDef,
    ReduceFn,
    S,
    T,
    TensorDef,
    TernaryFn,
    TypeFn,
    U,
    UnaryFn,
    UnaryFnAttrDef,
    fold,
    index,
    linalg_structured_op,
    size,
    structured_op,
)

Array = np.ndarray[Any, Any]
I1 = TV.I1


def random(*shape: int, dtype: Any = np.float64) -> Array:
    return np.random.default_rng(3).uniform(0.1, 0.9, shape).astype(dtype)


@structured_op
def argmax(
    A=TensorDef(T, S.M, S.N),
    V=TensorDef(T, S.M, output=True),
    I=TensorDef(I64, S.M, output=True),  # noqa: E741
):
    better = A[D.m, D.n] > V[D.m]
    place = TypeFn.cast_signed(I64, index(D.n))
    V[D.m] = fold[D.n](TernaryFn.select(better, A[D.m, D.n], V[D.m]), init=ReduceFn.max)
    I[D.m] = fold[D.n](TernaryFn.select(better, place, I[D.m]), init=0)


@structured_op
def mean(A=TensorDef(T, S.M, S.N), C=TensorDef(T, S.M, output=True)):
    C[D.m] += A[D.m, D.n] / TypeFn.cast_signed(T, size(S.N))


@structured_op
def upsample(
    A=TensorDef(T, S.N),
    C=TensorDef(T, S.N * S.R, output=True),
    factor=IndexAttrDef(S.R, default=[2]),
):
    C[D.n] = A[D.n // S.R]


@structured_op
def flip(A=TensorDef(T, S.N), C=TensorDef(T, S.N, output=True)):
    C[D.n] = A[S.N - 1 - D.n]


@structured_op
def tile(A=TensorDef(T, S.N), C=TensorDef(T, S.N * 3, output=True)):
    C[D.n] = A[D.n % S.N]


@structured_op
def causal(A=TensorDef(T, S.M, S.N), C=TensorDef(T, S.M, S.N, output=True)):
    C[D.m, D.n] = TernaryFn.select(BinaryFn.ge(index(D.m), index(D.n)), A[D.m, D.n], -1)


@structured_op
def hamming(A=TensorDef(T, S.N), B=TensorDef(T, S.N), C=TensorDef(I32, output=True)):
    C[None] += TypeFn.cast_unsigned(I32, BinaryFn.ne(A[D.n], B[D.n]))


@structured_op
def between(A=TensorDef(T), C=TensorDef(I1, output=True)):
    C[None] = (A[None] >= 0.3) & ~(A[None] > 0.6)


@structured_op
def any_above(A=TensorDef(T, S.M, S.N), C=TensorDef(I1, S.M, output=True)):
    C[D.m] = ReduceFn.or_[D.n](A[D.m, D.n] > 0.8)


@structured_op
def parity(A=TensorDef(T, S.M, S.N), C=TensorDef(T, S.M, output=True)):
    C[D.m] = ReduceFn.xor[D.n](A[D.m, D.n])


@structured_op
def unary(A=TensorDef(T), C=TensorDef(T, output=True), fun=UnaryFnAttrDef(default=UnaryFn.sin)):
    C[None] = fun(A[None])


@structured_op
def three_by(A=TensorDef(T, 3, S.N), C=TensorDef(T, S.N, 3, output=True)):
    C[D.n, D.t] = A[D.t, D.n] ** 2


@structured_op
def limited(A=TensorDef(T), C=TensorDef(T, output=True)):
    C[None] = TernaryFn.clamp(A[None], 0.25, 0.5) + TernaryFn.fma(A[None], A[None], 1)


@structured_op
def running(A=TensorDef(T, S.N), C=TensorDef(T, output=True)):
    C[None] = fold[D.n](C[None] * 0.5 + A[D.n])


def test_argmax_is_a_fold_of_two_outputs() -> None:
    a = random(5, 7)
    largest, place = argmax(a)
    np.testing.assert_array_equal(largest, a.max(1))
    np.testing.assert_array_equal(place, a.argmax(1))
    assert place.dtype == np.int64
    lowest = np.full((2, 3), np.iinfo(np.int32).min, np.int32)
    np.testing.assert_array_equal(argmax(lowest)[0], lowest[:, 0])


def test_a_fold_without_a_start_needs_init() -> None:
    a = random(6)
    expected = 0.0
    for value in a:
        expected = expected * 0.5 + value
    np.testing.assert_allclose(running(a, init=np.array(0.0)), expected)
    with pytest.raises(ArgumentError, match=r"a fold that states no start(.|\n)*init="):
        running(a)


def test_sizes_are_values() -> None:
    a = random(4, 9, dtype=np.float32)
    np.testing.assert_allclose(mean(a), a.mean(1), rtol=1e-6)


@pytest.mark.parametrize("factor", [1, 2, 3])
def test_attributes_and_quotients_in_shapes(factor: int) -> None:
    a = random(4)
    np.testing.assert_array_equal(upsample(a, factor=factor), np.repeat(a, factor))


def test_an_output_of_another_size_than_declared() -> None:
    with pytest.raises(ShapeError, match=r"C has size 7 along axis 0, which is declared as N \* R"):
        upsample(random(4), out=np.empty(7))


def test_indices_may_run_backwards_and_around() -> None:
    a = random(5)
    np.testing.assert_array_equal(flip(a), a[::-1])
    np.testing.assert_array_equal(tile(a), np.tile(a, 3))


def test_comparisons_of_positions() -> None:
    a = random(4, 4)
    np.testing.assert_array_equal(causal(a), np.where(np.tri(4, dtype=bool), a, -1))


def test_comparisons_of_elements() -> None:
    a, b = np.array([1, 2, 3, 4]), np.array([1, 5, 3, 0])
    assert hamming(a, b) == 2
    x = random(20)
    np.testing.assert_array_equal(between(x), (x >= 0.3) & ~(x > 0.6))
    np.testing.assert_array_equal(any_above(x.reshape(4, 5)), (x.reshape(4, 5) > 0.8).any(1))


def test_nan_compares_as_ieee_says() -> None:
    x = np.array([np.nan, 0.5])
    np.testing.assert_array_equal(between(x), [False, True])
    assert hamming(x, x) == 1


def test_unsigned_arrays_compare_by_value() -> None:
    a = np.array([[3, 200], [250, 7]], np.uint8)
    np.testing.assert_array_equal(argmax(a)[1], [1, 0])


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.bool_])
def test_reduction_of_bits(dtype: Any) -> None:
    a = np.random.default_rng(1).integers(0, 2, (3, 9)).astype(dtype)
    np.testing.assert_array_equal(parity(a), np.bitwise_xor.reduce(a, axis=1))


def test_bits_of_floats_have_no_meaning() -> None:
    with pytest.raises(DTypeError, match="xor has no meaning for f"):
        parity(random(2, 2))


NUMPY = {
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
    "roundeven": "rint",
    "negf": "negative",
}
"""NumPy's names, where they are others."""


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", [n for n in UNARY if n not in ("not", "erf", "erfc", "round")])
def test_unary_functions(name: str, dtype: Any) -> None:
    x = random(8, dtype=dtype) + (1 if name == "acosh" else 0)
    expected = {
        "rsqrt": lambda v: 1 / np.sqrt(v),
    }.get(name, getattr(np, NUMPY.get(name, name), None))
    assert expected is not None
    np.testing.assert_allclose(unary(x, fun=name), expected(x), rtol=1e-6)


@pytest.mark.parametrize(
    "name", ["sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "expm1", "log1p", "log2", "conj"]
)
def test_unary_functions_of_complex_numbers(name: str) -> None:
    z = random(6) + 1j * random(6)
    np.testing.assert_allclose(unary(z, fun=name), getattr(np, name)(z), rtol=1e-6)


def test_clamp_fma_and_powers() -> None:
    x = random(9)
    np.testing.assert_allclose(limited(x), np.clip(x, 0.25, 0.5) + x * x + 1)
    a = random(3, 2)
    np.testing.assert_allclose(three_by(a), a.T**2)
    with pytest.raises(ShapeError, match="A has size 4 along axis 0, which is declared as 3"):
        three_by(random(4, 2))


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (mean, r"size\(N\): upstream's YAML holds no sizes as values"),
        (hamming, "applies ne, which upstream's YAML has no name for"),
        (parity, "applies xor"),
        (three_by, None),
    ],
)
def test_what_yaml_cannot_hold_is_refused_by_name(op: Any, message: str | None) -> None:
    if message is None:
        assert "affine_map<()[s0] -> (3, s0)>" in to_yaml(op)
        return
    with pytest.raises(NotationError, match=message):
        to_yaml(op)


@structured_op
def padded(
    A=TensorDef(T, S.N),
    C=TensorDef(T, S.L + S.N, output=True),
    low=IndexAttrDef(S.L, default=[0], minimum=0),
):
    place = index(D.n) - size(S.L)
    C[D.n] = TernaryFn.select(place >= 0, A[(D.n - S.L) % S.N], 0)


@structured_op
def windows(
    A=TensorDef(T, S.O + S.K),
    C=TensorDef(T, S.O, S.K, output=True),
    width=IndexAttrDef(S.K, default=[2]),
):
    C[D.o, D.k] = A[D.o + D.k]


@structured_op
def halved(A=TensorDef(T), C=TensorDef(T, output=True)):
    C[None] = A[None] * 0.5


def test_numbers_beside_positions_and_attributes_of_zero() -> None:
    a = random(3)
    np.testing.assert_array_equal(padded(a), a)
    np.testing.assert_array_equal(padded(a, low=2), [0, 0, *a])
    with pytest.raises(ArgumentError, match=r"low = \[-1\] is negative(.|\n)*0 or more"):
        padded(a, low=-1)


def test_an_attribute_may_be_the_size_of_a_window() -> None:
    np.testing.assert_array_equal(windows(np.arange(4)), [[0, 1], [1, 2], [2, 3]])
    assert windows(np.arange(4), width=4).shape == (1, 4)


def test_a_fraction_is_no_integer() -> None:
    np.testing.assert_array_equal(halved(np.array([3.0])), [1.5])
    with pytest.raises(DTypeError, match=r"halved: 0\.5 has no meaning for i32"):
        halved(np.array([3], np.int32))


def test_yaml_in_part_says_what_it_leaves_out() -> None:
    text = to_yaml(hamming, three_by, mean, partial=True)
    assert text.startswith("# Left out, because upstream's YAML cannot hold it:\n# hamming applies")
    assert "# mean computes with size(N)" in text
    assert text.count("--- !LinalgOpConfig") == 1
    assert to_yaml(hamming, partial=True).count("\n") == 2
    assert to_yaml(three_by, partial=True) == to_yaml(three_by)


def test_an_op_of_a_module_is_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(mean)) is mean


def test_the_absolute_value_of_complex_numbers_is_real() -> None:
    @structured_op
    def magnitude(A=TensorDef(T), C=TensorDef(U, output=True)):
        C[None] = UnaryFn.abs(A[None])

    z = random(6) - 1j * random(6)
    np.testing.assert_allclose(magnitude(z, dtype=np.float64), np.abs(z))
    assert magnitude.definition.reference(z, dtype=np.float64).dtype == np.float64


def test_upstream_may_declare_an_attribute_that_nothing_applies() -> None:
    @linalg_structured_op
    def product(
        A=TensorDef(T, S.M),
        C=TensorDef(T, S.M, output=True),
        unused=UnaryFnAttrDef(default=UnaryFn.exp),
    ):
        C[D.m] = A[D.m] * A[D.m]

    assert "name: unused" in to_yaml(product)


def test_parameters_by_keyword_alone_declare_operands() -> None:
    @structured_op
    def doubled(A=TensorDef(T, S.M), *, C=TensorDef(T, S.M, output=True)):
        C[D.m] = A[D.m] + A[D.m]

    np.testing.assert_array_equal(doubled(np.ones(2)), [2, 2])
    np.testing.assert_array_equal(doubled(A=np.ones(2)), [2, 2])
