"""`@schedule_step`: a function on one op becomes a step: of schedules, on modules, in pipelines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter
from typing import Any, TypeAlias

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ArgumentTypeError, ArityError, ScheduleError
from linalg_ext.ir.diagnostics import Diagnostic, collected, joined, of_error
from linalg_ext.module import ModuleLike
from linalg_ext.rewriting.options import PassOption
from linalg_ext.rewriting.registry import register
from linalg_ext.rewriting.report import Report
from linalg_ext.rewriting.transformation import Transformation
from linalg_ext.runtime.passes import pass_manager
from linalg_ext.transforms.ir_utils.walking import place

from ._focus import MADE, MARK, Spot, collect
from ._script import Doubt, Script, interpret, marked, matched
from ._selecting import chosen

PREFIX = "linalg-ext-"

_SELECTING = {
    option.name: option
    for option in (
        PassOption("op", str, ""),
        PassOption("function", str, ""),
        PassOption("position", tuple[int, ...], ()),
    )
}
"""The options by which a step chooses its ops, as a function on modules and as a pass.

Steps on a whole module have none of them.
"""

_KINDS: Mapping[Any, tuple[str, Any, Any]] = {
    bool: ("True or False", bool, None),
    int: ("an integer", int, None),
    float: ("a number", (int, float), None),
    str: ("a text", str, None),
    tuple[int, ...]: ("integers, such as [64, 64]", int, tuple),
    tuple[str, ...]: ("texts, such as ['thread_x']", str, tuple),
}


@dataclass(frozen=True)
class Passes:
    """Upstream's passes on a module or its functions, in the place of a script."""

    pipeline: str


@dataclass(frozen=True)
class Parts:
    """Ops that a step has put in the place of one, each with a script that is about it alone."""

    scripts: tuple[tuple[ir.Operation, Script], ...]


Action: TypeAlias = "Script | Passes | Parts | Sequence[ir.Operation]"
"""The answer of a step's function: the work for upstream, or the ops that it made itself."""

StepFunction: TypeAlias = Callable[..., Action]


@dataclass
class StepReport(Report):
    """A report that names ops.

    Attributes:
        touched: each op that the step was about, by name and place.
        focus: the number of ops that the next step is about, by name.
        script: the step in the transform dialect about `%target`; None without a single one.
        spots: the positions of the ops that the next step is about.
    """

    touched: tuple[str, ...] = ()
    focus: Counter[str] = field(default_factory=Counter)
    script: Script | None = None
    spots: tuple[Spot, ...] = ()

    def __repr__(self) -> str:
        made = ", ".join(f"{name} ({count})" for name, count in sorted(self.focus.items()))
        rows = [f"{self.pass_name}: {len(self.touched)} ops, now {made or 'none'}"]
        return "\n".join([*rows, *(f"  {each}" for each in self.touched)])


