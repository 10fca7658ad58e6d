"""Categorize named ops and generics: `linalg.elementwise` and `linalg.contract`.

An element-wise op becomes `linalg.elementwise`, with maps for operands that are transposed,
broadcast or scalars; a sum of products becomes `linalg.contract`. An op that computes more than one
function, casts its operands, or reduces in another way is left as it is. Discardable attributes
stay.

before:
    %r = linalg.add ins(%a, %b : tensor<8x5xf32>, tensor<8x5xf32>)
                    outs(%c : tensor<8x5xf32>) -> tensor<8x5xf32>
after:
    %r = linalg.elementwise kind = #linalg.elementwise_kind<add>
           ins(%a, %b : tensor<8x5xf32>, tensor<8x5xf32>)
           outs(%c : tensor<8x5xf32>) -> tensor<8x5xf32>
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import MatchFailure, Rewriter, rewrite
from linalg_ext.structured.category_forms import build_category

from ._structured import put_in_place, read

_CATEGORIES = frozenset(("linalg.elementwise", "linalg.contract"))
_NEVER = frozenset(
    (
        *("linalg.index", "linalg.yield", "linalg.softmax", "linalg.pack", "linalg.unpack"),
        *("linalg.fill", "linalg.copy", "linalg.transpose", "linalg.broadcast", "linalg.reduce"),
        *(f"linalg.winograd_{part}_transform" for part in ("filter", "input", "output")),
    )
)
"""Ops that no category has a word for."""


def _may_have_a_category(name: str) -> bool:
    return name.startswith("linalg.") and name not in _CATEGORIES | _NEVER


@rewrite("linalg-ext-categorize", on=_may_have_a_category, driver="walk")
def categorize(op: ir.OpView, rewriter: Rewriter) -> bool | MatchFailure:
    """Replace a named op or a generic by the category op that means the same."""
    operation = op.operation
    recognized = read(operation)
    if isinstance(recognized, MatchFailure):
        return recognized
    category = build_category(recognized)
    if category is None:
        return MatchFailure("neither linalg.elementwise nor linalg.contract computes the same")
    return put_in_place(operation, category, rewriter)
