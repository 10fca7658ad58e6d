"""Random numbers and clocks while a function is recorded: refused, for the kernel would keep them.

What a function draws while it is recorded is a constant of its kernel, the same at every call.
Functions of `numpy.random`, `random` and `time` say so in place of an answer, in the thread that
records and there alone; of generators that the function refers to, the state must stay as it is.
"""

from __future__ import annotations

import datetime
import functools
import pickle
import random
import sys
import sysconfig
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from linalg_ext.errors import SourceLocation, TraceError, caller_location
from linalg_ext.tracing.patching import Place, Replacements, package_of
from linalg_ext.tracing.trace import running

_CLOCKS = ("time", "perf_counter", "monotonic", "process_time", "thread_time")
_STANDARD = sysconfig.get_path("stdlib")
_TIMING = frozenset({"jax", "jaxlib", "linalg_ext", "torch"})
"""Packages that take the time of their own work."""

_MOST = 1000
"""The most objects that are searched for generators."""

_NAMES = tuple(n for each in _CLOCKS for n in (each, f"{each}_ns") if hasattr(time, n))
_BUILTIN_CLOCKS = tuple(getattr(time, name) for name in _NAMES)
_NAMED = (types.ModuleType, type, types.BuiltinFunctionType)
_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)


@contextmanager
def refused(function: Callable[..., Any], where: SourceLocation | None) -> Iterator[None]:
    """Refuse draws of random numbers and of the time while a function is recorded.

    Raises:
        TraceError: the function drew some.
    """
    referred = list(_referred(function))
    before = [(each, _state(each)) for each in referred if isinstance(each, _GENERATORS)]
    # Clocks that were imported by name cannot be replaced: the interpreter says of their calls.
    is_watched = len(before) < len(referred) and sys.getprofile() is None
    with _replaced():
        try:
            if is_watched:
                sys.setprofile(_watch)
            yield
        finally:
            if is_watched:
                sys.setprofile(None)
    for each, state in before:
        if _state(each) != state:
            raise _error(f"a {type(each).__name__} was drawn from", where)


def _error(what: str, where: SourceLocation | None) -> TraceError:
    return TraceError(
        f"{what} while the function was recorded: the kernel would have the same numbers at every "
        "call",
        where=where,
        hint="draw them outside the function, and pass them in as arguments; or by keys: lx.random",
    )


def _places() -> Iterator[Place]:
    """Functions whose answer is another one at every call."""
    found: list[tuple[Any, str]] = [(time, name) for name in _NAMES]
    kinds = {random: random.Random, np.random: np.random.RandomState}
    for module, kind in kinds.items():
        names = [name for name in vars(module) if name[0] != "_"]
        owners = {name: getattr(getattr(module, name), "__self__", None) for name in names}
        found += [(module, name) for name, owner in owners.items() if isinstance(owner, kind)]
    for module, name in [*found, (np.random, "default_rng")]:
        yield module, name, functools.partial(_guarded, shown=f"{module.__name__}.{name}")


_replaced = Replacements(_places).made


def _guarded(original: Any, *, shown: str) -> Any:
    @functools.wraps(original)
    def guarded(*arguments: Any, **keywords: Any) -> Any:
        # A generator with a seed gives the same numbers at every call anyhow.
        seeds = (*arguments, *keywords.values())
        is_seeded = shown.endswith("default_rng") and seeds not in ((), (None,))
        if running() is None or is_seeded or _is_of_python(sys._getframe(1)):
            return original(*arguments, **keywords)
        raise _error(f"{shown} was called", caller_location())

    return guarded


def _is_of_python(frame: types.FrameType) -> bool:
    """Return whether Python's library, a framework or this library calls: for a log, say."""
    file = frame.f_code.co_filename
    is_standard = file.startswith(_STANDARD) and "site-packages" not in file
    return is_standard or file.startswith("<frozen") or package_of(frame) in _TIMING


def _watch(frame: types.FrameType, event: str, called: Any) -> None:
    """Refuse a call of a clock, as `sys.setprofile` hears of it."""
    if event != "c_call" or _is_of_python(frame):
        return
    if called in _BUILTIN_CLOCKS or called in (datetime.datetime.now, datetime.datetime.utcnow):
        raise _error(f"{called.__module__ or 'datetime'}.{called.__name__} was called", _at(frame))


def _at(frame: types.FrameType) -> SourceLocation:
    return SourceLocation(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def _referred(function: Any) -> Iterator[Any]:
    """The generators and clocks that a function refers to: by closures, globals, attributes."""
    seen: set[int] = set()
    left = [(function, 0)]
    while left and len(seen) < _MOST:
        value, depth = left.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, _NAMED):
            if value in (datetime, datetime.datetime, *_BUILTIN_CLOCKS):
                yield value
                continue
            if isinstance(value, types.ModuleType | type):
                continue
        if isinstance(value, _GENERATORS):
            yield value
            continue
        left += [(each, depth) for each in _reached(value)]
        if depth < 2:
            left += [(each, depth + 1) for each in _parts(value)]


def _reached(value: Any) -> list[Any]:
    """The objects that a function may use when it is called."""
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, types.MethodType | types.BuiltinMethodType):
        return [getattr(value, "__func__", None), value.__self__]
    if not isinstance(value, types.FunctionType):
        return [_attributes(value).get("__wrapped__"), vars(type(value)).get("__call__")]
    cells = [cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell)]
    names = [name for code in _codes(value.__code__) for name in code.co_names]
    own = value.__globals__
    return [*cells, *(own[name] for name in names if name in own), *(value.__defaults__ or ())]


def _parts(value: Any) -> list[Any]:
    """The attributes of an object, the elements of a container."""
    if isinstance(value, list | tuple):
        return list(value[:100])
    return list((value if isinstance(value, dict) else _attributes(value)).values())[:100]


def _attributes(value: Any) -> dict[Any, Any]:
    """The attributes that an object has by itself."""
    found = getattr(value, "__dict__", None)
    return found if isinstance(found, dict) else {}


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _state(generator: Any) -> bytes:
    if isinstance(generator, np.random.Generator):
        return pickle.dumps(generator.bit_generator.state)
    state = generator.getstate if isinstance(generator, random.Random) else generator.get_state
    return pickle.dumps(state())
