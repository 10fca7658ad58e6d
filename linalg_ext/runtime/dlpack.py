"""Arrays of other libraries, as NumPy sees them, and back: through DLPack, without copying.

DLPack (https://dmlc.github.io/dlpack, versions 0 and 1) hands over a tensor in a capsule. NumPy's
own reader and writer know none of the narrow floats; these know every element type that MLIR has.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from typing import Any, NoReturn

import numpy as np

from linalg_ext.errors import ArgumentError, DTypeError, caller_location

Array = np.ndarray[Any, Any]

_ON_THE_HOST = {1: "CPU", 3: "CUDA host", 11: "ROCm host"}
_DEVICES = {
    2: "CUDA", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 13: "CUDA managed",
    14: "oneAPI", 15: "WebGPU", 16: "Hexagon", 17: "MAIA",
}  # fmt: skip

_READ_ONLY = 1

_FLOATS: dict[tuple[int, int], str] = {
    (4, 16): "bfloat16",
    (7, 8): "float8_e3m4",
    (8, 8): "float8_e4m3",
    (9, 8): "float8_e4m3b11fnuz",
    (10, 8): "float8_e4m3fn",
    (11, 8): "float8_e4m3fnuz",
    (12, 8): "float8_e5m2",
    (13, 8): "float8_e5m2fnuz",
    (14, 8): "float8_e8m0fnu",
}
"""The names in ml_dtypes, by the code of the type and its bits."""

_CODES = {name: code for (code, _), name in _FLOATS.items()}

_KINDS = {0: "i", 1: "u", 2: "f", 5: "c"}


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32),
        ("device_number", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("type", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


def is_exported(value: Any) -> bool:
    """Return whether an object hands over its memory by DLPack, and is not an array of NumPy's."""
    return hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray | np.generic | type)


def from_dlpack(value: Any, name: str) -> Array:
    """The memory of a tensor of another library as an array, which keeps it alive.

    It can be written where the library says so; `name` is its name in errors.

    Raises:
        ArgumentError: it is not in the memory of this machine, or not handed over as it is.
        DTypeError: NumPy has no dtype for its elements.
    """
    try:
        device = int(value.__dlpack_device__()[0])
        if device not in _ON_THE_HOST:
            _refuse_device(device, value, name)
        with suppress(BufferError, RuntimeError, ValueError, TypeError):
            quick: Array = np.from_dlpack(value)
            return quick
        # Elements that NumPy's reader does not know, or a mistake, which is told below.
        capsule = _capsule(value)
    except (BufferError, RuntimeError, ValueError, TypeError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(
            f"{name}: {_type(value)} does not hand over its memory: {error}",
            where=caller_location(),
            hint="pass a plain copy of it (x.detach() for a PyTorch tensor with a gradient)",
        ) from None
    return _array(capsule, name, _type(value))


def exported(array: Array) -> Any:
    """Return an object with `__dlpack__`, from which other libraries take the array."""
    return array if array.dtype.isbuiltin == 1 else _Narrow(array)


class _Narrow:
    """An array of narrow floats, or of another type that NumPy does not hand over."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **options: Any) -> Any:
        code = _CODES.get(self._array.dtype.name)
        if code is None:
            return self._array.__dlpack__(**options)
        capsule = self._array.view(f"u{self._array.itemsize}").__dlpack__(**options)
        _tensor(capsule).type.code = code
        return capsule


def _refuse_device(device: int, value: Any, name: str) -> NoReturn:
    where = _DEVICES.get(device, f"number {device} of DLPack's list")
    raise ArgumentError(
        f"{name} is a {_type(value)} on a device ({where})",
        where=caller_location(),
        expected="an array in the memory of this machine",
        hint="copy it first: x.cpu() in PyTorch, x.get() in CuPy, jax.device_get(x) in JAX",
    )


def _capsule(value: Any) -> Any:
    try:
        return value.__dlpack__(max_version=(1, 0))
    except TypeError:  # a library that knows version 0 alone
        return value.__dlpack__()


class _Owner:
    """Holds the capsule as long as the array lives; its destructor gives the memory back."""

    def __init__(self, capsule: Any, interface: dict[str, Any]) -> None:
        self._capsule = capsule
        self.__array_interface__ = interface


_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.restype = ctypes.c_void_p
_pointer_in.argtypes = (ctypes.py_object, ctypes.c_char_p)
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype = ctypes.c_int
_is_valid.argtypes = (ctypes.py_object, ctypes.c_char_p)


def _array(capsule: Any, name: str, kind: str) -> Array:
    is_read_only = True
    if _is_valid(capsule, b"dltensor_versioned"):
        managed = _Versioned.from_address(_pointer_in(capsule, b"dltensor_versioned"))
        if managed.major != 1:
            raise ArgumentError(
                f"{name}: {kind} speaks version {managed.major} of DLPack", expected="version 1"
            )
        tensor, is_read_only = managed.tensor, bool(managed.flags & _READ_ONLY)
    elif _is_valid(capsule, b"dltensor"):
        # Version 0 does not say; as NumPy does, nothing is written then.
        tensor = _Tensor.from_address(_pointer_in(capsule, b"dltensor"))
    else:
        raise ArgumentError(
            f"{name}: the capsule of {kind} holds no tensor, or was used already",
            where=caller_location(),
        )
    dtype = _dtype(tensor.type, name)
    shape = tuple(tensor.shape[axis] for axis in range(tensor.rank))
    strides = None
    if tensor.strides:
        strides = tuple(tensor.strides[axis] * dtype.itemsize for axis in range(tensor.rank))
    if 0 in shape or not tensor.data:
        return np.empty(shape, dtype)
    interface = {
        "version": 3,
        "shape": shape,
        "strides": strides,
        # NumPy's protocol has no word for the dtypes of others.
        "typestr": dtype.str if dtype.isbuiltin == 1 else f"|V{dtype.itemsize}",
        "data": (tensor.data + tensor.byte_offset, is_read_only),
    }
    array: Array = np.asarray(_Owner(capsule, interface))
    return array if array.dtype == dtype else array.view(dtype)


def _tensor(capsule: Any) -> _Tensor:
    if _is_valid(capsule, b"dltensor_versioned"):
        managed = _Versioned.from_address(_pointer_in(capsule, b"dltensor_versioned"))
        versioned: _Tensor = managed.tensor
        return versioned
    return _Tensor.from_address(_pointer_in(capsule, b"dltensor"))


def _dtype(type_: _DataType, name: str) -> np.dtype[Any]:
    code, bits, lanes = type_.code, type_.bits, type_.lanes
    if lanes == 1 and (code, bits) in _FLOATS:
        import ml_dtypes

        narrow: np.dtype[Any] = np.dtype(getattr(ml_dtypes, _FLOATS[code, bits]))
        return narrow
    if lanes == 1 and code == 6 and bits == 8:
        return np.dtype(np.bool_)
    if lanes == 1 and code in _KINDS and bits in (8, 16, 32, 64, 128):
        with suppress(TypeError):  # integers of 128 bits, floats of 8
            dtype: np.dtype[Any] = np.dtype(f"{_KINDS[code]}{bits // 8}")
            return dtype
    raise DTypeError(
        f"{name} has elements of DLPack's type {code} with {bits} bits and {lanes} lanes",
        where=caller_location(),
        expected="integers, floats, complex numbers or bools that NumPy or ml_dtypes have",
    )


def _type(value: Any) -> str:
    return f"{type(value).__module__.partition('.')[0]}.{type(value).__qualname__}"
