"""Specs: shape and dtype of an argument, without an array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linalg_ext.errors import ArgumentError, DTypeError, caller_location
from linalg_ext.runtime.dtypes import DType, by_dtype, dtype_named
from linalg_ext.tracing.values.sizes import AnySize, Size, names_of


@dataclass(frozen=True)
class ShapeDtype:
    """The shape and the dtype of an array that is not there yet.

        lx.jit(f).lower(lx.ShapeDtype((3, 4), np.float32))
        lx.jit(f).lower(lx.ShapeDtype((lx.Dim("n"), 4), "f32"))     # one kernel for every n

    Attributes:
        shape: integers, or sizes made of `lx.Dim`.
        dtype: anything that NumPy takes for one, or MLIR's spelling.

    Raises:
        ArgumentError: a size is neither.
        DTypeError: MLIR has no such element type.
    """

    shape: tuple[AnySize, ...]
    dtype: DType

    def __init__(self, shape: Any, dtype: Any) -> None:
        sizes = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
        for size in sizes:
            is_number = isinstance(size, int | np.integer) and not isinstance(size, bool)
            if not isinstance(size, Size) and not (is_number and size >= 0):
                raise ArgumentError(
                    f"ShapeDtype with the size {size!r}",
                    where=caller_location(),
                    expected="integers of 0 or more, or lx.Dim(name)",
                )
        try:
            known = dtype_named(dtype)
            by_dtype(known)
        except TypeError as error:
            raise DTypeError(
                f"ShapeDtype with dtype {dtype!r}",
                where=caller_location(),
                expected="a dtype that MLIR knows, as np.float32 or 'f32'",
                notes=[str(error).splitlines()[0]],
            ) from None
        object.__setattr__(
            self, "shape", tuple(s if isinstance(s, Size) else int(s) for s in sizes)
        )
        object.__setattr__(self, "dtype", known)

    def __repr__(self) -> str:
        return f"ShapeDtype({self.shape}, {self.dtype})"


@dataclass(frozen=True)
class Argument:
    """The description of one array argument of a trace.

    Attributes:
        shape: the sizes, with symbolic ones among them.
        weak: the Python type of the argument, if it is a plain Python number.
    """

    shape: tuple[AnySize, ...]
    dtype: DType
    weak: type | None = None

    @property
    def names(self) -> frozenset[str]:
        """Return the open dimensions of its shape."""
        return names_of(*self.shape)
