"""Every named op of upstream: made a generic or a category op, and the same named op again."""

from __future__ import annotations

import re

import pytest

import linalg_ext as lx
from core_ops import assert_same
from linalg_ext.module import Module
from named_op_modules import named_cases, named_module, named_problem, upstream_ops

generalize, specialize = lx.transforms.generalize, lx.transforms.specialize
categorize, name_categories = lx.transforms.categorize, lx.transforms.name_categories

CASES = named_cases()
ELEMENTWISE = (
    *("abs", "ceil", "erf", "exp", "floor", "log", "negf", "reciprocal", "round", "rsqrt", "sqrt"),
    *("square", "tanh", "add", "sub", "mul", "div", "max", "min", "powf", "select"),
)
CONTRACTIONS = (
    *("matmul", "batch_matmul", "batch_reduce_matmul", "matvec", "vecmat", "batch_matvec"),
    *("batch_vecmat", "dot", "mmt4d", "batch_mmt4d"),
)


def cleaned(module: Module) -> str:
    """Upstream's generalization moves constants out of bodies: they are left behind, unused."""
    copy = module.clone()
    copy.run("canonicalize")
    return str(copy)


def module_of(name: str, types: str, memref: bool) -> Module:
    module = named_module(name, types, memref=memref)
    assert module is not None
    return module


def test_the_cases_are_those_of_upstream() -> None:
    assert len(upstream_ops()) == 84
    assert {name for name, *_ in CASES} == {*upstream_ops()}


@pytest.mark.parametrize(("name", "types", "memref"), CASES)
def test_named_to_generic_to_named(name: str, types: str, memref: bool) -> None:
    module = module_of(name, types, memref)
    named = cleaned(module)
    assert generalize(module).changed == {f"linalg.{name}": 1}
    assert "linalg.generic" in str(module)
    assert f"linalg.{name} " not in str(module)
    assert specialize(module).changed == {"linalg.generic": 1}
    assert cleaned(module) == named


@pytest.mark.parametrize(("name", "types", "memref"), CASES)
def test_named_to_category_to_named(name: str, types: str, memref: bool) -> None:
    module = module_of(name, types, memref)
    named = cleaned(module)
    report = categorize(module)
    said = re.findall(r"linalg\.(elementwise|contract) ", str(module))
    expected = "elementwise" if name in ELEMENTWISE else "contract" * (name in CONTRACTIONS)
    if name == "div_unsigned":
        expected = "elementwise"
    assert said == ([expected] if expected else [])
    if not expected:
        assert not report
        return
    by_generic = module.clone()
    assert name_categories(module)
    assert cleaned(module) == named
    generalize(by_generic)
    specialize(by_generic)
    assert cleaned(by_generic) == named


@pytest.mark.parametrize(
    ("name", "types"),
    [
        *(("conv_2d_nhwc_hwcf", types) for types in ("f32", "i8 into i32")),
        *(("pooling_nhwc_max", types) for types in ("f32", "i32")),
        *(("quantized_matmul", types) for types in ("i8 into i32",)),
        *(("fill_rng_2d", types) for types in ("f32",)),
        *(("div_unsigned", types) for types in ("i32",)),
        *(("batch_mmt4d", types) for types in ("f32",)),
    ],
)
@pytest.mark.parametrize("form", ["generic", "named again", "category"])
def test_each_form_computes_the_same(name: str, types: str, form: str) -> None:
    case = named_problem(name, types)
    module = module_of(name, types, False)
    if form == "category":
        categorize(module)
    else:
        generalize(module)
    if form == "named again":
        specialize(module)
    operands = (*case.definition.inputs, *case.definition.outputs)
    got = lx.compile(module, entry="main")(*(case.arrays[o.name].copy() for o in operands))
    assert_same([got], case.reference(), name)
