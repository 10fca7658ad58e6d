"""A schedule as text: Python that takes its steps again, and MLIR's transform dialect."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ._focus import MARK
from ._script import ANY, marked, matched, sequence
from .step import StepReport


class Taken(NamedTuple):
    """One step as it was taken: its name, its arguments, and what it said."""

    name: str
    arguments: Mapping[str, Any]
    report: StepReport

    def __str__(self) -> str:
        return f"{self.name}({', '.join(_arguments(self))})"


def as_python(steps: Sequence[Taken]) -> str:
    """A function of a module that takes the steps."""
    unknown = sorted(
        {
            getattr(taken.arguments["where"], "__name__", "predicate")
            for taken in steps
            if "where" in taken.arguments
        }
    )
    chain = "".join(f"\n        .{taken}" for taken in steps)
    notes = "".join(f"# {name} is a function of yours: define it here.\n" for name in unknown)
    return (
        f"import linalg_ext as lx\n\n{notes}\n"
        "def schedule(module: lx.Module) -> lx.Schedule:\n"
        f"    return (\n        lx.Schedule(module){chain}\n    )\n"
    )


def as_transform(steps: Sequence[Taken]) -> str:
    """A named sequence of the transform dialect."""
    return sequence(list(_transform_lines(steps)))


def _transform_lines(steps: Sequence[Taken]) -> Iterator[str]:
    target = "%root"
    for number, taken in enumerate(steps):
        yield f"// {taken}"
        if taken.name == "match":
            lines, target = _match_lines(taken, number)
            yield from lines
            continue
        script = taken.report.script
        if script is None:
            yield f"// {taken.name} is no transform op: it is for Schedule alone"
            continue
        kept = script.focus is None and target != "%root"
        if kept:
            yield marked(target, f"{MARK}_{number}")
        lines, focus = script.numbered(number, target)
        yield from lines
        if focus is not None:
            target = focus
        elif kept:
            target = f"%kept_{number}"
            yield matched(target, f"{MARK}_{number}")


def _match_lines(taken: Taken, number: int) -> tuple[list[str], str]:
    handle = f"%matched_{number}"
    names = ", ".join(f'"{name}"' for name in sorted(taken.report.matched))
    attributes = taken.arguments.get("attributes", {})
    lines = []
    if set(taken.arguments) & {"where", "function", "position"}:
        lines.append("// where, function and position are for Schedule alone")
    said = "".join(f"{k} = {_value(v)}, " for k, v in attributes.items() if v is not None)
    inside = f" attributes {{{said.removesuffix(', ')}}}" if said else ""
    lines.append(
        f"{handle} = transform.structured.match ops{{[{names}]}}{inside} in %root"
        f" : ({ANY}) -> {ANY}"
    )
    return lines, handle


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _arguments(taken: Taken) -> Iterator[str]:
    first = True
    for name, value in taken.arguments.items():
        text = getattr(value, "__name__", "predicate") if name == "where" else _spelled(value)
        positional = first and (taken.name != "match" or name == "op")
        yield text if positional and _is_first(taken, name) else f"{name}={text}"
        first = False


def _is_first(taken: Taken, name: str) -> bool:
    if taken.name in ("match", "run"):
        return name in ("op", "pipeline")
    from ._catalogue import all_steps

    step = all_steps().get(taken.name)
    return step is not None and next(iter(step.arguments), None) == name


def _spelled(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_spelled, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_spelled(k)}: {_spelled(v)}' for k, v in value.items())}}}"
    # Double quotes, as formatters want them.
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
