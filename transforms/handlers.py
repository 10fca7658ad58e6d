"""Services of the rooms of rewriting for `Module`.

The facade `module`; each function imports its handler when it is first called.
"""

from __future__ import annotations

from typing import Any


def legalize_exported(module: Any, **options: Any) -> Any:
    """Bring ops of exporters to linalg on tensors."""
    from linalg_ext.transforms.legalization.legalize_exported import legalize_exported as handle

    return handle(module, **options)


def run_pipeline(module: Any, pipeline: Any, **options: Any) -> Any:
    """Run a pipeline."""
    from linalg_ext.rewriting.pipeline import run_pipeline as handle

    return handle(module, pipeline, **options)
