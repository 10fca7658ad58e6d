"""Records of kernels: what the short way checks, told to native code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy import ndarray

from linalg_ext.calling.arrays import ArrayArgument
from linalg_ext.calling.direct_call import Callee, DirectCall
from linalg_ext.calling.results import ResultSlot
from linalg_ext.calling.scalars import ScalarArgument
from linalg_ext.runtime import threads
from linalg_ext.runtime.call_record import (
    MOST_ARGUMENTS,
    MOST_WORDS,
    ArrayEntry,
    Entry,
    IntegersEntry,
    NumberEntry,
    ObjectEntry,
    Record,
    Setting,
    TextEntry,
)
from linalg_ext.runtime.dtypes import DType, integer_range
from linalg_ext.runtime.machine_code import address_of_function
from linalg_ext.runtime.pool import SMALLEST

_NUMBERS = ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
"""The dtypes that native code makes Python's numbers into, without their byte order."""


def kernel_record(call: DirectCall, world: int) -> Record | None:
    """What native code must know of a kernel; None where its calls have to go through Python.

    Args:
        call: the short way into it.
        world: of the native caller.
    """
    entries: list[Entry | None] = [
        array_entry(argument, argument.dtypes)
        if isinstance(argument, ArrayArgument)
        else _scalar(argument)
        for argument in call.arguments
    ]
    results = [_result(slot, _dtypes(slot)) for slot in call.callee.slots]
    return record_of(call.callee, world, entries, results)


def known_record(
    call: DirectCall,
    world: int,
    operands: Sequence[Any],
    dtypes: Sequence[DType | None] | None = None,
    out: Any = ...,
    settings: Sequence[Setting] = (),
    keywords: Mapping[str, Any] = MappingProxyType({}),
    by_name: Mapping[str, int] = MappingProxyType({}),
) -> Record | None:
    """What native code must know of calls that are resolved as one call was.

    Args:
        call: the short way into the kernel of that call.
        world: of the native caller.
        operands: of that call: arrays, which others must be like, and numbers of whose types
            others must be.
        dtypes: for each number what it is converted to first, if to anything.
        out: where its result went, or None: others must say so too, or not either. By default
            both fit.
        settings: variables, and what they must be.
        keywords: of the call, but for `out`, in order: others must give the same, but for operands.
        by_name: which operands came as keywords.
    """
    entries: list[Entry | None] = []
    room = size = call.callee.layout.size
    for at, (argument, operand) in enumerate(zip(call.arguments, operands, strict=True)):
        dtype = None if dtypes is None else dtypes[at]
        if isinstance(argument, ScalarArgument):
            entries.append(_number(argument.word, dtype or argument.element.dtype, operand))
        elif type(operand) is ndarray:
            entries.append(None if dtype else array_entry(argument, (operand.dtype,)))
        else:
            entries.append(None if dtype is None else _number(argument.word, dtype, operand, room))
            room += 1
    results = [
        _result(slot, (out.dtype,) if isinstance(out, ndarray) else _dtypes(slot))
        for slot in call.callee.slots
    ]
    ordered = [entry for at, entry in enumerate(entries) if at not in by_name.values()]
    for name, value in keywords.items():
        ordered.append(entries[by_name[name]] if name in by_name else _said(value))
    return record_of(
        call.callee,
        world,
        ordered,
        results,
        makes=out is None or out is ...,
        takes=out is not None,
        settings=settings,
        spare=room - size,
        names=tuple(keywords),
    )


