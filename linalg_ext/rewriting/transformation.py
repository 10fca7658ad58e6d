"""The base of rewrites and module passes: a name, options, and the run on a module."""

from __future__ import annotations

import inspect
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from functools import update_wrapper
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError
from linalg_ext.module import ModuleLike, as_module
from linalg_ext.rewriting.op_names import op_names
from linalg_ext.rewriting.options import PassOption, declared_options
from linalg_ext.rewriting.report import Report

_PASS_NAME = re.compile(r"linalg-ext(-[a-z0-9]+)+")


class Transformation(ABC):
    """A named transformation of modules, written in Python.

    Calling it on a module runs it on a clone, verifies that, and puts it in the module's place: on
    failure the module is as it was. In a textual pipeline it goes by `pass_name`.

    Attributes:
        pass_name: its name in pipelines, `linalg-ext-...`.
        summary: the first line of its documentation.
        options: its options, by the names they have in Python.
    """

    def __init__(self, pass_name: str, function: Callable[..., Any], *, reserved: int) -> None:
        if not _PASS_NAME.fullmatch(pass_name):
            raise ArgumentError(
                f"{pass_name!r} cannot name a pass of this library",
                expected="lower-case words joined by dashes, `linalg-ext-` first",
            )
        self.pass_name = pass_name
        self.function = function
        self.options: dict[str, PassOption] = declared_options(function, reserved, pass_name)
        update_wrapper(self, function)

    @property
    def summary(self) -> str:
        """One line about it."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @abstractmethod
    def apply(self, op: ir.Operation | ir.OpView, /, **options: Any) -> Report:
        """Transform what `op` holds, in place and without verifying; handles into it go stale."""

    def fold(self, op: ir.Operation) -> None:
        """Do to what `op` holds what the driver does of itself: nothing, where it folds nothing."""
        del op

    def account(
        self,
        report: Report,
        before: ir.Operation,
        after: ir.Operation,
        fold: Callable[[ir.Operation], None] | None = None,
    ) -> None:
        """Add to a report what the transformation did not count.

        Args:
            report: of a run on a module, from `apply`.
            before: the module as it was.
            after: the module after the run.
            fold: has done to a module what the driver did of itself; `self.fold` by default.
        """
        if not report and _written(before) == _written(after):
            return
        folded = before.clone()
        (fold or self.fold)(folded.operation)
        report.folded.update(op_names(before) - op_names(folded.operation))
        if report.changed.total():
            return
        written = _written(folded.operation)
        if not report.folded and written != _written(before):
            report.folded[before.name] += 1
        report.uncounted = written != _written(after)

    def has_work(self, names: Collection[str]) -> bool:
        """Return whether it may do anything where the only ops are of these names."""
        return True

    def __call__(self, module: ModuleLike, **options: Any) -> Report:
        """Transform a module. The report's `module` is the result.

        Raises:
            VerificationError: what came out breaks a rule of one of its ops.
        """
        self.check_options(options)
        target = as_module(module)
        clone = target.clone()
        report = self.apply(clone.ir.operation, **options)
        clone.verify(after=self.pass_name)
        self.account(report, target.ir.operation, clone.ir.operation)
        target.swap(clone)
        report.module = target
        return report

    def check_options(self, options: dict[str, Any]) -> None:
        """Raise `ArgumentError` for an option that this pass does not have."""
        for name in options:
            if name not in self.options:
                raise ArgumentError(
                    f"{self.pass_name} has no option {name!r}",
                    expected=", ".join(self.options) or "no options",
                )

    def __repr__(self) -> str:
        rows = [f"{self.pass_name}: {self.summary}"]
        rows += [f"  {option}" for option in self.options.values()]
        return "\n".join(rows)


def _written(op: ir.Operation) -> bytes:
    """Return what tells a module from any other: quicker to make than text."""
    file = io.BytesIO()
    op.clone().operation.write_bytecode(file)  # bytecode has the order of uses, which a clone sorts
    return file.getvalue()
