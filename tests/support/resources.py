"""Tools and packages that tests need beyond the repository, and the one way to skip without them.

A test that lacks its tool skips with a reason that begins `absent: `; one that needs a
machine of another kind (AVX-512, two cores) with `machine: `. The summary counts both. Where the
environment sets `LINALG_EXT_REQUIRE_ALL=1`, every skip but the second kind is a failure: see
conftest.py.
"""

from __future__ import annotations

import datetime
import functools
import importlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, NoReturn

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

THOROUGH = os.environ.get("LINALG_EXT_THOROUGH", "") not in ("", "0")
"""Set by the nightly run: tests that take a sample of their cases take all of them."""

ABSENT = "absent: "
MACHINE = "machine: "

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason=MACHINE + "no fork")
"""Marks a test that forks."""


def skip_absent(what: str) -> NoReturn:
    """Skip the running test: it needs `what`, which is not here."""
    pytest.skip(ABSENT + what)


def skip_machine(what: str) -> NoReturn:
    """Skip the running test: it needs `what` of the machine, which no installation can add."""
    pytest.skip(MACHINE + what)


def upstream_tool(name: str) -> Path:
    """A command-line tool of upstream's, such as `mlir-linalg-ods-yaml-gen-22`; skips if absent."""
    found = shutil.which(name)
    if found is None:
        skip_absent(f"{name} (Debian package mlir-22-tools)")
    return Path(found)


def c_compiler() -> str:
    """A compiler of C; skips if absent."""
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if found is None:
        skip_absent("a C compiler (Debian packages gcc and libc6-dev)")
    return found


def package(name: str, install: str) -> Any:
    """A package that the library has no need of, imported; skips the whole file if absent."""
    try:
        return importlib.import_module(name)
    except ImportError:
        pytest.skip(f"{ABSENT}{name} ({install})", allow_module_level=True)


def stamp() -> dict[str, str]:
    """The commit of the repository and the time now, for the account of a run."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=REPOSITORY, check=True, capture_output=True, text=True
    ).stdout.strip()
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return {"commit": commit, "date": date}


@functools.cache
def project_files() -> tuple[Path, ...]:
    """Every file of the project, relative to `REPOSITORY`: tracked, or new and not ignored."""
    if not (REPOSITORY / ".git").exists() or shutil.which("git") is None:
        skip_absent("a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    paths = (Path(name) for name in listed.split("\0") if name)
    return tuple(path for path in paths if os.path.lexists(REPOSITORY / path))
