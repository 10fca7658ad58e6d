"""Large buffers are lent, small ones and those that others free are not."""

from __future__ import annotations

import pytest

from linalg_ext.module import Module
from linalg_ext.transforms.memory import lend_buffers as file
from linalg_ext.transforms.memory.lend_buffers import TAKE

BRANCHES = """
func.func private @malloc(i32)
func.func private @know(%a: memref<TYPE>)
func.func @f(%ok: i1, %n: index, %m: index) {
  %a = memref.alloc(SIZES) : memref<TYPE>
  %b = memref.alloc(SIZES) : memref<TYPE>
  BODY
}"""
FREED = """
  call @know(%a) : (memref<TYPE>) -> ()
  memref.dealloc %a : memref<TYPE>
  memref.dealloc %b : memref<TYPE>
  return"""
HANDED_ON = """
  cf.cond_br %ok, ^one(%a : memref<TYPE>), ^one(%b : memref<TYPE>)
^one(%c: memref<TYPE>):
  memref.dealloc %c : memref<TYPE>
  return"""


def lent(body: str, type_: str, sizes: str = "", declared: str = "") -> int:
    text = BRANCHES.replace("BODY", body).replace("TYPE", type_).replace("SIZES", sizes)
    text = text.replace("func.func private @malloc(i32)", declared)
    module = Module.parse(text, trusted=True, legalize=False)
    file.lend_buffers(module)
    assert module.ir.operation.verify()
    return str(module).count(f"call @{TAKE}")


@pytest.mark.parametrize(
    ("type_", "sizes"),
    [
        ("16384xf32", ""),
        ("?xf64", "%n"),
        ("?x7x?xi1", "%n, %m"),
        ("99x99x2xvector<8xf16>", ""),
        ("128x64xcomplex<f64>", ""),
        ("8192xindex", ""),
    ],
)
def test_what_is_large_is_lent(type_: str, sizes: str) -> None:
    assert lent(FREED, type_, sizes) == 2


@pytest.mark.parametrize(
    ("type_", "sizes"), [("16383xf32", ""), ("0x?xf32", "%n"), ("99999xf32, 3", "")]
)
def test_what_is_small_or_elsewhere_is_not(type_: str, sizes: str) -> None:
    assert lent(FREED, type_, sizes) == 0


def test_what_is_small_is_lent_where_python_may_raise() -> None:
    """A failed call loses what malloc gave, and Python may raise at each."""
    called = "func.func private @lx.callback.7(i64)"
    assert lent(FREED, "16xf32", declared=called) == 2


def test_what_a_block_hands_on_is_not() -> None:
    assert lent(HANDED_ON, "99999xf32") == 0


def test_names_of_another_meaning() -> None:
    assert lent(FREED, "99999xf32", declared="func.func private @malloc(i32)") == 0
    assert lent(FREED, "99999xf32", declared="llvm.func @free(!llvm.ptr)") == 2
