"""`@module_pass`: a function on a whole op becomes a pass that runs on modules and in pipelines."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeAlias

from linalg_ext.bindings import ir
from linalg_ext.errors import RewriteError
from linalg_ext.rewriting.op_names import Roots, selector
from linalg_ext.rewriting.registry import register
from linalg_ext.rewriting.report import Report
from linalg_ext.rewriting.transformation import Transformation

PassFunction: TypeAlias = Callable[..., "Report | None"]


class ModulePass(Transformation):
    """A function `(op, *, options)` on a whole op, with its name."""

    def __init__(self, pass_name: str, function: PassFunction, *, on: Roots | None = None) -> None:
        super().__init__(pass_name, function, reserved=1)
        self._accepts, _ = selector(on, pass_name)

    def has_work(self, names: Collection[str]) -> bool:
        """Return whether some op of these names is one that it looks at."""
        return any(map(self._accepts, names))

    def apply(self, op: ir.Operation | ir.OpView, /, **options: Any) -> Report:
        """Run the function on `op`, in place and without verifying; handles into it go stale."""
        with op.operation.context, op.operation.location:
            answer = self.function(op.operation, **options)
        if answer is None:
            return Report(self.pass_name)
        if not isinstance(answer, Report):
            raise RewriteError(
                f"the function of {self.pass_name} returned {answer!r}",
                expected="a Report, or nothing",
            )
        return answer


def module_pass(pass_name: str, *, on: Roots | None = None) -> Callable[[PassFunction], ModulePass]:
    """Make a function on a whole op a `ModulePass`, registered by its name for pipelines.

    The function gets the op that the pass is anchored on (the module, by default)
    with its context and location current, changes it in place, and may return a `Report`. Its
    keyword-only parameters are the pass's options.

    Args:
        pass_name: `linalg-ext-...`.
        on: the ops that it looks at, as for `rewrite`: where a module holds none of them, it has
            nothing to do and need not run. None: it may act on any.
    """

    def decorate(function: PassFunction) -> ModulePass:
        made = ModulePass(pass_name, function, on=on)
        register(made)
        return made

    return decorate
