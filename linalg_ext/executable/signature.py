"""The entry of a kernel: its signature in NumPy's terms, its native function, and its failures."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn

from linalg_ext.errors import ExecutionError, caller_location
from linalg_ext.runtime.callbacks import raised_by
from linalg_ext.runtime.dtypes import DType, ElementType
from linalg_ext.runtime.interrupts import INTERRUPTED

Shape = tuple[int | None, ...]
"""Dimensions; None where the module leaves one open."""


def has_shape(shape: tuple[int, ...], pattern: Shape) -> bool:
    """Return whether a shape has the rank of a pattern, and all its sizes but the open ones."""
    return shape == pattern or (
        len(shape) == len(pattern)
        and all(own is None or own == size for own, size in zip(pattern, shape, strict=True))
    )


class ArrayType(NamedTuple):
    """A ranked tensor or memref, which decides the arrays that fit it.

    Every way to call a kernel reads it: the checks in Python, the short ways, the records of native
    code, and the loader of exported kernels.

    Attributes:
        kind: tensors are values; memrefs are memory that the entry may write.
        shape: of arrays of the type: its own dimensions, then `vector`.
        element: the type of a scalar.
        vector: the shape of one element where the elements are vectors, else ().
        strides: in elements, of a memref with a layout; None for the row-major order.
        offset: in elements; None where open.
    """

    text: str
    kind: Literal["tensor", "memref"]
    shape: Shape
    element: ElementType
    vector: tuple[int, ...] = ()
    strides: Shape | None = None
    offset: int | None = 0

    @property
    def rank(self) -> int:
        """The rank of the MLIR type: vector dimensions do not count."""
        return len(self.shape) - len(self.vector)

    @property
    def is_static(self) -> bool:
        """Return whether every dimension is known."""
        return None not in self.shape

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the known dimensions: the shape, if all are known."""
        return tuple(size for size in self.shape if size is not None)

    @property
    def alignment(self) -> int:
        """The alignment of the first element, in bytes.

        LLVM aligns the load of a vector to its whole size.
        """
        return self.element.storage * (self.vector[-1] if self.vector else 1)

    @property
    def itemsize(self) -> int:
        """Bytes of one element of the MLIR type."""
        return self.element.storage * math.prod(self.vector)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class ScalarType:
    """A number passed by value; as a result, an array without axes that is written."""

    text: str
    element: ElementType
    shape: ClassVar[Shape] = ()
    vector: ClassVar[tuple[int, ...]] = ()
    sizes: ClassVar[tuple[int, ...]] = ()

    @property
    def alignment(self) -> int:
        """In bytes."""
        return self.element.storage

    def __str__(self) -> str:
        return self.text


ValueType = ArrayType | ScalarType


class Parameter(NamedTuple):
    """One input of the entry."""

    position: int
    type: ValueType
    is_written: bool = False

    def __str__(self) -> str:
        return f"argument {self.position} ({self.type})"


class Result(NamedTuple):
    """One result of the entry, and the dtype of the array for it."""

    position: int
    type: ValueType
    dtype: DType

    @property
    def shape(self) -> Shape:
        """The shape of the array handed back; () for a scalar."""
        return self.type.shape

    def __str__(self) -> str:
        return f"result {self.position} ({self.type})"


class Signature(NamedTuple):
    """The signature of an entry: its name, its parameters and its results."""

    name: str
    parameters: tuple[Parameter, ...]
    results: tuple[Result, ...]

    def __str__(self) -> str:
        inputs = ", ".join(str(parameter.type) for parameter in self.parameters)
        outputs = ", ".join(str(result.type) for result in self.results)
        return f"{self.name}({inputs}) -> ({outputs})"


def fitting_data(signature: Signature) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the arrays that fit each parameter and result, for the loader of exported kernels.

    The loader knows no element types. For each it gets the dtypes, integers that hold their bits in
    the absence of ml_dtypes, the alignment, and the width of an element in bits.
    """
    return (
        [_fitting(value.type) for value in signature.parameters],
        [_fitting(value.type) for value in signature.results],
    )


def _fitting(type_: ValueType) -> dict[str, Any]:
    element = type_.element
    is_plain = element.dtype.isbuiltin == 1
    kinds = "iu" if element.unsigned is not None else "u"
    return {
        "dtypes": [dtype.str[1:] if is_plain else dtype.name for dtype in element.dtypes],
        "bits": None if is_plain else [f"{kind}{element.storage}" for kind in kinds],
        "alignment": type_.alignment,
        "width": min(element.width, 8),
    }


class Entry(NamedTuple):
    """The native entry of a kernel.

    Attributes:
        symbol: the function to call.
        destinations: the results that are written to memory of the caller, in order; they follow
            the inputs in the argument list, and the status follows them.
        returned: the results that come back as memrefs.
    """

    symbol: str
    destinations: tuple[int, ...]
    returned: tuple[int, ...]


OF_OP = "\nin: "
"""The separator between the message of an assertion and its op."""


def split_message(message: str) -> tuple[str, list[str]]:
    """Return the message of an assertion, and the notes on it: the op, and its location."""
    text, _, notes = message.partition(OF_OP)
    return text, notes.splitlines()


def report_failure(name: str, assertions: Sequence[str], status: int) -> NoReturn:
    """Raise the error for a status of a kernel that is not 0.

    Args:
        name: of the kernel.
        assertions: the messages of status 1, 2, ...
        status: the status.

    Raises:
        ExecutionError: with the message of the assertion, and the caller's line.
        KeyboardInterrupt: it was interrupted in the main thread, and the handler of SIGINT has
            not raised that itself, as that of `asyncio.run` does not.
        BaseException: the error of a function of Python that the code called.
    """
    message = assertions[status - 1] if 0 < status <= len(assertions) else f"status {status}"
    if message == INTERRUPTED and threading.current_thread() is threading.main_thread():
        raise KeyboardInterrupt
    if (raised := raised_by(message)) is not None:
        raise raised
    message, notes = split_message(message)
    raise ExecutionError(f"`{name}` stopped: {message}", where=caller_location(), notes=notes)
