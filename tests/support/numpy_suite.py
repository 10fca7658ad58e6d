"""NumPy's own tests, as they come with the installed package, with its functions under `lx.jit`.

    PYTHONPATH=tests/support python -m numpy_suite                         # all files, an account
    PYTHONPATH=tests/support python -m numpy_suite lib/tests/test_histograms.py
    PYTHONPATH=tests/support python -m numpy_suite --account account.json -- -k percentile

In the tests' modules the functions that are recorded or called back are replaced: a call with
arrays is traced, compiled and run. A call that is refused (a LinalgExtError), one without arrays of
numbers, and one that writes into its arguments is NumPy's, and is counted apart. A failure is then
a result that differs from what NumPy's test expects. Tests in `DIFFERENCES` may fail, and are
counted by the reason. The account keeps the last outcome of each file, with its commit and time.
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
from linalg_ext.tracing.dispatch import is_view
from linalg_ext.tracing.functions.numpy_functions import CALLED_BACK, FUNCTIONS
from linalg_ext.tracing.functions.updates import WRITERS
from linalg_ext.tracing.values.containers import mapped
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

_MEMORY = "more memory or time than a test may have"
DIFFERENCES = {
    "layout: results are in row-major order, and no views of arguments": """
        TestAsType.test_astype TestCopy.test_order TestDelete.test_array_order_preserve
        TestLikeFuncs.test_empty_like TestLikeFuncs.test_filled_like TestLikeFuncs.test_ones_like
        TestLikeFuncs.test_zeros_like TestNanToNum.test_generic TestRollaxis.test_results
        TestNonarrayArgs.test_reshape_copy_arg TestSlidingWindowView.test_writeable
        test_memory_layout_persistence test_writeable test_writeable_memoryview
    """,
    "subclasses: results are arrays": """
        TestApplyAlongAxis.test_axis_insertion_ma TestApplyAlongAxis.test_subclass_preservation
        TestKron.test_return_type TestSolve.test_0_size TestSolve.test_0_size_k test_subclasses
    """,
    "warnings: none is given for values": """
        TestIsclose.test_tol_warnings TestNanFunctions_MeanVarStd.test_allnans
        TestNanFunctions_MeanVarStd.test_ddof_too_big TestNanFunctions_MeanVarStd.test_empty
        TestNanFunctions_Median.test_allnans TestNanFunctions_MinMax.test_allnans
        TestNanFunctions_Percentile.test_allnans TestNanFunctions_Quantile.test_allnans
    """,
    "errors by values: not raised": """
        TestHistogram.test_small_value_range TestNanFunctions_ArgminArgmax.test_allnans
        TestSetOps.test_isin_errors TestSetOps.test_isin_mixed_dtype
    """,
    "eigenvalues: complex for real matrices": """
        TestEig.test_types TestEigvals.test_types
    """,
    _MEMORY: """
        TestArraySplit.test_integer_split_2D_rows_greater_max_int32
        TestConcatenate.test_huge_list_error
    """,
}
"""The tests that are about something else than values, dtypes, shapes and errors, by the reason."""

_TO_BOOL = (np.allclose, np.array_equal, np.array_equiv)
"""Functions that give a bool of Python's."""

_NAMESPACES = (np, np.linalg, np.fft)


