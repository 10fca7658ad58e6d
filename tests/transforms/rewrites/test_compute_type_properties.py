"""Random ops at random types in random compute types, against the oracle; einsum beside them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import linalg_ext as lx
from compute_types import Stated, assert_close, dtype_of, run
from core_ops import build, problem
from linalg_ext.errors import LinalgExtError

OPS = (
    *("matmul", "batch_matmul", "row_sum", "row_max", "dot", "pooling_nwc_max"),
    *("pooling_nwc_max_unsigned", "conv_1d_nwc_wcf", "add", "mul", "div", "max", "exp", "copy"),
    *("select", "quantized_matmul", "dequantize_product", "relu"),
)
STORED = (
    *(np.float32, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2),
    *(np.int8, np.int16, np.int32, np.int64),
)
COMPUTE = ("f16", "bf16", "f32", "f64", "i16", "i32", "i64")


@st.composite
def statements(draw: st.DrawFn) -> Stated:
    op = getattr(lx.ops, draw(st.sampled_from(OPS)))
    dtypes = {str(type_var): draw(st.sampled_from(STORED)) for type_var in op.definition.type_vars}
    case = problem(op, np.float32, dtypes=dtypes, seed=draw(st.integers(0, 99)))
    stated = Stated(case, draw(st.sampled_from(COMPUTE)))
    try:
        stated.form()
        build([case])
    except LinalgExtError:
        assume(False)  # no meaning for the types
    return stated


@settings(max_examples=40, deadline=None)
@given(statements(), st.booleans(), st.booleans())
def test_compiled_code_and_the_oracle_agree(
    stated: Stated, emit_generic: bool, memref: bool
) -> None:
    ((name, got),) = run([stated], emit_generic=emit_generic, memref=memref)
    expected = stated.reference()
    if stated.compute.startswith("i") or expected[0].dtype.kind != "i":
        assert_close(got, expected, stated.compute, f"{name} in {stated.compute}")
        return
    # A float that the two sum in another order may be truncated to the integer beside.
    for x, y in zip(got, expected, strict=True):
        assert np.abs(x.astype(np.int64) - y.astype(np.int64)).max(initial=0) <= 1


@pytest.mark.parametrize("compute", ["f16", "bf16", "f32", "f64"])
def test_einsum_computes_in_the_same(compute: str) -> None:
    """Where one product is summed, a compute type of an einsum is that of a matmul."""
    random = np.random.default_rng(1)
    a, b = (random.integers(-4, 5, s).astype(np.int8) for s in ((5, 7), (7, 6)))
    expected = lx.einsum(
        "mk,kn->mn", a, b, compute_type=dtype_of(compute), dtype=np.int32, casting="unsafe"
    )
    text = f"""
        func.func @f(%a: tensor<5x7xi8>, %b: tensor<7x6xi8>, %c: tensor<5x6xi32>)
            -> tensor<5x6xi32> {{
          %r = linalg.matmul {{linalg_ext.compute_type = {compute}}}
                 ins(%a, %b : tensor<5x7xi8>, tensor<7x6xi8>)
                 outs(%c : tensor<5x6xi32>) -> tensor<5x6xi32>
          return %r : tensor<5x6xi32>
        }}"""
    got = lx.compile(text, entry="f")(a, b, np.zeros((5, 6), np.int32))
    np.testing.assert_array_equal(got, expected)
