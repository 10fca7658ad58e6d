"""An einsum on arrays of the dtype that it is computed in, step by step along its path.

Each step, of an operand alone or of two, is brought to a canonical form by views.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from linalg_ext.compiler.einsum.algebra import (
    CONTRACT,
    INNER,
    REDUCE,
    Algebra,
    Array,
    contract_form,
    tell_numpy_computes,
)
from linalg_ext.compiler.einsum.kernels import is_packed, kernel_for, specialized_kernel
from linalg_ext.notations.einsum import Contraction
from linalg_ext.notations.einsum.plan import Path, Step, contract_along, steps_along
from linalg_ext.runtime.poison import empty
from linalg_ext.runtime.pool import memory

LANES = 64
"""Partial sums that an inner product or a row sum is cut into: several vectors of any machine."""

_MOST_IN_BATCHES = 1 << 15
"""Elements of several inner products up to which a kernel is faster than NumPy."""

_FEW = 8
"""Fewer columns than this do not fill the vectors of an innermost loop over them."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """An array with a label for each axis, all different, none of size 1."""

    array: Array
    labels: tuple[str, ...]

    def transposed(self, labels: Sequence[str]) -> Array:
        """Return the array with its axes in the order of `labels`."""
        if tuple(labels) == self.labels:
            return self.array
        return self.array.transpose([self.labels.index(label) for label in labels])

    def grouped(self, *groups: Sequence[str]) -> Array:
        """Return one axis for each group of labels; a view wherever one can be."""
        if all(len(group) == 1 for group in groups):
            return self.transposed([group[0] for group in groups])
        sizes = dict(zip(self.labels, self.array.shape, strict=True))
        shape = [math.prod(sizes[label] for label in group) for group in groups]
        return self.transposed([label for group in groups for label in group]).reshape(shape)

    def stride(self, label: str) -> int:
        """Return the bytes from one element to the next along a label."""
        return abs(self.array.strides[self.labels.index(label)])


def evaluate(
    contraction: Contraction,
    path: Path,
    arrays: Sequence[Array],
    algebra: Algebra,
    out: Array | None = None,
) -> Array:
    """Return the result of an einsum; a view of its operand where it is one.

    Operands have the dtype of the algebra. `out` is contiguous memory for the result, which no
    operand shares; it may be left unused.
    """
    if 0 in contraction.sizes.values():
        return np.full(contraction.shape, algebra.zero, algebra.dtype)
    operands = [
        diagonal(array, labels) for array, labels in zip(arrays, contraction.inputs, strict=True)
    ]
    distributes = not algebra.kind.needs_non_negative or all(
        x.array.dtype.kind in "bu" or bool((x.array >= 0).all()) for x in operands
    )
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
    axes = [axis for axis, size in enumerate(contraction.shape) if size == 1]
    array = result.transposed(output)
    return np.expand_dims(array, axes) if axes else array


def diagonal(array: Array, labels: Sequence[str]) -> Labelled:
    """Return the view on which each label is once, without the axes of size 1.

    It is writable where the array is.
    """
    names = list(labels)
    while repeated := next((label for label in names if names.count(label) > 1), None):
        first = names.index(repeated)
        second = names.index(repeated, first + 1)
        view = array.diagonal(axis1=first, axis2=second)
        if array.flags.writeable:
            view.flags.writeable = True
        array = view
        names = [*(n for axis, n in enumerate(names) if axis not in (first, second)), repeated]
    if 1 in array.shape:
        long_axes = [axis for axis, size in enumerate(array.shape) if size != 1]
        array = array[(*(slice(None) if size != 1 else 0 for size in array.shape), ...)]
        names = [names[axis] for axis in long_axes]
    return Labelled(array, tuple(names))


def reduce(operand: Labelled, keep: Collection[str], algebra: Algebra) -> Labelled:
    """Return the sum of an operand over all labels but those to keep."""
    reduced = [label for label in operand.labels if label not in keep]
    if not reduced:
        return operand
    kept_labels = [label for label in operand.labels if label in keep]
    kernel = kernel_for(REDUCE, algebra, operand.array.size)
    if kernel is None:
        axes = tuple(operand.labels.index(label) for label in reduced)
        return Labelled(algebra.reduce(operand.array, axes), tuple(kept_labels))
    reduced.sort(key=operand.stride, reverse=True)
    kept_labels.sort(key=operand.stride, reverse=True)
    sizes = dict(zip(operand.labels, operand.array.shape, strict=True))
    outermost = operand.stride(reduced[0])
    outer = [label for label in kept_labels if operand.stride(label) > outermost]
    inner = kept_labels[len(outer) :]
    if math.prod(sizes[label] for label in inner) >= _FEW:
        array = operand.grouped(outer, reduced, inner)
        out = empty((array.shape[0], array.shape[2]), algebra.dtype)
        kernel(array, out)
    else:
        out = _sum_rows(operand.grouped(kept_labels, reduced), algebra)
    return Labelled(out.reshape([sizes[label] for label in kept_labels]), tuple(kept_labels))


def _sum_rows(array: Array, algebra: Algebra) -> Array:
    rows, columns = array.shape
    blocks = columns // LANES
    kernel = kernel_for(REDUCE, algebra, array.size)
    if kernel is None or blocks == 0:
        return algebra.reduce(array, (1,))
    partial = empty((rows, LANES), algebra.dtype)
    kernel(array[:, : blocks * LANES].reshape(rows, blocks, LANES), partial)
    out = algebra.reduce(partial, (1,))
    if blocks * LANES == columns:
        return out
    return np.asarray(algebra.add(out, algebra.reduce(array[:, blocks * LANES :], (1,))))


def combine(
    a: Labelled,
    b: Labelled,
    keep: Sequence[str],
    algebra: Algebra,
    *,
    out: Array | None = None,
) -> Labelled:
    """Return the product of two operands, summed over the labels that are not to keep.

    Later steps or the result need the labels `keep`, in the order of the result. The result may be
    written to `out`: contiguous, with the labels of the result in order.
    """
    a, b = _spread(a, b, keep), _spread(b, a, keep)
    roles = _roles(a.labels, b.labels, tuple(keep))
    if not roles.contracted:
        return Labelled(_product(a, b, roles.kept_labels, algebra, out), roles.kept_labels)
    sizes = {
        **dict(zip(a.labels, a.array.shape, strict=True)),
        **dict(zip(b.labels, b.array.shape, strict=True)),
    }
    products = math.prod(sizes.values())
    if roles.rows or roles.columns:
        pays = is_packed(algebra)
    else:
        pays = algebra.is_numpys and (not roles.batch or products <= _MOST_IN_BATCHES)
    special = None
    if pays:
        operands = (a.array, a.labels), (b.array, b.labels)
        special = specialized_kernel(*operands, roles.kept_labels, algebra, products)
    if special is not None:
        shape = tuple(sizes[label] for label in roles.kept_labels)
        result = memory.empty(shape, algebra.dtype) if out is None else out.reshape(shape)
        special(a.array, b.array, result)
        return Labelled(result, roles.kept_labels)
    if roles.is_swapped:
        a, b = b, a
    contracted = roles.contracted
    if len(contracted) > 1:
        larger = a if a.array.size >= b.array.size else b
        contracted = tuple(sorted(contracted, key=larger.stride, reverse=True))
    result = _contract(
        a.grouped(roles.batch, roles.rows, contracted),
        b.grouped(roles.batch, contracted, roles.columns),
        algebra,
        out if roles.result == roles.kept_labels else None,
    )
    return Labelled(result.reshape([sizes[label] for label in roles.result]), roles.result)


@dataclass(frozen=True, slots=True)
class _Roles:
    """The roles of the labels of two operands in their product.

    Attributes:
        kept_labels: the labels of the result, in the requested order.
        contracted: those to sum over, which both have.
        batch: those that both have and the result keeps.
        rows: those of the first operand alone.
        columns: those of the second alone.
        is_swapped: the second operand is to be the first: the innermost label of the result
            belongs to the columns.
    """

    kept_labels: tuple[str, ...]
    contracted: tuple[str, ...]
    batch: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    is_swapped: bool

    @property
    def result(self) -> tuple[str, ...]:
        """Return the labels in the order in which a contraction gives them."""
        return (*self.batch, *self.rows, *self.columns)


@lru_cache(maxsize=4096)
def _roles(a: tuple[str, ...], b: tuple[str, ...], keep: tuple[str, ...]) -> _Roles:
    kept_labels = tuple(label for label in keep if label in a or label in b)
    contracted = tuple(label for label in a if label in b and label not in keep)
    is_swapped = bool(kept_labels) and kept_labels[-1] not in b
    if is_swapped:
        a, b = b, a
    return _Roles(
        kept_labels,
        contracted,
        batch=tuple(label for label in kept_labels if label in a and label in b),
        rows=tuple(label for label in kept_labels if label not in b),
        columns=tuple(label for label in kept_labels if label not in a),
        is_swapped=is_swapped,
    )


def _spread(a: Labelled, b: Labelled, keep: Collection[str]) -> Labelled:
    """`a` with the labels that `b` alone has and no later step needs: broadcast along them."""
    missing = [label for label in b.labels if label not in a.labels and label not in keep]
    if not missing:
        return a
    sizes = tuple(b.array.shape[b.labels.index(label)] for label in missing)
    array = np.broadcast_to(a.array, (*sizes, *a.array.shape))
    return Labelled(array, (*missing, *a.labels))


def _product(
    a: Labelled, b: Labelled, labels: Sequence[str], algebra: Algebra, out: Array | None
) -> Array:
    sides = []
    for operand in (a, b):
        own = [label for label in labels if label in operand.labels]
        index = tuple(slice(None) if label in own else None for label in labels)
        sides.append(operand.transposed(own)[(*index, ...)])
    tell_numpy_computes("products of elements: nothing is summed")
    return np.asarray(algebra.multiply(*sides, out=out))


def _contract(a: Array, b: Array, algebra: Algebra, out: Array | None) -> Array:
    """`C[b, m, n]` of `A[b, m, k]` and `B[b, k, n]`, contiguous unless NumPy made it."""
    batch, rows, depth = a.shape
    columns = b.shape[2]
    products = batch * rows * depth * columns
    if rows == columns == 1 and algebra.is_numpys:  # nothing that a nest would use twice
        tell_numpy_computes(
            "inner products, %d of %d elements: a kernel comes once they have come often, but for "
            "many at a time it is no faster",
            *(batch, depth),
        )
        return algebra.contract(a, b)
    if is_packed(algebra):
        form = contract_form(_nearest(a, "bmk"), _nearest(b, "bkn"))
        return _run(kernel_for(form, algebra, products), a, b, algebra, out)
    if columns < _FEW <= rows and a.strides[1] == a.itemsize:
        return _contract(b.transpose(0, 2, 1), a.transpose(0, 2, 1), algebra, None).transpose(
            0, 2, 1
        )
    few = min(rows, columns) < _FEW and not b.strides[2] == b.itemsize <= columns
    if few and depth >= LANES * max(4, min(rows, columns)):
        return _inner(a, b, algebra, products)
    return _run(kernel_for(CONTRACT, algebra, products), a, b, algebra, out)


def _nearest(array: Array, labels: str) -> str:
    """Return the label along which an array has unit stride; nothing if absent."""
    units = [
        label
        for label, size, stride in zip(labels, array.shape, array.strides, strict=True)
        if stride == array.itemsize and size > 1
    ]
    return units[-1] if units else ""


def _run(
    kernel: Callable[..., object] | None, a: Array, b: Array, algebra: Algebra, out: Array | None
) -> Array:
    if kernel is None:
        return algebra.contract(a, b)
    shape = a.shape[0], a.shape[1], b.shape[2]
    result = memory.empty(shape, algebra.dtype) if out is None else out.reshape(shape)
    kernel(a, b, result)
    return result


def _inner(a: Array, b: Array, algebra: Algebra, products: int) -> Array:
    """Return the same for a long contracted dimension and few rows or columns."""
    kernel = kernel_for(INNER, algebra, products)
    if kernel is None:
        return algebra.contract(a, b)
    batch, rows, depth = a.shape
    columns = b.shape[2]
    blocks = depth // LANES
    whole = blocks * LANES
    left = a[:, :, :whole].reshape(batch, rows, blocks, LANES)
    right = b.transpose(0, 2, 1)[:, :, :whole].reshape(batch, columns, blocks, LANES)
    partial = empty((batch, rows, columns, LANES), algebra.dtype)
    kernel(left, right, partial)
    result = algebra.reduce(partial, (3,))
    if whole == depth:
        return result
    return np.asarray(algebra.add(result, algebra.contract(a[:, :, whole:], b[:, whole:])))
