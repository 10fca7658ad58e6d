"""Functions of modules, replaced while a function is recorded; random numbers and clocks refused.

A number that a function draws while it is recorded is a constant of its kernel, the same at every
call. Functions of `numpy.random`, `random` and `time` say so in place of an answer, in the thread
that records and there alone; of generators that the function refers to, the state must stay as it
is.
"""

from __future__ import annotations

import datetime
import dis
import functools
import gc
import pickle
import random
import sys
import sysconfig
import time
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from linalg_ext.errors import SourceLocation, TraceError, caller_location, kind_of
from linalg_ext.tracing.values.trace import running
from linalg_ext.utils.locks import Lock

Place = tuple[Any, str, Callable[[Any], Any]]
"""A module, a name in it, and the function that makes the replacement of the original."""


class Replacements:
    """Replacements that are in place as long as one thread or several record.

    Other threads see them, too: each asks whether its own thread records.
    """

    def __init__(self, places: Callable[[], Iterable[Place]]) -> None:
        self._places = places
        self._lock = Lock()
        self._recordings = 0
        self._originals: list[tuple[Any, str, Any]] = []

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Replace the functions in the block under `with`."""
        with self._lock:
            self._recordings += 1
            if self._recordings == 1:
                for module, name, replace in self._places():
                    original = getattr(module, name)
                    self._originals.append((module, name, original))
                    setattr(module, name, replace(original))
        try:
            yield
        finally:
            with self._lock:
                self._recordings -= 1
                if not self._recordings:
                    for module, name, original in self._originals:
                        setattr(module, name, original)
                    self._originals.clear()


def package_of(frame: types.FrameType) -> str:
    """Return the name of the top package whose code a frame runs."""
    return str(frame.f_globals.get("__name__", "")).split(".")[0]


def is_call_of(frame: types.FrameType, name: str) -> bool:
    """Return True where Python code in a frame calls an attribute of a name: `np.zeros(3)`.

    Code of C that it calls may call the same function, and has the same frame.
    """
    return _attribute_called(frame.f_code, frame.f_lasti) == name


@lru_cache(maxsize=1024)
def _attribute_called(code: types.CodeType, at: int) -> str | None:
    """Return the attribute that an instruction calls: the longest that begins with the call."""
    call = list(code.co_positions())[at // 2]
    if call[0] is None or call[2] is None:
        return None
    longest: tuple[tuple[int, int], str | None] = ((-1, -1), None)
    for instruction in dis.get_instructions(code):
        place = instruction.positions
        if instruction.opname not in ("LOAD_ATTR", "LOAD_METHOD") or place is None:
            continue
        if (place.lineno, place.col_offset) == (call[0], call[2]):
            end = place.end_lineno or 0, place.end_col_offset or 0
            if longest[0] < end <= (call[1] or 0, call[3] or 0):
                longest = end, instruction.argval
    return longest[1]


_CLOCKS = ("time", "perf_counter", "monotonic", "process_time", "thread_time")
_STANDARD = sysconfig.get_path("stdlib")
_TIMING = frozenset({"jax", "jaxlib", "linalg_ext", "torch"})
"""Packages that take the time of their own work."""

_MOST = 1000
"""The most objects that are searched for generators."""

_NAMES = tuple(n for clock in _CLOCKS for n in (clock, f"{clock}_ns") if hasattr(time, n))
_BUILTIN_CLOCKS = tuple(getattr(time, name) for name in _NAMES)
_CALLED_CLOCKS = (*_BUILTIN_CLOCKS, datetime.datetime.now, datetime.datetime.utcnow)
_NAMED = (types.ModuleType, type, types.BuiltinFunctionType)
_GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)


@contextmanager
def refused(function: Callable[..., Any], where: SourceLocation | None) -> Iterator[None]:
    """Refuse draws of random numbers and of the time while a function is recorded.

    Raises:
        TraceError: the function drew some.
    """
    referred = list(_referred(function))
    before = [
        (generator, _state(generator))
        for generator in referred
        if isinstance(generator, _GENERATORS)
    ]
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
    for drawn_from, state in before:
        if _state(drawn_from) != state:
            raise _error(f"{kind_of(drawn_from)} was drawn from", where)


def _error(event: str, where: SourceLocation | None) -> TraceError:
    return TraceError(
        f"{event} while the function was recorded: the kernel would have the same numbers at every "
        "call",
        where=where,
        hint="draw them outside the function, and pass them in as arguments; or by keys: lx.random",
    )


@functools.cache
def _places() -> tuple[Place, ...]:
    """Return the functions that answer differently at every call."""
    places: list[tuple[Any, str]] = [(time, name) for name in _NAMES]
    kinds = {random: random.Random, np.random: np.random.RandomState}
    for module, kind in kinds.items():
        names = [name for name in vars(module) if name[0] != "_"]
        owners = {name: getattr(getattr(module, name), "__self__", None) for name in names}
        places += [(module, name) for name, owner in owners.items() if isinstance(owner, kind)]
    return tuple(
        (module, name, functools.partial(_guarded, shown=f"{module.__name__}.{name}"))
        for module, name in (*places, (np.random, "default_rng"))
    )


_replaced = Replacements(_places).in_place


@lru_cache(maxsize=256)  # the replacements of one trace serve the next
def _guarded(original: Any, *, shown: str) -> Any:
    @functools.wraps(original)
    def guarded(*arguments: Any, **keywords: Any) -> Any:
        # A generator with a seed gives the same numbers at every call anyhow.
        seeds = (*arguments, *keywords.values())
        is_seeded = shown.endswith("default_rng") and seeds not in ((), (None,))
        caller = sys._getframe(1)
        is_known = running() is None or is_seeded or _is_of_python(caller)
        if is_known or _is_of_collection(caller):
            return original(*arguments, **keywords)
        raise _error(f"{shown} was called", caller_location())

    return guarded


def _is_of_python(frame: types.FrameType) -> bool:
    """Return whether Python's library, a framework or this library calls: for a log, say."""
    file = frame.f_code.co_filename
    is_standard = file.startswith(_STANDARD) and "site-packages" not in file
    return is_standard or file.startswith("<frozen") or package_of(frame) in _TIMING


