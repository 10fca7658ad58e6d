"""The version of this library."""

from __future__ import annotations


def library_version() -> str:
    """Return the version that is installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("linalg-ext")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "0+unknown"
