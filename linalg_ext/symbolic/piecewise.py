"""Integers that depend on one position of a loop, as pieces on each of which they are affine.

    >>> at = Pieces.positions(10)
    >>> (at - 3) % 8
    0: x + 5, 3: x - 3
    >>> (at - 3 >= 0) & (at < 5)
    0: 0, 3: 1, 5: 0

Affine expressions (`AffineExpr.evaluate`) and whatever else is written with Python's operators can
be computed of them. A truth value is 0 or 1.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

MOST_PIECES = 8
"""The most pieces that are worth a loop each."""


class NotInPieces(ValueError):
    """A value has too many pieces, or none that are known."""


@dataclass(frozen=True)
class Piece:
    """`slope * x + offset` for each position x from `start` on.

    Attributes:
        start: the first position.
        slope: by how much the value grows from one position to the next.
        offset: its value at position 0.
    """

    start: int
    slope: int
    offset: int

    def at(self, position: int) -> int:
        """The value at a position."""
        return self.slope * position + self.offset

    def __repr__(self) -> str:
        if not self.slope:
            return f"{self.start}: {self.offset}"
        factor = {1: "", -1: "-"}.get(self.slope, f"{self.slope} * ")
        sign = f" {'-' if self.offset < 0 else '+'} {abs(self.offset)}" if self.offset else ""
        return f"{self.start}: {factor}x{sign}"


def _comparison(compare: Callable[[int, int], bool]) -> Callable[[Pieces, Any], Pieces]:
    def compared(self: Pieces, other: Any) -> Pieces:
        pieces = []
        for piece, end in (self - other)._spans():
            starts = {piece.start}
            if piece.slope:
                # The order against 0 changes at the position that reaches 0, and behind that one.
                reached = -(piece.offset // piece.slope)
                near = range(reached - 1, reached + 3)
                starts |= {position for position in near if piece.start < position < end}
            pieces += [Piece(s, 0, int(compare(piece.at(s), 0))) for s in sorted(starts)]
        return Pieces(self.size, pieces)

    return compared


class Pieces:
    """A value for each position of a loop: `+ - * // %`, comparisons, `& |`.

    Args:
        size: the number of positions.
        pieces: in the order of their starts, the first from 0 on.

    Raises:
        NotInPieces: of the operators, where the result has too many pieces or none that are known.
    """

    __array_ufunc__ = None
    """NumPy's functions know nothing of pieces."""

    def __init__(self, size: int, pieces: list[Piece]) -> None:
        joined: list[Piece] = []
        for piece in pieces:
            if joined and (joined[-1].slope, joined[-1].offset) == (piece.slope, piece.offset):
                continue
            joined.append(piece)
        if len(joined) > MOST_PIECES:
            raise NotInPieces(f"{len(joined)} pieces")
        self.size = size
        self.pieces = tuple(joined)

    @classmethod
    def positions(cls, size: int) -> Pieces:
        """The position itself."""
        return cls(size, [Piece(0, 1, 0)])

    @property
    def starts(self) -> tuple[int, ...]:
        """The first position of each piece."""
        return tuple(piece.start for piece in self.pieces)

    def over(self, start: int) -> Piece:
        """The piece that holds a position."""
        return max((p for p in self.pieces if p.start <= start), key=lambda piece: piece.start)

    def __repr__(self) -> str:
        return ", ".join(map(repr, self.pieces))

    def __neg__(self) -> Pieces:
        return self * -1

    def __add__(self, other: Any) -> Pieces:
        return self._joined(other, lambda a, b: (a.slope + b.slope, a.offset + b.offset))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Pieces:
        return self._joined(other, lambda a, b: (a.slope - b.slope, a.offset - b.offset))

    def __rsub__(self, other: Any) -> Pieces:
        return (-self).__add__(other)

    def __mul__(self, other: Any) -> Pieces:
        def product(a: Piece, b: Piece) -> tuple[int, int]:
            if a.slope and b.slope:
                raise NotInPieces("a square")
            return a.slope * b.offset + b.slope * a.offset, a.offset * b.offset

        return self._joined(other, product)

    __rmul__ = __mul__

    def __floordiv__(self, divisor: Any) -> Pieces:
        if not isinstance(divisor, int) or divisor < 1:
            raise NotInPieces("a division by an expression that is not a positive number")
        return Pieces(self.size, [p for span in self._spans() for p in _quotients(*span, divisor)])

    def __mod__(self, divisor: Any) -> Pieces:
        return self.__sub__(self // divisor * divisor)

    def __and__(self, other: Any) -> Pieces:
        return self._joined(other, _of_constants(operator.and_))

    __rand__ = __and__

    def __or__(self, other: Any) -> Pieces:
        return self._joined(other, _of_constants(operator.or_))

    __ror__ = __or__

    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)
    # As of NumPy's arrays.
    __eq__, __ne__ = _comparison(operator.eq), _comparison(operator.ne)  # type: ignore[assignment]

    __hash__ = None  # type: ignore[assignment]  # a value that compares to pieces is not a key

    def _spans(self) -> Iterator[tuple[Piece, int]]:
        yield from zip(self.pieces, (*self.starts[1:], self.size), strict=True)

    def _joined(self, other: Any, join: Callable[[Piece, Piece], tuple[int, int]]) -> Pieces:
        """Return the pieces that `join` makes of the slopes and offsets of two values.

        A piece begins wherever either value begins one.
        """
        if not isinstance(other, Pieces):
            other = Pieces(self.size, [Piece(0, 0, int(other))])
        starts = sorted({*self.starts, *other.starts})
        pieces = [Piece(start, *join(self.over(start), other.over(start))) for start in starts]
        return Pieces(self.size, pieces)


def _of_constants(join: Callable[[int, int], int]) -> Callable[[Piece, Piece], tuple[int, int]]:
    def joined(a: Piece, b: Piece) -> tuple[int, int]:
        if a.slope or b.slope:
            raise NotInPieces("bits of a position")
        return 0, join(a.offset, b.offset)

    return joined


def _quotients(piece: Piece, end: int, divisor: int) -> list[Piece]:
    """A piece that ends at `end`, divided and rounded down."""
    if piece.slope % divisor == 0:
        return [Piece(piece.start, piece.slope // divisor, piece.offset // divisor)]
    first, last = piece.at(piece.start) // divisor, piece.at(end - 1) // divisor
    if abs(last - first) >= MOST_PIECES:
        raise NotInPieces(f"{abs(last - first) + 1} pieces")
    pieces = []
    start = piece.start
    for quotient in range(first, last + 1) if piece.slope > 0 else range(first, last - 1, -1):
        pieces.append(Piece(start, 0, quotient))
        # The last position with this quotient: of the greatest, or the smallest, dividend.
        if piece.slope > 0:
            start = (quotient * divisor + divisor - 1 - piece.offset) // piece.slope + 1
        else:
            start = (piece.offset - quotient * divisor) // -piece.slope + 1
    # A steep slope leaves quotients out.
    return [p for p, after in zip(pieces, [*pieces[1:], None], strict=True)
            if after is None or p.start < after.start]  # fmt: skip
