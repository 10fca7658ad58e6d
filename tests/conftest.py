"""Skips are accounted for: counted in the summary, failures where everything must be present."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from resources import ABSENT, MACHINE

# How quickly examples are made, and how many a filter drops, says nothing of what is tested.
settings.register_profile(
    "suite", suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
settings.load_profile("suite")

# A job in the background ignores interrupts. Tests send themselves some.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests compile what they test; a user's folder of compiled code is left alone. Child processes too.
os.environ["LINALG_EXT_CACHE_DIR"] = "off"

# A pass that makes an invalid module is found where it ran.
os.environ["LINALG_EXT_VERIFY"] = "1"

REQUIRE_ALL = os.environ.get("LINALG_EXT_REQUIRE_ALL", "") not in ("", "0")
"""Set where every tool and all data are installed: a skip for want of one is then a mistake."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a test's skip into a failure where nothing may be absent."""
    report = yield
    if not hasattr(report, "wasxfail"):
        _forbid(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a file that skips itself as a whole."""
    report = yield
    _forbid(report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests were skipped, by reason."""
    counted = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", ()))
    if counted:
        terminalreporter.section("skipped")
        for reason, count in sorted(counted.items()):
            terminalreporter.write_line(f"{count:4} {reason}")


def _forbid(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not (REQUIRE_ALL and report.outcome == "skipped"):
        return
    reason = _reason(report)
    if reason.startswith(MACHINE):
        return
    report.outcome = "failed"
    report.longrepr = (
        f"skipped, but LINALG_EXT_REQUIRE_ALL is set: {reason}\n"
        f"install what is absent (reason {ABSENT!r}), or run it on such a machine ({MACHINE!r})"
    )


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
    return text.removeprefix("Skipped: ")
