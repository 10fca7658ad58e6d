"""Recursion is refused, by the names that the user wrote."""

from __future__ import annotations

import pytest

from kernels import run
from linalg_ext import compile, errors

CALL = """
func.func private @{0}(%a: f32) -> f32 {{
  %0 = call @{1}(%a) : (f32) -> f32
  return %0 : f32
}}"""
ENTRY = "func.func @f(%a: f32) -> f32 { %0 = call @g(%a) : (f32) -> f32  return %0 : f32 }"


@pytest.mark.parametrize(
    ("functions", "cycle"),
    [
        ([("g", "g")], "@g -> @g"),
        ([("g", "h"), ("h", "g")], "@g -> @h -> @g"),
        ([("g", "h"), ("h", "k"), ("k", "h")], "@h -> @k -> @h"),
        ([("g", "f")], "@g -> @f -> @g"),
    ],
)
def test_the_cycle_is_named(functions: list[tuple[str, str]], cycle: str) -> None:
    text = "\n".join([*(CALL.format(*pair) for pair in functions), ENTRY])
    with pytest.raises(errors.LoweringError, match=rf"(?s): {cycle}\n.*scf\.while"):
        compile(text, "f", trusted=True)


def test_through_a_constant() -> None:
    text = """
    func.func private @g(%a: f32) -> f32 {
      %g = constant @g : (f32) -> f32
      %0 = call_indirect %g(%a) : (f32) -> f32
      return %0 : f32
    }
    """
    with pytest.raises(errors.LoweringError, match="@g -> @g"):
        compile(text + ENTRY, "f", trusted=True)


def test_calls_without_a_cycle() -> None:
    text = """
    func.func private @k(%a: f32) -> f32 { %0 = arith.addf %a, %a : f32  return %0 : f32 }
    func.func private @h(%a: f32) -> f32 { %0 = call @k(%a) : (f32) -> f32  return %0 : f32 }
    func.func private @g(%a: f32) -> f32 {
      %0 = call @h(%a) : (f32) -> f32
      %1 = call @k(%0) : (f32) -> f32
      return %1 : f32
    }
    """
    assert run(text + ENTRY, 1.5, entry="f") == 6
