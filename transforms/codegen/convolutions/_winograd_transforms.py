"""The transforms of Winograd's convolution F(2x2, 3x3), as ops on numbers or vectors.

Four neighbouring results of a 3 x 3 convolution come of a 4 x 4 part of the input, a tile. Toom and
Cook's interpolation at 0, 1, -1 and infinity (S. Winograd, 1980) makes them of 16 products, where
there are 36 otherwise. For many channels (A. Lavin and S. Gray, CVPR 2016) each of the 16 is a sum
over channels: a product of matrices. In two dimensions each transform is done along both:

    of inputs    d0 - d2, d1 + d2, d2 - d1, d1 - d3
    of filters   g0, (g0 + g1 + g2) / 2, (g0 - g1 + g2) / 2, g2
    of sums      m0 + m1 + m2, m1 - m2 - m3

An infinity in a tile may become NaN, since it is subtracted from itself. No element reaches a
result that it has no part in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from linalg_ext.transforms.codegen.base.writer import Writer

TILE = 4
"""Rows and columns of the input that a tile has; twice that is 16 products."""

RESULTS = 2
"""Rows and columns of results that a tile gives."""

TAPS = 3
"""Rows and columns of a filter."""

POINTS = TILE * TILE
"""Products of matrices."""

Grid = Sequence[Sequence[str]]
"""Names of values, row by row."""

_Line = Callable[["_Arithmetic", Sequence[str]], list[str]]


def transform_inputs(w: Writer, type_: str, tile: Grid) -> list[str]:
    """The 16 factors that a 4 x 4 tile of the input gives."""
    return _along_both(_Arithmetic(w, type_), tile, _of_inputs)


def transform_filter(w: Writer, type_: str, taps: Grid) -> list[str]:
    """The 16 factors that a 3 x 3 filter gives."""
    return _along_both(_Arithmetic(w, type_), taps, _of_filters)


def transform_sums(w: Writer, type_: str, sums: Sequence[str]) -> Grid:
    """The 2 x 2 results that 16 sums of products give."""
    rows = [sums[at : at + TILE] for at in range(0, POINTS, TILE)]
    results = _along_both(_Arithmetic(w, type_), rows, _of_sums)
    return [results[at : at + RESULTS] for at in range(0, RESULTS * RESULTS, RESULTS)]


def _along_both(arithmetic: _Arithmetic, grid: Grid, line: _Line) -> list[str]:
    """A transform along each row, and then along each column; row by row."""
    rows = [line(arithmetic, row) for row in grid]
    columns = [line(arithmetic, column) for column in zip(*rows, strict=True)]
    return [value for row in zip(*columns, strict=True) for value in row]


def _of_inputs(a: _Arithmetic, d: Sequence[str]) -> list[str]:
    return [a.sub(d[0], d[2]), a.add(d[1], d[2]), a.sub(d[2], d[1]), a.sub(d[1], d[3])]


def _of_filters(a: _Arithmetic, g: Sequence[str]) -> list[str]:
    outer = a.add(g[0], g[2])
    return [g[0], a.half(a.add(outer, g[1])), a.half(a.sub(outer, g[1])), g[2]]


def _of_sums(a: _Arithmetic, m: Sequence[str]) -> list[str]:
    return [a.add(m[0], a.add(m[1], m[2])), a.sub(a.sub(m[1], m[2]), m[3])]


class _Arithmetic:
    """Writes sums and differences of values of a type."""

    def __init__(self, w: Writer, type_: str) -> None:
        self._w = w
        self._type = type_

    def add(self, left: str, right: str) -> str:
        return self._w.op(f"arith.addf {left}, {right} : {self._type}")

    def sub(self, left: str, right: str) -> str:
        return self._w.op(f"arith.subf {left}, {right} : {self._type}")

    def half(self, value: str) -> str:
        number = "dense<0.5>" if self._type.startswith("vector") else "0.5"
        half = self._w.constant(number, self._type)
        return self._w.op(f"arith.mulf {value}, {half} : {self._type}")
