"""Definitions derived into a compute type: casts, conditions, roundings, refusals, oracles."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linalg_ext as lx
from compute_types import dtype_of
from linalg_ext.definition.attributes import resolve_attributes
from linalg_ext.definition.compute_type import ComputeForm, in_compute_type
from linalg_ext.definition.model import OpDefinition
from linalg_ext.definition.specialization import specialize
from linalg_ext.definition.types import family, has_function, holds
from linalg_ext.errors import DefinitionError, DTypeError
from linalg_ext.notations.formula import formula
from linalg_ext.opdsl import (
    I32,
    T1,
    T2,
    TV,
    BinaryFn,
    D,
    S,
    TensorDef,
    TernaryFn,
    TypeFn,
    U,
    UnaryFn,
    index,
    structured_op,
)
from linalg_ext.runtime.dtypes import element_types

FLOATS = [e.mlir for e in element_types() if e.kind == "float" and e.mlir != "f8E8M0FNU"]
INTEGERS = ["i4", "i8", "i16", "i32", "i64"]


def form(definition: OpDefinition, types: dict[str, str], compute: str, **more: Any) -> ComputeForm:
    """The form of an op at types, given by the names of its own type variables."""
    at = specialize(definition, types, resolve_attributes(definition, {}))
    before, after = ([*each.inputs, *each.outputs] for each in (definition, at))
    named = {
        str(new.type_var): types.get(str(old.type_var), str(old.type_var).lower())
        for old, new in zip(before, after, strict=True)
    }
    return in_compute_type(at, named, compute, **more)


def text(definition: OpDefinition) -> str:
    return formula(definition, casts=True)


MIXED = {"T1": "bf16", "T2": "f32", "U": "i8"}


def test_the_product_of_the_wish_list() -> None:
    found = form(lx.ops.matmul.definition, MIXED, "f32")
    assert text(found.definition) == "C[m, n] = Σ_{k} T2(A[m, k]) * B[k, n]"
    assert [str(o.type_var) for o in found.definition.outputs] == ["T2"]
    each = found.at_every_point()
    assert text(each).endswith("T3(T2(C[m, n]) + T2(A[m, k]) * B[k, n])")
    assert text(found.cast_out(found.outputs[0])) == "O = T3(I)"
    assert text(found.cast_in(found.outputs[0])) == "O = T2(I)"


def test_without_a_compute_type_the_inputs_are_truncated_first() -> None:
    a = np.full((1, 4), 0.9, ml_dtypes.bfloat16)
    b = np.full((4, 1), 1.9, np.float32)
    before = np.zeros((1, 1), np.int8)
    assert lx.ops.matmul.definition.reference(a, b, init=before) == 0
    found = form(lx.ops.matmul.definition, MIXED, "f32")
    (once,) = found.reference(a, b, init=(before,), compute_dtype=np.dtype(np.float32))
    assert once == 6  # 4 * 0.8984375 * 1.9 is 6.83
    # At every step: 1.7 to 1, 2.7 to 2, 3.7 to 3, 4.7 to 4.
    assert found.at_every_point().reference(a, b, init=before) == 4


def test_the_initial_value_is_cast_in() -> None:
    found = form(lx.ops.matmul.definition, MIXED, "f32")
    a, b = np.full((1, 1), 0.5, ml_dtypes.bfloat16), np.full((1, 1), 1.0, np.float32)
    before = np.full((1, 1), -1, np.int8)
    (result,) = found.reference(a, b, init=(before,), compute_dtype=np.dtype(np.float32))
    assert result == 0  # -0.5 towards zero


@structured_op
def twice_cast(A=TensorDef(TV.I8, S.M), R=TensorDef(U, S.M, output=True)):
    R[D.m] = UnaryFn.exp(TypeFn.cast_signed(U, TypeFn.cast_unsigned(I32, A[D.m])))


def test_a_chain_of_casts_is_one_and_keeps_the_sign_it_reads_with() -> None:
    found = form(twice_cast.definition, {"I8": "i8", "U": "bf16"}, "f32")
    arrays = np.array([-1], np.int8)
    (result,) = found.reference(
        arrays, init=(np.zeros(1, ml_dtypes.bfloat16),), compute_dtype=np.dtype(np.float32)
    )
    assert np.isinf(result)  # exp(255), not exp(-1)
    assert str(found.definition.assignments[0].value).count("cast") == 1


@structured_op
def rounded_input(A=TensorDef(T1, S.M), R=TensorDef(T1, S.M, output=True)):
    R[D.m] = TypeFn.cast_signed(T1, TypeFn.cast_signed(TV.I8, A[D.m])) + A[D.m]


@structured_op
def rounded_product(A=TensorDef(T1, S.M), B=TensorDef(T1, S.M), R=TensorDef(T1, S.M, output=True)):
    R[D.m] = TypeFn.cast_signed(T1, TypeFn.cast_signed(TV.BF16, A[D.m] * B[D.m])) + A[D.m]


@pytest.mark.parametrize(("op", "cast"), [(rounded_input, "i8"), (rounded_product, "bf16")])
def test_a_rounding_in_the_middle_stays(op: Any, cast: str) -> None:
    count = len(op.definition.inputs)
    arrays = [np.array([2.7001953125, -3.3], np.float32)] * count
    found = form(op.definition, {"T1": "f32"}, "f64")
    (result,) = found.reference(
        *arrays, init=(np.zeros(2, np.float32),), compute_dtype=np.dtype(np.float64)
    )
    x = arrays[0].astype(np.float64)
    middle = (x if count == 1 else x * x).astype(dtype_of(cast)).astype(np.float64)
    np.testing.assert_array_equal(result, (middle + x).astype(np.float32))


def test_a_rounding_in_the_middle_that_the_compute_type_makes_anyway_is_none() -> None:
    found = form(rounded_product.definition, {"T1": "f32"}, "bf16")
    assert str(found.definition.assignments[0].value).count("cast") == 3  # the inputs alone


@structured_op
def wrapped(A=TensorDef(I32, S.M), R=TensorDef(I32, S.M, output=True)):
    R[D.m] = TypeFn.cast_signed(I32, TypeFn.cast_signed(TV.I8, A[D.m] + A[D.m])) + A[D.m]


@structured_op
def reinterpreted(A=TensorDef(TV.I8, S.M), R=TensorDef(I32, S.M, output=True)):
    R[D.m] = TypeFn.cast_unsigned(I32, A[D.m] + A[D.m])


def test_casts_without_a_counterpart_are_refused() -> None:
    with pytest.raises(DTypeError, match="reads a computed i8 as unsigned"):
        form(reinterpreted.definition, {}, "i16")


@structured_op
def larger(A=TensorDef(T1, S.M), B=TensorDef(T2, S.M), R=TensorDef(TV.I1, S.M, output=True)):
    R[D.m] = (TypeFn.cast_signed(T2, A[D.m]) > B[D.m]) & (B[D.m] > TypeFn.cast_signed(T2, 0))


@structured_op
def chosen(A=TensorDef(T1, S.M), B=TensorDef(T1, S.M), R=TensorDef(T1, S.M, output=True)):
    R[D.m] = TernaryFn.select(A[D.m] > B[D.m], A[D.m] * B[D.m], B[D.m])


def test_comparisons_stay_conditions() -> None:
    found = form(larger.definition, {"T1": "bf16", "T2": "f16"}, "f32")
    assert found.outputs[0].is_cast is False
    a = np.array([1.0, 1.0, -1.0], ml_dtypes.bfloat16)
    b = np.array([0.999, 1.001, -2.0], np.float16)
    before = np.zeros(3, np.bool_)
    (result,) = found.reference(a, b, init=(before,), compute_dtype=np.dtype(np.float32))
    np.testing.assert_array_equal(result, [True, False, False])
    selected = form(chosen.definition, {"T1": "bf16"}, "f32")
    assert str(selected.definition.assignments[0].value).startswith("select(gt(cast_signed(F32")


@structured_op
def distance(A=TensorDef(T1, S.M), R=TensorDef(T1, S.M, output=True)):
    R[D.m] = A[D.m] * TypeFn.cast_signed(T1, index(D.m) * index(D.m))


@pytest.mark.parametrize("compute", ["f32", "i64"])
def test_an_integer_that_wraps_around_still_does(compute: str) -> None:
    numbers = np.array([100, 3], np.int32)
    found = form(wrapped.definition, {}, compute)
    (result,) = found.reference(
        numbers, init=(np.zeros(2, np.int32),), compute_dtype=dtype_of(compute)
    )
    np.testing.assert_array_equal(result, [200 - 256 + 100, 9])


def test_integers_computed_for_a_float_stay_integers() -> None:
    size = 300
    ones = np.ones(size, np.float32)
    found = form(distance.definition, {"T1": "f32"}, "bf16")
    (result,) = found.reference(ones, init=(ones,), compute_dtype=np.dtype(ml_dtypes.bfloat16))
    squares = np.arange(size) ** 2
    np.testing.assert_array_equal(result, squares.astype(ml_dtypes.bfloat16).astype(np.float32))


def test_unsigned_functions_read_their_operands_as_unsigned() -> None:
    op = lx.ops.pooling_nwc_max_unsigned.definition
    found = form(op, dict.fromkeys(("T1", "T2", "U"), "i8"), "i32")
    image = np.array([-1, 5], np.int8).reshape(1, 2, 1)
    window, before = np.zeros(2, np.int8), np.zeros((1, 1, 1), np.int8)
    (result,) = found.reference(image, window, init=(before,), compute_dtype=np.dtype(np.int32))
    assert result == -1  # 255


def test_integers_that_nothing_casts_are_unsigned_where_that_is_said() -> None:
    matmul = lx.ops.matmul.definition
    a = np.full((1, 1), -56, np.int8)  # 200
    one, before = np.ones((1, 1), np.int8), np.zeros((1, 1), np.int8)
    for unsigned, expected in ((False, -7), (True, 25)):
        found = form(matmul, dict.fromkeys(("T1", "T2", "U"), "i8"), "f32", unsigned=unsigned)
        eighth = found.definition.reference(a, one, init=before.astype(np.float32)) / 8
        assert eighth == expected


def test_attributes_must_be_known() -> None:
    with pytest.raises(DefinitionError, match="matmul leaves cast open"):
        in_compute_type(lx.ops.matmul.definition, MIXED, "f32")


def test_a_function_without_meaning_is_named_with_the_type() -> None:
    with pytest.raises(DTypeError, match="exp cannot be computed in i32: exp has no meaning"):
        form(lx.ops.exp.definition, {"T1": "f32"}, "i32")
    with pytest.raises(DTypeError, match=r"the constant 0\.5 has no meaning"):
        form(halved.definition, {"T1": "f32"}, "i32")
    with pytest.raises(DTypeError, match="an op on complex<f32>"):
        form(lx.ops.exp.definition, {"T1": "complex<f32>"}, "f32")


@structured_op
def halved(A=TensorDef(T1, S.M), R=TensorDef(T1, S.M, output=True)):
    R[D.m] = BinaryFn.add(A[D.m], TypeFn.cast_signed(T1, 0.5))


@pytest.mark.parametrize("compute", ["index", "si8", "vector<4xf32>", "none", "f8E8M0FNU", ""])
def test_what_is_no_compute_type(compute: str) -> None:
    with pytest.raises(DTypeError, match="compute"):
        form(lx.ops.exp.definition, {"T1": "f32"}, compute)


@pytest.mark.parametrize("wide", FLOATS)
@pytest.mark.parametrize("narrow", [*FLOATS, *INTEGERS])
def test_what_a_float_holds_survives_it(wide: str, narrow: str) -> None:
    """Every value of the narrower type, up to 16 bits, or its extremes, there and back."""
    dtype = dtype_of(narrow)
    if dtype.itemsize <= 2:
        values = np.arange(2 ** (8 * dtype.itemsize), dtype=np.uint32)
        values = values.astype(f"u{dtype.itemsize}").view(dtype)
    elif family(narrow) == "float":
        info: Any = ml_dtypes.finfo(dtype)
        values = np.array([info.max, info.tiny, info.smallest_subnormal, 1 + info.eps], dtype)
    else:
        values = np.array([2 ** (8 * dtype.itemsize - 1) - 1], dtype)
    with np.errstate(all="ignore"):
        exact = values.astype(np.int64 if "int" in dtype.name else np.float64)
    exact = exact[np.isfinite(exact.astype(np.float64))]
    with np.errstate(all="ignore"):
        back = exact.astype(dtype_of(wide)).astype(exact.dtype)
    survives = bool((back == exact).all())
    # Formats without infinities, or with more exponents than their name shows, may hold more.
    assert survives or not holds(wide, narrow)
    if wide in ("f16", "bf16", "f32", "f64") and narrow in ("f16", "bf16", "f32", "f64", *INTEGERS):
        assert survives == holds(wide, narrow)


def test_types_have_the_functions_that_their_family_has() -> None:
    assert has_function("bf16", "exp")
    assert not has_function("i8", "exp")
    assert not has_function("f32", "xor")
    assert not has_function("none", "add")


@st.composite
def saturations(draw: st.DrawFn) -> tuple[str, str, np.ndarray[Any, Any]]:
    source = draw(st.sampled_from(["f16", "bf16", "f32", "f64", "i16", "i32", "i64"]))
    target = draw(st.sampled_from(["i8", "i16", "i32", "f16", "bf16", "f8E4M3FN", "f8E5M2"]))
    if family(source) == "integer":
        values = draw(st.lists(st.integers(-(2**15), 2**15 - 1), min_size=1, max_size=8))
        return source, target, np.array(values, dtype_of(source))
    numbers = st.floats(allow_nan=True, allow_infinity=True, width=16)
    wide = st.sampled_from([1e30, -1e30, 2147483647.0, -2147483648.0, 2147483648.0, 127.5, -128.5])
    drawn = draw(st.lists(st.one_of(numbers, wide), min_size=1, max_size=8))
    with np.errstate(all="ignore"):
        return source, target, np.array(drawn, np.float64).astype(dtype_of(source))


@settings(deadline=None)
@given(saturations())
def test_saturation_keeps_to_the_range(
    case: tuple[str, str, np.ndarray[Any, Any]],
) -> None:
    source, target, values = case
    op = form(lx.ops.copy.definition, {"T1": source, "U": target}, source)
    if not op.outputs[0].is_cast:
        return
    dtype = dtype_of(target)
    definition = op.cast_out(op.outputs[0], saturate=True)
    got = definition.reference(values, init=np.zeros(values.shape, dtype))
    for x, y in zip(values.astype(np.float64), got.astype(np.float64), strict=True):
        assert y == pytest.approx(expected_in_range(x, source, dtype), nan_ok=True, rel=0)


def expected_in_range(x: float, source: str, dtype: np.dtype[Any]) -> float:
    if family(source) == "integer" and dtype.kind != "i":
        return float(np.asarray(x).astype(dtype))
    if np.isnan(x):
        return 0.0 if dtype.kind == "i" else x
    if dtype.kind == "i":
        limits: Any = np.iinfo(dtype)
        return float(min(max(np.trunc(x), limits.min), limits.max))
    info: Any = ml_dtypes.finfo(dtype)
    own: Any = ml_dtypes.finfo(dtype_of(source))
    if float(own.max) > float(info.max):
        x = min(max(x, -float(info.max)), float(info.max))
    with np.errstate(all="ignore"):
        return float(np.asarray(x).astype(dtype))
