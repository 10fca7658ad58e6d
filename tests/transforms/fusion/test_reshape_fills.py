"""Fills behind reshapes; what they are good for is seen in stacks of attention."""

from __future__ import annotations

from examples import examples
from linalg_ext.module import Module
from linalg_ext.transforms.fusion import reshape_fills as file

AROUND = """
func.func @f() -> tensor<2x3x4xf32> {
  {}
  return %r : tensor<2x3x4xf32>
}"""


def test_what_depends_on_its_place_stays() -> None:
    body = examples(file)[0][0].replace(
        "linalg.yield %zero", "%n = linalg.index 0 : index\n linalg.yield %o"
    )
    assert not file.reshape_fills(Module.parse(AROUND.replace("{}", body), trusted=True))
