"""The matrix products of upstream that take indexing maps, chosen for a contraction.

`linalg.matmul`, `batch_matmul` and `batch_reduce_matmul` say each transposed and each broadcast
variant by their maps. Which maps they accept is listed here: their verifier dies on some others.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from linalg_ext.bindings import ir, linalg
from linalg_ext.definition.affine import AffineDim, AffineMap
from linalg_ext.structured.recognition import RecognizedOp
from linalg_ext.structured.recognition.agreement import kept_if_same
from linalg_ext.structured.recognition.contraction_pairs import Contraction, contraction_of
from linalg_ext.structured.utils.maps import maps_attribute

_ACCEPTED: Mapping[str, tuple[str, str, str, str]] = {
    "linalg.matmul": ("mnk", "mk km k", "kn nk k", "mn"),
    "linalg.batch_matmul": ("bmnk", "bmk bkm mk bk k", "bkn bnk kn bk k", "bmn"),
    "linalg.batch_reduce_matmul": ("bmnk", "bmk bkm mk bk k", "bkn bnk kn bk k", "mn"),
}
"""For each op its iteration space, and by what its operands A and B and its result are indexed.

The results that `linalg.matmul` takes besides are left out: a transposed one is a product the other
way about, and one of fewer dimensions contradicts the op's iterator types.
"""

_CLASSES: Mapping[str, str] = {
    "linalg.matmul": "MatmulOp",
    "linalg.batch_matmul": "BatchMatmulOp",
    "linalg.batch_reduce_matmul": "BatchReduceMatmulOp",
}


@dataclass(frozen=True)
class MatmulForm:
    """A matrix product of upstream with the maps that make it a given contraction.

    Attributes:
        op_name: `linalg.matmul`, or one of the batched ones.
        dims: its iteration space, a letter each.
        maps: the letters that A, B and the result are indexed by.
        order: which input of the contraction its A is, and which its B.
        unsigned: whether integers are read as unsigned where they are cast.
    """

    op_name: str
    dims: str
    maps: tuple[str, str, str]
    order: tuple[int, int]
    unsigned: bool

    @property
    def is_plain(self) -> bool:
        """Return whether the op means this without being given maps."""
        return self.maps == tuple(each.split()[0] for each in _ACCEPTED[self.op_name][1:])


def matmul_form(contraction: Contraction) -> MatmulForm | None:
    """The matrix product that a contraction is; None where it is no product of matrices.

    Where the result is transposed, the operands change places: `(A B)^T` is `B^T A^T`.
    """
    for order, each in (((0, 1), contraction), ((1, 0), contraction.swapped)):
        found = _forms().get(each.canonical_indices())
        if found is not None:
            op_name, maps = found
            dims = _ACCEPTED[op_name][0]
            return MatmulForm(op_name, dims, maps, order, contraction.unsigned)
    return None


@functools.cache
def _forms() -> Mapping[tuple[tuple[int, ...], ...], tuple[str, tuple[str, str, str]]]:
    """Each op with each triple of maps, by the numbers that its dimensions get."""
    forms: dict[tuple[tuple[int, ...], ...], tuple[str, tuple[str, str, str]]] = {}
    for op_name, (dims, *accepted) in _ACCEPTED.items():
        for a, b, c in itertools.product(*(each.split() for each in accepted)):
            if {*a, *b, *c} == {*dims}:
                said = Contraction(tuple(a), tuple(b), tuple(c), tuple(dims), unsigned=False)
                forms.setdefault(said.canonical_indices(), (op_name, (a, b, c)))
    return forms


def build_matmul(form: MatmulForm, recognized: RecognizedOp) -> ir.Operation | None:
    """Build a matrix product on another op's operands, at the current insertion point.

    None where the element types are none that upstream multiplies.
    """
    if not _multiplies(recognized):
        return None
    op = getattr(linalg, _CLASSES[form.op_name])(
        [v.type for v in recognized.outputs if isinstance(v.type, ir.RankedTensorType)],
        [recognized.inputs[position] for position in form.order],
        list(recognized.outputs),
        indexing_maps=maps_attribute([_map(form.dims, letters) for letters in form.maps]),
    ).operation
    if form.unsigned:
        op.attributes["cast"] = ir.Attribute.parse("#linalg.type_fn<cast_unsigned>")
    linalg.fill_builtin_region(op)
    return kept_if_same(op, recognized, form.order)


def build_matmul_of(recognized: RecognizedOp) -> ir.Operation | None:
    """Build the matrix product that an op is, with maps where needed; None if it is not one."""
    contraction = contraction_of(recognized)
    form = None if contraction is None else matmul_form(contraction)
    return None if form is None else build_matmul(form, recognized)


def _multiplies(recognized: RecognizedOp) -> bool:
    """Return whether upstream multiplies operands of these element types: of others its builder
    dies.
    """
    if not recognized.is_uniform:
        return False
    values = (*recognized.inputs, *recognized.outputs)
    elements = {ir.ShapedType(value.type).element_type for value in values}
    if any(isinstance(element, ir.ComplexType) for element in elements):
        return len(elements) == 1
    return all(isinstance(element, (ir.FloatType, ir.IntegerType)) for element in elements)


def _map(dims: str, letters: str) -> AffineMap:
    return AffineMap(tuple(dims), (), tuple(AffineDim(letter) for letter in letters))
