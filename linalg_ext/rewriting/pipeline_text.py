"""Textual pipelines, as mlir-opt accepts them, read into a list of steps.

Three spellings mean the same:

    builtin.module(func.func(canonicalize{max-iterations=3}),cse)
    func.func(canonicalize{max-iterations=3}),cse
    -pass-pipeline='...', or one argument a pass: --canonicalize=max-iterations=3 --cse

Each step is then resolved: a named pipeline, a pass of ours with its options, or one of upstream's.
"""

from __future__ import annotations

import difflib
import importlib.util
import itertools
import mmap
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from linalg_ext.bindings import ir, passmanager, provider
from linalg_ext.errors import PipelineError, kind_of
from linalg_ext.ir.context import new_context
from linalg_ext.rewriting.options import parse_options
from linalg_ext.rewriting.registry import (
    OWN_PREFIX,
    UNKNOWN,
    all_passes,
    find,
    is_upstreams,
    register,
)
from linalg_ext.rewriting.transformation import Transformation
from linalg_ext.runtime import parser_process

MODULE = "builtin.module"
_NAME = re.compile(r"[\w.-]+")
_OPENING = {"{": "}", "[": "]", "(": ")"}
_PIPELINE_ARGUMENTS = ("pass-pipeline", "p")


@dataclass(frozen=True)
class Step:
    """One pass of a pipeline.

    Attributes:
        name: the pass.
        options: the text in its braces.
        anchors: the ops it is nested in below the module, outermost first.
        position: the offset of its name in the pipeline's text.
        nestable: the text named no root op, so that a pass that only runs on functions may be
            nested in `func.func` for the user, as mlir-opt does.
        transformation: the pass, once resolved, if it is one of this library.
        values: its options, parsed.
    """

    name: str
    options: str | None = None
    anchors: tuple[str, ...] = ()
    position: int = 0
    nestable: bool = False
    transformation: Transformation | None = None
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return the pass with its options."""
        return self.name if self.options is None else f"{self.name}{{{self.options}}}"

    @property
    def nested(self) -> str:
        """Return the pass in its anchors, as an element of a pipeline on the module."""
        return (
            "".join(f"{anchor}(" for anchor in self.anchors) + self.text + ")" * len(self.anchors)
        )


@dataclass(frozen=True)
class Pipeline:
    """A pipeline's text in its canonical spelling, and its steps in order."""

    text: str
    steps: tuple[Step, ...]

    def pointed(self, position: int) -> str:
        """Return the text with a caret under a position."""
        start = max(0, position - 60)
        shown = self.text[start : position + 60].replace("\n", " ")
        return f"{shown}\n{' ' * (position - start)}^"


def parse_pipeline(source: str | Sequence[str]) -> Pipeline:
    """Read a pipeline in any of the spellings.

    Raises:
        PipelineError: it cannot be read; the message shows the place.
    """
    if isinstance(source, list | tuple) and all(isinstance(item, str) for item in source):
        is_of_passes = not any(item.startswith("-") for item in source)
        text = ",".join(source) if is_of_passes else _from_arguments(list(source))
    elif not isinstance(source, str):
        items = source if isinstance(source, list | tuple) else [source]
        wrong = next(item for item in items if not isinstance(item, str))
        name = getattr(wrong, "pass_name", None)
        raise PipelineError(
            f"{kind_of(wrong)} is not the text of a pipeline, nor the name of a pass",
            expected="a text, or a list: of passes, ['canonicalize', 'cse'], or of arguments, "
            "['--canonicalize', '--cse']",
            hint=None if name is None else f"a rewrite goes by its name, {name!r}",
        )
    elif source.lstrip().startswith("-"):
        try:
            text = _from_arguments(shlex.split(source))
        except ValueError as error:
            raise PipelineError(f"the pipeline cannot be read: {error}", where=source) from None
    else:
        text = source
    return _Reader(text).read()


def split_options(options: str) -> dict[str, str | None]:
    """Return `a=1 b c={x y}` as a dictionary; None stands for a name without a value."""
    options_: dict[str, str | None] = {}
    for item in _split_outside_brackets(options, " "):
        name, equals, value = item.partition("=")
        if value[:1] in _OPENING and value[-1:] == _OPENING[value[0]]:
            value = value[1:-1]
        options_[name] = value.strip("\"'") if equals else None
    return options_


