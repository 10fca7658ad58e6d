"""Sets that cannot be are refused at their line, with the reason."""

from __future__ import annotations

import re

import pytest

import linalg_ext as lx
from linalg_ext.errors import VerificationError

GAP = "-9223372036854775808"


def checked(line: str) -> None:
    """Parse a function in which a line stands; it has a space, a tensor, a memref and an index."""
    lx.Module.parse(
        f"""
        func.func @main(%x: tensor<64x32xf32>, %m: memref<64x32xf32>, %e: tensor<0x4xf32>,
                        %i: index, %n: tensor<3x2xindex>) {{
          %c2 = arith.constant 2 : index
          %c40 = arith.constant 40 : index
          %s = "gml_st.space"() {{static_sizes = array<i64: 64, 32>}}
               : () -> !gml_st.subset<"64x32">
          %p = "gml_st.point"(%s) {{static_indices = array<i64: 5, 6>}}
               : (!gml_st.subset<"64x32">) -> !gml_st.element
          %f = "gml_st.filter"(%x, %n)
               : (tensor<64x32xf32>, tensor<3x2xindex>) -> !gml_st.subset<"64x32xf32">
          {line}
          return
        }}""",
        trusted=True,
    )


def tile(
    offsets: str = "0, 0",
    sizes: str = "8, 8",
    strides: str = "1, 1",
    *,
    given: tuple[str, ...] = (),
    counts: str = "0, 0, 0",
    type_: str = "8x8",
    of: str = "%s",
    whole: str = '!gml_st.subset<"64x32">',
) -> str:
    operands, types = ", ".join((of, *given)), ", ".join((whole, *["index"] * len(given)))
    return (
        f'%t = "gml_st.tile"({operands}) {{static_offsets = array<i64: {offsets}>, '
        f"static_sizes = array<i64: {sizes}>, static_strides = array<i64: {strides}>, "
        f"operandSegmentSizes = array<i32: 1, {counts}>}} : ({types}) "
        f'-> !gml_st.subset<"{type_}">'
    )


def point(indices: str, *given: str) -> str:
    operands, types = ", ".join(("%s", *given)), ", ".join(["index"] * len(given))
    return (
        f'%q = "gml_st.point"({operands}) {{static_indices = array<i64: {indices}>}} : '
        f'(!gml_st.subset<"64x32">{", " if given else ""}{types}) -> !gml_st.element'
    )


def rearranged(op: str, attribute: str, type_: str) -> str:
    return (
        f'%t = "gml_st.{op}"(%s) {{{attribute}}} : '
        f'(!gml_st.subset<"64x32">) -> !gml_st.subset<"{type_}">'
    )


def materialized(
    of: str, type_: str, set_: str = "%s", set_type: str = '"64x32"', source: str = "f32"
) -> str:
    whole = {"%x": "tensor<64x32xf32>", "%m": "memref<64x32xf32>", "%i": "index"}
    kind = whole.get(of, "tensor<0x4xf32>")
    set_type = "!gml_st.element" if set_ == "%p" else f"!gml_st.subset<{set_type}>"
    return f'%v = "gml_st.materialize"({of}, {set_}) : ({kind}, {set_type}) -> {type_}'


def filtered(source: str, indices: str) -> str:
    return (
        f"%c = arith.constant dense<{indices.partition(' of ')[0]}> : "
        f"tensor<{indices.partition(' of ')[2]}>\n"
        f'%g = "gml_st.filter"(%x, %c) : '
        f"(tensor<64x32xf32>, tensor<{indices.partition(' of ')[2]}>) -> "
        f'!gml_st.subset<"{source}">'
    )


def paired(op: str, one: str, other: str, result: str) -> str:
    return (
        f'%h = "gml_st.space"() {{static_sizes = array<i64: {other.replace("x", ", ")}>}} '
        f': () -> !gml_st.subset<"{other}">\n'
        f'%r = "gml_st.{op}"(%s, %h) : '
        f'(!gml_st.subset<"{one}">, !gml_st.subset<"{other}">) -> {result}'
    )


