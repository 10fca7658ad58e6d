"""The loop nests of einsum: three for each semiring and dtype, open in every size.

    contract    C[b, m, n]    += A[b, m, k]    * B[b, k, n]       n innermost
    inner       C[b, m, n, l] += A[b, m, k, l] * B[b, n, k, l]    l innermost
    reduce      C[m, l]       += A[m, k, l]                       l innermost

All einsums of all shapes come down to these by views. Sums of products of floats become packed
nests, one for each way in which their operands may have unit stride. Of the others the innermost
dimension is a parallel one, so that LLVM can vectorize without reordering a sum; for an inner
product the contracted dimension is cut into lanes l, and the lanes are summed last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from linalg_ext.compiler.einsum.algebra import Algebra
from linalg_ext.definition.model import OpDefinition
from linalg_ext.notations.einsum import definition_of


@dataclass(frozen=True)
class Form:
    """A loop nest.

    Attributes:
        name: of the form.
        inputs: the labels of each input.
        output: the labels of the output.
        loops: the labels of the loops, from the outside in.
        nearest: the label of each input along which it has unit stride, or nothing; where it is not
            given, the innermost loop if it is the last label.
    """

    name: str
    inputs: tuple[str, ...]
    output: str
    loops: str
    nearest: tuple[str, ...] = ()

    def definition(self, algebra: Algebra) -> OpDefinition:
        """The form in a semiring, as an op on operands of one type."""
        return definition_of(
            self.inputs,
            self.output,
            kind=algebra.kind,
            name=f"einsum_{self.name}",
            dims=self.loops,
            types=["U"] * len(self.inputs),
        )


CONTRACT = Form("contract", ("bmk", "bkn"), "bmn", "bmkn")

INNER = Form("inner", ("bmkl", "bnkl"), "bmnl", "bmnkl")

REDUCE = Form("reduce", ("mkl",), "ml", "mkl")


@cache
def contract_form(nearest_a: str, nearest_b: str) -> Form:
    """`CONTRACT` for operands with unit stride along the labels given, or along none."""
    return replace(CONTRACT, nearest=(nearest_a, nearest_b))
