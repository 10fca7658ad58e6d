"""The calls of an op that were resolved before: the same dtypes and shapes are the same kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy import ndarray

from linalg_ext.executable.direct_call import DirectCall
from linalg_ext.executable.native_call import known_record, situation
from linalg_ext.runtime.dtypes import DType
from linalg_ext.runtime.libraries import Libraries, in_force
from linalg_ext.runtime.vectorcall import Caller, Records, caller
from linalg_ext.runtime.vectorcall_record import Record
from linalg_ext.target import override, setting
from linalg_ext.utils.recent import CallCache

_Key = tuple[object, ...]
_Run = Callable[[Sequence[Any], Any, "int | None"], Any]

_NUMBERS = (float, int)
"""Python's, which take a dtype for their type, not for what they are."""

_MOST_CALLS = 4096
_MOST_ITEMS = 64
"""The most elements of an integer array in an attribute whose values become part of a key."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A resolved call: its kernel, and how the arguments are passed to it.

    Attributes:
        direct: the short way into the kernel, if there is one.
        run: the long way: called with the arguments of the kernel, `out` and `threads`.
        by_name: the arguments that came as keywords: where the kernel takes each.
        dtypes: for each argument what it is converted to first, if to anything.
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
        """Nothing is known of `op` yet; native code answers its calls once they come again."""
        self._op = op
        self._operands = frozenset((*(o.name for o in op.definition.inputs), "init", "out"))
        self._calls: CallCache[_Key, _Known] = CallCache(_MOST_CALLS)

    def __call__(self, operands: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """The result of a call, or NotImplemented where it is not known or needs a closer look.

        Raises:
            ArgumentError: what is said of the kernel's arguments is wrong.
            ExecutionError: the code reported a failure.
        """
        libraries = in_force()
        try:
            key = self._key(operands, keywords)
            known = self._calls.get(key)
        except TypeError:  # among the keywords is something that is not to be told by its hash
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
                self._quicken(native, known, known.direct, operands, keywords, libraries)
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
        """Keep how a call of the op was resolved, where the kernel takes its operands, or numbers.

        `arguments` of the kernel are by the names that they have as keywords. `direct` is the short
        way into it, if any; `run` the long way: called with the arguments, `out` and `threads`.
        """
        names = list(arguments)
        by_name = {name: at for at, name in enumerate(names) if at >= len(operands)}
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
                self._calls.remember(key, _Known(direct, run, by_name, converted, is_mixed))
        except TypeError:
            return

    def _quicken(
        self,
        native: Caller,
        known: _Known,
        direct: DirectCall,
        operands: tuple[Any, ...],
        keywords: Mapping[str, Any],
        libraries: Libraries,
    ) -> None:
        def make(world: int) -> Record | None:
            return known_record(
                direct,
                world,
                [*operands, *(keywords[name] for name in known.by_name)],
                known.dtypes,
                keywords.get("out"),
                (setting(),),
                keywords={name: value for name, value in keywords.items() if name != "out"},
                by_name=known.by_name,
            )

        known.records.install(native, self._op, situation(direct.callee), make, libraries)

    def _key(self, operands: tuple[Any, ...], keywords: Mapping[str, Any]) -> _Key:
        """All that the resolution of a call looks at; empty where there is more to look at.

        Its hash is a TypeError where a keyword has none.
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
    """Write dtype and shape of an array, or the type of a number, to a key, if it is one."""
    kind = type(operand)
    if kind is ndarray:
        key.append(operand.dtype)
        key.append(operand.shape)
        return True
    key.append(kind)
    return kind in _NUMBERS or isinstance(operand, np.generic)


def _add_attribute(key: list[object], value: Any) -> None:
    # 1, 1.0 and True are equal, and not the same to say.
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
