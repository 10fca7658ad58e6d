"""The names under which a library may have the function for an op.

`library_call = "add"` asks for `add`. A library that has one function for each type adds the
operands to the name: sizes, or `s` for open ones, then the element type. The dialect's first
document writes `add_sxsxf32_sxsxf32`. Upstream writes
`linalg_matmul_viewsxsxf32_view4x8xf32_view4xsxf32` for ops that name no function.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from linalg_ext.libraries.prototype import OperandType


def library_names(
    base: str, inputs: Sequence[OperandType], outputs: Sequence[OperandType]
) -> tuple[str, ...]:
    """The names for an op, the most particular first; `base` itself is the last.

    Args:
        base: what the op asks for: its `library_call`, or `linalg_` and its name.
        inputs, outputs: its operands. The document's names have the inputs, upstream's have all.
    """
    names = [
        "_".join([base, *(_mangled(operand, view, is_open) for operand in operands)])
        for is_open, operands, view in product(
            (False, True), ([*inputs, *outputs], inputs), ("view", "")
        )
    ]
    return tuple(dict.fromkeys([*names, base]))


def _mangled(operand: OperandType, view: str, is_open: bool) -> str:
    if operand.shape is None:
        return operand.element
    sizes = ["s" if size is None or is_open else str(size) for size in operand.shape]
    return view + "x".join([*sizes, operand.element])
