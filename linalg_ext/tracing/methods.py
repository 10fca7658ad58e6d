"""The operators and methods of traced values: NumPy's functions, by the names of its arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from linalg_ext.errors import DTypeError, ShapeError, caller_location
from linalg_ext.tracing.unsupported import Unrecorded, refuse

if TYPE_CHECKING:
    from linalg_ext.tracing.traced import Traced, xp
    from linalg_ext.tracing.updates import At
else:
    xp = np


MOST_PARTS = 64
"""So many parts of a value may be recorded one by one without being asked for by number."""


class ArrayMethods(NDArrayOperatorsMixin, Unrecorded):
    """What a traced value can do, in terms of NumPy's functions."""

    shape: Any
    dtype: Any

    if TYPE_CHECKING:  # what the mixin's operators give; its own stubs do not say

        def __add__(self, other: Any) -> Traced: ...
        def __radd__(self, other: Any) -> Traced: ...
        def __sub__(self, other: Any) -> Traced: ...
        def __rsub__(self, other: Any) -> Traced: ...
        def __mul__(self, other: Any) -> Traced: ...
        def __rmul__(self, other: Any) -> Traced: ...
        def __truediv__(self, other: Any) -> Traced: ...
        def __rtruediv__(self, other: Any) -> Traced: ...
        def __floordiv__(self, other: Any) -> Traced: ...
        def __rfloordiv__(self, other: Any) -> Traced: ...
        def __mod__(self, other: Any) -> Traced: ...
        def __rmod__(self, other: Any) -> Traced: ...
        def __pow__(self, other: Any) -> Traced: ...
        def __rpow__(self, other: Any) -> Traced: ...
        def __matmul__(self, other: Any) -> Traced: ...
        def __rmatmul__(self, other: Any) -> Traced: ...
        def __and__(self, other: Any) -> Traced: ...
        def __or__(self, other: Any) -> Traced: ...
        def __xor__(self, other: Any) -> Traced: ...
        def __lt__(self, other: Any) -> Traced: ...
        def __le__(self, other: Any) -> Traced: ...
        def __gt__(self, other: Any) -> Traced: ...
        def __ge__(self, other: Any) -> Traced: ...
        def __eq__(self, other: object) -> Traced: ...  # type: ignore[override]
        def __ne__(self, other: object) -> Traced: ...  # type: ignore[override]
        def __neg__(self) -> Traced: ...
        def __invert__(self) -> Traced: ...
        def __abs__(self) -> Traced: ...

    def become(self, other: Any) -> Traced:
        """Take the value of another."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> Any:
        """The number of elements."""
        count = 1
        for size in self.shape:
            count = count * size
        return count

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> Any:
        """Bytes of all elements."""
        return self.size * self.itemsize

    @property
    def T(self) -> Traced:
        """The transpose."""
        return xp.transpose(self)

    @property
    def mT(self) -> Traced:
        """The last two axes exchanged."""
        return xp.matrix_transpose(self)

    @property
    def real(self) -> Traced:
        """The real part."""
        return xp.real(self)

    @property
    def imag(self) -> Traced:
        """The imaginary part."""
        return xp.imag(self)

    @property
    def at(self) -> At:
        """Parts of a new array that is else as this one: `x.at[1:3].set(0)`, `.add`, ..."""
        from linalg_ext.tracing.updates import At

        return At(self)

    def __getitem__(self, index: Any) -> Traced:
        from linalg_ext.tracing.indexing import indexed

        return indexed(cast("Traced", self), index)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a traced value of rank 0")
        return int(self.shape[0].__index__())

    def __iter__(self) -> Iterator[Traced]:
        """The parts along the first axis, each recorded by itself: `a, b, c = x`, `*x`."""
        if not self.shape:
            raise TypeError("iteration over a traced value of rank 0")
        count = self.shape[0]
        if not isinstance(count, int) or count > MOST_PARTS:
            refuse(
                f"iteration over {count} parts of a traced value would record each of them",
                "compute on the whole array, use lx.loop(count, body, state), or index it: "
                "for i in range(x.shape[0]): x[i]",
            )
        return iter([self[place] for place in range(count)])

    def astype(self, dtype: Any, *_: Any, **__: Any) -> Traced:
        """The elements cast; NumPy's keywords about memory mean nothing here."""
        from linalg_ext.tracing.casting import cast_to

        return cast_to(self, dtype)

    def reshape(self, *shape: Any, order: str = "C") -> Traced:
        """The elements in another shape, in row-major order."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        return xp.reshape(self, sizes, order=order)

    def transpose(self, *axes: Any) -> Traced:
        """The axes in another order."""
        order = axes[0] if len(axes) == 1 and not _is_integer(axes[0]) else axes
        return xp.transpose(self, order or None)

    def ravel(self, order: str = "C") -> Traced:
        """The elements in one row."""
        return xp.ravel(self, order=order)

    flatten = ravel

    def swapaxes(self, axis1: int, axis2: int) -> Traced:
        """Two axes exchanged."""
        return xp.swapaxes(self, axis1, axis2)

    def copy(self, order: str = "C") -> Traced:
        """The same values."""
        return xp.copy(self)

    def dot(self, other: Any) -> Traced:
        """`numpy.dot`."""
        return xp.dot(self, other)

    def conj(self) -> Traced:
        """The complex conjugate; a real value itself, as booleans are, of which NumPy's function
        makes integers."""
        return xp.conjugate(self) if self.dtype.kind == "c" else cast("Traced", self)

    conjugate = conj

    def clip(self, min: Any = None, max: Any = None) -> Traced:
        """`numpy.clip`."""
        return xp.clip(self, min, max)

    def sort(self, axis: int = -1, **options: Any) -> None:
        """`numpy.ndarray.sort`: the value becomes the sorted one."""
        from linalg_ext.tracing.axes import normal_axis

        normal_axis(axis, self.ndim, "sort")
        self.become(xp.sort(self, axis, **options))

    def item(self, *_: Any) -> Any:
        """Refused: there is no number yet."""
        refuse(
            "a traced value has no number yet: item() cannot be answered",
            "compute with the value itself: it is an array of rank 0",
        )

    tolist = item

    def __setitem__(self, index: Any, value: Any) -> None:
        refuse(
            "x[...] = v writes into an array, and traced values are not memory",
            "write x = x.at[...].set(v), or np.where(mask, v, x)",
        )

    def __iadd__(self, other: Any) -> Traced:
        return self._in_place(np.add, other)

    def __isub__(self, other: Any) -> Traced:
        return self._in_place(np.subtract, other)

    def __imul__(self, other: Any) -> Traced:
        return self._in_place(np.multiply, other)

    def __itruediv__(self, other: Any) -> Traced:
        return self._in_place(np.true_divide, other)

    def __ifloordiv__(self, other: Any) -> Traced:
        return self._in_place(np.floor_divide, other)

    def __imod__(self, other: Any) -> Traced:
        return self._in_place(np.remainder, other)

    def __ipow__(self, other: Any) -> Traced:
        return self._in_place(np.power, other)

    def __imatmul__(self, other: Any) -> Traced:
        return self._in_place(np.matmul, other)

    def __iand__(self, other: Any) -> Traced:
        return self._in_place(np.bitwise_and, other)

    def __ior__(self, other: Any) -> Traced:
        return self._in_place(np.bitwise_or, other)

    def __ixor__(self, other: Any) -> Traced:
        return self._in_place(np.bitwise_xor, other)

    def __ilshift__(self, other: Any) -> Traced:
        return self._in_place(np.left_shift, other)

    def __irshift__(self, other: Any) -> Traced:
        return self._in_place(np.right_shift, other)

    def _in_place(self, ufunc: Any, other: Any) -> Traced:
        """`x += y`: as NumPy's, of the shape and dtype that x has."""
        result = ufunc(self, other)
        if ufunc is np.matmul and (np.ndim(other) < 2 or result.shape != self.shape):
            raise ShapeError(
                f"matmul in place: a result of shape {result.shape} does not go into an array of "
                f"shape {self.shape}",
                where=caller_location(),
                cure="write x = x @ y",
            )
        if not np.can_cast(result.dtype, self.dtype, "same_kind"):
            raise DTypeError(
                f"{ufunc.__name__} in place: a result of {result.dtype} does not go into an array "
                f"of {self.dtype}",
                where=caller_location(),
                cure="write x = x + y, or cast with .astype(...)",
            )
        return self.become(xp.broadcast_to(result.astype(self.dtype), self.shape))


def _is_integer(value: Any) -> bool:
    return hasattr(value, "__index__")


def _method(name: str, function: Any) -> Any:
    def method(self: Any, *arguments: Any, **keywords: Any) -> Any:
        return function(self, *arguments, **keywords)

    method.__name__ = name
    method.__doc__ = f"`numpy.{function.__name__}`."
    return method


for _name in (
    *("sum", "prod", "mean", "var", "std", "min", "max", "any", "all", "argmin", "argmax"),
    *("argsort", "ptp", "cumsum", "cumprod", "squeeze", "round", "take", "repeat", "diagonal"),
    "trace",
):
    setattr(ArrayMethods, _name, _method(_name, getattr(np, _name)))
