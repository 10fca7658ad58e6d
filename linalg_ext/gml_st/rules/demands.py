"""Assertions on sizes known only at run time, next to an op that is built on parts.

An op on whole tensors asserts that its sizes fit where it is lowered. Parts fit by construction, so
the requirement on the whole needs an assertion of its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from linalg_ext.bindings import arith, cf, ir
from linalg_ext.gml_st.rules.protocol import Unserved
from linalg_ext.structured.sizes import value_of
from linalg_ext.symbolic.integers import Number, is_eq, is_le

_EQUAL, _AT_MOST = arith.CmpIPredicate.eq, arith.CmpIPredicate.sle


def demand(
    op: ir.Operation,
    *,
    equal: Iterable[tuple[Number, Number]] = (),
    at_most: Iterable[tuple[Number, Number]] = (),
) -> None:
    """Assert at the insertion point what is not known already.

    Raises:
        Unserved: it is known not to hold. Then nothing was built.
    """
    asked = [(pair, is_eq(*pair), _EQUAL) for pair in equal]
    asked += [(pair, is_le(*pair), _AT_MOST) for pair in at_most]
    if any(known is False for _, known, _ in asked):
        raise Unserved(f"the sizes of {op.name} do not fit")
    open_ = [(pair, predicate) for pair, known, predicate in asked if known is None]
    truths = [
        arith.CmpIOp(predicate, value_of(left), value_of(right)).result
        for (left, right), predicate in dict.fromkeys(open_)
    ]
    if truths:
        all_hold, *others = truths
        for other in others:
            all_hold = arith.AndIOp(all_hold, other).result
        cf.AssertOp(all_hold, f"{op.name}: the sizes do not fit")


def known_size(*sizes: Number) -> Number:
    """One of sizes that ought to be equal: a number where there is one."""
    return next((size for size in sizes if isinstance(size, int)), sizes[0])