class _Reader:
    """A cursor on the text: `element ::= name ('{' options '}')? | anchor '(' element,* ')'`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def read(self) -> Pipeline:
        self._space()
        rooted = _is_rooted(self.text)
        steps = tuple(self._elements((), nestable=not rooted))
        if self.position < len(self.text):
            self._fail("the pipeline should end here, or go on with a comma")
        if rooted:
            steps = tuple(replace(step, anchors=step.anchors[1:]) for step in steps)
        return Pipeline(self.text, steps)

    def _elements(self, anchors: tuple[str, ...], *, nestable: bool) -> Iterator[Step]:
        self._space()
        if self.position == len(self.text) or self._peek() == ")":
            return
        while True:
            yield from self._element(anchors, nestable=nestable)
            self._space()
            if self._peek() != ",":
                return
            self.position += 1

    def _element(self, anchors: tuple[str, ...], *, nestable: bool) -> Iterator[Step]:
        self._space()
        start = self.position
        match = _NAME.match(self.text, start)
        if match is None:
            self._fail("the name of a pass should stand here")
        self.position = match.end()
        self._space()
        if self._peek() == "(":
            if len(anchors) == _DEEPEST:
                self._fail(f"ops are nested more than {_DEEPEST} deep", start)
            self.position += 1
            yield from self._elements((*anchors, match[0]), nestable=False)
            if self._peek() != ")":
                self._fail(f"the parenthesis of {match[0]} is never closed", start + len(match[0]))
            self.position += 1
            return
        options = self._options() if self._peek() == "{" else None
        yield Step(match[0], options, anchors, start, nestable and not anchors)

    def _options(self) -> str:
        start = self.position
        end = _closing(self.text, start)
        if end is None:
            self._fail("the brace is never closed", start)
        self.position = end + 1
        return self.text[start + 1 : end].strip()

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def _space(self) -> None:
        while self._peek().isspace():
            self.position += 1

    def _fail(self, fault: str, position: int | None = None) -> NoReturn:
        place = Pipeline(self.text, ()).pointed(self.position if position is None else position)
        raise PipelineError(
            f"the pipeline cannot be read: {fault}", where=place, expected=_EXPECTED
        ) from None


_DEEPEST = 50
"""No op of a sensible module is nested deeper; Python's stack ends near 300."""

_EXPECTED = "passes with commas between: canonicalize,func.func(cse),pass{option=value}"


def _is_rooted(text: str) -> bool:
    """Return whether one `builtin.module(...)` holds the whole pipeline."""
    match = re.match(rf"\s*(?:{re.escape(MODULE)}|any)\s*\(", text)
    return match is not None and _closing(text, match.end() - 1) == len(text.rstrip()) - 1


def _closing(text: str, start: int) -> int | None:
    """Return the position of the bracket that closes the one at `start`; quoted text is skipped."""
    stack: list[str] = []
    quote = ""
    for position in range(start, len(text)):
        character = text[position]
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in _OPENING:
            stack.append(_OPENING[character])
        elif stack and character == stack[-1]:
            stack.pop()
            if not stack:
                return position
    return None


def _split_outside_brackets(text: str, separator: str) -> list[str]:
    items, start, end = [], 0, 0
    while end < len(text):
        character = text[end]
        if character in _OPENING:
            end = _closing(text, end) or len(text)
        elif character in "\"'":
            end = text.find(character, end + 1) if character in text[end + 1 :] else len(text)
        elif character == separator:
            items.append(text[start:end])
            start = end + 1
        end += 1
    return [item for item in (*items, text[start:]) if item.strip()]


def _from_arguments(arguments: list[str]) -> str:
    elements = []
    for argument in arguments:
        name, equals, value = argument.lstrip("-").partition("=")
        if not argument.startswith("-") or not name:
            raise PipelineError(
                f"the pipeline cannot be read: {argument!r} is not a pass",
                expected="--pass-name or --pass-name=option=value",
            )
        if name in _PIPELINE_ARGUMENTS:
            is_rooted = _is_rooted(value)
            elements.append(value[value.index("(") + 1 : value.rindex(")")] if is_rooted else value)
        else:
            elements.append(f"{name}{{{value}}}" if equals else name)
    return ",".join(elements)


# Strings of a library that may be names of passes.
_WORDS = re.compile(rb"\0([a-z][a-z0-9]{1,30}(?:-[a-z0-9]+){0,9})(?=\0)")


def similar_passes(name: str) -> list[str]:
    """Return up to three passes of upstream's and ours whose names are near to `name`."""
    # The library has `canonicalize` only within another string, `fcanonicalize`.
    candidates = [*all_passes(), "canonicalize", *_words_of_the_bindings()]
    near = difflib.get_close_matches(name, candidates, n=24, cutoff=0.7)
    ours = all_passes()
    known = (name for name in dict.fromkeys(near) if name in ours or is_upstreams(name))
    return list(itertools.islice(known, 3))


