"""A skip for want of data or a tool is counted, and a failure where nothing may be absent."""

from __future__ import annotations

import pytest

from exported_modules import module_params
from resources import REPOSITORY, upstream_tool

pytest_plugins = ["pytester"]

SUITE = """
import pytest
from resources import skip_absent, skip_machine, upstream_tool

def test_tool():
    upstream_tool("mlir-no-such-tool")

def test_package():
    skip_absent("no-such-package")

@pytest.mark.skip(reason="just so")
def test_unexplained(): ...

def test_machine():
    skip_machine("AVX-1024")

@pytest.mark.xfail(strict=True)
def test_expected_failure():
    raise ValueError

def test_plain(): ...
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY / "tests" / "support"))
    pytester.makeconftest((REPOSITORY / "tests" / "conftest.py").read_text())
    pytester.makepyfile(SUITE)
    return pytester


def test_skips_are_counted_by_reason(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LINALG_EXT_REQUIRE_ALL", raising=False)
    result = suite.runpytest_subprocess()
    result.assert_outcomes(passed=1, skipped=4, xfailed=1)
    result.stdout.fnmatch_lines(["*1 absent: mlir-no-such-tool*", "*1 absent: no-such-package"])


def test_only_skips_of_the_machine_are_allowed_where_all_is_required(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINALG_EXT_REQUIRE_ALL", "1")
    result = suite.runpytest_subprocess()
    # A test skipped by a mark is skipped in its setup: pytest calls that failure an error.
    result.assert_outcomes(passed=1, failed=2, errors=1, skipped=1, xfailed=1)
    result.stdout.fnmatch_lines(["*LINALG_EXT_REQUIRE_ALL is set: absent: mlir-no-such-tool*"])


def test_a_file_that_skips_itself_fails_where_all_is_required(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINALG_EXT_REQUIRE_ALL", "1")
    suite.makepyfile('import pytest\npytest.skip("absent: a module", allow_module_level=True)')
    result = suite.runpytest_subprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*LINALG_EXT_REQUIRE_ALL is set: absent: a module*"])


def test_a_pattern_that_matches_no_module_is_an_error() -> None:
    with pytest.raises(FileNotFoundError, match="no file of"):
        module_params("no-such-*.mlir")


def test_a_tool_that_is_installed_is_found() -> None:
    assert upstream_tool("sh").is_file()
