"""Ops of bodies that have a form on vectors."""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.transforms.codegen.vector_math.expand_vector_math import EXPANSIONS

ELEMENTS = frozenset(["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "i1"])
NARROW_FLOATS = ("f16", "bf16")
_NATIVE_MATH = frozenset(
    f"math.{name}"
    for name in [
        "absf",
        "absi",
        "ceil",
        "copysign",
        "floor",
        "fma",
        "isfinite",
        "isinf",
        "isnan",
        "isnormal",
        "roundeven",
        "rsqrt",
        "sqrt",
        "trunc",
        "clampf",
    ]
)
_SCALAR_ARITH = frozenset({"arith.scaling_extf", "arith.scaling_truncf"})


def unfit(op: Any) -> str | None:
    """Why an operation of a body cannot be on vectors; None where it can."""
    if op.name in ("linalg.yield", "linalg.index"):
        return None
    for value in (*op.operands, *op.results):
        if not isinstance(value.type, ir.IndexType) and str(value.type) not in ELEMENTS:
            return f"{op.name} on {value.type}"
    if op.name.startswith("arith.") and op.name not in _SCALAR_ARITH:
        return None
    if op.name in _NATIVE_MATH:
        return None
    element = str(op.results[0].type) if len(op.results) else ""
    element = "f32" if element in NARROW_FLOATS else element
    if op.name in EXPANSIONS.get(element, {}):
        return None
    return f"{op.name} has no form on vectors"
