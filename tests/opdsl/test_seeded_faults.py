"""The comparisons that the library of ops is tested by notice a definition that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core_ops import Problem, assert_same, build, core_ops, problem, run, upstream_yaml
from linalg_ext.definition import Access, Apply, Const, OpDefinition, Reduction, ScalarExpr
from linalg_ext.definition.functions import BINARY, TYPE, UNARY
from linalg_ext.errors import DTypeError
from linalg_ext.notations.yaml import to_yaml
from linalg_ext.opdsl import D, StructuredOp

Rewrite = Callable[[ScalarExpr], ScalarExpr]


def _rewritten(definition: OpDefinition, rewrite: Rewrite) -> OpDefinition:
    """The definition with every scalar expression rewritten, innermost first."""

    def visit(expr: ScalarExpr) -> ScalarExpr:
        if isinstance(expr, Apply):
            expr = replace(expr, args=tuple(visit(arg) for arg in expr.args))
        return rewrite(expr)

    changed = tuple(replace(a, value=visit(a.value)) for a in definition.assignments)
    return replace(definition, assignments=changed)


def _function(old: str, new: str) -> Callable[[OpDefinition], OpDefinition]:
    table = {**UNARY, **BINARY, **TYPE}

    def rewrite(expr: ScalarExpr) -> ScalarExpr:
        is_old = isinstance(expr, Apply) and expr.function.name == old
        return replace(expr, function=table[new]) if is_old else expr  # type: ignore[type-var]

    return lambda definition: _rewritten(definition, rewrite)


def _indices(operand: str, *indices: Any) -> Callable[[OpDefinition], OpDefinition]:
    def rewrite(expr: ScalarExpr) -> ScalarExpr:
        is_it = isinstance(expr, Access) and expr.operand == operand
        return replace(expr, indices=indices) if is_it else expr  # type: ignore[type-var]

    return lambda definition: _rewritten(definition, rewrite)


def _without_casts(definition: OpDefinition) -> OpDefinition:
    def rewrite(expr: ScalarExpr) -> ScalarExpr:
        is_cast = isinstance(expr, Apply) and expr.type_var is not None
        return expr.args[0] if isinstance(expr, Apply) and is_cast else expr

    return _rewritten(definition, rewrite)


def _other_constants(definition: OpDefinition) -> OpDefinition:
    return _rewritten(definition, lambda e: Const(e.value + 1) if isinstance(e, Const) else e)


def _without_reduction(definition: OpDefinition) -> OpDefinition:
    parallel = tuple(replace(a, reduction=None) for a in definition.assignments)
    return replace(definition, assignments=parallel)


def _reversed_domain(definition: OpDefinition) -> OpDefinition:
    return replace(definition, dims=definition.dims[::-1])


def _reducing_less(definition: OpDefinition) -> OpDefinition:
    assignment = definition.assignments[0]
    assert assignment.reduction is not None
    fewer = Reduction(assignment.reduction.function, assignment.reduction.dims[1:])
    return replace(definition, assignments=(replace(assignment, reduction=fewer),))


Fault = tuple[str, Callable[[OpDefinition], OpDefinition]]

VISIBLE: dict[str, Fault] = {
    "swapped map": ("batch_matvec", _indices("A", D.b, D.k, D.m)),
    "shifted map": ("dot", _indices("B", 2 - D.m)),
    "flipped kernel": ("conv_1d", _indices("I", D.ow - D.kw + 2)),
    "product becomes sum": ("matvec", _function("mul", "add")),
    "sum becomes product": ("conv_2d", _function("add", "mul")),
    "maximum becomes minimum": ("pooling_nhwc_max", _function("max_signed", "min_signed")),
    "unsigned becomes signed": (
        "pooling_nhwc_max_unsigned",
        _function("max_unsigned", "max_signed"),
    ),
    "other unary": ("ceil", _function("ceil", "floor")),
    "other constant": ("fill_rng_2d", _other_constants),
}
"""Faults that change numbers: the name of an op, and what is done to it."""

INVISIBLE: dict[str, Fault] = {
    "no reduction": ("matvec", _without_reduction),
    "a dimension less reduced": ("conv_2d", _reducing_less),
    "iteration order": ("conv_1d", _reversed_domain),
    "no cast": ("matvec", _without_casts),
}
"""Faults that only what is written down shows, where all operands are of one type."""


def _case(name: str) -> Problem:
    op = core_ops()[name]
    dtype = np.int8 if "unsigned" in name else np.float32
    case = problem(op, dtype, extents=dict.fromkeys(op.definition.dims, 3))
    if "unsigned" in name:
        case.arrays["I"][..., 0] = -7
    return case


def _mutant(case: Problem, fault: Callable[[OpDefinition], OpDefinition]) -> Problem:
    changed = fault(case.definition)
    assert changed != case.definition
    return replace(case, op=StructuredOp(changed))


@pytest.mark.parametrize(("name", "fault"), VISIBLE.values(), ids=list(VISIBLE))
def test_running_shows_it(name: str, fault: Callable[[OpDefinition], OpDefinition]) -> None:
    case = _case(name)
    mutant = _mutant(case, fault)
    good, bad = run([case])[0], run([mutant])[0]
    assert_same(good, case.reference(), name)
    with pytest.raises(AssertionError):
        assert_same(bad, case.reference(), name)
    with pytest.raises(AssertionError):
        assert_same(mutant.reference(), good, name)


@pytest.mark.parametrize(
    ("name", "fault"), [*VISIBLE.values(), *INVISIBLE.values()], ids=[*VISIBLE, *INVISIBLE]
)
def test_the_yaml_shows_it(name: str, fault: Callable[[OpDefinition], OpDefinition]) -> None:
    mutant = _mutant(_case(name), fault)
    assert to_yaml(mutant.op) != upstream_yaml()[name]


@pytest.mark.parametrize(("name", "fault"), VISIBLE.values(), ids=list(VISIBLE))
def test_it_is_not_taken_for_upstreams_op(
    name: str, fault: Callable[[OpDefinition], OpDefinition]
) -> None:
    case = _case(name)
    assert f"linalg.{name}" in str(build([case]))
    assert "linalg.generic" in str(build([_mutant(case, fault)]))


def test_a_dropped_cast_shows_where_types_differ() -> None:
    op = core_ops()["matvec"]
    case = problem(op, np.int8, dtypes={"U": np.int32})
    for name in ("A", "y"):
        case.arrays[name][...] = 100
    mutant = _mutant(case, _without_casts)
    assert_same(run([case])[0], case.reference(), "matvec")
    with pytest.raises(DTypeError, match=r"add is applied to i32 and i8"):
        build([mutant])
    with pytest.raises(AssertionError):
        assert_same(mutant.reference(), case.reference(), "matvec")
