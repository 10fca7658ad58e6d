"""Scalar arguments: numbers passed by value."""

from __future__ import annotations

from typing import Any

import numpy as np

from linalg_ext.errors import ArgumentError, ShapeError
from linalg_ext.executable.argument import Argument, Array
from linalg_ext.executable.conversion import PYTHON_NUMBERS, from_python
from linalg_ext.executable.description.signature import Parameter, ScalarType
from linalg_ext.runtime import dtypes
from linalg_ext.runtime.call_frame import SCALAR_WORDS, WORD, Frame


class ScalarArgument(Argument):
    """A number: Python's, NumPy's, or an array of rank 0."""

    def __init__(self, parameter: Parameter, type_: ScalarType) -> None:
        super().__init__(str(parameter))
        self.element = type_.element

    def prepare(self, value: Any) -> Array:
        """An array of rank 0 and the right dtype.

        Raises:
            ShapeError: an array with axes.
            DTypeError: a number of another type.
            ArgumentError: not a number.
        """
        if isinstance(value, np.ndarray | np.generic):
            array = self._checked(value)
        elif isinstance(value, PYTHON_NUMBERS):
            array = from_python(value, self.element, self)
        elif hasattr(value, "__array__"):
            array = self._checked(np.asarray(value))
        elif hasattr(value, "__index__"):
            array = from_python(value.__index__(), self.element, self)
        else:
            raise self.error(ArgumentError, f"got a {type(value).__name__}", expected="a number")
        return dtypes.to_machine(array, self.element) if self.element.is_sub_byte else array

    def write(self, frame: Frame, prepared: Array) -> None:
        """Write the number as it lies in memory."""
        raw = prepared.tobytes().ljust(SCALAR_WORDS * WORD, b"\0")
        for index in range(SCALAR_WORDS):
            word = raw[index * WORD : (index + 1) * WORD]
            frame[self.word + index] = int.from_bytes(word, "little", signed=True)

    def _checked(self, value: Any) -> Array:
        if isinstance(value, np.ma.MaskedArray):
            self.refuse_mask()
        array = np.asarray(value)
        if array.ndim:
            raise self.error(
                ShapeError,
                f"got an array of shape {array.shape}",
                expected="a number, or an array of rank 0",
                hint="pass one element: array[0], or array.item()" if array.size == 1 else None,
            )
        if array.dtype not in self.element.dtypes:
            self.refuse_dtype(array.dtype, self.element.dtypes, "value")
        return array
