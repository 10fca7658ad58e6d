"""Affine maps read from MLIR's text: `affine_map<(d0, d1)[s0] -> (d0 * s0 + d1, 2)>`.

The grammar is that of MLIR ("Affine Dialect", affine expressions), names as they are written;
nothing of MLIR is needed to read it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from linalg_ext.errors import DefinitionError, NotationError
from linalg_ext.symbolic.affine import (
    AffineConst,
    AffineDim,
    AffineExpr,
    AffineMap,
    AffineSymbol,
)

_EXAMPLE = "affine_map<(d0, d1)[s0] -> (d0 * s0 + d1)>"
_MAX_DEPTH = 100


class AffineTextError(NotationError):
    """A text is not an affine map.

    Attributes:
        offset: where in the text, counted from 0.
    """

    def __init__(self, message: str, offset: int, *, expected: str | None = None) -> None:
        super().__init__(message, where=f"column {offset + 1}", expected=expected)
        self.offset = offset


@lru_cache(maxsize=4096)
def parse_affine_map(text: str) -> AffineMap:
    """The map that a text says; an AffineTextError with the place in the text."""
    return _Parser(text).map()


def affine_map(value: object) -> AffineMap:
    """The map that something says: a map of ours or of MLIR, or a text of one.

        >>> affine_map("(d0, d1) -> (d1)")
        affine_map<(d0, d1) -> (d1)>

    Raises:
        AffineTextError: with the place in the text.
    """
    if isinstance(value, AffineMap):
        return value
    # MLIR's own print as one of the two forms that a text may have.
    text = str(value).strip()
    return parse_affine_map(text if text.startswith("affine_map") else f"affine_map<{text}>")


_OPERATORS: Mapping[str, Callable[[AffineExpr, AffineExpr], AffineExpr]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "floordiv": operator.floordiv,
    "ceildiv": operator.truediv,
    "mod": operator.mod,
}
"""The operators of the text, as Python's operators on expressions."""


class _Parser:
    """Recursive descent over the tokens of one map."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._position = 0
        self._depth = 0
        self._names: dict[str, AffineExpr] = {}

    def map(self) -> AffineMap:
        self._expect("affine_map")
        self._expect("<")
        dims = self._declared("(", ")", AffineDim)
        symbols = self._declared("[", "]", AffineSymbol) if self._peek() == "[" else []
        self._expect("->")
        self._expect("(")
        results: list[AffineExpr] = []
        while self._peek() != ")":
            if results:
                self._expect(",")
            results.append(self._sum())
        self._expect(")")
        self._expect(">")
        if self._peek():
            raise self._unexpected("the end of the map")
        return AffineMap(tuple(dims), tuple(symbols), tuple(results))

    def _declared(
        self, opening: str, closing: str, leaf: type[AffineDim] | type[AffineSymbol]
    ) -> list[str]:
        self._expect(opening)
        names: list[str] = []
        while self._peek() != closing:
            if names:
                self._expect(",")
            name, offset = self._next()
            if not name.isidentifier():
                raise AffineTextError(
                    f"{name or 'the end'!r} is not a name",
                    offset,
                    expected="a name such as d0 or s0",
                )
            if name in self._names:
                raise AffineTextError(f"{name} is declared twice", offset)
            self._names[name] = leaf(name)
            names.append(name)
        self._expect(closing)
        return names

    def _sum(self) -> AffineExpr:
        return self._chain(self._product, ("+", "-"))

    def _product(self) -> AffineExpr:
        return self._chain(self._factor, ("*", "floordiv", "ceildiv", "mod"))

    def _chain(self, rule: Callable[[], AffineExpr], signs: tuple[str, ...]) -> AffineExpr:
        """Operands of a rule with signs between them, from left to right."""
        result = rule()
        while self._peek() in signs:
            sign, offset = self._next()
            other = rule()
            try:
                result = _OPERATORS[sign](result, other)
            except DefinitionError as error:
                raise AffineTextError(error.what, offset) from None
        return result

    def _factor(self) -> AffineExpr:
        token, offset = self._next()
        if token == "-":
            return self._nested(self._factor, offset) * -1
        if token == "(":
            inner = self._nested(self._sum, offset)
            self._expect(")")
            return inner
        if token.isdigit():
            if len(token) > len(str(2**63)) or int(token) >= 2**63:
                raise AffineTextError(f"{token} does not fit in 64 bits", offset)
            return AffineConst(int(token))
        if token in self._names:
            return self._names[token]
        names = ", ".join(self._names) or "none: the map declares no names"
        if token.isidentifier():
            raise AffineTextError(
                f"{token} is not declared by the map", offset, expected=f"one of {names}"
            )
        self._position -= 1
        raise self._unexpected("a name, an integer or `(`")

    def _nested(self, rule: Callable[[], AffineExpr], offset: int) -> AffineExpr:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise AffineTextError(f"expressions are nested more than {_MAX_DEPTH} deep", offset)
        result = rule()
        self._depth -= 1
        return result

    def _peek(self) -> str:
        return self._tokens[self._position][0]

    def _next(self) -> tuple[str, int]:
        token = self._tokens[self._position]
        if token[0]:
            self._position += 1
        return token

    def _expect(self, token: str) -> None:
        if self._peek() != token:
            raise self._unexpected(f"`{token}`, as in {_EXAMPLE}")
        self._next()

    def _unexpected(self, expected: str) -> AffineTextError:
        token, offset = self._tokens[self._position]
        described = f"`{token}`" if token else "the end"
        return AffineTextError(
            f"an affine map cannot have {described} here", offset, expected=expected
        )


_TOKEN = re.compile(r"\s*(?:(->|[-+*()\[\]<>,])|([A-Za-z_][\w$.]*|\d+)|(\S))")


def _tokens(text: str) -> Sequence[tuple[str, int]]:
    """The tokens and where each begins; an empty one at the end."""
    tokens = []
    for match in _TOKEN.finditer(text):
        if match[3]:
            raise AffineTextError(
                f"`{match[3]}` cannot stand in an affine map", match.start(3), expected=_EXAMPLE
            )
        group = 1 if match[1] else 2
        tokens.append((match[group], match.start(group)))
    return [*tokens, ("", len(text.rstrip()))]
