"""Convolutions raised to contractions: those whose windows do not overlap, without a copy."""

from __future__ import annotations

import pytest

import linalg_ext as lx
from raised_contractions import ADDED, CONTRACT, generic, op, raised
from rewrite_texts import assert_same_results, parsed

WINDOWS = {
    "kernels of one place": (
        op(
            "linalg.conv_2d_nchw_fchw",
            ["tensor<2x3x4x5xf32>", "tensor<6x3x1x1xf32>"],
            "tensor<2x6x4x5xf32>",
        ),
        "tensor.collapse_shape",
    ),
    "kernels of one place, strides": (
        op(
            "linalg.conv_2d_nhwc_hwcf",
            ["tensor<2x5x7x3xf32>", "tensor<1x1x3x6xf32>"],
            "tensor<2x3x3x6xf32>",
            "{strides = dense<[2, 3]> : tensor<2xi64>}",
        ),
        "tensor.extract_slice",
    ),
    "kernels of one place, an open size": (
        op(
            "linalg.conv_2d_nhwc_hwcf",
            ["tensor<?x?x7x3xf32>", "tensor<1x1x3x6xf32>"],
            "tensor<?x?x7x6xf32>",
        ),
        "tensor.extract_slice",
    ),
    "strides as long as the kernel": (
        op(
            "linalg.conv_2d_nhwc_hwcf",
            ["tensor<2x4x7x3xf32>", "tensor<2x3x3x6xf32>"],
            "tensor<2x2x2x6xf32>",
            "{strides = dense<[2, 3]> : tensor<2xi64>}",
        ),
        "tensor.expand_shape",
    ),
    "dilations as long as the result": (
        op(
            "linalg.conv_1d_nwc_wcf",
            ["tensor<2x6x3xf32>", "tensor<2x3x4xf32>"],
            "tensor<2x3x4xf32>",
            "{dilations = dense<3> : tensor<1xi64>}",
        ),
        "tensor.expand_shape",
    ),
    "a result of one place": (
        op(
            "linalg.conv_2d_nchw_fchw",
            ["tensor<2x3x4x5xf32>", "tensor<6x3x4x5xf32>"],
            "tensor<2x6x1x1xf32>",
        ),
        "tensor.collapse_shape",
    ),
    "channel by channel": (
        op(
            "linalg.depthwise_conv_2d_nhwc_hwc",
            ["tensor<2x4x6x3xf32>", "tensor<2x2x3xf32>"],
            "tensor<2x2x3x3xf32>",
            "{strides = dense<2> : tensor<2xi64>}",
        ),
        "tensor.expand_shape",
    ),
    "group by group": (
        op(
            "linalg.conv_2d_ngchw_fgchw",
            ["tensor<2x2x3x4x5xf32>", "tensor<6x2x3x1x1xf32>"],
            "tensor<2x2x6x4x5xf32>",
        ),
        "tensor.collapse_shape",
    ),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_that_do_not_overlap(name: str) -> None:
    text, reshape = WINDOWS[name]
    module = raised(text)
    assert CONTRACT in str(module)
    assert "linalg.conv" not in str(module)
    assert "linalg.depthwise" not in str(module)
    assert reshape in str(module)
    assert "linalg.generic" not in str(module)  # nothing is copied
    lx.transforms.lower_contract(module)
    assert_same_results(parsed(text), module)


@pytest.mark.parametrize("index", ["d2 + 1", "d2 * 2"])
def test_every_other_element_is_a_slice(index: str) -> None:
    module = raised(generic([f"d0, {index}", "d2, d1"], "d0, d1", ADDED))
    assert "tensor.extract_slice" in str(module)
    assert CONTRACT in str(module)
