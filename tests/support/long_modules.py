"""Modules of any length."""

from __future__ import annotations


def chain(length: int) -> str:
    """A function of one argument: `length` sums, one after another, each in four lines."""
    op = """  %{next} = linalg.map ins(%{last} : tensor<8xf32>) outs(%empty : tensor<8xf32>)
    (%in{last}: f32, %out{last}: f32) {{
    %sum{last} = arith.addf %in{last}, %in{last} : f32
    linalg.yield %sum{last} : f32
  }}"""
    body = "\n".join(op.format(next=at + 1, last=at) for at in range(length))
    return (
        "func.func @chain(%0: tensor<8xf32>) -> tensor<8xf32> {\n"
        f"  %empty = tensor.empty() : tensor<8xf32>\n{body}\n"
        f"  return %{length} : tensor<8xf32>\n}}"
    )
