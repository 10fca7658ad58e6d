"""Diagnostics that a file expects, in comments: `--verify-diagnostics` of mlir-opt.

    // expected-error @below {{does not fit}}
    // expected-warning @+2 {{...}}      // @-1, @above, @unknown; the same line if none
    // expected-note-re {{of {{[0-9]+}} elements}}    // with a pattern inside

Source: "Diagnostic Infrastructure" of MLIR's documentation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_COMMENT = re.compile(
    r"expected-(error|warning|remark|note)(-re)?\s*"
    r"(?:@(above|below|unknown|[+-]\d+))?\s*\{\{(.*)\}\}\s*$"
)
_HEAD = re.compile(r"^ *(?:(.+?):(\d+):(\d+)|(loc\(.*\)|\S+)): (error|warning|remark|note): ", re.M)


@dataclass(frozen=True)
class Expected:
    """One diagnostic that a comment expects.

    Attributes:
        line: of the diagnostic; 0 where its place is unknown.
        comment: the line and column of the comment.
    """

    severity: str
    line: int
    text: str
    is_pattern: bool
    comment: str

    def fits(self, found: Found) -> bool:
        """Return whether a diagnostic is this one."""
        if (self.severity, self.line) != (found.severity, found.line):
            return False
        if not self.is_pattern:
            return self.text in found.message
        parts = re.split(r"\{\{(.*?)\}\}", self.text)  # literal text and patterns in turn
        pattern = "".join(part if at % 2 else re.escape(part) for at, part in enumerate(parts))
        return re.search(pattern, found.message) is not None


@dataclass(frozen=True)
class Found:
    """One diagnostic that was produced; `line` is 0 where its place is unknown."""

    severity: str
    line: int
    message: str


def expected(text: str) -> list[Expected]:
    """Return what the comments of a text expect, in its order."""
    lines = text.splitlines()
    made = []
    for number, line in enumerate(lines, start=1):
        comment = _COMMENT.search(line)
        if comment is None:
            continue
        severity, pattern, place, words = comment.groups()
        if place in ("above", "below"):
            at = _beyond(lines, number, 1 if place == "below" else -1)
        else:
            at = 0 if place == "unknown" else number + int(place or 0)
        where = f"{number}:{comment.start() + 1}"
        made.append(Expected(severity, at, words, pattern is not None, where))
    return made


def found(shown: Sequence[str]) -> list[Found]:
    """Return the diagnostics of texts as `Diagnostic.shown` writes them, notes among them."""
    made = []
    for text in shown:
        heads = list(_HEAD.finditer(text))
        ends = [head.start() for head in heads[1:]] + [len(text)]
        for head, end in zip(heads, ends, strict=True):
            message = text[head.end() : end].strip()
            # As mlir-opt, which does not print ops where it verifies diagnostics.
            if not message.startswith("see current operation"):
                made.append(Found(head[5], int(head[2] or 0), message))
    return made


def differences(text: str, produced: Sequence[Found], filename: str) -> list[str]:
    """Return an error for each expectation that is not met, and each diagnostic beyond them.

    Notes without an expectation are left out.
    """
    left = list(produced)
    missing = []
    for wanted in expected(text):
        match = next((each for each in left if wanted.fits(each)), None)
        if match is not None:
            left.remove(match)
            continue
        missing.append(
            f'{filename}:{wanted.comment}: error: expected {wanted.severity} "{wanted.text}" '
            "was not produced"
        )
    beyond = [
        f"{filename}:{each.line}: error: unexpected {each.severity}: {each.message}"
        for each in left
        if each.severity != "note"
    ]
    return beyond + missing


def _beyond(lines: Sequence[str], number: int, step: int) -> int:
    """The next line without an expectation of its own, as upstream counts them."""
    number += step
    while 1 <= number <= len(lines) and _COMMENT.search(lines[number - 1]):
        number += step
    return number
