"""`@schedule_step`: a function on one op becomes a step: of schedules, on modules, in pipelines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter
from typing import Any, NamedTuple, TypeAlias

from linalg_ext.bindings import ir, passmanager
from linalg_ext.errors import ArgumentError, ArgumentTypeError, ArityError, ScheduleError
from linalg_ext.ir.diagnostics import Diagnostic, collected, joined, of_error
from linalg_ext.module import ModuleLike
from linalg_ext.rewriting.options import PassOption
from linalg_ext.rewriting.registry import register
from linalg_ext.rewriting.report import Report
from linalg_ext.rewriting.transformation import Transformation
from linalg_ext.runtime.passes import hide_spread_slices, pass_manager, reveal_spread_slices
from linalg_ext.transforms.ir_utils.walking import enclosing, place, select

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

_KINDS: Mapping[Any, tuple[str, Any]] = {
    bool: ("True or False", bool),
    int: ("an integer", int),
    float: ("a number", (int, float)),
    str: ("a text", str),
    tuple[int, ...]: ("integers, such as [64, 64]", int),
    tuple[str, ...]: ("texts, such as ['thread_x']", str),
}
"""The kinds of arguments, each with its name for people and the type of a value, or of each."""


@dataclass(frozen=True)
class Parts:
    """Ops that a step has put in the place of one, each with a script that is about it alone."""

    scripts: tuple[tuple[ir.Operation, Script], ...]


Action: TypeAlias = "Script | Parts | str | Sequence[ir.Operation]"
"""The answer of a step's function: the work for upstream, or the ops that it made itself.

A text is a pipeline of upstream's passes on the module.
"""

StepFunction: TypeAlias = Callable[..., Action]


@dataclass
class StepReport(Report):
    """A report that names ops.

    Attributes:
        touched: each op that the step was about, by name and place.
        script: the step in the transform dialect about `%target`; None without a single one.
        spots: the positions of the ops that the next step is about.
    """

    touched: tuple[str, ...] = ()
    script: Script | None = None
    spots: tuple[Spot, ...] = ()

    @property
    def focus(self) -> Counter[str]:
        """The number of ops that the next step is about, by name."""
        return Counter(spot.name for spot in self.spots)

    def __repr__(self) -> str:
        now = ", ".join(f"{name} ({count})" for name, count in sorted(self.focus.items()))
        rows = [f"{self.pass_name}: {len(self.touched)} ops, now {now or 'none'}"]
        return "\n".join([*rows, *(f"  {op}" for op in self.touched)])


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
        """Take the step on the ops that `op` holds, in place; handles into it go stale."""
        root = op.operation
        values = self.bound((), options, self.options)
        selecting = {name: values.pop(name) for name in _SELECTING if name in values}
        return self.take(root, () if self.whole else matching_ops(root, **selecting), values)

    def bound(
        self,
        args: Sequence[Any],
        options: Mapping[str, Any],
        declared: Mapping[str, PassOption] | None = None,
    ) -> dict[str, Any]:
        """Check arguments, and return them by name; positional ones come first.

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
        values = dict(zip(names, args, strict=False))
        for name, value in options.items():
            if name not in declared:
                raise ArityError(
                    f"{self.name} has no argument {name!r}",
                    expected=", ".join(names) or "no arguments",
                )
            if name in values:
                raise ArityError(f"{self.name} got {name} twice")
            values[name] = value
        missing = [
            n for n, o in declared.items() if o.default is Parameter.empty and n not in values
        ]
        if missing:
            raise ArityError(f"{self.name} needs {missing[0]}", expected=str(declared[missing[0]]))
        return {name: _of_kind(self.name, declared[name], value) for name, value in values.items()}

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
        first = place(targets[0]) if targets else ""
        touched = {str(op.location): n for op, n in zip(targets, report.touched, strict=True)}
        doubts: dict[str, Doubt | None] = {}
        with root.context, root.location:
            for op in targets if self.whole else ():
                op.attributes[MARK] = ir.UnitAttr.get()
            with collected(root.context) as emitted:
                try:
                    mark = self._do(root, targets, options, report, doubts)
                except (ir.MLIRError, RuntimeError, ValueError) as error:
                    if isinstance(error, ArgumentError | ScheduleError):
                        raise
                    own = of_error(error) if isinstance(error, ir.MLIRError) else ()
                    diagnostics = joined(own, emitted)
                    location = _failing(diagnostics, touched)
                    where = touched[location] if location != next(iter(touched), "") else first
                    raise self._failure(error, diagnostics, where, doubts.get(location)) from None
        report.spots = collect(root, mark)
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
        """Carry out the action of the step's function; return the mark of the new focus."""
        if self.whole:
            action = self.function(root, **options)
            if isinstance(action, str):
                pass_manager("builtin.module", root.context, action).run(root)
            elif isinstance(action, Script):
                interpret(root, action.numbered(0, "%root")[0])
                report.script = action
            return MARK
        scripts: dict[tuple[Script, ir.Operation | None], int] = {}
        new_ops: list[ir.Operation] = []
        is_script = True
        for op in targets:
            location = str(op.location)
            action = self.function(op, **options)
            is_script &= not isinstance(action, Parts)
            if isinstance(action, Script):
                action = Parts(((op, action),))
            if not isinstance(action, Parts):
                new_ops += action
                continue
            for part, script in action.scripts:
                doubts[location] = script.doubt
                key = (script, part if script.one_by_one else None)
                group = scripts.setdefault(key, len(scripts))
                part.attributes[MARK] = ir.Attribute.parse(f"{group} : i64")
        for op in new_ops:
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

    def _failure(
        self, error: Exception, diagnostics: Sequence[Diagnostic], where: str, doubt: Doubt | None
    ) -> ScheduleError:
        errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
        reason = (errors[0].message if errors else str(error)).strip().partition("\n")[0]
        return ScheduleError(
            f"{self.name} cannot be done: "
            + (doubt.reason if doubt else reason or "upstream gives no reason"),
            where=where or next(map(_error_location, errors), None),
            hint=doubt.hint if doubt else None,
            diagnostics=[
                diagnostic.shown()
                for diagnostic in diagnostics
                if diagnostic.message.strip() != reason
            ],
        )


