"""The order in memory of the result of an einsum, by NumPy's `order=`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from linalg_ext.compiler.einsum.algebra import Array
from linalg_ext.errors import ArgumentError, ArgumentTypeError
from linalg_ext.notations.einsum import Contraction

ORDERS = "CFAK"


def check_order(order: object) -> str:
    """`order=` as one capital letter."""
    if not isinstance(order, str):
        raise ArgumentTypeError(f"einsum: order={order!r}", expected=_CHOICES)
    if len(order) != 1 or order.upper() not in ORDERS:
        raise ArgumentError(f"einsum: order={order!r}", expected=_CHOICES)
    return order.upper()


def turned(
    contraction: Contraction, order: str, operands: Sequence[Array], out: Array | None
) -> tuple[Contraction, list[int]]:
    """A contraction whose result, row by row, lies as it is wanted; and the axes of that result.

    Args:
        contraction: the contraction to compute.
        order: of a new result.
        operands: of the contraction.
        out: where the result is wanted, if that was said.
    """
    axes = list(range(len(contraction.output)))
    if len(axes) > 1:
        if out is None:
            axes = _axes(len(axes), order, contraction, operands)
        elif not out.flags.c_contiguous:
            nearest = sorted(axes, key=lambda axis: -abs(out.strides[axis]))
            axes = nearest if out.transpose(nearest).flags.c_contiguous else axes
    output = tuple(contraction.output[axis] for axis in axes)
    return replace(contraction, output=output), axes


def arranged(
    result: Array, order: str, contraction: Contraction, operands: Sequence[Array]
) -> Array:
    """The result in the order that was asked for: itself where it lies so."""
    if result.ndim < 2:
        return result if result.flags.c_contiguous else np.ascontiguousarray(result)
    axes = _axes(result.ndim, order, contraction, operands)
    if result.transpose(axes).flags.c_contiguous:
        return result
    ordered = np.ascontiguousarray(result.transpose(axes))
    return ordered.transpose(np.argsort(axes))


def _axes(rank: int, order: str, contraction: Contraction, operands: Sequence[Array]) -> list[int]:
    """The axes of the result from the slowest to the fastest."""
    axes = list(range(rank))
    if order == "A":
        fortran = all(operand.flags.f_contiguous for operand in operands)
        contiguous = all(operand.flags.c_contiguous for operand in operands)
        order = "F" if fortran and not contiguous else "C"
    if order == "F":
        return axes[::-1]
    return axes if order == "C" else _closest(contraction, operands)


def _closest(contraction: Contraction, operands: Sequence[Array]) -> list[int]:
    """As close to the operands as can be: what `numpy.nditer` finds for `order="K"`.

    An insertion sort by strides, from the fastest axis up; an axis moves before another where no
    operand wants it otherwise.
    """
    strides = [
        {
            label: abs(stride)
            for label, stride, size in zip(labels, operand.strides, operand.shape, strict=True)
            if size != 1
        }
        for labels, operand in zip(contraction.inputs, operands, strict=True)
    ]
    labels = contraction.output
    ordered: list[int] = []  # from the fastest to the slowest
    for axis in reversed(range(len(labels))):
        place = len(ordered)
        for earlier in reversed(range(len(ordered))):
            faster = _is_faster(labels[axis], labels[ordered[earlier]], strides)
            if faster is False:
                break
            if faster:
                place = earlier
        ordered.insert(place, axis)
    return ordered[::-1]


def _is_faster(label: str, other: str, strides: Sequence[dict[str, int]]) -> bool | None:
    """Return whether the first axis has the smaller stride in every operand that has both.

    The result is None where no operand has both.
    """
    both = [(own[label], own[other]) for own in strides if own.get(label) and own.get(other)]
    return all(one < two for one, two in both) if both else None


_CHOICES = "'C', 'F', 'A' or 'K'"
