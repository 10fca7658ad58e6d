"""Convolutions and poolings as NumPy's sliding windows and einsum, from the layouts alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

SIZES = {"n": 2, "c": 2, "f": 3, "g": 2, "m": 2}
OUTPUT = {"d": 2, "h": 3, "w": 2}
KERNEL = {"d": 2, "h": 2, "w": 3}


@dataclass(frozen=True)
class Window:
    """The layouts of an op, axes as letters, and how it makes one number of a window."""

    input: str
    kernel: str
    output: str
    reduction: str = "conv"
    is_transposed: bool = False

    @property
    def spatial(self) -> str:
        return "".join(letter for letter in self.input if letter in "dhw")

    def shapes(
        self, strides: dict[str, int], dilations: dict[str, int]
    ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Of input, kernel and output, the input no larger than needed; or all of the output."""
        needed = {
            letter: (OUTPUT[letter] - 1) * strides[letter]
            + (KERNEL[letter] - 1) * dilations[letter]
            + 1
            for letter in self.spatial
        }
        narrow, wide = (OUTPUT, needed) if self.is_transposed else (needed, OUTPUT)
        return (
            tuple({**SIZES, **narrow}[letter] for letter in self.input),
            tuple({**SIZES, **KERNEL}[letter] for letter in self.kernel),
            tuple({**SIZES, **wide}[letter] for letter in self.output),
        )

    def value(
        self,
        image: NDArray[Any],
        kernel: NDArray[Any],
        strides: dict[str, int],
        dilations: dict[str, int],
    ) -> NDArray[Any]:
        """What the op adds to its output, or combines with it."""
        if self.is_transposed:
            return self._spread(image, kernel, strides, dilations)
        axes = tuple(self.input.index(letter) for letter in self.spatial)
        reach = [(KERNEL[letter] - 1) * dilations[letter] + 1 for letter in self.spatial]
        windows: NDArray[Any] = sliding_window_view(image, reach, axis=axes)
        steps = [slice(None, None, strides.get(letter)) for letter in self.input]
        picks = [slice(None, None, dilations[letter]) for letter in self.spatial]
        windows = windows[(*steps, *picks)]
        if self.reduction in ("max", "min"):
            inner = tuple(range(image.ndim, windows.ndim))
            return np.asarray(getattr(np, self.reduction)(windows, axis=inner))
        inside = self.spatial.upper()
        if self.reduction in ("sum", "average", "squares"):
            if self.reduction == "squares":
                windows = windows * windows
            total = np.einsum(f"{self.input}{inside}->{self.output}", windows)
            count = kernel.size if self.reduction == "average" else 1
            return np.asarray(total / count if count > 1 else total)
        over = "".join(letter.upper() if letter in "dhw" else letter for letter in self.kernel)
        subscripts = f"{self.input}{inside},{over}->{self.output}"
        return np.asarray(np.einsum(subscripts, windows, kernel))

    def _spread(
        self,
        image: NDArray[Any],
        kernel: NDArray[Any],
        strides: dict[str, int],
        dilations: dict[str, int],
    ) -> NDArray[Any]:
        """Each element of an image, times the kernel, added where its stride puts it."""
        result = np.zeros(self.shapes(strides, dilations)[2], image.dtype)
        channels = "".join(letter for letter in self.kernel if letter not in "dhw")
        for tap in np.ndindex(*(KERNEL[letter] for letter in self.spatial)):
            at = dict(zip(self.spatial, tap, strict=True))
            weights = kernel[tuple(at.get(letter, slice(None)) for letter in self.kernel)]
            reached = tuple(
                slice(at[x] * dilations[x], None, strides[x]) if x in at else slice(None)
                for x in self.output
            )
            cut = tuple(slice(OUTPUT[x] if x in at else None) for x in self.output)
            result[reached][cut] += np.einsum(
                f"{self.input},{channels}->{self.output}", image, weights
            )
        return result


def window_of(name: str) -> Window:
    """The window of an op, from its name."""
    stem = name.removesuffix("_q")
    if stem.startswith("transposed_"):
        layout, kernel = stem.split("_")[-2:]
        return Window(layout, kernel, layout.replace("c", "f"), is_transposed=True)
    if stem.startswith("pooling_"):
        _, layout, kind, *_ = stem.split("_")
        spatial = "".join(letter for letter in layout if letter in "dhw")
        return Window(layout, spatial, layout, "conv" if kind == "weighted" else kind)
    if stem.startswith("depthwise_"):
        layout, kernel = stem.split("_")[-2:]
        return Window(layout, kernel, layout.replace("c", "cm") if "m" in kernel else layout)
    layout, kernel = stem.split("_")[-2:]
    if layout == "conv":  # conv_1d and its like have no channels
        spatial = "dhw"[-int(kernel[0]) :]
        return Window(spatial, spatial, spatial)
    return Window(layout, kernel, layout.replace("c", "f"))
