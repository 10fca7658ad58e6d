"""Deallocations are split where nothing but allocations is freed, whatever happens."""

from __future__ import annotations

import pytest

from linalg_ext.module import Module
from linalg_ext.transforms.bufferization.split_deallocations import split_deallocations

_BUFFERS = "%a, %b : memref<4xf32>, memref<4xf32>"


@pytest.mark.parametrize(
    ("dealloc", "split"),
    [
        (f"bufferization.dealloc ({_BUFFERS}) if (%true, %true)", True),
        # The conditions of the run, a buffer of the caller's, one buffer twice, and a view.
        (f"bufferization.dealloc ({_BUFFERS}) if (%true, %c)", False),
        (f"bufferization.dealloc ({_BUFFERS}) if (%false, %true)", False),
        ("bufferization.dealloc (%a, %x : memref<4xf32>, memref<4xf32>) if (%true, %true)", False),
        ("bufferization.dealloc (%a, %a : memref<4xf32>, memref<4xf32>) if (%true, %true)", False),
        ("bufferization.dealloc (%a, %v : memref<4xf32>, memref<?xf32>) if (%true, %true)", False),
        # An allocation that may still be in use under another name.
        (
            "%r = bufferization.dealloc (%a : memref<4xf32>) if (%true)"
            " retain (%x : memref<4xf32>)",
            False,
        ),
    ],
)
def test_only_allocations_that_are_freed_in_any_case(dealloc: str, split: bool) -> None:
    module = Module.parse(
        f"""func.func @f(%x: memref<4xf32>, %c: i1) {{
          %true = arith.constant true
          %false = arith.constant false
          %a = memref.alloc() : memref<4xf32>
          %b = memref.alloc() : memref<4xf32>
          %v = memref.cast %b : memref<4xf32> to memref<?xf32>
          {dealloc}
          return
        }}""",
        trusted=True,
    )
    assert bool(split_deallocations(module)) == split
    assert str(module).count("memref.dealloc") == 2 * split
