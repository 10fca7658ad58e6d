"""Convolutions and poolings on buffers as MLIR text, compiled and compared with NumPy.

Layouts are words: n batch, c channels, f output channels, g groups, m results for each channel,
d h w space. In the image and the result `d h w` are positions, in the kernel places in the window.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from guarded_memory import guarded
from kernels import kernel
from memrefs import Array, element_of, integers, memref

BODIES = {
    "product": "%p = arith.mul{f} %x, %k : {t}\n%r = arith.add{f} %o, %p : {t}",
    "max": "%r = arith.{max} %o, %x : {t}",
    "min": "%r = arith.{min} %o, %x : {t}",
    "sum": "%r = arith.add{f} %o, %x : {t}",
}


@dataclass(frozen=True)
class Windows:
    """An op on windows.

    Attributes:
        image: the layout of the input.
        window: that of the kernel; of a pooling, `h w` and the like alone.
        result: that of the output.
        body: what is done: a key of `BODIES`.
        strides: of each letter of space, 1 where nothing is said.
        dilations: likewise.
    """

    image: str
    window: str
    result: str
    body: str = "product"
    strides: Mapping[str, int] = field(default_factory=dict)
    dilations: Mapping[str, int] = field(default_factory=dict)

    @property
    def space(self) -> str:
        return "".join(letter for letter in self.image if letter in "dhw")

    def reach(self, letter: str, windows: int, places: int) -> int:
        """How long an axis is that holds so many windows of so many places."""
        stride, dilation = self.strides.get(letter, 1), self.dilations.get(letter, 1)
        return max(0, (windows - 1) * stride + (places - 1) * dilation + 1)

    def shapes(
        self, sizes: Mapping[str, int], places: Mapping[str, int]
    ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Of the image, the kernel and the result.

        Args:
            sizes: of the letters of the result, and of the others but for those of the window.
            places: of the letters of space in the kernel.
        """
        image = {s: self.reach(s, sizes[s], places[s]) for s in self.space}
        return (
            tuple({**sizes, **image}[letter] for letter in self.image),
            tuple({**sizes, **places}[letter] for letter in self.window),
            tuple(sizes[letter] for letter in self.result),
        )

    def text(self, types: Sequence[str], elements: Sequence[str], fill: str | None) -> str:
        """A function of image, kernel and result; the result is filled first, or added to."""
        kept = list(self.result)
        summed = [s.upper() for s in self.window if s in "dhw"]
        summed += [s for s in self.image if s not in "dhw" and s not in self.result]
        dims = ", ".join([*kept, *summed])
        index = {
            s: f"{s} * {self.strides.get(s, 1)} + {s.upper()} * {self.dilations.get(s, 1)}"
            for s in self.space
        }
        image = ", ".join(index.get(letter, letter) for letter in self.image)
        window = ", ".join(s.upper() if s in "dhw" else s for s in self.window)
        maps = [image, window, ", ".join(self.result)]
        kinds = ['"parallel"'] * len(kept) + ['"reduction"'] * len(summed)
        element = elements[2]
        is_float = element.startswith("f")
        words = {
            "f": "f" if is_float else "i",
            "t": element,
            "max": "maximumf" if is_float else "maxsi",
            "min": "minimumf" if is_float else "minsi",
        }
        body = BODIES[self.body].format(**words)
        if elements[0] != element:
            cast = "arith.extf" if is_float else "arith.extsi"
            body = body.replace("%x", "%xx").replace("%k", "%kk")
            casts = f"%xx = {cast} %x : {elements[0]} to {element}\n"
            if "%kk" in body:
                casts += f"%kk = {cast} %k : {elements[1]} to {element}\n"
            body = casts + body
        filled = "" if fill is None else (
            f"%z = arith.constant {fill} : {element}\n"
            f"linalg.fill ins(%z : {element}) outs(%c : {types[2]})"
        )  # fmt: skip
        return f"""
        func.func @f(%a: {types[0]}, %b: {types[1]}, %c: {types[2]}) {{
          {filled}
          linalg.generic {{
            indexing_maps = [{", ".join(f"affine_map<({dims}) -> ({m})>" for m in maps)}],
            iterator_types = [{", ".join(kinds)}]}}
            ins(%a, %b : {types[0]}, {types[1]}) outs(%c : {types[2]}) {{
          ^bb0(%x: {elements[0]}, %k: {elements[1]}, %o: {element}):
            {body}
            linalg.yield %r : {element}
          }}
          return
        }}"""

    def compiled(
        self, operands: Sequence[Array], *, fill: str | None = None, known: str = "all"
    ) -> Any:
        """A kernel for arrays that lie in memory as these do."""
        types = [memref(each, known=known) for each in operands]
        elements = [element_of(each) for each in operands]
        return kernel(self.text(types, elements, fill))

    def reference(self, x: Array, k: Array, start: Array) -> Array:
        """What becomes of a result that held `start`, place by place of the window."""
        result = start.copy()
        places = {s: k.shape[self.window.index(s)] for s in self.space}
        for at in itertools.product(*(range(places[s]) for s in self.space)):
            tap = dict(zip(self.space, at, strict=True))
            cut = [slice(None)] * x.ndim
            for s in self.space:
                stride = self.strides.get(s, 1)
                first = tap[s] * self.dilations.get(s, 1)
                count = start.shape[self.result.index(s)]
                cut[self.image.index(s)] = slice(first, first + (count - 1) * stride + 1, stride)
            seen = x[tuple(cut)].astype(start.dtype)
            if self.body == "product":
                weights = k[tuple(tap.get(s, slice(None)) for s in self.window)]
                over = "".join(s for s in self.window if s not in "dhw")
                text = f"{self.image},{over}->{self.result}"
                result += np.einsum(text, seen, weights.astype(start.dtype))
                continue
            moved = np.einsum(f"{self.image}->{self.result}", seen)
            combine = {"max": np.maximum, "min": np.minimum, "sum": np.add}[self.body]
            result = combine(result, moved)
        return result


