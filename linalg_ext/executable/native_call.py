"""Records of kernels: what the short way checks, told to native code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np
from numpy import ndarray

from linalg_ext.executable.arguments import ArrayArgument, Place, ResultSlot, ScalarArgument
from linalg_ext.executable.direct_call import Callee, DirectCall
from linalg_ext.runtime import threads
from linalg_ext.runtime.calling_convention import STATUS
from linalg_ext.runtime.dtypes import DType, ElementType, integer_range
from linalg_ext.runtime.machine_code import address_of_function
from linalg_ext.runtime.pool import SMALLEST
from linalg_ext.runtime.vectorcall_record import (
    ArrayEntry,
    ConstantEntry,
    Container,
    Entry,
    Expected,
    NumberEntry,
    Record,
    Setting,
)

_NUMBERS = ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1")
"""The dtypes that native code makes Python's numbers into, without their byte order."""

_IMMUTABLE = (int, float, complex, str, bytes, type(None), type, np.dtype, range, type(...))


def kernel_record(call: DirectCall, world: int) -> Record | None:
    """Return the record by which native code runs a kernel; None where calls go through Python."""
    entries: list[Entry | None] = [
        _array(argument, argument.dtypes)
        if isinstance(argument, ArrayArgument)
        else _scalar(argument)
        for argument in call.arguments
    ]
    return record_of(call.callee, world, entries)


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
    """Return the record by which native code runs calls that resolve as one call did.

    None where such calls go through Python.

    Args:
        call: the short way into the kernel of that call.
        world: of the native caller.
        operands: of that call: arrays, which others must be like, and numbers of whose types
            others must be.
        dtypes: for each number what it is converted to first, if to anything.
        out: where the result of that call went, or None for a call without `out=`. Other calls must
            do the same. By default both fit.
        settings: variables, and what they must be.
        keywords: of the call, but for `out`, in order: others must give the same, but for operands.
        by_name: which operands came as keywords.
    """
    entries, spare = entries_of(call, operands, dtypes)
    results = [
        _result(slot, (out.dtype,) if isinstance(out, ndarray) else _dtypes(slot))
        for slot in call.callee.slots
    ]
    ordered: list[Expected | None] = [
        entry for at, entry in enumerate(entries) if at not in by_name.values()
    ]
    for name, value in keywords.items():
        ordered.append(entries[by_name[name]] if name in by_name else constant(value))
    return record_of(
        call.callee,
        world,
        ordered,
        results,
        makes=out is None or out is ...,
        takes=out is not None,
        settings=settings,
        spare=spare,
        names=tuple(keywords),
    )


def entries_of(
    call: DirectCall, operands: Sequence[Any], dtypes: Sequence[DType | None] | None = None
) -> tuple[list[Entry | None], int]:
    """Return the entries that arguments like those of a call must fit, and the words needed.

    Each number is converted to its dtype of `dtypes` first, if there is one; where `dtypes` is left
    out, to that which the kernel takes.

    Returns:
        For each operand its entry, None for what native code cannot take; and the words behind the
        frame that numbers need.
    """
    entries: list[Entry | None] = []
    room = size = call.callee.layout.size
    for at, (argument, operand) in enumerate(zip(call.arguments, operands, strict=True)):
        dtype = None if dtypes is None else dtypes[at]
        if isinstance(argument, ScalarArgument):
            entries.append(_number(argument.word, argument.element, operand, dtype))
        elif type(operand) is ndarray:
            entries.append(None if dtype else _array(argument, (operand.dtype,)))
        elif argument.shape or argument.is_written or (dtype is None and dtypes is not None):
            entries.append(None)
        else:
            entries.append(_number(argument.word, argument.type.element, operand, dtype, room))
            room += 1
    return entries, room - size


def situation(callee: Callee) -> object:
    """Return the key of a record beside the kernel: how its work is shared, where it can be."""
    return threads.state() if callee.shared else None


