"""Parameters and buffers of a model, as the arrays that its kernel takes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from linalg_ext.compiler.compilation import compile
from linalg_ext.errors import DTypeError, ShapeError, caller_location
from linalg_ext.frameworks.requirements import torch
from linalg_ext.frameworks.torch.program import ModelTensor
from linalg_ext.frameworks.torch.tensors import Array, as_array
from linalg_ext.runtime.calling_convention import address_of
from linalg_ext.runtime.written_pages import WrittenPages, bytes_of
from linalg_ext.target import host, using


class Bound:
    """A tensor of the model's, and the kernel's array for it.

    The array is the tensor's own memory, or a copy of it in the kernel's order.
    """

    def __init__(
        self,
        model_tensor: ModelTensor,
        shape: tuple[int | None, ...] | None = None,
        *,
        is_watched: bool = True,
    ) -> None:
        """
        Args:
            shape: of the kernel's parameter; by default that of the tensor.
            is_watched: whether all of the tensor is read to see whether it has changed.
        """
        self.model_tensor = model_tensor
        self._tensor = model_tensor.tensor
        self._copy: Copy | None = None
        if shape is not None and len(shape) != self._tensor.dim():
            copied = _in_strips if len(shape) > self._tensor.dim() else _with_factors
            self._copy = Copy(functools.partial(copied, width=shape[-1] or 1), is_watched)
        self._bind()

    def _bind(self) -> None:
        self._array: Array = as_array(self._tensor, self.model_tensor.name)
        self._address = self._tensor.data_ptr()
        if self._copy is not None:
            self._copy.bind(self._tensor, self._array)

    def refresh(self) -> None:
        """Forget the copy of the tensor."""
        if self._copy is not None:
            self._copy.forget()

    def array(self) -> Array:
        """Return the current memory of the tensor, or the copy of it."""
        tensor = self.model_tensor.tensor
        if tensor is not self._tensor or tensor.data_ptr() != self._address:
            self._refuse_change(tensor)
            self._tensor = tensor
            self._bind()
        return self._array if self._copy is None else self._copy.array()

    def _refuse_change(self, tensor: Any) -> None:
        name, before = self.model_tensor.name, self._array
        if tuple(tensor.shape) != before.shape:
            raise ShapeError(
                f"{name} of the model was {before.shape}, and now is {tuple(tensor.shape)}",
                where=caller_location(),
                hint="compile the model again",
            )
        if (dtype := as_array(tensor, name).dtype) != before.dtype:
            raise DTypeError(
                f"{name} of the model was of {before.dtype}, and now is of {dtype}",
                where=caller_location(),
                hint="compile the model again",
            )


class _Version(NamedTuple):
    """A copy, the state of the tensor at that time, and a watch over the tensor's memory."""

    state: bytes | int
    array: Array
    pages: WrittenPages | None


class Copy:
    """A parameter in another order, or with additional data, kept between calls.

    PyTorch counts writes to a tensor, except those through `.data`, through arrays in its memory
    and by other processes. So each call asks the operating system for writes. If the system cannot
    tell, all of the tensor is read, unless the user states that there are no such writes.
    """

    def __init__(self, copied: Callable[[Any], Array], is_watched: bool) -> None:
        """
        Args:
            copied: copies a tensor to memory of PyTorch's, which begins at a cache line.
            is_watched: whether all of it is watched, or PyTorch's count believed.
        """
        self._copied = copied
        self._is_watched = is_watched
        self._tensor: Any = None
        self._contents: Contents | None = None
        self._version: _Version | None = None
        self._lock = Lock()

    def bind(self, tensor: Any, array: Array) -> None:
        """Copy a tensor, whose memory is an array, from the next call on."""
        # PyTorch counts no writes to tensors of inference mode.
        is_read = self._is_watched or tensor.is_inference()
        with self._lock:
            self._tensor = tensor
            self._contents = Contents(array) if is_read else None
            self._version = None

    def forget(self) -> None:
        """Copy again at the next call."""
        self._version = None

    def array(self) -> Array:
        """Return the copy of the tensor as it is."""
        with self._lock:
            version = self._version
            if version is None or version.pages is None or version.pages.is_written():
                version = self._version = self._renewed(version)
            return version.array

    def _renewed(self, version: _Version | None) -> _Version:
        tensor, contents = self._tensor, self._contents
        state = tensor._version if contents is None else contents.fingerprint()
        if version is None or version.state != state:
            # A call in another thread may still read the old array, so there is a new one.
            return _Version(state, self._copied(tensor.detach()), None)
        # The tensor is the same for two calls, so it is rarely written.
        if contents is None or (pages := contents.pages) is None:
            return version
        pages.begin()
        # A write may have come between the fingerprint and the watch.
        return version._replace(pages=pages if contents.fingerprint() == state else None)