@cache
def _words_of_the_bindings() -> tuple[str, ...]:
    """Return every string of upstream's library that may be a pass's name.

    Upstream offers no list of its passes. Reading its library takes about a second and happens
    only when an error is about to be reported.
    """
    spec = importlib.util.find_spec(f"{provider()}._mlir_libs")
    folders = spec.submodule_search_locations if spec is not None else None
    libraries = [
        path
        for folder in folders or ()
        for path in Path(folder).iterdir()
        if path.suffix in (".so", ".dylib") and "CAPI" in path.name
    ]
    words: set[bytes] = set()
    for library in libraries:
        with (
            library.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            words.update(_WORDS.findall(content))
    # A linker drops a string that another one ends in: `x-cse` may hold `cse`.
    tails: set[str] = set()
    for word in words:
        parts = word.decode().split("-")
        tails.update("-".join(parts[start:]) for start in range(len(parts)))
    return tuple(sorted(tails))


_RESTRICTED = re.compile(r"restricted to '([\w.]+)'")
_DEEPEST_ALIAS = 16


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
    """Give a pipeline a name by which other pipelines can hold it.

    Raises:
        ArgumentError: the name is taken, or is none.
        PipelineError: the text cannot be read.
    """
    parse_pipeline(text)
    module: str = sys._getframe(1).f_globals["__name__"]
    pipeline = NamedPipeline(pass_name, text, summary, module)
    register(pipeline)
    return pipeline


def resolve(source: str | Sequence[str], context: ir.Context, *, trusted: bool) -> list[Step]:
    """Read a pipeline and find every one of its passes before any runs.

    Raises:
        PipelineError: it cannot be read, or holds a pass, option or anchor that does not exist.
        CrashError: building one of upstream's passes killed the parser process.
    """
    pipeline = parse_pipeline(source)
    steps = _resolved(pipeline, 0)
    _check_anchors(pipeline, steps, context)
    return _checked(pipeline, steps, _check_here if trusted else parser_process.check_passes)


def _resolved(pipeline: Pipeline, depth: int) -> list[Step]:
    steps: list[Step] = []
    for step in pipeline.steps:
        match find(step.name):
            case None if not step.name.startswith(OWN_PREFIX):
                steps.append(step)
            case Transformation() as transformation:
                texts = split_options(step.options or "")
                values = parse_options(texts, transformation.options, step.name)
                steps.append(replace(step, transformation=transformation, values=values))
            case NamedPipeline() as named:
                steps.extend(_expanded(pipeline, step, named, depth))
            case _:
                raise _unknown(pipeline, step)
    return steps


def _expanded(pipeline: Pipeline, step: Step, named: NamedPipeline, depth: int) -> list[Step]:
    if depth == _DEEPEST_ALIAS:
        raise PipelineError(f"{named.pass_name} holds itself", pass_name=named.pass_name)
    if step.options:
        raise PipelineError(
            f"{named.pass_name} takes no options",
            where=pipeline.pointed(step.position),
            hint=f"write its passes out: {named.text}",
        )
    # Positions are those of the name in the text that the user wrote.
    return [
        replace(inner, anchors=(*step.anchors, *inner.anchors), position=step.position)
        for inner in _resolved(parse_pipeline(named.text), depth + 1)
    ]


def _check_anchors(pipeline: Pipeline, steps: list[Step], context: ir.Context) -> None:
    for step in steps:
        for anchor in step.anchors:
            # Upstream accepts any name here, and then runs nothing.
            known = anchor == "any" or context.is_registered_operation(anchor)
            if not known and not context.allow_unregistered_dialects:
                raise PipelineError(
                    f"{step.name} is nested in {anchor!r}, which is not an op",
                    where=pipeline.pointed(step.position),
                    expected="an op such as func.func, or any",
                )


def _checked(
    pipeline: Pipeline,
    steps: list[Step],
    check: Callable[[Sequence[tuple[str, str]]], parser_process.Refusal | None],
) -> list[Step]:
    """Build every pass of upstream's once; nest those that run on functions only."""
    while True:
        upstream = [index for index, step in enumerate(steps) if step.transformation is None]
        refusal = check(
            [((MODULE, *steps[index].anchors)[-1], steps[index].text) for index in upstream]
        )
        if refusal is None:
            return steps
        index = upstream[refusal.index]
        steps[index] = _nested(pipeline, steps[index], refusal)


def _nested(pipeline: Pipeline, step: Step, refusal: parser_process.Refusal) -> Step:
    restricted = _RESTRICTED.search(refusal.message)
    if restricted and step.nestable and not step.anchors:
        return replace(step, anchors=(restricted[1],))
    if UNKNOWN in refusal.message:
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
