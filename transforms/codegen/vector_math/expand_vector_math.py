"""Expand elementary functions of vectors into arithmetic on vectors.

before:
    %r = math.tanh %x : vector<16xf32>
after:
    %a = math.absf %x : vector<16xf32>
    %far = arith.cmpf ogt, %a, %ten : vector<16xf32>
    %b = arith.select %far, %ten, %a : vector<16xi1>, vector<16xf32>
    ...
    %d = vector.fma %power, %p, %less : vector<16xf32>       // e^(2|x|) - 1
    %e = arith.addf %d, %two : vector<16xf32>
    %q = arith.divf %d, %e : vector<16xf32>
    %r = math.copysign %q, %x : vector<16xf32>

Upstream's way down calls the C library for each element: some tens of times slower. On f32: exp,
exp2, expm1, log, log2, log10, log1p, tanh, erf, sin, cos and powf; on f64 the same without erf and
powf. Scalars, other functions and other formats are left to the C library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.lowering._walk import operations, replace_op

from ._error_function import erf
from ._exponential import exp, exp2, expm1
from ._floats import FORMATS
from ._hyperbolic import tanh
from ._logarithm import log, log1p, log2, log10
from ._power import powf
from ._trigonometric import cos, sin

NAME = "linalg-ext-expand-vector-math"

_BOTH: Mapping[str, Callable[..., Any]] = {
    "math.cos": cos,
    "math.exp": exp,
    "math.exp2": exp2,
    "math.expm1": expm1,
    "math.log": log,
    "math.log10": log10,
    "math.log1p": log1p,
    "math.log2": log2,
    "math.sin": sin,
    "math.tanh": tanh,
}
EXPANSIONS: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "f32": {**_BOTH, "math.erf": erf, "math.powf": powf},
    "f64": _BOTH,
}
"""By element type and name of the op, what builds its expansion from the op's operands."""

_OF_ROWS = {"math.cos", "math.sin"}
"""Those that look at a vector as a row of elements."""


@module_pass(NAME)
def expand_vector_math(module: ir.Operation) -> Report:
    """Expand exp, log, tanh, erf, sin, cos, powf and their kin on vectors."""
    report = Report(NAME)
    for op in operations(module, EXPANSIONS["f32"]):
        type_ = op.results[0].type
        if not isinstance(type_, ir.VectorType):
            continue
        report.matched[op.name] += 1
        reason = _obstacle(op.name, type_)
        if reason is not None:
            report.leave(op.name, reason)
            continue
        with op.location, ir.InsertionPoint(op):
            result = EXPANSIONS[str(type_.element_type)][op.name](*op.operands)
        report.changed[op.name] += 1
        replace_op(op, result)
    return report


def _obstacle(name: str, type_: ir.VectorType) -> str | None:
    element = str(type_.element_type)
    if element not in FORMATS:
        return f"elements of {element}"
    if name not in EXPANSIONS[element]:
        return f"no expansion for {element}"
    if type_.scalable:
        return "a scalable vector"
    if name in _OF_ROWS and type_.rank != 1:
        return "a vector of another rank than 1"
    return None
