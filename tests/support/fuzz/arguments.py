"""Arguments of a kernel: those that it takes, and lists that are nearly so."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from linalg_ext.executable.signature import ArrayType, Parameter, Result, Signature

MOST_ELEMENTS = 1 << 18
"""Of an array; kernels of larger ones are not called."""

Call = tuple[list[Any], dict[str, Any]]
Array = np.ndarray[Any, Any]


def right(signature: Signature, dice: random.Random) -> list[Any] | None:
    """Arguments that fit, open dimensions all of one size; None where they would be large."""
    size = dice.choice((1, 2, 3, 4, 8))
    arguments = [_value(parameter, size, dice) for parameter in signature.parameters]
    results = [np.prod(_shape(result, size), dtype=float) for result in signature.results]
    small = all(np.size(value) <= MOST_ELEMENTS for value in arguments)
    return arguments if small and all(count <= MOST_ELEMENTS for count in results) else None


def wrong(signature: Signature, dice: random.Random) -> Call | None:
    """A call with one thing changed, or with a few; some fit still."""
    arguments = right(signature, dice)
    if arguments is None:
        return None
    keywords: dict[str, Any] = {}
    for _ in range(dice.choice((1, 1, 2, 3))):
        if arguments and dice.random() < 0.75:
            at = dice.randrange(len(arguments))
            arguments[at] = _changed(arguments[at], arguments, dice)
        elif dice.random() < 0.5:
            arguments = _other_count(arguments, dice)
        else:
            _change_keywords(keywords, signature, arguments, dice)
    return arguments, keywords


def _value(parameter: Parameter, size: int, dice: random.Random) -> Any:
    type_ = parameter.type
    dtype = dice.choice(type_.element.dtypes)
    if not isinstance(type_, ArrayType):
        return dtype.type(dice.choice((0, 1, 1, 2, 3)))
    shape = tuple(size if each is None else each for each in type_.shape)
    if np.prod(shape, dtype=float) > MOST_ELEMENTS:
        return np.broadcast_to(np.zeros((), dtype), shape)
    return (np.arange(int(np.prod(shape))) % 3).astype(dtype).reshape(shape)


def _shape(result: Result, size: int) -> tuple[int, ...]:
    return tuple(size if each is None else each for each in result.shape)


_DTYPES = ("f4", "f8", "i1", "u8", "?", ">f4", "c8", "O", "U3", "M8[s]", "V4", "f2", "i4,f4")
_THINGS: tuple[Any, ...] = (
    *(None, "text", b"bytes", 1, -1, 1.5, 2**70, 1j, True, float("nan"), object(), {}, set()),
    *([], [[1], [1, 2]], [1, "a"], (), range(3), lambda: 0, np.ndarray, Ellipsis, slice(None)),
    *(np.float32(1), np.array(1), np.array([]), np.datetime64("now"), memoryview(b"abcd")),
)


class _Own(np.ndarray):
    """A class of arrays that somebody made."""


def _changed(value: Any, others: list[Any], dice: random.Random) -> Any:
    array = np.asarray(value) if isinstance(value, np.ndarray | np.generic) else np.ones((2, 3))
    if array.dtype.hasobject or array.dtype.names or array.size > MOST_ELEMENTS:
        return dice.choice(_THINGS)
    changes = (
        lambda: dice.choice(_THINGS),
        lambda: dice.choice(others),
        lambda: np.zeros(array.shape, dice.choice(_DTYPES)),
        lambda: np.zeros(_other_shape(array.shape, dice), array.dtype),
        lambda: array.T,
        lambda: array[..., ::-1] if array.ndim else array,
        lambda: np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array,
        lambda: np.broadcast_to(array.flat[0] if array.size else array, array.shape),
        lambda: _read_only(array),
        lambda: _misaligned(array),
        lambda: array.view(_Own),
        lambda: np.ma.masked_array(array),
        lambda: np.lib.stride_tricks.as_strided(array, array.shape, (0,) * array.ndim),
        lambda: array.tolist(),
        lambda: array.data if array.dtype.isbuiltin == 1 else array,
        lambda: array.astype(array.dtype, order="F"),
    )
    return dice.choice(changes)()


def _other_shape(shape: tuple[int, ...], dice: random.Random) -> tuple[int, ...]:
    sizes = list(shape)
    match dice.randrange(5):
        case 0 if sizes:
            sizes[dice.randrange(len(sizes))] += dice.choice((1, 2))
        case 1 if sizes:
            sizes[dice.randrange(len(sizes))] = 0
        case 2 if sizes:
            del sizes[0]
        case 3 if len(sizes) < 6:
            sizes.insert(0, 1)
        case _:
            sizes.reverse()
    return tuple(sizes)


def _read_only(array: Array) -> Array:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def _misaligned(array: Array) -> Array:
    room = np.zeros(array.nbytes + 1, np.uint8)
    return room[1:].view(array.dtype).reshape(array.shape) if array.size else array


def _other_count(arguments: list[Any], dice: random.Random) -> list[Any]:
    if arguments and dice.random() < 0.5:
        return arguments[:-1]
    return [*arguments, dice.choice(_THINGS)]


def _change_keywords(
    keywords: dict[str, Any], signature: Signature, arguments: list[Any], dice: random.Random
) -> None:
    if dice.random() < 0.2:
        keywords["threads"] = dice.choice((0, -1, "2", 1.0, None, 1, 2, True, 10**6))
        return
    outs: list[Any] = [np.zeros(_shape(result, 3), result.dtype) for result in signature.results]
    outs = [dice.choice((out, None, _changed(out, [*arguments, out], dice))) for out in outs]
    several: Any = tuple(outs) if dice.random() < 0.8 else [*outs, None]
    keywords["out"] = several if len(outs) != 1 else dice.choice((outs[0], several))
