"""Index values as seen from one loop: a multiple of its induction variable, and the rest."""

from __future__ import annotations

from typing import NamedTuple

from linalg_ext.bindings import ir
from linalg_ext.gml_st.ir.roots import is_defined_inside
from linalg_ext.structured.indices import IndexReader
from linalg_ext.symbolic.integers import Expression, Number, Symbol, symbols_of


class Along(NamedTuple):
    """`factor * iv + rest`, of which the rest is the same in every iteration."""

    factor: int
    rest: Number


def induction_variable(loop: ir.Operation) -> ir.Value:
    """Return the induction variable of a loop."""
    return loop.regions[0].blocks[0].arguments[0]


def counts_in_indices(loop: ir.Operation) -> bool:
    """Return whether a loop counts in values of type index, compared with signs."""
    return (
        isinstance(induction_variable(loop).type, ir.IndexType)
        and "unsignedCmp" not in loop.attributes
    )


def along(number: Number, loop: ir.Operation, read: IndexReader) -> Along | None:
    """A number as a loop sees it; None where it is not linear in it, or the rest changes too."""
    if isinstance(number, int):
        return Along(0, number)
    body = loop.regions[0].blocks[0]
    iv = induction_variable(loop)
    factor = 0
    for atom, times in number.terms:
        if isinstance(atom, Symbol) and atom.key == iv:
            factor += times
            continue
        keys = [symbol.key for symbol in symbols_of(Expression(0, ((atom, 1),)))]
        if any(isinstance(key, ir.Value) and is_defined_inside(key, body) for key in keys):
            return None
    return Along(factor, number - read(iv) * factor)
