"""From a pipeline's text to steps that can run: who each pass is, and whether it exists."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from linalg_ext.bindings import ir, passmanager
from linalg_ext.errors import ArgumentError, PipelineError
from linalg_ext.ir.context import new_context
from linalg_ext.rewriting.options import parse_options
from linalg_ext.rewriting.pipeline_text import (
    MODULE,
    Pipeline,
    Step,
    parse_pipeline,
    split_options,
)
from linalg_ext.rewriting.registry import find, register
from linalg_ext.rewriting.suggestions import similar_passes
from linalg_ext.rewriting.transformation import Transformation
from linalg_ext.runtime import parser_process

_OURS = "linalg-ext-"
_RESTRICTED = re.compile(r"restricted to '([\w.]+)'")
_UNKNOWN = "does not refer to a registered pass"
_DEEPEST = 16


@dataclass(frozen=True)
class Resolved:
    """A step with, for one of ours, the transformation and its options. None: upstream's."""

    step: Step
    transformation: Transformation | None = None
    options: dict[str, Any] | None = None


class NamedPipeline:
    """A pipeline that goes by a name in other pipelines, and the Python module that named it."""

    def __init__(self, pass_name: str, text: str, summary: str, module: str) -> None:
        self.pass_name = pass_name
        self.text = text
        self.summary = summary
        self.__qualname__ = pass_name
        self.__module__ = module

    def __repr__(self) -> str:
        return f"{self.pass_name}: {self.summary}\n  {self.text}"


def named_pipeline(pass_name: str, text: str, summary: str) -> NamedPipeline:
    """Give a pipeline a name, `linalg-ext-...`, by which other pipelines can hold it.

    Raises:
        ArgumentError: the name is taken, or does not begin with `linalg-ext-`.
        PipelineError: the text cannot be read.
    """
    if not pass_name.startswith(_OURS):
        raise ArgumentError(
            f"{pass_name!r} cannot name a pipeline of this library", expected=f"{_OURS}... "
        )
    parse_pipeline(text)
    module: str = sys._getframe(1).f_globals["__name__"]
    made = NamedPipeline(pass_name, text, summary, module)
    register(made)
    return made


def resolve(source: str | Sequence[str], context: ir.Context, *, trusted: bool) -> list[Resolved]:
    """Read a pipeline and find every one of its passes before any runs.

    Raises:
        PipelineError: it cannot be read, or holds a pass, option or anchor that does not exist.
        CrashError: building one of upstream's passes killed the guard.
    """
    pipeline = parse_pipeline(source)
    resolved = _found(pipeline, 0)
    _check_anchors(pipeline, resolved, context)
    check = _check_here if trusted else parser_process.check_passes
    return _checked(pipeline, resolved, check)


def _found(pipeline: Pipeline, depth: int) -> list[Resolved]:
    found: list[Resolved] = []
    for step in pipeline.steps:
        if not step.name.startswith(_OURS):
            found.append(Resolved(step))
            continue
        match find(step.name):
            case Transformation() as transformation:
                given = split_options(step.options or "")
                options = parse_options(given, transformation.options, step.name)
                found.append(Resolved(step, transformation, options))
            case NamedPipeline() as named:
                found.extend(_expanded(pipeline, step, named, depth))
            case _:
                raise _unknown(pipeline, step)
    return found


def _expanded(pipeline: Pipeline, step: Step, named: NamedPipeline, depth: int) -> list[Resolved]:
    if depth == _DEEPEST:
        raise PipelineError(f"{named.pass_name} holds itself", pass_name=named.pass_name)
    if step.options:
        raise PipelineError(
            f"{named.pass_name} takes no options",
            where=pipeline.pointed(step.position),
            hint=f"write its passes out: {named.text}",
        )
    inner = _found(parse_pipeline(named.text), depth + 1)
    # Positions are those of the name in the text that the user wrote.
    return [
        replace(
            one,
            step=replace(
                one.step, anchors=(*step.anchors, *one.step.anchors), position=step.position
            ),
        )
        for one in inner
    ]


def _check_anchors(pipeline: Pipeline, resolved: list[Resolved], context: ir.Context) -> None:
    for step in (one.step for one in resolved):
        for anchor in step.anchors:
            # Upstream accepts any name here, and then runs nothing.
            known = anchor == "any" or context.is_registered_operation(anchor)
            if not known and not context.allow_unregistered_dialects:
                raise PipelineError(
                    f"{step.name} is nested in {anchor!r}, which is no op",
                    where=pipeline.pointed(step.position),
                    expected="an op such as func.func, or any",
                )


def _checked(
    pipeline: Pipeline,
    resolved: list[Resolved],
    check: Callable[[Sequence[tuple[str, str]]], parser_process.Refusal | None],
) -> list[Resolved]:
    """Have every pass of upstream's built once; nest those that run on functions only."""
    while True:
        upstream = [index for index, one in enumerate(resolved) if one.transformation is None]
        steps = [resolved[index].step for index in upstream]
        refusal = check([((MODULE, *step.anchors)[-1], step.text) for step in steps])
        if refusal is None:
            return resolved
        index = upstream[refusal.index]
        resolved[index] = Resolved(_nested(pipeline, resolved[index].step, refusal))


def _nested(pipeline: Pipeline, step: Step, refusal: parser_process.Refusal) -> Step:
    restricted = _RESTRICTED.search(refusal.message)
    if restricted and step.nestable and not step.anchors:
        return replace(step, anchors=(restricted[1],))
    if _UNKNOWN in refusal.message:
        raise _unknown(pipeline, step)
    message = "\n".join(part.strip() for part in (refusal.message, refusal.output) if part.strip())
    hint = f"write {restricted[1]}({step.text})" if restricted else None
    raise PipelineError(
        f"{step.text} cannot be part of this pipeline",
        pass_name=step.text,
        where=pipeline.pointed(step.position),
        hint=hint,
        diagnostics=[message],
    )


def _check_here(steps: Sequence[tuple[str, str]]) -> parser_process.Refusal | None:
    new = [step for step in steps if step not in _sound_passes]
    if not new:
        return None
    context = new_context()
    for step in new:
        anchor, text = step
        try:
            passmanager.PassManager(anchor, context).add(text)
        except ValueError as error:
            return parser_process.Refusal(message=str(error), index=list(steps).index(step))
        _sound_passes.add(step)
    return None


def _unknown(pipeline: Pipeline, step: Step) -> PipelineError:
    near = similar_passes(step.name)
    return PipelineError(
        f"{step.name!r} is not a pass",
        pass_name=step.name,
        where=pipeline.pointed(step.position),
        hint=f"did you mean {' or '.join(near)}?" if near else "see linalg-ext opt --list",
    )


_sound_passes: set[tuple[str, str]] = set()
"""Passes that were built once in this process, by anchor and text: they can be built again."""
