"""The base of rewrites and module passes: a name, options, and the run on a module.

`@module_pass` makes a function on a whole op a pass that runs on modules and in pipelines.
"""

from __future__ import annotations

import inspect
import io
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import update_wrapper
from typing import Any, TypeAlias

from linalg_ext.bindings import ir
from linalg_ext.bindings import rewrite as upstream
from linalg_ext.errors import ArgumentError, RewriteError
from linalg_ext.module import ModuleLike, as_module
from linalg_ext.rewriting.options import PassOption, declared_options
from linalg_ext.rewriting.registry import register
from linalg_ext.rewriting.report import Report

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


def operations(root: Any, names: Collection[str]) -> list[Any]:
    """Return the operations in `root` (an operation, op view or module) whose name is in `names`.

    They are in the order of the text, an operation before those in its regions. The list is made
    before anything is changed: a caller may erase an operation once it is done with it.
    """
    top = root.operation
    ops: list[Any] = []

    # Upstream's driver calls Python for the ops of these names alone, inner ops first.
    def match(op: Any, _: upstream.PatternRewriter) -> bool:
        op = op.operation
        at = len(ops)
        if len(op.regions):
            while at and _is_inside(ops[at - 1], op):
                at -= 1
        ops.insert(at, op)
        return True  # no match: the driver changes nothing

    with top.context:
        patterns = upstream.RewritePatternSet()
        for name in names:
            patterns.add(name, match)
        upstream.walk_and_apply_patterns(top, patterns.freeze())
    return [top, *ops] if top.name in names else ops


def _is_inside(op: ir.Operation, ancestor: ir.Operation) -> bool:
    around: ir.Operation | None = op
    while around is not None and around != ancestor:
        around = around.parent
    return around is not None


def selector(on: Roots | None, pass_name: str) -> tuple[Callable[[str], bool], frozenset[str]]:
    """Return a predicate on op names, and the names themselves if `on` lists them.

    Raises:
        ArgumentError: `on` is not one of the kinds of `Roots`.
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


class Transformation(ABC):
    """A named transformation of modules, written in Python.

    Calling it on a module runs it on a clone, verifies that, and puts it in the module's place: on
    failure the module is as it was. In a textual pipeline it goes by `pass_name`.

    Attributes:
        pass_name: its name in pipelines.
        summary: the first line of its documentation.
        options: its options, by the names they have in Python.
    """

    def __init__(
        self,
        pass_name: str,
        function: Callable[..., Any],
        *,
        reserved: int,
        on: Roots | None = None,
    ) -> None:
        self.pass_name = pass_name
        self.function = function
        self.options: dict[str, PassOption] = declared_options(function, reserved, pass_name)
        self._accepts, self._names = selector(on, pass_name)
        self._acts_on_any = on is None
        update_wrapper(self, function)

    @property
    def summary(self) -> str:
        """Return the first line of the documentation."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @abstractmethod
    def apply(self, op: ir.Operation | ir.OpView, /, **options: Any) -> Report:
        """Transform the ops in `op`, in place and without verifying; handles into it go stale."""

    def fold(self, op: ir.Operation) -> None:
        """Fold the ops in `op` as the driver does by itself; most drivers fold nothing."""
        del op

    def account(
        self,
        report: Report,
        before: ir.Operation,
        after: ir.Operation,
        fold: Callable[[ir.Operation], None] | None = None,
    ) -> None:
        """Add to a report the changes that the transformation did not count.

        Args:
            report: of a run on a module, from `apply`.
            before: the module before the run.
            after: the module after the run.
            fold: folds the ops of a module as the driver does; `self.fold` by default.
        """
        if not report and _bytecode(before) == _bytecode(after):
            return
        folded = before.clone()
        (fold or self.fold)(folded.operation)
        report.folded.update(op_names(before) - op_names(folded.operation))
        if report.changed.total():
            return
        bytecode = _bytecode(folded.operation)
        if not report.folded and bytecode != _bytecode(before):
            report.folded[before.name] += 1
        report.uncounted = bytecode != _bytecode(after)

    def has_work(self, root: ir.Operation, present: set[str]) -> bool:
        """Return whether `root` or an op in it is one that this looks at.

        Args:
            root: that this would run on.
            present: receives the names of ops that are found in `root`. Those that it has count as
                present, though they may be gone.
        """
        if self._acts_on_any or any(map(self._accepts, present)):
            return True
        if self._names:
            present |= {op.name for op in operations(root, self._names)}
        else:
            present |= {root.name, *op_names(root)}
        return any(map(self._accepts, present))

    def __call__(self, module: ModuleLike, **options: Any) -> Report:
        """Transform a module. The report's `module` is the result.

        Raises:
            VerificationError: the result breaks a rule of one of its ops.
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
                    expected=f"one of its options: {', '.join(self.options)}"
                    if self.options
                    else "no options",
                )

    def __repr__(self) -> str:
        rows = [f"{self.pass_name}: {self.summary}"]
        rows += [f"  {option}" for option in self.options.values()]
        return "\n".join(rows)


def _bytecode(op: ir.Operation) -> bytes:
    """Return the bytecode of a module, equal for equal modules: quicker to make than text."""
    file = io.BytesIO()
    op.clone().operation.write_bytecode(file)  # bytecode has the order of uses, which a clone sorts
    return file.getvalue()


PassFunction: TypeAlias = Callable[..., "Report | None"]


class ModulePass(Transformation):
    """A function `(op, *, options)` on a whole op, with its name."""

    def __init__(self, pass_name: str, function: PassFunction, *, on: Roots | None = None) -> None:
        super().__init__(pass_name, function, reserved=1, on=on)

    def apply(self, op: ir.Operation | ir.OpView, /, **options: Any) -> Report:
        """Run the function on `op`, in place and without verifying; handles into it go stale."""
        with op.operation.context, op.operation.location:
            report = self.function(op.operation, **options)
        if report is None:
            return Report(self.pass_name)
        if not isinstance(report, Report):
            raise RewriteError(
                f"the function of {self.pass_name} returned {report!r}",
                expected="a Report, or nothing",
            )
        return report


def module_pass(pass_name: str, *, on: Roots | None = None) -> Callable[[PassFunction], ModulePass]:
    """Make a function on a whole op a `ModulePass`, registered by its name for pipelines.

    The function gets the op that the pass is anchored on (the module, by default)
    with its context and location current, changes it in place, and may return a `Report`. Its
    keyword-only parameters are the pass's options.

    Args:
        pass_name: its name in pipelines: lower-case words joined by dashes.
        on: the ops that it matches, as for `rewrite`; it need not run on a module without any of
            them. None: it may change any op.
    """

    def decorate(function: PassFunction) -> ModulePass:
        new = ModulePass(pass_name, function, on=on)
        register(new)
        return new

    return decorate
