"""An einsum bound to shapes: every dimension has a label, every label a size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Contraction:
    """The labels and sizes of an einsum; an ellipsis has been replaced by labels.

    Attributes:
        inputs: the labels of the dimensions of each operand; `".0"`, `".1"`, ... for those of the
            ellipsis, counted from the right.
        output: the labels of the result.
        sizes: the size of each label. A dimension of size 1 stands for any size.
    """

    inputs: tuple[tuple[str, ...], ...]
    output: tuple[str, ...]
    sizes: dict[str, int]

    @property
    def shape(self) -> Shape:
        """The shape of the result."""
        return tuple(self.sizes[label] for label in self.output)
