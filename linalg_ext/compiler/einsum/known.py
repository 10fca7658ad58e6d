"""Calls of einsum that have been made before: straight to their kernel.

Reading the subscripts, finding a path and putting labels on axes takes longer than a product of
small matrices. For the most common call, two arrays and no word about dtypes, what came of it is
kept under the string and the sizes, strides and dtypes of the arrays.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linalg_ext.compiler.einsum.algebra import Array
from linalg_ext.compiler.einsum.specialized import compiled_for
from linalg_ext.compiler.kernel import Kernel
from linalg_ext.compiler.overlap import share_memory
from linalg_ext.notations.einsum import Contraction
from linalg_ext.runtime.dtypes import DType
from linalg_ext.runtime.pool import memory
from linalg_ext.target import override

_MOST_CALLS = 2048


@dataclass(frozen=True, slots=True)
class _Known:
    """What a call comes to.

    Attributes:
        kernel: what computes it.
        shape: of the result.
        dtype: of the result.
        makes_results: whether a result that the call makes lies in memory as the kernel writes it.
    """

    kernel: Kernel
    shape: tuple[int, ...]
    dtype: DType
    makes_results: bool


_calls: OrderedDict[tuple[object, ...], _Known] = OrderedDict()


def repeat(text: object, a: object, b: object, out: Any, threads: int | None = None) -> Any:
    """The result of a call that is known, else None."""
    if type(a) is not np.ndarray or type(b) is not np.ndarray or type(text) is not str:
        return None
    known = _calls.get(_key(text, a, b))
    if known is None or not (a.flags.aligned and b.flags.aligned):
        return None
    if out is None:
        if not known.makes_results:
            return None
        out = memory.empty(known.shape, known.dtype)
    elif not _is_written_as_it_is(out, known, (a, b)):
        return None
    known.kernel(a, b, out, threads=threads)
    return out


def remember(
    text: str, contraction: Contraction, operands: Sequence[Array], out: Array | None, result: Array
) -> None:
    """Keep what a call came to, where one kernel did all of it.

    Args:
        text: the subscripts.
        contraction: what they mean for the operands.
        operands: two arrays.
        out: where the result was wanted, if that was said.
        result: what was computed, in the order in which it was wanted.
    """
    a, b = operands
    if not contraction.shape or any(size == 1 for size in contraction.sizes.values()):
        return
    inputs = tuple(tuple(labels) for labels in contraction.inputs)
    if any(len(set(labels)) < len(labels) for labels in inputs):
        return
    kernel = compiled_for((a, inputs[0]), (b, inputs[1]), tuple(contraction.output))
    if kernel is None:
        return
    key = _key(text, a, b)
    makes_results = out is None and result.flags.c_contiguous
    if key in _calls and (_calls[key].makes_results or not makes_results):
        return
    _calls[key] = _Known(kernel, contraction.shape, a.dtype, makes_results)
    if len(_calls) > _MOST_CALLS:
        _calls.popitem(last=False)


def _key(text: str, a: Array, b: Array) -> tuple[object, ...]:
    return (text, a.shape, a.strides, a.dtype, b.shape, b.strides, b.dtype, override())


def _is_written_as_it_is(out: Any, known: _Known, operands: Sequence[Array]) -> bool:
    if type(out) is not np.ndarray or out.shape != known.shape or out.dtype != known.dtype:
        return False
    flags = out.flags
    if not (flags.c_contiguous and flags.aligned and flags.writeable):
        return False
    return not any(share_memory(out, operand) for operand in operands)
