"""`@module_pass`: a function on a whole op becomes a pass that runs on modules and in pipelines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from linalg_ext.bindings import ir
from linalg_ext.errors import RewriteError
from linalg_ext.rewriting.registry import register
from linalg_ext.rewriting.report import Report
from linalg_ext.rewriting.transformation import Transformation

PassFunction: TypeAlias = Callable[..., "Report | None"]


class ModulePass(Transformation):
    """A function `(op, *, options)` on a whole op, with its name."""

    def __init__(self, pass_name: str, function: PassFunction) -> None:
        super().__init__(pass_name, function, reserved=1)

    def apply(self, op: ir.Operation | ir.OpView, **options: Any) -> Report:
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


def module_pass(pass_name: str) -> Callable[[PassFunction], ModulePass]:
    """Make a function on a whole op a `ModulePass`, registered by its name for pipelines.

    The function gets the op that the pass is anchored on (the module, where nothing else is said)
    with its context and location current, changes it in place, and may return a `Report`. Its
    keyword-only parameters are the pass's options.
    """

    def decorate(function: PassFunction) -> ModulePass:
        made = ModulePass(pass_name, function)
        register(made)
        return made

    return decorate
