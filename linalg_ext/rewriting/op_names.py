"""Names of ops, and the selection of those that a transformation looks at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeAlias

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError

Roots: TypeAlias = "str | type[ir.OpView] | Iterable[str | type[ir.OpView]] | Callable[[str], bool]"
"""Ops to look at: a name, an op class, several of them, or a predicate on names."""


def op_names(root: ir.Operation) -> Counter[str]:
    """Count the ops that `root` holds by name; `root` itself is not counted."""
    names: list[str] = []
    advance = ir.WalkResult.ADVANCE

    def visit(op: ir.Operation) -> ir.WalkResult:
        names.append(op.name)
        return advance

    for region in root.regions:
        for block in region:
            for op in block:
                op.operation.walk(visit)
    return Counter(names)


def selector(on: Roots | None, pass_name: str) -> tuple[Callable[[str], bool], frozenset[str]]:
    """A predicate on op names, and the names themselves where `on` lists them.

    Raises:
        ArgumentError: `on` is none of what `Roots` may be.
    """
    if on is None:
        return (lambda _: True), frozenset()
    if isinstance(on, str) or (isinstance(on, type) and issubclass(on, ir.OpView)):
        on = (on,)
    if isinstance(on, Iterable):
        names = frozenset(_name(root, pass_name) for root in on)
        return names.__contains__, names
    if callable(on) and not isinstance(on, type):
        return on, frozenset()
    raise ArgumentError(
        f"{pass_name} cannot match on {on!r}",
        expected="an op name, an op class, several of them, a predicate on names, or None",
    )


def _name(root: object, pass_name: str) -> str:
    if isinstance(root, str):
        return root
    if isinstance(root, type) and issubclass(root, ir.OpView):
        return str(getattr(root, "OPERATION_NAME", root.__name__))
    raise ArgumentError(
        f"{pass_name} cannot match on {root!r}", expected="an op name or an op class"
    )
