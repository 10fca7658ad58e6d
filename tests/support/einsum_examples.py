"""Random einsums: subscripts, and operands of any size, dtype and layout that fit them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

Array = np.ndarray[Any, np.dtype[Any]]

DTYPES = ("?", "i1", "u1", "i2", "u4", "i8", "f4", "f8", "c8", "c16")


@dataclass
class Example:
    """One call: the subscripts and the operands, small whole numbers in any layout."""

    text: str
    operands: list[Array]

    def __repr__(self) -> str:
        shown = [f"{x.dtype}{x.shape} strides {x.strides} {x.tolist()}" for x in self.operands]
        return f"{self.text!r} of {shown}"


def _array(draw: st.DrawFn, shape: tuple[int, ...], dtype: str) -> Array:
    size = int(np.prod(shape))
    low, high = (0, 3) if dtype in ("?", "u1", "u4") else (-3, 3)
    seed = draw(st.integers(0, 2**16))
    flat = np.random.default_rng(seed).integers(low, high, size, endpoint=True).astype(dtype)
    array = flat.reshape(shape)
    layout = draw(st.sampled_from(["C", "F", "reversed", "strided"]))
    if layout == "F":
        return array.copy(order="F")
    if layout == "reversed":
        return array[(slice(None, None, -1),) * array.ndim]
    if layout == "strided" and array.ndim:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    return array


@st.composite
def examples(draw: st.DrawFn, dtypes: tuple[str, ...] = DTYPES, low: int = 0) -> Example:
    """Any number of operands, labels that repeat, ellipses, sizes of 1 that broadcast."""
    letters = draw(st.lists(st.sampled_from("abcXYz"), min_size=1, max_size=5, unique=True))
    sizes = {letter: draw(st.integers(low, 4)) for letter in letters}
    broadcast = draw(st.lists(st.integers(1, 3), max_size=2))
    terms, operands = [], []
    any_ellipsis = 0
    for _ in range(draw(st.integers(1, 4))):
        labels = draw(st.lists(st.sampled_from(letters), max_size=4))
        own = dict(sizes)
        for label in labels:
            if draw(st.integers(0, 5)) == 0:
                own[label] = 1
        term, shape = "".join(labels), [own[label] for label in labels]
        if draw(st.booleans()):
            place = draw(st.integers(0, len(labels)))
            count = draw(st.integers(0, len(broadcast)))
            tail = [s if draw(st.booleans()) else 1 for s in broadcast[len(broadcast) - count :]]
            term = f"{term[:place]}...{term[place:]}"
            shape[place:place] = tail
            any_ellipsis = max(any_ellipsis, count + 1)
        terms.append(term)
        operands.append(_array(draw, tuple(shape), draw(st.sampled_from(dtypes))))
    text = ",".join(terms)
    if draw(st.booleans()):
        present = sorted(set("".join(terms)) - {"."})
        output = draw(st.permutations(present))[: draw(st.integers(0, len(present)))]
        place = draw(st.integers(0, len(output)))
        dots = "..." if any_ellipsis else ""
        text += "->" + "".join(output[:place]) + dots + "".join(output[place:])
    return Example(text, operands)
