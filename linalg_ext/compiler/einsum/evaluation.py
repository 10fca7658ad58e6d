"""An einsum on arrays of the dtype that it is computed in, step by step along its path."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linalg_ext.compiler.einsum.algebra import Algebra, Array
from linalg_ext.compiler.einsum.steps import Labelled, combine, diagonal, reduce
from linalg_ext.notations.einsum import Contraction
from linalg_ext.notations.einsum.path import Path


def evaluate(
    contraction: Contraction,
    path: Path,
    arrays: Sequence[Array],
    algebra: Algebra,
    out: Array | None = None,
) -> Array:
    """The result of an einsum; a view of its operand where it is one.

    Args:
        contraction: what to compute.
        path: in which order.
        arrays: the operands, of the dtype of the algebra.
        algebra: the semiring and the dtype.
        out: contiguous memory for the result, which no operand shares. It may be left unused.
    """
    if 0 in contraction.sizes.values():
        return np.full(contraction.shape, algebra.zero, algebra.dtype)
    operands = [
        diagonal(array, labels) for array, labels in zip(arrays, contraction.inputs, strict=True)
    ]
    distributes = not algebra.kind.needs_non_negative or all(map(_is_non_negative, operands))
    if out is not None:
        out = out.reshape([size for size in contraction.shape if size != 1])
    for number, positions in enumerate(path):
        group = [operands.pop(position) for position in sorted(positions, reverse=True)][::-1]
        is_last = number == len(path) - 1
        while len(group) > 1:
            a, b, *rest = group
            needed = _needed(contraction.output, [*rest, *operands])
            last = is_last and not rest
            if not distributes and not last:
                needed = list(dict.fromkeys([*needed, *a.labels, *b.labels]))
            target = out if last else None
            group = [
                combine(a, b, needed, algebra, distributes=distributes, out=target),
                *rest,
            ]
        (result,) = group
        if len(positions) == 1 and (distributes or not operands):
            result = reduce(result, set(_needed(contraction.output, operands)), algebra)
        operands.append(result)
    (result,) = operands
    order = [label for label in contraction.output if label in result.labels]
    return _expanded(result.transposed(order), contraction)


def _needed(output: Sequence[str], others: Sequence[Labelled]) -> list[str]:
    """The labels that later steps need: those of the result first, in its order."""
    return list(dict.fromkeys([*output, *(label for other in others for label in other.labels)]))


def _is_non_negative(operand: Labelled) -> bool:
    return operand.array.dtype.kind in "bu" or bool((operand.array >= 0).all())


def _expanded(array: Array, contraction: Contraction) -> Array:
    """A view with the axes of size 1 that the result has."""
    axes = [axis for axis, size in enumerate(contraction.shape) if size == 1]
    return np.expand_dims(array, axes) if axes else array
