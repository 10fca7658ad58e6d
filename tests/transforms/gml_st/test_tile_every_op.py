"""Ops of the library, cut at random sizes into loops over subsets, give NumPy's numbers.

A wrong part of an operand, a shifted position or a window that is cut short would show here. One op
of each form stands for all: ops that read and write at the same places have the same parts. With
LINALG_EXT_THOROUGH=1 every form is tiled, else some.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from core_ops import assert_same, build
from linalg_ext.compiler import compile as compile_module
from linalg_ext.dialects.gml_st.rules import Rule, Unserved, rule_of
from linalg_ext.module import Module
from linalg_ext.transforms.gml_st.op_tiling import Cut, tile_op
from linalg_ext.transforms.ir_utils.walking import select
from op_calls import problem_of
from op_cases import OPS, WINDOWS, Case, formula_case, formula_cases, window_case, window_cases
from resources import THOROUGH

STRIDE = 1 if THOROUGH else 8
PARTS = 8 if THOROUGH else 1
FORMS = ("parallel", "for", "loop")

REASONS = ("does not begin at a multiple", "runs backwards over a number of places that is open")
"""Why some ops are left: they divide positions, or go backwards through parts of open size."""


def _cases() -> list[Case]:
    """An op of each form, a window with strides and dilations where it can have them."""
    formulas = dict(reversed(formula_cases()))
    windows = {name: (kind, is_strided) for name, is_strided, kind in window_cases()}
    forms = {_form(name): name for name in (*formulas, *windows)}
    names = sorted(forms.values())[::STRIDE]
    return [
        window_case(name, windows[name][0], is_strided=windows[name][1])
        if name in WINDOWS
        else formula_case(name, formulas[name])
        for name in names
    ]


def _form(name: str) -> str:
    definition = OPS[name].definition
    if definition.is_rank_polymorphic:
        return f"element-wise of {len(definition.inputs)}"
    reads_positions = any("index(" in str(each) for each in definition.assignments)
    return f"{definition.accesses} {definition.iterator_types} {reads_positions}"


def _sizes(rule: Rule, rng: random.Random) -> tuple[int, ...]:
    """Sizes that leave remainders; some dimensions stay whole, and those that have to."""
    return tuple(
        0 if dim in rule.domain.whole else rng.choice((0, 1, 2, 3, 4))
        for dim in range(rule.domain.rank)
    )


def _tile_all(module: Module, rng: random.Random, form: str) -> Iterator[str]:
    """Tile each op of the module; why those that are left are."""
    (main,) = select(module.ir, lambda op: op.name == "func.func")
    ops = [op.operation for op in main.regions[0].blocks[0].operations]
    for op in [op for op in ops if op.name.startswith("linalg")]:
        try:
            rule = rule_of(op)
            sizes = _sizes(rule, rng)
            if any(sizes):
                tile_op(op, Cut(sizes, form))
        except Unserved as error:
            yield error.reason


@pytest.mark.parametrize("part", range(PARTS))
def test_tiled_ops_give_the_numbers_of_numpy(part: int) -> None:
    cases = _cases()[part::PARTS]
    problems = [
        problem_of(OPS[case.name], case.inputs, case.before, case.attributes) for case in cases
    ]
    module = Module(build(problems))
    left = list(_tile_all(module, random.Random(part), FORMS[part % 3]))
    assert all(any(reason in each for reason in REASONS) for each in left)
    assert len(left) <= len(cases) // 4
    module.verify(after="tiling")
    arrays = [a.copy() for each in problems for a in each.arrays.values()]
    results = iter(compile_module(module, "main", opt_level=0)(*arrays))
    for case in cases:
        held = [each.dtype for each in case.before]
        expected = [x.astype(dtype) for x, dtype in zip(case.expected, held, strict=True)]
        assert_same([next(results) for _ in expected], expected, case.name)


def test_a_cut_that_no_rule_serves_changes_nothing() -> None:
    text = """
    func.func @f(%x: tensor<8x6xf32>, %y: tensor<8x6xf32>) -> tensor<8x6xf32> {
      %r = linalg.softmax dimension(1) ins(%x : tensor<8x6xf32>) outs(%y : tensor<8x6xf32>)
        -> tensor<8x6xf32>
      return %r : tensor<8x6xf32>
    }"""
    module = Module.parse(text)
    (op,) = select(module.ir, lambda op: op.name == "linalg.softmax")
    before = str(module)
    with pytest.raises(Unserved, match=r"dimension 1 of linalg\.softmax cannot be cut"):
        tile_op(op, Cut((4, 3)))
    assert str(module) == before