@pytest.mark.parametrize(
    "line",
    [
        tile(),
        tile("56, 24"),
        tile(f"{GAP}, 0", given=("%i",), counts="1, 0, 0"),
        tile("0, 0", f"8, {GAP}", given=("%i",), counts="0, 1, 0", type_="8x?"),
        tile("0, 0", "64, 0", type_="64x0"),
        tile("64, 32", "0, 0", type_="0x0"),
        tile("0, 0", "64, 8", "1, 0", type_="64x8"),
        tile(
            "0, 0",
            f"{GAP}, 4",
            given=("%i",),
            counts="0, 1, 0",
            type_="?x4xf32",
            of="%e",
            whole="tensor<0x4xf32>",
        ),
        point("63, 31"),
        rearranged("drop_dims", "remaining_dims = array<i64: 1>", "32"),
        rearranged("drop_dims", "remaining_dims = array<i64>", ""),
        rearranged("transpose_dims", "permutation = array<i64: 1, 0>", "32x64"),
        materialized("%x", "tensor<64x32xf32>"),
        materialized("%x", "f32", "%p"),
        materialized("%m", "memref<64x32xf32>"),
        materialized("%x", "tensor<64x32xf32>", "%f", '"64x32xf32"'),
        filtered("64x32xf32", "[[0, 0], [63, 31]] of 2x2xi64"),
    ],
)
def test_a_set_that_can_be_is_accepted(line: str) -> None:
    checked(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        # How many numbers there are.
        (tile("0", "8", "1"), "expected 2 offset values, got 1"),
        (tile("0, 0", "8", "1, 1"), "expected 2 size values, got 1"),
        (tile("0, 0", "8, 8", "1"), "expected 2 stride values, got 1"),
        (tile(given=("%i",), counts="0, 1, 0"), "expected 0 dynamic size values, got 1"),
        (tile(given=("%i",), counts="1, 0, 0"), "expected 0 dynamic offset values, got 1"),
        (tile(given=("%i",), counts="0, 0, 1"), "expected 0 dynamic stride values, got 1"),
        (tile(f"{GAP}, 0"), "expected 1 dynamic offset values, got 0"),
        (point("0"), "expected 2 index values, got 1"),
        (point("0, 0", "%i"), "expected 0 dynamic index values, got 1"),
        # What they may be.
        (tile("0, 0", f"{GAP}, -2", given=("%i",), counts="0, 1, 0"), "size = -2 to be non-neg"),
        (tile("0, -2"), "expected offset = -2 to be non-negative"),
        (tile("0, 0", "8, 8", "1, -2"), "expected stride = -2 to be non-negative"),
        (tile("0, 32"), "offset = 32 is out of bounds for dimension 1 of size 32"),
        (
            tile(f"0, {GAP}", given=("%c40",), counts="1, 0, 0"),
            "offset = 40 is out of bounds for dimension 1 of size 32",
        ),
        (
            tile("56, 25"),
            "offset = 25 size = 8 stride = 1 causes access out of bounds at 32 for dimension 1",
        ),
        (
            tile(f"{GAP}, {GAP}", "8, 9", "8, 4", given=("%i",) * 2, counts="2, 0, 0", type_="8x9"),
            "size = 9 stride = 4 causes access out of bounds for dimension 1 of size 32",
        ),
        (tile("0, 0", "65, 1", type_="65x1"), "size = 65 stride = 1 causes access out of bounds"),
        (tile("65, 0", "0, 1", type_="0x1"), "offset = 65 is out of bounds"),
        (point("5, 32"), "expected index = 32 to be between 0 and 31"),
        (point(f"-2, {GAP}", "%i"), "expected index = -2 to be non-negative"),
        # Types.
        (tile(type_="8x9"), 'expected !gml_st.subset<"8x8">'),
        (tile(type_="8x8xf32"), 'expected !gml_st.subset<"8x8">'),
        (
            tile("0, 0", f"8, {GAP}", given=("%i",), counts="0, 1, 0"),
            'expected !gml_st.subset<"8x?">',
        ),
        (tile(of="%x", whole="tensor<64x32xf32>"), 'expected !gml_st.subset<"8x8xf32">'),
        (tile(of="%i", whole="index"), "index is not a set of elements"),
        (tile().replace("static_strides", "strides"), "static_strides is missing"),
        (
            tile().replace("static_sizes = array<i64: 8, 8>", "static_sizes = array<ui8: 8, 8>"),
            "static_sizes is an attribute without a class in the bindings",
        ),
        (tile().replace("array<i64: 8, 8>", "7 : i64"), "static_sizes = 7 : i64"),
        (
            tile().replace("operandSegmentSizes = array<i32: 1, 0, 0, 0>", "other = 1"),
            "operandSegmentSizes is missing",
        ),
        (
            tile().replace("array<i32: 1, 0, 0, 0>", "array<i32: 1, 1, 0, 0>"),
            "does not count the 1 operands",
        ),
        (
            tile(of="%f", whole='!gml_st.subset<"64x32xf32">', type_="8x8xf32"),
            "which is not a rectangle",
        ),
        ('%h = "gml_st.space"() {static_sizes = array<i64: -4>} : () -> !gml_st.subset<"4">', "-4"),
        (
            '%h = "gml_st.space"() {static_sizes = array<i64: 64>} : () -> !gml_st.subset<"32x32">',
            'expected !gml_st.subset<"64">',
        ),
        (
            f'%h = "gml_st.space"() {{static_sizes = array<i64: 5, {GAP}>}} : () -> '
            '!gml_st.subset<"5x?">',
            "expected 1 dynamic size values, got 0",
        ),
        (
            '%h = "gml_st.full"(%i) : (index) -> !gml_st.subset<"4">',
            "expected a ranked tensor or a memref",
        ),
        # Rearranged dimensions.
        (
            rearranged("transpose_dims", "permutation = array<i64: 0, 2>", "64x32"),
            "permutation[1] = 2 is outside of range [0, 1]",
        ),
        (
            rearranged("transpose_dims", "permutation = array<i64: 0>", "64"),
            "expected result rank 2 to match the permutation size of 1",
        ),
        (
            rearranged("transpose_dims", "permutation = array<i64: 0, 0>", "64x64"),
            "no duplicate values, but got 0 at positions 0 and 1",
        ),
        (
            rearranged("transpose_dims", "permutation = array<i64: 1, 0>", "64x32"),
            'expected !gml_st.subset<"32x64">',
        ),
        (rearranged("transpose_dims", "", "64x32"), "permutation is missing"),
        (
            rearranged("drop_dims", "remaining_dims = array<i64: 2>", "64"),
            "remaining_dims[0] = 2 is outside of range [0, 1]",
        ),
        (
            rearranged("drop_dims", "remaining_dims = array<i64: 1, 0>", "32x64"),
            "gml_st.transpose_dims gives them another order",
        ),
        (
            rearranged("drop_dims", "remaining_dims = array<i64: 0, 0>", "64x64"),
            "in ascending order, none twice",
        ),
        # Numbers of sets, and pairs of them.
        (
            '%h = "gml_st.offset"(%s, %c2) : (!gml_st.subset<"64x32">, index) -> index',
            "dimension 2 is outside of range [0, 1]",
        ),
        (
            '%h = "gml_st.size"(%p, %i) : (!gml_st.element, index) -> index',
            "an element has no size",
        ),
        (
            paired("intersection", "64x32", "64", '!gml_st.subset<"?x?">'),
            "the sets are of rank 2 and 1",
        ),
        (
            paired("contains", "64x32", "64x16", "i1"),
            "the sets are of 64x32 and 64x16",
        ),
        (
            paired("convex_union", "64x32", "64x32", '!gml_st.subset<"64x32">'),
            'expected !gml_st.subset<"?x?">',
        ),
        (
            '%h = "gml_st.difference"(%s, %s) : (!gml_st.subset<"64x32">, '
            '!gml_st.subset<"64x32">) -> !gml_st.subset<"?x?">',
            "the op has 1 result\n  expected 4, two for each dimension",
        ),
        # What is materialized.
        (materialized("%x", "tensor<64x30xf32>"), "expected tensor<64x32xf32>"),
        (materialized("%x", "memref<64x32xf32>"), "expected tensor<64x32xf32>"),
        (materialized("%x", "tensor<1x1xf32>", "%p"), "expected f32"),
        (materialized("%e", "tensor<64x32xf32>"), "the set is one of 64x32"),
        (materialized("%i", "index", "%p"), "the source is of type index"),
        (
            materialized("%m", "tensor<64x32xf32>", "%f", '"64x32xf32"'),
            "a filter of it is not a view",
        ),
        # Filters.
        (
            filtered("64x32xf32", "[[0, 0], [64, 0]] of 2x2xi64"),
            "index 64 of row 1 is out of bounds along dimension 0",
        ),
        (
            filtered("64x32xf32", "[[0, -1], [64, 0]] of 2x2xindex"),
            "index -1 of row 0 is out of bounds along dimension 1",
        ),
        (filtered("64x32xf32", "0 of 4xindex"), "expected tensor<n x 2 x index>"),
        (filtered("64x32xf32", "0.0 of 4x2xf32"), "expected a tensor of indices"),
        (filtered("64x32", "0 of 4x2xindex"), 'expected !gml_st.subset<"64x32xf32">'),
    ],
)
def test_a_set_that_cannot_be_is_refused(line: str, message: str) -> None:
    with pytest.raises(VerificationError) as caught:
        checked(line)
    flat = re.sub(r"\s+", " ", str(caught.value))
    assert re.sub(r"\s+", " ", message) in flat
    # The line and the column of the op, which begins behind the name of its result.
    head = line.splitlines()[-1].strip()[:30]
    assert head in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("4x", "ends in an x"),
        ("04", "is not written as subsets are"),
        ("-4", "is not written as subsets are"),
        ("4 x 5", "is not written as subsets are"),
        ("99999999999999999999", "is too large"),
    ],
)
def test_a_type_has_one_way_to_be_written(text: str, message: str) -> None:
    line = f'%h = "gml_st.is_empty"(%k) : (!gml_st.subset<"{text}">) -> i1'
    line = f'%k = "gml_st.full"(%x) : (tensor<64x32xf32>) -> !gml_st.subset<"{text}">\n{line}'
    with pytest.raises(VerificationError, match=r"expected !gml_st\.subset"):
        checked(line)
    held = f"""
    func.func @main(%k: !gml_st.subset<"{text}">) {{
      %h = "gml_st.is_empty"(%k) : (!gml_st.subset<"{text}">) -> i1
      return
    }}"""
    with pytest.raises(VerificationError, match=message):
        lx.Module.parse(held, trusted=True)
