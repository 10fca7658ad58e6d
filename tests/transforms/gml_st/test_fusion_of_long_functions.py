"""Fusion into one loop reads each part that the body takes once, however long the function is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.bindings import ir
from linalg_ext.dialects.gml_st import definitions
from linalg_ext.structured.maps import line_of
from linalg_ext.transforms.gml_st import producer_fusion
from linalg_ext.transforms.gml_st.op_tiling import part_of
from linalg_ext.transforms.ir_utils.walking import operations
from long_modules import chain


def tiled(text: str) -> lx.Module:
    module = lx.parse(text)
    lx.transforms.tile_and_fuse(module, tile_sizes=[3], as_scf=False)
    return module


@pytest.mark.parametrize("length", [5, 20])
def test_a_part_is_read_once(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[ir.Value] = []

    def noted(set_: ir.Value) -> Any:
        asked.append(set_)
        return part_of(set_)

    monkeypatch.setattr(producer_fusion, "part_of", noted)
    module = tiled(chain(length))
    (loop,) = operations(module.ir, ["gml_st.parallel"])
    assert len(operations(loop, ["linalg.map"])) == length
    # Of each sum its operand and its destination, no more; the first of all is left outside.
    assert len(asked) <= 2 * length + 2


def test_the_numbers_of_a_long_chain() -> None:
    x = np.arange(8, dtype=np.float32)
    module = lx.parse(chain(20))
    lx.transforms.tile_and_fuse(module, tile_sizes=[3], as_scf=True)
    np.testing.assert_array_equal(lx.compile(module)(x), x * 2.0**20)


BRANCHES = """
func.func @f(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %a = linalg.exp ins(%x : tensor<8xf32>) outs(%y : tensor<8xf32>) -> tensor<8xf32>
  cf.br ^next
^next:
  %b = linalg.abs ins(%a : tensor<8xf32>) outs(%y : tensor<8xf32>) -> tensor<8xf32>
  %c = linalg.add ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%y : tensor<8xf32>)
       -> tensor<8xf32>
  return %c : tensor<8xf32>
}"""


def test_producers_in_another_block_are_fused_too() -> None:
    module = lx.parse(BRANCHES)
    lx.transforms.tile_and_fuse(module, tile_sizes=[3], op="linalg.add", as_scf=True)
    (loop,) = operations(module.ir, ["scf.forall"])
    assert len(operations(loop, ["linalg.abs"])) == 1
    assert len(operations(loop, ["linalg.exp"])) == 1
    x = np.linspace(-1, 1, 8, dtype=np.float32)
    np.testing.assert_allclose(lx.compile(module)(x, x.copy()), 2 * np.exp(x), rtol=1e-6)


def test_a_line_of_ir_is_printed_without_a_look_at_the_function(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = tiled(chain(5))
    last = operations(module.ir, ["linalg.map"])[-1]
    expected = last.get_asm(use_local_scope=True, skip_regions=True)
    checked: list[str] = []
    monkeypatch.setattr(definitions, "check_op", lambda op: checked.append(op.name))
    assert line_of(last, large=16) == expected
    assert not checked
    module.ir.operation.verify()
    assert "gml_st.tile" in checked
