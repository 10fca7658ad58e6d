"""Calls of modules of open sizes with sizes, indices and numbers that do not fit.

A module is compiled once, in a process of its own, and called there in a fork of that process: a
call that ends its process costs a fork. Each call is made twice: with all memory before a page that
kills, new memory of one pattern, and with all behind such a page, of another.
"""

from __future__ import annotations

import faulthandler
import functools
import json
import os
import random
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import linalg_ext as lx
from fuzz.account import LOOPS, UNWRITTEN, Account, as_text, parser_dies
from fuzz.open_modules import OpenModule, Sizes, written
from guarded_memory import Guarded, Guards, Side
from linalg_ext.errors import LinalgExtError
from linalg_ext.executable.signature import ArrayType, Parameter

Array = np.ndarray[Any, Any]

MOST_ELEMENTS = 1 << 18
_SECONDS = 3
"""Of a call, of processor time, that of the system included."""

_HANGS = "hangs on what memory held before"
_TOO_LONG = "takes too long"
_MOST_ENDLESS = 2
"""Of calls of a module: others would likely take as long."""

_COMPILING_SECONDS = 300
"""Of the clock: the machine may be busy."""

_UNKEPT = {"LINALG_EXT_CACHE_DIR": "off"}
_MEMORY = 1 << 29
"""Bytes that the process may map beyond what it has."""

_HUGE = (1 << 31, 1 << 40, 1 << 62, (1 << 63) - 1)
_NUMBERS = (0, 1, -1, -2, -(1 << 31), -(1 << 63), *_HUGE)
_PATTERNS: tuple[tuple[int, Side], ...] = ((0x7FF4, "end"), (0x3FB5, "start"))
"""Of new memory: as floats no numbers, and such as look like any other."""


def run(
    module: OpenModule, count: int, seed: int, account: Account, *, checked: bool = True
) -> None:
    """Compile a module in a process of its own and call it with misfits.

    Args:
        module: of open sizes.
        count: calls, at most.
        seed: chooses them.
        account: gets what came of it.
        checked: whether the code checks sizes and indices; without, it fails.
    """
    _prepare()
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        os.close(reading)
        _leave(lambda: _serve(module, count, seed, writing, checked=checked))
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        _listen(told, module, account)
    _, status = os.waitpid(child, 0)
    if how := _death(status):
        # The parser had no guard here.
        is_parser = parser_dies(module.text)
        account.modules[f"apart: MLIR's parser {how}" if is_parser else how] += 1
        told_of = account.apart if is_parser else account.failures
        told_of.append(f"{module.name}: the compilation {how}")


@functools.cache
def _prepare() -> None:
    """Load what compilations need, which takes longer than most of them: forks have it then."""
    with mock.patch.dict(os.environ, _UNKEPT), Guards().installed():
        lx.compile(lx.parse(written()[0].text, trusted=True))


def _listen(told: Any, module: OpenModule, account: Account) -> None:
    for line in told:
        said = json.loads(line)
        if "module" in said:
            account.modules[said["module"]] += 1
        else:
            account.calls[said["call"]] += 1
        for kind, told_of in (("failure", account.failures), ("apart", account.apart)):
            if kind in said:
                told_of.append(f"{module.name}{said['with']}: {said[kind]}")