def _is_of_collection(frame: types.FrameType | None) -> bool:
    """Return whether a garbage collection calls, which may come at any time."""
    hooks = [getattr(hook, "__code__", None) or type(hook).__call__ for hook in gc.callbacks]
    codes = [getattr(hook, "__code__", hook) for hook in hooks]
    while frame is not None and frame.f_code not in codes:
        frame = frame.f_back
    return frame is not None


def _watch(frame: types.FrameType, event: str, called: Any) -> None:
    """Refuse a call of a clock, as `sys.setprofile` hears of it."""
    if event != "c_call" or _is_of_python(frame):
        return
    if called in _CALLED_CLOCKS and not _is_of_collection(frame):
        raise _error(f"{called.__module__ or 'datetime'}.{called.__name__} was called", _at(frame))


def _at(frame: types.FrameType) -> SourceLocation:
    return SourceLocation(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def _referred(function: Any) -> Iterator[Any]:
    """Yield the generators and clocks that a function reaches: closures, globals, attributes."""
    visited: set[int] = set()
    left = [(function, 0)]
    while left and len(visited) < _MOST:
        value, depth = left.pop()
        if id(value) in visited:
            continue
        visited.add(id(value))
        if isinstance(value, _NAMED):
            if value in (datetime, datetime.datetime, *_BUILTIN_CLOCKS):
                yield value
                continue
            if isinstance(value, types.ModuleType | type):
                continue
        if isinstance(value, _GENERATORS):
            yield value
            continue
        left += [(reached, depth) for reached in _reached(value)]
        if depth < 2:
            left += [(part, depth + 1) for part in _parts(value)]


def _reached(value: Any) -> list[Any]:
    """Return the objects that a function may use when it is called."""
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
    """Return the attributes of an object, the elements of a container."""
    if isinstance(value, list | tuple):
        return list(value[:100])
    return list((value if isinstance(value, dict) else _attributes(value)).values())[:100]


def _attributes(value: Any) -> dict[Any, Any]:
    attributes = getattr(value, "__dict__", None)
    return attributes if isinstance(attributes, dict) else {}


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
