"""The documented examples of passes on groups, written out."""

from __future__ import annotations

from types import ModuleType

from examples import examples

AROUND = """
func.func @f(%x: tensor<4xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
  {}
  return %r : tensor<4xf32>
}"""


def example(file: ModuleType) -> tuple[str, str]:
    """The before and the after of a pass, its slots written out, without what is said of it."""
    before, after = (_written_out(part) for part in examples(file)[0])
    return before, after.partition("\n\n")[0]


def _written_out(text: str) -> str:
    return text.replace("SLOTS_16", "1" + ", 0" * 15).replace("SLOTS_64", "1" + ", 0" * 63)
