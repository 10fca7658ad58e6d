"""Buffers: what a value views, what may be one memory, what is written through a name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from linalg_ext.bindings import ir
from linalg_ext.module import Module
from linalg_ext.transforms.analysis.buffers import (
    VIEW_OPS,
    Aliases,
    are_apart,
    buffer_of,
    is_one_to_one,
    may_write,
    reaching,
    uses_of,
)
from linalg_ext.transforms.ir_utils.walking import operations

TEXT = """
memref.global "private" @variable : memref<8x8xf32> = dense<1.0>
memref.global "private" @other : memref<8x8xf32> = dense<2.0>
memref.global "private" constant @fixed : memref<8x8xf32> = dense<3.0>
func.func @f(%x: memref<8x8xf32>, %y: memref<8x8xf32>, %n: index, %which: i1) {
  %c0 = arith.constant 0 : index
  %a = memref.alloc() {"known_as" = "a"} : memref<8x8xf32>
  %s = memref.alloca() {"known_as" = "s"} : memref<8x8xf32>
  %v = memref.get_global @variable : memref<8x8xf32> {"known_as" = "v"}
  %w = memref.get_global @variable : memref<8x8xf32> {"known_as" = "w"}
  %o = memref.get_global @other : memref<8x8xf32> {"known_as" = "o"}
  %k = memref.get_global @fixed : memref<8x8xf32> {"known_as" = "k"}
  %u = arith.select %which, %a, %x {"known_as" = "u"} : memref<8x8xf32>
  %a1 = memref.assume_alignment %a, 64 : memref<8x8xf32>
  %a2 = memref.cast %a1 : memref<8x8xf32> to memref<?x8xf32>
  %a3 = memref.transpose %a2 (i, j) -> (j, i) {"known_as" = "view"}
    : memref<?x8xf32> to memref<8x?xf32, strided<[1, 8]>>
  %a4 = memref.reinterpret_cast %a to offset: [0], sizes: [7, 2], strides: [1, 1]
    {"known_as" = "windows"} : memref<8x8xf32> to memref<7x2xf32, strided<[1, 1]>>
  %p = memref.subview %x[0, 0] [8, 4] [1, 1] {"known_as" = "left"}
    : memref<8x8xf32> to memref<8x4xf32, strided<[8, 1]>>
  %q = memref.subview %x[%n, 4] [2, 4] [1, 1] {"known_as" = "right"}
    : memref<8x8xf32> to memref<2x4xf32, strided<[8, 1], offset: ?>>
  %r = memref.subview %x[%n, 3] [2, 4] [1, 1] {"known_as" = "middle"}
    : memref<8x8xf32> to memref<2x4xf32, strided<[8, 1], offset: ?>>
  %e = memref.subview %x[0, 0] [8, 4] [1, 2] {"known_as" = "even"}
    : memref<8x8xf32> to memref<8x4xf32, strided<[8, 2]>>
  %d = memref.subview %x[0, 1] [8, 4] [1, 2] {"known_as" = "odd"}
    : memref<8x8xf32> to memref<8x4xf32, strided<[8, 2], offset: 1>>
  linalg.exp ins(%x : memref<8x8xf32>) outs(%a : memref<8x8xf32>)
  return
}"""


@pytest.fixture
def named() -> Iterator[dict[str, ir.Value]]:
    """The memrefs of the text by their names."""
    module = Module.parse(TEXT, trusted=True)
    names = "memref.alloc", "memref.alloca", "memref.get_global", "arith.select", *VIEW_OPS
    found = {
        ir.StringAttr(op.attributes["known_as"]).value: op.results[0]
        for op in operations(module.ir, names)
        if "known_as" in op.attributes
    }
    (function,) = operations(module.ir, ["func.func"])
    x, y, *_ = function.regions[0].blocks[0].arguments
    yield {**found, "x": x, "y": y}
    del module  # which has the values


def test_views_of_all_kinds_lead_back_to_their_buffer(named: dict[str, ir.Value]) -> None:
    assert buffer_of(named["view"]) == buffer_of(named["windows"]) == buffer_of(named["a"])
    assert buffer_of(named["v"]) == buffer_of(named["w"]) != buffer_of(named["o"])
    kinds = {name: buffer_of(named[name]).kind for name in "asvux"}
    assert kinds == {
        "a": "allocation", "s": "allocation", "v": "global", "u": "unknown", "x": "argument"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a", "view", True),
        ("a", "s", False),
        ("a", "x", False),
        ("a", "v", False),
        ("a", "u", True),
        ("x", "y", False),
        ("v", "w", True),
        ("v", "o", False),
        # Somebody may hand the memory of a variable in, which is not written where it is constant.
        ("v", "x", True),
        ("k", "x", False),
        ("k", "u", False),
    ],
)
def test_what_may_be_one_memory(
    named: dict[str, ir.Value], one: str, other: str, expected: bool
) -> None:
    first, second = buffer_of(named[one]), buffer_of(named[other])
    aliases = Aliases()
    assert aliases.may_alias(first, second) == aliases.may_alias(second, first) == expected


def test_arguments_of_a_function_that_is_called_may_be_one_memory() -> None:
    module = Module.parse(
        """
        func.func @g(%x: memref<4xf32>, %y: memref<4xf32>) { return }
        func.func @f(%x: memref<4xf32>) {
          call @g(%x, %x) : (memref<4xf32>, memref<4xf32>) -> ()
          return
        }""",
        trusted=True,
    )
    called, *_ = operations(module.ir, ["func.func"])
    one, other = map(buffer_of, called.regions[0].blocks[0].arguments)
    assert Aliases().may_alias(one, other)


def test_what_a_branch_hands_on_may_be_an_allocation() -> None:
    module = Module.parse(
        """
        func.func @f(%x: memref<4xf32>) {
          %a = memref.alloc() : memref<4xf32>
          cf.br ^bb1(%a : memref<4xf32>)
        ^bb1(%b: memref<4xf32>):
          return
        }""",
        trusted=True,
    )
    (function,) = operations(module.ir, ["func.func"])
    (allocation,) = operations(module.ir, ["memref.alloc"])
    handed_on = buffer_of(function.regions[0].blocks[1].arguments[0])
    assert Aliases().may_alias(handed_on, buffer_of(allocation.results[0]))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("left", "right", True),
        ("left", "middle", False),
        ("even", "odd", True),
        ("left", "even", False),
        ("left", "x", False),
        ("left", "view", False),
    ],
)
def test_parts_that_share_no_element(
    named: dict[str, ir.Value], one: str, other: str, expected: bool
) -> None:
    assert are_apart(named[one], named[other]) == expected


def test_windows_name_an_element_twice(named: dict[str, ir.Value]) -> None:
    assert is_one_to_one(named["view"])
    assert not is_one_to_one(named["windows"])


def test_uses_are_found_through_all_names(named: dict[str, ir.Value]) -> None:
    users = [use.owner.operation.name for use in uses_of(named["a"])]
    assert sorted(users) == [
        "arith.select",
        "linalg.exp",
        "memref.assume_alignment",
        "memref.cast",
        "memref.reinterpret_cast",
        "memref.transpose",
    ]
    reached = reaching(named["a"])
    assert reached is not None
    assert sorted(op.name for op in reached) == sorted(users)


def test_an_op_writes_its_outputs(named: dict[str, ir.Value]) -> None:
    (exp,) = [u.owner.operation for u in named["a"].uses if u.owner.operation.name == "linalg.exp"]
    assert not may_write(exp, 0)
    assert may_write(exp, 1)