def check_guarded(windows: Windows, sizes: Mapping[str, int], places: Mapping[str, int]) -> None:
    """Compare an op on windows with NumPy, on operands behind which nothing may be touched."""
    x, k, c = (guarded(integers(*shape)) for shape in windows.shapes(sizes, places))
    expected = windows.reference(x, k, c)
    windows.compiled((x, k, c))(x, k, c)
    np.testing.assert_array_equal(c, expected)


def check_apart(
    windows: Windows,
    sizes: Mapping[str, int],
    places: Mapping[str, int],
    *,
    known: str = "all",
) -> None:
    """Compare an op on windows with NumPy, on parts of arrays the rest of which must stay."""
    shapes = windows.shapes(sizes, places)
    rooms = [integers(*(size + 3 for size in shape)) for shape in shapes]
    insides = [tuple(slice(1, 1 + size) for size in shape) for shape in shapes]
    x, k, c = (room[inside] for room, inside in zip(rooms, insides, strict=True))
    before = rooms[2].copy()
    expected = windows.reference(x, k, c)
    windows.compiled((x, k, c), known=known)(x, k, c)
    np.testing.assert_array_equal(c, expected)
    c[...] = before[insides[2]]
    np.testing.assert_array_equal(rooms[2], before)


def check(
    windows: Windows,
    sizes: Mapping[str, int],
    places: Mapping[str, int],
    *,
    dtype: str = "f4",
    result: str | None = None,
    fill: str | None = None,
    known: str = "all",
    plan: str | None = None,
) -> Any:
    """Compile an op on windows and compare it with NumPy, exactly.

    Args:
        windows: the op.
        sizes: of the letters of the result and the channels.
        places: how large the window is.
        dtype: of image and kernel.
        result: of the result, where it is another.
        fill: what the result is filled with before, as MLIR writes it.
        known: what of the layout the types tell.
        plan: a word of the plan that is to be taken.

    Returns:
        The kernel.
    """
    shapes = windows.shapes(sizes, places)
    x, k = (integers(*shape, dtype=dtype, seed=at) for at, shape in enumerate(shapes[:2]))
    c = integers(*shapes[2], dtype=result or dtype, seed=2)
    compiled = windows.compiled([x, k, c], fill=fill, known=known)
    if plan is not None:
        assert plan in compiled.as_text("loops")
    start = c if fill is None else np.full_like(c, float(fill) if "x" not in fill else -np.inf)
    expected = windows.reference(x, k, start)
    compiled(x, k, c)
    np.testing.assert_array_equal(c, expected)
    return compiled