def _is_traceable(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype.kind in "biufc" and value.dtype.isnative


def _as_scalar(value: Any) -> Any:
    """Return an array of rank 0, which `jit` gives, as the scalar that NumPy gives."""
    return value[()] if isinstance(value, np.ndarray) and not value.ndim else value


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
            positional = [next(left) if _is_traceable(x) else x for x in arguments]
            keywords = {name: next(left) if _is_traceable(x) else x for name, x in named.items()}
            return function(*positional, **keywords)

        try:
            result = lx.jit(traced)(*arrays)
        except LinalgExtError as error:
            COUNTS[f"refused: {type(error).__name__}"] += 1
            return function(*arguments, **named)
        COUNTS["jitted"] += 1
        if function in _TO_BOOL:
            return bool(result)
        return result if is_view(function) else mapped(_as_scalar, result)

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
        self.differences: Counter[str] = Counter()
        self.failed: list[str] = []

    def _copied(self, module: Any) -> types.ModuleType:
        copy = types.ModuleType(module.__name__)
        copy.__getattr__ = functools.partial(getattr, module)  # type: ignore[method-assign]
        for name in dir(module):
            value = getattr(module, name)
            setattr(copy, name, self._jitted.get(id(value), value))
        return copy

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Replace what the modules have imported, once they all are."""
        owners = [(item.module, item.cls) for item in items]  # type: ignore[attr-defined]
        for item in items:
            name = item.nodeid.partition("::")[2].replace("::", ".").partition("[")[0]
            for reason, names in DIFFERENCES.items():
                if name in names.split():
                    mark = pytest.mark.xfail(reason=reason, run=reason != _MEMORY)
                    item.add_marker(mark)
            if hasattr(item, "callspec"):
                parameters = item.callspec.params
                parameters.update({name: self._replacement(x) for name, x in parameters.items()})
        for owner in {id(x): x for pair in owners for x in pair if x is not None}.values():
            if "CASES" in vars(owner):  # of linalg, thousands of which differ by strides alone
                owner.CASES[:] = [case for case in owner.CASES if "_stride_" not in case.name]
            for name, value in list(vars(owner).items()):
                replacement = self._replacement(value)
                if replacement is not value:
                    setattr(owner, name, replacement)

    def _replacement(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(map(self._replacement, value))
        namespace = self._namespaces.get(id(value))
        return self._jitted.get(id(value), value) if namespace is None else namespace

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what came of a test."""
        if report.when == "call" or report.outcome == "skipped":
            reason = getattr(report, "wasxfail", "").removeprefix("[NOTRUN] ")
            differs = report.outcome == "skipped" and reason in DIFFERENCES  # not NumPy's own
            if differs:
                self.differences[reason] += 1
            self.outcomes["differs" if differs else report.outcome] += 1
            if report.outcome == "failed":
                self.failed.append(report.nodeid)


def run(file: str, options: Sequence[str]) -> tuple[int, dict[str, Any]]:
    """Run the tests of a file; pytest's exit status, and an account."""
    COUNTS.clear()
    plugin, began = Replaced(), stamp()
    root = Path(np.__file__).parent
    words = ["-c", os.devnull, "-q", "-p", "no:cacheprovider", "--rootdir", str(root), "--tb=short"]
    status = int(
        pytest.main([*words, "-W", "ignore", str(root / file), *options], plugins=[plugin])
    )
    account = {
        **began,
        "tests": dict(sorted(plugin.outcomes.items())),
        "differs": dict(sorted(plugin.differences.items())),
        "calls": dict(COUNTS.most_common()),
        "failed": sorted(plugin.failed),
    }
    return status, account


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests, and write the account; 1 where one failed that is not known to differ."""
    parser = argparse.ArgumentParser(prog="numpy_suite", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("files", nargs="*", help="below NumPy's folder; all of a list if left out")
    parser.add_argument("--account", type=Path, help="a file of JSON for what came of each file")
    words = list(sys.argv[1:] if arguments is None else arguments)
    end = words.index("--") if "--" in words else len(words)
    given, options = parser.parse_args(words[:end]), words[end + 1 :]
    accounts: dict[str, Any] = {}
    if given.account and given.account.exists():
        accounts = json.loads(given.account.read_text())
    statuses = set()
    for file in given.files or FILES:
        status, accounts[file] = run(file, options)
        statuses.add(status)
        for part in ("tests", "calls"):
            print(", ".join(f"{count} {name}" for name, count in accounts[file][part].items()))
        if given.account:
            given.account.write_text(json.dumps(dict(sorted(accounts.items())), indent=1) + "\n")
    return int(statuses != {0})


if __name__ == "__main__":
    sys.exit(main())
