"""Arrays that a traced function makes by itself: numbers, until a traced value is written there.

acc = np.zeros(3)       # a `Known`: NumPy computes with it while the function is traced
acc[0] = x.sum()        # from here on it is a traced value, under each of its names
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial, wraps
from typing import Any, cast

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.runtime.dtypes import by_dtype
from linalg_ext.tracing.functions import creation
from linalg_ext.tracing.patching import Place, Replacements, is_call_of, package_of
from linalg_ext.tracing.values.containers import leaves_of, mapped
from linalg_ext.tracing.values.conversion import as_traced, cast_to, common_dtype, holds_traced
from linalg_ext.tracing.values.sizes import Size
from linalg_ext.tracing.values.trace import running
from linalg_ext.tracing.values.traced import Traced, View, xp
from linalg_ext.tracing.values.unsupported import refuse
from linalg_ext.utils import hooks

_UNWRITABLE = (
    "a view of an array that was made inside is written in place",
    "write into the array itself, x[...] = v",
)
_COMPUTING = ("numpy", "scipy", "linalg_ext", "jax", "jaxlib", "torch")
"""Packages whose own calls get arrays."""


class Known(Traced):
    """An array that is made while a function is traced, whose numbers are known so far.

    NumPy computes with it; it is a constant where it meets traced values. The first of these that
    is written into it makes it, and its views, `Traced`.
    """

    def __init__(self, host: Any, base: Known | None = None, view: View | None = None) -> None:
        super().__init__(cast(ir.Value, None), host.dtype, host.shape)
        self.host = host
        self.is_array = True
        if base is not None and view is not None:
            self.shows(base, view)

    @property
    def tensor(self) -> ir.Value:
        """Return a constant of its numbers."""
        return as_traced(self.host).tensor

    def become(self, other: Traced) -> Traced:
        """Take a value: a traced one from now on."""
        self.check_writable()
        array: Traced = self
        while array.base is not None:
            array = array.base
        array._take(array)
        return self.become(other)  # no Known any more

    def _take(self, other: Traced) -> None:
        value = as_traced(self.host) if other is self else other
        self.is_in_rows = self.host.flags.c_contiguous
        del self.host
        self.__class__ = Traced  # type: ignore[assignment]
        self._take(value)

    def _take_from(self, base: Traced) -> None:
        if self.base_view is not None and self.base_view.read is not None:
            part = self.base_view.read(base)
            self.base_view = part.base_view or View(self.base_view.read, None, _UNWRITABLE)
            self._take(part)

    def _in_place(self, ufunc: Any, other: Any) -> Traced:
        self.check_writable()
        if not is_known(other):
            return super()._in_place(ufunc, other)
        ufunc(self.host, revealed(other), out=self.host)
        return self

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.host, dtype)

    def __iter__(self) -> Iterator[Any]:
        return iter([self[place] for place in range(len(self.host))])

    def sort(self, axis: int = -1, **options: Any) -> None:
        """`numpy.ndarray.sort`."""
        self.check_writable()
        self.host.sort(axis, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "host":
            raise AttributeError(name)
        return getattr(self.host, name)

    def __repr__(self) -> str:
        return repr(self.host)


def _of_host(name: str) -> Any:
    return lambda self, *arguments: getattr(self.host, name)(*arguments)


for _name in (
    *("__bool__", "__float__", "__int__", "__index__", "__complex__", "__contains__"),
    *("item", "tolist"),
):
    setattr(Known, _name, _of_host(_name))


_TO_REVEAL = (Known, tuple, list, dict)


def is_traced(value: Any) -> bool:
    """Return True for a value, or a size, whose numbers are not known while it is traced."""
    return isinstance(value, Traced | Size) and not isinstance(value, Known)


def is_known(*values: Any) -> bool:
    """Return True where nothing in containers is traced."""
    first = values[0]
    if isinstance(first, tuple) and Traced in map(type, first):
        return False  # most calls, told at once
    return not any(map(is_traced, leaves_of(values)))


def revealed(values: Any) -> Any:
    """Return containers with NumPy's arrays in the place of those that are known."""
    if isinstance(values, tuple | dict):
        direct = values.values() if isinstance(values, dict) else values
        if not any(isinstance(value, _TO_REVEAL) for value in direct):
            return values
    return mapped(lambda leaf: leaf.host if isinstance(leaf, Known) else leaf, values)


