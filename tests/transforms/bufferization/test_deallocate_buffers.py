"""Deallocations are split where nothing but allocations is freed, whatever happens."""

from __future__ import annotations

import pytest

from linalg_ext.errors import PipelineError
from linalg_ext.module import Module
from linalg_ext.transforms.bufferization.deallocate_buffers import split_deallocations
from linalg_ext.transforms.ir_utils.walking import operations

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
    with module.context:
        deallocations = operations(module.ir, {"bufferization.dealloc"})
        assert split_deallocations(deallocations) == split
    assert str(module).count("memref.dealloc") == 2 * split


def test_buffers_that_may_be_one_are_freed_once() -> None:
    module = Module.parse(
        """func.func @f(%x: memref<4xf32>, %c: i1) -> memref<4xf32> {
          %a = memref.alloc() : memref<4xf32>
          %b = memref.alloc() : memref<4xf32>
          %r = arith.select %c, %a, %b : memref<4xf32>
          memref.copy %x, %r : memref<4xf32> to memref<4xf32>
          return %r : memref<4xf32>
        }""",
        trusted=True,
    )
    module.run("linalg-ext-deallocate-buffers", trusted=True)
    text = str(module)
    assert "bufferization." not in text
    assert "scf.if" in text  # that which is returned is freed by no one


def test_a_failure_of_upstreams_pass_names_the_op() -> None:
    module = Module.parse(
        """func.func @f(%x: memref<4xf32>, %y: memref<4xf32>) {
          %a = memref.alloc() : memref<4xf32>
          linalg.exp ins(%x : memref<4xf32>) outs(%a : memref<4xf32>)
          linalg.exp ins(%a : memref<4xf32>) outs(%y : memref<4xf32>)
          memref.dealloc %a : memref<4xf32>
          return
        }""",
        trusted=True,
    )
    with pytest.raises(PipelineError, match="linalg-ext-deallocate-buffers") as caught:
        module.run("linalg-ext-deallocate-buffers", trusted=True)
    assert "memref.dealloc" in str(caught.value)
