"""Classes whose objects native code may answer for when they are called.

    @quickly_called
    class Kernel:
        def __call__(self, ...): ...

`Kernel` is an ordinary class, and its objects are called through `__call__` until native code is
put ahead of it. That is CPython's vectorcall protocol (PEP 590), which Python code cannot ask for:
a type that takes part is made by CPython's own function for types of extensions.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from types import MethodType
from typing import Any, TypeVar, cast

C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])

AVAILABLE = (
    sys.implementation.name == "cpython"
    and ctypes.sizeof(ctypes.c_void_p) == 8
    and "t" not in getattr(sys, "abiflags", "")  # a free-threaded build
)
"""A flag: this interpreter has the protocol, and a lock that native code can rely on."""

WORDS = 3
"""Words that an object has for native code, from the offset that its type states:

    _native_code       the address of a `vectorcallfunc`; 0 leaves the call to `__call__`
    _native_world      the pointer that the code receives; 0 for none
    _native_records    a list, or nothing
"""

_TP_MEMBERS, _TP_DOC = 72, 56
_OBJECT, _SIZE = 16, 19
_READ_ONLY = 1
_IS_BASE, _HAS_VECTORCALL = 1 << 10, 1 << 11


class _Slot(ctypes.Structure):
    """PyType_Slot."""

    _fields_ = (("number", ctypes.c_int), ("value", ctypes.c_void_p))


class _Member(ctypes.Structure):
    """PyMemberDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Spec(ctypes.Structure):
    """PyType_Spec."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("size", ctypes.c_int),
        ("item_size", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    )


def quickly_called(cls: C) -> C:
    """Return a subclass of the same name whose objects have room for native code.

    Where the interpreter lacks the protocol, return the class itself.
    """
    if not AVAILABLE:
        return cls
    offset = cls.__basicsize__
    members = (_Member * 5)(
        _Member(b"__vectorcalloffset__", _SIZE, offset, _READ_ONLY),
        _Member(b"_native_code", _SIZE, offset, 0),
        _Member(b"_native_world", _SIZE, offset + 8, 0),
        _Member(b"_native_records", _OBJECT, offset + 16, 0),
    )
    doc = ctypes.create_string_buffer((cls.__doc__ or "").encode())
    slots = (_Slot * 3)(
        _Slot(_TP_MEMBERS, ctypes.addressof(members)), _Slot(_TP_DOC, ctypes.addressof(doc))
    )
    name = f"{cls.__module__}.{cls.__qualname__}".encode()
    spec = _Spec(name, offset + 8 * WORDS, 0, _IS_BASE | _HAS_VECTORCALL, slots)
    make = ctypes.pythonapi.PyType_FromSpecWithBases
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object)
    subclass: C = make(ctypes.addressof(spec), (cls,))
    return subclass


@quickly_called
class _QuickFunction:
    """A function that native code may answer for."""

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.__wrapped__(*arguments, **named)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind to an instance, as functions do. `help` knows a function by this."""
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> str:
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<function {self.__module__}.{self.__qualname__}>"


def quick_function(function: F) -> F:
    """Return a function as an object that native code may answer for, alike in all else."""
    return cast(F, _QuickFunction(function))
