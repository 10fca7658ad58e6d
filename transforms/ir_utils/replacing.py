"""Putting in the place of ops what is built from them, one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report

from .walking import replace_op


def replace_each(name: str, ops: Iterable[Any], build: Callable[[Any], Any]) -> Report:
    """Put in the place of each op what `build` makes of it, and erase it.

    Args:
        name: of the pass, for its report.
        ops: those that it matches.
        build: called with the op, at its place and location. Gives the value of the only result, a
            list of the values of all, or a text: why the op is left. None leaves it without a word.
    """
    report = Report(name)
    for op in ops:
        report.matched[op.name] += 1
        with op.location, ir.InsertionPoint(op):
            made = build(op)
        if isinstance(made, str):
            report.leave(op.name, made)
        elif made is not None:
            report.changed[op.name] += 1
            replace_op(op, *(made if isinstance(made, list) else [made]))
    return report
