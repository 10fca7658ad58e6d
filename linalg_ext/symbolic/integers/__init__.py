"""Numbers that may not be known yet, for offsets, sizes and strides.

    >>> i = Symbol("i", lower=0, upper=76, step=4)
    >>> minimum(4, 80 - i)
    4
    >>> n = Symbol("n", lower=0)
    >>> str(minimum(4, n.number - i))
    'min(4, n - i)'
    >>> is_le(i + minimum(4, n.number - i), n.number)
    True

A `Number` is an `int` or an `Expression`; arithmetic gives an `int` wherever all that is unknown
cancels. Questions are answered by True, False, or None for "it depends". A question whose answer
must be found out at run time is a `Truth`: a `bool`, or a `Condition` that `select` takes.
"""

from linalg_ext.symbolic.integers.bounds import is_eq, is_le, known_divisor, lower, upper
from linalg_ext.symbolic.integers.expression import (
    AllOf,
    AnyOf,
    Atom,
    Comparison,
    Condition,
    Expression,
    Extreme,
    Number,
    Operand,
    Product,
    Quotient,
    Relation,
    Remainder,
    Selection,
    Symbol,
    as_number,
)
from linalg_ext.symbolic.integers.operations import (
    Truth,
    all_of,
    any_of,
    at_most,
    below,
    ceildiv,
    clamped,
    decided,
    different,
    equal,
    evaluate,
    floordiv,
    holds,
    maximum,
    minimum,
    modulo,
    negated,
    product,
    select,
    substitute,
    symbols_of,
    total,
)

__all__ = [
    "AllOf",
    "AnyOf",
    "Atom",
    "Comparison",
    "Condition",
    "Expression",
    "Extreme",
    "Number",
    "Operand",
    "Product",
    "Quotient",
    "Relation",
    "Remainder",
    "Selection",
    "Symbol",
    "Truth",
    "all_of",
    "any_of",
    "as_number",
    "at_most",
    "below",
    "ceildiv",
    "clamped",
    "decided",
    "different",
    "equal",
    "evaluate",
    "floordiv",
    "holds",
    "is_eq",
    "is_le",
    "known_divisor",
    "lower",
    "maximum",
    "minimum",
    "modulo",
    "negated",
    "product",
    "select",
    "substitute",
    "symbols_of",
    "total",
    "upper",
]
