"""Transposed convolutions by taps: the example, numbers of every kind, and what is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from examples import constants, examples
from linalg_ext.transforms.codegen.convolutions import spread_transposed_convolutions as file

AROUND = (
    "func.func @f(%i: tensor<5x4xf32>, %k: tensor<3x4x8xf32>, %z: tensor<11x8xf32>)"
    " -> tensor<11x8xf32> {\n{}\nreturn %r : tensor<11x8xf32>\n}"
)
GIVEN = """
    c0 0 : index
    c2 2 : index
    c8 8 : index
    zero 0.0 : f32"""


def spread(image: Any, kernel: Any, strides: Any, dilations: Any) -> Any:
    """The sum, channels last, by adding each tap's product where it goes."""
    places, taps = image.shape[1:-1], kernel.shape[:-2]
    ways = [range(t) for t in taps]
    shape = [
        (size - 1) * s + (t - 1) * d + 1
        for size, t, s, d in zip(places, taps, strides, dilations, strict=True)
    ]
    result = np.zeros((image.shape[0], *shape, kernel.shape[-1]), np.float64)
    for tap in np.ndindex(*map(len, ways)):
        window = tuple(
            slice(t * d, t * d + (size - 1) * s + 1, s)
            for t, d, s, size in zip(tap, dilations, strides, places, strict=True)
        )
        result[(slice(None), *window)] += image.astype(np.float64) @ kernel[tap]
    return result


SHAPES = [
    # places, taps, strides, dilations
    ((7,), (3,), (2,), (1,)),
    ((7,), (4,), (2,), (1,)),  # two taps at once
    ((5,), (4,), (4,), (1,)),  # all taps at once
    ((6,), (3,), (1,), (2,)),
    ((6,), (4,), (2,), (2,)),  # places that nothing reaches
    ((1,), (3,), (2,), (1,)),
    ((4,), (1,), (3,), (1,)),  # gaps
    ((5, 6), (3, 2), (2, 2), (1, 1)),
    ((5, 6), (5, 4), (3, 2), (1, 2)),
    ((3, 4, 5), (2, 3, 2), (2, 1, 2), (1, 1, 1)),
]


@pytest.mark.parametrize(("places", "taps", "strides", "dilations"), SHAPES)
@pytest.mark.parametrize("channels_last", [True, False])
def test_numbers(places: Any, taps: Any, strides: Any, dilations: Any, channels_last: bool) -> None:
    rng = np.random.default_rng(len(places))
    image = rng.integers(-9, 9, (2, *places, 5)).astype(np.float32)
    kernel = rng.integers(-9, 9, (*taps, 5, 19)).astype(np.float32)
    expected = spread(image, kernel, strides, dilations)
    rank = len(places)
    names = {1: ("nwc_wcf", "ncw_cfw"), 2: ("nhwc_hwcf", "nchw_cfhw"), 3: ("ndhwc_dhwcf",) * 2}
    names[3] = ("ndhwc_dhwcf", "ncdhw_cfdhw")
    op = getattr(lx.ops, f"transposed_conv_{rank}d_{names[rank][not channels_last]}")
    if not channels_last:
        image, kernel = np.moveaxis(image, -1, 1), np.moveaxis(kernel, (-2, -1), (0, 1))
        expected = np.moveaxis(expected, -1, 1)
    image, kernel = np.ascontiguousarray(image), np.ascontiguousarray(kernel)
    result = op(image, kernel, strides=strides, dilations=dilations)
    np.testing.assert_array_equal(result, expected)
    start = rng.integers(-9, 9, expected.shape).astype(np.float32)
    result = op(image, kernel, init=start, strides=strides, dilations=dilations)
    np.testing.assert_array_equal(result, expected + start)


def test_what_no_tap_reaches_is_not_multiplied() -> None:
    image = np.ones((1, 4, 3), np.float32)
    kernel = np.full((3, 3, 2), np.inf, np.float32)
    kernel[1] = 1
    result = lx.ops.transposed_conv_1d_nwc_wcf(image, kernel, strides=[2])
    np.testing.assert_array_equal(result[0, 1::2], 3)
    assert np.isposinf(result[0, ::2]).all()


@pytest.mark.parametrize(
    ("types", "dtype"), [((np.int8, np.int8), np.int32), ((np.float16, np.float16), np.float32)]
)
def test_narrow_elements(types: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    image = rng.integers(-9, 9, (1, 5, 6, 7)).astype(types[0])
    kernel = rng.integers(-9, 9, (3, 3, 7, 4)).astype(types[1])
    result = lx.ops.transposed_conv_2d_nhwc_hwcf(image, kernel, strides=[2, 2], dtype=dtype)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, spread(image, kernel, (2, 2), (1, 1)))


@pytest.mark.parametrize("shape", [((0, 5, 4), (3, 4, 2)), ((1, 5, 0), (3, 0, 2))])
def test_nothing_to_spread(shape: Any) -> None:
    image, kernel = (np.ones(one, np.float32) for one in shape)
    result = lx.ops.transposed_conv_1d_nwc_wcf(image, kernel, strides=[2])
    assert result.shape == (shape[0][0], 11, 2)
    assert not result.any()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("%c8 :", "%c2 :", "the conditions are not those of taps"),
        ("cmpi eq", "cmpi ne", "the conditions are not those of taps"),
        ("floordiv 2", "floordiv 3", "the conditions are not those of taps"),
        ("%met, %p, %zero", "%met, %p, %x", "the body does not sum a product or 0"),
        ("arith.addf %o, %s", "arith.maximumf %o, %s", "the body does not sum a product or 0"),
        (
            "arith.mulf %x, %y",
            "arith.mulf %x, %o",
            "the selected value depends on the result so far",
        ),
        ("arith.remsi", "arith.divsi", "more than sums and comparisons"),
    ],
)
def test_what_means_something_else_stays(old: str, new: str, reason: str) -> None:
    before = examples(file)[0][0]
    assert old in before
    module = lx.parse(AROUND.replace("{}", constants(GIVEN) + before.replace(old, new, 1), 1))
    text = str(module)
    report = file.spread_transposed_convolutions(module)
    assert reason in str(report)
    assert str(module) == text


def test_a_result_that_is_cut_stays() -> None:
    before = examples(file)[0][0].replace("tensor<11x8xf32>", "tensor<10x8xf32>")
    around = AROUND.replace("tensor<11x8xf32>", "tensor<10x8xf32>")
    module = lx.parse(around.replace("{}", constants(GIVEN) + before, 1))
    assert "the result is shorter than the taps reach" in str(
        file.spread_transposed_convolutions(module)
    )
