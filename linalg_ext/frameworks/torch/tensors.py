"""Tensors of PyTorch as arrays of NumPy's in the same memory, and back."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from linalg_ext.errors import DTypeError, LayoutError, caller_location
from linalg_ext.frameworks.requirements import torch

Array = np.ndarray[Any, Any]

_NARROW = ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
"""Floats that NumPy has no dtype for, by the names of PyTorch and of ml_dtypes."""

_WORDS: dict[int, np.dtype[Any]] = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16)}


def dtype_of(dtype: Any) -> np.dtype[Any]:
    """Return the dtype of NumPy, or of ml_dtypes, for PyTorch's.

    Raises:
        DTypeError: neither has such a dtype.
    """
    name = str(dtype).removeprefix("torch.")
    try:
        numpy_dtype = np.dtype(getattr(ml_dtypes, name) if name in _NARROW else name)
    except TypeError:
        raise DTypeError(
            f"tensors of {dtype} have no dtype in NumPy", where=caller_location()
        ) from None
    return numpy_dtype


def as_array(tensor: Any, name: str) -> Array:
    """Return the memory of a tensor as an array, whatever its strides are.

    Raises:
        LayoutError: the tensor is not in this machine's memory, or not dense.
        DTypeError: NumPy has no such elements.
    """
    try:
        plain = tensor.detach() if tensor.requires_grad else tensor
        return plain.numpy()  # type: ignore[no-any-return]
    except (RuntimeError, TypeError):
        pass  # narrow floats, and conjugated or negated views, are converted below
    if tensor.device.type != "cpu" or str(tensor.layout) != "torch.strided":
        raise LayoutError(
            f"{name} is a tensor on {tensor.device}, {tensor.layout}",
            where=caller_location(),
            expected="a dense tensor on the CPU",
            hint="bring it there: tensor.cpu(), tensor.to_dense()",
        )
    dtype = dtype_of(tensor.dtype)
    plain = tensor.detach().resolve_conj().resolve_neg()
    if str(tensor.dtype).removeprefix("torch.") not in _NARROW:
        return plain.numpy()  # type: ignore[no-any-return]
    word = _WORDS[dtype.itemsize]
    as_words = plain.view(getattr(torch(), word.name)).numpy()
    return as_words.view(dtype)  # type: ignore[no-any-return]


def as_tensor(array: Any) -> Any:
    """Return an array, or a scalar of NumPy's, as a tensor in the same memory."""
    numpy_array = np.asarray(array)
    if numpy_array.dtype.isbuiltin == 1:
        return torch().from_numpy(numpy_array)
    words = numpy_array.view(_WORDS[numpy_array.dtype.itemsize])
    return torch().from_numpy(words).view(getattr(torch(), numpy_array.dtype.name))
