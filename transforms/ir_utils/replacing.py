"""Putting in the place of ops what is built from them, one after another."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import ModulePass, Report, module_pass

from .walking import operations, replace_op

Build = Callable[[Any], Any]
"""Builds what takes the place of an op, at its place and location.

It gives the value of the only result, a list of the values of all, or a text: why the op is left.
None leaves it without a word.
"""


def replace_each(name: str, ops: Iterable[Any], build: Build) -> Report:
    """Put in the place of each op what `build` makes of it, and erase it.

    Args:
        name: of the pass, for its report.
        ops: those that it matches.
        build: makes the values of an op.
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


def lowering_pass(name: str, *on: str) -> Callable[[Build], ModulePass]:
    """Make a function of an op a pass that puts what it builds in the place of all such ops.

    Args:
        name: `linalg-ext-...`.
        on: the names of the ops.
    """

    def decorate(build: Build) -> ModulePass:
        @module_pass(name, on=on)
        @functools.wraps(build)
        def lower(module: ir.Operation) -> Report:
            return replace_each(name, operations(module, on), build)

        _BUILDS[name] = dict.fromkeys(on, build)
        return lower

    return decorate


def builds_of(*passes: ModulePass) -> Mapping[str, Build]:
    """Return the functions of lowering passes, by the names of the ops."""
    return {op: build for each in passes for op, build in _BUILDS[each.pass_name].items()}


def replace_all(name: str, module: ir.Operation, builds: Mapping[str, Build]) -> Report:
    """Do what several lowering passes do in one walk.

    Args:
        name: of the pass that does so.
        module: what is walked.
        builds: as `builds_of` gives them.
    """
    return replace_each(name, operations(module, builds), lambda op: builds[op.name](op))


_BUILDS: dict[str, dict[str, Build]] = {}
"""The function for each op of a lowering pass, by the name of the pass."""
