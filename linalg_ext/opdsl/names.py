"""`D.m` is a dimension, `S.M` a symbol: one namespace each, equal names are one object."""

from __future__ import annotations

from linalg_ext.definition.affine import AffineDim, AffineSymbol


class _Dims:
    """`D.name` is the dimension of that name."""

    def __getattr__(self, name: str) -> AffineDim:
        if name.startswith("__"):
            raise AttributeError(name)
        # One object for each name, as in upstream's OpDSL: the next look-up finds it here.
        found: AffineDim = vars(self).setdefault(name, AffineDim(name))
        return found


class _Symbols:
    """`S.name` is the symbol of that name."""

    def __getattr__(self, name: str) -> AffineSymbol:
        if name.startswith("__"):
            raise AttributeError(name)
        found: AffineSymbol = vars(self).setdefault(name, AffineSymbol(name))
        return found


D = _Dims()
S = _Symbols()
