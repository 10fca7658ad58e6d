"""The calls of an op that were resolved before: the same dtypes and shapes are the same kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from linalg_ext.calling.direct_call import DirectCall
from linalg_ext.calling.native_call import known_record
from linalg_ext.runtime.call_record import Record
from linalg_ext.runtime.caller import Caller, caller
from linalg_ext.runtime.dtypes import DType
from linalg_ext.runtime.registered import Libraries, in_force
from linalg_ext.target import override, setting

_Key = tuple[object, ...]
_Known = tuple[DirectCall, "tuple[DType | None, ...] | None"]
_NUMBERS = (float, int)
"""Python's, which take a dtype for their type, not for what they are."""


class KnownCalls:
    """What an op asks first: has a call like this one been resolved, and to which kernel?"""

    def __init__(self, op: Any) -> None:
        """Nothing is known of `op` yet; native code answers its calls once they come again."""
        self._op = op
        self._calls: dict[_Key, _Known] = {}
        self._records: dict[_Key, Record | None] = {}

    def __call__(self, operands: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """The result of a call, or NotImplemented where it is not known or needs a closer look.

        Raises:
            ExecutionError: the code reported a failure.
        """
        libraries = in_force()
        try:
            key = _key(operands, keywords)
            known = self._calls.get(key)
        except TypeError:  # a list among the keywords, or an array: not to be told by its hash
            return NotImplemented
        if known is None:
            return NotImplemented
        call, dtypes = known
        if keywords.keys() <= {"out"} and (native := caller()) is not None:
            self._quicken(native, key, operands, keywords.get("out"), libraries)
        if dtypes is None:
            return call.on_known(operands, keywords.get("out"), keywords.get("threads"))
        try:
            values = [
                operand if dtype is None else np.asarray(operand, dtype)
                for operand, dtype in zip(operands, dtypes, strict=True)
            ]
        except OverflowError:
            return NotImplemented
        return call.on_known(values, keywords.get("out"), keywords.get("threads"))

    def remember(
        self,
        operands: tuple[Any, ...],
        keywords: Mapping[str, Any],
        call: DirectCall | None,
        arguments: Sequence[Any],
    ) -> None:
        """Keep how a call was resolved, where the kernel takes the very operands, or numbers.

        Args:
            operands, keywords: of the op.
            call: the short way into the kernel, if there is one.
            arguments: of the kernel.
        """
        if call is None or len(arguments) != len(operands):
            return
        dtypes: list[DType | None] = []
        for argument, operand in zip(arguments, operands, strict=True):
            if argument is operand:
                dtypes.append(None)
            elif type(operand) is not ndarray and isinstance(argument, ndarray | np.generic):
                dtypes.append(argument.dtype)
            else:
                return
        try:
            key = _key(operands, keywords)
            if key:
                self._calls[key] = call, tuple(dtypes) if any(dtypes) else None
        except TypeError:
            return

    def _quicken(
        self,
        native: Caller,
        key: _Key,
        operands: tuple[Any, ...],
        out: Any,
        libraries: Libraries,
    ) -> None:
        """Have native code answer calls like this one from now on, where it can."""
        if key not in self._records:
            call, dtypes = self._calls[key]
            self._records[key] = known_record(
                call, native.world, operands, dtypes, out, (setting(),)
            )
        if (record := self._records[key]) is not None:
            native.install(self._op, record, libraries)


def _key(operands: tuple[Any, ...], keywords: Mapping[str, Any]) -> _Key:
    """All that the resolution of a call looks at; empty where that is more than dtypes and shapes.

    Raises:
        TypeError: when it is hashed, for a keyword that has no hash.
    """
    key: list[object] = [override(), in_force()]
    for operand in operands:
        kind = type(operand)
        if kind is ndarray:
            key.append(operand.dtype)
            key.append(operand.shape)
        elif kind in _NUMBERS or isinstance(operand, np.generic):
            key.append(kind)
        else:
            return ()
    for name, value in keywords.items():
        key.append(name)
        if name == "out" and value is not None:
            if type(value) is not ndarray:
                return ()
            key.append(value.dtype)
            key.append(value.shape)
        else:
            # 1, 1.0 and True are equal, and not the same to say.
            key.append(type(value))
            key.append(value)
            if type(value) is tuple:
                key.append(tuple(map(type, value)))
    return tuple(key)
