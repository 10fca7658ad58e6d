"""The properties of an operand that follow from the type of its memref."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir


@dataclass(frozen=True)
class Argument:
    """An operand as an argument of a function.

    Attributes:
        type: its memref type.
        element: its element type.
        dimensions: the name of the dimension of each axis.
        sizes: of each axis; None where it is known only at run time.
        strides: of each axis; None where it is known only at run time.
        cast: the op that its elements go through when they are read, if there is one.
        read_as: the type that they are of then.
    """

    type: str
    element: str
    dimensions: tuple[str, ...]
    sizes: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    cast: str | None = None
    read_as: str = ""


def argument_of(value: Any, dimensions: tuple[str, ...]) -> Argument | str:
    """A memref whose axes are the dimensions given, or why it cannot be walked over."""
    type_ = ir.MemRefType(value.type)
    if type_.memory_space is not None:
        return "the operand is in a memory space of its own"
    try:
        strides = type_.get_strides_and_offset()[0]
    except (ir.MLIRError, ValueError, RuntimeError):
        return f"{type_} has no strides"
    return Argument(
        str(type_),
        str(type_.element_type),
        dimensions,
        tuple(
            None if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
            for axis in range(type_.rank)
        ),
        tuple(None if type_.is_dynamic_stride_or_offset(stride) else stride for stride in strides),
    )
