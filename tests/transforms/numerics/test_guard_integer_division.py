"""Integer division has an answer for every pair: NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kernels import elementwise, run
from linalg_ext.module import Module
from linalg_ext.transforms.numerics import guard_integer_division as file

SIGNED = ("divsi", "remsi", "floordivsi", "ceildivsi")
UNSIGNED = ("divui", "remui", "ceildivui")


def exact(op: str, x: int, y: int, width: int) -> int:
    """In integers without limits; then, as a signed number of `width` bits."""
    if y == 0:
        return 0
    quotient = {
        "div": lambda: abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1),
        "floordiv": lambda: x // y,
        "ceildiv": lambda: -(-x // y),
    }
    value = x - y * quotient["div"]() if op.startswith("rem") else quotient[op.rstrip("isu")[:99]]()
    value %= 1 << width
    return value - (1 << width) if value >= 1 << (width - 1) else value


def pairs(width: int) -> tuple[Any, Any]:
    least, most = -(1 << (width - 1)), (1 << (width - 1)) - 1
    edges = [0, 1, -1, 2, -2, 3, 7, -7, least, least + 1, most, most - 1, 100, -100]
    x, y = np.meshgrid(np.array(edges), np.array(edges))
    dtype = f"i{width // 8}"
    return x.ravel().astype(dtype), y.ravel().astype(dtype)


@pytest.mark.parametrize("opt_level", [0, 2])
@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_every_op_on_the_edges(width: int, opt_level: int) -> None:
    name = f"i{width}"
    x, y = pairs(width)
    body = "\n".join(f"%{op} = arith.{op} %x, %y : {name}" for op in (*SIGNED, *UNSIGNED))
    types = dict.fromkeys((*SIGNED, *UNSIGNED), name)
    made = elementwise({"x": name, "y": name}, types, body, opt_level=opt_level)(x, y)
    for op, actual in zip(types, made, strict=True):
        a, b = (x, y) if op in SIGNED else (x.view(f"u{width // 8}"), y.view(f"u{width // 8}"))
        expected = [exact(op[:-2], int(p), int(q), width) for p, q in zip(a, b, strict=True)]
        assert actual.tolist() == expected, op


def test_index_and_vectors_and_tensors() -> None:
    x, y = pairs(64)
    of_index = ("divs", "divu", "rems", "remu", "floordivs", "ceildivs", "ceildivu")
    body = "\n".join(f"%{op} = index.{op} %x, %y" for op in of_index)
    made = elementwise({"x": "index", "y": "index"}, dict.fromkeys(of_index, "index"), body)(x, y)
    for op, actual in zip(of_index, made, strict=True):
        a, b = (x, y) if op.endswith("s") else (x.view(np.uint64), y.view(np.uint64))
        expected = [exact(op[:-1], int(p), int(q), 64) for p, q in zip(a, b, strict=True)]
        assert actual.tolist() == expected, op
    text = """
    func.func @f(%a: tensor<4xi32>, %b: tensor<4xi32>, %v: memref<2xvector<4xi32>>)
        -> (tensor<4xi32>, tensor<4xi32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %q = arith.divsi %a, %b : tensor<4xi32>
      %r = arith.remsi %a, %b : tensor<4xi32>
      %x = memref.load %v[%c0] : memref<2xvector<4xi32>>
      %y = memref.load %v[%c1] : memref<2xvector<4xi32>>
      %z = arith.divsi %x, %y : vector<4xi32>
      memref.store %z, %v[%c0] : memref<2xvector<4xi32>>
      return %q, %r : tensor<4xi32>, tensor<4xi32>
    }"""
    least = np.iinfo(np.int32).min
    a, b = np.array([7, 7, least, -7], np.int32), np.array([2, 0, -1, 2], np.int32)
    v = np.stack([a, b])
    quotient, remainder = run(text, a, b, v)
    assert quotient.tolist() == v[0].tolist() == [3, 0, least, -3]
    assert remainder.tolist() == [1, 0, 0, -1]


def test_nothing_folds_x_over_x_to_one() -> None:
    text = """
    func.func @f(%a: i32) -> (i32, i32) {
      %q = arith.divsi %a, %a : i32
      %r = arith.remui %a, %a : i32
      return %q, %r : i32, i32
    }"""
    assert run(text, 0, opt_level=2) == (0, 0)
    assert run(text, -5, opt_level=2) == (1, 0)


def test_booleans() -> None:
    ops = ("divui", "remui", "divsi")
    body = "\n".join(f"%{op} = arith.{op} %x, %y : i1" for op in ops)
    x, y = np.array([False, False, True, True]), np.array([False, True, False, True])
    made = elementwise({"x": "i1", "y": "i1"}, dict.fromkeys(ops, "i1"), body)(x, y)
    expected = [[False, False, False, True], [False] * 4, [False, False, False, True]]
    assert [one.tolist() for one in made] == expected


def test_safe_divisors_get_no_guard() -> None:
    module = Module.parse(
        """
        func.func @f(%a: i32, %v: vector<4xi32>) -> (i32, vector<4xi32>) {
          %c7 = arith.constant 7 : i32
          %d = arith.constant dense<-2> : vector<4xi32>
          %q = arith.divsi %a, %c7 : i32
          %w = arith.remsi %v, %d : vector<4xi32>
          return %q, %w : i32, vector<4xi32>
        }""",
        trusted=True,
    )
    assert not file.guard_integer_division(module)
    assert "select" not in str(module)


def test_a_guarded_division_is_not_guarded_again() -> None:
    module = Module.parse(
        "func.func @f(%a: i8, %b: i8) -> i8 { %q = arith.ceildivsi %a, %b : i8  return %q : i8 }",
        trusted=True,
    )
    assert file.guard_integer_division(module)
    once = str(module)
    assert not file.guard_integer_division(module)
    assert str(module) == once


@pytest.mark.parametrize("opt_level", [0, 2])
@pytest.mark.parametrize("divisor", [0, -1])
def test_unsafe_constants_are_guarded(divisor: int, opt_level: int) -> None:
    body = f"""
    %c = arith.constant {divisor} : i32
    %q = arith.divsi %x, %c : i32
    %r = arith.remsi %x, %c : i32
    """
    least = np.iinfo(np.int32).min
    x = np.array([7, least], np.int32)
    module = "func.func @f(%x: i32) -> (i32, i32) {" + body + "return %q, %r : i32, i32 }"
    report = file.guard_integer_division(Module.parse(module, trusted=True))
    assert report.changed == {"arith.divsi": 1, "arith.remsi": 1}
    made = elementwise({"x": "i32"}, {"q": "i32", "r": "i32"}, body, opt_level=opt_level)
    quotient, remainder = made(x)
    assert quotient.tolist() == ([0, 0] if divisor == 0 else [-7, least])
    assert remainder.tolist() == [0, 0]
