"""What a function for attention is made for."""

from __future__ import annotations

from dataclasses import dataclass

from linalg_ext.transforms.codegen.base.operand_types import Argument

from ._expressions import Element, Expression


@dataclass(frozen=True)
class AttentionCall:
    """What a function for attention is made for; equal ones share one.

    Attributes:
        operands: queries, keys, values and the result.
        others: what scores are changed by.
        changed: what becomes of a score, the other arguments named by their numbers.
        score: how `changed` names it.
        masked_is_zero: whether a row of which every score is -inf gives zeros.
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
