"""The semirings of einsum: what stands for the sum and for the product.

+*      sum of products; on booleans, whether any product is true
max+    greatest sum: longest paths, the Viterbi algorithm on logarithms
min+    least sum: shortest paths
max*    greatest product: the most probable explanation
or and  whether any has all: reachability, joins of relations; on the truth of the elements
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from linalg_ext.definition.functions import BINARY, Function
from linalg_ext.errors import ArgumentError, ArgumentTypeError


@dataclass(frozen=True, slots=True, eq=False)
class Semiring:
    """A sum and a product by which an einsum combines elements; each is itself alone.

    Attributes:
        name: what `kind=` takes.
        add: combines the terms that fall on one element of the result.
        multiply: combines the elements of the operands into a term.
        is_boolean: works on the truth of the elements.
        is_ordered: needs an order of the elements: there is none on complex numbers.
    """

    name: str
    add: Function
    multiply: Function
    is_boolean: bool = False
    is_ordered: bool = False

    @property
    def needs_non_negative(self) -> bool:
        """Return whether `x * (a + b) = x * a + x * b` holds for no negative `x`."""
        return self.is_ordered and self.multiply is BINARY["mul"]

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> Any:
        return semiring, (self.name,)


_SUM, _PRODUCT = BINARY["add"], BINARY["mul"]
_MAX, _MIN = BINARY["max_signed"], BINARY["min_signed"]

KINDS = {
    kind.name: kind
    for kind in (
        Semiring("+*", _SUM, _PRODUCT),
        Semiring("max+", _MAX, _SUM, is_ordered=True),
        Semiring("min+", _MIN, _SUM, is_ordered=True),
        Semiring("max*", _MAX, _PRODUCT, is_ordered=True),
        Semiring("or and", _SUM, _PRODUCT, is_boolean=True),
    )
}
"""The semirings by name."""

_BY_SPELLING = {name.replace(" ", ""): kind for name, kind in KINDS.items()}


def semiring(kind: object) -> Semiring:
    """The semiring of a name; `"(max, +)"` and `"max +"` are `"max+"`.

    Raises:
        ArgumentError: there is none of that name.
    """
    if isinstance(kind, Semiring):
        return kind
    if not isinstance(kind, str):
        raise ArgumentTypeError(f"kind={kind!r}", expected=_choices())
    spelling = "".join(char for char in kind.lower() if char not in " (),")
    found = _BY_SPELLING.get(spelling)
    if found is None:
        near = get_close_matches(spelling, _BY_SPELLING, n=1)
        raise ArgumentError(
            f"einsum knows no kind {kind!r}",
            expected=_choices(),
            hint=f"did you mean {_BY_SPELLING[near[0]].name!r}?" if near else None,
        )
    return found


def _choices() -> str:
    return "one of " + ", ".join(repr(name) for name in KINDS)
