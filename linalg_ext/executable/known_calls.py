"""Resolved calls: the records by which native code answers them, and the known calls of an op.

A record has the checks of the short way, for native code. Operands of the same dtypes and shapes
have the same kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
from numpy import ndarray

from linalg_ext.executable.arguments import ArrayArgument, Place, ResultSlot, ScalarArgument
from linalg_ext.executable.direct_call import Callee, DirectCall
from linalg_ext.runtime import threads
from linalg_ext.runtime.calling_convention import STATUS
from linalg_ext.runtime.dtypes import DType, ElementType, integer_range
from linalg_ext.runtime.interrupts import interrupts
from linalg_ext.runtime.libraries import Libraries, in_force
from linalg_ext.runtime.machine_code import address_of_function
from linalg_ext.runtime.pool import SMALLEST
from linalg_ext.runtime.vectorcall import Caller, Records, caller
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
from linalg_ext.target import override, setting
from linalg_ext.utils.recent import CallCache

_NUMBERS = ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1")
"""The dtypes that native code makes Python's numbers into, without their byte order."""

_IMMUTABLE = (int, float, complex, str, bytes, type(None), type, np.dtype, range, type(...))


def kernel_record(call: DirectCall, world: int) -> Record | None:
    """Return the record by which native code runs a kernel; None if calls go through Python."""
    entries: list[Entry | None] = [
        _array(argument, argument.dtypes)
        if isinstance(argument, ArrayArgument)
        else _scalar(argument)
        for argument in call.arguments
    ]
    return record_of(call.callee, world, entries)


def entries_of(
    call: DirectCall, operands: Sequence[Any], dtypes: Sequence[DType | None] | None = None
) -> tuple[list[Entry | None], int]:
    """Return the entries that arguments like those of a call must fit, and the words needed.

    Each number is converted to its dtype of `dtypes` first, if it has one; by default to the
    kernel's.

    Returns:
        For each operand its entry, None if native code cannot take it; and the words behind the
        frame that numbers need.
    """
    entries: list[Entry | None] = []
    room = size = call.callee.layout.size
    for index, (argument, operand) in enumerate(zip(call.arguments, operands, strict=True)):
        dtype = None if dtypes is None else dtypes[index]
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


def sharing_key(callee: Callee) -> object:
    """Return the part of a record's key about threads; None for a kernel without shared work."""
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
    """Return the record by which native code runs a callee; None if calls go through Python.

    Args:
        callee, world, built, settings, as_number, names: as of `Record`.
        entries: of the arguments of a call; None if native code cannot take an argument.
        results: entries of the results; by default those of the kernel.
        makes, takes: whether calls without `out=`, and with it, may fit. Numbers among several
            results are not made.
        spare: words for numbers, behind those of the frame.
    """
    shared = callee.shared and callee.shared.for_threads(threads.current())
    code = shared or callee.own
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
        address_of_function(code.function),
        template,
        known,
        results,
        built=built,
        makes=makes,
        takes=takes,
        report=code.report,
        begin=interrupts.watch if code.polls else None,
        settings=(*settings, *(threads.settings() if callee.shared else ())),
        always_free=code.polls or callee.open_ended or bool(shared),
        as_number=as_number or any(numbers),
        names=names,
        keep=(callee, code),
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
    # The code overwrites the result, unused bits included.
    entry = replace(_array(slot, dtypes), unused_bits=0)
    return replace(entry, make=partial(slot.prepare, None)) if entry.nbytes >= SMALLEST else entry


def _dtypes(slot: ResultSlot) -> tuple[DType, ...]:
    """Return the dtypes that `out=` may have, first that of a new array."""
    own = slot.result.dtype
    return own, *(dtype for dtype in slot.dtypes if dtype != own)


def constant(value: Any) -> Expected | None:
    """Return the entry of a constant, or of a list or tuple of constants; None for mutable values.

    The `__eq__` of a class may call any objects equal, and change its answer later.
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
    """Return the entry of any number that an argument takes, if native code can convert it."""
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
    """Return the entry of numbers of the type of `like`; `dtype` is by default the element's."""
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
    """Return the range of 64-bit integers that one of the dtypes holds; all for floats."""
    widest = -(1 << 63), (1 << 63) - 1
    ranges = [integer_range(dtype) if dtype.kind in "iu" else widest for dtype in dtypes]
    return max(widest[0], min(low for low, _ in ranges)), min(widest[1], max(h for _, h in ranges))


_Key = tuple[object, ...]
_Run = Callable[[Sequence[Any], Any, "int | None"], Any]

_PYTHON_NUMBERS = (float, int)
"""Types of Python's numbers, whose dtype is decided by the type and not by the value."""

_MOST_CALLS = 4096
_MOST_ITEMS = 64
"""The most elements of an integer array in an attribute whose values become part of a key."""


@dataclass(frozen=True, slots=True)
class _ResolvedCall:
    """A resolved call: its kernel, and the conversion of its arguments.

    Attributes:
        direct: the short way into the kernel, if there is one.
        run: the long way: called with the arguments of the kernel, `out` and `threads`.
        by_name: for each argument that came as a keyword, its position in the kernel's.
        dtypes: for each argument the dtype that it is converted to first, if any.
        is_mixed: whether arrays are among those that are converted.
        records: by which native code answers such calls.
    """

    direct: DirectCall | None
    run: _Run
    by_name: Mapping[str, int]
    dtypes: tuple[DType | None, ...] | None
    is_mixed: bool
    records: Records = field(default_factory=Records)

    def arguments(self, operands: Sequence[Any], keywords: Mapping[str, Any]) -> Sequence[Any]:
        """Return the arguments of the kernel; an OverflowError for a number out of range."""
        if self.by_name:
            operands = [*operands, *(keywords[name] for name in self.by_name)]
        if self.dtypes is None:
            return operands
        return [
            operand if dtype is None else np.asarray(operand, dtype)
            for operand, dtype in zip(operands, self.dtypes, strict=True)
        ]


