"""Each op of gml_st as the documents write it, and in MLIR's generic form: both ways, as text."""

from __future__ import annotations

import re

import pytest

from linalg_ext.dialects.gml_st.asm import changes, pretty
from linalg_ext.notations.mlir_text import apply_edits
from linalg_ext.notations.source_text import SourceText

GAP = "-9223372036854775808"
YIELD_SEGMENTS = "array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>"


def generic(text: str) -> str:
    """The text as MLIR reads it, blanks made one."""
    source = SourceText(text, "x.mlir")
    return " ".join(apply_edits(source, changes(source)).text.split())


OPS = {
    "space": (
        "%s = gml_st.space [64, %n] : !gml_st.subset<64x?>",
        f'%s = "gml_st.space"(%n) {{static_sizes = array<i64: 64, {GAP}>}} : (index) -> '
        '(!gml_st.subset<"64x?">)',
    ),
    "space of rank 0": (
        "%s = gml_st.space [] : !gml_st.subset<>",
        '%s = "gml_st.space"() {static_sizes = array<i64>} : () -> (!gml_st.subset<"">)',
    ),
    "full": (
        "%s = gml_st.full %x : tensor<f32> to !gml_st.subset<f32>",
        '%s = "gml_st.full"(%x) : (tensor<f32>) -> (!gml_st.subset<"f32">)',
    ),
    "tile": (
        "%s = gml_st.tile %x [%i, 0] [4, %n] [1, %k] {note} : tensor<8x8xf32> to "
        "!gml_st.subset<4x?xf32>",
        '%s = "gml_st.tile"(%x, %i, %n, %k) {operandSegmentSizes = array<i32: 1, 1, 1, 1>, '
        f"static_offsets = array<i64: {GAP}, 0>, static_sizes = array<i64: 4, {GAP}>, "
        f"static_strides = array<i64: 1, {GAP}>, note}} : (tensor<8x8xf32>, index, index, index) "
        '-> (!gml_st.subset<"4x?xf32">)',
    ),
    "filter": (
        "%s = gml_st.filter %x[%k] : tensor<8xf32>[tensor<3xindex>] to !gml_st.subset<8xf32>",
        '%s = "gml_st.filter"(%x, %k) : (tensor<8xf32>, tensor<3xindex>) -> '
        '(!gml_st.subset<"8xf32">)',
    ),
    "point": (
        "%p = gml_st.point %s [%i, 2] : !gml_st.subset<4x4> to !gml_st.element",
        f'%p = "gml_st.point"(%s, %i) {{static_indices = array<i64: {GAP}, 2>}} : '
        '(!gml_st.subset<"4x4">, index) -> (!gml_st.element)',
    ),
    "drop_dims": (
        "%d = gml_st.drop_dims %s, [0, 2] : !gml_st.subset<?x64x128> to !gml_st.subset<?x128>",
        '%d = "gml_st.drop_dims"(%s) {remaining_dims = array<i64: 0, 2>} : '
        '(!gml_st.subset<"?x64x128">) -> (!gml_st.subset<"?x128">)',
    ),
    "transpose_dims": (
        "%d = gml_st.transpose_dims %s, [1, 0] : !gml_st.element to !gml_st.element",
        '%d = "gml_st.transpose_dims"(%s) {permutation = array<i64: 1, 0>} : (!gml_st.element) '
        "-> (!gml_st.element)",
    ),
    "offset": (
        "%o = gml_st.offset %s[%d] : !gml_st.subset<4>",
        '%o = "gml_st.offset"(%s, %d) : (!gml_st.subset<"4">, index) -> (index)',
    ),
    "difference": (
        "%d:2 = gml_st.difference %a, %b : !gml_st.subset<4>, !gml_st.subset<2> to "
        "!gml_st.subset<?>, !gml_st.subset<?>",
        '%d:2 = "gml_st.difference"(%a, %b) : (!gml_st.subset<"4">, !gml_st.subset<"2">) -> '
        '(!gml_st.subset<"?">, !gml_st.subset<"?">)',
    ),
    "contains": (
        "%c = gml_st.contains %a, %b : !gml_st.subset<4>, !gml_st.element",
        '%c = "gml_st.contains"(%a, %b) : (!gml_st.subset<"4">, !gml_st.element) -> (i1)',
    ),
    "is_empty": (
        "%e = gml_st.is_empty %a : !gml_st.subset<4>",
        '%e = "gml_st.is_empty"(%a) : (!gml_st.subset<"4">) -> (i1)',
    ),
    "materialize": (
        "%m = gml_st.materialize %x[%s] : tensor<8x?xf32>[!gml_st.subset<4x?>] to tensor<4x?xf32>",
        '%m = "gml_st.materialize"(%x, %s) : (tensor<8x?xf32>, !gml_st.subset<"4x?">) -> '
        "(tensor<4x?xf32>)",
    ),
    "yield": (
        "gml_st.yield %v to %s : tensor<4xf32> to !gml_st.subset<4xf32>",
        f'"gml_st.yield"(%v, %s) ({{}}) {{operandSegmentSizes = {YIELD_SEGMENTS}, '
        "accumulator_flags = array<i1: false>} : "
        '(tensor<4xf32>, !gml_st.subset<"4xf32">) -> ()',
    ),
    "parallel": (
        "gml_st.parallel (%i) = (%a) to (%b) step (%c) { "
        "gml_st.set_yield %v into %x[%s] acc (%n, %o: f32) { gml_st.yield %n : f32 } "
        ": f32 into tensor<f32>[!gml_st.element] } : tensor<f32>",
        '"gml_st.parallel"(%a, %b, %c) ({ ^bb0(%i: index): '
        '"gml_st.set_yield"(%v, %x, %s) ({ ^bb0(%n: f32, %o: f32): '
        '"gml_st.yield"(%n) ({}) {operandSegmentSizes = '
        f"array<i32: 1{', 0' * 15}>, accumulator_flags = array<i1: false>}} : (f32) -> () "
        f"}}) {{operandSegmentSizes = array<i32: {', '.join(['1' + ', 0' * 7] * 3)}>, "
        "accumulator_flags = array<i1: true>} : (f32, tensor<f32>, !gml_st.element) -> () "
        "}) {operandSegmentSizes = array<i32: 1, 1, 1>, "
        f"resultSegmentSizes = array<i32: 1{', 0' * 7}>}} : "
        "(index, index, index) -> (tensor<f32>)",
    ),
    "for": (
        "gml_st.for (%i) = (%a) to (%b) step (%c) outs (%y_ = %y: tensor<8xf32>) { "
        "gml_st.set_yield } {note = 1} : tensor<8xf32>",
        '"gml_st.for"(%a, %b, %c, %y) ({ ^bb0(%i: index, %y_: tensor<8xf32>): '
        f'"gml_st.set_yield"() ({{}}) {{operandSegmentSizes = array<i32: 0{", 0" * 23}>, '
        "accumulator_flags = array<i1>} : () -> () "
        f"}}) {{operandSegmentSizes = array<i32: 1, 1, 1, 1{', 0' * 7}>, "
        f"resultSegmentSizes = array<i32: 1{', 0' * 7}>, note = 1}} : "
        "(index, index, index, tensor<8xf32>) -> (tensor<8xf32>)",
    ),
    "loop": (
        "gml_st.loop (%i) = (%a) to (%b) step (%c) ins (%x_ = %x: memref<8xf32>) "
        'outs (%y_ = %y: memref<8xf32>) iterators["sequential"] distribution["block"] { '
        "gml_st.yield }",
        '"gml_st.loop"(%a, %b, %c, %x, %y) '
        "({ ^bb0(%i: index, %x_: memref<8xf32>, %y_: memref<8xf32>): "
        f'"gml_st.yield"() ({{}}) {{operandSegmentSizes = array<i32: 0{", 0" * 15}>, '
        "accumulator_flags = array<i1>} : () -> () "
        f"}}) {{operandSegmentSizes = array<i32: 1, 1, 1, 1{', 0' * 15}, 1{', 0' * 7}>, "
        f"resultSegmentSizes = array<i32: 0{', 0' * 7}>, "
        'iterator_types = ["sequential"], distribution = ["block"]} : '
        "(index, index, index, memref<8xf32>, memref<8xf32>) -> ()",
    ),
}
"""Each op as it is printed, and in the generic form."""


