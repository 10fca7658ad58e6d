"""Traced values: what a function under `jit` gets in the place of arrays.

Operators and methods are those of NumPy's arrays, and all of them are NumPy's own functions, which
come back here: a ufunc to `__array_ufunc__`, another function to `__array_function__`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.bindings import tensor as tensor_dialect
from linalg_ext.runtime.dtypes import DType
from linalg_ext.tracing.methods import ArrayMethods
from linalg_ext.tracing.reshaping import reshaped_tensor
from linalg_ext.tracing.sizes import AnySize, Size
from linalg_ext.tracing.trace import Trace, at_users_line, running, static_sizes
from linalg_ext.tracing.unsupported import refuse

Shape = tuple[AnySize, ...]


@dataclass(frozen=True, slots=True)
class Number:
    """A number that is known while the function is traced, and the dtype that it is to be of."""

    value: complex
    dtype: DType


class Traced(ArrayMethods):
    """An array of the traced function: a tensor in the IR that is being built.

    A transpose, an axis of size 1 more or less and a broadcast are not recorded by themselves: the
    value remembers how it reads its tensor, and the op that uses it reads it so.

    Attributes:
        dtype: its dtype, which knows whether integers are unsigned.
        shape: the sizes: integers, or a `Size` where only a call tells.
        axes: for each axis the dimension of the tensor that it runs along, None where there is
            none: of size 1, or a broadcast one.
        weak: for a Python number that is an argument, its type: it takes the dtype of what it
            meets.
    """

    __linalg_ext_traced__ = True
    __array_priority__ = 1000

    def __init__(
        self,
        tensor: ir.Value,
        dtype: DType,
        shape: Shape | None = None,
        axes: Sequence[int | None] | None = None,
        *,
        weak: type | None = None,
        base: Traced | None = None,
    ) -> None:
        if shape is None:
            kind = ir.ShapedType(tensor.type)
            shape = tuple(kind.get_dim_size(axis) for axis in range(kind.rank))
        self._tensor = tensor
        self._trace = running()
        self._region = self._trace.regions[-1] if self._trace is not None else 0
        self._shape = shape
        self.dtype = dtype
        self.axes = tuple(range(len(shape))) if axes is None else tuple(axes)
        self.weak = weak
        self._changes = 0
        # Of a view, the array that it shows, and the state in which it was taken.
        self._base: Traced | None = base if base is None or base._base is None else base._base
        self._seen = self._base._changes if self._base is not None else 0

    @property
    def shape(self) -> Shape:
        """The sizes."""
        trace = self._trace
        if trace is None or not trace.known:
            return self._shape
        return tuple(trace.resolved(size) for size in self._shape)

    @property
    def tensor(self) -> ir.Value:
        """The tensor that it reads, by `axes`; see `value`."""
        _check(self)
        trace = self._trace
        return self._tensor if trace is None or not trace.known else self._resolved_tensor()

    def _resolved_tensor(self) -> ir.Value:
        """The tensor by a type that says the sizes that turned out since it was made."""
        kind = ir.RankedTensorType(self._tensor.type)
        sizes = [kind.get_dim_size(dim) for dim in range(kind.rank)]
        for dim, size in zip(self.axes, static_sizes(self.shape), strict=True):
            if dim is not None and kind.is_dynamic_dim(dim):
                sizes[dim] = size
        wanted = ir.RankedTensorType.get(sizes, kind.element_type)
        if wanted == kind:
            return self._tensor
        with at_users_line():
            result: ir.Value = tensor_dialect.CastOp(wanted, self._tensor).result
        return result

    @property
    def value(self) -> ir.Value:
        """A tensor of its shape, while the function that it belongs to is traced.

        Raises:
            TraceError: that trace is over, or not the one that runs; the tensor may be gone.
        """
        tensor = self.tensor
        kept = [dim for dim in self.axes if dim is not None]
        shape = self.shape
        is_stretched = any(
            dim is None and (isinstance(size, Size) or size != 1)
            for dim, size in zip(self.axes, shape, strict=True)
        )
        if is_stretched or kept != sorted(kept):
            from linalg_ext.tracing.emission import copied

            return copied(self)._tensor
        rank = ir.ShapedType(tensor.type).rank
        if len(kept) == rank == len(shape):
            return tensor
        own: list[AnySize] = [1] * rank
        for dim, size in zip(self.axes, shape, strict=True):
            if dim is not None:
                own[dim] = size
        return reshaped_tensor(tensor, tuple(own), shape)

    def become(self, other: Traced) -> Traced:
        """Take the value of another, as an array does that is written in place."""
        if self._base is not None:
            refuse(
                "a view of another array cannot be written in place while a function is traced",
                "write x = x + 1 for x += 1, or use x.at[...].set(...) of the array itself",
            )
        if self._region != other._region:
            refuse(
                "an array of outside is written in place in the body of a loop or of a branch",
                "carry it along as a part of the state, and write x = x + 1 for x += 1",
            )
        self._tensor, self._shape, self.axes = other._tensor, other._shape, other.axes
        self.dtype = other.dtype
        self.weak = None
        self._changes += 1
        return self

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        """Record one of NumPy's ufuncs."""
        from linalg_ext.tracing.ufuncs import record_ufunc

        return record_ufunc(ufunc, method, inputs, keywords)

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        """Record one of NumPy's other functions."""
        from linalg_ext.tracing.numpy_functions import record_function

        return record_function(function, arguments, keywords)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The namespace of the array API's functions, on traced values."""
        from linalg_ext.tracing import array_api

        return array_api

    def __repr__(self) -> str:
        return f"Traced({self.dtype}[{', '.join(map(str, self.shape))}])"


def current_trace(values: Iterable[Any] = ()) -> Trace:
    """The trace that runs; traced values of another are refused."""
    trace = running()
    for value in values:
        if isinstance(value, Traced):
            _check(value)
    if trace is None:
        refuse("nothing is traced here", "call it inside a function under lx.jit")
    return trace


def _check(value: Traced) -> None:
    """Refuse a value of another trace than the one that runs: its tensor may be gone."""
    if value._trace is None or value._trace is not running():
        refuse(
            f"{value!r} belongs to another trace, which is over or runs around this one",
            "return it from the function that made it, or pass it in as an argument",
        )
    if value._region not in value._trace.regions:
        refuse(
            f"{value!r} was made in the body of a loop or of a branch, which is over",
            "return it from the body",
        )
    if value._base is not None and value._base._changes != value._seen:
        refuse(
            "a view is used after its array was written in place",
            "take the view after the write, or write x = x + 1 for x += 1",
        )


class _NumPyOnTraced(Protocol):
    """NumPy, as it answers where a traced value is among the arguments."""

    def __getattr__(self, name: str) -> Callable[..., Traced]: ...


xp = cast(_NumPyOnTraced, np)
"""NumPy for type checkers: what it gives for traced values is a traced value."""
