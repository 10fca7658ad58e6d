"""Einsum: NumPy's subscript strings read, bound to shapes, and as definitions of ops.

subscripts = parse("mk,kn->mn")             # or parse_interleaved(a, [0, 1], b, [1, 2])
contraction = subscripts.bind([(2, 3), (3, 4)])
definition = definition_of_einsum("mk,kn->mn")
to_einsum(definition)                       # "mk,kn->mn"
"""

from linalg_ext.notations.einsum.definitions import (
    BROADCAST,
    KINDS,
    Semiring,
    definition_of,
    definition_of_einsum,
    semiring,
    to_einsum,
)
from linalg_ext.notations.einsum.subscripts import (
    Contraction,
    Shape,
    Subscripts,
    Term,
    parse,
    parse_interleaved,
)

__all__ = [
    "BROADCAST",
    "KINDS",
    "Contraction",
    "Semiring",
    "Shape",
    "Subscripts",
    "Term",
    "definition_of",
    "definition_of_einsum",
    "parse",
    "parse_interleaved",
    "semiring",
    "to_einsum",
]