@pytest.mark.parametrize("name", OPS)
def test_an_op_is_read(name: str) -> None:
    written, expected = OPS[name]
    assert generic(written) == expected


@pytest.mark.parametrize("name", OPS)
def test_an_op_is_printed(name: str) -> None:
    expected, written = OPS[name]
    assert " ".join(pretty(written).split()) == expected


SPELLINGS = {
    "subset.full %x : tensor<4xf32> to !gml_st.subset<4xf32>": "gml_st.full %x : tensor<4xf32> to "
    "!gml_st.subset<4xf32>",
    "subset.tile %x [%i] [4] [1] : tensor<8xf32> to !gml_st.subset< 4 x f32 >": "gml_st.tile "
    "%x[%i][4][1] : tensor<8xf32> to !gml_st.subset<4xf32>",
    "subset.filter %x[%k] : tensor<8xf32>[tensor<3xindex>]": "gml_st.filter %x[%k] : "
    "tensor<8xf32>[tensor<3xindex>] to !gml_st.subset<8xf32>",
    "subset.point %x[%i] : tensor<8xf32>": "gml_st.point %x [%i] : tensor<8xf32> to !gml_st.point",
    "gml_st.space [4, %n]": "gml_st.space [4, %n] : !gml_st.tile<4x?>",
    "gml_st.drop_dims %s, [1] : !gml_st.tile<4x8>": "gml_st.drop_dims %s, [1] : !gml_st.tile<4x8> "
    "to !gml_st.tile<8>",
    "gml_st.intersection %a, %b : !gml_st.tile<4x8>, !gml_st.tile<2x8>": "gml_st.intersection "
    "%a, %b : !gml_st.tile<4x8>, !gml_st.tile<2x8> to !gml_st.tile<?x?>",
    "gml_st.materialize %x[%s] : memref<8x8xf32>[!gml_st.tile<4x4>]": "gml_st.materialize %x[%s] : "
    "memref<8x8xf32>[!gml_st.tile<4x4>] to memref<4x4xf32, strided<[?, ?], offset: ?>>",
    'gml_st.full %x : tensor<4x!quant.uniform<u8:f32, 0.1>, "e"> to !gml_st.subset<4xf32>': "gml_st"
    '.full %x : tensor<4x!quant.uniform<u8:f32, 0.1>, "e"> to !gml_st.subset<4xf32>',
    "gml_st.yield %a to %s, %b to %t : f32 to !gml_st.point, f32 to !gml_st.point": "gml_st.yield "
    "%a to %s : f32 to !gml_st.point, %b to %t : f32 to !gml_st.point",
    "%f = foo.bar : (!gml_st.tile<4>) -> !gml_st.point": '%f = foo.bar : (!gml_st.subset<"4">) -> '
    "!gml_st.element",
    'gml_st.parallel (%i, %j) = (%a, %a) to (%b, %b) step (%c, %c) distribution("x") { }': "gml_st."
    'parallel (%i, %j) = (%a, %a) to (%b, %b) step (%c, %c) distribution["x", "x"] '
    "{ gml_st.set_yield }",
    "gml_st.materialize %x[%s] : !f[!gml_st.tile<4>] to (!gml_st.tile<4>) -> !gml_st.tile<4>": ""
    'gml_st.materialize %x[%s] : !f[!gml_st.subset<"4">] to (!gml_st.subset<"4">) -> '
    '!gml_st.subset<"4">',
    "%x = arith.constant 0 : index // gml_st.tile %x": "%x = arith.constant 0 : index"
    " // gml_st.tile %x",
    '"a.b"() {gml_st.tile = "gml_st.tile %x [", gml_st.note} : () -> ()': '"a.b"() {gml_st.tile = '
    '"gml_st.tile %x [", gml_st.note} : () -> ()',
    "call @gml_st.tile(%x) : (i32) -> ()": "call @gml_st.tile(%x) : (i32) -> ()",
}