def record_of(
    callee: Callee,
    world: int,
    entries: Sequence[Expected | None],
    results: Sequence[ArrayEntry] | None = None,
    *,
    built: Expected | None = None,
    makes: bool = True,
    takes: bool = True,
    settings: Sequence[Setting] = (),
    spare: int = 0,
    as_number: bool = False,
    names: Sequence[str] = (),
) -> Record | None:
    """Return the record by which native code runs a callee; None where calls go through Python.

    Args:
        callee, world, built, settings, as_number, names: as of `Record`.
        entries: what the arguments of a call must be; None for what native code cannot take.
        results: what is written; by default what the kernel writes.
        makes, takes: whether a call without `out=`, and one with it, may fit. Numbers among several
            results are not made.
        spare: words for numbers, behind those of the frame.
    """
    shared = callee.shared and callee.shared.for_threads(threads.current())
    template = callee.layout.template(spare)
    if shared:
        words = list(template.words)
        words[STATUS] = shared.context(threads.current())
        template = template._replace(words=tuple(words))
    if results is None:
        results = [_result(slot, _dtypes(slot)) for slot in callee.slots]
    numbers = [slot.is_scalar for slot in callee.slots]
    makes = makes and (not any(numbers) or (len(results) == 1 and built is None))
    takes = takes and bool(results)
    known = [entry for entry in entries if entry is not None]
    if len(known) < len(entries) or not (makes or takes):
        return None
    record = Record(
        world,
        address_of_function((shared or callee).function),
        template,
        known,
        results,
        built=built,
        makes=makes,
        takes=takes,
        report=(shared or callee).failures.report,
        settings=(*settings, *(threads.settings() if callee.shared else ())),
        always_free=callee.open_ended or bool(shared),
        as_number=as_number or any(numbers),
        names=names,
        keep=(callee, shared),
    )
    return None if record.is_too_large else record


def _array(place: Place, dtypes: tuple[DType, ...]) -> ArrayEntry:
    return ArrayEntry(
        place.word,
        dtypes,
        place.type.sizes,
        is_written=place.is_written,
        unused_bits=place.type.element.unused_bits,
    )


def _result(slot: ResultSlot, dtypes: tuple[DType, ...]) -> ArrayEntry:
    # What its unused bits hold before it is written does not matter.
    entry = replace(_array(slot, dtypes), unused_bits=0)
    return replace(entry, make=partial(slot.prepare, None)) if entry.nbytes >= SMALLEST else entry


def _dtypes(slot: ResultSlot) -> tuple[DType, ...]:
    """Those that `out=` may have, and first the one that a new array gets."""
    own = slot.result.dtype
    return own, *(dtype for dtype in slot.dtypes if dtype != own)


def constant(value: Any) -> Expected | None:
    """An argument that must be a value, or a list or a tuple of values; None for what may change.

    A class with an `__eq__` of its own may call anything equal, and change that later.
    """
    if type(value) in (list, tuple):
        children = [constant(item) for item in value]
        known = tuple(child for child in children if child is not None)
        return Container(type(value), (), known) if len(known) == len(children) else None
    is_fixed = isinstance(value, (*_IMMUTABLE, Enum, FunctionType))
    kind: Any = type(value)
    is_one = kind.__hash__ is object.__hash__ and kind.__eq__ is object.__eq__
    return ConstantEntry(value) if is_fixed or is_one else None


def _scalar(argument: ScalarArgument) -> NumberEntry | None:
    """Any number that an argument takes, and native code can convert."""
    element = argument.element
    if not _is_convertible(element.dtype) or element.is_sub_byte:
        return None
    least, most = _range(element.dtypes)
    return NumberEntry(
        argument.word,
        element.dtype,
        tuple(dtype.type for dtype in element.dtypes),
        takes_float=element.kind == "float",
        integers=int if element.kind != "bool" else None,
        least=least,
        most=most,
    )


def _number(
    word: int, element: ElementType, like: Any, dtype: DType | None, room: int = 0
) -> NumberEntry | None:
    """Numbers of the type of one, converted to a dtype, or else to one of the element type's."""
    kind = type(like)
    if dtype is None:
        dtype = next((own for own in element.dtypes if own.type is kind), element.dtype)
    if not _is_convertible(dtype) or (element.is_sub_byte and element.kind != "bool"):
        return None
    if kind is float and dtype.kind == "f":
        return NumberEntry(word, dtype, takes_float=True, room=room)
    if kind is bool and dtype.kind == "b":
        return NumberEntry(word, dtype, integers=bool, room=room)
    if kind is int and dtype.kind != "b":
        least, most = _range((dtype,))
        return NumberEntry(word, dtype, integers=int, least=least, most=most, room=room)
    if dtype.type is not kind:
        return None
    return NumberEntry(word, dtype, (kind,), room=room)


def _is_convertible(dtype: DType) -> bool:
    return dtype.isbuiltin == 1 and dtype.str[1:] in _NUMBERS


def _range(dtypes: Iterable[DType]) -> tuple[int, int]:
    """The integers that one of some dtypes holds, of 64 bits; all for floats."""
    widest = -(1 << 63), (1 << 63) - 1
    ranges = [integer_range(dtype) if dtype.kind in "iu" else widest for dtype in dtypes]
    return max(widest[0], min(low for low, _ in ranges)), min(widest[1], max(h for _, h in ranges))
