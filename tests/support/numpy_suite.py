"""NumPy's own tests, as they come with the installed package, with its functions under `lx.jit`.

    PYTHONPATH=tests/support python -m numpy_suite                         # all files, an account
    PYTHONPATH=tests/support python -m numpy_suite lib/tests/test_histograms.py
    PYTHONPATH=tests/support python -m numpy_suite --account account.json -- -k percentile

In the tests' modules the functions that are recorded or called back are replaced: a call with
arrays is traced, compiled and run. A call that is refused (a LinalgExtError), one without arrays of
numbers, and one that writes into its arguments is NumPy's, and is counted apart. A failure is then
a result that differs from what NumPy's test expects.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
import types
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import LinalgExtError
from linalg_ext.tracing.functions.numpy_functions import CALLED_BACK, FUNCTIONS
from linalg_ext.tracing.functions.updates import WRITERS
from linalg_ext.tracing.values.trace import running
from resources import stamp

FILES = (
    "_core/tests/test_item_selection.py",
    "_core/tests/test_numeric.py",
    "_core/tests/test_shape_base.py",
    "lib/tests/test_arraypad.py",
    "lib/tests/test_arraysetops.py",
    "lib/tests/test_function_base.py",
    "lib/tests/test_histograms.py",
    "lib/tests/test_index_tricks.py",
    "lib/tests/test_nanfunctions.py",
    "lib/tests/test_packbits.py",
    "lib/tests/test_polynomial.py",
    "lib/tests/test_shape_base.py",
    "lib/tests/test_stride_tricks.py",
    "lib/tests/test_twodim_base.py",
    "lib/tests/test_type_check.py",
    "lib/tests/test_ufunclike.py",
    "linalg/tests/test_linalg.py",
    "fft/tests/test_pocketfft.py",
)
"""The files below NumPy's folder whose tests call functions on arrays."""

COUNTS: Counter[str] = Counter()
"""The calls by what became of them: jitted, refused with which error, NumPy's."""

_NAMESPACES = (np, np.linalg, np.fft)


def _is_traceable(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype.kind in "biufc" and value.dtype.isnative


def jitted(function: Any) -> Any:
    """Return a function of NumPy's that runs under `lx.jit` where its arguments can be traced."""

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        arrays = [x for x in (*arguments, *named.values()) if _is_traceable(x)]
        if running() is not None or not arrays or named.get("out") is not None:
            COUNTS["NumPy's: no arrays of numbers, or out="] += 1
            return function(*arguments, **named)

        def traced(*leaves: Any) -> Any:
            left = iter(leaves)
            return function(
                *(next(left) if _is_traceable(x) else x for x in arguments),
                **{name: next(left) if _is_traceable(x) else x for name, x in named.items()},
            )

        try:
            result = lx.jit(traced)(*arrays)
        except LinalgExtError as error:
            COUNTS[f"refused: {type(error).__name__}"] += 1
            return function(*arguments, **named)
        COUNTS["jitted"] += 1
        return result

    return call


class Replaced:
    """A plugin of pytest's that gives the tests' modules jitted functions."""

    def __init__(self) -> None:
        functions = [*FUNCTIONS, *CALLED_BACK]
        self._jitted = {id(each): jitted(each) for each in functions if each not in WRITERS}
        self._namespaces = {id(each): self._copied(each) for each in _NAMESPACES}
        for name, part in (("linalg", np.linalg), ("fft", np.fft)):
            setattr(self._namespaces[id(np)], name, self._namespaces[id(part)])
        self.outcomes: Counter[str] = Counter()
        self.failed: list[str] = []

    def _copied(self, module: Any) -> types.ModuleType:
        copy = types.ModuleType(module.__name__)
        for name in dir(module):
            value = getattr(module, name)
            setattr(copy, name, self._jitted.get(id(value), value))
        return copy

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Replace what the modules have imported, once they all are."""
        for module in {id(item.module): item.module for item in items}.values():  # type: ignore[attr-defined]
            for name, value in list(vars(module).items()):
                replacement = self._namespaces.get(id(value)) or self._jitted.get(id(value))
                if replacement is not None:
                    setattr(module, name, replacement)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what came of a test."""
        if report.when == "call" or report.outcome == "skipped":
            self.outcomes[report.outcome] += 1
            if report.outcome == "failed":
                self.failed.append(report.nodeid)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests, and write the account; pytest's exit status."""
    parser = argparse.ArgumentParser(prog="numpy_suite", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("files", nargs="*", help="below NumPy's folder; all of a list if left out")
    parser.add_argument("--account", type=Path, help="a file of JSON for what came of it")
    given, rest = parser.parse_known_args(arguments)
    root = Path(np.__file__).parent
    words = ["-c", os.devnull, "-q", "-p", "no:cacheprovider", "--rootdir", str(root), "--tb=short"]
    words += [str(root / file) for file in given.files or FILES]
    plugin = Replaced()
    status = int(pytest.main([*words, *(word for word in rest if word != "--")], plugins=[plugin]))
    for outcome, count in (*sorted(plugin.outcomes.items()), *COUNTS.most_common()):
        print(f"{count:8} {outcome}")
    if given.account:
        account = {
            **stamp(),
            "tests": dict(sorted(plugin.outcomes.items())),
            "calls": dict(COUNTS.most_common()),
            "failed": sorted(plugin.failed),
        }
        given.account.write_text(json.dumps(account, indent=1) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