@pytest.mark.parametrize("text", SPELLINGS)
def test_two_spellings_mean_the_same(text: str) -> None:
    assert generic(text) == generic(SPELLINGS[text])


ARGUMENTS = """func.func @f(%x: tensor<8x4xf32> {a.b = "c"}, %k: tensor<3x2xindex>, %i: index) {
  %f = subset.full %x
  %t = subset.tile %x [%i, 0] [2, %i] [1, 1]
  %u = subset.tile %t [0, 0] [1, 1] [1, 1]
  %k_ = subset.filter %x[%k]
  %p = subset.point %t[0, %i]
  %m = gml_st.materialize %u
  %e = gml_st.materialize %p
}"""


def test_types_are_filled_in_where_the_text_says_those_of_the_operands() -> None:
    text = generic(ARGUMENTS)
    for expected in (
        '"gml_st.full"(%x) : (tensor<8x4xf32>) -> (!gml_st.subset<"8x4xf32">)',
        ': (tensor<8x4xf32>, index, index) -> (!gml_st.subset<"2x?xf32">)',
        ': (!gml_st.subset<"2x?xf32">) -> (!gml_st.subset<"1x1xf32">)',
        '"gml_st.filter"(%x, %k) : (tensor<8x4xf32>, tensor<3x2xindex>) -> '
        '(!gml_st.subset<"8x4xf32">)',
        '"gml_st.materialize"(%x, %u) : (tensor<8x4xf32>, !gml_st.subset<"1x1xf32">) -> '
        "(tensor<1x1xf32>)",
        '"gml_st.materialize"(%x, %p) : (tensor<8x4xf32>, !gml_st.element) -> (f32)',
    ):
        assert expected in text


