"""Functions of NumPy timed beside NumPy: each gives NumPy's result, and the words choose."""

from __future__ import annotations

import numpy as np
import pytest

import linalg_ext as lx
from benchmarks import functions


@pytest.mark.parametrize("name", functions.FUNCTIONS)
def test_each_function_is_compared_with_numpys_result(name: str) -> None:
    (case,) = [
        case for case in functions.cases([name], [200]) if (case.name, case.dtype) == (name, "i8")
    ] or [next(case for case in functions.cases([name], [200]) if case.name == name)]
    times = functions.measured(case, 0.001)
    assert times.ours > 0
    assert times.theirs > 0


def test_a_wrong_result_is_not_timed() -> None:
    wrong = functions.Function(lambda a: a + (0 if isinstance(a, np.ndarray) else 1), shapes="n")
    with pytest.raises(AssertionError), lx.threads.using(1):
        functions.measured(functions.Case("wrong", wrong, "f4", 10), 0.001)


def test_words_choose_functions_and_types() -> None:
    assert {case.dtype for case in functions.cases(["c8"])} == {"c8"}
    assert {case.name for case in functions.cases(["argsort"])} == {"argsort"}
    assert len(list(functions.cases([]))) > 400
