"""Every op of the library, compiled and run on arrays, against the reference, which knows no IR.

A kernel for each op at each dtype would take minutes: many ops make a function.
"""

from __future__ import annotations

import pytest

from core_ops import assert_same, run
from op_calls import problem_of
from op_cases import ALL_FORMULAS, OPS, Case, formula_case, formula_cases, window_case, window_cases

PARTS = 24
"""How many tests share the ops."""


def _cases() -> list[tuple[str, str, bool | None]]:
    """Each op at the kinds of numbers that it takes; None for one without a window."""
    cases: list[tuple[str, str, bool | None]] = [(*each, None) for each in formula_cases()]
    # What takes floats alone runs at a second float.
    cases += [(name, "s", None) for name, formula in ALL_FORMULAS.items() if formula.kinds == "f"]
    cases += [(name, "s", True) for name, s, _ in window_cases() if s and name.endswith("_average")]
    cases += [
        (name, kind, is_strided)
        for name, is_strided, kind in window_cases()
        # Two dtypes, and with strides where there are any.
        if is_strided or not OPS[name].definition.attributes
    ]
    return cases


def _case(name: str, kind: str, is_strided: bool | None) -> Case:
    if is_strided is None:
        return formula_case(name, kind)
    return window_case(name, kind, is_strided=is_strided)


@pytest.mark.parametrize("part", range(PARTS))
def test_compiled_ops_agree_with_the_reference(part: int) -> None:
    chosen = _cases()[part::PARTS]
    problems = []
    for name, kind, is_strided in chosen:
        case = _case(name, kind, is_strided)
        problems.append(problem_of(OPS[name], case.inputs, case.before, case.attributes))
    for each, problem, results in zip(chosen, problems, run(problems), strict=True):
        assert_same(results, problem.reference(), str(each))