def test_a_name_means_what_its_own_region_says() -> None:
    text = """func.func @f(%x: tensor<8xf32>) {
      %t = subset.tile %x [0] [4] [1]
    }
    func.func @g(%y: tensor<9xf32>) {
      scf.if %c { %t = subset.tile %y [0] [3] [1] }
      %t = subset.tile %y [0] [2] [1]
      scf.if %c { %m = gml_st.materialize %t }
    }"""
    assert '"gml_st.materialize"(%y, %t) : (tensor<9xf32>, !gml_st.subset<"2xf32">)' in (
        generic(text)
    )


def test_what_is_not_laid_out_as_it_must_be_is_shown_in_the_generic_form() -> None:
    for name in ("tile", "yield", "for", "materialize"):
        _, written = OPS[name]
        broken = written.replace("operandSegmentSizes = array<i32: 1", "broken = array<i32: 1")
        broken = broken.replace("(%x, %s) : (tensor<8x?xf32>, ", "(%x, %s) : (")
        assert broken != written
        assert f'"gml_st.{name}"(' in pretty(broken)


TWO = """    "gml_st.set_yield"(%v, %w, %x, %y, %s, %t) ({
    ^bb0(%n: f32, %o: f32, %p: f32, %q: f32):
      %0 = math.sin %n : f32
      %1 = arith.addf %0, %o : f32
      %2 = arith.mulf %p, %q : f32
      "gml_st.yield"(%1, %2) ({
      }) {accumulator_flags = array<i1: false, false>, operandSegmentSizes = array<i32: SLOTS, EMPTY>} : (f32, f32) -> ()
    }) {accumulator_flags = array<i1: true, true>, operandSegmentSizes = array<i32: SLOTS, SLOTS, SLOTS>} : (f32, f32, tensor<f32>, tensor<f32>, !gml_st.element, !gml_st.element) -> ()
""".replace("SLOTS", "1, 1" + ", 0" * 6).replace("EMPTY", "0" + ", 0" * 7)  # noqa: E501


def test_each_accumulator_is_printed_with_the_ops_that_it_needs() -> None:
    first, second = pretty(TWO).split("%w into")
    assert "acc (%n, %o: f32)" in first
    assert "%0 = math.sin %n" in first
    assert "gml_st.yield %1 : f32" in first
    assert "%2" not in first
    assert "acc (%p, %q: f32)" in second
    assert re.findall(r"%[012] =", second) == ["%2 ="]


def test_accumulators_that_hang_together_are_shown_in_the_generic_form() -> None:
    assert '"gml_st.set_yield"(' in pretty(TWO.replace("%p, %q : f32\n", "%n, %q : f32\n"))
