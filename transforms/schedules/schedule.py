"""`Schedule`: steps taken on chosen ops of a module, one after another, kept as a script.

>>> schedule = lx.Schedule(module).match("matmul").tile([64, 64, 256]).vectorize()
>>> print(schedule)            # Python that takes the same steps on another module
>>> schedule.replay(other)
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache, partial
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, NamedTuple

from linalg_ext.bindings import ir
from linalg_ext.errors import (
    ArgumentError,
    LinalgExtError,
    NotationError,
    ScheduleError,
    VerificationError,
)
from linalg_ext.module import Module, ModuleLike, as_module
from linalg_ext.transforms.ir_utils.walking import select
from linalg_ext.utils.hooks import Shown, import_all

from ._step_methods import StepMethods
from .step import (
    ANY,
    MARK,
    Predicate,
    Spot,
    Step,
    StepReport,
    collect,
    find,
    marked,
    matched,
    matching_ops,
    sequence,
    steps,
)

_FORMAT = 1
_NO_FILE = re.compile(r'(?:^|(?<= at ))(?:"-"|-):(?=\d)')


class Schedule(StepMethods, Shown, shown_as="schedule"):
    """Steps on a module, each of them all or nothing.

    `match` chooses ops; every other method is a step on them, and the next step is about its
    results. `dir(schedule)` lists the steps; each is documented as a function of `lx.transforms` by
    the same name.

    Attributes:
        module: the module that is changed.
        taken: the steps so far, with their arguments and reports.
    """

    def __init__(self, module: ModuleLike) -> None:
        self.module: Module = as_module(module)
        self.taken: list[TakenStep] = []
        self._focus: tuple[Spot, ...] | None = None

    def match(
        self,
        op: str = "",
        *,
        attributes: Mapping[str, Any] | None = None,
        function: str = "",
        position: int | Sequence[int] = (),
        where: Predicate | None = None,
    ) -> Schedule:
        """Choose the ops that the next steps are about.

        Args:
            op: their name, such as "linalg.matmul" or "matmul"; "" is every op of linalg. A name
                without its dialect is that of ops of linalg where there are any, and not of
                `math.exp` beside `linalg.exp`.
            attributes: names and values that they have; a value None stands for any.
            function: the name of the function that they are in.
            position: which of those that are found, in the order of the text, -1 the last.
            where: a function of an op (`ir.Operation`) that answers True or False.

        Raises:
            ScheduleError: there is no such op; it says which ones there are.
        """
        positions = (position,) if isinstance(position, int) else tuple(position)
        root = self.module.clone().ir.operation
        arguments: dict[str, Any] = {
            "op": op,
            "attributes": attributes,
            "function": function,
            "position": positions,
            "where": where,
        }
        ops = set(matching_ops(root, **arguments))
        every = select(root, lambda _: True)
        self._focus = tuple(
            Spot(number, op_there.name) for number, op_there in enumerate(every) if op_there in ops
        )
        if attributes:
            arguments["attributes"] = dict(attributes)
        chosen_by = {name: value for name, value in arguments.items() if value}
        report = StepReport("match", Counter(spot.name for spot in self._focus))
        report.spots = self._focus
        self.taken.append(TakenStep("match", chosen_by, report))
        return self

    def take(self, name: str, /, *args: Any, **arguments: Any) -> Schedule:
        """Take the step called `name`: `schedule.take("tile", [8, 8])` is `schedule.tile([8, 8])`.

        Raises:
            ScheduleError: it cannot be taken; the module is as it was before it.
            ArgumentError: there is no such step, or an argument is wrong.
        """
        step = all_steps().get(name)
        if step is None:
            near = similar(name)
            raise ArgumentError(
                f"{name!r} is not a step of schedules",
                hint=f"did you mean {' or '.join(near)}?" if near else None,
                expected=None if near else ", ".join(all_steps()),
            )
        values = step.bound(args, arguments)
        clone = self.module.clone()
        targets = self._targets(step, clone)
        try:
            report = step.take(clone.ir.operation, targets, values)
        except ScheduleError as error:
            error.where = self._in_file(str(error.where)) if error.where else None
            raise
        report.touched = tuple(self._in_file(location) for location in report.touched)
        try:
            clone.verify(after=step.name)
        except VerificationError as error:
            raise ScheduleError(
                f"{step.name} would leave the module invalid: {error.what}",
                where=", ".join(report.touched[:3]) or None,
                diagnostics=error.diagnostics,
            ) from None
        self.module.swap(clone)
        report.module = self.module
        if not (step.whole and self._focus is None):
            self._focus = report.spots
        self.taken.append(TakenStep(step.name, values, report))
        return self

    def run(self, pipeline: str) -> Schedule:
        """Run a textual pipeline of upstream's passes and this library's, as `Module.run` does.

        This is the way to passes that are not steps, such as those on subset loops. The ops that
        the schedule is about stay so where the passes keep their attributes.

        Raises:
            PipelineError: it cannot be read, or a pass failed; the module is as it was.
        """
        clone = self.module.clone()
        targets = self._focused_ops(clone) if self._focus else ()
        report = StepReport("run", Counter(op.name for op in targets))
        with clone.context:
            for op in targets:
                op.attributes[MARK] = ir.UnitAttr.get()
        clone.run(pipeline)
        report.spots = collect(clone.ir.operation, MARK)
        self.module.swap(clone)
        self._focus = None if self._focus is None else report.spots
        self.taken.append(TakenStep("run", {"pipeline": pipeline}, report))
        return self

    def replay(self, module: ModuleLike) -> Schedule:
        """Take the same steps on another module, all of them or none.

        Raises:
            ScheduleError: one of them cannot be taken there; it names the step.
        """
        target = as_module(module)
        other = Schedule(target.clone())
        for number, step in enumerate(self.taken):
            try:
                if step.name in ("match", "run"):
                    getattr(other, step.name)(**step.arguments)
                else:
                    other.take(step.name, **step.arguments)
            except LinalgExtError as error:
                error.add_note(f"in step {number} of the schedule: {step}")
                raise
        target.swap(other.module)
        other.module = target
        return other

    def to_json(self) -> str:
        """Return the steps as JSON, for `Schedule.from_json`.

        Raises:
            NotationError: a step's `where` is a function, which no text can hold.
        """
        for step in self.taken:
            if "where" in step.arguments:
                raise NotationError(
                    "match(where=...) holds a function, which JSON cannot",
                    hint="choose those ops by op, attributes, function or position",
                )
        steps = [{"step": step.name, **step.arguments} for step in self.taken]
        return json.dumps({"linalg_ext.schedule": _FORMAT, "steps": steps}, indent=1)

    @classmethod
    def from_json(cls, text: str, module: ModuleLike) -> Schedule:
        """Take the steps that `to_json` wrote down on a module, all of them or none.

        Raises:
            NotationError: the text is not that of a schedule.
            ScheduleError: a step cannot be taken.
        """
        recorded = cls.__new__(cls)
        recorded.taken = [
            TakenStep(name, arguments, StepReport(name)) for name, arguments in _read(text)
        ]
        return recorded.replay(module)

    def to_transform(self) -> str:
        """Return the steps in MLIR's transform dialect, for `mlir-opt --transform-interpreter`.

        A step that is none there (passes, library calls, a match by `where`) stands as a comment.
        """
        return sequence(list(_transform_lines(self.taken)))

    def _targets(self, step: Step, clone: Module) -> Sequence[Any]:
        if self._focus is None:
            if step.whole:
                return ()
            raise ScheduleError(
                f"{step.name} needs ops to be about",
                hint='choose them first: schedule.match("matmul")',
            )
        targets = self._focused_ops(clone)
        if not targets and not step.whole:
            raise ScheduleError(
                f"{step.name} needs ops to be about; the step before it left none",
                hint="match again",
            )
        return targets

    def _focused_ops(self, clone: Module) -> Sequence[Any]:
        ops = find(clone.ir.operation, self._focus or ())
        if ops is None:
            raise ScheduleError(
                "the module was changed by something else since the last step",
                hint="match again",
            )
        return ops

    def _in_file(self, location: str) -> str:
        """Return a location with the name of the module's file, which MLIR's text lacks."""
        return _NO_FILE.sub(f"{self.module.filename}:", location, count=1)

    def _method(self, name: str) -> Callable[..., Schedule]:
        step = None if name.startswith("_") else all_steps().get(name)
        if step is None:
            near = [] if name.startswith("_") else similar(name)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise AttributeError(f"a schedule has no step {name!r}{hint}", name=name, obj=self)

        def method(*args: Any, **arguments: Any) -> Schedule:
            return self.take(name, *args, **arguments)

        method.__name__ = name
        method.__doc__ = step.__doc__
        method.__signature__ = Signature(  # type: ignore[attr-defined]
            [
                Parameter(
                    option.name,
                    Parameter.POSITIONAL_OR_KEYWORD,
                    default=option.default,
                    annotation=option.kind,
                )
                for option in step.arguments.values()
            ],
            return_annotation=Schedule,
        )
        return method

    if not TYPE_CHECKING:  # a type checker that saw it would take every name for a step
        __getattr__ = _method

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *all_steps()})

    def __str__(self) -> str:
        return as_python(self.taken)

    def __repr__(self) -> str:
        rows = [f"Schedule of {len(self.taken)} steps on {self.module.filename}"]
        width = max((len(str(step)) for step in self.taken), default=0)
        for step in self.taken:
            focus = sorted(step.report.focus.items())
            now = ", ".join(f"{name} ({count})" for name, count in focus) or "no ops"
            rows.append(f"  {step!s:{width}}  {now}")
        return "\n".join(rows)


def _read(text: str) -> list[tuple[str, dict[str, Any]]]:
    try:
        data = json.loads(text)
        steps = [dict(step) for step in data["steps"]] if data["linalg_ext.schedule"] else []
        return [(str(step.pop("step")), step) for step in steps]
    except (ValueError, KeyError, TypeError) as error:
        raise NotationError(
            f"the text is not a schedule: {error}", expected="the text of Schedule.to_json()"
        ) from None


class TakenStep(NamedTuple):
    """A step that was taken: its name, its arguments, and its report."""

    name: str
    arguments: Mapping[str, Any]
    report: StepReport

    def __str__(self) -> str:
        return f"{self.name}({', '.join(_arguments(self))})"


def as_python(steps: Sequence[TakenStep]) -> str:
    """Return a function of a module that takes the steps."""
    unknown = sorted(
        {
            getattr(step.arguments["where"], "__name__", "predicate")
            for step in steps
            if "where" in step.arguments
        }
    )
    chain = "".join(f"\n        .{step}" for step in steps)
    notes = "".join(f"# {name} is a function of yours: define it here.\n" for name in unknown)
    return (
        f"import linalg_ext as lx\n\n{notes}\n"
        "def schedule(module: lx.Module) -> lx.Schedule:\n"
        f"    return (\n        lx.Schedule(module){chain}\n    )\n"
    )


def _transform_lines(steps: Sequence[TakenStep]) -> Iterator[str]:
    target = "%root"
    for number, step in enumerate(steps):
        yield f"// {step}"
        if step.name == "match":
            target = f"%matched_{number}"
            yield from _match_lines(step, target)
            continue
        script = step.report.script
        if script is None:
            yield f"// {step.name} is not a transform op: it is for Schedule alone"
            continue
        keeps_target = script.focus is None and target != "%root"
        if keeps_target:
            yield marked(target, f"{MARK}_{number}")
        lines, focus = script.numbered(number, target)
        yield from lines
        if focus is not None:
            target = focus
        elif keeps_target:
            target = f"%kept_{number}"
            yield matched(target, f"{MARK}_{number}")


def _match_lines(step: TakenStep, handle: str) -> Iterator[str]:
    names = ", ".join(f'"{name}"' for name in sorted(step.report.matched))
    if set(step.arguments) & {"where", "function", "position"}:
        yield "// where, function and position are for Schedule alone"
    attributes = [
        f"{name} = {str(value).lower() if isinstance(value, bool) else value}"
        for name, value in step.arguments.get("attributes", {}).items()
        if value is not None
    ]
    inside = f" attributes {{{', '.join(attributes)}}}" if attributes else ""
    yield (
        f"{handle} = transform.structured.match ops{{[{names}]}}{inside} in %root"
        f" : ({ANY}) -> {ANY}"
    )


def _arguments(step: TakenStep) -> Iterator[str]:
    first = True
    for name, value in step.arguments.items():
        text = getattr(value, "__name__", "predicate") if name == "where" else _python_text(value)
        yield text if first and _is_first(step, name) else f"{name}={text}"
        first = False


def _is_first(step: TakenStep, name: str) -> bool:
    if step.name in ("match", "run"):
        return name in ("op", "pipeline")
    known_step = all_steps().get(step.name)
    return known_step is not None and next(iter(known_step.arguments), None) == name


def _python_text(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_python_text, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_python_text(k)}: {_python_text(v)}' for k, v in value.items())}}}"
    # Double quotes, as formatters want them.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


_import_all = cache(partial(import_all, __package__))


def all_steps() -> dict[str, Step]:
    """Return every step by its name as a method of a schedule."""
    _import_all()
    return dict(sorted(steps.items()))


def similar(name: str) -> list[str]:
    """Return names of steps that `name` may have meant."""
    return get_close_matches(name, [*all_steps(), "match"], n=3)
