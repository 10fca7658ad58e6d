"""The text of a module, line by line: what folds, and which place in a source each line is of.

MLIR prints locations beside its ops when it is asked to; here they are taken out of the text again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from linalg_ext.executable.explanation import Stage
from linalg_ext.module import Module
from linalg_ext.transforms.pipelines import LARGE_ELEMENTS


class Place(NamedTuple):
    """A line of a source: a file of Python that was traced, or the text of a module."""

    file: str
    line: int


@dataclass(frozen=True)
class LocatedText:
    """A module as text.

    Attributes:
        lines: of the text.
        ends: for each line that opens a region, the line that closes it, both from 0.
        places: for each line, the places that its op comes of; none where they are not known.
    """

    lines: tuple[str, ...]
    ends: dict[int, int] = field(default_factory=dict)
    places: tuple[tuple[Place, ...], ...] = ()

    def statements(self, opener: int) -> list[int]:
        """The lines on which the ops of a region begin, those of inner regions left out."""
        openers, line, end = [], opener + 1, self.ends.get(opener, opener)
        while line < end:
            if self.lines[line].strip() and not self.lines[line].lstrip().startswith(("^", "//")):
                openers.append(line)
            while line in self.ends:  # `} else {` closes one region and opens the next
                line = self.ends[line]
            line += 1
        return openers


def of_module(module: Module) -> LocatedText:
    """The text of a module; large constants are elided."""
    return of_operation(module.ir.operation)


def of_operation(op: Any) -> LocatedText:
    """The text of an op; large constants are elided."""
    return of_printed(
        op.get_asm(
            enable_debug_info=True,
            large_elements_limit=LARGE_ELEMENTS,
            large_resource_limit=LARGE_ELEMENTS,
        )
    )


def of_stage(stage: Stage) -> LocatedText:
    """The text of a stage; the places are not known where only the text was kept."""
    return of_module(module_of(stage)) if stage.bytecode else of_printed(stage.text)


def module_of(stage: Stage) -> Module:
    """The module of a stage whose bytecode was kept."""
    return Module.parse(
        stage.bytecode,
        trusted=True,
        allow_unregistered=stage.allow_unregistered,
        legalize=False,
    )


def of_printed(printed: str) -> LocatedText:
    """Read the locations from a text that MLIR printed, with them or without."""
    raw = printed.splitlines()
    aliases = dict(_alias(line) for line in raw if line.startswith("#loc"))
    lines: list[str] = []
    places: list[tuple[Place, ...]] = []
    ends: dict[int, int] = {}
    opened: list[tuple[int, int]] = []  # the line that an op begins on, and that of its region
    resolved: dict[str, tuple[Place, ...]] = {}
    for line in raw:
        if line.startswith("#loc"):
            continue
        text, last = _without_locations(line)
        number, bare = len(lines), text.strip()
        lines.append(text.rstrip())
        if last not in resolved:
            resolved[last] = tuple(dict.fromkeys(_places(last, aliases, frozenset())))
        places.append(resolved[last])
        start = number
        if bare.startswith("}") and opened:
            start, region = opened.pop()
            ends[region] = number
        if bare.endswith("{"):
            # What is said of its arguments is not said of the op, whose own place comes at its end.
            places[number] = ()
            opened.append((start, number))
        elif start != number:
            places[start] = places[number]
    while lines and not lines[-1]:
        lines.pop()
        places.pop()
    return LocatedText(tuple(lines), ends, tuple(places))


_LOCATION = re.compile(r'"(?:[^"\\]|\\.)*"|\s*\bloc\(')
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[()]')
_FILE_AND_LINE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):\d+|(#loc\d*)')


def _alias(line: str) -> tuple[str, str]:
    name, _, text = line.partition(" = ")
    return name, text


def _without_locations(line: str) -> tuple[str, str]:
    """A line without its `loc(...)`, and what the last of them says."""
    if "loc(" not in line:
        return line, ""
    kept, last, at = [], "", 0
    while match := _LOCATION.search(line, at):
        if not match[0].endswith("loc("):
            kept.append(line[at : match.end()])
            at = match.end()
            continue
        end = _closing(line, match.end())
        kept.append(line[at : match.start()])
        last, at = line[match.end() : end - 1], end
    return "".join((*kept, line[at:])), last


def _closing(line: str, at: int) -> int:
    """The offset after the bracket that closes the one before `at`."""
    depth = 1
    for match in _STRING_OR_BRACKET.finditer(line, at):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if not depth:
            return match.end()
    return len(line)


def _places(text: str, aliases: dict[str, str], seen: frozenset[str]) -> Iterator[Place]:
    for match in _FILE_AND_LINE.finditer(text):
        file, line, alias = match.groups()
        if alias is None and line != "0":
            yield Place(file, int(line))
        elif alias is not None and alias not in seen:
            yield from _places(aliases.get(alias, ""), aliases, seen | {alias})


def within(text: LocatedText, known: Collection[Place]) -> LocatedText:
    """A text without the places that are not known: those of texts that a pass made up."""
    places = tuple(tuple(place for place in line if place in known) for line in text.places)
    return replace(text, places=places)


def places_of(text: LocatedText) -> list[Place]:
    """Every place that some line comes of, in order."""
    return sorted({place for line in text.places for place in line})
