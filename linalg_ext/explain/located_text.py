"""The text of a module with its regions, and with the place in a source that each line comes of.

MLIR prints locations beside its ops; this file moves them out of the text.
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
        places: for each line, the places that its op comes of; empty if unknown.
    """

    lines: tuple[str, ...]
    ends: dict[int, int] = field(default_factory=dict)
    places: tuple[tuple[Place, ...], ...] = ()

    def statements(self, opener: int) -> list[int]:
        """Return the lines on which the ops of a region begin, those of inner regions left out."""
        openers, line, end = [], opener + 1, self.ends.get(opener, opener)
        while line < end:
            if self.lines[line].strip() and not self.lines[line].lstrip().startswith(("^", "//")):
                openers.append(line)
            while line in self.ends:  # `} else {` closes one region and opens the next
                line = self.ends[line]
            line += 1
        return openers


def of_module(module: Module) -> LocatedText:
    """Return the text of a module; large constants are elided."""
    return of_operation(module.ir.operation)


def of_operation(op: Any) -> LocatedText:
    """Return the text of an op; large constants are elided."""
    return of_printed(
        op.get_asm(
            enable_debug_info=True,
            large_elements_limit=LARGE_ELEMENTS,
            large_resource_limit=LARGE_ELEMENTS,
        )
    )


def of_stage(stage: Stage) -> LocatedText:
    """Return the text of a stage; its places are unknown if only the text was kept."""
    return of_module(module_of(stage)) if stage.bytecode else of_printed(stage.text)


def module_of(stage: Stage) -> Module:
    """Return the module of a stage whose bytecode was kept."""
    return Module.parse(
        stage.bytecode,
        trusted=True,
        allow_unregistered=stage.allow_unregistered,
        legalize=False,
    )


def of_printed(printed: str) -> LocatedText:
    """Read the locations from a text that MLIR printed, with them or without."""
    printed_lines = printed.splitlines()
    aliases = dict(_alias(line) for line in printed_lines if line.startswith("#loc"))
    lines: list[str] = []
    places: list[tuple[Place, ...]] = []
    ends: dict[int, int] = {}
    opened: list[tuple[int, int]] = []  # the line that an op begins on, and that of its region
    resolved: dict[str, tuple[Place, ...]] = {}
    for line in printed_lines:
        if line.startswith("#loc"):
            continue
        text, last = _without_locations(line)
        number, stripped = len(lines), text.strip()
        lines.append(text.rstrip())
        if last not in resolved:
            resolved[last] = tuple(dict.fromkeys(_places(last, aliases, frozenset())))
        places.append(resolved[last])
        start = number
        if stripped.startswith("}") and opened:
            start, region = opened.pop()
            ends[region] = number
        if stripped.endswith("{"):
            # The location is one of its arguments; that of the op comes at the end of the region.
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
    """Return a line without its `loc(...)`, and the content of the last one."""
    if "loc(" not in line:
        return line, ""
    pieces, last, position = [], "", 0
    while match := _LOCATION.search(line, position):
        if not match[0].endswith("loc("):
            pieces.append(line[position : match.end()])
            position = match.end()
            continue
        end = _closing(line, match.end())
        pieces.append(line[position : match.start()])
        last, position = line[match.end() : end - 1], end
    return "".join((*pieces, line[position:])), last


def _closing(line: str, start: int) -> int:
    """Return the offset after the bracket that closes the one before `start`."""
    depth = 1
    for match in _STRING_OR_BRACKET.finditer(line, start):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if not depth:
            return match.end()
    return len(line)


def _places(text: str, aliases: dict[str, str], visited: frozenset[str]) -> Iterator[Place]:
    for match in _FILE_AND_LINE.finditer(text):
        file, line, alias = match.groups()
        if alias is None and line != "0":
            yield Place(file, int(line))
        elif alias is not None and alias not in visited:
            yield from _places(aliases.get(alias, ""), aliases, visited | {alias})


def within(text: LocatedText, sources: Collection[Place]) -> LocatedText:
    """Return a text without the places outside `sources`, such as those of texts of passes."""
    places = tuple(tuple(place for place in line if place in sources) for line in text.places)
    return replace(text, places=places)


def places_of(text: LocatedText) -> list[Place]:
    """Return every place that some line comes of, in order."""
    return sorted({place for line in text.places for place in line})
