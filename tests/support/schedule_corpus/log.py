"""What became of schedules, subject by subject, in a file: a run goes on where one was ended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from schedule_corpus.tally import Tally


class Log:
    """A file of lines of JSON: the name of a subject, what was run, and what became of it."""

    def __init__(self, path: Path, what: str) -> None:
        """
        Args:
            path: of the file, which need not be there.
            what: is run now.
        """
        self._path = path
        self._what = what
        self._there = {(each["subject"], each["run"]) for each in read(path)}

    def has(self, subject: str) -> bool:
        """Whether the file tells what became of it."""
        return (subject, self._what) in self._there

    def add(self, subject: str, tally: Tally, wrong: Sequence[str]) -> None:
        """Write down what became of it."""
        entry = {
            "subject": subject,
            "run": self._what,
            "taken": dict(sorted(tally.taken.items())),
            "refused": dict(tally.refused.most_common()),
            "wrong": list(wrong),
        }
        with self._path.open("a") as file:
            file.write(json.dumps(entry) + "\n")


def read(path: Path) -> list[Mapping[str, Any]]:
    """The entries of a file; none where it is not there."""
    return list(map(json.loads, path.read_text().splitlines())) if path.exists() else []
