"""Methods of `OpDefinition` whose files are about definitions.

The facade `definition`; each function imports its handler when it is first called.
"""

from __future__ import annotations

from typing import Any


def canonical(definition: Any) -> Any:
    """Return the canonical form."""
    from linalg_ext.definition.equivalence import canonical as handle

    return handle(definition)


def reference(definition: Any, operands: Any, keywords: Any) -> Any:
    """Compute the op by NumPy alone."""
    from linalg_ext.definition.reference import reference as handle

    return handle(definition, operands, keywords)


def formula(definition: Any) -> Any:
    """Return the formula in one line."""
    from linalg_ext.notations.formula import formula as handle

    return handle(definition)


def latex(definition: Any) -> Any:
    """Return the formula in LaTeX."""
    from linalg_ext.notations.formula import latex as handle

    return handle(definition)
