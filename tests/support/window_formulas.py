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

    @property
    def spatial(self) -> str:
        return "".join(letter for letter in self.input if letter in "dhw")

    def shapes(
        self, strides: dict[str, int], dilations: dict[str, int]
    ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Of input, kernel and output, the input no larger than needed."""
        needed = {
            letter: (OUTPUT[letter] - 1) * strides[letter]
            + (KERNEL[letter] - 1) * dilations[letter]
            + 1
            for letter in self.spatial
        }
        return (
            tuple({**SIZES, **needed}[letter] for letter in self.input),
            tuple({**SIZES, **KERNEL}[letter] for letter in self.kernel),
            tuple({**SIZES, **OUTPUT}[letter] for letter in self.output),
        )

    def value(
        self,
        image: NDArray[Any],
        kernel: NDArray[Any],
        strides: dict[str, int],
        dilations: dict[str, int],
    ) -> NDArray[Any]:
        """What the op adds to its output, or combines with it."""
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
        if self.reduction == "sum":
            return np.asarray(np.einsum(f"{self.input}{inside}->{self.output}", windows))
        over = "".join(letter.upper() if letter in "dhw" else letter for letter in self.kernel)
        subscripts = f"{self.input}{inside},{over}->{self.output}"
        return np.asarray(np.einsum(subscripts, windows, kernel))


def window_of(name: str) -> Window:
    """The window of an op, from its name."""
    stem = name.removesuffix("_q")
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
