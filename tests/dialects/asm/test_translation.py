"""Ordinary MLIR passes through the translation untouched; what changes keeps its lines."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exported_modules import module_params
from linalg_ext.dialects.asm.translation import translate
from linalg_ext.errors import ParseError
from wish_list import EXAMPLES, in_function

UPSTREAM = {
    "matmul with maps": """%r = linalg.matmul
      indexing_maps = [affine_map<(m, n, k) -> (k, m)>, #b, #c]
      {cast = #linalg.type_fn<cast_signed>} ins(%a, %b : tensor<4x5xf32>, tensor<4x5xf32>)
      outs(%c : tensor<5x5xf32>) -> tensor<5x5xf32>""",
    "elementwise": """%r = linalg.elementwise kind=#linalg.elementwise_kind<add>
      indexing_maps = [#a, #b, #c] {x.y = 1 : i64} ins(%a, %b : tensor<4xf32>, tensor<4x5xf32>)
      outs(%c : tensor<4x5xf32>) -> tensor<4x5xf32>""",
    "a memref op and what follows": """linalg.add ins(%a, %b : memref<4xf32, strided<[?],
      offset: ?>>, memref<4xf32, affine_map<(d0) -> (d0 floordiv 2)>>) outs(%c : memref<4xf32>)
      %x = arith.constant 1 : i32""",
    "a memref op and a return": """linalg.fill ins(%cst : f32) outs(%c : memref<4xf32>)
      return""",
    "broadcast": """%r = linalg.broadcast ins(%a : tensor<4xf32>) outs(%b : tensor<4x5xf32>)
      dimensions = [1] {a.b = 2}""",
    "transpose": """%r = linalg.transpose ins(%a : tensor<4x5xf32>) outs(%b : tensor<5x4xf32>)
      permutation = [1, 0]""",
    "reduce": """%r = linalg.reduce { arith.addf } ins(%a : tensor<4x5xf32>)
      outs(%b : tensor<4xf32>) dimensions = [1]""",
    "map": """%r = linalg.map { arith.addf } ins(%a, %b : tensor<4xf32>, tensor<4xf32>)
      outs(%c : tensor<4xf32>)""",
    "softmax": """%r = linalg.softmax dimension(1) ins(%a : tensor<4x5xf32>)
      outs(%b : tensor<4x5xf32>) -> tensor<4x5xf32>""",
    "a convolution": """%r = linalg.conv_1d {strides = dense<1> : tensor<1xi64>}
      ins(%a, %b : tensor<?xf32>, tensor<?xf32>) outs(%c : tensor<?xf32>) loc("broadcast_a = [1]")
      -> tensor<?xf32>""",
    "a string": """"foo.bar"() {s = "linalg.add ins(%a : tensor<4xf32) broadcast_a = [1]"}
      : () -> ()""",
    "a comment": """// linalg.add ins(%a : tensor<4xf32) outs(%b : x) broadcast_a = [1] : t
      return""",
    "an attribute of that name": """"foo.bar"() {linalg.add = 1, k = #linalg.add<ins>}
      : () -> ()""",
    "a symbol of that name": """call @linalg.add(%a) : (i32) -> ()""",
    "generic": """%r = linalg.generic {indexing_maps = [#a, #b], iterator_types = ["parallel"]}
      ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) attrs = {map_a = 1} {
      ^bb0(%x: f32, %y: f32): linalg.yield %x : f32 } -> tensor<4xf32>""",
    "a mistake of upstream's syntax": """%r = linalg.add ins(%a, %b : tensor<4xf32>)
      outs(%c : tensor<4xf32>) -> tensor<4xf32>""",
}


@pytest.mark.parametrize("name", UPSTREAM)
def test_upstreams_syntax_is_left_to_upstream(name: str) -> None:
    text = UPSTREAM[name]
    assert translate(text).text is text


@pytest.mark.parametrize("path", module_params())
def test_exported_modules_are_untouched(path: Path) -> None:
    text = path.read_text()
    assert translate(text).text is text


@given(st.lists(st.sampled_from([*UPSTREAM.values(), "\n", "{", "}", "// x\n", '"s" '])))
def test_any_sequence_of_it_is_untouched(parts: list[str]) -> None:
    text = "\n".join(parts)
    assert translate(text).text is text


PIECES = (
    'linalg.add| ins(|%a : |tensor<4xf32|>|)|outs(|broadcast_a| = |[1]|{|}|map_a|->|(d0)|,|"|//'
    '|\n|:|<add>|transpose_a|linalg.generic|compute_type = f32|linalg.indexed_generic|"'
    "|^bb0(%i: index):|linalg.broadcast|inits("
)


@example(['"', "linalg.indexed_generic"])
@given(st.lists(st.sampled_from(PIECES.split("|")), max_size=40))
def test_no_text_makes_it_fail_but_by_its_own_error(parts: list[str]) -> None:
    text = "".join(parts)
    with contextlib.suppress(ParseError):  # any other error is a mistake
        assert translate(text).text.count("\n") == text.count("\n")


@pytest.mark.parametrize("name", EXAMPLES)
def test_lines_and_columns_lead_back(name: str) -> None:
    example = (
        EXAMPLES[name]
        .replace(" outs", "\n   outs")
        .replace(" : tensor<16x64xf32>", "\n: tensor<16x64xf32>")
    )
    text = in_function(example) + "// the end: %q\n"
    translation = translate(text)
    assert translation.text is not text
    assert translation.text.count("\n") == text.count("\n")
    for mark in ("func.func", "return", "%q", "outs" if "inits" in name else "tensor<"):
        column_line = translation.text.splitlines()
        for number, line in enumerate(column_line, start=1):
            if mark in line and mark in text:
                origin_line, origin_column = translation.origin(number, line.index(mark) + 1)
                shown = text.splitlines()[origin_line - 1]
                assert shown[origin_column - 1 :].startswith(mark[:1])
                break


def test_two_ops_of_one_line_keep_their_places() -> None:
    op = "linalg.exp ins(%a : tensor<4xf32) outs(%b : tensor<4xf32>) : tensor<4xf32>"
    text = f"%x = {op} %y = {op} %z = foo"
    translation = translate(text)
    assert len(translation.ops) == 2
    assert [text[o.start : o.end] for o in translation.ops] == [op, op]
    position = translation.text.index("foo")
    assert translation.source_offset(position) == text.index("foo")
    second = translation.text.rindex('"linalg_ext.spelled"')
    assert translation.source_offset(second) == text.rindex("linalg.exp")


def test_compute_type_of_a_generic_is_an_attribute() -> None:
    text = """%r = linalg.generic {indexing_maps = [#a, #b], iterator_types = ["parallel"]}
      ins(%a : tensor<4xf32>) outs(%b : tensor<4xf32>) compute_type = f64 {
      ^bb0(%x: f32, %y: f32): linalg.yield %x : f32 } -> tensor<4xf32>"""
    changed = translate(text).text
    assert changed == text.replace("compute_type = f64", "attrs = {linalg_ext.compute_type = f64}")
    untouched = (
        text.replace("compute_type = f64 ", "") + '\n"x.y"() {compute_type = f64} : () -> ()'
    )
    assert translate(untouched).text is untouched
