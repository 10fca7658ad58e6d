"""Traced values: the objects that a function under `jit` gets in the place of arrays.

Operators and methods are those of NumPy's arrays, and all of them are NumPy's own functions, which
come back here: a ufunc to `__array_ufunc__`, another function to `__array_function__`.

A value is an array, though a tensor never changes: a write gives the value another tensor, and the
values that show a part of it new ones, too. Names see one array, as in NumPy.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from linalg_ext.bindings import ir
from linalg_ext.errors import DTypeError, ShapeError, caller_location
from linalg_ext.runtime.dtypes import DType
from linalg_ext.tracing.values.axes import normal_axis
from linalg_ext.tracing.values.elements import as_dtype
from linalg_ext.tracing.values.sizes import AnySize, Shape, Size, product_of
from linalg_ext.tracing.values.tensor_ops import as_type, reshaped_tensor, spread
from linalg_ext.tracing.values.trace import Trace, at_users_line, running, static_sizes
from linalg_ext.tracing.values.unsupported import Unrecorded, refuse
from linalg_ext.utils import hooks


@dataclass(frozen=True, slots=True)
class Number:
    """A number that is known while the function is traced, and the dtype that it is to be of."""

    value: complex
    dtype: DType


class _NumPyOnTraced(Protocol):
    """NumPy, as it answers where a traced value is among the arguments."""

    def __getattr__(self, name: str) -> Callable[..., Traced]: ...


xp = cast(_NumPyOnTraced, np)
"""NumPy for type checkers: its results for traced values are traced values."""

MOST_PARTS = 2048
"""The most parts of a value that are recorded one by one without being indexed by number."""


_OWN_POWERS = {
    ("b", int, 2): "square",
    ("c", int, -1): "reciprocal",
    ("c", float, 0.5): "sqrt",
}
"""The ufuncs of `x ** exponent`, by the kind of x and a Python number."""


class ArrayMethods(NDArrayOperatorsMixin, Unrecorded):
    """The methods of a traced value, in terms of NumPy's functions."""

    shape: Any
    dtype: Any
    is_array: bool
    become: Callable[[Any], Traced]

    if TYPE_CHECKING:  # results of the mixin's operators; its own stubs do not say

        def __add__(self, other: Any) -> Traced: ...

        __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __add__
        __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __rpow__ = __add__
        __matmul__ = __rmatmul__ = __and__ = __or__ = __xor__ = __add__
        __lt__ = __le__ = __gt__ = __ge__ = __add__

        def __eq__(self, other: object) -> Traced: ...  # type: ignore[override]
        def __ne__(self, other: object) -> Traced: ...  # type: ignore[override]
        def __neg__(self) -> Traced: ...
        def __invert__(self) -> Traced: ...
        def __abs__(self) -> Traced: ...

    def __pow__(self, exponent: Any) -> Traced:
        """Record `self ** exponent`: as NumPy's operator, some powers by a ufunc of their own.

        These differ from `numpy.power` in the dtype of booleans, and in complex infinities.
        """
        is_number = type(exponent) in (int, float)
        name = _OWN_POWERS.get((self.dtype.kind, type(exponent), exponent)) if is_number else None
        power: Traced = getattr(xp, name)(self) if name else super().__pow__(exponent)
        return power

    @property
    def ndim(self) -> int:
        """Return the number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> Any:
        """Return the number of elements."""
        return product_of(self.shape)

    @property
    def itemsize(self) -> int:
        """Return the bytes of an element."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> Any:
        """Return the bytes of all elements."""
        return self.size * self.itemsize

    @property
    def T(self) -> Traced:
        """Return the transpose."""
        return xp.transpose(self)

    @property
    def mT(self) -> Traced:
        """Return the last two axes exchanged."""
        return xp.matrix_transpose(self)

    @property
    def real(self) -> Traced:
        """Return the real part."""
        return xp.real(self)

    @property
    def imag(self) -> Traced:
        """Return the imaginary part."""
        return xp.imag(self)

    @property
    def flat(self) -> Flat:
        """Return the elements in a row: `x.flat[3]`, `x.flat[::2] = 0`, `for each in x.flat`."""
        return Flat(self)

    @property
    def at(self) -> At:
        """Parts of a new array that is else as this one: `x.at[1:3].set(0)`, `.add`, ..."""
        return At(self)

    def __getitem__(self, index: Any) -> Traced:
        part: Traced = hooks.facade("tracing").on_part(self, index)
        return part

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a traced value of rank 0")
        return operator.index(self.shape[0])

    def __iter__(self) -> Iterator[Traced]:
        """Return the parts along the first axis, each recorded by itself: `a, b, c = x`, `*x`."""
        if not self.shape:
            raise TypeError("iteration over a traced value of rank 0")
        count = len(self)
        if count > MOST_PARTS:
            refuse(
                f"iteration over {count} parts of a traced value would record each of them",
                "compute on the whole array, use lx.loop(count, body, state), or index it: "
                "for i in range(x.shape[0]): x[i]",
            )
        return iter([self[place] for place in range(count)])

    def astype(self, dtype: Any, *_: Any, **__: Any) -> Traced:
        """Return the elements cast; NumPy's keywords about memory mean nothing here."""
        value = cast("Traced", self)
        trace, target = current_trace([value]), as_dtype(dtype)
        if target == value.dtype and value.weak is None:
            return value.apart()
        shape = value.shape
        tensor = spread(trace, value.tensor, value.axes, shape, value.dtype, target)
        return Traced(tensor, target, shape)

    def view(self, dtype: Any = None) -> Traced:
        """`numpy.ndarray.view`: the same memory, read as another dtype."""
        result: Traced = hooks.facade("tracing").on_view(self, dtype)
        return result

    def reshape(self, *shape: Any, order: str = "C") -> Traced:
        """Return the elements in another shape, in row-major order."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        return xp.reshape(self, sizes, order=order)

    def transpose(self, *axes: Any) -> Traced:
        """Return the axes in another order."""
        order = axes[0] if len(axes) == 1 and not _is_integer(axes[0]) else axes
        return xp.transpose(self, order or None)

    def flatten(self, order: str = "C") -> Traced:
        """Return a copy of the elements in one row."""
        return xp.ravel(self, order=order).apart()

    def copy(self, order: str = "C") -> Traced:
        """Another array with the same values."""
        array = xp.copy(self)
        array.is_in_rows = order == "C"
        return array

    def conj(self) -> Traced:
        """Return the complex conjugate; a real value itself.

        NumPy's function would make integers of booleans.
        """
        return xp.conjugate(self) if self.dtype.kind == "c" else cast("Traced", self)

    conjugate = conj

    def clip(self, min: Any = None, max: Any = None) -> Traced:
        """`numpy.clip`."""
        return xp.clip(self, min, max)

    def sort(self, axis: int = -1, **options: Any) -> None:
        """`numpy.ndarray.sort`: the value becomes the sorted one."""
        normal_axis(axis, self.ndim, "sort")
        self.become(xp.sort(self, axis, **options))

    def partition(self, kth: Any, axis: int = -1, **options: Any) -> None:
        """`numpy.ndarray.partition`: the value becomes the partitioned one."""
        normal_axis(axis, self.ndim, "partition")
        self.become(xp.partition(self, kth, axis, **options))

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """`numpy.ndarray.put`."""
        xp.put(self, indices, values, mode)

    def compress(self, condition: Any, axis: Any = None) -> Traced:
        """`numpy.compress`."""
        return xp.compress(condition, self, axis)

    def item(self, *_: Any) -> Any:
        """Refused: there is no number yet."""
        refuse(
            "a traced value has no number yet: item() cannot be answered",
            "compute with the value itself: it is an array of rank 0",
        )

    tolist = item

    def fill(self, value: Any) -> None:
        """`numpy.ndarray.fill`."""
        self[...] = value

    def __setitem__(self, index: Any, value: Any) -> None:
        hooks.facade("tracing").on_assignment(self, index, value)

    def _in_place(self, ufunc: Any, other: Any) -> Traced:
        """`x += y`: as NumPy's, of the shape and dtype that x has; a scalar becomes another."""
        result: Traced = ufunc(self, other)
        if not self.is_array:
            return result
        if ufunc is np.matmul and (np.ndim(other) < 2 or result.shape != self.shape):
            raise ShapeError(
                f"matmul in place: a result of shape {result.shape} does not go into an array of "
                f"shape {self.shape}",
                where=caller_location(),
                hint="write x = x @ y",
            )
        return self.store(ufunc.__name__, result)

    def store(self, name: str, result: Traced) -> Traced:
        """Take a result of a function, as an array does that is its `out=`.

        Raises:
            DTypeError, ShapeError: it does not fit.
        """
        if not np.can_cast(result.dtype, self.dtype, "same_kind"):
            raise DTypeError(
                f"{name} in place: a result of {result.dtype} does not go into an array of "
                f"{self.dtype}",
                where=caller_location(),
                hint="write x = x + y, or cast with .astype(...)",
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
    *("trace", "argpartition", "searchsorted", "nonzero", "ravel", "swapaxes", "dot"),
):
    setattr(ArrayMethods, _name, _method(_name, getattr(np, _name)))