def _leave(do: Any) -> None:
    """Do something in a forked process, and end it."""
    status = 1
    try:
        faulthandler.disable()  # a death is told by who waits for it
        do()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _death(status: int) -> str:
    """Describe the end of a process; nothing where it ended well."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number in (signal.SIGPROF, signal.SIGALRM):
            return _TOO_LONG
        return f"dies with {signal.Signals(number).name}"
    return "fails" if os.WEXITSTATUS(status) else ""


def _serve(module: OpenModule, count: int, seed: int, channel: int, *, checked: bool) -> None:
    """Compile a module, have a fork call it, and another one go on where that one died."""

    def tell(**said: str) -> None:
        os.write(channel, json.dumps(said).encode() + b"\n")

    os.environ.update(_UNKEPT)
    signal.alarm(_COMPILING_SECONDS)
    guards = Guards()
    with guards.installed(), lx.options(threads=1):
        dice = random.Random(f"{seed} {module.name}")
        try:
            parsed = lx.parse(module.text, trusted=True)
            kernel = lx.compile(parsed, opt_level=dice.choice((None, None, 0)), checked=checked)
        except LinalgExtError as error:
            tell(module=type(error).__name__)
            return
        except Exception:
            tell(module="surprise", failure=traceback.format_exc(), **{"with": ""})
            return
        tell(module="compiled")
        signal.alarm(0)
        calls = list(_calls(module, kernel.signature.parameters, count, dice))
        # Of modules that nobody wrote for this some read what they made and never wrote.
        reads = module.fitting is None and bool(UNWRITTEN.search(as_text(module.text)))
        at, endless = 0, 0
        while at < len(calls) and endless < _MOST_ENDLESS:
            reading, writing = os.pipe()
            child = os.fork()
            if not child:
                os.close(reading)
                more = calls[at:]
                _leave(functools.partial(_make, kernel, guards, more, tell, writing, reads))
            os.close(writing)
            with os.fdopen(reading, "rb") as done:
                at += len(done.read())
            _, status = os.waitpid(child, 0)
            if how := _death(status):
                call = calls[at] if at < len(calls) else ()
                told = {"with": _shown(call) if call else " at its end"}
                if how == _TOO_LONG and _may_take_long(module, call):
                    endless += 1
                    tell(call=f"apart: {how}", apart=how, **told)
                else:
                    tell(call=how, failure=how, **told)
                at += 1


def _may_take_long(module: OpenModule, call: Sequence[Any]) -> bool:
    """Return whether SECURITY.md names why a call takes too long."""
    is_huge = any(max(np.shape(each), default=0) >= _HUGE[0] for each in call)
    return is_huge or bool(LOOPS.search(as_text(module.text)))


def _make(
    kernel: Any,
    guards: Guards,
    calls: Sequence[Any],
    tell: Any,
    done: int,
    reads_unwritten: bool,
) -> None:
    """Make calls, and say after each that it is over."""
    in_use = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + _MEMORY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for call in calls:
        signal.setitimer(signal.ITIMER_PROF, _SECONDS)
        outcome, failure = _twice(kernel, guards, call)
        kind = "apart" if reads_unwritten and failure == _HANGS else "failure"
        if failure:
            outcome = f"{kind}: {failure}" if kind == "apart" else kind
        told = {kind: failure, "with": _shown(call)} if failure else {}
        tell(call=outcome, **told)
        os.write(done, b".")


def _twice(kernel: Any, guards: Guards, call: Sequence[Any]) -> tuple[str, str]:
    """A call, made twice: what came of it, and what is wrong with that."""
    seen = []
    for fill, at in _PATTERNS:
        memory = Guarded(fill, at)
        with guards.use(memory):
            outcome, failure, values = _once(kernel, memory, call)
        if failure or memory.wrong:
            return "failure", failure or "; ".join(memory.wrong)
        seen.append((outcome, values))
    (outcome, values), (other, again) = seen
    if outcome != other:
        return "failure", f"hangs on memory: {outcome}, or {other}"
    if not all(map(_are_same, values, again)):
        return "failure", _HANGS
    return outcome, ""


def _once(kernel: Any, memory: Guarded, call: Sequence[Any]) -> tuple[str, str, list[Array]]:
    given = [
        memory.argument(value, f"argument {at}") if isinstance(value, np.ndarray) else value
        for at, value in enumerate(call)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            result = kernel(*given)
        except (LinalgExtError, MemoryError) as error:
            return type(error).__name__, "", []
        except Exception:
            return "surprise", traceback.format_exc(), []
    results = result if isinstance(result, tuple) else (result,)
    found = [
        np.array(each) for each in (*results, *given) if isinstance(each, np.ndarray | np.generic)
    ]
    return "done", "", found


def _are_same(one: Array, other: Array) -> bool:
    return one.shape == other.shape and one.tobytes() == other.tobytes()


def _shown(call: Sequence[Any]) -> str:
    words = (
        f"{value.dtype}{list(value.shape)}"
        + (f"={value.tolist()}" if value.dtype.kind in "iu" and 0 < value.size < 9 else "")
        if isinstance(value, np.ndarray)
        else str(value)
        for value in call
    )
    return f"({', '.join(words)})"


def _calls(
    module: OpenModule, parameters: Sequence[Parameter], count: int, dice: random.Random
) -> Iterator[list[Any]]:
    """Give the fitting arguments first, then each open size changed alone, then several at once."""
    fitting = module.fitting
    if fitting is None or len(fitting) != len(parameters):
        fitting = tuple(_fitting(parameter, dice.choice((3, 4, 8))) for parameter in parameters)
    places = list(_places(parameters, fitting))
    values = _Values(dice)
    yield values.of(parameters, fitting, {})
    alone = [(place, value) for place in places for value in place.misfits(fitting)]
    dice.shuffle(alone)
    made = 1
    for place, value in alone[: count // 2]:
        yield values.of(parameters, fitting, {place: value})
        made += 1
    if not places:
        return
    while made < count:
        chosen = dice.sample(places, min(len(places), dice.choice((2, 2, 3, 4))))
        yield values.of(
            parameters, fitting, {place: dice.choice(place.misfits(fitting)) for place in chosen}
        )
        made += 1


def _fitting(parameter: Parameter, size: int) -> Sizes:
    if not isinstance(parameter.type, ArrayType):
        return 1
    return tuple(size if each is None else each for each in parameter.type.shape)


@dataclass(frozen=True)
class _Place:
    """Something of a call that is open: an extent, a number, or what an array of integers holds."""

    argument: int
    axis: int | None
    kind: str

    def misfits(self, fitting: Sequence[Sizes]) -> list[int]:
        """The values that it may have instead."""
        sizes = fitting[self.argument]
        if isinstance(sizes, int):
            return [*_NUMBERS, sizes - 1, sizes + 1, sizes + 2, 7 * sizes + 30]
        if self.axis is None:
            return [*_NUMBERS, 2, 3, 5, 100]
        size = sizes[self.axis]
        return [0, 0, 1, max(size - 1, 0), size + 1, size + 2, 2 * size, 5 * size + 30, _HUGE[1]]


def _places(parameters: Sequence[Parameter], fitting: Sequence[Sizes]) -> Iterator[_Place]:
    for number, (parameter, sizes) in enumerate(zip(parameters, fitting, strict=True)):
        type_ = parameter.type
        is_integer = type_.element.dtype.kind in "iu"
        if isinstance(sizes, int) or not isinstance(type_, ArrayType):
            if is_integer:
                yield _Place(number, None, "number")
            continue
        for axis, size in enumerate(type_.shape):
            if size is None:
                yield _Place(number, axis, "extent")
        if is_integer:
            yield _Place(number, None, "content")


class _Values:
    """Arguments of sizes and numbers."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    def of(
        self, parameters: Sequence[Parameter], fitting: Sequence[Sizes], changed: dict[_Place, int]
    ) -> list[Any]:
        """Arguments that fit but for what is changed."""
        return [
            self._value(parameter, sizes, {p: v for p, v in changed.items() if p.argument == at})
            for at, (parameter, sizes) in enumerate(zip(parameters, fitting, strict=True))
        ]

    def _value(self, parameter: Parameter, sizes: Sizes, changed: dict[_Place, int]) -> Any:
        dtype = parameter.type.element.dtype
        if isinstance(sizes, int) or not isinstance(parameter.type, ArrayType):
            number = next(iter(changed.values()), sizes if isinstance(sizes, int) else 0)
            return _within(number, dtype) if dtype.kind in "iu" else dtype.type(number)
        shape = list(sizes)
        for place, value in changed.items():
            if place.axis is not None:
                shape[place.axis] = value
        # What is huge is so only where there are no elements, and as far as NumPy counts.
        of_some = np.prod([size for size in shape if size], dtype=float)
        if 0 not in shape or of_some > _HUGE[1] * MOST_ELEMENTS:
            shape = [min(size, 60) if size >= MOST_ELEMENTS else size for size in shape]
            while np.prod(shape, dtype=float) > MOST_ELEMENTS:
                shape[shape.index(max(shape))] //= 2
        array = (np.arange(int(np.prod(shape, dtype=object))) % 3).astype(dtype).reshape(shape)
        for place, value in changed.items():
            if place.axis is None and array.size:
                array.flat[self._dice.randrange(array.size)] = _within(value, dtype)
        return array


def _within(number: int, dtype: np.dtype[Any]) -> int:
    """A number, or the one of its lowest bits that the dtype holds."""
    info = np.iinfo(dtype)
    return min(max(number, int(info.min)), int(info.max))
