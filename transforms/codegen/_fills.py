"""Finding what filled a buffer with zeros before an op adds to it."""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir

VIEWS = frozenset(
    f"memref.{name}"
    for name in (
        "cast",
        "collapse_shape",
        "expand_shape",
        "memory_space_cast",
        "reinterpret_cast",
        "subview",
        "transpose",
        "view",
    )
)
"""Ops that give another view of the buffer that is their first operand."""

_TOUCH_NOTHING = VIEWS | {"arith.constant", "memref.alloc", "memref.get_global", "memref.dim"}


def producer(value: Any) -> Any:
    """The op that a value comes of; None for an argument of a block."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def comes_of(value: Any, name: str) -> bool:
    """Whether a value comes of an op of that name."""
    op = producer(value)
    return op is not None and op.name == name


def root(value: Any) -> Any:
    """The buffer that a value is, or is a view of."""
    op = producer(value)
    return root(op.operands[0]) if op is not None and op.name in VIEWS else value


def preceding_zeros(op: Any) -> Any:
    """The op that wrote zeros all over the output of `op`, which nothing has touched since.

    Args:
        op: a structured op on buffers with one output.

    Returns:
        A fill, a generic that fills, or a copy of a constant; None where there is none.
    """
    output = op.operands[len(op.operands) - 1]
    siblings = [other.operation for other in op.block.operations]
    before = siblings[: siblings.index(op)]
    for other in reversed(before):
        if _writes_zeros(other, output):
            return other
        if not leaves_alone(other, output):
            return None
    return None


def leaves_alone(op: Any, output: Any) -> bool:
    """Whether an op neither reads nor writes a buffer."""
    return op.name in _TOUCH_NOTHING or _works_elsewhere(op, output)


def _works_elsewhere(op: Any, output: Any) -> bool:
    """Whether an op reads and writes other buffers than a fresh one, its operands alone."""
    buffer = root(output)
    if not comes_of(buffer, "memref.alloc"):
        return False
    if op.name != "memref.copy" and not op.name.startswith("linalg."):
        return False
    return all(root(value) != buffer for value in op.operands)


def _writes_zeros(op: Any, output: Any) -> bool:
    if op.name == "memref.copy":
        return bool(op.operands[1] == output) and _is_zero_constant(op.operands[0])
    if not op.name.startswith("linalg.") or not len(op.operands) or len(op.results):
        return False
    if op.operands[len(op.operands) - 1] != output:
        return False
    if op.name == "linalg.fill":
        return _is_zero(op.operands[0])
    if op.name != "linalg.generic" or len(op.operands) > 2 or not _covers(op):
        return False
    body = op.regions[0].blocks[0]
    if len(body.operations) != 1:
        return False
    yielded = body.operations[0].operation.operands[0]
    # A fill that was made generic reads its number as an operand, or from outside.
    if len(op.operands) == 2 and yielded == body.arguments[0]:
        yielded = op.operands[0]
    return _is_zero(yielded)


def _covers(op: Any) -> bool:
    """Whether the op writes every element of its output."""
    map_ = ir.AffineMapAttr(list(ir.ArrayAttr(op.attributes["indexing_maps"]))[-1]).value
    return bool(map_.is_permutation)


def _is_zero(value: Any) -> bool:
    """Whether a scalar is the constant +0."""
    if not comes_of(value, "arith.constant"):
        return False
    number = producer(value).attributes["value"]
    return str(number).partition(":")[0].strip() in ("0.000000e+00", "0")


def _is_zero_constant(value: Any) -> bool:
    """Whether a buffer is a constant of zeros."""
    if not comes_of(value, "memref.get_global"):
        return False
    name = ir.FlatSymbolRefAttr(producer(value).attributes["name"]).value
    module = producer(value).parent
    while module.operation.parent is not None:
        module = module.operation.parent
    symbols = ir.SymbolTable(module.operation)
    if name not in symbols:
        return False
    attributes = symbols[name].operation.attributes
    if "constant" not in attributes or "initial_value" not in attributes:
        return False
    text = str(attributes["initial_value"])
    return text.startswith(("dense<0.000000e+00>", "dense<0>"))
