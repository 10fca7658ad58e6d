"""Pieces of HTML that pages and notebooks share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files

from linalg_ext.executable.explanation import Explanation, Row
from linalg_ext.explain.located_text import LocatedText
from linalg_ext.explain.syntax import as_html

_DARK_NOTEBOOK = (
    '[data-jp-theme-light="false"] .lx, .vscode-dark .lx, [data-vscode-theme-kind*="dark"] .lx'
)
"""CSS selectors of the dark themes of JupyterLab and of editors."""

MOST_LINES = 1000
"""Largest number of lines of a module in a notebook; a note replaces the rest."""


@cache
def asset(name: str) -> str:
    """A file that pages are made of."""
    return (files("linalg_ext.explain") / "assets" / name).read_text(encoding="utf-8")


def colours(*dark: str) -> str:
    """The style that pages and notebooks share.

    Args:
        dark: where it is dark: selectors, or a whole rule with `{}` for its content.
    """
    rules = [
        rule.replace("{}", asset("dark.css")) if "{}" in rule else f"{rule} {{{asset('dark.css')}}}"
        for rule in dark
    ]
    return asset("colours.css").replace("/*dark*/", "\n".join(rules))


def styled(html: str) -> str:
    """Return HTML for a notebook, with its style; it runs no script."""
    style = colours(_DARK_NOTEBOOK)
    return f'<div class="lx"><style>{style}</style>{html}</div>'


def tables(explanation: Explanation) -> str:
    """An explanation as tables."""
    return "".join(table(title, rows) for title, rows in explanation.sections())


def table(title: str, rows: Sequence[Row]) -> str:
    """Names and what is to be said of each."""
    body = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in rows
    )
    return f'<table class="told"><caption>{escape(title)}</caption>{body}</table>'


def folded(text: LocatedText, most: int = MOST_LINES) -> str:
    """Highlighted IR in which every region can be folded."""
    parts: list[str] = []
    closers: set[int] = set()
    shown = text.lines[:most]
    for number, line in enumerate(shown):
        if number in closers:
            parts.append("</details>")
            closers.discard(number)
        end = text.ends.get(number)
        if end is None or end >= len(shown):
            parts.append(as_html(line) + "\n")
        else:
            parts.append(f"<details open><summary>{as_html(line)}</summary>")
            closers.add(end)
    if len(text.lines) > most:
        parts.append(f'<span class="comment">... {len(text.lines) - most} lines more</span>\n')
    return f'<div class="ir">{"".join(parts)}</div>'
