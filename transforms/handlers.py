"""Services of the rooms of rewriting for `Module`.

The facade `module`: each function is imported from its home when it is first asked for.
"""

from __future__ import annotations

from linalg_ext.utils.hooks import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "rewriting.pipeline": "run_pipeline",
        "transforms.legalization.legalize_exported": "legalize_exported",
    },
    package="linalg_ext",
)
