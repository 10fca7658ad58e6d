"""Arguments that are made up, to measure a kernel on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linalg_ext.executable.kernel import Kernel
from linalg_ext.executable.signature import ArrayType, Parameter
from linalg_ext.target import host


def obstacle(kernel: Kernel) -> str | None:
    """Why a kernel cannot be measured on arguments that are made up; None where it can."""
    if kernel.target.missing_on(host()):
        return "the code is for another machine"
    signature = kernel.signature
    types = [parameter.type for parameter in signature.parameters]
    types += [result.type for result in signature.results]
    if any(isinstance(type_, ArrayType) and not type_.is_static for type_ in types):
        return "the sizes are known at run time only"
    if any(
        isinstance(type_, ArrayType) and None in (*(type_.strides or ()), type_.offset)
        for type_ in types
    ):
        return "the strides are known at run time only"
    return None


def arguments_of(parameters: Sequence[Parameter]) -> list[Any]:
    """Arguments for parameters, the same at every call."""
    return [_argument(parameter) for parameter in parameters]


def _argument(parameter: Parameter) -> Any:
    """Return an argument of a parameter: floats from 0 to 1, integers that index nothing."""
    type_ = parameter.type
    if not isinstance(type_, ArrayType):
        return type_.element.dtype.type(1)
    shape = [size or 0 for size in type_.shape]
    random = np.random.default_rng(parameter.position)
    if type_.strides is None:
        return _values(random, shape, type_.element.dtype)
    strides, offset = [stride or 0 for stride in type_.strides], type_.offset or 0
    last = offset + sum(
        max(0, size - 1) * stride for size, stride in zip(shape, strides, strict=True)
    )
    memory = _values(random, [last + 1], type_.element.dtype)
    return np.lib.stride_tricks.as_strided(
        memory[offset:], shape, [stride * memory.itemsize for stride in strides]
    )


def _values(random: np.random.Generator, shape: Sequence[int], dtype: Any) -> Any:
    kind = np.dtype(dtype)
    if kind.kind in "iu" and kind.itemsize > 2:
        return np.zeros(shape, kind)  # they may be positions
    if kind.kind in "biu":
        return random.integers(0, 2, shape).astype(kind)
    return random.random(shape, np.float32).astype(kind)
