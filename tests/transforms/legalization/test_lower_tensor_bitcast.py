"""tensor.bitcast becomes arith.bitcast."""

from __future__ import annotations

import pytest

from linalg_ext import errors
from linalg_ext.module import Module
from linalg_ext.transforms.legalization.lower_destination_ops import lower_tensor_bitcast


def test_integers_with_a_sign_in_their_type() -> None:
    module = Module.parse(
        """
        func.func @f(%a: tensor<4xf32>) -> tensor<4xui32> {
          %r = tensor.bitcast %a : tensor<4xf32> to tensor<4xui32>
          return %r : tensor<4xui32>
        }""",
        trusted=True,
    )
    with pytest.raises(errors.LoweringError, match=r"(?s)on ui32 cannot.*:3:16.*write i32"):
        lower_tensor_bitcast(module)