def computed(
    function: Callable[..., Any], arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> Any:
    """Call a function of NumPy's on arrays that are known.

    Returns:
        Its result, in which arrays are `Known`; those that share memory with an argument are views.
    """
    result = function(*revealed(tuple(arguments)), **revealed(dict(keywords)))
    owned = [leaf for leaf in leaves_of([arguments, keywords]) if isinstance(leaf, Known)]

    def repeated(number: int, at: int, base: Traced) -> Traced:
        positional = (*arguments[:at], base, *arguments[at + 1 :])
        return cast(Traced, leaves_of(function(*positional, **keywords))[number])

    def shown(number: int, leaf: Any) -> Any:
        if type(leaf) is not np.ndarray:
            return leaf
        for base in owned:
            if leaf is base.host:
                return base
        for at, base in enumerate(arguments):
            if isinstance(base, Known) and np.may_share_memory(leaf, base.host):
                return Known(leaf, base, View(partial(repeated, number, at), None))
        return wrapped(leaf)

    numbered = iter(enumerate(leaves_of(result)))
    return mapped(lambda _: shown(*next(numbered)), result)


def wrapped(value: Any) -> Any:
    """Return an array of NumPy's as a `Known`, where its dtype can be traced."""
    if type(value) is not np.ndarray:
        return value
    try:
        by_dtype(value.dtype)
    except TypeError:
        return value
    return Known(value)


def _array(value: Any, dtype: Any = None, **options: Any) -> Traced:
    array = as_traced(value)
    array = cast_to(array, array.dtype if dtype is None else dtype).apart()
    array.is_array = True
    for _ in range(options.get("ndmin", 0) - array.ndim):
        array = array[None].apart()
    return array


def _as_array(value: Any, dtype: Any = None, **options: Any) -> Traced:
    if isinstance(value, Traced) and value.is_array and not options.get("copy"):
        return cast_to(value, value.dtype if dtype is None else dtype)
    return _array(value, dtype)


def _in_rows(value: Any, dtype: Any = None, **_: Any) -> Traced:
    array = _as_array(value, dtype)
    if not array.ndim:
        return array[None].apart()
    return array if array.is_in_rows else array.copy()


_OF_SIZES: Mapping[str, Callable[..., Traced]] = {
    **{name: getattr(creation, name) for name in ("zeros", "ones", "full", "arange", "eye", "tri")},
    "empty": creation.zeros,
    "identity": lambda n, dtype=float, **_: creation.eye(n, dtype=dtype),
    "array": _array,
    "asarray": _as_array,
    "asanyarray": _as_array,
    "asfortranarray": _as_array,
    "ascontiguousarray": _in_rows,
}
"""Functions that do not dispatch on their arguments: their records of traced values and open
sizes.
"""

_OTHERS = ("zeros_like", "ones_like", "empty_like", "full_like", "copy", "linspace")

MAKERS = (*_OF_SIZES, *_OTHERS)
"""NumPy's functions that make arrays, which are replaced while a function is traced."""


@lru_cache(maxsize=64)  # the replacements of one trace serve the next
def _replacement(original: Any) -> Any:
    """Return a function of NumPy's that makes an array, for the time of a trace."""
    recorded = _OF_SIZES.get(original.__name__)

    @wraps(original)
    def make(*arguments: Any, **keywords: Any) -> Any:
        frame = sys._getframe(1)
        if (
            running() is None
            or package_of(frame) in _COMPUTING
            or not is_call_of(frame, original.__name__)
        ):
            return original(*arguments, **keywords)
        if not is_known(arguments, keywords):
            if recorded is None:
                return original(*arguments, **keywords)
            kept_keywords = {
                k: v for k, v in keywords.items() if k not in ("order", "like", "device")
            }
            return hooks.facade("tracing").on_made(recorded, arguments, kept_keywords)
        first = arguments[0] if arguments else None
        if original.__name__.startswith("as") and isinstance(first, Known):
            return computed(original, arguments, keywords)
        result = original(*revealed(arguments), **revealed(keywords))
        return result if result is first else wrapped(result)

    return make


@lru_cache(maxsize=4)
def _joining(original: Any) -> Any:
    """Return `numpy.concatenate` for the time of a trace: NumPy's takes one array apart first."""

    @wraps(original)
    def concatenate(arrays: Any, *arguments: Any, **keywords: Any) -> Any:
        if not isinstance(arrays, Traced):
            return original(arrays, *arguments, **keywords)
        return hooks.facade("tracing").on_function(original, (arrays, *arguments), keywords)

    return concatenate


@lru_cache(maxsize=64)
def _of_list(original: Any) -> Any:
    """Return a function of NumPy's for the time of a trace: NumPy asks no list about its items."""

    def array(value: Any) -> Any:
        return as_traced(value) if holds_traced(value) else value

    @wraps(original)
    def called(*arguments: Any, **keywords: Any) -> Any:
        return original(*map(array, arguments), **{k: array(v) for k, v in keywords.items()})

    return called


_OF_LISTS = (
    "all any argmax argmin argsort average cumprod cumsum diff max mean median min nanmax nanmean "
    "nanmedian nanmin nanstd nansum nanvar prod ptp sort std sum var"
)
"""Functions that are called on lists of numbers: `np.max([x.max(), y.max()])`."""


def _places() -> Iterator[Place]:
    for name in MAKERS:
        yield np, name, _replacement
    for name in _OF_LISTS.split():
        yield np, name, _of_list
    yield np.linalg, "norm", _of_list
    yield np, "concatenate", _joining
    yield np, "r_", lambda original: Joiner(original, 0, 1, -1)
    yield np, "c_", lambda original: Joiner(original, -1, 2, 0)


making = Replacements(_places).in_place
"""Have NumPy's functions that make arrays make `Known` ones, in the block under `with`."""


class Joiner:
    """`np.r_` or `np.c_` while a function is traced.

    Attributes:
        original: NumPy's.
        axis, ndmin, first: along which axis parts are joined, the rank that they have at least,
            and where the axes of a part of a smaller rank come, as in a directive.
    """

    def __init__(self, original: Any, axis: int, ndmin: int, first: int) -> None:
        self.original = original
        self.axis, self.ndmin, self.first = axis, ndmin, first

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if not any(isinstance(part, Traced) for part in parts):
            return self.original[key]
        axis, ndmin, first = self.axis, self.ndmin, self.first
        if isinstance(parts[0], str):
            directive = parts[0].split(",")
            if not all(number.strip().lstrip("-").isdecimal() for number in directive):
                refuse(f"np.r_[{parts[0]!r}, ...], a matrix", "leave the letter out")
            numbers = [*map(int, directive), *(ndmin, first)[len(directive) - 1 :]]
            axis, ndmin, first = numbers[:3]
            parts = parts[1:]
        values = [np.r_[part] if isinstance(part, slice) else part for part in parts]
        dtype = common_dtype("r_", values)
        return xp.concatenate(
            [_widened(cast_to(as_traced(value), dtype), ndmin, first) for value in values], axis
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)


def _widened(value: Traced, rank: int, first: int) -> Traced:
    """Return a value with axes of size 1 in front, its own ones brought to a place."""
    missing = rank - value.ndim
    if missing <= 0:
        return value
    wide = xp.expand_dims(value, tuple(range(missing)))
    if first == -1 or not value.ndim:
        return wide
    start = first if first >= 0 else first + missing + 1
    order = list(range(rank))
    return xp.transpose(wide, order[:start] + order[missing:] + order[start:missing])
