"""`D.m` is a dimension, `S.M` a symbol: one namespace each, equal names are equal."""

from __future__ import annotations

from linalg_ext.definition.affine import AffineDim, AffineSymbol


class _Dims:
    """`D.name` is the dimension of that name."""

    def __getattr__(self, name: str) -> AffineDim:
        if name.startswith("__"):
            raise AttributeError(name)
        return AffineDim(name)


class _Symbols:
    """`S.name` is the symbol of that name."""

    def __getattr__(self, name: str) -> AffineSymbol:
        if name.startswith("__"):
            raise AttributeError(name)
        return AffineSymbol(name)


D = _Dims()
S = _Symbols()
