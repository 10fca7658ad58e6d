"""What LLVM leaves undefined is some number, and is written."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.runtime import poison
from linalg_ext.transforms.numerics import freeze_undefined as file


def test_a_shift_that_is_known_is_left_alone() -> None:
    module = lx.parse(
        """
        llvm.func @f(%x: i32, %v: vector<4xi32>) -> i32 {
          %3 = llvm.mlir.constant(3 : i32) : i32
          %32 = llvm.mlir.constant(32 : i32) : i32
          %each = llvm.mlir.constant(dense<[0, 1, 2, 31]> : vector<4xi32>) : vector<4xi32>
          %a = llvm.shl %x, %3 : i32
          %b = llvm.lshr %v, %each : vector<4xi32>
          %c = llvm.ashr %a, %32 : i32
          llvm.return %c : i32
        }
        """,
        trusted=True,
    )
    report = file.freeze_undefined(module)
    assert report.matched == {"llvm.shl": 1, "llvm.lshr": 1, "llvm.ashr": 1}
    assert report.changed == {"llvm.ashr": 1}


@pytest.mark.parametrize(
    ("width", "amounts", "frozen"),
    [(128, "64", 0), (128, "128", 1), (4, "[1, 3]", 1), (64, "[1, 3]", 0)],
)
def test_shifts_of_any_width(width: int, amounts: str, frozen: int) -> None:
    """A shift by numbers that Python has no buffer for is frozen where they differ."""
    type_ = f"vector<2xi{width}>"
    module = lx.parse(
        f"""
        llvm.func @f(%x: {type_}) -> {type_} {{
          %n = llvm.mlir.constant(dense<{amounts}> : {type_}) : {type_}
          %s = llvm.shl %x, %n : {type_}
          llvm.return %s : {type_}
        }}
        """,
        trusted=True,
    )
    assert file.freeze_undefined(module).changed["llvm.shl"] == frozen


def test_a_shift_that_is_chosen_is_frozen_with_the_choice() -> None:
    module = lx.parse(
        """
        llvm.func @f(%x: i32, %n: i32) -> i32 {
          %0 = llvm.mlir.constant(0 : i32) : i32
          %32 = llvm.mlir.constant(32 : i32) : i32
          %s = llvm.shl %x, %n : i32
          %fits = llvm.icmp "ult" %n, %32 : i32
          %r = llvm.select %fits, %s, %0 : i1, i32
          %t = llvm.select %fits, %r, %x : i1, i32
          llvm.return %t : i32
        }
        """,
        trusted=True,
    )
    assert file.freeze_undefined(module).changed == {"llvm.shl": 1}
    lines = str(module).splitlines()
    (at,) = [number for number, line in enumerate(lines) if "llvm.freeze" in line]
    assert "llvm.select" in lines[at - 1]


UNDEFINED = {
    "NaN as an integer": "%r = arith.fptosi %nan : f32 to i64",
    "NaN as an unsigned integer": "%r = arith.fptoui %nan : f32 to i64",
    "a shift by too many bits": "%r = arith.shli %x, %70 : i64",
    "nothing": "%r = ub.poison : i64",
}


@pytest.mark.parametrize("what", UNDEFINED)
def test_results_are_written(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poison, "ON", True)
    monkeypatch.setattr("linalg_ext.executable.arguments.empty", poison._poisoned)
    kernel = lx.compile(
        f"""
        func.func @f(%a: tensor<40xi64>) -> tensor<40xi64> {{
          %nan = arith.constant 0x7FC00000 : f32
          %70 = arith.constant 70 : i64
          %e = tensor.empty() : tensor<40xi64>
          %0 = linalg.map ins(%a : tensor<40xi64>) outs(%e : tensor<40xi64>) (%x: i64, %o: i64) {{
            {UNDEFINED[what]}
            linalg.yield %r : i64
          }}
          return %0 : tensor<40xi64>
        }}
        """,
        opt_level=2,
    )
    assert poison.PATTERN not in kernel(np.arange(40))