def _failing(diagnostics: Sequence[Diagnostic], touched: Mapping[str, str]) -> str:
    """Return the location of the op that upstream points at, that of the first one if none."""
    errors = (diagnostic for diagnostic in diagnostics if diagnostic.severity == "error")
    notes = (note.location for error in errors for note in error.notes)
    return next((location for location in notes if location in touched), next(iter(touched), ""))


def schedule_step(
    pass_name: str, *, whole: bool = False, public: bool = True
) -> Callable[[StepFunction], Step]:
    """Make a function a `Step`: a method of schedules by its own name, and a pass.

    The function gets one op with its context current, and its keyword-only parameters are the
    step's arguments. It checks them and answers with a `Script` in the transform dialect, or
    changes the IR itself and answers with the ops that the next step is about.

    Args:
        pass_name: `linalg-ext-...`.
        whole: the function gets the module, not single ops, and may answer with a pipeline.
        public: whether pipelines know it. False where another pass has that name already.
    """

    def decorate(function: StepFunction) -> Step:
        step = Step(pass_name, function, whole=whole)
        steps[step.name] = step
        if public:
            register(step)
        return step

    return decorate


steps: dict[str, Step] = {}
"""The steps by their names as methods; `schedule.all_steps` has those not loaded yet as well."""


def _of_kind(step: str, option: PassOption, value: Any) -> Any:
    expected, kind = _KINDS[option.kind]
    wrong = ArgumentTypeError(f"{option.name} of {step} is {value!r}", expected=expected)
    if option.kind in (bool, int, float, str):
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


def _error_location(error: Diagnostic) -> str:
    """Return the location of an error, with the op where a note names it."""
    ops = [note.message.partition(": ")[2].strip() for note in error.notes]
    return ": ".join([error.place("-"), *(op.partition("\n")[0] for op in ops[:1])])


def _location(op: ir.Operation) -> str:
    return str(op.location).removeprefix("loc(").removesuffix(")").replace('"', "")


ANY = "!transform.any_op"
FOR = '!transform.op<"scf.for">'
VALUE = "!transform.any_value"
FUNCTIONS = (
    f'%functions = transform.structured.match ops{{["func.func"]}} in %root : ({ANY}) -> {ANY}'
)
"""The line that finds all functions."""

_ENTRY = "linalg_ext_steps"
_CANONICALIZING = "transform.apply_patterns.canonicalization"
_SEQUENCES = "transform.with_named_sequence"
_HANDLE = re.compile(r"%([a-z]\w*)")
_SHARED = frozenset({"target", "root"})


class Doubt(NamedTuple):
    """The likely reason for upstream to refuse an op: upstream gives none itself."""

    reason: str
    hint: str | None = None


