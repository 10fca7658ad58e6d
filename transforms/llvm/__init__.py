"""The last steps: the LLVM dialect, linkage, and the target of each function."""

from __future__ import annotations

from linalg_ext.transforms.memory import CHECKS
from linalg_ext.transforms.numerics import PASSES as NUMERICS

PASSES = (
    "lower-affine",
    *NUMERICS,
    "linalg-ext-keep-loops-rolled",
    "convert-scf-to-cf",
    "linalg-ext-keep-shared-functions",
    "inline",
    *CHECKS,
    "memref-expand",
    "expand-strided-metadata",
    "lower-affine",
    "linalg-ext-guard-integer-division",
    "arith-expand",
    "convert-math-to-llvm{approximate-log1p=false}",
    "convert-math-to-libm",
    "linalg-ext-pass-narrow-floats-as-integers",
    "convert-vector-to-llvm{enable-x86=true}",
    "convert-to-llvm",
    "reconcile-unrealized-casts",
    "linalg-ext-freeze-undefined",
    "linalg-ext-move-narrow-floats-as-integers",
    "canonicalize",
    "cse",
    "linalg-ext-require-lowered",
    "linalg-ext-make-functions-internal",
)
"""Loops, vectors and memrefs become the LLVM dialect, and failures a status."""
