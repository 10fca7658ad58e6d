"""Records of kernels: what the short way checks, told to native code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from linalg_ext.calling.arrays import ArrayArgument
from linalg_ext.calling.direct_call import DirectCall
from linalg_ext.calling.scalars import ScalarArgument
from linalg_ext.runtime import threads
from linalg_ext.runtime.call_record import (
    MOST_ARGUMENTS,
    MOST_WORDS,
    ArrayEntry,
    Entry,
    NumberEntry,
    Record,
    Setting,
)
from linalg_ext.runtime.dtypes import DType, ElementType, integer_range
from linalg_ext.runtime.machine_code import address_of_function

_NUMBERS = ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
"""The dtypes that native code makes Python's numbers into, without their byte order."""


def kernel_record(call: DirectCall, world: int) -> Record | None:
    """What native code must know of a kernel; None where calls have to go through Python.

    Args:
        call: the short way into it.
        world: of the native caller.
    """
    entries: list[Entry | None] = [
        _array(argument, argument.dtypes)
        if isinstance(argument, ArrayArgument)
        else _scalar(argument)
        for argument in call.arguments
    ]
    return _record(call, world, entries, makes=True, takes=True)


def known_record(
    call: DirectCall,
    world: int,
    operands: Sequence[Any],
    dtypes: Sequence[DType | None] | None,
    out: ndarray[Any, Any] | None,
    settings: Sequence[Setting],
) -> Record | None:
    """What native code must know of calls that are resolved as one call was.

    Args:
        call: the short way into the kernel of that call.
        world: of the native caller.
        operands: of that call: arrays, which others must be like, and numbers of whose types
            others must be.
        dtypes: for each number what it is converted to first, if to anything.
        out: where its result went, if that was said: others must say it too, or not either.
        settings: variables, and what they must be.
    """
    entries: list[Entry | None] = []
    room = call.layout.size
    for at, (argument, operand) in enumerate(zip(call.arguments, operands, strict=True)):
        dtype = None if dtypes is None else dtypes[at]
        if type(operand) is ndarray:
            is_array = isinstance(argument, ArrayArgument)
            entries.append(_array(argument, (operand.dtype,)) if is_array else None)
        elif isinstance(argument, ArrayArgument):
            entries.append(None if dtype is None else _number(argument.word, dtype, operand, room))
            room += 1
        else:
            entries.append(_number(argument.word, dtype or argument.element.dtype, operand))
    return _record(
        call,
        world,
        entries,
        makes=out is None,
        takes=out is not None,
        out=None if out is None else out.dtype,
        settings=settings,
        spare=room - call.layout.size,
    )


def _record(
    call: DirectCall,
    world: int,
    entries: Sequence[Entry | None],
    *,
    makes: bool,
    takes: bool,
    out: DType | None = None,
    settings: Sequence[Setting] = (),
    spare: int = 0,
) -> Record | None:
    alone = threads.alone() if call.shared else ()
    known = [entry for entry in entries if entry is not None]
    makes = makes and not any(slot.is_large or slot.is_scalar for slot in call.slots)
    takes = takes and len(call.slots) == 1
    if (
        alone is None
        or len(known) < len(entries)
        or len(known) + len(call.slots) > MOST_ARGUMENTS
        or call.layout.size + spare > MOST_WORDS
        or not (makes or takes)
    ):
        return None
    results = [
        ArrayEntry(
            slot.word,
            (slot.result.dtype, *slot.dtypes) if out is None else (out,),
            slot.shape,
            is_written=True,
        )
        for slot in call.slots
    ]
    return Record(
        world,
        address_of_function(call.function),
        call.layout.template(spare),
        known,
        results,
        makes=makes,
        takes=takes,
        report=call.failures.report,
        settings=(*settings, *alone),
        keep=(call,),
    )


def _array(argument: ArrayArgument, dtypes: tuple[DType, ...]) -> ArrayEntry:
    element = argument.type.element
    unused = 0xFF & ~((1 << element.width) - 1) if element.is_sub_byte else 0
    return ArrayEntry(
        argument.word,
        dtypes,
        tuple(size for size in argument.shape if size is not None),
        is_written=argument.is_written,
        unused_bits=unused,
    )


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
    return NumberEntry(word, dtype, (kind,), False, False, room=room) if dtype.type is kind else None


def _is_convertible(dtype: DType) -> bool:
    return dtype.isbuiltin == 1 and dtype.str[1:] in _NUMBERS


def _range(dtypes: Iterable[DType]) -> tuple[int, int]:
    """The integers that one of some dtypes holds, of 64 bits; all for floats."""
    widest = -(1 << 63), (1 << 63) - 1
    ranges = [integer_range(dtype) if dtype.kind in "iu" else widest for dtype in dtypes]
    return max(widest[0], min(low for low, _ in ranges)), min(widest[1], max(h for _, h in ranges))
