"""The order of the rooms of `linalg_ext`, lowest first."""

from __future__ import annotations

TIERS: tuple[frozenset[str], ...] = tuple(
    frozenset(tier.split())
    for tier in (
        "errors utils samples",
        "symbolic",
        "definition cache",
        "opdsl notations",
        "opdsl_defs",
        # From here on MLIR may be needed.
        "bindings",
        "target ir",
        "structured runtime",
        "executable",
        "dialects",
        "module",
        "rewriting",
        "transforms",
        "settings",
        "compiler",
        "tracing",
        "frameworks explain",
        "cli",
        "__main__",
    )
)
"""The rooms of `linalg_ext`, lowest first. A room imports from its own tier and those below."""
