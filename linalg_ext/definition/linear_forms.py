"""Linear forms: an index as multiples of dimensions, and a constant.

>>> m, n = AffineDim("m"), AffineDim("n")
>>> linear_terms(m * 2 + n - 1)
({'m': 2, 'n': 1}, -1)
>>> linear_terms(m // 2 + n) is None
True
>>> factor_of(m // 2 + n, "n")
1
"""

from __future__ import annotations

from linalg_ext.definition.affine import (
    AffineBinary,
    AffineDim,
    AffineExpr,
    AffineKind,
    constant_value,
)


def terms_of(expr: AffineExpr) -> tuple[dict[AffineExpr, int], int]:
    """Return the factors of all terms that are no sums, and the constant.

    A term is a dimension, a symbol, a quotient, a remainder, or a product with a symbol.
    """
    value = constant_value(expr)
    if value is not None:
        return {}, value
    if isinstance(expr, AffineBinary) and expr.kind is AffineKind.ADD:
        (left, one), (right, other) = terms_of(expr.lhs), terms_of(expr.rhs)
        sums = {term: left.get(term, 0) + right.get(term, 0) for term in {**left, **right}}
        return {term: factor for term, factor in sums.items() if factor}, one + other
    if isinstance(expr, AffineBinary) and expr.kind is AffineKind.MUL:
        by = constant_value(expr.rhs)
        if by is not None:
            terms, constant = terms_of(expr.lhs)
            return {term: factor * by for term, factor in terms.items()}, constant * by
    return {expr: 1}, 0


def linear_terms(expr: AffineExpr) -> tuple[dict[str, int], int] | None:
    """Return the factors of dimensions, and the constant; None if there is another term."""
    if isinstance(expr, AffineDim):  # as most are
        return {expr.name: 1}, 0
    terms, constant = terms_of(expr)
    factors = {term.name: factor for term, factor in terms.items() if isinstance(term, AffineDim)}
    return (factors, constant) if len(factors) == len(terms) else None


def factor_of(expr: AffineExpr, dim: str) -> int | None:
    """Return the factor of one dimension; None if the expression is not linear in it."""
    if isinstance(expr, AffineDim):
        return int(expr.name == dim)
    terms, _ = terms_of(expr)
    factor = terms.pop(AffineDim(dim), 0)
    return None if any(dim in term.dims for term in terms) else factor
