"""Operands of a call: dask arrays of known sizes, and arrays in memory."""

from __future__ import annotations

import math
from typing import Any

import dask.array as da
import numpy as np

from linalg_ext.errors import ArgumentTypeError, DTypeError, ShapeError, caller_location
from linalg_ext.executable.arguments import as_array
from linalg_ext.runtime.dtypes import DType, by_dtype
from linalg_ext.runtime.threads import checked
from linalg_ext.utils.hooks import is_dask

Array = np.ndarray[Any, DType]
AnyArray = Any
"""A dask array, or one of NumPy's: dask has no types that a checker could tell apart."""


def known_array(value: Any, name: str) -> AnyArray:
    """An operand as a dask array, or as one of NumPy's where it is here already.

    Args:
        value: what was given.
        name: what errors call it: `matmul: A`.

    Raises:
        ShapeError: the sizes of its chunks are not known.
        ArgumentTypeError: a collection of dask's that is no array.
        ArgumentError: it makes no array, or none of elements that MLIR knows.
    """
    if not is_dask(value):
        return as_array(value, name)
    if not isinstance(value, da.Array):
        raise ArgumentTypeError(
            f"{name} is a {type(value).__name__} of dask's",
            where=caller_location(),
            expected="a dask array",
            hint="of a delayed value: dask.array.from_delayed(value, shape, dtype); of a data "
            "frame: frame.to_dask_array(lengths=True)",
        )
    try:
        by_dtype(value.dtype)
    except DTypeError as error:
        error.what, error.where = f"{name}: {error.what}", caller_location()
        raise
    if any(math.isnan(size) for sizes in value.chunks for size in sizes):
        raise ShapeError(
            f"{name} has chunks of unknown sizes, shape {value.shape}",
            where=caller_location(),
            expected="sizes that are known: what fits together is checked before anything runs",
            hint="x.compute_chunk_sizes() computes them",
        )
    return value


def threads_of_blocks(threads: int | None) -> int:
    """Return the number of threads of a call on a block.

    The default is one, since dask runs several calls at a time.

    Raises:
        ArgumentError: not a number of threads.
    """
    return 1 if threads is None else checked(threads)


def empty_meta(rank: int, dtype: DType) -> Array:
    """Return an empty array from which dask reads the kind, the rank and the dtype of a result."""
    return np.empty((0,) * rank, dtype)
