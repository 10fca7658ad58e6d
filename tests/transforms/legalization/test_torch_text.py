"""Text of PyTorch's dialect, lowered by the passes that come with it; IREE's, refused."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import LoweringError, ParseError

TANH = """func.func @f(%a: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2,3],f32> {
  %0 = torch.aten.tanh %a : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[2,3],f32>
  return %0 : !torch.vtensor<[2,3],f32>
}"""


@pytest.mark.parametrize("trusted", [True, False])
def test_ops_of_pytorch_are_lowered_and_run(trusted: bool) -> None:
    module = lx.parse(TANH) if not trusted else lx.Module.parse(TANH, trusted=True)
    assert "torch" not in str(module)
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_allclose(lx.compile(module)(x), np.tanh(x), rtol=1e-6)


def test_a_text_is_compiled_as_it_stands() -> None:
    x = np.ones((2, 3), np.float32)
    np.testing.assert_allclose(lx.compile(TANH)(x), np.tanh(x), rtol=1e-6)


def test_an_op_without_a_lowering_is_named() -> None:
    text = TANH.replace("torch.aten.tanh %a", 'torch.operator "torch.mine.op"(%a)').replace(
        "!torch.vtensor<[2,3],f32> -> !", "(!torch.vtensor<[2,3],f32>) -> !"
    )
    with pytest.raises(LoweringError, match="torch"):
        lx.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "util.func public @main(%a: tensor<4xf32>) { util.return }",
        "func.func @f(%a: !hal.buffer_view) { return }",
        'func.func @f(%a: i32) { "flow.tensor.transfer"(%a) : (i32) -> () return }',
    ],
)
def test_a_text_of_iree_says_how_to_export(text: str) -> None:
    with pytest.raises(ParseError, match='output_type="linalg-on-tensors"'):
        lx.parse(text)