class Step(Transformation):
    """A step of schedules.

    Attributes:
        name: its name as a method of a schedule.
        arguments: its options there; `options` includes those that choose ops as well.
        whole: True where it is about a module, and not about single ops.
    """

    def __init__(self, pass_name: str, function: StepFunction, *, whole: bool) -> None:
        super().__init__(pass_name, function, reserved=1)
        self.name: str = function.__name__
        self.whole = whole
        self.arguments = dict(self.options)
        if not whole:
            self.options |= _SELECTING

    def __call__(self, module: ModuleLike, **options: Any) -> Report:
        """Take the step on a module, all of it or nothing.

        Args:
            module: whatever holds a module.
            options: those of the step; and `op`, `function` and `position`, which choose the ops
                as `Schedule.match` does.

        Raises:
            ScheduleError: no op is meant, or the step cannot be taken on one of them.
            ArgumentError: an option is of the wrong kind.
        """
        return super().__call__(module, **self.bound((), options, self.options))

    def apply(self, op: ir.Operation | ir.OpView, /, **options: Any) -> Report:
        """Take the step on what `op` holds, in place; handles into it go stale."""
        root = op.operation
        given = self.bound((), options, self.options)
        selecting = {name: given.pop(name) for name in _SELECTING if name in given}
        return self.take(root, () if self.whole else chosen(root, **selecting), given)

    def bound(
        self,
        args: Sequence[Any],
        options: Mapping[str, Any],
        declared: Mapping[str, PassOption] | None = None,
    ) -> dict[str, Any]:
        """Arguments by name, checked: those given by position are the first ones.

        Raises:
            ArityError: there are too many, one is unknown, given twice, or missing.
            ArgumentTypeError: one is of the wrong kind.
        """
        declared = self.arguments if declared is None else declared
        names = list(declared)
        if len(args) > len(names):
            raise ArityError(
                f"{self.name} got {len(args)} arguments", expected=f"at most {len(names)}: {names}"
            )
        given = dict(zip(names, args, strict=False))
        for name, value in options.items():
            if name not in declared:
                raise ArityError(
                    f"{self.name} has no argument {name!r}",
                    expected=", ".join(names) or "no arguments",
                )
            if name in given:
                raise ArityError(f"{self.name} got {name} twice")
            given[name] = value
        missing = [
            n for n, o in declared.items() if o.default is Parameter.empty and n not in given
        ]
        if missing:
            raise ArityError(f"{self.name} needs {missing[0]}", expected=str(declared[missing[0]]))
        return {name: _of_kind(self.name, declared[name], value) for name, value in given.items()}

    def take(
        self, root: ir.Operation, targets: Sequence[ir.Operation], options: Mapping[str, Any]
    ) -> StepReport:
        """Take the step on ops of `root`, in place and without verifying.

        Raises:
            ScheduleError: it cannot be taken; `root` is then half-done.
        """
        report = StepReport(self.pass_name)
        report.touched = tuple(f"{op.name} at {_location(op)}" for op in targets)
        report.matched.update(op.name for op in targets)
        spoken_of = _SpokenOf(
            "" if not targets else place(targets[0]),
            {str(op.location): name for op, name in zip(targets, report.touched, strict=True)},
        )
        with root.context, root.location:
            for op in targets if self.whole else ():
                op.attributes[MARK] = ir.UnitAttr.get()
            with collected(root.context) as emitted:
                try:
                    mark = self._do(root, targets, options, report, spoken_of.doubts)
                except (ir.MLIRError, RuntimeError, ValueError) as error:
                    if isinstance(error, ArgumentError | ScheduleError):
                        raise
                    found = of_error(error) if isinstance(error, ir.MLIRError) else ()
                    raise self._failure(error, joined(found, emitted), spoken_of) from None
        report.spots = collect(root, mark)
        report.focus.update(spot.name for spot in report.spots)
        report.changed.update(report.matched)
        return report

    def _do(
        self,
        root: ir.Operation,
        targets: Sequence[ir.Operation],
        options: Mapping[str, Any],
        report: StepReport,
        doubts: dict[str, Doubt | None],
    ) -> str:
        """Do what the step's function says; the mark that the focus then carries."""
        if self.whole:
            self._on_whole(root, self.function(root, **options), report)
            return MARK
        scripts: dict[tuple[Script, ir.Operation | None], int] = {}
        made: list[ir.Operation] = []
        is_script = True
        for op in targets:
            location = str(op.location)
            action = self.function(op, **options)
            is_script &= not isinstance(action, Parts)
            if isinstance(action, Script):
                action = Parts(((op, action),))
            if isinstance(action, Parts):
                for part, script in action.scripts:
                    doubts[location] = script.doubt
                    key = (script, part if script.one_by_one else None)
                    group = scripts.setdefault(key, len(scripts))
                    part.attributes[MARK] = ir.Attribute.parse(f"{group} : i64")
            elif not isinstance(action, Passes):
                made += action
        for op in made:
            op.attributes[MADE] = ir.UnitAttr.get()
        if not scripts:
            return MADE
        for (script, _), group in scripts.items():
            lines, focus = script.numbered(0, "%target")
            lines = [matched("%target", f"{MARK} = {group} : i64"), *lines]
            if focus is not None:
                lines.append(marked(focus, MADE))
            interpret(root, lines)
        report.script = next(iter(scripts))[0] if len(scripts) == 1 and is_script else None
        return MARK if next(iter(scripts))[0].focus is None else MADE

    def _on_whole(self, root: ir.Operation, action: Action, report: StepReport) -> None:
        if isinstance(action, Passes):
            pass_manager("builtin.module", root.context, action.pipeline).run(root)
        elif isinstance(action, Script):
            interpret(root, action.numbered(0, "%root")[0])
            report.script = action

    def _failure(
        self, error: Exception, found: Sequence[Diagnostic], spoken_of: _SpokenOf
    ) -> ScheduleError:
        errors = [each for each in found if each.severity == "error"]
        reason = (errors[0].message if errors else str(error)).strip().partition("\n")[0]
        location, where = spoken_of.failing(errors)
        doubt = spoken_of.doubts.get(location)
        return ScheduleError(
            f"{self.name} cannot be done: "
            + (doubt.what if doubt else reason or "upstream gives no reason"),
            where=where or next(map(_place_told, errors), None),
            hint=doubt.hint if doubt else None,
            diagnostics=[each.shown() for each in found if each.message.strip() != reason],
        )


