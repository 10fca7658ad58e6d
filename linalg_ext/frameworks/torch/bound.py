"""What a model holds, as the arrays that its kernel is given."""

from __future__ import annotations

from typing import Any, NamedTuple

from linalg_ext.errors import DTypeError, ShapeError, caller_location
from linalg_ext.frameworks.torch.program import Held
from linalg_ext.frameworks.torch.tensors import Array, as_array


class Bound:
    """A tensor of the model's, and the array that the kernel is given for it.

    That is the tensor's own memory, or a copy of it in strips, if the kernel reads it so.

    Attributes:
        held: where the tensor is found.
    """

    def __init__(self, held: Held, shape: tuple[int | None, ...] | None = None) -> None:
        """
        Args:
            held: where the tensor is found.
            shape: what the kernel takes for it; by default the tensor as it is.
        """
        self.held = held
        self._tensor = held.tensor
        self._strips: Strips | None = None
        if shape is not None and len(shape) > self._tensor.dim():
            self._strips = Strips(shape[-1] or 1)
        self._bind()

    def _bind(self) -> None:
        self._array: Array = as_array(self._tensor, self.held.name)
        self._address = self._tensor.data_ptr()
        self.refresh()

    def refresh(self) -> None:
        """Forget what was copied of the tensor."""
        if self._strips is not None:
            self._strips.forget()

    def array(self) -> Array:
        """Its memory as it is now, or the strips of it."""
        tensor = self.held.tensor
        if tensor is not self._tensor or tensor.data_ptr() != self._address:
            self._refuse_change(tensor)
            self._tensor = tensor
            self._bind()
        return self._array if self._strips is None else self._strips.of(tensor, self._array)

    def _refuse_change(self, tensor: Any) -> None:
        name, before = self.held.name, self._array
        if tuple(tensor.shape) != before.shape:
            raise ShapeError(
                f"{name} of the model was {before.shape}, and now is {tuple(tensor.shape)}",
                where=caller_location(),
                cure="compile the model anew",
            )
        if (dtype := as_array(tensor, name).dtype) != before.dtype:
            raise DTypeError(
                f"{name} of the model was of {before.dtype}, and now is of {dtype}",
                where=caller_location(),
                cure="compile the model anew",
            )


class _Copy(NamedTuple):
    """Strips, and what the tensor was when they were made."""

    version: int
    sample: bytes
    strips: Array


class Strips:
    """A parameter in strips along its first axis, `w[n, j, k]` as `w[n, k, j]`, kept between calls.

    PyTorch counts what is written to a tensor, except through `.data` and through arrays in its
    memory. So some elements, spread over all of it, are compared at each call, too.
    """

    def __init__(self, width: int) -> None:
        """
        Args:
            width: how many values of the first axis a strip has.
        """
        self._width = width
        self._kept: _Copy | None = None

    def forget(self) -> None:
        """Copy anew at the next call."""
        self._kept = None

    def of(self, tensor: Any, array: Array) -> Array:
        """The strips of a tensor, whose memory is an array."""
        # Nothing is counted for a tensor that was made in inference mode.
        version = -1 if tensor.is_inference() else tensor._version
        sample = array[tuple(slice(None, None, -(-size // _SAMPLES)) for size in array.shape)]
        seen = sample.tobytes()
        kept = self._kept
        if kept is None or version < 0 or kept.version != version or kept.sample != seen:
            # Another array than before: a call in another thread may be reading that.
            kept = self._kept = _Copy(version, seen, self._made(tensor))
        return kept.strips

    def _made(self, tensor: Any) -> Array:
        count, *others = tensor.shape
        apart = tensor.detach().reshape(count // self._width, self._width, *others)
        # PyTorch's memory begins at a cache line, as strips had better.
        return as_array(apart.movedim(1, -1).contiguous(), "a parameter")


_SAMPLES = 9
"""So many places along each axis are compared, at most."""
