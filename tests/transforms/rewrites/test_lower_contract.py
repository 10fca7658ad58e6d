"""Contractions lowered: the documented text, the op that each pair becomes, the options."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import linalg_ext as lx
from linalg_ext.bindings import func, ir
from linalg_ext.dialects.linalg_ext import contract
from linalg_ext.errors import ArgumentError, ExecutionError, PipelineError
from linalg_ext.ir.context import new_context
from linalg_ext.module import Module
from linalg_ext.notations.einsum.plan import PATHS

lower_contract = lx.transforms.lower_contract

SIZES = {"b": 2, "m": 3, "n": 4, "k": 5, "l": 2, "o": 3, "p": 2}


def module_of(
    text: str,
    *,
    element: str = "f32",
    stored: str | None = None,
    overwrite: bool = False,
    kind: str = "+*",
    compute_type: str | None = None,
    dynamic: bool = False,
    notes: bool = False,
) -> Module:
    """A function of the operands and the destination of an einsum."""
    inputs, output = text.split("->")
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        unknown = ir.ShapedType.get_dynamic_size()
        types = [
            ir.RankedTensorType.get(
                [unknown if dynamic else SIZES[label] for label in term], ir.Type.parse(each)
            )
            for term, each in [
                *((term, element) for term in inputs.split(",")),
                (output, stored or element),
            ]
        ]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", (types, types[-1:]))
        with ir.InsertionPoint(function.add_entry_block()):
            *operands, destination = function.arguments
            result = contract(
                *operands,
                outs=destination,
                maps=text,
                overwrite=overwrite,
                kind=kind,
                compute_type=compute_type,
            )
            if notes:
                ir.OpResult(result).owner.attributes["my.note"] = ir.UnitAttr.get()
            func.ReturnOp([result])
        return Module.of(module)


def arrays_of(text: str) -> list[NDArray[np.float32]]:
    rng = np.random.default_rng(0)
    terms = text.replace("->", ",").split(",")
    return [
        rng.integers(-3, 4, [SIZES[label] for label in term]).astype(np.float32) for term in terms
    ]


SPECIFIC = {
    "k,k->": ["linalg.dot"],
    "mk,k->m": ["linalg.matvec"],
    "k,mk->m": ["linalg.matvec"],
    "k,kn->n": ["linalg.vecmat"],
    "km,k->m": ["linalg.vecmat"],
    "mk,kn->mn": ["linalg.matmul ins"],
    "mk,kn->nm": ["linalg.matmul indexing_maps"],
    "km,nk->mn": ["linalg.matmul indexing_maps"],
    "bmk,bkn->bmn": ["linalg.batch_matmul ins"],
    "bmk,kn->bmn": ["linalg.batch_matmul indexing_maps"],
    "bmk,bkn->mn": ["linalg.batch_reduce_matmul ins"],
    "bmk,bk->bm": ["linalg.batch_matvec"],
    "bk,bkn->bn": ["linalg.batch_vecmat"],
    "mkop,nklp->mnol": ["linalg.mmt4d"],
    "mbk,bkn->mbn": ["linalg.contract"],
    "mkl,kln->mn": ["linalg.contract"],
    "mkk,kn->mn": ["linalg.generic", "linalg.matmul ins"],
    "mkl,kn->mn": ["linalg.generic", "linalg.matmul ins"],
    "m,n->mn": ["linalg.generic"],
    "mm->m": ["linalg.generic"],
    "mk->m": ["linalg.generic"],
}


def structured_ops(module: Module) -> list[str]:
    """The lines of a module that hold structured ops, without those that only fill."""
    return [
        line.partition("= ")[2]
        for line in str(module).splitlines()
        if "= linalg." in line and "linalg.fill" not in line
    ]


@pytest.mark.parametrize("text", SPECIFIC)
def test_each_pair_is_the_most_specific_op(text: str) -> None:
    module = module_of(text)
    before = module.clone()
    lower_contract(module)
    found = structured_ops(module)
    assert len(found) == len(SPECIFIC[text])
    for line, wanted in zip(found, SPECIFIC[text], strict=True):
        assert line.startswith(wanted)
    arrays = arrays_of(text)
    wanted_sum = np.einsum(text, *arrays[:-1]) + arrays[-1]
    for each in (before, module):
        np.testing.assert_array_equal(lx.compile(each)(*arrays), wanted_sum)


@pytest.mark.parametrize("text", ["m,n->mn", "mk->km", "mk,mk->mk"])
def test_what_is_overwritten_needs_no_sum(text: str) -> None:
    module = module_of(text, overwrite=True)
    lower_contract(module)
    wanted = {
        "m,n->mn": "linalg.elementwise",
        "mk->km": "linalg.transpose",
        "mk,mk->mk": "linalg.mul",
    }[text]
    (line,) = [
        line for line in str(module).splitlines() if "linalg." in line and "func.func" not in line
    ]
    assert wanted in line
    arrays = arrays_of(text)
    expected = np.einsum(text, *arrays[:-1])
    np.testing.assert_array_equal(lx.compile(module)(*arrays), expected)


def test_generics_where_no_names_are_wanted() -> None:
    module = module_of("mk,kn,no->mo")
    lower_contract(module, named=False)
    assert [line.split()[0] for line in structured_ops(module)] == ["linalg.generic"] * 2


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_every_path_gives_the_same(path: str, dynamic: bool) -> None:
    text = "mk,kn,no,bop,bl->mp"
    module = module_of(text, dynamic=dynamic)
    lower_contract(module, path=path)
    arrays = arrays_of(text)
    expected = np.einsum(text, *arrays[:-1]) + arrays[-1]
    np.testing.assert_array_equal(lx.compile(module)(*arrays), expected)


def test_from_left_to_right() -> None:
    """Of a chain whose end is narrow the cheapest path begins there."""
    assert lx.structured.explain_contraction(
        "ij,jk,k->i", [(9, 8), (8, 7), (7,)], path="naive"
    ).ops == ("linalg.matmul", "linalg.matvec")
    assert lx.structured.explain_contraction(
        "ij,jk,k->i", [(9, 8), (8, 7), (7,)], path="optimal"
    ).ops == ("linalg.matvec", "linalg.matvec")


def test_an_unknown_path_lists_those_that_are_known() -> None:
    with pytest.raises(ArgumentError, match="'optimal'"):
        lower_contract(module_of("mk,kn->mn"), path="shortest")


def test_in_a_pipeline() -> None:
    module = module_of("mk,kn,no->mo")
    module.run("linalg-ext-lower-contract{path=cost named=false},cse")
    assert "linalg.generic" in str(module)
    with pytest.raises(PipelineError, match="flops-per-byte"):
        module.run("linalg-ext-lower-contract{order=cost}")


def test_the_sum_is_cast_once() -> None:
    """Small numbers that bfloat16 would drop one by one count where float32 adds them up."""
    text = "k,k->"
    module = module_of(text, element="bf16", compute_type="f32")
    lower_contract(module)
    assert "tensor<f32>" in str(module)
    assert "compute_type" not in str(module)
    ones = np.ones(5, ml_dtypes.bfloat16)
    start = np.asarray(256, ml_dtypes.bfloat16)
    result = lx.compile(module)(ones, ones, start)
    assert float(result) == float(np.asarray(261.0).astype(ml_dtypes.bfloat16)) > 256
    plain = module_of(text, element="bf16")
    assert float(lx.compile(plain)(ones, ones, start)) == 256


def test_another_type_is_stored() -> None:
    module = module_of("mk,kn->mn", element="bf16", stored="i8", compute_type="f32")
    lower_contract(module)
    arrays = [a.astype(ml_dtypes.bfloat16) / 2 for a in arrays_of("mk,kn->mn")]
    start = arrays[-1].astype(np.int8)
    expected = np.einsum("mk,kn->mn", *(a.astype("f4") for a in arrays[:2])) + start
    np.testing.assert_array_equal(lx.compile(module)(*arrays[:2], start), expected.astype(np.int8))


def test_a_start_of_zeros_is_one_in_the_compute_type() -> None:
    """A fill in the stored type and a cast of it would be work for nothing."""
    text = """func.func @main(%a: tensor<3x5xbf16>, %b: tensor<5x4xbf16>) -> tensor<3x4xbf16> {
      %z = arith.constant 0.0 : bf16
      %e = tensor.empty() : tensor<3x4xbf16>
      %f = linalg.fill ins(%z : bf16) outs(%e : tensor<3x4xbf16>) -> tensor<3x4xbf16>
      %r = linalg.matmul {linalg_ext.compute_type = f32}
        ins(%a, %b : tensor<3x5xbf16>, tensor<5x4xbf16>)
        outs(%f : tensor<3x4xbf16>) -> tensor<3x4xbf16>
      return %r : tensor<3x4xbf16> }"""
    module = Module.parse(text, trusted=True)
    lx.transforms.raise_to_contract(module)
    lower_contract(module)
    assert str(module).count("linalg.copy") == 1
    assert "linalg.fill ins(%cst_0 : f32)" in str(module)


def test_products_that_may_be_negative_are_not_summed_early() -> None:
    """max (a * b) over b is not a multiple of max b where a is negative."""
    text = "mk,n,o->m"
    module = module_of(text, kind="max*", overwrite=True)
    lower_contract(module)
    assert len(structured_ops(module)) == 1
    arrays = arrays_of(text)
    a, b, c, _ = arrays
    expected = np.max(a[:, :, None, None] * b[:, None] * c, axis=(1, 2, 3))
    np.testing.assert_array_equal(lx.compile(module)(*arrays), expected)


def test_notes_stay_on_the_last_op() -> None:
    module = module_of("mk,kn,no->mo", notes=True)
    lower_contract(module)
    noted = [line for line in str(module).splitlines() if "my.note" in line]
    assert len(noted) == 1
    assert "linalg.matmul" in noted[0]


@pytest.mark.parametrize("text", ["mk,kn->mn", "mk,kn,no->mo"])
def test_open_sizes_are_checked_when_it_runs(text: str) -> None:
    """The checks of a compiled function see the ops that a contraction became."""
    arrays = arrays_of(text)
    arrays[0] = np.ones((3, 4), np.float32)
    with pytest.raises(ExecutionError):
        lx.compile(module_of(text, dynamic=True))(*arrays)


@pytest.mark.parametrize(
    ("element", "stored"), [("complex<f32>", None), ("f8E4M3FN", "f32"), ("index", None)]
)
def test_other_element_types(element: str, stored: str | None) -> None:
    module = module_of("mk,kn,no->mo", element=element, stored=stored)
    lower_contract(module)
    assert "linalg_ext" not in str(module)
    dtype = {"complex<f32>": np.complex64, "f8E4M3FN": ml_dtypes.float8_e4m3fn, "index": np.int64}
    arrays = [array.astype(dtype[element]) for array in arrays_of("mk,kn,no->mo")]
    arrays[-1] = arrays[-1].astype(np.float32 if stored else dtype[element])
    expected = np.einsum("mk,kn,no->mo", *(a.astype(np.complex64) for a in arrays[:-1]))
    np.testing.assert_array_equal(lx.compile(module)(*arrays), expected + arrays[-1])