@dataclass(frozen=True)
class Script:
    """Lines about `%target`, with names of their own for their results.

    Attributes:
        lines: of the transform dialect; `%root` is the module.
        focus: the handle of the ops that the next step is about. None: the ops of `%target` that
            are still there, which keep their attributes.
        one_by_one: True where upstream takes one op at a time.
        doubt: the reason to report for the op if upstream refuses it.
    """

    lines: tuple[str, ...]
    focus: str | None = None
    one_by_one: bool = False
    doubt: Doubt | None = field(default=None, compare=False)

    def __init__(
        self,
        *lines: str,
        focus: str | None = None,
        one_by_one: bool = False,
        doubt: Doubt | None = None,
    ) -> None:
        values = {"lines": lines, "focus": focus, "one_by_one": one_by_one, "doubt": doubt}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def numbered(self, number: int, target: str) -> tuple[list[str], str | None]:
        """Return the lines and the focus with handles that no other step has."""

        def renamed(match: re.Match[str]) -> str:
            if match[1] == "target":
                return target
            return match[0] if match[1] in _SHARED else f"%{match[1]}_{number}"

        focus = None if self.focus is None else _HANDLE.sub(renamed, self.focus)
        return [_HANDLE.sub(renamed, line) for line in self.lines], focus


def line(result: str, text: str, results: int = 1) -> str:
    """Return `%result = transform.text : (operand) -> results`, all of any op."""
    types = ", ".join([ANY] * results)
    return f"{result} = transform.{text} : ({ANY}) -> {types if results == 1 else f'({types})'}"


def integers(values: Sequence[int]) -> str:
    """Return `[1, 2]`."""
    return f"[{', '.join(map(str, values))}]"


def sequence(lines: Sequence[str], name: str = "__transform_main") -> str:
    """Return a module with one named sequence of the lines."""
    body = "\n".join(f"    {line}" for line in lines)
    return (
        "module attributes {transform.with_named_sequence} {\n"
        f"  transform.named_sequence @{name}(%root: {ANY} {{transform.readonly}}) {{\n"
        f"{body}\n    transform.yield\n  }}\n}}\n"
    )


def matched(handle: str, mark: str) -> str:
    """Return the line that finds the ops which carry a mark."""
    return (
        f"{handle} = transform.structured.match attributes {{{mark}}} in %root : ({ANY}) -> {ANY}"
    )


def marked(handle: str, mark: str) -> str:
    """Return the line that puts a mark on ops."""
    return f'transform.annotate {handle} "{mark}" : {ANY}'


def interpret(root: ir.Operation, lines: Sequence[str]) -> None:
    """Apply lines to the module `root`, in place.

    The sequence stands in the module meanwhile, and the pass runs it: unlike a call of the
    interpreter, it leaves remarks on single ops to the context, and prints nothing itself.

    Raises:
        MLIRError: a transform failed.
    """
    is_canonicalizing = any(_CANONICALIZING in line for line in lines)
    if is_canonicalizing:
        # No pattern can be left out, though one folds such slices wrongly.
        hide_spread_slices(root)
    holder = root.regions[0].blocks[0]
    with root.context, ir.Location.unknown():
        parsed = ir.Module.parse(sequence(lines, _ENTRY))
        steps = parsed.body.operations[0].operation
        with ir.InsertionPoint.at_block_begin(holder):
            steps = steps.clone()
        has_mark = _SEQUENCES in root.attributes
        root.attributes[_SEQUENCES] = ir.UnitAttr.get()
        try:
            manager = passmanager.PassManager("builtin.module")
            manager.add(f"transform-interpreter{{entry-point={_ENTRY}}}")
            manager.enable_verifier(False)  # the caller names the step, or the function
            manager.run(root)
        finally:
            steps.erase()
            if not has_mark:
                del root.attributes[_SEQUENCES]
    if is_canonicalizing:
        reveal_spread_slices(root)


MARK = "linalg_ext.schedule"
"""The attribute on the ops that a step is about, while it runs."""

MADE = "linalg_ext.schedule_made"
"""The attribute on the ops that the step hands on."""


class Spot(NamedTuple):
    """An op by its place in the walk over its module, and by its name, which proves it.

    No handle into IR outlives a transformation: between steps ops are known by their spots.
    """

    number: int
    name: str


def find(root: ir.Operation, spots: Sequence[Spot]) -> list[ir.Operation] | None:
    """Return the ops at these spots; None where another op stands there now."""
    names = {spot.number: spot.name for spot in spots}
    ops = [op.operation for op in select(root, lambda op: True)]
    if any(number >= len(ops) or ops[number].name != name for number, name in names.items()):
        return None
    return [ops[number] for number in sorted(names)]


