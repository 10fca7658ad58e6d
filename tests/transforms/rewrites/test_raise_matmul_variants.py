"""Every spelling of a matrix product raised to one op, and what is none left alone."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from contraction_texts import contraction_text
from core_ops import assert_same, build, problem
from linalg_ext.bindings import func, ir
from linalg_ext.dialects.linalg_ext import contract
from linalg_ext.ir.context import new_context
from linalg_ext.module import Module
from rewrite_texts import assert_same_results, parsed

raise_variants = lx.transforms.raise_matmul_variants


PRODUCTS = {
    "linalg.matmul": [(a, b, c) for a in ("mk", "km") for b in ("kn", "nk") for c in ("mn", "nm")]
    + [("k", "kn", "mn"), ("mk", "k", "mn"), ("k", "k", "mn")],
    "linalg.batch_matmul": [
        (a, b, "bmn") for a in ("bmk", "bkm", "mk") for b in ("bkn", "bnk", "kn") if "b" in a + b
    ]
    + [("bmk", "bkn", "bnm"), ("k", "bkn", "bmn"), ("bmk", "k", "bmn"), ("bk", "bkn", "bmn")],
    "linalg.batch_reduce_matmul": [
        ("bmk", "bkn", "mn"),
        ("bkm", "bnk", "mn"),
        ("bmk", "bkn", "nm"),
        ("mk", "bkn", "mn"),
        ("bk", "bkn", "mn"),
    ],
}
NO_PRODUCTS = [("mk", "k", "m"), ("k", "k", ""), ("mbk", "bkn", "mbn"), ("mk", "bkn", "mbn")]


def _spellings() -> list[tuple[str, str, tuple[str, str, str]]]:
    """An op, the product that it is, and its operands: a contract sums no operand by itself."""
    return [
        (op, name, (a, b, c))
        for name, several in PRODUCTS.items()
        for a, b, c in several
        for op in ("generic", "contract")
        if op == "generic" or not ({*a} ^ {*b}) - {*c}
    ]


@pytest.mark.parametrize(
    ("op", "name", "operands"),
    _spellings(),
    ids=lambda value: value if isinstance(value, str) else ",".join(value),
)
def test_each_variant_becomes_one_op(op: str, name: str, operands: tuple[str, str, str]) -> None:
    text = contraction_text(op, *operands)
    module = parsed(text)
    report = raise_variants(module)
    assert report.changed == {f"linalg.{op}": 1}
    assert f"{name} " in str(module)
    assert "test.kept = 1" in str(module)
    assert_same_results(parsed(text), module)
    assert not raise_variants(module)


@pytest.mark.parametrize("dims", ["kmn", "nkm", "nmk"])
def test_the_order_of_the_iteration_space_does_not_matter(dims: str) -> None:
    module, usual = (
        parsed(contraction_text("generic", "km", "kn", "mn", dims=order)) for order in (dims, "mnk")
    )
    raise_variants(module)
    raise_variants(usual)
    assert "linalg.matmul" in str(usual)
    assert str(module) == str(usual)


@pytest.mark.parametrize("op", ["generic", "contract"])
@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize("name", ["matmul", "batch_matmul"])
def test_casts_keep_their_sign(op: str, unsigned: bool, name: str) -> None:
    batch = "b" if name == "batch_matmul" else ""
    operands = (f"{batch}km", f"{batch}kn", f"{batch}mn")
    text = contraction_text(op, *operands, types=("i8", "i32"), unsigned=unsigned)
    module = parsed(text)
    assert raise_variants(module)
    assert f"linalg.{name} " in str(module)
    assert ("cast_unsigned" in str(module)) == unsigned
    assert_same_results(parsed(text), module)


@pytest.mark.parametrize("kind", ["tensor", "memref"])
def test_buffers_and_unknown_sizes(kind: str) -> None:
    text = contraction_text("generic", "km", "nk", "nm", kind=kind, dynamic=True)
    module = parsed(text)
    assert raise_variants(module)
    assert "linalg.matmul {test.kept = 1 : i32} ins(%arg1, %arg0" in str(module)


def test_compute_type_stays() -> None:
    text = contraction_text(
        "contract",
        "km",
        "kn",
        "mn",
        types=("bf16", "bf16"),
        attributes="linalg_ext.compute_type = f32",
    )
    module = parsed(text)
    raise_variants(module)
    assert "linalg.matmul" in str(module)
    assert "linalg_ext.compute_type = f32" in str(module)


@pytest.mark.parametrize("operands", NO_PRODUCTS, ids=",".join)
def test_what_is_no_product_of_matrices_is_left(operands: tuple[str, str, str]) -> None:
    module = parsed(contraction_text("generic", *operands))
    before = str(module)
    report = raise_variants(module)
    assert not report
    assert report.left["linalg.generic"] == {
        "the dimensions are those of no matrix product upstream"
    }
    assert str(module) == before


FAULTS = {
    "another function": ("arith.addf %sum, %p", "arith.maximumf %sum, %p"),
    "another product": ("arith.mulf %x, %y", "arith.divf %x, %y"),
    "a square": ("arith.mulf %x, %y", "arith.mulf %x, %x"),
    "no accumulation": ("arith.addf %sum, %p", "arith.addf %p, %p"),
    "a difference": ("arith.addf %sum, %p", "arith.subf %sum, %p"),
    "a diagonal": ("(k, m)>", "(k, k)>"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_nearly_a_product_is_left(fault: str) -> None:
    text = contraction_text("generic", "km", "kn", "mn", dynamic=True)
    old, new = FAULTS[fault]
    assert old in text
    module = parsed(text.replace(old, new))
    before = str(module)
    report = raise_variants(module)
    assert not report
    assert report.left["linalg.generic"]
    assert str(module) == before


def test_a_product_in_another_type_is_left() -> None:
    text = contraction_text("generic", "mk", "kn", "mn", types=("i8", "i32"))
    lines = {
        "%xw = arith.extsi %x : i8 to i32\n": "",
        "%yw = arith.extsi %y : i8 to i32\n": "",
        "%p = arith.muli %xw, %yw : i32": "%q = arith.muli %x, %y : i8\n"
        "%p = arith.extsi %q : i8 to i32",
    }
    for old, new in lines.items():
        assert old in text
        text = text.replace(old, new)
    report = raise_variants(parsed(text))
    assert not report
    assert "cast to the type of the result" in str(report.left)


def test_mixed_casts_are_left() -> None:
    text = contraction_text("generic", "mk", "kn", "mn", types=("i8", "i32"))
    assert not raise_variants(parsed(text.replace("arith.extsi %y", "arith.extui %y")))


def test_a_library_call_is_left() -> None:
    text = contraction_text("generic", "mk", "kn", "mn")
    named = text.replace("linalg.generic {", 'linalg.generic {library_call = "gemm", ')
    assert raise_variants(parsed(text))
    assert raise_variants(parsed(named)).left == {
        "linalg.generic": {"the op names the library function that it calls"}
    }


def test_a_contraction_of_our_own_dialect() -> None:
    types = ("tensor<5x8xf32>", "tensor<5x7xf32>", "tensor<8x7xf32>")
    with new_context(), ir.Location.unknown():
        raw = ir.Module.create()
        with ir.InsertionPoint(raw.body):
            main = func.FuncOp("main", ([ir.Type.parse(t) for t in types], []))
        block = main.add_entry_block()
        with ir.InsertionPoint(block):
            a, b, c = block.arguments
            contract(a, b, outs=c, maps="ki,kj->ij", compute_type="f32")
            func.ReturnOp([])
    module = Module(raw)
    assert raise_variants(module).changed == {"linalg_ext.contract": 1}
    assert "linalg.matmul" in str(module)
    assert "linalg_ext.compute_type = f32" in str(module)


@pytest.mark.parametrize("batch", ["", "batch_"])
@pytest.mark.parametrize("side", ["a", "b"])
def test_the_names_that_upstream_has_removed(batch: str, side: str) -> None:
    """The library still has these ops; they are built as generics."""
    case = problem(getattr(lx.ops, f"{batch}matmul_transpose_{side}"), np.float32)
    module = Module(build([case]))
    assert raise_variants(module).changed == {"linalg.generic": 1}
    assert f"linalg.{batch}matmul indexing_maps" in str(module)
    got = lx.compile(module, entry="main")(*(array.copy() for array in case.arrays.values()))
    assert_same([got], case.reference(), case.op.op_name)
