"""The key of a function for attention."""

from __future__ import annotations

from dataclasses import dataclass

from linalg_ext.transforms.codegen.base.operand_types import Argument

from ._expressions import Element, Expression


@dataclass(frozen=True)
class AttentionCall:
    """The key of a function for attention; calls with equal keys share one function.

    Attributes:
        operands: queries, keys, values and the result.
        others: the elements that change the scores, and their arguments.
        changed: the score after its changes, the other arguments named by their numbers.
        score: the element by which `changed` refers to the score.
        masked_is_zero: True where a row of which every score is -inf gives zeros.
    """

    operands: tuple[Argument, ...]
    others: tuple[tuple[Element, Argument], ...]
    changed: Expression
    score: Element
    masked_is_zero: bool

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments of the function, in order."""
        return (*self.operands, *(argument for _, argument in self.others))