def _in_place_operator(ufunc: Any) -> Any:
    return lambda self, other: self._in_place(ufunc, other)


for _name, _ufunc in (
    *(("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("truediv", np.true_divide)),
    *(("floordiv", np.floor_divide), ("mod", np.remainder), ("pow", np.power)),
    *(("matmul", np.matmul), ("and", np.bitwise_and), ("or", np.bitwise_or)),
    *(("xor", np.bitwise_xor), ("lshift", np.left_shift), ("rshift", np.right_shift)),
):
    setattr(ArrayMethods, f"__i{_name}__", _in_place_operator(_ufunc))


class Flat:
    """`x.flat`: the elements of an array in row-major order, read and written by index."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __getitem__(self, index: Any) -> Traced:
        return xp.ravel(self._value)[index]

    def __setitem__(self, index: Any, new: Any) -> None:
        changed = xp.ravel(self._value).at[index].set(new)
        self._value[...] = xp.reshape(changed, self._value.shape)

    def __len__(self) -> int:
        return int(self._value.size.__index__())

    def __iter__(self) -> Iterator[Traced]:
        return iter(xp.ravel(self._value))

    def copy(self) -> Traced:
        """Return the elements as an array of one axis."""
        return xp.ravel(self._value).apart()


class At:
    """`x.at`: the parts of an array, by index."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __getitem__(self, index: Any) -> Part:
        return Part(self._value, index)


class Part:
    """`x.at[index]`: one part of an array, and its updates. `x` itself stays as it is."""

    def __init__(self, value: Traced, index: Any) -> None:
        self._value = value
        self._index = index

    def set(self, values: Any) -> Traced:
        """Return the array with other values there, the last one for a place named twice."""
        return self._become(lambda _, new: new, values)

    def add(self, values: Any) -> Traced:
        """Return the array with values added there, once each time that an index names a place."""
        return self._become(np.add, values)

    def multiply(self, values: Any) -> Traced:
        """Return the array multiplied there."""
        return self._become(np.multiply, values)

    def max(self, values: Any) -> Traced:
        """Return the larger of the array and the values there."""
        return self._become(np.maximum, values)

    def min(self, values: Any) -> Traced:
        """Return the smaller of the array and the values there."""
        return self._become(np.minimum, values)

    def get(self) -> Traced:
        """Return the part as it is: `x[index]`."""
        return self._value[self._index]

    def _become(self, combine: Callable[[Any, Any], Any], values: Any) -> Traced:
        array: Traced = hooks.facade("tracing").on_update(self._value, self._index, combine, values)
        return array


@dataclass(frozen=True, slots=True)
class View:
    """A part of an array, which shares memory with it in NumPy.

    Attributes:
        read: makes the part of the array; None where NumPy has a view of some layouts in memory,
            and a copy of others.
        write: makes the array with other values for the part; None if that is refused.
        reason: the error where it is, and its hint.
        index: by which the part was taken.
    """

    read: Callable[[Traced], Traced] | None
    write: Callable[[Traced, Traced], Traced] | None
    reason: tuple[str, str] = ("", "")
    index: Any = None


class Traced(ArrayMethods):
    """An array of the traced function: a tensor in the IR that is being built.

    A transpose, an axis of size 1 more or less and a broadcast are not recorded by themselves: the
    value remembers how it reads its tensor, and the op that uses it reads it so.

    Attributes:
        dtype: its dtype, which knows whether integers are unsigned.
        shape: the sizes: integers, or a `Size` where only a call tells.
        axes: for each axis the dimension of the tensor that it runs along; None for an axis of size
        1 or a broadcast one.
        weak: for a Python number that is an argument, its type: it takes the dtype of the array it
            meets.
        is_array: False for a scalar, which NumPy never writes into: `s += 1` makes another.
        is_argument: True for an array of the caller's.
        is_written: True once it was written in place.
        lost: where its values are not known any more, the error for a use, and its hint.
        is_in_rows: True where NumPy's array would lie in row-major order for sure.
        base, view: of a view, the array of which it shows a part, and the part.
        line: of an integer that is `factor * origin + offset`, these three.
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
        self.is_array = bool(shape)
        self.is_argument = False
        self.is_written = False
        self.lost: tuple[str, str] | None = None
        self.is_in_rows = True
        self.base: Traced | None = None
        self.base_view: View | None = None
        self.line: tuple[Traced, int, int] | None = None
        self._views: list[weakref.ref[Traced]] = []
        self._scalars: dict[tuple[int, ...], Traced] = {}

    @property
    def shape(self) -> Shape:
        """Return the sizes."""
        trace = self._trace
        if trace is None or not trace.known:
            return self._shape
        return tuple(trace.resolved(size) for size in self._shape)

    @property
    def ndim(self) -> int:
        """Return the number of dimensions."""
        return len(self._shape)

    @property
    def tensor(self) -> ir.Value:
        """Return the tensor that it reads, by `axes`; see `value`."""
        _check(self)
        trace = self._trace
        return self._tensor if trace is None or not trace.known else self._resolved_tensor()

    def _resolved_tensor(self) -> ir.Value:
        """Return the tensor by a type that says the sizes that turned out since it was made."""
        kind = ir.RankedTensorType(self._tensor.type)
        sizes = [kind.get_dim_size(dim) for dim in range(kind.rank)]
        for dim, size in zip(self.axes, static_sizes(self.shape), strict=True):
            if dim is not None and kind.is_dynamic_dim(dim):
                sizes[dim] = size
        resolved = ir.RankedTensorType.get(sizes, kind.element_type)
        with at_users_line():
            return as_type(self._tensor, resolved)

    @property
    def value(self) -> ir.Value:
        """Return a tensor of its shape, while the function that it belongs to is traced.

        Raises:
            TraceError: that trace is over, or not the one that runs; the tensor may be gone.
        """
        tensor = self.tensor
        kept_dims = [dim for dim in self.axes if dim is not None]
        shape = self.shape
        is_stretched = any(
            dim is None and (isinstance(size, Size) or size != 1)
            for dim, size in zip(self.axes, shape, strict=True)
        )
        if is_stretched or kept_dims != sorted(kept_dims):
            return spread(current_trace(), tensor, self.axes, shape, self.dtype, self.dtype)
        rank = ir.ShapedType(tensor.type).rank
        if len(kept_dims) == rank == len(shape):
            return tensor
        own: list[AnySize] = [1] * rank
        for dim, size in zip(self.axes, shape, strict=True):
            if dim is not None:
                own[dim] = size
        return reshaped_tensor(tensor, tuple(own), shape)

    def shows(self, base: Traced, view: View) -> Traced:
        """Be a view of another array from now on."""
        self.base, self.base_view = base, view
        base._views = [reference for reference in base._views if reference() is not None]
        base._views.append(weakref.ref(self))
        return self

    def scalar(self, place: tuple[int, ...], make: Callable[[], Traced]) -> Traced:
        """Return the scalar at a place: one value for `x[0]`, however often that is written."""
        _check(self)
        scalar = self._scalars.get(place)
        if scalar is None or self._trace is None or scalar._region not in self._trace.regions:
            scalar = self._scalars[place] = make()
        return scalar

    def apart(self) -> Traced:
        """Return the same values as an array by itself, which shares no memory."""
        return Traced(self.tensor, self.dtype, self.shape, self.axes)

    def become(self, other: Traced) -> Traced:
        """Take the value of another, as an array does that is written in place."""
        self.check_writable()
        _check(other)
        if self.base is None or self.base_view is None:
            self._take(other)
        elif self.base_view.write is None:
            refuse(*self.base_view.reason)
        else:
            self.base.become(self.base_view.write(self.base, other))
        return self

    def check_writable(self) -> None:
        """Refuse a write where NumPy would change an array from outside, or refuses it too.

        Raises:
            TraceError: says why.
        """
        _check(self)
        if self.is_argument:
            refuse(
                "an argument is written in place, which would change the caller's array",
                "take a copy first, x = x.copy(); or make a new array: x = x + 1 for x += 1, "
                "x = x.at[...].set(v) for x[...] = v",
            )
        if self._trace is not None and self._region != self._trace.regions[-1]:
            refuse(
                "an array of outside is written in place in the body of a loop or of a branch",
                "carry it along as a part of the state, and write x = x + 1 for x += 1",
            )
        if self.base is not None:
            self.base.check_writable()

    def _take(self, other: Traced) -> None:
        # Its sizes may have turned out to be known ones.
        self._tensor, self._shape, self.axes = other.tensor, other.shape, other.axes
        self.is_written = True
        self.weak = None
        self._scalars.clear()
        regions = self._trace.regions if self._trace is not None else ()
        for shown in [reference() for reference in self._views]:
            if shown is not None and shown._region in regions:
                shown._take_from(self)

    def _take_from(self, base: Traced) -> None:
        """Show the new value of the array; not if it is unknown whether this is a view of it."""
        if self.base_view is not None and self.base_view.read is not None:
            self._take(self.base_view.read(base))
        elif self.base_view is not None:
            self.lost = (
                f"{self!r} is used after the array that it was made of was written",
                self.base_view.reason[1],
            )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        """Record one of NumPy's ufuncs."""
        return hooks.facade("tracing").on_ufunc(ufunc, method, inputs, keywords)

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        """Record one of NumPy's other functions."""
        return hooks.facade("tracing").on_function(function, arguments, keywords)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Return the namespace of the array API's functions, on traced values."""
        return hooks.facade("tracing").namespace()

    def __repr__(self) -> str:
        return f"Traced({self.dtype}[{', '.join(map(str, self.shape))}])"


def current_trace(values: Iterable[Any] = ()) -> Trace:
    """Return the trace that runs; traced values of another are refused."""
    trace = running()
    for value in values:
        if isinstance(value, Traced):
            _check(value)
    if trace is None:
        refuse("the call is outside of a traced function", "make it inside a function under lx.jit")
    return trace


def _check(value: Traced) -> None:
    """Refuse a value of another trace than the one that runs: its tensor may be gone."""
    if value.lost is not None:
        refuse(*value.lost)
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
