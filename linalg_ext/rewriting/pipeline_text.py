"""Textual pipelines: what mlir-opt accepts, read into a list of steps.

Three spellings mean the same:

    builtin.module(func.func(canonicalize{max-iterations=3}),cse)
    func.func(canonicalize{max-iterations=3}),cse
    -pass-pipeline='...', or one argument a pass: --canonicalize=max-iterations=3 --cse
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from linalg_ext.errors import PipelineError

MODULE = "builtin.module"
_NAME = re.compile(r"[\w.-]+")
_OPENING = {"{": "}", "[": "]", "(": ")"}
_PIPELINE_ARGUMENTS = ("pass-pipeline", "p")


@dataclass(frozen=True)
class Step:
    """One pass of a pipeline.

    Attributes:
        name: the pass.
        options: what stood in its braces, as it was written.
        anchors: the ops it is nested in below the module, outermost first.
        position: where its name begins in the pipeline's text.
        nestable: the text named no root op, so that a pass that only runs on functions may be
            nested in `func.func` for the user, as mlir-opt does.
    """

    name: str
    options: str | None = None
    anchors: tuple[str, ...] = ()
    position: int = 0
    nestable: bool = False

    @property
    def text(self) -> str:
        """The pass with its options."""
        return self.name if self.options is None else f"{self.name}{{{self.options}}}"

    @property
    def nested(self) -> str:
        """The pass in its anchors, as an element of a pipeline on the module."""
        return (
            "".join(f"{anchor}(" for anchor in self.anchors) + self.text + ")" * len(self.anchors)
        )


@dataclass(frozen=True)
class Pipeline:
    """A pipeline's text in its canonical spelling, and its steps in order."""

    text: str
    steps: tuple[Step, ...]

    def pointed(self, position: int) -> str:
        """The text with a caret under a position."""
        start = max(0, position - 60)
        shown = self.text[start : position + 60].replace("\n", " ")
        return f"{shown}\n{' ' * (position - start)}^"


def parse_pipeline(source: str | Sequence[str]) -> Pipeline:
    """Read a pipeline in any of the spellings.

    Raises:
        PipelineError: it cannot be read; the message shows the place.
    """
    if isinstance(source, list | tuple) and all(isinstance(item, str) for item in source):
        text = _from_arguments(list(source))
    elif not isinstance(source, str):
        raise PipelineError(
            f"{type(source).__name__} is not a pipeline",
            expected="a text, or a list of arguments such as ['--canonicalize', '--cse']",
        )
    elif source.lstrip().startswith("-"):
        text = _from_arguments(_split_arguments(source))
    else:
        text = source
    return _Reader(text).read()


def split_options(options: str) -> dict[str, str | None]:
    """`a=1 b c={x y}` as a dictionary; None stands for a name without a value."""
    found: dict[str, str | None] = {}
    for item in _split_outside_brackets(options, " "):
        name, equals, value = item.partition("=")
        if value[:1] in _OPENING and value[-1:] == _OPENING[value[0]]:
            value = value[1:-1]
        found[name] = value.strip("\"'") if equals else None
    return found


