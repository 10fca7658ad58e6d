"""Random programs over all that `jit` records, each step beside NumPy's answer.

At length: `PYTHONPATH=tests/support python -m numpy_programs --count 20000`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from numpy_programs.arguments import Scene, drawn
from numpy_programs.comparing import outcomes
from numpy_programs.differences import ALLOWED
from numpy_programs.drawing import FUNCTIONS_BY_NAME, draw_program, signature_of
from numpy_programs.program import Input, Program, Step
from resources import REPOSITORY

X = np.array([1.5, -2.0, np.nan, np.inf, 0.0], np.float32)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    return draw_program(lambda options: draw(st.sampled_from(list(options))))


@settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(programs())
def test_programs(program: Program) -> None:
    failed = [each for each in outcomes(program) if each.kind == "failed"]
    assert not failed, f"{program.shown()}\n{failed[0].step}: {failed[0].detail}"


def _at(place: int, options: Sequence[Any]) -> Any:
    return options[place % len(options)]


@pytest.mark.parametrize("name", FUNCTIONS_BY_NAME)
def test_arguments_are_drawn_for_every_function(name: str) -> None:
    """A function with a parameter of a new name says so here: its draw goes to `arguments`."""
    for place in range(3):
        scene = Scene(partial(_at, place))
        drawn(scene, name, signature_of(name))


def test_the_allowed_differences_are_those_of_the_page() -> None:
    page = (REPOSITORY / "docs" / "numbers.md").read_text(encoding="utf-8")
    _, _, section = page.partition("## Where jit differs from NumPy")
    rows = re.findall(r"^\| \*([^*]+)\* \|", section, re.MULTILINE)
    assert rows == list(ALLOWED)


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (Step("ufunc", "negative", (Input(0),)), "equal"),
        (Step("function", "var", (Input(1),)), "allowed"),
        (Step("function", "unique", (Input(0),)), "refused"),
        (Step("ufunc", "bitwise_and", (Input(0), Input(0))), "both"),
    ],
)
def test_kinds_of_outcomes(step: Step, kind: str) -> None:
    wide = np.array([300] + [0] * 9, np.float16)
    assert [each.kind for each in outcomes(Program([X, wide], [step]))] == [kind]


def test_another_answer_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A result that is off in one element, its sign, its dtype or its shape is found."""
    import linalg_ext as lx

    step = Step("ufunc", "negative", (Input(0),))
    right = -X
    off, sign = right.copy(), right.copy()
    off[0] = np.nextafter(off[0], np.float32(9))
    sign[4] = 0.0
    for wrong in (
        off,
        sign,
        right.astype(np.float64),
        right[:, None],
        np.where(right > 0, 0, right),
    ):
        monkeypatch.setattr(
            lx, "jit", lambda function, wrong=wrong, **_: lambda x: (function(x), [wrong])[1]
        )
        assert [each.kind for each in outcomes(Program([X], [step]))] == ["failed"]
