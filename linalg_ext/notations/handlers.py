"""Methods of `OpDefinition` whose files are about definitions.

The facade `definition`: each function is imported from its home when it is first asked for.
"""

from __future__ import annotations

from linalg_ext.utils.hooks import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "definition.equivalence": "canonical",
        "definition.reference": "reference",
        "notations.formula": "formula latex",
    },
    package="linalg_ext",
)
