"""Ops of payloads that have a form on vectors: one table for all that writes them there."""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.transforms.codegen.vector_math.expand_vector_math import EXPANSIONS

ELEMENTS = frozenset(["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "i1"])
"""The types of the elements of vectors."""

NARROW_FLOATS = ("f16", "bf16")
"""Element types whose arithmetic is done in f32, and rounded."""

_NATIVE_MATH = frozenset(
    f"math.{name}"
    for name in [
        "absf",
        "absi",
        "ceil",
        "clampf",
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
    ]
)
"""Functions that few instructions on vectors compute; `EXPANSIONS` has the others."""

_SCALAR_ARITH = frozenset({"arith.scaling_extf", "arith.scaling_truncf"})


def has_vector_form(name: str, element: str) -> bool:
    """Return whether an op of a payload can be written on vectors.

    Args:
        name: of the op.
        element: the type of its result.
    """
    if name.startswith("arith."):
        return name not in _SCALAR_ARITH
    return name in _NATIVE_MATH or name in EXPANSIONS.get(
        "f32" if element in NARROW_FLOATS else element, {}
    )


def unfit(op: Any) -> str | None:
    """Return why an op of a payload cannot be on vectors; None where it can."""
    if op.name in ("linalg.yield", "linalg.index"):
        return None
    for value in (*op.operands, *op.results):
        if not isinstance(value.type, ir.IndexType) and str(value.type) not in ELEMENTS:
            return f"{op.name} on {value.type}"
    element = str(op.results[0].type) if len(op.results) else ""
    return None if has_vector_form(op.name, element) else f"{op.name} has no form on vectors"
