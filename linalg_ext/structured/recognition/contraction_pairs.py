"""Contractions of two operands: sums of products, recognised by what they compute.

`C[c] += A[a] * B[b]`, where a, b and c are tuples of different dimensions. It is what
`linalg.contract`, the matmul family and many a generic say; here it is one thing, whatever the op
is called and however its iteration space is ordered.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace

from linalg_ext.bindings import ir
from linalg_ext.definition.affine import AffineDim, AffineExpr
from linalg_ext.definition.functions import BINARY, TYPE
from linalg_ext.definition.model import Assignment, OpDefinition, OperandKind, Reduction
from linalg_ext.definition.scalar import Access, Apply
from linalg_ext.definition.specialization import specialize
from linalg_ext.structured.recognition import RecognizedOp
from linalg_ext.structured.recognition.contraction_form import find_contraction

Indices = tuple[str, ...]


@dataclass(frozen=True)
class Contraction:
    """A sum of products of two operands.

    Attributes:
        a: the dimensions that the first operand is indexed by.
        b: those of the second one.
        c: those of the result.
        dims: the iteration space, outermost first.
        unsigned: whether integers are read as unsigned where they are cast.
    """

    a: Indices
    b: Indices
    c: Indices
    dims: tuple[str, ...]
    unsigned: bool

    @property
    def swapped(self) -> Contraction:
        """The same with its operands changed about: a product does not mind."""
        return replace(self, a=self.b, b=self.a)

    def canonical_indices(self) -> tuple[tuple[int, ...], ...]:
        """The dimensions of a, b and c, numbered as c, then a, then b name them."""
        numbers = {dim: i for i, dim in enumerate(dict.fromkeys((*self.c, *self.a, *self.b)))}
        return tuple(tuple(numbers[dim] for dim in dims) for dims in (self.a, self.b, self.c))

    @property
    def batch(self) -> Indices:
        """The dimensions that all three have, in the order of the result."""
        return tuple(dim for dim in self.c if dim in self.a and dim in self.b)

    @property
    def rows(self) -> Indices:
        """Those of the first operand and the result alone."""
        return tuple(dim for dim in self.c if dim in self.a and dim not in self.b)

    @property
    def columns(self) -> Indices:
        """Those of the second operand and the result alone."""
        return tuple(dim for dim in self.c if dim in self.b and dim not in self.a)

    @property
    def contracted(self) -> Indices:
        """Those of both operands that the result has not."""
        return tuple(dim for dim in self.a if dim in self.b and dim not in self.c)

    @property
    def lone(self) -> Indices:
        """Those that one of the three alone has: broadcast, or summed by themselves."""
        shared = {*self.batch, *self.rows, *self.columns, *self.contracted}
        return tuple(dim for dim in self.dims if dim not in shared)


def contraction_of(recognized: RecognizedOp) -> Contraction | None:
    """An op as a contraction of two operands; None if it is not one.

    The operands are cast to the type of the result before they are multiplied, as upstream's ops
    say it: a product of another type is none of these.
    """
    return _contraction(recognized.definition, tuple(recognized.types.items()))


@functools.lru_cache(maxsize=1024)
def _contraction(
    definition: OpDefinition, types: tuple[tuple[str, str], ...]
) -> Contraction | None:
    form = find_contraction(definition, dict(types))
    if isinstance(form, str) or form.kind.name != "+*" or not form.accumulates:
        return None
    if [factor.operand for factor in form.factors] != [o.name for o in definition.inputs]:
        return None
    if len(form.factors) != 2 or any(factor.difference is not None for factor in form.factors):
        return None
    if any(operand.kind is OperandKind.SCALAR for operand in definition.inputs):
        return None
    a, b, c = (plain_dims(i) for i in (*(f.indices for f in form.factors), form.output))
    if a is None or b is None or c is None:
        return None
    return Contraction(a, b, c, form.dims, form.cast.name == "cast_unsigned")


def rearranged(
    recognized: RecognizedOp,
    contraction: Contraction,
    inputs: tuple[ir.Value, ir.Value],
    output: ir.Value,
) -> RecognizedOp:
    """A contraction on other operands of the same sizes: what to look for to build it.

    Args:
        recognized: an op that contracts.
        contraction: how the operands are indexed now, by dimensions of that op.
        inputs: the operands, of the element types that they had.
        output: the destination.
    """
    types = tuple(recognized.types.items())
    said = _rearranged(recognized.definition, contraction, types)
    return RecognizedOp(said, inputs, (output,), recognized.types)


@functools.lru_cache(maxsize=1024)
def _rearranged(
    definition: OpDefinition, contraction: Contraction, types: tuple[tuple[str, str], ...]
) -> OpDefinition:
    operands = (*definition.inputs, *definition.outputs)
    indices = {
        operand.name: tuple(AffineDim(dim) for dim in dims)
        for operand, dims in zip(
            operands, (contraction.a, contraction.b, contraction.c), strict=True
        )
    }
    cast = "cast_unsigned" if contraction.unsigned else "cast_signed"
    return specialize(_sum_of_products(definition, cast, indices), dict(types))


def plain_dims(indices: tuple[AffineExpr, ...]) -> Indices | None:
    """The dimensions that indices are, each used once; None where they are anything else."""
    names = tuple(index.name for index in indices if isinstance(index, AffineDim))
    if len(names) != len(indices) or len(set(names)) != len(names):
        return None
    return names


def _sum_of_products(
    definition: OpDefinition, cast: str, indices: Mapping[str, tuple[AffineExpr, ...]]
) -> OpDefinition:
    """The contraction with the operands of a definition, indexed as is said."""
    (output,) = definition.outputs
    elements = [
        Access(o.name, indices[o.name], o.type_var)
        for o in (*definition.inputs, output)
        if o.type_var is not None
    ]
    target = elements.pop()
    factors = (Apply(TYPE[cast], (element,), target.type_var) for element in elements)
    product = Apply(BINARY["mul"], tuple(factors))
    written = {dim for index in target.indices for dim in index.dims}
    summed = tuple(dim for dim in definition.dims if dim not in written)
    reduction = Reduction(BINARY["add"], summed)
    assignment = Assignment(target, Apply(BINARY["add"], (target, product)), reduction)
    return replace(
        definition,
        operands=tuple(replace(o, index_dims=None) for o in definition.operands),
        assignments=(assignment,),
    )