def collect(root: ir.Operation, mark: str) -> tuple[Spot, ...]:
    """Return the spots of the ops with a mark; all marks are taken off."""
    spots: list[Spot] = []
    for number, op in enumerate(select(root, lambda op: True)):
        attributes = op.attributes
        if mark in attributes:
            spots.append(Spot(number, op.name))
        for name in (MARK, MADE):
            if name in attributes:
                del attributes[name]
    return tuple(spots)


Predicate = Callable[[ir.Operation], bool]

_OF_BODIES = frozenset({"linalg.index", "linalg.yield"})
_LOOP_OPS = frozenset({"scf.for", "scf.forall", "scf.parallel"})


def matching_ops(
    root: ir.Operation,
    op: str = "",
    *,
    attributes: Mapping[str, Any] | None = None,
    function: str = "",
    position: Sequence[int] = (),
    where: Predicate | None = None,
) -> list[ir.Operation]:
    """Return the ops that are meant, in the order of the text; see `Schedule.match`.

    Raises:
        ScheduleError: there is none.
        ArgumentTypeError: `where` is not a function, or answers something else than True or False.
    """
    for name, text in (("op", op), ("function", function)):
        if not isinstance(text, str):
            raise ArgumentTypeError(f"{name} is {text!r}", expected='a name, such as "matmul"')
    if not isinstance(attributes, Mapping | None):
        raise ArgumentTypeError(
            f"attributes is {attributes!r}", expected='names and values: {"label": "head"}'
        )
    if not all(isinstance(number, int) for number in position):
        raise ArgumentTypeError(f"position is {position!r}", expected="a whole number, or several")
    if where is not None and not callable(where):
        raise ArgumentTypeError(
            f"the argument where is {where!r}",
            expected="a function of an op that answers True or False",
        )
    required = {} if attributes is None else dict(attributes)
    # Ops in bodies do not match, such as `arith.negf` in `linalg.negf`; neither does `math.exp` for
    # "exp" if there is an op of linalg.
    named = [
        candidate
        for candidate in select(root, lambda candidate: _is_called(candidate.name, op))
        if candidate.parent is None or not candidate.parent.name.startswith("linalg.")
    ]
    named = [candidate for candidate in named if candidate.name.startswith("linalg.")] or named
    ops = [
        candidate
        for candidate in named
        if (not function or _is_in(candidate, function))
        and all(_has(candidate, name, value) for name, value in required.items())
        and (where is None or _answer(where, candidate))
    ]
    if not ops:
        raise _no_match(root, op, named, narrowed=bool(function or required or where))
    for number in position:
        if not -len(ops) <= number < len(ops):
            raise ScheduleError(
                f"position is {number}; {len(ops)} ops match",
                expected=f"{-len(ops)} to {len(ops) - 1}",
            )
    return [ops[number] for number in position] if position else ops


def _is_called(name: str, asked_name: str) -> bool:
    if asked_name:
        return name == asked_name or name.endswith("." + asked_name)
    return name.startswith("linalg.") and name not in _OF_BODIES


def _is_in(op: ir.Operation, function: str) -> bool:
    parent = enclosing(op, "func.func")
    return parent is not None and ir.StringAttr(parent.attributes["sym_name"]).value == function


def _has(op: ir.Operation, name: str, value: Any) -> bool:
    if name not in op.attributes:
        return False
    attribute = op.attributes[name]
    if value is None:
        return True
    if isinstance(value, str) and isinstance(attribute, ir.StringAttr):
        return bool(attribute.value == value)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    try:
        return bool(attribute == ir.Attribute.parse(text or '""', op.context))
    except ir.MLIRError:
        return text == str(attribute)


def _answer(where: Predicate, op: ir.Operation) -> bool:
    answer = where(op)
    if not isinstance(answer, bool):
        raise ArgumentTypeError(
            f"the predicate where answers {answer!r} for {op.name}", expected="True or False"
        )
    return answer


def _no_match(
    root: ir.Operation, op: str, named: list[ir.Operation], *, narrowed: bool
) -> ScheduleError:
    if named and narrowed:
        return ScheduleError(
            f"the conditions hold for none of the {len(named)} ops called {op or 'linalg.*'}",
            hint="drop one of attributes, function and where",
        )
    present = select(root, lambda other: _is_called(other.name, "") or other.name in _LOOP_OPS)
    counts = sorted(Counter(other.name for other in present).items())
    listed = ", ".join(f"{name} ({count})" for name, count in counts)
    return ScheduleError(
        f"the module has no op called {op!r}" if op else "the module has no op of linalg",
        expected=f"one of its ops: {listed}" if listed else None,
    )
