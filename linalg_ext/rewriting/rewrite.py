"""`@rewrite`: a pattern function becomes a rewrite that runs on modules and in pipelines.

@rewrite("linalg-ext-shift-for-division", on="arith.divui")
def shift_for_division(op: arith.DivUIOp, rewriter: Rewriter) -> bool:
    '''Divide by a power of two with a shift.'''
    ...
    rewriter.replace_op(op, shift)
    return True

shift_for_division(module)                       # a Report
module.run("linalg-ext-shift-for-division,cse")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

from linalg_ext.bindings import ir
from linalg_ext.bindings import rewrite as upstream
from linalg_ext.errors import ArgumentError, RewriteError, counted
from linalg_ext.ir.context import ensure_dialects
from linalg_ext.rewriting.registry import register
from linalg_ext.rewriting.report import MatchFailure, Report
from linalg_ext.rewriting.transformation import Roots, Transformation, op_names
from linalg_ext.structured.group import GROUPS, in_preserved_group
from linalg_ext.utils import other_libraries

Replacement: TypeAlias = "ir.Operation | ir.OpView | Sequence[ir.Value] | ir.Value"


class Rewriter:
    """Replaces and erases ops on behalf of one call of one pattern.

    The pattern runs with this rewriter's insertion point and the matched op's location current, so
    an op that it builds stands before the matched one and inherits its place in the source.
    """

    def __init__(self, rewriter: upstream.PatternRewriter, pass_name: str) -> None:
        self._upstream: upstream.PatternRewriter | None = rewriter
        self._pass_name = pass_name
        self._changes: list[tuple[ir.Operation, list[ir.Value] | None]] = []

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
        return bool(self._changes)

    def replace_op(self, op: ir.Operation | ir.OpView, new: Replacement) -> None:
        """Put the values of `new` in the place of `op`'s results and erase `op`.

        It is done when the pattern has returned: until then `op` can be read.

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
        self._note_change(op, values)

    def erase_op(self, op: ir.Operation | ir.OpView) -> None:
        """Erase `op`, whose results have no uses, when the pattern has returned.

        Raises:
            RewriteError: a result still has users.
        """
        erased = [other for other, _ in self._changes]
        if any(use.owner not in erased for result in op.operation.results for use in result.uses):
            raise RewriteError(
                f"{self._pass_name} erases {op.operation.name} while its results are in use",
                where=str(op.operation.location),
                hint="replace it with replace_op, or rewrite its users first",
            )
        self._note_change(op, None)

    def finish(self) -> None:
        """Replace and erase ops as the pattern asked, in its order."""
        live = self._live()
        for op, values in self._changes:
            if values is None:
                live.erase_op(op)
            else:
                live.replace_op(op, values)

    def release(self) -> None:
        """End the call: upstream's rewriter dies with it, and using it later would crash."""
        self._upstream = None

    def _note_change(self, op: ir.Operation | ir.OpView, values: list[ir.Value] | None) -> None:
        self._live()
        if any(op.operation == other for other, _ in self._changes):
            raise RewriteError(
                f"{self._pass_name} replaces or erases {op.operation.name} twice",
                where=str(op.operation.location),
                hint="an op that was replaced is erased with it",
            )
        self._changes.append((op.operation, values))

    def _live(self) -> upstream.PatternRewriter:
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


Pattern: TypeAlias = Callable[..., "bool | MatchFailure"]
Driver: TypeAlias = Literal["greedy", "walk"]

_DRIVERS = ("greedy", "walk")
_REWRITES_PER_OP = 1000
"""A pattern that makes work for itself for ever must end in an error, not in a hang."""


