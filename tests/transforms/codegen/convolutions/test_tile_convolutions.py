"""Convolutions that multiply matrices: read where they lie or packed, the numbers are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linalg_ext as lx
from linalg_ext import target
from linalg_ext.transforms.codegen.base.machine import this_machine
from linalg_ext.transforms.codegen.contractions import pack_contractions
from linalg_ext.transforms.codegen.convolutions import tile_windows
from machines import AVX2, AVX512, BASELINE, WITHOUT_FMA
from memrefs import integers
from resources import skip_machine
from window_kernels import Windows, check, check_apart, check_guarded

DIRECT, PACKED = "linalg_ext_windows", "linalg_ext_contraction"

LAYOUTS = [
    ("nhwc", "hwcf", "nhwf"),
    ("nchw", "fchw", "nfhw"),
    ("nwc", "wcf", "nwf"),
    ("ncw", "fcw", "nfw"),
    ("nchw", "hwcf", "nhwf"),
    ("ndhwc", "dhwcf", "ndhwf"),
    ("ncdhw", "fcdhw", "nfdhw"),
    ("nhwgc", "ghwcf", "nhwgf"),
    ("ngchw", "gfchw", "ngfhw"),
]
"""Those whose results lie along the memory of one operand or the other."""

OTHERS = [
    ("nhwc", "fhwc", "nhwf"),
    ("nhwc", "hwcf", "nfhw"),
    ("nhwgc", "gfhwc", "nhwgf"),
]

SIZES = {"n": 2, "c": 5, "f": 19, "g": 2, "d": 2, "h": 6, "w": 21}
PLACES = {"d": 2, "h": 3, "w": 3}


def convolution(layout: tuple[str, str, str], stride: int = 1, dilation: int = 1) -> Windows:
    return Windows(
        *layout, strides=dict.fromkeys("dhw", stride), dilations=dict.fromkeys("dhw", dilation)
    )


def word(layout: tuple[str, ...]) -> str:
    return "-".join(layout)


@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("layout", LAYOUTS, ids=word)
def test_read_where_it_lies(layout: tuple[str, str, str], stride: int, dilation: int) -> None:
    check(convolution(layout, stride, dilation), SIZES, PLACES, plan=DIRECT)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("width", [9, 12, 17, 20, 35])
@pytest.mark.parametrize("dilation", [2, 4, 8, 16])
def test_taps_as_far_apart_as_vectors(dilation: int, width: int, dtype: str) -> None:
    """Of two vectors in the same place, for two taps, one may need fewer lanes."""
    sizes = {"n": 1, "c": 2, "f": 3, "h": 2, "w": width}
    windows = convolution(LAYOUTS[1], dilation=dilation)
    check(windows, sizes, {"h": 1, "w": 5}, dtype=dtype, plan=DIRECT)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("layout", OTHERS, ids=word)
def test_other_layouts_are_packed(layout: tuple[str, str, str], stride: int) -> None:
    check(convolution(layout, stride, 2), SIZES, PLACES, plan=PACKED)


@pytest.mark.parametrize("known", ["unit", "none"])
@pytest.mark.parametrize("layout", LAYOUTS[:2], ids=word)
def test_open_sizes_are_packed(layout: tuple[str, str, str], known: str) -> None:
    windows = convolution(layout, 2)
    arrays = [integers(*shape) for shape in windows.shapes(SIZES, PLACES)]
    compiled = windows.compiled(arrays, known=known)
    assert PACKED in compiled.as_text("loops")
    for change in ({}, {"w": 5, "f": 40}, {"c": 1}, {"f": 1}, {"h": 1, "w": 1}):
        x, k, c = (integers(*shape) for shape in windows.shapes(SIZES | change, PLACES))
        expected = windows.reference(x, k, c)
        compiled(x, k, c)
        np.testing.assert_array_equal(c, expected)


def test_a_large_kernel_is_packed() -> None:
    places = {"h": 3, "w": 3}
    for layout in LAYOUTS[:2]:
        sizes = {"n": 1, "c": 300, "f": 90, "h": 3, "w": 5}
        check(convolution(layout), sizes, places, plan=DIRECT if _fits(300 * 90 * 9) else PACKED)
        check(convolution(layout), sizes | {"f": 900}, places, plan=PACKED)


def _fits(elements: int) -> bool:
    return 4 * elements <= this_machine().l2_bytes * 2 // 5


# Every remainder of a tile: of its rows, of its vectors, of their lanes.


@pytest.mark.parametrize("channels", [1, 4, 15, 16, 17, 31, 64, 65])
@pytest.mark.parametrize("width", [1, 2, 5, 6, 7, 13])
def test_every_remainder_where_channels_come_last(channels: int, width: int) -> None:
    sizes = {"n": 1, "c": 3, "f": channels, "h": 2, "w": width}
    check(convolution(LAYOUTS[0]), sizes, {"h": 2, "w": 3})
    check(convolution(LAYOUTS[0]), sizes, {"h": 2, "w": 3}, fill="0.0", dtype="f8")


@pytest.mark.parametrize("channels", [1, 2, 5, 6, 7, 13])
@pytest.mark.parametrize("width", [1, 4, 7, 9, 15, 16, 17, 30, 47, 54])
def test_every_remainder_where_channels_come_first(channels: int, width: int) -> None:
    """Rows of results that are walked over as one among them, in one piece, two and three."""
    sizes = {"n": 2, "c": 3, "f": channels, "h": 7, "w": width}
    check(convolution(LAYOUTS[1]), sizes, {"h": 2, "w": 3})
    check(convolution(LAYOUTS[1], 2), sizes, {"h": 2, "w": 3}, fill="0.0", dtype="f8")


def test_rows_are_walked_over_as_one_where_that_fills_vectors() -> None:
    lanes = this_machine().vector_bytes // 4
    for width, is_one in ((3 * lanes + 3, True), (4 * lanes, False)):
        sizes = {"n": 1, "c": 3, "f": 12, "h": 7, "w": width}
        compiled = check(convolution(LAYOUTS[1]), sizes, {"h": 3, "w": 3}, fill="0.0")
        assert ("of every" in compiled.as_text("loops")) == is_one


@settings(max_examples=30, deadline=None)
@given(
    layout=st.sampled_from([*LAYOUTS, *OTHERS]),
    stride=st.integers(1, 5),
    dilation=st.integers(1, 3),
    sizes=st.lists(st.integers(1, 20), min_size=4, max_size=4),
    places=st.lists(st.integers(1, 5), min_size=2, max_size=2),
    known=st.sampled_from(["all", "unit", "none"]),
    fill=st.sampled_from([None, "0.0", "3.0"]),
)
def test_any_convolution(
    layout: tuple[str, str, str],
    stride: int,
    dilation: int,
    sizes: list[int],
    places: list[int],
    known: str,
    fill: str | None,
) -> None:
    named = SIZES | dict(zip("cfhw", sizes, strict=True))
    window = PLACES | dict(zip("hw", places, strict=True))
    check(convolution(layout, stride, dilation), named, window, known=known, fill=fill)


@pytest.mark.parametrize("places", [{"h": 1, "w": 1}, {"h": 9, "w": 30}, {"h": 0, "w": 3}])
def test_windows_of_any_size(places: dict[str, int]) -> None:
    for layout in LAYOUTS[:2]:
        for fill in (None, "0.0"):
            check(convolution(layout), SIZES | {"h": 1, "w": 4}, places, fill=fill)


@pytest.mark.parametrize("empty", "nchfw")
def test_sizes_of_zero(empty: str) -> None:
    for layout in LAYOUTS[:2]:
        check(convolution(layout), SIZES | {empty: 0}, {"h": 1, "w": 1}, fill="0.0")


@pytest.mark.parametrize("machine", [AVX512, AVX2, BASELINE, WITHOUT_FMA])
def test_every_width_of_vectors(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if machine.vector_bytes > this_machine().vector_bytes:
        skip_machine("vectors so wide")
    for file in (pack_contractions, tile_windows):
        monkeypatch.setattr(file, "this_machine", lambda: machine)
    for layout in LAYOUTS[:2]:
        for stride in (1, 2):
            check(convolution(layout, stride), SIZES, PLACES)


@pytest.mark.parametrize("name", ["avx2", "generic-x86-64"])
def test_other_targets(name: str) -> None:
    x, k = integers(1, 9, 20, 5), integers(3, 3, 5, 19)
    expected = convolution(LAYOUTS[0]).reference(x, k, np.zeros((1, 7, 18, 19), np.float32))
    with target.using(name):
        np.testing.assert_array_equal(
            lx.jit(lambda x, k: lx.ops.conv_2d_nhwc_hwcf(x, k))(x, k), expected
        )


@pytest.mark.parametrize(
    ("dtype", "result"), [("f2", "f2"), ("f2", "f4"), ("i1", "i4"), ("i4", "i4")]
)
def test_other_element_types(dtype: str, result: str) -> None:
    for layout in LAYOUTS[:2]:
        check(convolution(layout), SIZES, PLACES, dtype=dtype, result=result)


# Memory that is not the operands'.


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("width", [7, 14, 17, 33])
@pytest.mark.parametrize("layout", [LAYOUTS[0], LAYOUTS[1], OTHERS[0]], ids=word)
def test_nothing_beyond_an_operand_is_read(
    layout: tuple[str, str, str], width: int, stride: int
) -> None:
    check_guarded(convolution(layout, stride), SIZES | {"w": width}, PLACES)


@pytest.mark.parametrize("layout", LAYOUTS[:2], ids=word)
def test_operands_that_lie_apart(layout: tuple[str, str, str]) -> None:
    check_apart(convolution(layout), SIZES, PLACES)


@pytest.mark.parametrize("layout", LAYOUTS[:2], ids=word)
def test_nan_and_infinity_stay_in_their_windows(layout: tuple[str, str, str]) -> None:
    windows = convolution(layout)
    x, k, c = (integers(*shape) for shape in windows.shapes(SIZES | {"w": 14}, PLACES))
    x.flat[0], x.flat[-1], x.flat[x.size // 2] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        expected = windows.reference(x, k, np.zeros_like(c))
    c[:] = np.nan  # it is overwritten
    windows.compiled((x, k, c), fill="0.0")(x, k, c)
    np.testing.assert_array_equal(c, expected)


# What follows.


def _with_bias(named: Any, over: list[int]) -> Any:
    return lx.jit(lambda x, k, b: lx.ops.relu(lx.ops.add(named(x, k), b, broadcast_rhs=over)))


@pytest.mark.parametrize("width", [6, 16, 21, 54])
def test_bias_and_activation_are_done_on_the_tile(width: int) -> None:
    b = integers(19, seed=3)
    for layout, named, over in (
        (LAYOUTS[0], lx.ops.conv_2d_nhwc_hwcf, [0, 1, 2]),
        (LAYOUTS[1], lx.ops.conv_2d_nchw_fchw, [0, 2, 3]),
    ):
        windows = convolution(layout)
        x, k, c = (integers(*shape) for shape in windows.shapes(SIZES | {"w": width}, PLACES))
        shape = tuple(len(b) if letter == "f" else 1 for letter in layout[2])
        expected = np.maximum(windows.reference(x, k, np.zeros_like(c)) + b.reshape(shape), 0)
        compiled = _with_bias(named, over).lower(x, k, b).compile()
        assert "linalg.generic" not in compiled.as_text("loops")
        assert "memref.alloc" not in compiled.as_text("loops")
        np.testing.assert_array_equal(compiled(x, k, b), expected)


def test_the_epilogue_of_a_depthwise_convolution() -> None:
    x, k, b = integers(1, 9, 20, 19), integers(3, 3, 19), integers(19, seed=3)
    windows = Windows("nhwc", "hwc", "nhwc")
    expected = windows.reference(x, k, np.zeros((1, 7, 18, 19), np.float32)) + b
    named = lx.ops.depthwise_conv_2d_nhwc_hwc
    compiled = _with_bias(named, [0, 1, 2]).lower(x, k, b).compile()
    assert "memref.alloc" not in compiled.as_text("loops")
    np.testing.assert_array_equal(compiled(x, k, b), np.maximum(expected, 0))


def test_a_residual_of_the_shape_of_the_result() -> None:
    for layout, named in zip(
        LAYOUTS[:2], (lx.ops.conv_2d_nhwc_hwcf, lx.ops.conv_2d_nchw_fchw), strict=True
    ):
        windows = convolution(layout)
        x, k, c = (integers(*shape) for shape in windows.shapes(SIZES, PLACES))
        kernel = lx.jit(lambda x, k, c, named=named: lx.ops.sub(named(x, k), c))
        expected = windows.reference(x, k, np.zeros_like(c)) - c
        np.testing.assert_array_equal(kernel(x, k, c), expected)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_share_the_rows(threads: int) -> None:
    with lx.threads.using(threads):
        for layout, named in (
            (LAYOUTS[0], lx.ops.conv_2d_nhwc_hwcf),
            (LAYOUTS[1], lx.ops.conv_2d_nchw_fchw),
        ):
            windows = convolution(layout)
            sizes = SIZES | {"c": 32, "f": 64, "h": 37, "w": 35}
            x, k, c = (integers(*shape) for shape in windows.shapes(sizes, PLACES))
            kernel = lx.jit(lambda x, k, named=named: named(x, k))
            expected = windows.reference(x, k, np.zeros_like(c))
            for _ in range(3):
                np.testing.assert_array_equal(kernel(x, k), expected)


def test_the_code_has_no_gathers_and_spills_nothing() -> None:
    sizes = {"n": 1, "c": 64, "f": 64, "h": 8, "w": 48}
    multiplied_out = target.current().with_note("convolutions.winograd", False)
    for layout in LAYOUTS[:2]:
        for stride in (1, 2):
            with target.using(multiplied_out):
                compiled = check(
                    convolution(layout, stride), sizes, PLACES, fill="0.0", plan=DIRECT
                )
            lines = compiled.asm().splitlines()
            assert not [line for line in lines if "gather" in line]
            assert not [line for line in lines if "mm" in line and "rsp" in line]