class KnownCalls:
    """The calls of an op that are already resolved to kernels; an op looks here first."""

    def __init__(self, op: Any) -> None:
        """Begin without known calls; native code answers calls of `op` that are repeated."""
        self._op = op
        self._operands = frozenset((*(o.name for o in op.definition.inputs), "init", "out"))
        self._calls: CallCache[_Key, _ResolvedCall] = CallCache(_MOST_CALLS)

    def __call__(self, operands: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """Return the result of a known call; NotImplemented for other calls.

        Raises:
            ArgumentError: an argument does not fit the kernel.
            ExecutionError: the code reported a failure.
        """
        libraries = in_force()
        try:
            key = self._key(operands, keywords)
            known = self._calls.get(key)
        except TypeError:  # a keyword has no hash
            return NotImplemented
        if known is None:
            return NotImplemented
        try:
            arguments = known.arguments(operands, keywords)
        except OverflowError:
            return NotImplemented
        out, threads = keywords.get("out"), keywords.get("threads")
        if known.direct is not None:
            if not known.is_mixed and threads is None and (native := caller()) is not None:
                self._install_record(native, known, known.direct, operands, keywords, libraries)
            result = known.direct.on_known(arguments, out, threads)
            if result is not NotImplemented:
                return result
        return known.run(arguments, out, threads)

    def remember(
        self,
        operands: tuple[Any, ...],
        keywords: Mapping[str, Any],
        arguments: Mapping[str, Any],
        direct: DirectCall | None,
        run: _Run,
    ) -> None:
        """Keep the resolution of a call, if the kernel takes its operands, or converted ones.

        `arguments` of the kernel are by the names that they have as keywords. `direct` is the short
        way into it, if any; `run` the long way: called with the arguments, `out` and `threads`.
        """
        names = list(arguments)
        by_name = {name: index for index, name in enumerate(names) if index >= len(operands)}
        if not keywords.keys() >= by_name.keys():
            return
        values = [*operands, *(keywords[name] for name in by_name)]
        dtypes: list[DType | None] = []
        is_mixed = False
        for operand, argument in zip(values, arguments.values(), strict=True):
            if argument is operand:
                dtypes.append(None)
                continue
            if not isinstance(argument, ndarray | np.generic):
                return
            if type(operand) is ndarray:
                if operand.dtype == argument.dtype:
                    return
                is_mixed = True
            dtypes.append(argument.dtype)
        try:
            if key := self._key(operands, keywords):
                converted = tuple(dtypes) if any(dtypes) else None
                self._calls.remember(key, _ResolvedCall(direct, run, by_name, converted, is_mixed))
        except TypeError:
            return

    def _install_record(
        self,
        native: Caller,
        known: _ResolvedCall,
        direct: DirectCall,
        operands: tuple[Any, ...],
        keywords: Mapping[str, Any],
        libraries: Libraries,
    ) -> None:
        def make(world: int) -> Record | None:
            by_name, out = known.by_name, keywords.get("out")
            values = [*operands, *(keywords[name] for name in by_name)]
            entries, spare = entries_of(direct, values, known.dtypes)
            expected: list[Expected | None] = [
                entry for index, entry in enumerate(entries) if index not in by_name.values()
            ]
            # Calls of the record have the same keywords, apart from operands.
            named = {name: value for name, value in keywords.items() if name != "out"}
            for name, value in named.items():
                expected.append(entries[by_name[name]] if name in by_name else constant(value))
            results = [
                _result(slot, (out.dtype,) if isinstance(out, ndarray) else _dtypes(slot))
                for slot in direct.callee.slots
            ]
            return record_of(
                direct.callee,
                world,
                expected,
                results,
                makes=out is None,
                takes=out is not None,
                settings=(setting(),),
                spare=spare,
                names=tuple(named),
            )

        known.records.install(native, self._op, sharing_key(direct.callee), make, libraries)

    def _key(self, operands: tuple[Any, ...], keywords: Mapping[str, Any]) -> _Key:
        """Return all that the resolution of a call reads; empty if the call has other operands.

        Its hash is a TypeError if a keyword has none.
        """
        key: list[object] = [override(), in_force()]
        for operand in operands:
            if not _add_operand(key, operand):
                return ()
        for name, value in keywords.items():
            key.append(name)
            if name in self._operands and value is not None:
                if not _add_operand(key, value):
                    return ()
            else:
                _add_attribute(key, value)
        return tuple(key)


def _add_operand(key: list[object], operand: Any) -> bool:
    """Add the dtype and shape of an array, or the type of a number, to a key; False for others."""
    kind = type(operand)
    if kind is ndarray:
        key.append(operand.dtype)
        key.append(operand.shape)
        return True
    key.append(kind)
    return kind in _PYTHON_NUMBERS or isinstance(operand, np.generic)


def _add_attribute(key: list[object], value: Any) -> None:
    # 1, 1.0 and True are equal keys, and mean different attributes.
    kind = type(value)
    key.append(kind)
    if kind is ndarray and value.size <= _MOST_ITEMS and value.dtype.kind in "iu":
        key.append(value.dtype)
        value = value.tolist()
        kind = type(value)
    if kind is list or kind is tuple:
        key.append(tuple(map(type, value)))
        value = tuple(value)
    key.append(value)