class _Reader:
    """A cursor on the text: `element ::= name ('{' options '}')? | anchor '(' element,* ')'`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def read(self) -> Pipeline:
        self._space()
        rooted = _is_rooted(self.text)
        steps = tuple(self._elements((), nestable=not rooted))
        if self.at < len(self.text):
            self._fail("the pipeline should end here, or go on with a comma")
        if rooted:
            steps = tuple(_without_root(step) for step in steps)
        return Pipeline(self.text, steps)

    def _elements(self, anchors: tuple[str, ...], *, nestable: bool) -> Iterator[Step]:
        self._space()
        if self.at == len(self.text) or self._peek() == ")":
            return
        while True:
            yield from self._element(anchors, nestable=nestable)
            self._space()
            if self._peek() != ",":
                return
            self.at += 1

    def _element(self, anchors: tuple[str, ...], *, nestable: bool) -> Iterator[Step]:
        self._space()
        start = self.at
        match = _NAME.match(self.text, start)
        if match is None:
            self._fail("the name of a pass should stand here")
        self.at = match.end()
        self._space()
        if self._peek() == "(":
            if len(anchors) == _DEEPEST:
                self._fail(f"ops are nested more than {_DEEPEST} deep", start)
            self.at += 1
            yield from self._elements((*anchors, match[0]), nestable=False)
            if self._peek() != ")":
                self._fail(f"the parenthesis of {match[0]} is never closed", start + len(match[0]))
            self.at += 1
            return
        options = self._options() if self._peek() == "{" else None
        yield Step(match[0], options, anchors, start, nestable and not anchors)

    def _options(self) -> str:
        start = self.at
        end = _closing(self.text, start)
        if end is None:
            self._fail("the brace is never closed", start)
        self.at = end + 1
        return self.text[start + 1 : end].strip()

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _space(self) -> None:
        while self._peek().isspace():
            self.at += 1

    def _fail(self, what: str, position: int | None = None) -> NoReturn:
        place = Pipeline(self.text, ()).pointed(self.at if position is None else position)
        raise PipelineError(
            f"the pipeline cannot be read: {what}", where=place, expected=_EXPECTED
        ) from None


_DEEPEST = 50
"""No op of a sensible module is nested deeper; Python's stack ends near 300."""

_EXPECTED = "passes with commas between: canonicalize,func.func(cse),pass{option=value}"


def _is_rooted(text: str) -> bool:
    """Return whether one `builtin.module(...)` holds the whole pipeline."""
    match = re.match(rf"\s*(?:{re.escape(MODULE)}|any)\s*\(", text)
    return match is not None and _closing(text, match.end() - 1) == len(text.rstrip()) - 1


def _rootless(text: str) -> str:
    """Return a pipeline without `builtin.module(...)`, where that holds all of it."""
    return text[text.index("(") + 1 : text.rindex(")")] if _is_rooted(text) else text


def _without_root(step: Step) -> Step:
    return Step(step.name, step.options, step.anchors[1:], step.position, nestable=False)


def _closing(text: str, start: int) -> int | None:
    """Return the position of the bracket that closes the one at `start`; quoted text is skipped."""
    stack: list[str] = []
    quote = ""
    for at in range(start, len(text)):
        character = text[at]
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in _OPENING:
            stack.append(_OPENING[character])
        elif stack and character == stack[-1]:
            stack.pop()
            if not stack:
                return at
    return None


def _split_outside_brackets(text: str, separator: str) -> list[str]:
    items, start, at = [], 0, 0
    while at < len(text):
        character = text[at]
        if character in _OPENING:
            at = _closing(text, at) or len(text)
        elif character in "\"'":
            at = text.find(character, at + 1) if character in text[at + 1 :] else len(text)
        elif character == separator:
            items.append(text[start:at])
            start = at + 1
        at += 1
    return [item for item in (*items, text[start:]) if item.strip()]


def _split_arguments(source: str) -> list[str]:
    try:
        return shlex.split(source)
    except ValueError as error:
        raise PipelineError(f"the pipeline cannot be read: {error}", where=source) from None


def _from_arguments(arguments: list[str]) -> str:
    """mlir-opt's command line as one pipeline."""
    elements = []
    for argument in arguments:
        name, equals, value = argument.lstrip("-").partition("=")
        if not argument.startswith("-") or not name:
            raise PipelineError(
                f"the pipeline cannot be read: {argument!r} is no pass",
                expected="--pass-name or --pass-name=option=value",
            )
        if name in _PIPELINE_ARGUMENTS:
            elements.append(_rootless(value))
        else:
            elements.append(f"{name}{{{value}}}" if equals else name)
    return ",".join(elements)
