"""An einsum on arrays of the dtype that it is computed in, step by step along its path."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linalg_ext.compiler.einsum.algebra import Algebra, Array
from linalg_ext.compiler.einsum.steps import Labelled, combine, diagonal, reduce
from linalg_ext.notations.einsum import Contraction
from linalg_ext.notations.einsum.path import Path
from linalg_ext.notations.einsum.plan import Step, contract_along, steps_along


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
    inputs = tuple(operand.labels for operand in operands)
    output = tuple(label for label in contraction.output if contraction.sizes[label] != 1)
    steps = steps_along(path, inputs, output, distributes=distributes)

    def apply(group: list[Labelled], step: Step) -> Labelled:
        if len(group) == 1:
            return reduce(group[0], step.output, algebra)
        a, b = group
        return combine(a, b, step.output, algebra, out=out if step is steps[-1] else None)

    result = contract_along(steps, operands, apply)
    return _expanded(result.transposed(output), contraction)


def _is_non_negative(operand: Labelled) -> bool:
    return operand.array.dtype.kind in "bu" or bool((operand.array >= 0).all())


def _expanded(array: Array, contraction: Contraction) -> Array:
    """A view with the axes of size 1 that the result has."""
    axes = [axis for axis, size in enumerate(contraction.shape) if size == 1]
    return np.expand_dims(array, axes) if axes else array
