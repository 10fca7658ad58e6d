"""Named and category ops made generics; the round trips of every op stand beside this file."""

from __future__ import annotations

import pytest

import linalg_ext as lx
from rewrite_texts import assert_same_results, function, parsed

generalize = lx.transforms.generalize

OPERANDS = "%a: tensor<4x3xf32>, %b: tensor<3x5xf32>, %c: tensor<4x5xf32>"
KEPT = "linalg_ext.compute_type = f64, test.kept"

OPS = {
    "broadcast": (
        "%a: tensor<4xf32>, %c: tensor<4x3xf32>",
        "%r = linalg.broadcast ins(%a : tensor<4xf32>) outs(%c : tensor<4x3xf32>) "
        f"dimensions = [1] {{{KEPT}}}",
        "tensor<4x3xf32>",
    ),
    "transpose": (
        "%a: tensor<4x3xf32>, %c: tensor<3x4xf32>",
        "%r = linalg.transpose ins(%a : tensor<4x3xf32>) outs(%c : tensor<3x4xf32>) "
        f"permutation = [1, 0] {{{KEPT}}}",
        "tensor<3x4xf32>",
    ),
    "reduce": (
        "%a: tensor<4x3xf32>, %c: tensor<4xf32>",
        "%r = linalg.reduce ins(%a : tensor<4x3xf32>) outs(%c : tensor<4xf32>) dimensions = [1] "
        f"{{{KEPT}}} (%x: f32, %s: f32) {{ %t = arith.addf %x, %s : f32\nlinalg.yield %t : f32 }}",
        "tensor<4xf32>",
    ),
    "map": (
        "%a: tensor<4x3xf32>, %c: tensor<4x3xf32>",
        "%r = linalg.map { math.absf } ins(%a : tensor<4x3xf32>) outs(%c : tensor<4x3xf32>) "
        f"{{{KEPT}}}",
        "tensor<4x3xf32>",
    ),
    "matmul": (
        OPERANDS,
        f"%r = linalg.matmul {{{KEPT}}} ins(%a, %b : tensor<4x3xf32>, tensor<3x5xf32>) "
        "outs(%c : tensor<4x5xf32>) -> tensor<4x5xf32>",
        "tensor<4x5xf32>",
    ),
    "elementwise": (
        "%a: f32, %c: tensor<4x5xf32>",
        "%r = linalg.elementwise kind=#linalg.elementwise_kind<negf> indexing_maps = "
        f"[affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>] {{{KEPT}}} ins(%a : f32) "
        "outs(%c : tensor<4x5xf32>) -> tensor<4x5xf32>",
        "tensor<4x5xf32>",
    ),
    "conv_1d": (
        "%a: tensor<9xf32>, %b: tensor<3xf32>, %c: tensor<7xf32>",
        f"%r = linalg.conv_1d {{{KEPT}}} ins(%a, %b : tensor<9xf32>, tensor<3xf32>) "
        "outs(%c : tensor<7xf32>) -> tensor<7xf32>",
        "tensor<7xf32>",
    ),
}


@pytest.mark.parametrize("name", OPS)
def test_an_op_becomes_a_generic_with_its_attributes(name: str) -> None:
    text = function(*OPS[name])
    module = parsed(text)
    report = generalize(module)
    assert report.matched == report.changed == {f"linalg.{name}": 1}
    assert "linalg.generic" in str(module)
    assert f"linalg.{name} " not in str(module)
    assert "linalg_ext.compute_type = f64, test.kept" in str(module)
    assert "memoized" not in str(module)
    for attribute in (KEPT, "{}"):
        text = text.replace(f"{{{attribute}}}", "")
    plain = parsed(text)
    generalize(plain)
    assert_same_results(parsed(text), plain)


def test_what_has_no_body_is_left() -> None:
    module = parsed(
        function(
            "%a: tensor<4x3xf32>, %c: tensor<4x3xf32>",
            "%r = linalg.softmax dimension(1) ins(%a : tensor<4x3xf32>) "
            "outs(%c : tensor<4x3xf32>) -> tensor<4x3xf32>",
            "tensor<4x3xf32>",
        )
    )
    before = str(module)
    report = generalize(module)
    assert not report
    assert report.left == {
        "linalg.softmax": {"the op has no body: run linalg-ext-decompose-structured-ops"}
    }
    assert str(module) == before


def test_generics_are_not_counted() -> None:
    module = parsed(function(*OPS["matmul"]))
    generalize(module)
    before = str(module)
    report = generalize(module)
    assert not report
    assert not report.matched
    assert str(module) == before


def test_in_a_pipeline() -> None:
    module = parsed(function(*OPS["matmul"]))
    module.run("linalg-ext-generalize,linalg-ext-specialize")
    assert "linalg.matmul" in str(module)
