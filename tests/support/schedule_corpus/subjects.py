"""What schedules are taken on: modules of models, and each op of the library behind another op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import linalg_ext as lx
from core_ops import Problem, build
from exported_modules import MODULES, arrays_of, index_of
from linalg_ext.errors import LinalgExtError
from linalg_ext.module import Module
from op_calls import problem_of
from op_cases import OPS, WINDOWS, Case, formula_case, formula_cases, window_case, window_cases

Array = NDArray[Any]


_WINDOWS = window_cases()


@dataclass(frozen=True)
class Subject:
    """A module whose numbers are known.

    Attributes:
        name: of the module or op.
        module: makes it anew.
        inputs: what its `main` is called with.
        expected: what it gives then, by PyTorch or by the reference evaluation of definitions.
        rtol, atol: how far the results of a schedule may be from that.
    """

    name: str
    module: Callable[[], Module]
    inputs: Sequence[Array]
    expected: Sequence[Array]
    rtol: float = 1e-4
    atol: float = 1e-5

    def check(self, scheduled: Module) -> None:
        """Compile and call what a schedule made of the module.

        Raises:
            AssertionError: it gives other numbers.
        """
        # One thread: for more of them, a call compiles the module once more.
        with lx.options(threads=1):
            kernel = lx.compile(scheduled, entry="main")
            # What was put on buffers may write to its arguments.
            results = kernel(*(array.copy() for array in self.inputs))
        results = results if isinstance(results, tuple) else (results,)
        for ours, theirs in zip(results, self.expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=self.rtol, atol=self.atol)


def names(word: str = "") -> list[str]:
    """The modules, then the ops of the library, whose names contain a word."""
    modules = sorted(path.stem for path in MODULES.glob("*.mlir"))
    ops = sorted({*(name for name, _ in formula_cases()), *(name for name, *_ in _WINDOWS)})
    return [name for name in (*modules, *ops) if word in name]


def subject(name: str) -> Subject:
    """The subject of that name."""
    if name not in OPS:
        return exported(MODULES / f"{name}.mlir")
    if name in WINDOWS:
        is_strided, kind = next((s, kind) for op, s, kind in reversed(_WINDOWS) if op == name)
        return op_of_the_library(window_case(name, kind, is_strided=is_strided))
    kind = next(kind for op, kind in formula_cases() if op == name)
    return op_of_the_library(formula_case(name, kind))


def exported(path: Path) -> Subject:
    """A module exported from a model, with what PyTorch makes of its inputs."""
    facts = index_of(path)
    text = path.read_text()
    inputs, expected = arrays_of(path)

    def module() -> Module:
        return lx.parse(text, trusted=True)  # MLIR printed it itself

    # Other orders of sums are other roundings.
    return Subject(path.stem, module, inputs, expected, 10 * facts["rtol"], 10 * facts["atol"])


def op_of_the_library(case: Case) -> Subject:
    """An op of the library on small arrays, alone in its module."""
    problem = problem_of(OPS[case.name], case.inputs, case.before, case.attributes)
    arrays = [*case.inputs, *case.before]
    return Subject(case.name, lambda: _built(problem), arrays, problem.reference())


def _built(problem: Problem) -> Module:
    """The op as upstream's named one where there is one, else as `linalg.generic`."""
    try:
        return Module(build([problem]))
    except LinalgExtError:
        return Module(build([problem], emit_generic=True))
