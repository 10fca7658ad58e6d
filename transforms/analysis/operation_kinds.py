"""The operations of payloads by their cost: the names of a machine's figures."""

from __future__ import annotations

_NO_WORK = frozenset({"arith.constant", "linalg.yield", "linalg.index", "arith.index_cast"})
_DIVISIONS = ("arith.div", "arith.rem", "arith.ceildiv", "arith.floordiv")
_SIMPLE = "absf absi copysign fma floor ceil trunc round roundeven clampf isnan isinf isfinite"
_SIMPLE_MATH = frozenset(_SIMPLE.split())


def operation_kind(name: str) -> str | None:
    """Return the kind of an op of a payload, for `Figures.function_rate`; None of a free one."""
    if name in _NO_WORK:
        return None
    if name.startswith(_DIVISIONS):
        return "divide"
    dialect, _, function = name.partition(".")
    if dialect == "math" and function not in _SIMPLE_MATH:
        return function
    return "simple"
