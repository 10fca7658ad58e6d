"""Ops on views become subviews."""

from __future__ import annotations

import pytest

from linalg_ext.errors import LoweringError
from linalg_ext.module import Module
from linalg_ext.transforms.legalization import lower_views as lowering

BUFFER = "memref<10x20xf32>"


def test_a_range_from_somewhere_else_is_refused() -> None:
    module = Module.parse(f"""
    func.func @f(%a: {BUFFER}, %r: !linalg_ext.index_range, %i: index) {{
      %s = "linalg_ext.slice"(%a, %r, %i)
        {{dropped_dims = array<i64: 1>, operandSegmentSizes = array<i32: 1, 1, 1>}}
        : ({BUFFER}, !linalg_ext.index_range, index) -> memref<?xf32, strided<[?], offset: ?>>
      return
    }}""")
    with pytest.raises(LoweringError, match="a range is an argument of a block"):
        lowering.lower_views(module)


def test_views_along_other_dimensions_are_refused() -> None:
    module = Module.parse(f"""
    func.func @f(%a: {BUFFER}, %i: index, %j: index) {{
      %u = memref.subview %a[%i, 0] [1, 20] [1, 1]
        : {BUFFER} to memref<20xf32, strided<[1], offset: ?>>
      %v = memref.subview %a[%j, 0] [1, 20] [1, 1]
        : {BUFFER} to memref<20xf32, strided<[1], offset: ?>>
      %w = "linalg_ext.intersection"(%u, %v)
        : (memref<20xf32, strided<[1], offset: ?>>, memref<20xf32, strided<[1], offset: ?>>)
        -> memref<?xf32, strided<[?], offset: ?>>
      return
    }}""")
    with pytest.raises(LoweringError, match="one place, which is known to be the same"):
        lowering.lower_views(module)
