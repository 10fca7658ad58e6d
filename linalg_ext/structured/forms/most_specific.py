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
from linalg_ext.structured.forms.category_forms import build_category
from linalg_ext.structured.forms.matmul_family import MatmulForm, build_matmul, matmul_form
from linalg_ext.structured.forms.named import build_named
from linalg_ext.structured.forms.named_forms import named_forms
from linalg_ext.structured.forms.rearranging_forms import build_rearrangement
from linalg_ext.structured.payload.generic import build_generic
from linalg_ext.structured.recognition import RecognizedOp
from linalg_ext.structured.recognition.contraction_pairs import contraction_of
from linalg_ext.structured.utils.operands import BoundOp, bind, bind_types


def build_most_specific(recognized: RecognizedOp) -> ir.Operation:
    """Build the op at the current insertion point; what it is called depends on what upstream has.

    Args:
        recognized: a definition at known element types, and operands that fit it.

    Raises:
        DTypeError: a function has no meaning for its element type.
    """
    built = _build_named(recognized) or _build_matmul(recognized)
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


def _build_named(recognized: RecognizedOp) -> ir.Operation | None:
    for form in named_forms(recognized):
        inputs = tuple(recognized.inputs[position] for position in form.order)
        operands = (*form.definition.inputs, *form.definition.outputs)
        types = bind_types(form.definition, operands, (*inputs, *recognized.outputs))
        # Not `bind`, which checks the shapes once more: it costs as much as all the rest.
        bound = BoundOp(form.definition, inputs, recognized.outputs, form.attributes, types)
        built = build_named(bound)
        if built is not None:
            return built
    return None


def _build_matmul(recognized: RecognizedOp) -> ir.Operation | None:
    form = _matmul_form(recognized.definition, tuple(recognized.types.items()))
    return None if form is None else build_matmul(form, recognized)


@lru_cache(maxsize=4096)
def _matmul_form(definition: OpDefinition, types: tuple[tuple[str, str], ...]) -> MatmulForm | None:
    contraction = contraction_of(RecognizedOp(definition, (), (), dict(types)))
    return None if contraction is None else matmul_form(contraction)
