"""The page of habits from other libraries: an example for each, run, and the error of a refusal.

`docs/habits.md` is written by hand. A section says in its first word whether the habit works or is
refused; the message below the example of a refusal is the one of the day of the build.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from docs.generator.errors import execute
from docs.generator.page import REPOSITORY, fenced

_SECTION = re.compile(r"^### (.+?)\n\n(\w+).*?(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_EXAMPLE = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Habit:
    """A section of the page.

    Attributes:
        works: whether the example runs; else it raises.
        example: the code, without the lines that all examples share; empty where a command is
            shown.
    """

    title: str
    works: bool
    example: str


def page() -> str:
    """Return the page as it was written."""
    return (REPOSITORY / "docs" / "habits.md").read_text(encoding="utf-8")


def habits(markdown: str) -> Iterator[Habit]:
    """Yield the sections of the page.

    Raises:
        ValueError: the first word of a section is another one.
    """
    for section in _SECTION.finditer(markdown):
        title, outcome = section.groups()
        if outcome not in ("Works", "Refused"):
            raise ValueError(f"{title} begins with {outcome}, not with Works or Refused")
        example = _EXAMPLE.search(section[0])
        yield Habit(title, outcome == "Works", example[1] if example else "")


def run(markdown: str, habit: Habit) -> Exception | None:
    """Run the example of a habit, and return the error that it raises."""
    shared = _EXAMPLE.search(markdown)
    names: dict[str, Any] = {"__name__": "example"}
    exec(shared[1] if shared else "", names)
    try:
        execute(habit.example, names, "example.py")
    except ModuleNotFoundError:
        raise
    except Exception as error:
        return error
    return None


def with_messages(markdown: str) -> str:
    """Return the page with the error of each refusal below its example."""
    for habit in habits(markdown):
        if habit.works or not habit.example:
            continue
        try:
            error = run(markdown, habit)
        except ModuleNotFoundError as missing:
            shown = f"(The error is shown where `{missing.name}` is installed.)"
        else:
            shown = fenced(f"{type(error).__name__}: {error}")
        block = f"```python\n{habit.example}```\n"
        markdown = markdown.replace(block, f"{block}\n{shown}\n", 1)
    return markdown
