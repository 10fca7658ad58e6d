"""Partial results combined, a few at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np

from linalg_ext.definition.functions import Function
from linalg_ext.definition.numpy_functions import apply_function
from linalg_ext.frameworks.dask.operands import AnyArray, Array, empty_meta

_IN_PLACE = {
    "add": np.add,
    "mul": np.multiply,
    "max_signed": np.maximum,
    "min_signed": np.minimum,
}


@dataclass(frozen=True)
class Combine:
    """Arrays combined by a function, from left to right.

    Attributes:
        function: an associative one.
    """

    function: Function

    def __call__(self, *arrays: Array) -> Array:
        """The arrays, of one shape and dtype, combined."""
        first, *others = arrays
        if not others:
            return first
        # The operands may be another task's too: only what is made here is written to.
        total = apply_function(self.function, (first, others[0]))
        in_place = _IN_PLACE.get(self.function.name)
        with np.errstate(all="ignore"):
            for array in others[1:]:
                if in_place is not None and total.ndim:
                    in_place(total, array, out=total)
                else:
                    total = apply_function(self.function, (total, array))
        return total


@dataclass(frozen=True)
class _Node:
    """One node of a tree, as `dask.array.reduction` calls it: on nested lists of blocks."""

    combine: Combine

    def __call__(self, blocks: Any, axis: tuple[int, ...], keepdims: bool) -> Array:
        total = self.combine(*_flat(blocks))
        return total if keepdims else total.reshape(np.delete(total.shape, axis))


def combined(partial: AnyArray, axes: tuple[int, ...], function: Function, name: str) -> AnyArray:
    """Partial results along some axes, combined into one; the axes are gone.

    Args:
        partial: the results; a block has one along each of the axes.
        axes: which.
        function: combines them.
        name: what the tasks are called.
    """
    node = _Node(Combine(function))
    return da.reduction(
        partial,
        chunk=_as_it_is,
        combine=node,
        aggregate=node,
        axis=axes,
        concatenate=False,
        dtype=partial.dtype,
        meta=empty_meta(partial.ndim - len(axes), partial.dtype),
        name=f"{name}-{function.name}",
    )


def _as_it_is(block: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    return block


def _flat(blocks: Any) -> Iterator[Array]:
    if isinstance(blocks, list):
        for block in blocks:
            yield from _flat(block)
    else:
        yield blocks
