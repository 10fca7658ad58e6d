"""The choice of the op that casts elements of one type to another."""

from __future__ import annotations


def cast_between(source: str, target: str, *, unsigned: bool = False) -> str | None:
    """The op that casts elements of one type to another, none of them complex or boolean.

    Args:
        source: the type, as MLIR spells it.
        target: the other one.
        unsigned: whether integers are read as unsigned.
    """
    kinds = _kind(source), _kind(target)
    if None in kinds or source == target:
        return None
    widens = _width(source) < _width(target)
    if kinds == ("f", "f"):
        if _width(source) == _width(target):
            return None
        return "arith.extf" if widens else "arith.truncf"
    if kinds == ("i", "i"):
        if not widens:
            return "arith.trunci"
        return "arith.extui" if unsigned else "arith.extsi"
    if kinds == ("i", "f"):
        return "arith.uitofp" if unsigned else "arith.sitofp"
    return None


def _kind(element: str) -> str | None:
    if element in ("f16", "bf16", "f32", "f64"):
        return "f"
    return "i" if element in ("i8", "i16", "i32", "i64") else None


def _width(element: str) -> int:
    return int(element.lstrip("bfi"))
