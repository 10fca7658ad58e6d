"""The base class of the arguments of a call: a name, and errors for values that do not fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from linalg_ext.errors import (
    ArgumentError,
    ArityError,
    DTypeError,
    LinalgExtError,
    caller_location,
)
from linalg_ext.executable.description.signature import Signature, ValueType
from linalg_ext.runtime import dtypes
from linalg_ext.runtime.call_frame import Frame, FrameLayout
from linalg_ext.runtime.descriptors import address_of
from linalg_ext.runtime.dtypes import DType

Array = np.ndarray[Any, Any]


class Argument(ABC):
    """One thing that a call is given.

    Subclasses work out at their making whatever does not need the value.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def lay_out(self, layout: FrameLayout, word: int) -> None:
        """Take `word` as the place in the frame, and write there what no call changes."""
        self.word = word

    @abstractmethod
    def prepare(self, value: Any) -> Any:
        """Check `value`, and bring it into the form that `write` takes."""

    @abstractmethod
    def write(self, frame: Frame, prepared: Any) -> None:
        """Write what native code reads into the frame."""

    def error(
        self,
        kind: type[LinalgExtError],
        what: str,
        *,
        expected: str | None = None,
        hint: str | None = None,
    ) -> LinalgExtError:
        """The error to raise: it names the argument and the caller's line."""
        return kind(f"{self.name} {what}", where=caller_location(), expected=expected, hint=hint)

    def refuse_dtype(self, dtype: DType, wanted: Sequence[DType], thing: str = "array") -> NoReturn:
        """Raise the error for a wrong dtype, with the hint for this one."""
        raise self.error(
            DTypeError,
            f"got dtype {dtypes.describe_dtype(dtype)}",
            expected=" or ".join(str(known) for known in wanted),
            hint=dtypes.cure_for(dtype) or f"convert it with {thing}.astype({str(wanted[0])!r})",
        )

    def refuse_mask(self) -> NoReturn:
        """Raise the error for a masked array."""
        raise self.error(
            ArgumentError,
            "got a masked array: compiled code knows no mask",
            hint="fill it first: array.filled(value)",
        )


class Place(Argument):
    """An argument or a result for which arrays of one type are taken.

    Attributes:
        type: the type.
        is_written: whether native code writes the array.
        dtypes: those that it may have.
        alignment: of its first element, in bytes.
    """

    def __init__(self, name: str, type_: ValueType, *, is_written: bool) -> None:
        super().__init__(name)
        self.type = type_
        self.is_written = is_written
        self.dtypes = type_.element.dtypes
        self.alignment = type_.alignment

    def is_aligned(self, array: Array) -> bool:
        """Return whether native code can use an array where it begins."""
        return array.flags.aligned and address_of(array) % self.alignment == 0

    def is_row_major(self, array: Array) -> bool:
        """Return whether an array lies in row-major order where native code can use it."""
        return array.flags.c_contiguous and self.is_aligned(array)


def shape_text(shape: Sequence[int | None]) -> str:
    """A shape as NumPy prints it, with `any` for what is open."""
    inner = ", ".join("any" if size is None else str(size) for size in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def refuse_keywords(signature: Signature, unknown: Iterable[str]) -> NoReturn:
    """Raise the error for keywords that no kernel has."""
    raise ArityError(
        f"`{signature.name}` has no argument {', '.join(map(repr, unknown))}",
        where=caller_location(),
        expected=f"arrays in the order of {signature}, out= and threads=",
    )
