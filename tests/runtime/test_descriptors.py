"""Memref descriptors, there and back."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linalg_ext import errors
from linalg_ext.runtime.calling_convention import (
    NOT_ALLOCATED,
    STATUS,
    TABLE,
    WORD,
    Descriptor,
    FrameLayout,
    address_of,
    contiguous_strides,
    describe,
    take_over,
    word_count,
)

Array = np.ndarray[Any, Any]


@st.composite
def views(draw: st.DrawFn) -> Array:
    rank = draw(st.integers(0, 5))
    shape = draw(st.lists(st.integers(0, 4), min_size=rank, max_size=rank))
    array: Array = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
    for axis in range(rank):
        step = slice(None, None, draw(st.sampled_from([1, 2, -1, -2])))
        array = array[(slice(None),) * axis + (step,)]
    return array.transpose(draw(st.permutations(range(rank))))


@given(array=views(), offset=st.integers(-3, 3))
def test_what_is_described_is_read_back(array: Array, offset: int) -> None:
    descriptor = describe(array, offset=offset)
    assert descriptor is not None
    words = descriptor.words()
    assert len(words) == word_count(array.ndim)
    assert Descriptor.from_words(words, array.ndim) == descriptor
    view = descriptor.view(array.dtype)
    np.testing.assert_array_equal(view, array)
    assert np.shares_memory(view, array) == (array.size > 0)


@given(array=views())
def test_contiguous_as_numpy_says(array: Array) -> None:
    descriptor = describe(array)
    assert descriptor is not None
    if array.size:
        assert descriptor.is_contiguous == array.flags.c_contiguous
    if array.flags.c_contiguous and array.size:
        strides = tuple(stride * array.itemsize for stride in contiguous_strides(array.shape))
        moved = [size > 1 for size in array.shape]
        assert [s for s, m in zip(strides, moved, strict=True) if m] == [
            s for s, m in zip(array.strides, moved, strict=True) if m
        ]


def test_strides_that_are_no_whole_elements_have_no_descriptor() -> None:
    records = np.zeros(4, [("value", "f4"), ("tag", "u2")])
    assert describe(records["value"]) is None
    assert describe(records["tag"]) is not None


def test_vectors_as_elements() -> None:
    array = np.arange(24, dtype=np.float32).reshape(3, 2, 4)[::-1]
    descriptor = describe(array, inner_rank=1)
    assert descriptor is not None
    assert (descriptor.sizes, descriptor.strides) == ((3, 2), (-2, 1))
    np.testing.assert_array_equal(descriptor.view(array.dtype, (4,)), array)


def test_addresses_are_unsigned() -> None:
    assert Descriptor.from_words([-1, -2, 0], 0).allocated == (1 << 64) - 1


_libc = ctypes.CDLL(None)
_libc.malloc.restype = ctypes.c_void_p


def allocation(values: Array) -> int:
    address = _libc.malloc(ctypes.c_size_t(values.nbytes))
    ctypes.memmove(address, address_of(values), values.nbytes)
    return int(address)


def test_taking_over_looks_at_the_memory_itself() -> None:
    values = np.arange(6, dtype=np.float32)
    address = allocation(values)
    array = take_over(Descriptor(address, address, 0, (2, 3), (3, 1)), values.dtype, (), ())
    assert address_of(array) == address
    np.testing.assert_array_equal(array, values.reshape(2, 3))
    assert array.flags.writeable


@pytest.mark.parametrize("allocated", [NOT_ALLOCATED, 0])
def test_memory_of_somebody_else_is_copied(allocated: int) -> None:
    values = np.arange(6, dtype=np.float32)
    address = address_of(values)
    array = take_over(Descriptor(allocated, address, 0, (6,), (1,)), values.dtype, (), ())
    assert not np.shares_memory(array, values)
    array = take_over(Descriptor(address, address, 0, (6,), (1,)), values.dtype, (), {address})
    np.testing.assert_array_equal(array, values)


@pytest.mark.parametrize(
    "sizes",
    [(-1,), (1 << 62,), (1 << 30, 1 << 30), (0, -1), (-2, -3), (0, 1 << 62), (1 << 40, 0, 1 << 40)],
)
def test_impossible_shapes(sizes: tuple[int, ...]) -> None:
    with pytest.raises(errors.ExecutionError, match="impossible shape"):
        take_over(Descriptor(0, 0, 0, sizes, (1,) * len(sizes)), np.dtype(np.float32), (), ())


@pytest.mark.parametrize("sizes", [(0,), (0, 1 << 60), (3, 0, 5)])
def test_shapes_without_elements(sizes: tuple[int, ...]) -> None:
    descriptor = Descriptor(0, 0, 0, sizes, (1,) * len(sizes))
    assert take_over(descriptor, np.dtype(np.float32), (), ()).shape == sizes


def test_frames_point_into_themselves() -> None:
    layout = FrameLayout([2, None], [1])
    layout.preset(layout.slots[0] + 2, (0, 4, 5, 5, 1))
    frame = layout.take()
    base = ctypes.addressof(frame)

    def at(address: int) -> int:
        word, rest = divmod(address - base, WORD)
        assert rest == 0
        return word

    result, array, scalar, status = frame[TABLE : TABLE + 4]
    assert at(frame[at(result)]) == layout.results[0]
    assert at(frame[at(array)]) == layout.slots[0]
    assert at(scalar) == layout.slots[1]
    assert frame[at(frame[at(status)])] == base + STATUS * WORD
    assert frame[layout.slots[0] + 2 : layout.slots[0] + 7] == [0, 4, 5, 5, 1]


def test_frames_are_never_shared() -> None:
    layout = FrameLayout([1], [])
    one, other = layout.take(), layout.take()
    assert one is not other
    layout.give_back(one)
    assert layout.take() is one