@dataclass
class _SpokenOf:
    """The facts about the ops of a step that an error may report."""

    first: str
    touched: Mapping[str, str]
    doubts: dict[str, Doubt | None] = field(default_factory=dict)

    def failing(self, errors: Sequence[Diagnostic]) -> tuple[str, str]:
        """The location of the op that upstream points at, the first one if none, and its place."""
        first = next(iter(self.touched), "")
        told = [note.location for error in errors for note in error.notes]
        location = next((each for each in told if each in self.touched), first)
        return location, self.first if location == first else self.touched[location]


def schedule_step(
    pass_name: str, *, whole: bool = False, public: bool = True
) -> Callable[[StepFunction], Step]:
    """Make a function a `Step`: a method of schedules by its own name, and a pass.

    The function gets one op with its context current, and its keyword-only parameters are the
    step's arguments. It checks them and answers with a `Script` in the transform dialect, or
    changes the IR itself and answers with the ops that the next step is about.

    Args:
        pass_name: `linalg-ext-...`.
        whole: the function gets the module, not single ops, and may answer with `Passes`.
        public: whether pipelines know it. False where another pass has that name already.
    """

    def decorate(function: StepFunction) -> Step:
        made = Step(pass_name, function, whole=whole)
        steps[made.name] = made
        if public:
            register(made)
        return made

    return decorate


steps: dict[str, Step] = {}
"""The steps by their names as methods; `_catalogue.step` has those not loaded yet as well."""


def _of_kind(step: str, option: PassOption, value: Any) -> Any:
    expected, kind, many = _KINDS[option.kind]
    wrong = ArgumentTypeError(
        f"{option.name} of {step} is {value!r}",
        expected=expected,
    )
    if many is None:
        if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
            raise wrong
        return value
    items = (value,) if isinstance(value, kind) else value
    if isinstance(items, str | Mapping) or not isinstance(items, Sequence):
        raise wrong
    if any(not isinstance(item, kind) or isinstance(item, bool) for item in items):
        raise wrong
    if kind is int and any(not -(2**62) < item < 2**62 for item in items):
        raise wrong
    return tuple(items)


def _place_told(error: Diagnostic) -> str:
    """Return the location of an error, with the op where a note names it."""
    ops = [note.message.partition(": ")[2].strip() for note in error.notes]
    return ": ".join([error.place("-"), *(op.partition("\n")[0] for op in ops[:1])])


def _location(op: ir.Operation) -> str:
    return str(op.location).removeprefix("loc(").removesuffix(")").replace('"', "")
