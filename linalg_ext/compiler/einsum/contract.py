"""`contract`: a contraction by maps, of arrays, of traced values and of MLIR values alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linalg_ext.compiler.einsum import einsum
from linalg_ext.dialects import linalg_ext as dialect
from linalg_ext.errors import ArgumentError, ArityError, ShapeError
from linalg_ext.notations.affine_text import affine_map
from linalg_ext.notations.einsum import Semiring, parse
from linalg_ext.notations.einsum.subscripts import LETTERS
from linalg_ext.opdsl.op import kind_of_call
from linalg_ext.symbolic.affine import AffineDim, AffineMap


def contract(
    *operands: Any,
    maps: str | Sequence[AffineMap | str],
    kind: str | Semiring = "+*",
    compute_type: Any = None,
    outs: Any = None,
    overwrite: bool = False,
) -> Any:
    """Compute a sum of products of any number of operands.

        contract(a, b, c, maps="ij,jk,kl->il")
        contract(a, b, maps=["(i, j, k) -> (i, k)", "(i, j, k) -> (k, j)", "(i, j, k) -> (i, j)"])

    On arrays it computes and inside `jit` it records, as `einsum` does; on MLIR values it builds
    `linalg_ext.contract`. Unlike in `einsum` nothing is broadcast: a dimension has one size.

    Args:
        *operands: arrays, traced values, or MLIR values.
        maps: an einsum string without an ellipsis; or a map for each operand, that of the result
            last, from the iteration space to lists of dimensions.
        kind: the semiring, as of `einsum`.
        compute_type: the type that is computed in, accumulation included: a dtype, on MLIR values a
            type. By default the type of the result.
        outs: on MLIR values, the destination; a new tensor by default.
        overwrite: on MLIR values, whether the old elements of the destination do not matter; else
            it is added to.

    Raises:
        ArgumentError: operands and maps do not fit together; names them.
    """
    called_on = kind_of_call(operands, {} if outs is None else {"outs": outs})
    if called_on == "values":
        return dialect.contract(
            *operands,
            outs=outs,
            maps=maps,
            kind=kind,
            overwrite=overwrite,
            compute_type=compute_type,
        )
    if overwrite:
        raise ArgumentError(
            "contract: overwrite=True where there is no destination",
            hint="leave it out: the result is new",
        )
    text = maps if isinstance(maps, str) else _einsum_of(maps)
    _check_sizes(text, operands)
    return einsum(text, *operands, kind=kind, compute_type=compute_type)


def _einsum_of(maps: Sequence[AffineMap | str]) -> str:
    """Return the subscripts that a list of maps says."""
    parsed = [affine_map(map) for map in maps]
    if not parsed or len({len(map.dims) for map in parsed}) > 1:
        raise ArgumentError(f"contract: maps={list(maps)}", expected="maps of one iteration space")
    terms = []
    for map in parsed:
        term = ""
        for index in map.results:
            if not isinstance(index, AffineDim):
                raise ArgumentError(
                    f"contract: the map {map} has the index {index}", expected="plain dimensions"
                )
            # By position: each map names the dimensions for itself.
            term += LETTERS[26:][map.dims.index(index.name)]
        terms.append(term)
    return f"{','.join(terms[:-1])}->{terms[-1]}"


def _check_sizes(text: str, operands: Sequence[Any]) -> None:
    terms = parse(text).inputs
    if len(terms) != len(operands):
        raise ArityError(f"contract: {len(terms)} maps of inputs for {len(operands)} operands")
    sizes: dict[str, int] = {}
    for number, (term, operand) in enumerate(zip(terms, operands, strict=True)):
        if term.has_ellipsis:
            raise ArgumentError(f"contract: '{text}' has an ellipsis", hint="write every label")
        shape = operand.shape if hasattr(operand, "shape") else np.shape(operand)
        for label, size in zip(term.labels, shape, strict=False):
            if size != size:  # of a dask array, not known: refused with how to know it
                continue
            if sizes.setdefault(label, size) != size:
                raise ShapeError(
                    f"contract: '{label}' is of size {sizes[label]}, and of size {size} in operand "
                    f"{number}",
                    hint="contract broadcasts no size: leave the label out of the narrower operand",
                )
