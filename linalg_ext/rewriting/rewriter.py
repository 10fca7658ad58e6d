"""The rewriter that a pattern gets: upstream's, with errors where that would crash."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from linalg_ext.bindings import ir, rewrite
from linalg_ext.errors import RewriteError
from linalg_ext.utils import other_libraries

Replacement: TypeAlias = "ir.Operation | ir.OpView | Sequence[ir.Value] | ir.Value"


class Rewriter:
    """Replaces and erases ops on behalf of one call of one pattern.

    The pattern runs with this rewriter's insertion point and the matched op's location current, so
    an op that it builds stands before the matched one and inherits its place in the source.
    """

    def __init__(self, upstream: rewrite.PatternRewriter, pass_name: str) -> None:
        self._upstream: rewrite.PatternRewriter | None = upstream
        self._pass_name = pass_name
        self._gone: list[tuple[ir.Operation, list[ir.Value] | None]] = []

    if not TYPE_CHECKING:  # a type checker that saw it would take every name for one that exists

        def __getattr__(self, name: str) -> NoReturn:
            raise other_libraries.no_attribute("a Rewriter", name, other_libraries.REWRITER)

    @property
    def ip(self) -> ir.InsertionPoint:
        """The insertion point: before the matched op."""
        return self._live().ip

    @property
    def has_changed(self) -> bool:
        """Return whether the pattern had an op replaced or erased."""
        return bool(self._gone)

    def replace_op(self, op: ir.Operation | ir.OpView, new: Replacement) -> None:
        """Put the values of `new` in the place of `op`'s results and erase `op`.

        It is done when the pattern has returned: until then `op` can be looked at as it was.

        Raises:
            RewriteError: the number or the types of the values are not those of the results.
        """
        values = _values(new)
        old_types = [result.type for result in op.operation.results]
        new_types = [value.type for value in values]
        if old_types != new_types:
            raise RewriteError(
                f"{self._pass_name} replaces {op.operation.name} by values of other types",
                where=str(op.operation.location),
                expected=f"({_listed(old_types)}), got ({_listed(new_types)})",
            )
        self._let_go(op, values)

    def erase_op(self, op: ir.Operation | ir.OpView) -> None:
        """Erase `op`, whose results have no uses, when the pattern has returned.

        Raises:
            RewriteError: a result still has users.
        """
        gone = [other for other, _ in self._gone]
        if any(use.owner not in gone for result in op.operation.results for use in result.uses):
            raise RewriteError(
                f"{self._pass_name} erases {op.operation.name} while its results are in use",
                where=str(op.operation.location),
                hint="replace it with replace_op, or rewrite its users first",
            )
        self._let_go(op, None)

    def finish(self) -> None:
        """Replace and erase what the pattern said, in its order."""
        upstream = self._live()
        for op, values in self._gone:
            if values is None:
                upstream.erase_op(op)
            else:
                upstream.replace_op(op, values)

    def release(self) -> None:
        """End the call: upstream's rewriter dies with it, and using it later would crash."""
        self._upstream = None

    def _let_go(self, op: ir.Operation | ir.OpView, values: list[ir.Value] | None) -> None:
        self._live()
        if any(op.operation == other for other, _ in self._gone):
            raise RewriteError(
                f"{self._pass_name} replaces or erases {op.operation.name} twice",
                where=str(op.operation.location),
                hint="an op that was replaced is erased with it",
            )
        self._gone.append((op.operation, values))

    def _live(self) -> rewrite.PatternRewriter:
        if self._upstream is None:
            raise RewriteError(
                f"the rewriter of {self._pass_name} was used after the pattern had returned",
                hint="use a rewriter only inside the call of the pattern that received it",
            )
        return self._upstream


def _values(new: Replacement) -> list[ir.Value]:
    if isinstance(new, ir.Operation | ir.OpView):
        return list(new.operation.results)
    if isinstance(new, ir.Value):
        return [new]
    return list(new)


def _listed(types: Sequence[ir.Type]) -> str:
    return ", ".join(map(str, types))
