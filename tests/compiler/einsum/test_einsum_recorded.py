"""einsum on traced values and on MLIR values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import linalg_ext as lx
from einsum_examples import Example, examples
from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, DTypeError, ShapeError

RANDOM = np.random.default_rng(6)
A, B, C = (RANDOM.random(s).astype("f4") - 0.5 for s in ((4, 5), (5, 6), (6, 3)))
SQUARE = RANDOM.random((4, 4))

CASES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("ij,jk->ik", (A, B), {}),
    ("ij,jk,kl->li", (A, B, C), {}),
    ("ij,jk,kl->", (A, B, C), {"optimize": "greedy"}),
    ("ij,jk,kl->il", (A, B, C), {"optimize": False}),
    ("ij->ji", (A,), {}),
    ("ij->", (A,), {}),
    ("ii->i", (SQUARE,), {}),
    ("ii,ij", (SQUARE, SQUARE), {}),
    ("...ij,...jk->...ik", (RANDOM.random((1, 3, 2, 4)), RANDOM.random((5, 1, 4, 2))), {}),
    ("ij,ij->i", (A, A[:1]), {}),
    ("ij,ab->ib", (A, B), {}),
    ("ij,->i", (A, 3), {}),
    ("a,aa,,a", (A[0, :1], SQUARE[:1, :1], 3, A[0, :0]), {}),
    ("ab,ba->ab", (SQUARE[:1, :1], SQUARE[1:2, :1]), {}),
    ("ij,jk,kl->i", (A, B, C), {"kind": "max*"}),
    ("ij,jk->ik", (A, B), {"kind": "min+"}),
    ("ij,jk->ik", (A > 0, B > 0), {"kind": "or and"}),
    ("ij,jk->ik", (A > 0, B > 0), {}),
    ("ij,jk->ik", ((A * 200).astype("i1"), (B * 200).astype("i1")), {}),
    ("ij,jk->ik", (abs(A * 400).astype("u1"), abs(B * 400).astype("u1")), {"dtype": "i4"}),
    ("ij,jk->ik", (abs(A * 400).astype("u1"), abs(B * 400).astype("u1")), {"kind": "max*"}),
    ("ij,jk->ik", (A.astype("f2"), B.astype("f2")), {}),
    ("ij,jk->ik", (A, B), {"compute_type": "f8"}),
]


@pytest.mark.parametrize(("text", "operands", "keywords"), CASES)
def test_traced_equals_arrays(
    text: str, operands: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    want = np.asarray(lx.einsum(text, *operands, **keywords))
    got = lx.jit(lambda *arrays: lx.einsum(text, *arrays, **keywords))(*operands)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-3 if want.dtype == np.float16 else 1e-5)


@settings(max_examples=12, deadline=None)
@given(examples(dtypes=("?", "i1", "u4", "f4", "f8")))
def test_traced_equals_numpy(example: Example) -> None:
    want = np.einsum(example.text, *example.operands)
    got = lx.jit(lambda *arrays: lx.einsum(example.text, *arrays))(*example.operands)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def test_traced_takes_arrays_as_constants_and_the_interleaved_form() -> None:
    f = lx.jit(lambda a: lx.einsum(a, [0, 1], B, [1, 2], [0, 2]) + 1)
    np.testing.assert_allclose(f(A), A @ B + 1, rtol=1e-5)


def test_traced_out_belongs_to_the_compiled_function() -> None:
    with pytest.raises(ArgumentError, match="compiled function"):
        lx.jit(lambda a: lx.einsum("ij->j", a, out=np.empty(5)))(A)
    with pytest.raises(ShapeError, match="label 'j' is size 5 in operand 0"):
        lx.jit(lambda a: lx.einsum("ij,jk", a, A))(A)


def _built(arguments: str, text: str, **keywords: Any) -> str:
    """A function on `arguments`, given as MLIR types, with an einsum of them in it."""
    names = ", ".join(f"%a{n}: {kind}" for n, kind in enumerate(arguments.split("; ")))
    module = lx.parse(f"func.func @f({names}) {{ return }}")
    with module.context, ir.Location.unknown():
        block = module.ir.body.operations[0].regions[0].blocks[0]
        with ir.InsertionPoint.at_block_begin(block):
            values = list(block.arguments)
            if keywords.pop("into_last", False):
                keywords["outs"] = [values.pop()]
            lx.einsum(text, *values, **keywords)
    module.verify()
    return str(module)


def test_values_build_one_op_a_step() -> None:
    text = _built("tensor<4x?xf32>; tensor<?x6xf32>; tensor<6x3xf32>", "ij,jk,kl->il")
    assert text.count("linalg.generic") == 2
    assert "-> tensor<4x3xf32>" in text


def test_values_take_outs_and_accumulate_into_them() -> None:
    text = _built(
        "tensor<4x5xbf16>; tensor<5x6xbf16>; tensor<4x6xf32>", "ij,jk->ik", into_last=True
    )
    assert "outs(%arg2 : tensor<4x6xf32>)" in text
    assert "linalg.fill" not in text
    assert text.count("arith.extf") == 2


def test_memrefs_are_one_op_on_the_memref_given() -> None:
    kinds = "memref<4x5xf32>; memref<5x6xf32>; memref<6x3xf32>; memref<4x3xf32>"
    text = _built(kinds, "ij,jk,kl->il", into_last=True)
    assert text.count("linalg.generic") == 1
    with pytest.raises(ArgumentError, match="memrefs without outs="):
        _built("memref<4x5xf32>", "ij->j")


def test_values_compute_in_the_compute_type_and_cast_once() -> None:
    text = _built("tensor<4x5xbf16>; tensor<5x6xbf16>", "ij,jk->ik", compute_type=np.float32)
    assert text.count("linalg.copy") == 1
    assert "tensor<4x6xbf16>" in text
    number = _built("tensor<5xbf16>; tensor<5xbf16>", "i,i->", compute_type=np.float32)
    assert number.count("linalg.copy") == 1
    assert "-> tensor<bf16>" in number


def test_values_of_several_types_need_a_word() -> None:
    with pytest.raises(DTypeError, match="give dtype="):
        _built("tensor<4x5xbf16>; tensor<5x6xf32>", "ij,jk->ik")
    with pytest.raises(DTypeError, match="leave outs= away"):
        _built("tensor<4xf32>; tensor<f32>", "i->", into_last=True, compute_type="f8")
    with pytest.raises(DTypeError, match="ranked tensor or memref"):
        _built("f32", "->")


def test_values_need_an_insertion_point() -> None:
    module = lx.parse("func.func @f(%a: tensor<4xf32>) { return }")
    value = module.ir.body.operations[0].regions[0].blocks[0].arguments[0]
    with pytest.raises(ArgumentError, match="insertion point"):
        lx.einsum("i->", value)
