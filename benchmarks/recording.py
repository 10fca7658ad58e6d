"""Results as files of JSON: the machine, the commit, the day and the versions beside them."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import linalg_ext as lx

_PACKAGES = ("numpy", "torch", "jax", "iree-base-compiler", "numba", "torch-mlir")


def processor() -> str:
    """Return the name of the processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def origin() -> dict[str, Any]:
    """Return the machine, the commit, the day and the versions of packages of a run."""
    described = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--abbrev=12"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
    )
    host = lx.target.current()
    return {
        "machine": f"{processor()}, {os.cpu_count()} cores, vectors of {host.vector_bits} bits",
        "commit": described.stdout.strip() or "none: no checkout",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": {name: version for name in _PACKAGES if (version := _version(name))},
    }


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def write(path: Path, results: Sequence[Any]) -> None:
    """Write results, which are dataclasses, with their origin."""
    content = {"origin": origin(), "results": [asdict(result) for result in results]}
    path.write_text(json.dumps(content, indent=1) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    """Return the results of a file that `write` made, without their origin."""
    results: list[dict[str, Any]] = json.loads(path.read_text())["results"]
    return results
