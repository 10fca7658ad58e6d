"""Exact arithmetic where upstream has gaps: powers, narrow floats, division, undefined results."""

from __future__ import annotations

from linalg_ext.transforms.numerics.expand_narrow_floats import narrow_type_names

PASSES = (
    "convert-complex-to-standard",
    "linalg-ext-expand-math",
    "arith-emulate-unsupported-floats{source-types="
    f"{','.join(narrow_type_names())} target-type=f32}}",
    "math-extend-to-supported-types{target-type=f32}",
    # It knows the exponential of f16 by the casts around it.
    "linalg-ext-expand-vector-math",
    "linalg-ext-expand-narrow-floats",
    "convert-math-to-funcs{min-width-of-fpowi-exponent=1}",
)
"""Functions of math and narrow floats become arithmetic that the machine has."""
