"""Loops of `gml_st` as nests of `scf.for`: every iteration sees what the ones before it wrote."""

from __future__ import annotations

from linalg_ext.bindings import ir

from ._bodies import for_nest, move_here, rename
from ._nest import Nest


def lower_in_order(nest: Nest) -> list[ir.Value]:
    """Build the nest at the insertion point, with the body of the loop; its results."""

    def body(ivs: list[ir.Value], carried: list[ir.Value]) -> list[ir.Value]:
        rename(nest.ivs, ivs)
        for argument, value in zip(nest.arguments, carried, strict=True):
            if argument is not None:
                rename([argument], [value])
        move_here(nest.body)
        return nest.write(carried)

    return for_nest(nest.bounds, nest.inits, body)
