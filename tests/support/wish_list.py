"""The examples of the "Linalg Dialect Wish list" (Renato Golin, 2024), by their own text."""

from __future__ import annotations

import re

ADD = "%add = linalg.add ins(%0 : tensor<{}xf32>, %1 : tensor<{}xf32) outs(%buf : tensor<{}xf32>)"

EXAMPLES = {
    "numpy": ADD.format("64", "16x64", "16x64") + " : tensor<16x64xf32>",
    "valid?": ADD.format("16", "16x64", "16x64") + " : tensor<16x64xf32>",
    "which?": ADD.format("16", "16x16", "16x16") + " : tensor<16x16xf32>",
    "unit": "%add = linalg.add ins(%0 : tensor<1x16xf32>, %1 : tensor<16x16xf32) "
    "outs(%buf : tensor<16x16xf32>) : tensor<16x16xf32>",
    "broadcast op": "%bcast1 = linalg.broadcast ins(%0 : tensor<16xf32>) "
    "inits(%buf : tensor<16x64xf32>) dimensions = [1] : tensor<16x64xf32>",
    "broadcast": ADD.format("16", "16x64", "16x64") + " broadcast_a = [1] : tensor<16x64xf32>",
    "broadcast map": ADD.format("16", "16x64", "16x64")
    + " { map_a = { (d0, d1) -> (d0) } } : tensor<16x64xf32>",
    "transposed add": ADD.format("64x16", "16x64", "16x64") + " : tensor<16x64xf32>",
    "transposed matmul": "%mm = linalg.matmul ins(%0 : tensor<16x64xf32>, %1 : tensor<16x64xf32) "
    "outs(%buf : tensor<64x64xf32>) : tensor<64x64xf32>",
    "square add": ADD.format("64x64", "64x64", "64x64") + " : tensor<64x64xf32>",
    "square matmul": "%mm = linalg.matmul ins(%0 : tensor<64x64xf32>, %1 : tensor<64x64xf32) "
    "outs(%buf : tensor<64x64xf32>) : tensor<64x64xf32>",
    "ambiguous": ADD.format("64x32x64", "32x64x64", "64x64x32") + " : tensor<64x64x32xf32>",
    "transpose": ADD.format("64x32x64", "32x64x64", "64x64x32")
    + " permutation_a = [0, 2, 1], permutation_b = [1, 2, 0] : tensor<64x64x32xf32>",
    "transpose map": ADD.format("64x32x64", "32x64x64", "64x64x32")
    + " map_a = { (d0, d1, d2) -> (d0, d2, d1) }, map_b = { (d0, d1, d2) -> (d1, d2, d0) }"
    + " : tensor<64x64x32xf32>",
    "default type": "%0 = linalg.matmul ins(%a, %b : tensor<16x64xbf16>, tensor<64x32xf32>) "
    "outs(%buf : tensor<16x32xi8>) : tensor<16x32xi8>",
    "compute type": "%0 = linalg.matmul ins(%a, %b : tensor<16x64xbf16>, tensor<64x32xf32>) "
    "outs(%buf : tensor<16x32xi8>) compute_type = f32 : tensor<16x32xi8>",
}
"""Each as the wish list has it, but for line breaks and indentation."""


def in_function(example: str) -> str:
    """A function that gives what an example computes, the operands its arguments, in order."""
    op, _, result = example.rpartition(" : ")
    groups = re.findall(r"(?:ins|outs|inits)\(([^()]*)\)", op)
    arguments = []
    for group in groups:
        names = re.findall(r"%\w+", group)
        types = [t.rstrip(">") + ">" for t in re.findall(r"tensor<\w+>?", group)]
        arguments += [f"{n}: {t}" for n, t in zip(names, types, strict=True)]
    left = example.partition(" =")[0]
    # A value of the wish list's may have the name of an argument's: `%0 = ... ins(%0 ...)`.
    body = "%result" + example[len(left) :]
    return (
        f"func.func @f({', '.join(arguments)}) -> {result} {{\n  {body}\n"
        f"  return %result : {result}\n}}\n"
    )
