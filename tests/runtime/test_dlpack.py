"""Arrays of other libraries through DLPack: no copy, every element type, devices refused."""

from __future__ import annotations

import ctypes
import gc
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, DTypeError
from linalg_ext.runtime import dlpack
from linalg_ext.runtime.dlpack import from_dlpack, is_exported

Array = np.ndarray[Any, Any]

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


class Foreign:
    """A tensor of another library, as that library would hand it over."""

    def __init__(self, array: Array, *, device: int = 1, knows_versions: bool = True) -> None:
        self.array = array
        self.device = device
        self.knows_versions = knows_versions
        self.handed_out = 0

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0

    def __dlpack__(self, **options: Any) -> Any:
        if options and not self.knows_versions:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        self.handed_out += 1
        return self.array.__dlpack__(**options)


class Described(Foreign):
    """The same, with the description of its elements written by hand."""

    def __init__(self, array: Array, code: int, bits: int, lanes: int = 1) -> None:
        super().__init__(array)
        self.type = dlpack._DataType(code, bits, lanes)

    def __dlpack__(self, **options: Any) -> Any:
        sizes = (ctypes.c_int64 * self.array.ndim)(*self.array.shape)
        self.sizes = sizes
        tensor = dlpack._Tensor(
            self.array.ctypes.data - 2, 1, 0, self.array.ndim, self.type, sizes, None, 2
        )
        self.managed = dlpack._Versioned(1, 0, None, None, 0, tensor)
        return _new_capsule(ctypes.addressof(self.managed), b"dltensor_versioned", None)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "u8", "c8", "?"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3, 4)])
def test_it_is_the_same_memory(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.ones(shape, dtype)
    found = from_dlpack(Foreign(array), "x")
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    np.testing.assert_array_equal(found, array)
    if array.size:
        assert np.shares_memory(found, array)
        assert found.flags.writeable


def test_strides_and_offsets() -> None:
    array = np.arange(24.0).reshape(4, 6)
    for view in (array.T, array[1:, ::2], array[::-1], np.broadcast_to(array[0], (3, 6))):
        np.testing.assert_array_equal(from_dlpack(Foreign(view), "x"), view)


def test_what_is_read_only_stays_so() -> None:
    array = np.ones(3)
    assert from_dlpack(Foreign(array), "x").flags.writeable
    array.flags.writeable = False
    assert not from_dlpack(Foreign(array), "x").flags.writeable
    # The older version cannot say.
    assert not from_dlpack(Foreign(np.ones(3), knows_versions=False), "x").flags.writeable


@pytest.mark.parametrize(
    ("code", "bits", "dtype"),
    [
        (4, 16, ml_dtypes.bfloat16),
        (10, 8, ml_dtypes.float8_e4m3fn),
        (12, 8, ml_dtypes.float8_e5m2),
        (0, 16, np.int16),
        (6, 8, np.bool_),
    ],
)
def test_element_types(code: int, bits: int, dtype: Any) -> None:
    array = np.arange(4).reshape(2, 2).astype(dtype)
    found = from_dlpack(Described(array, code, bits), "x")
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize(
    ("code", "bits", "lanes"), [(2, 32, 4), (17, 4, 1), (0, 128, 1), (3, 64, 1)]
)
def test_elements_that_numpy_lacks_are_refused(code: int, bits: int, lanes: int) -> None:
    with pytest.raises(DTypeError, match=rf"x has elements.*type {code} with {bits} bits"):
        from_dlpack(Described(np.zeros(16, np.uint8), code, bits, lanes), "x")


@pytest.mark.parametrize(("device", "name"), [(2, "CUDA"), (10, "ROCm"), (99, "number 99")])
def test_devices_are_refused(device: int, name: str) -> None:
    foreign = Foreign(np.ones(3, np.float32), device=device)
    with pytest.raises(ArgumentError, match=name) as found:
        lx.ops.exp(foreign)
    assert "x.cpu()" in str(found.value)
    assert foreign.handed_out == 0


def test_a_library_that_refuses_is_quoted() -> None:
    class Refusing(Foreign):
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("it has a gradient")

    with pytest.raises(ArgumentError, match=r"(?s)it has a gradient.*detach"):
        lx.ops.exp(Refusing(np.ones(3)))


def test_it_lives_as_long_as_it_is_seen() -> None:
    class Memory(np.ndarray[Any, Any]):
        """Can be referred to weakly."""

    array = np.arange(1000.0).view(Memory)
    gone = weakref.ref(array)
    foreign = Foreign(array)
    found = from_dlpack(foreign, "x")
    part = found[10:20]
    del array, foreign, found
    gc.collect()
    assert gone() is not None
    np.testing.assert_array_equal(part, np.arange(10.0, 20.0))
    del part
    gc.collect()
    assert gone() is None


def test_ops_kernels_einsum_and_jit_take_it() -> None:
    a, b = np.random.default_rng(0).random((2, 4, 4), np.float32)
    x, y = Foreign(a), Foreign(b)
    assert is_exported(x)
    assert not is_exported(a)
    np.testing.assert_allclose(lx.ops.matmul(x, y), a @ b, rtol=1e-6)
    np.testing.assert_allclose(lx.einsum("ij,jk->ik", x, y), a @ b, rtol=1e-6)
    np.testing.assert_allclose(lx.jit(lambda p, q: p + q + x)(x, y), 2 * a + b, rtol=1e-6)
    kernel = lx.compile(
        "func.func @f(%a: tensor<4x4xf32>) -> tensor<4x4xf32> { return %a : tensor<4x4xf32> }"
    )
    np.testing.assert_array_equal(kernel(x), a)


def test_an_entry_that_writes_its_argument_writes_there() -> None:
    kernel = lx.compile(
        """
        func.func @f(%m: memref<3xf32>, %x: f32) {
          linalg.fill ins(%x : f32) outs(%m : memref<3xf32>)
          return
        }
        """
    )
    array = np.zeros(3, np.float32)
    kernel(Foreign(array), 2)
    np.testing.assert_array_equal(array, [2, 2, 2])
    with pytest.raises(ArgumentError, match="read-only"):
        kernel(Foreign(array, knows_versions=False), 2)
