"""Poolings and depthwise convolutions: the numbers, the memory they touch, what is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from linalg_ext.module import Module
from linalg_ext.transforms.codegen.base.machine import this_machine
from linalg_ext.transforms.codegen.convolutions import tile_windows as file
from linalg_ext.transforms.codegen.convolutions.tile_windows import tile_windows
from linalg_ext.transforms.codegen.convolutions.view_windows import view_windows
from machines import AVX2, AVX512, BASELINE, WITHOUT_FMA
from memrefs import integers
from resources import skip_machine
from window_kernels import Windows, check, check_apart, check_guarded

PLAN = "linalg_ext_windows"

LAYOUTS = [
    ("nhwc", "hwc", "nhwc"),
    ("nchw", "chw", "nchw"),
    ("nwc", "wc", "nwc"),
    ("ncw", "cw", "ncw"),
    ("ndhwc", "dhwc", "ndhwc"),
    ("ncdhw", "cdhw", "ncdhw"),
]


def depthwise(layout: tuple[str, str, str], stride: int = 1, dilation: int = 1) -> Windows:
    image, window, result = layout
    return Windows(
        image, window, result,
        strides=dict.fromkeys("dhw", stride), dilations=dict.fromkeys("dhw", dilation),
    )  # fmt: skip


def pooling(layout: tuple[str, str, str], body: str, stride: int = 1) -> Windows:
    image, window, result = layout
    space = "".join(s for s in window if s in "dhw")
    return Windows(image, space, result, body, strides=dict.fromkeys("dhw", stride))


def test_the_example() -> None:
    before, after = examples(file)[0]
    around = """
    func.func private @linalg_ext_windows_0(memref<55x3x64xf32, strided<[128, 64, 1]>>,
                                            memref<55x64xf32>)
    func.func @f(%i: memref<111x64xf32>, %o: memref<55x64xf32>) {
      {}
      return
    }"""
    function = around[around.index("func.func @f") :]
    module = Module.parse(function.replace("{}", before, 1), trusted=True)
    assert tile_windows(module)
    made, main = sorted(module.ir.body.operations, key=lambda op: "private" not in str(op)[:30])
    assert "arith.maximumf" in str(made)
    expected = Module.parse(around.replace("{}", after, 1), trusted=True)
    assert str(list(expected.ir.body.operations)[-1]) == str(main)


@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout[0])
def test_depthwise(layout: tuple[str, str, str], stride: int, dilation: int) -> None:
    sizes = {"n": 2, "c": 19, "d": 3, "h": 5, "w": 21}
    places = {"d": 2, "h": 3, "w": 3}
    check(depthwise(layout, stride, dilation), sizes, places, plan=PLAN)


@pytest.mark.parametrize("stride", [1, 2, 4])
@pytest.mark.parametrize("body", ["max", "min", "sum"])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout[0])
def test_poolings(layout: tuple[str, str, str], body: str, stride: int) -> None:
    sizes = {"n": 2, "c": 21, "d": 2, "h": 7, "w": 37}
    check(pooling(layout, body, stride), sizes, {"d": 2, "h": 2, "w": 3}, plan=PLAN)


@pytest.mark.parametrize("each", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("layout", [("nhwc", "hwcm", "nhwcm"), ("nchw", "cmhw", "ncmhw")])
def test_several_results_for_each_channel(layout: tuple[str, str, str], each: int) -> None:
    for channels in (1, 5, 19):
        for stride in (1, 2):
            sizes = {"n": 1, "c": channels, "m": each, "h": 3, "w": 7}
            check(depthwise(layout, stride), sizes, {"h": 2, "w": 3})
    compiled = check(depthwise(layout), sizes | {"m": 2}, {"h": 2, "w": 3}, fill="0.0")
    assert PLAN in compiled.as_text("loops")


@pytest.mark.parametrize("layout", [("nhwc", "hwcm", "nhwcm")])
def test_nothing_beyond_what_is_repeated_is_read(layout: tuple[str, str, str]) -> None:
    for channels in (3, 7, 8, 9):
        sizes = {"n": 1, "c": channels, "m": 2, "h": 2, "w": 5}
        check_guarded(depthwise(layout), sizes, {"h": 2, "w": 2})


@pytest.mark.parametrize("channels", [2, 4, 8])
def test_few_channels_of_neighbours_share_a_vector(channels: int) -> None:
    sizes = {"n": 2, "c": channels, "h": 3, "w": 21}
    # As many as fill a vector need no neighbours.
    plan = "each" if 4 * channels < this_machine().vector_bytes else None
    for body in ("max", "sum"):
        check(pooling(LAYOUTS[0], body), sizes, {"h": 3, "w": 2}, plan=plan)


# Every remainder: of the vectors, and of the tile.


@pytest.mark.parametrize("known", ["unit", "none"])
@pytest.mark.parametrize("layout", LAYOUTS[:2], ids=lambda layout: layout[0])
def test_every_remainder_of_open_sizes(layout: tuple[str, str, str], known: str) -> None:
    windows = depthwise(layout)
    example = [integers(*shape) for shape in windows.shapes({"n": 2, "c": 2, "h": 2, "w": 2},
                                                           {"h": 2, "w": 2})]  # fmt: skip
    compiled = windows.compiled(example, known=known)
    assert (PLAN in compiled.as_text("loops")) == (known == "unit")
    for channels in (0, 1, 2, 15, 16, 17, 33):
        for width in (0, 1, 2, 7, 16, 17, 32):
            for places in ({"h": 3, "w": 1}, {"h": 1, "w": 3}):
                sizes = {"n": 1, "c": channels, "h": 3, "w": width}
                x, k, c = (integers(*shape) for shape in windows.shapes(sizes, places))
                expected = windows.reference(x, k, c) if width else c.copy()
                compiled(x, k, c)
                np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("height", [1, 2, 3, 7, 11])
@pytest.mark.parametrize("width", [1, 4, 13, 16, 23])
def test_every_remainder_of_a_tile(height: int, width: int) -> None:
    for layout in LAYOUTS[:2]:
        sizes = {"n": 1, "c": 17, "h": height, "w": width}
        check(depthwise(layout), sizes, {"h": 3, "w": 3})
        check(pooling(layout, "max", 2), sizes, {"h": 3, "w": 2})


@settings(max_examples=30, deadline=None)
@given(
    layout=st.sampled_from(LAYOUTS[:4]),
    body=st.sampled_from(["product", "max", "sum"]),
    stride=st.integers(1, 5),
    dilation=st.integers(1, 3),
    sizes=st.tuples(*[st.integers(1, 20)] * 3),
    places=st.tuples(*[st.integers(1, 6)] * 2),
    known=st.sampled_from(["all", "unit", "none"]),
)
def test_any_window(
    layout: tuple[str, str, str],
    body: str,
    stride: int,
    dilation: int,
    sizes: tuple[int, int, int],
    places: tuple[int, int],
    known: str,
) -> None:
    windows = depthwise(layout, stride, dilation)
    if body != "product":
        windows = pooling(layout, body, stride)
    named = dict(zip("chw", sizes, strict=True)) | {"n": 2}
    check(windows, named, dict(zip("hw", places, strict=True)), known=known)


@pytest.mark.parametrize("places", [(1, 1), (9, 9), (1, 40), (6, 6)])
def test_windows_of_any_size(places: tuple[int, int]) -> None:
    """One element; the whole image; more than are written out, in one direction or in both."""
    for layout in LAYOUTS[:2]:
        sizes = {"n": 1, "c": 18, "h": 1, "w": 6}
        check(depthwise(layout), sizes, dict(zip("hw", places, strict=True)))


def test_nothing_in_a_window_leaves_what_was_there() -> None:
    windows = pooling(LAYOUTS[0], "max")
    sizes = {"n": 1, "c": 16, "h": 2, "w": 3}
    check(windows, sizes, {"h": 0, "w": 2})
    check(windows, sizes, {"h": 0, "w": 2}, fill="5.0")


# Types.


@pytest.mark.parametrize("body", ["product", "max", "sum"])
@pytest.mark.parametrize(
    ("dtype", "result"),
    [("f8", "f8"), ("f2", "f2"), ("f2", "f4"), ("i1", "i1"), ("i1", "i4"), ("i2", "i4"),
     ("i4", "i4"), ("i8", "i8")],
)  # fmt: skip
def test_element_types(dtype: str, result: str, body: str) -> None:
    sizes, places = {"n": 1, "c": 37, "h": 3, "w": 35}, {"h": 2, "w": 3}
    for layout in LAYOUTS[:2]:
        windows = depthwise(layout) if body == "product" else pooling(layout, body, 2)
        check(windows, sizes, places, dtype=dtype, result=result, plan=PLAN)


@pytest.mark.parametrize("machine", [AVX512, AVX2, BASELINE, WITHOUT_FMA])
def test_every_width_of_vectors(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if machine.vector_bytes > this_machine().vector_bytes:
        skip_machine("vectors so wide")
    monkeypatch.setattr(file, "this_machine", lambda: machine)
    sizes, places = {"n": 1, "c": 21, "h": 6, "w": 23}, {"h": 3, "w": 3}
    for layout in LAYOUTS[:2]:
        for stride in (1, 2, 3):
            check(depthwise(layout, stride), sizes, places, plan=PLAN)
            check(pooling(layout, "max", stride), sizes, places, plan=PLAN)


# Beginnings.


def test_the_constant_before_is_where_the_results_start() -> None:
    sizes, places = {"n": 1, "c": 20, "h": 5, "w": 6}, {"h": 3, "w": 3}
    for body, fill in (("max", "0xFF800000"), ("sum", "0.0"), ("max", "1.0")):
        compiled = check(pooling(LAYOUTS[0], body), sizes, places, fill=fill)
        text = compiled.as_text("loops")
        assert "starts from" in text
        assert "what is there" not in text


def test_not_a_number_and_the_sign_of_zero() -> None:
    """As `arith.maximumf` has them: NaN wins, +0 is more than -0."""
    windows = pooling(LAYOUTS[0], "max")
    x = np.full((1, 3, 4, 16), -0.0, np.float32)
    x[0, 1, 1, ::2] = 0.0
    x[0, 2, 3, 5] = np.nan
    k, c = np.empty((2, 2), np.float32), np.full((1, 2, 3, 16), -np.inf, np.float32)
    windows.compiled((x, k, c), fill="0xFF800000")(x, k, c)
    views = np.lib.stride_tricks.sliding_window_view(x, (2, 2), axis=(1, 2))
    np.testing.assert_array_equal(np.isnan(c), np.isnan(views).any((-2, -1)))
    has_plus = ((views == 0) & ~np.signbit(views)).any((-2, -1))
    np.testing.assert_array_equal(np.signbit(c)[~np.isnan(c)], ~has_plus[~np.isnan(c)])


# Memory that is not the operands'.


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("width", [4, 15, 16, 17, 31, 33])
@pytest.mark.parametrize("layout", LAYOUTS[:2], ids=lambda layout: layout[0])
def test_nothing_beyond_an_operand_is_read(
    layout: tuple[str, str, str], width: int, stride: int
) -> None:
    sizes = {"n": 1, "c": 5, "h": 3, "w": width}
    check_guarded(depthwise(layout, stride), sizes, {"h": 2, "w": 2})


def test_operands_that_lie_apart_and_anywhere() -> None:
    """Strides that follow from no shape, an offset, addresses that are multiples of an element
    alone.
    """
    sizes = {"n": 2, "c": 17, "h": 4, "w": 5}
    check_apart(depthwise(LAYOUTS[0]), sizes, {"h": 2, "w": 3})


# What is left.


def tiled(text: str) -> tuple[str, Any]:
    module = Module.parse(text, trusted=True)
    view_windows(module)
    report = tile_windows(module)
    return str(module.ir), report


SUMS = pooling(LAYOUTS[0], "sum")


def of_type(windows: Windows, *shapes: str, element: str = "f32") -> str:
    types = [f"memref<{shape}x{element}>" for shape in shapes]
    return windows.text(types, [element] * 3, None)


@pytest.mark.parametrize(
    ("why", "text"),
    [
        (
            "the op multiplies matrices that are best packed",
            of_type(Windows("nwc", "fwc", "nwf"), "1x9x8", "16x3x8", "1x7x16"),
        ),
        ("no loop along memory in common", of_type(SUMS, "1x9x9x3", "3x3", "1x7x7x3")),
        (
            "no loop along memory in common",
            of_type(pooling(("hwc", "hw", "chw"), "sum"), "9x9x16", "3x3", "16x7x7"),
        ),
        (
            "no form on vectors",
            of_type(SUMS, "1x9x9x16", "3x3", "1x7x7x16").replace(
                "%r = arith.addf %o, %x : f32",
                "%n = linalg.index 0 : index\n%m = arith.index_cast %n : index to i32\n"
                "%e = arith.sitofp %m : i32 to f32\n%r = arith.addf %o, %e : f32",
            ),
        ),
        (
            "the output is an input",
            of_type(SUMS, "1x9x9x16", "1x1", "1x9x9x16").replace("ins(%a", "ins(%c"),
        ),
        (
            "elements of complex<f32>",
            of_type(SUMS, "1x9x9x16", "3x3", "1x7x7x16", element="complex<f32>").replace(
                "arith.addi", "complex.add"
            ),
        ),
    ],
)
def test_left_alone(why: str, text: str) -> None:
    after, report = tiled(text)
    assert not report
    assert why in repr(report)
    assert PLAN not in after


def test_one_function_does_for_all_ops_of_a_plan() -> None:
    one = of_type(SUMS, "1x9x9x16", "3x3", "1x7x7x16")
    text, report = tiled(one + one.replace("@f", "@g"))
    assert report.changed.total() == 2
    assert text.count("func.func private") == 1


def test_the_code_has_no_gathers_and_spills_nothing() -> None:
    sizes, places = {"n": 1, "c": 64, "h": 8, "w": 48}, {"h": 3, "w": 3}
    for layout in LAYOUTS[:2]:
        for stride in (1, 2):
            compiled = check(depthwise(layout, stride), sizes, places)
            lines = compiled.asm().splitlines()
            assert not [line for line in lines if "gather" in line]
            assert not [line for line in lines if "mm" in line and "rsp" in line]
