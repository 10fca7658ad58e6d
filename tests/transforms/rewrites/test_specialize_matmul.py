"""Matrix products with maps made the ops without, and transposes taken out of them again."""

from __future__ import annotations

import re

import pytest

import linalg_ext as lx
from contraction_texts import contraction_text
from rewrite_texts import assert_same_results, parsed

specialize_matmul = lx.transforms.specialize_matmul
raise_variants = lx.transforms.raise_matmul_variants

PLAIN = {
    "matmul": ("mk", "kn", "mn"),
    "batch_matmul": ("bmk", "bkn", "bmn"),
    "batch_reduce_matmul": ("bmk", "bkn", "mn"),
    "matvec": ("mk", "k", "m"),
    "vecmat": ("k", "kn", "n"),
    "batch_matvec": ("bmk", "bk", "bm"),
    "batch_vecmat": ("bk", "bkn", "bn"),
    "dot": ("k", "k", ""),
}
"""The ops without maps, by what their operands are indexed by."""

TRANSPOSED = [
    # operands, the op, how many transposes
    (("km", "kn", "mn"), "matmul", 1),
    (("mk", "nk", "mn"), "matmul", 1),
    (("km", "nk", "mn"), "matmul", 2),
    (("mk", "kn", "nm"), "matmul", 2),
    (("km", "kn", "nm"), "matmul", 1),
    (("bkm", "bnk", "bmn"), "batch_matmul", 2),
    (("mbk", "bkn", "bmn"), "batch_matmul", 1),
    (("bmk", "bkn", "mbn"), "batch_matmul", 2),
    (("bkm", "bkn", "mn"), "batch_reduce_matmul", 1),
    (("km", "k", "m"), "matvec", 0),
    (("kmb", "kb", "bm"), "batch_matvec", 2),
]


def names(module: lx.Module) -> list[str]:
    return re.findall(r"linalg\.(\w+) ", str(module))


@pytest.mark.parametrize("kind", ["tensor", "memref"])
@pytest.mark.parametrize("name", PLAIN)
def test_a_contraction_becomes_the_most_specific_op(name: str, kind: str) -> None:
    text = contraction_text("contract", *PLAIN[name], kind=kind)
    module = parsed(text)
    assert specialize_matmul(module).changed == {"linalg.contract": 1}
    assert names(module) == [name]
    assert "indexing_maps" not in str(module)
    assert "test.kept = 1" in str(module)
    assert_same_results(parsed(text), module)
    assert not specialize_matmul(module)


@pytest.mark.parametrize(("operands", "name", "transposes"), TRANSPOSED)
def test_transposes_are_taken_out(
    operands: tuple[str, str, str], name: str, transposes: int
) -> None:
    text = contraction_text("contract", *operands)
    module = parsed(text)
    assert specialize_matmul(module, explicit_transposes=True)
    expected = [name] if transposes else ["vecmat"]  # a vector times a matrix, changed about
    assert sorted(names(module)) == sorted([*expected, *["transpose"] * transposes])
    assert "indexing_maps" not in str(module)
    assert_same_results(parsed(text), module)


def test_transposes_of_unknown_sizes() -> None:
    text = contraction_text("contract", "bkm", "bnk", "bmn", dynamic=True)
    module = parsed(text)
    specialize_matmul(module, explicit_transposes=True)
    assert names(module).count("transpose") == 2
    assert "tensor.dim" in str(module)
    assert_same_results(parsed(text), module)


@pytest.mark.parametrize("operands", [("km", "kn", "mn"), ("bmk", "bnk", "bmn")], ids=",".join)
def test_without_the_option_transposed_operands_are_left(operands: tuple[str, str, str]) -> None:
    module = parsed(contraction_text("contract", *operands))
    before = str(module)
    report = specialize_matmul(module)
    assert not report
    assert report.left["linalg.contract"] == {
        "the operands are transposed or broadcast, which takes an op with maps"
    }
    assert str(module) == before


@pytest.mark.parametrize(
    ("operands", "kind", "reason"),
    [
        (("km", "kn", "mn"), "memref", "their transposes have no buffers"),
        (("bmk", "kn", "bmn"), "tensor", "the dimensions are those of no op without maps"),
        (("bmk", "bk", "bmn"), "tensor", "an operand is broadcast"),
        (("bk", "bk", "b"), "tensor", "the product is that of no op without maps"),
    ],
)
def test_what_cannot_be_said_is_left(
    operands: tuple[str, str, str], kind: str, reason: str
) -> None:
    op = "batch_matmul" if reason == "an operand is broadcast" else "contract"
    space = "bmnk" if op == "batch_matmul" else None
    module = parsed(contraction_text(op, *operands, kind=kind, dims=space))
    before = str(module)
    report = specialize_matmul(module, explicit_transposes=True)
    assert not report
    assert reason in str(report.left)
    assert str(module) == before


@pytest.mark.parametrize("name", ["matmul", "batch_matmul"])
def test_an_unsigned_cast_stays_where_an_op_can_say_it(name: str) -> None:
    text = contraction_text("contract", *PLAIN[name], types=("i8", "i32"), unsigned=True)
    module = parsed(text)
    assert specialize_matmul(module)
    assert names(module) == [name]
    assert "cast_unsigned" in str(module)
    assert_same_results(parsed(text), module)


@pytest.mark.parametrize("name", ["matvec", "dot", "batch_reduce_matmul"])
def test_an_unsigned_cast_that_no_op_can_say_is_left(name: str) -> None:
    # batch_reduce_matmul takes the attribute, and casts as signed all the same.
    text = contraction_text("contract", *PLAIN[name], types=("i8", "i32"), unsigned=True)
    assert not specialize_matmul(parsed(text))


def test_raising_and_specializing_are_inverse() -> None:
    for operands in (("km", "kn", "mn"), ("mk", "nk", "mn"), ("bmk", "bnk", "bmn")):
        module = parsed(contraction_text("generic", *operands))
        raise_variants(module)
        raised = str(module)
        specialize_matmul(module, explicit_transposes=True)
        assert str(module) != raised
        # The maps say now what the transposes said: a product as it stands is the same op.
        assert not raise_variants(module)


def test_mmt4d_stays_as_it_is() -> None:
    text = """func.func @main(%a: tensor<2x3x4x1xf32>, %b: tensor<5x3x6x1xf32>,
                              %c: tensor<2x5x4x6xf32>) -> tensor<2x5x4x6xf32> {
      %r = linalg.mmt4d ins(%a, %b : tensor<2x3x4x1xf32>, tensor<5x3x6x1xf32>)
             outs(%c : tensor<2x5x4x6xf32>) -> tensor<2x5x4x6xf32>
      return %r : tensor<2x5x4x6xf32>
    }"""
    module = parsed(text)
    before = str(module)
    assert not specialize_matmul(module, explicit_transposes=True)
    lx.transforms.categorize(module)
    assert names(module) == ["contract"]
    assert specialize_matmul(module)
    assert str(module) == before
