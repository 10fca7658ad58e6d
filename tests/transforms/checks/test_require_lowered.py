"""What upstream leaves behind is refused, by name."""

from __future__ import annotations

import pytest

from kernels import run
from linalg_ext import errors
from linalg_ext.module import Module
from linalg_ext.transforms.checks.require_lowered import require_lowered


def test_what_is_left_is_counted() -> None:
    module = Module.parse(
        """
        llvm.func @g(%a: f32) -> f32 {
          %0 = builtin.unrealized_conversion_cast %a : f32 to f64
          %1 = arith.addf %0, %0 : f64
          %2 = arith.addf %1, %1 : f64
          llvm.return %a : f32
        }""",
        trusted=True,
    )
    with pytest.raises(errors.LoweringError) as caught:
        require_lowered(module)
    assert "arith.addf has no known lowering to LLVM" in str(caught.value)
    assert "2 x arith.addf, 1 x builtin.unrealized_conversion_cast" in str(caught.value)


def test_llvm_alone_passes() -> None:
    require_lowered(Module.parse("llvm.func @g() { llvm.return }", trusted=True))


@pytest.mark.parametrize("type_", ["f4E2M1FN", "f6E2M3FN", "tf32"])
def test_formats_without_arithmetic(type_: str) -> None:
    text = f"""
    func.func @f(%x: f32) -> f32 {{
      %0 = arith.truncf %x : f32 to {type_}
      %1 = arith.extf %0 : {type_} to f32
      return %1 : f32
    }}"""
    with pytest.raises(errors.LoweringError, match=rf"(?s)arith\.truncf.*{type_}.*8 bits"):
        run(text, 1.0)


def test_a_contraction_with_a_maximum() -> None:
    text = """
    func.func @f(%x: f32) -> f32 {
      %v = vector.broadcast %x : f32 to vector<4x6xf32>
      %w = vector.broadcast %x : f32 to vector<6x4xf32>
      %z = vector.broadcast %x : f32 to vector<4x4xf32>
      %y = vector.contract {
          indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                           affine_map<(i, j, k) -> (i, j)>],
          iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<maximumf>}
        %v, %w, %z : vector<4x6xf32>, vector<6x4xf32> into vector<4x4xf32>
      %r = vector.extract %y[1, 2] : f32 from vector<4x4xf32>
      return %r : f32
    }"""
    with pytest.raises(errors.LoweringError, match=r"(?s)vector\.contract.*linalg\.generic"):
        run(text, 1.0)
