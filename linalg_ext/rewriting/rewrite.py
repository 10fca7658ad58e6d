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

from collections.abc import Callable, Collection
from typing import Any, Literal, TypeAlias

from linalg_ext.bindings import ir
from linalg_ext.bindings import rewrite as upstream
from linalg_ext.errors import ArgumentError, RewriteError
from linalg_ext.ir.context import ensure_dialects
from linalg_ext.rewriting.op_names import Roots, op_names, selector
from linalg_ext.rewriting.registry import register
from linalg_ext.rewriting.report import MatchFailure, Report
from linalg_ext.rewriting.rewriter import Rewriter
from linalg_ext.rewriting.transformation import Transformation
from linalg_ext.structured.group import GROUPS, in_preserved_group

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
        super().__init__(pass_name, pattern, reserved=2)
        if driver not in _DRIVERS:
            raise ArgumentError(
                f"{pass_name} asks for the driver {driver!r}", expected=" or ".join(_DRIVERS)
            )
        self.pattern = pattern
        self.benefit = benefit
        self.driver = driver
        self._accepts, self._names = selector(on, pass_name)

    def apply(self, op: ir.Operation | ir.OpView, /, **options: Any) -> Report:
        """Rewrite what `op` holds, in place and without verifying; handles into it go stale.

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
        keeps = any(name in counts for name in GROUPS)
        while roots:
            before = report.changed.total()
            most = _REWRITES_PER_OP * (10 + counts.total())
            self._drive(root, roots | set(self._names), report, options, keeps, most)
            if self._names or report.changed.total() == before:
                break
            # Names that the set of patterns did not have yet, made by the pattern itself.
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

    def has_work(self, names: Collection[str]) -> bool:
        """Return whether some op of these names is one of its root ops."""
        return any(map(self._accepts, names))

    def _drive(
        self,
        root: ir.Operation,
        names: set[str],
        report: Report,
        options: dict[str, Any],
        keeps: bool,
        most: int,
    ) -> None:
        def adapted(op: ir.Operation | ir.OpView, rewriter: upstream.PatternRewriter) -> bool:
            if keeps and in_preserved_group(op.operation):
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
                # A pattern's own exceptions pass through here too, as they are.
                if "failed to converge" not in str(error):
                    raise
                raise RewriteError(
                    f"{self.pass_name} does not converge: it rewrites its own results again, "
                    f"{report.changed.total()} times so far",
                    expected=f"an end of rewriting after {config.max_iterations} rounds at most, "
                    f"and {config.max_num_rewrites} rewrites at most",
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
        ours = Rewriter(rewriter, self.pass_name)
        try:
            with rewriter.ip, location:
                answer = self.pattern(op, ours, **options)
            ours.finish()
        except Exception as error:
            error.add_note(f"in the rewrite {self.pass_name}, of {name} at {location}")
            raise
        finally:
            ours.release()
        if isinstance(answer, MatchFailure):
            report.leave(name, answer.reason)
        elif not isinstance(answer, bool):
            raise RewriteError(
                f"the pattern of {self.pass_name} returned {answer!r}",
                expected="True where it changed the op, else False or MatchFailure(reason)",
            )
        # What was replaced or erased is changed, whatever the pattern says of it.
        is_changed = bool(answer) or ours.has_changed
        if is_changed:
            report.changed[name] += 1
        return is_changed

    def _check_names(self, context: ir.Context) -> None:
        ensure_dialects(context)  # it may be made elsewhere, and a pattern may build ops of ours
        # Upstream takes a name that no dialect has, and then never matches it.
        for name in self._names:
            if not context.is_registered_operation(name):
                raise RewriteError(
                    f"{self.pass_name} matches {name!r}, which is no op of this build of MLIR",
                    hint="mend the name in on=...",
                )


def rewrite(
    pass_name: str, *, on: Roots | None, benefit: int = 1, driver: Driver = "greedy"
) -> Callable[[Pattern], Rewrite]:
    """Make a pattern function a `Rewrite`, registered by its name for pipelines.

    Args:
        pass_name: `linalg-ext-...`.
        on: the ops to look at: a name, an op class, several of them, a predicate on names, or None
            for every op.
        benefit: which of several patterns on one op is tried first.
        driver: "greedy" (to a fixed point, folding on the way) or "walk" (each op once).

    The function's keyword-only parameters are the rewrite's options.
    """

    def decorate(pattern: Pattern) -> Rewrite:
        made = Rewrite(pass_name, pattern, on=on, benefit=benefit, driver=driver)
        register(made)
        return made

    return decorate
