"""Rewrites, passes and pipelines written in Python, on upstream's drivers."""

import warnings
from typing import TYPE_CHECKING, Any

from linalg_ext.executable.explanation import Decision
from linalg_ext.rewriting.pipeline import PipelineRun, run_in_place, run_pipeline, timed_passes
from linalg_ext.rewriting.pipeline_text import NamedPipeline, named_pipeline
from linalg_ext.rewriting.report import MatchFailure, Report
from linalg_ext.rewriting.rewrite import Rewrite, Rewriter, rewrite
from linalg_ext.rewriting.transformation import ModulePass, Transformation, module_pass

__all__ = [
    "Decision",
    "MatchFailure",
    "ModulePass",
    "NamedPipeline",
    "PipelineRun",
    "Report",
    "Rewrite",
    "Rewriter",
    "Transformation",
    "module_pass",
    "named_pipeline",
    "rewrite",
    "run_in_place",
    "run_pipeline",
    "timed_passes",
]


def _old_name(name: str) -> Any:
    """Return an object whose name changed since version 0.1; the old one goes with version 0.3."""
    if name == "Left":
        message = "linalg_ext.rewriting.Left is now MatchFailure"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return MatchFailure
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


if not TYPE_CHECKING:  # a type checker that saw it would take every name for one that exists
    __getattr__ = _old_name
