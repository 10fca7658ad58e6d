"""Layouts of sequences, images and volumes: the axes that their letters stand for, in order.

The letter `h` of the layout `nhwc` is a dimension, `D.h`, and a size, `S.H`. Axes are the letters
that are neither images nor channels.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from linalg_ext.opdsl import D, IndexAttrDef, S


def is_axis(letter: str) -> bool:
    return letter in ("d", "h", "w")


def axes_of(layout: Iterable[str]) -> list[str]:
    return [letter for letter in layout if is_axis(letter)]


def dim(letter: str):
    return getattr(D, letter)


def symbol(prefix: str, letter: str):
    """The size `KH` of the prefix `K` and the letter `h`."""
    return getattr(S, f"{prefix}{letter.upper()}")


def size(letter: str):
    return symbol("", letter)


def dims(layout: Iterable[str], of_axis=dim) -> tuple[Any, ...]:
    """The dimensions of a layout, with something else for each axis."""
    return tuple(of_axis(letter) if is_axis(letter) else dim(letter) for letter in layout)


def sizes(layout: Iterable[str], of_axis=size) -> tuple[Any, ...]:
    """The sizes of a layout, with something else for each axis."""
    return tuple(of_axis(letter) if is_axis(letter) else size(letter) for letter in layout)


def listed(parts) -> str:
    """Sizes or indices as documentation writes them."""
    return ", ".join(map(str, parts)).replace(" floordiv ", " // ")


def order_of(layout: Sequence[str]) -> str:
    return f"channels {'first' if is_axis(layout[-1]) else 'last'}"


def attribute(letter: str, axes: list[str], default: int) -> IndexAttrDef:
    """Sizes along axes: `SH` and `SW` of the letter `S`, with one default for all."""
    return IndexAttrDef(*(symbol(letter, axis) for axis in axes), default=[default] * len(axes))


def attribute_text(name: str, letter: str, axes: list[str], default: int) -> str:
    """The sentence about an attribute: `factors = (FH, FW), both 2 unless given`."""
    names = listed(symbol(letter, axis) for axis in axes)
    return (
        f"{name} = [{names}], {default}"
        if len(axes) == 1
        else f"{name} = ({names}), both {default}"
    )
