"""Rewrites, passes and pipelines written in Python, on upstream's drivers."""

from linalg_ext.executable.description.explanation import Decision
from linalg_ext.rewriting.module_pass import ModulePass, module_pass
from linalg_ext.rewriting.pipeline import PipelineRun, run_in_place, run_pipeline
from linalg_ext.rewriting.report import Left, Report
from linalg_ext.rewriting.resolve import NamedPipeline, named_pipeline
from linalg_ext.rewriting.rewrite import Rewrite, rewrite
from linalg_ext.rewriting.rewriter import Rewriter
from linalg_ext.rewriting.transformation import Transformation

__all__ = [
    "Decision",
    "Left",
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
]