def record_of(
    callee: Callee,
    world: int,
    entries: Sequence[Entry | None],
    results: Sequence[ArrayEntry],
    *,
    makes: bool = True,
    takes: bool = True,
    settings: Sequence[Setting] = (),
    spare: int = 0,
    as_number: bool = False,
    names: Sequence[str] = (),
) -> Record | None:
    """What native code must know to run a kernel; None where calls have to go through Python.

    Args:
        callee: what it runs.
        world: of the native caller.
        entries: what the arguments of a call must be; None for what native code cannot take.
        results: what is written.
        makes, takes: whether a call without `out=`, and one with it, may fit. Large results are
            not made, for their memory comes from the pool; numbers among several are not either.
        settings: variables, and what they must be.
        spare: words for numbers, behind those of the frame.
        as_number: whether a result without axes is given as NumPy's number.
        names: of the last arguments, which come as keywords.
    """
    # Where several threads may share the work, what Python costs is little beside it.
    alone = threads.alone() if callee.shared else ()
    makes = makes and all(result.nbytes < SMALLEST for result in results)
    numbers = [slot.is_scalar for slot in callee.slots]
    makes = makes and (len(results) == 1 or not any(numbers))
    takes = takes and len(results) == 1
    known = [entry for entry in entries if entry is not None]
    if (
        alone is None
        or len(known) < len(entries)
        or len(known) + len(results) > MOST_ARGUMENTS
        or callee.layout.size + spare > MOST_WORDS
        or not (makes or takes)
    ):
        return None
    return Record(
        world,
        address_of_function(callee.function),
        callee.layout.template(spare),
        known,
        results,
        makes=makes,
        takes=takes,
        report=callee.failures.report,
        settings=(*settings, *alone),
        always_free=callee.open_ended,
        as_number=as_number or any(numbers),
        names=names,
        keep=(callee,),
    )


def array_entry(argument: ArrayArgument, dtypes: tuple[DType, ...]) -> ArrayEntry:
    """Arrays that an argument takes in row-major order, of some of its dtypes."""
    element = argument.type.element
    unused = 0xFF & ~((1 << element.width) - 1) if element.is_sub_byte else 0
    return ArrayEntry(
        argument.word,
        dtypes,
        tuple(size for size in argument.shape if size is not None),
        is_written=argument.is_written,
        unused_bits=unused,
    )


def _result(slot: ResultSlot, dtypes: tuple[DType, ...]) -> ArrayEntry:
    return ArrayEntry(slot.word, dtypes, slot.shape, is_written=True)


def _dtypes(slot: ResultSlot) -> tuple[DType, ...]:
    """Those that `out=` may have, and first the one that a new array gets."""
    own = slot.result.dtype
    return own, *(dtype for dtype in slot.dtypes if dtype != own)


def _said(value: Any) -> Entry | None:
    """An attribute that is the same; None for one that has to be looked at more closely."""
    kind = type(value)
    if kind in (list, tuple) and all(type(item) is int and abs(item) < 1 << 63 for item in value):
        return IntegersEntry(tuple(value))
    if kind is str:
        return TextEntry(value)
    if value is None or kind in (bool, int, type) or isinstance(value, np.dtype):
        return ObjectEntry(value)
    return None


def _scalar(argument: ScalarArgument) -> NumberEntry | None:
    """Any number that an argument takes, and native code can convert."""
    element = argument.element
    if not _is_convertible(element.dtype) or element.is_sub_byte:
        return None
    is_float = element.kind == "float"
    least, most = _range(element.dtypes)
    types = tuple(dtype.type for dtype in element.dtypes)
    return NumberEntry(argument.word, element.dtype, types, is_float, True, least, most)


def _number(word: int, dtype: DType, like: Any, room: int = 0) -> NumberEntry | None:
    """Numbers of the type of one, converted to a dtype."""
    kind = type(like)
    if not _is_convertible(dtype):
        return None
    least, most = _range((dtype,))
    if kind is float and dtype.kind == "f":
        return NumberEntry(word, dtype, (), True, False, room=room)
    if kind is int:
        return NumberEntry(word, dtype, (), False, True, least, most, room)
    if dtype.type is not kind:
        return None
    return NumberEntry(word, dtype, (kind,), False, False, room=room)


def _is_convertible(dtype: DType) -> bool:
    return dtype.isbuiltin == 1 and dtype.str[1:] in _NUMBERS


def _range(dtypes: Iterable[DType]) -> tuple[int, int]:
    """The integers that one of some dtypes holds, of 64 bits; all for floats."""
    widest = -(1 << 63), (1 << 63) - 1
    ranges = [integer_range(dtype) if dtype.kind in "iu" else widest for dtype in dtypes]
    return max(widest[0], min(low for low, _ in ranges)), min(widest[1], max(h for _, h in ranges))
