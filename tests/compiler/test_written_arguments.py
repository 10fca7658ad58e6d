"""Arguments that a function may write: found through views of them and through calls."""

from __future__ import annotations

import pytest

from linalg_ext.compiler.effects import written_arguments
from linalg_ext.module import Module
from linalg_ext.transforms.ir_utils.walking import operations

CALLEES = """
func.func private @same(%a: memref<4xf32>) -> memref<4xf32> { return %a : memref<4xf32> }
func.func private @read(%a: memref<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %x = memref.load %a[%c0] : memref<4xf32>
  return %x : f32
}
"""


@pytest.mark.parametrize(
    ("body", "is_written"),
    [
        ("%y = call @read(%a) : (memref<4xf32>) -> f32", False),
        ("memref.store %x, %a[%c0] : memref<4xf32>", True),
        # A function may return what it is given.
        (
            "%b = call @same(%a) : (memref<4xf32>) -> memref<4xf32>\n"
            "memref.store %x, %b[%c0] : memref<4xf32>",
            True,
        ),
        (
            "%b = memref.assume_alignment %a, 4 : memref<4xf32>\n"
            "linalg.fill ins(%x : f32) outs(%b : memref<4xf32>)",
            True,
        ),
        ("linalg.exp ins(%a : memref<4xf32>) outs(%o : memref<4xf32>)", False),
        ("linalg.exp ins(%o : memref<4xf32>) outs(%a : memref<4xf32>)", True),
    ],
)
def test_what_is_written_by_any_name(body: str, is_written: bool) -> None:
    module = Module.parse(
        f"""{CALLEES}
        func.func @f(%a: memref<4xf32>, %o: memref<4xf32>, %x: f32) {{
          %c0 = arith.constant 0 : index
          {body}
          return
        }}""",
        trusted=True,
    )
    *_, function = operations(module.ir, ["func.func"])
    assert (0 in written_arguments(function)) == is_written
