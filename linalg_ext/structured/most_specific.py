"""The most specific of upstream's ops that computes what a definition says.

First a named op (`linalg.dot`, `matvec`, `mmt4d`, ...), then a matrix product with maps, then
`linalg.transpose` and `broadcast`, then the category ops, and `linalg.generic` where none of them
says it.
"""

from __future__ import annotations

from functools import lru_cache

from linalg_ext.bindings import ir
from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.model import OpDefinition
from linalg_ext.structured.category_forms import build_category
from linalg_ext.structured.contractions import contraction_of
from linalg_ext.structured.generic import build_generic
from linalg_ext.structured.matmul_family import MatmulForm, build_matmul, matmul_form
from linalg_ext.structured.named_forms import build_named_form
from linalg_ext.structured.operands import bind
from linalg_ext.structured.rearranging_forms import build_rearrangement
from linalg_ext.structured.recognition import RecognizedOp


def build_most_specific(recognized: RecognizedOp) -> ir.Operation:
    """Build the op at the current insertion point; what it is called depends on what upstream has.

    Args:
        recognized: a definition at known element types, and its operands.

    Raises:
        DTypeError: a function has no meaning for its element type.
    """
    built = build_named_form(recognized) or _build_matmul(recognized)
    built = built or build_rearrangement(recognized) or build_category(recognized)
    return built or build_plain(recognized)


def build_plain(recognized: RecognizedOp) -> ir.Operation:
    """Build it as `linalg.generic`.

    Raises:
        DTypeError: a function has no meaning for its element type.
    """
    attributes = CallAttributes()
    return build_generic(
        bind(recognized.definition, recognized.inputs, recognized.outputs, attributes)
    )


def _build_matmul(recognized: RecognizedOp) -> ir.Operation | None:
    form = _matmul_form(recognized.definition, tuple(recognized.types.items()))
    return None if form is None else build_matmul(form, recognized)


@lru_cache(maxsize=4096)
def _matmul_form(
    definition: OpDefinition, types: tuple[tuple[str, str], ...]
) -> MatmulForm | None:
    contraction = contraction_of(RecognizedOp(definition, (), (), dict(types)))
    return None if contraction is None else matmul_form(contraction)
