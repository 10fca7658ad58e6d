"""What schedules are taken on: modules of models, and each op of the library behind another op."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import linalg_ext as lx
from core_ops import Problem, build
from exported_modules import arrays_of, index_of
from linalg_ext.errors import LinalgExtError
from linalg_ext.module import Module
from op_calls import problem_of
from op_cases import OPS, WINDOWS, Case, formula_case, formula_cases, window_case, window_cases
from resources import shared_root

Array = NDArray[Any]


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
        # What was put on buffers may write to its arguments.
        results = lx.compile(scheduled, entry="main")(*(array.copy() for array in self.inputs))
        results = results if isinstance(results, tuple) else (results,)
        for ours, theirs in zip(results, self.expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=self.rtol, atol=self.atol)


def subjects(word: str = "") -> Iterator[Subject]:
    """All of them whose names contain a word."""
    root = shared_root()
    for path in sorted((root / "modules").glob("*.mlir")) if root else []:
        if word in path.stem:
            yield exported(path)
    kinds = dict(reversed(formula_cases()))
    windows = {name: (kind, is_strided) for name, is_strided, kind in window_cases()}
    for name in sorted({**kinds, **windows}):
        if word in name:
            case = (
                window_case(name, windows[name][0], is_strided=windows[name][1])
                if name in WINDOWS
                else formula_case(name, kinds[name])
            )
            yield op_of_the_library(case)


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