def _in_strips(tensor: Any, width: int) -> Array:
    """Return a parameter in strips along its first axis, `w[n, j, k]` as `w[n, k, j]`."""
    count, *rest = tensor.shape
    in_strips = tensor.reshape(count // width, width, *rest)
    return as_array(in_strips.movedim(1, -1).contiguous(), "a parameter")


def _with_factors(tensor: Any, width: int) -> Array:
    """Return filters of 3 x 3, then the factors that Winograd's algorithm multiplies, in strips.

    The layout is that of the pass `linalg-ext-prepare-filters`.
    """
    library = torch()
    results, channels = tensor.shape[:2]
    along_one = library.tensor(_FILTER_TRANSFORM, dtype=library.float64)
    # One product of all filters takes less than half the time of one for each.
    along_both = library.kron(along_one, along_one)
    filters = tensor.double().reshape(results, channels, -1)
    factors = (filters @ along_both.T).float()
    strips = -(-results // width)
    filled = factors.new_zeros(strips * width, *factors.shape[1:])
    filled[:results] = factors
    in_strips = filled.reshape(strips, width, channels, -1).permute(0, 3, 2, 1)
    rest = factors.new_zeros(-tensor.numel() % width)
    parts = [tensor.reshape(-1), rest, in_strips.reshape(-1)]
    return as_array(library.cat(parts).reshape(-1, width), "a parameter")


_FILTER_TRANSFORM = ((1.0, 0.0, 0.0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0.0, 0.0, 1.0))
"""The transform of filters of F(2x2, 3x3), which is applied along both of their axes."""

_VECTORS, _LANES = 4, 16
_SUMS = _VECTORS * _LANES
_ROUND = 4 * _SUMS
"""Bytes that go into the sums at a time."""

_FACTOR = 0x9E3779B1


class Contents:
    """The elements of an array, whose changes are found at every call."""

    def __init__(self, array: Array) -> None:
        """They are read when they are asked for."""
        self._array = array
        self._memory = bytes_of(array)

    @functools.cached_property
    def pages(self) -> WrittenPages | None:
        """A watch over the memory; None where there can be none."""
        return WrittenPages.of(self._array)

    def fingerprint(self) -> bytes:
        """Return a hash of the elements, in the order of the memory."""
        memory = self._memory
        if memory is None:  # with gaps
            memory = np.ascontiguousarray(self._array).reshape(-1).view(np.uint8)
        rounds = memory.size // _ROUND
        sums = np.empty(_SUMS, np.int32)
        _summing()(address_of(memory), rounds, sums)
        return sums.tobytes() + memory[rounds * _ROUND :].tobytes()


@functools.cache
def _summing() -> Callable[[int, int, Array], object]:
    """Return the kernel that sums: given an address and rounds, not an array.

    So all its arguments are of known sizes, and a call takes a tenth of a microsecond.
    """
    vector, numbers = f"vector<{_LANES}xi32>", range(_VECTORS)
    types = ", ".join([vector] * _VECTORS)
    starts = ", ".join(f"%sum{n} = %zero" for n in numbers)
    steps = "\n".join(
        f"""
        %at{n} = llvm.getelementptr %words[{n * _LANES}] : (!llvm.ptr) -> !llvm.ptr, i32
        %word{n} = llvm.load %at{n} {{alignment = 1 : i64}} : !llvm.ptr -> {vector}
        %scaled{n} = arith.muli %sum{n}, %factor : {vector}
        %next{n} = arith.addi %scaled{n}, %word{n} : {vector}"""
        for n in numbers
    )
    stores = "\n".join(
        f"""
        %offset{n} = arith.constant {n * _LANES} : index
        vector.store %all#{n}, %sums[%offset{n}] : memref<{_SUMS}xi32>, {vector}"""
        for n in numbers
    )
    text = f"""
    func.func @fingerprint(%address: i64, %rounds: i64, %sums: memref<{_SUMS}xi32>) {{
      %zero = arith.constant dense<0> : {vector}
      %factor = arith.constant dense<{_FACTOR}> : {vector}
      %memory = llvm.inttoptr %address : i64 to !llvm.ptr
      %first = arith.constant 0 : i64
      %one = arith.constant 1 : i64
      %all:{_VECTORS} = scf.for %i = %first to %rounds step %one
          iter_args({starts}) -> ({types}) : i64 {{
        %words = llvm.getelementptr %memory[%i] : (!llvm.ptr, i64) -> !llvm.ptr,
          !llvm.array<{_SUMS} x i32>
        {steps}
        scf.yield {", ".join(f"%next{n}" for n in numbers)} : {types}
      }}
      {stores}
      return
    }}"""
    with using(host()):
        kernel: Callable[[int, int, Array], object] = compile(text, trusted=True, checked=False)
        return kernel
