"""Windows as views that overlap: what the views are, and what is left alone."""

from __future__ import annotations

from typing import Any

import pytest

from linalg_ext.module import Module
from linalg_ext.transforms.codegen.convolutions.view_windows import view_windows
from window_kernels import Windows


def viewed(text: str) -> tuple[str, Any]:
    module = Module.parse(text, trusted=True)
    report = view_windows(module)
    return str(module.ir), report


CONVOLUTION = Windows("nwc", "wcf", "nwf", strides={"w": 3}, dilations={"w": 2})


@pytest.mark.parametrize(
    ("types", "said"),
    [
        (
            ["memref<2x?x8xf32>", "memref<?x8x16xf32>", "memref<2x?x16xf32>"],
            "memref<2x?x?x8xf32, strided<[?, 24, 16, 1]>>",
        ),
        (
            [
                "memref<2x?x8xf32, strided<[?, ?, ?], offset: ?>>",
                "memref<?x8x16xf32>",
                "memref<2x5x16xf32>",
            ],
            "memref<2x5x?x8xf32, strided<[?, ?, ?, ?], offset: ?>>",
        ),
        (
            [
                "memref<2x21x8xf32, strided<[400, 16, 2], offset: 7>>",
                "memref<3x8x16xf32>",
                "memref<2x6x16xf32>",
            ],
            "memref<2x6x3x8xf32, strided<[400, 48, 32, 2], offset: 7>>",
        ),
    ],
)
def test_what_the_types_tell_is_kept(types: list[str], said: str) -> None:
    after, report = viewed(CONVOLUTION.text(types, ["f32"] * 3, None))
    assert report
    assert said in after


TYPES = ["memref<2x21x8xf32>", "memref<3x8x16xf32>", "memref<2x6x16xf32>"]
TEXT = CONVOLUTION.text(TYPES, ["f32"] * 3, None)


def test_an_index_may_begin_later() -> None:
    after, _ = viewed(TEXT.replace("w * 3 + W * 2", "w * 3 + W * 2 + 1"))
    assert "to offset: [8]" in after


@pytest.mark.parametrize(
    ("why", "text"),
    [
        ("backwards", TEXT.replace("w * 3 + W * 2", "w * 3 - W * 2 + 4")),
        ("not a sum of loops", TEXT.replace("w * 3 + W * 2", "(w * 3 + W) mod 7")),
        ("memory space", TEXT.replace("memref<2x21x8xf32>", "memref<2x21x8xf32, 1>")),
        (
            "no strides",
            TEXT.replace(
                "memref<2x21x8xf32>", "memref<2x21x8xf32, affine_map<(a, b, c) -> (a, c mod 8, b)>>"
            ),
        ),
    ],
)
def test_left_alone(why: str, text: str) -> None:
    after, report = viewed(text)
    assert not report
    assert why in repr(report)
    assert "reinterpret_cast" not in after


def test_what_is_written_is_not_seen_twice() -> None:
    text = """
    func.func @f(%a: memref<6xf32>, %b: memref<3xf32>, %c: memref<8xf32>) {
      linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>,
                                       affine_map<(i, j) -> (i + j)>],
                      iterator_types = ["reduction", "reduction"]}
          ins(%a, %b : memref<6xf32>, memref<3xf32>) outs(%c : memref<8xf32>) {
      ^bb0(%x: f32, %k: f32, %o: f32):
        %p = arith.mulf %x, %k : f32
        %s = arith.addf %o, %p : f32
        linalg.yield %s : f32
      }
      return
    }"""
    after, report = viewed(text)
    assert not report
    assert "reinterpret_cast" not in after
