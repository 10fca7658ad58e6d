"""Softmax, pack, unpack and Winograd leave as generics; their values are tested with linalg's."""

from __future__ import annotations

import pytest

from linalg_ext import errors
from linalg_ext.module import Module
from linalg_ext.transforms.legalization import decompose_structured_ops as file


def test_softmax_is_four_generics() -> None:
    module = Module.parse(
        """
        func.func @f(%a: tensor<4x6xf32>, %e: tensor<4x6xf32>) -> tensor<4x6xf32> {
          %r = linalg.softmax dimension(1) ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>)
                 -> tensor<4x6xf32>
          return %r : tensor<4x6xf32>
        }""",
        trusted=True,
    )
    report = file.decompose_structured_ops(module)
    assert report.changed == {"linalg.softmax": 1}
    assert str(module).count("= linalg.generic") == 4
    assert "softmax" not in str(module)


def test_buffers_are_refused_with_the_cure() -> None:
    module = Module.parse(
        """
        func.func @f(%a: memref<4x6xf32>, %e: memref<4x6xf32>) {
          linalg.softmax dimension(1) ins(%a : memref<4x6xf32>) outs(%e : memref<4x6xf32>)
          return
        }""",
        trusted=True,
    )
    before = str(module)
    with pytest.raises(
        errors.LoweringError, match=r"(?s)linalg\.softmax on buffers.*:3:11.*to_tensor"
    ):
        file.decompose_structured_ops(module)
    assert str(module) == before


def test_nothing_to_do() -> None:
    assert not file.decompose_structured_ops(Module.parse("func.func private @f()", trusted=True))
