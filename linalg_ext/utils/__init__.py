"""Helpers that know neither MLIR nor tensors: locks, logs, progress bars, hooks, SVG drawings."""

from __future__ import annotations


def library_version() -> str:
    """Return the version of this library that is installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("linalg-ext")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "0+unknown"