class Rewrite(Transformation):
    """A pattern with its name, its root ops and its driver.

    Attributes:
        pattern: the function `(op, rewriter, *, options) -> bool`, True where it changed the op.
        benefit: which of several patterns on one op is tried first.
        driver: "greedy" (to a fixed point, folding on the way) or "walk" (each op once).
    """

    def __init__(
        self, pass_name: str, pattern: Pattern, *, on: Roots | None, benefit: int, driver: Driver
    ) -> None:
        super().__init__(pass_name, pattern, reserved=2, on=on)
        if driver not in _DRIVERS:
            raise ArgumentError(
                f"{pass_name} has the unknown driver {driver!r}", expected=" or ".join(_DRIVERS)
            )
        self.pattern = pattern
        self.benefit = benefit
        self.driver = driver

    def apply(self, op: ir.Operation | ir.OpView, /, **options: Any) -> Report:
        """Rewrite the ops in `op`, in place and without verifying; handles into it go stale.

        Raises:
            RewriteError: the pattern misuses its rewriter, names an op that does not exist, or
                never comes to rest.
        """
        root = op.operation
        report = Report(self.pass_name)
        self._check_names(root.context)
        counts = op_names(root)
        report.matched.update({name: n for name, n in counts.items() if self._accepts(name)})
        roots = set(report.matched)
        has_groups = any(name in counts for name in GROUPS)
        while roots:
            before = report.changed.total()
            most = _REWRITES_PER_OP * (10 + counts.total())
            self._drive(root, roots | set(self._names), report, options, has_groups, most)
            if self._names or report.changed.total() == before:
                break
            # The pattern itself may make ops of names that the set of patterns did not have.
            counts = op_names(root)
            appeared = {name for name in counts if self._accepts(name)} - roots
            if not appeared:
                break
            roots |= appeared
        return report

    def fold(self, op: ir.Operation) -> None:
        """Fold as the greedy driver does; the other folds nothing."""
        if self.driver == "greedy":
            with op.context:
                patterns = upstream.RewritePatternSet().freeze()
                upstream.apply_patterns_and_fold_greedily(op, patterns)

    def _drive(
        self,
        root: ir.Operation,
        names: set[str],
        report: Report,
        options: dict[str, Any],
        has_groups: bool,
        most: int,
    ) -> None:
        def adapted(op: ir.Operation | ir.OpView, rewriter: upstream.PatternRewriter) -> bool:
            if has_groups and in_preserved_group(op.operation):
                report.leave(op.operation.name, "the op is in a group that is marked preserve")
                return True
            return not self._call(op, rewriter, report, options)

        with root.context:
            patterns = upstream.RewritePatternSet()
            for name in sorted(names):
                patterns.add(name, adapted, self.benefit)
            frozen = patterns.freeze()
            if self.driver == "walk":
                upstream.walk_and_apply_patterns(root, frozen)
                return
            config = upstream.GreedyRewriteConfig()
            config.max_num_rewrites = most
            try:
                upstream.apply_patterns_and_fold_greedily(root, frozen, config)
            except RuntimeError as error:
                # A pattern's own exceptions pass through unchanged.
                if "failed to converge" not in str(error):
                    raise
                raise RewriteError(
                    f"{self.pass_name} does not converge: its pattern changed ops "
                    f"{counted(report.changed.total(), 'time')}, its own results among them",
                    expected=f"no change after at most {config.max_iterations} rounds and "
                    f"{config.max_num_rewrites} changes",
                    hint="return True only where the op changed, and do not match the result",
                ) from None

    def _call(
        self,
        op: ir.Operation | ir.OpView,
        rewriter: upstream.PatternRewriter,
        report: Report,
        options: dict[str, Any],
    ) -> bool:
        name, location = op.operation.name, op.operation.location
        own = Rewriter(rewriter, self.pass_name)
        try:
            with rewriter.ip, location:
                answer = self.pattern(op, own, **options)
            own.finish()
        except Exception as error:
            error.add_note(f"in the rewrite {self.pass_name}, of {name} at {location}")
            raise
        finally:
            own.release()
        if isinstance(answer, MatchFailure):
            report.leave(name, answer.reason)
        elif not isinstance(answer, bool):
            raise RewriteError(
                f"the pattern of {self.pass_name} returned {answer!r}",
                expected="True where it changed the op, else False or MatchFailure(reason)",
            )
        # An op that was replaced or erased counts as changed, whatever the pattern returned.
        is_changed = bool(answer) or own.has_changed
        if is_changed:
            report.changed[name] += 1
        return is_changed

    def _check_names(self, context: ir.Context) -> None:
        ensure_dialects(context)  # a context of upstream's, where a pattern may build ops of ours
        # Upstream accepts a name that no dialect has, and then never matches it.
        for name in self._names:
            if not context.is_registered_operation(name):
                raise RewriteError(
                    f"{self.pass_name} matches {name!r}, which is not an op of this build of MLIR",
                    hint="mend the name in on=...",
                )


def rewrite(
    pass_name: str, *, on: Roots | None, benefit: int = 1, driver: Driver = "greedy"
) -> Callable[[Pattern], Rewrite]:
    """Make a pattern function a `Rewrite`, registered by its name for pipelines.

    Args:
        pass_name: its name in pipelines: lower-case words joined by dashes.
        on: the ops to look at: a name, an op class, several of them, a predicate on names, or None
            for every op.
        benefit: which of several patterns on one op is tried first.
        driver: "greedy" (to a fixed point, folding on the way) or "walk" (each op once).

    The function's keyword-only parameters are the rewrite's options.
    """

    def decorate(pattern: Pattern) -> Rewrite:
        new = Rewrite(pass_name, pattern, on=on, benefit=benefit, driver=driver)
        register(new)
        return new

    return decorate
