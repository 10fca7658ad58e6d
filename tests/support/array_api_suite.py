"""The test-suite of the Python array API standard over the namespace of traced values.

    PYTHONPATH=tests/support python -m array_api_suite --suite ARRAY-API-TESTS
    ... test_sorting_functions.py --account array_api.json -- --max-examples=3 -k argsort

`ARRAY-API-TESTS` is a checkout of github.com/data-apis/array-api-tests with its submodule, whose
requirements are installed. Arrays are NumPy's; each function of the namespace and each operator is
recorded, compiled and run. What is refused (a LinalgExtError) fails like what is wrong, and is
counted apart.
"""

from __future__ import annotations

import argparse
import functools
import json
import operator
import os
import sys
import types
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import LinalgExtError
from linalg_ext.tracing.functions import array_api
from resources import stamp

_ARITHMETIC = "add and floordiv lshift matmul mod mul or pow rshift sub truediv xor"
_COMPARISONS = "eq ge gt le lt ne"
_SIGNS = "abs invert neg pos"


class Array(np.ndarray[Any, Any]):
    """An array whose operators run under `lx.jit`."""

    def __array_namespace__(self, *, api_version: str | None = None) -> types.ModuleType:
        return namespace


def _leaves(value: Any) -> list[np.ndarray[Any, Any]]:
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in _leaves(part)]
    if isinstance(value, dict):
        return _leaves(list(value.values()))
    return []


def _replaced(value: Any, leaves: Any) -> Any:
    if isinstance(value, np.ndarray):
        return next(leaves)
    if isinstance(value, tuple | list):
        return type(value)(_replaced(part, leaves) for part in value)
    if isinstance(value, dict):
        return {name: _replaced(part, leaves) for name, part in value.items()}
    return value


def _shown(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value).view(Array)
    if type(value) in (tuple, list):
        return type(value)(map(_shown, value))
    return value


def jitted(function: Any) -> Any:
    """Return a function that records another one for its arrays, and runs it."""

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        arrays = [leaf.view(np.ndarray) for leaf in _leaves([arguments, named])]

        def traced(*values: Any) -> Any:
            left = iter(values)
            return function(*_replaced(arguments, left), **_replaced(named, left))

        return _shown(lx.jit(traced)(*arrays))

    return call


def _reversed(apply: Any) -> Any:
    return lambda self, other: apply(other, self)


for _name in f"{_ARITHMETIC} {_COMPARISONS} {_SIGNS}".split():
    setattr(Array, f"__{_name}__", jitted(getattr(operator, f"__{_name}__")))
for _name in _ARITHMETIC.split():
    setattr(Array, f"__r{_name}__", _reversed(getattr(Array, f"__{_name}__")))


def _namespace() -> types.ModuleType:
    traced = array_api.namespace()
    made = types.ModuleType("linalg_ext_arrays")
    for name in dir(traced):
        value = getattr(traced, name)
        is_extension = isinstance(value, types.SimpleNamespace)
        if is_extension:
            parts = {part: jitted(function) for part, function in vars(value).items()}
            value = types.SimpleNamespace(**parts)
        elif isinstance(value, types.FunctionType):
            value = jitted(value)
        setattr(made, name, value)
    for name in ("finfo", "iinfo", "isdtype", "result_type", "can_cast"):
        setattr(made, name, getattr(np, name))
    return made


namespace = _namespace()


class Counted:
    """A plugin of pytest's that counts by files what came of the tests, and why they failed."""

    def __init__(self) -> None:
        self.outcomes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.reasons: defaultdict[str, dict[str, str]] = defaultdict(dict)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> Any:
        """Note the error of a test that failed."""
        outcome = yield
        report = outcome.get_result()
        if report.when == "call" or report.outcome == "skipped":
            self.outcomes[item.path.name][report.outcome] += 1
        if report.when == "call" and report.outcome == "failed":
            error = call.excinfo.value
            errors = [error, *getattr(error, "exceptions", ())]
            kind = "refused" if any(isinstance(x, LinalgExtError) for x in errors) else "wrong"
            reason = f"{kind}: {type(errors[-1]).__name__}: {errors[-1]}"[:300]
            self.reasons[item.path.name][item.name] = reason


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suite, and write the account; 0 once it ran."""
    parser = argparse.ArgumentParser(prog="array_api_suite")
    parser.add_argument("files", nargs="*", help="of the suite, test_sorting_functions.py; or all")
    parser.add_argument("--suite", type=Path, required=True, help="a checkout of the test-suite")
    parser.add_argument("--account", type=Path, help="a file of JSON for what came of each file")
    words = list(sys.argv[1:] if arguments is None else arguments)
    end = words.index("--") if "--" in words else len(words)
    given, options = parser.parse_args(words[:end]), words[end + 1 :]
    sys.modules[namespace.__name__] = namespace
    os.environ["ARRAY_API_TESTS_MODULE"] = namespace.__name__
    sys.path.insert(0, str(given.suite))
    plugin, began = Counted(), stamp()
    words = ["-q", "-p", "no:cacheprovider", "--tb=short", "--rootdir", str(given.suite)]
    words += ["--disable-deadline", "-W", "ignore"]  # each example is compiled
    words += ["-c", str(given.suite / "pytest.ini")]
    tests = given.suite / "array_api_tests"
    words += [str(tests / file) for file in given.files] or [str(tests)]
    status = pytest.main([*words, *options], plugins=[plugin])
    accounts: dict[str, Any] = {}
    if given.account and given.account.exists():
        accounts = json.loads(given.account.read_text())
    for file, outcomes in plugin.outcomes.items():
        print(file, ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items()))
        failed = dict(sorted(plugin.reasons[file].items()))
        accounts[file] = {**began, "tests": dict(outcomes), "failed": failed}
    if given.account:
        given.account.write_text(json.dumps(dict(sorted(accounts.items())), indent=1) + "\n")
    return int(status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED))


if __name__ == "__main__":
    sys.exit(main())
