"""Pieces of HTML that pages and notebooks share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files

from linalg_ext.executable.explanation import Explanation, Row
from linalg_ext.explain.located_text import LocatedText
from linalg_ext.transforms.schedules.schedule import Schedule

_DARK_NOTEBOOK = (
    '[data-jp-theme-light="false"] .lx, .vscode-dark .lx, [data-vscode-theme-kind*="dark"] .lx'
)
"""CSS selectors of the dark themes of JupyterLab and of editors."""

MOST_LINES = 1000
"""Largest number of lines of a module in a notebook; a note replaces the rest."""


@cache
def asset(name: str) -> str:
    """Return the text of a file that pages are made of."""
    return (files("linalg_ext.explain") / "assets" / name).read_text(encoding="utf-8")


def colours(*dark: str) -> str:
    """Return the style that pages and notebooks share.

    Args:
        dark: selectors of dark themes, or a whole rule with `{}` for its content.
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
    """Return a table of names and their descriptions."""
    body = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in rows
    )
    return f'<table class="rows"><caption>{escape(title)}</caption>{body}</table>'


def steps_html(schedule: Schedule | None) -> str:
    """The script of a schedule, and the ops after each of its steps."""
    if schedule is None:
        return "<p>The module went through no schedule before it was compiled.</p>"
    rows = []
    for number, step in enumerate(schedule.taken):
        remaining = [f"{name} {count}" for name, count in sorted(step.report.focus.items())]
        rows.append((f"{number} {step}", ", ".join(remaining) or "none"))
    script = f'<div class="ir">{as_html(str(schedule), PYTHON)}</div>'
    return script + table("steps, and the ops after each", rows)


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


Language = Sequence[tuple[str, str]]
"""Kinds of words to colour, each with a pattern for Python and JavaScript.

A kind is a CSS class. The first pattern that matches counts, and none matches across lines.
"""

MLIR: Language = (
    ("comment", r"//.*"),
    ("string", r'"(?:[^"\\\n]|\\.)*"'),
    ("value", r"%[\w$.-]+(?:#\d+)?"),
    ("symbol", r'@(?:[\w$.-]+|"[^"\n]*")'),
    ("block", r"\^[\w$.-]+"),
    ("alias", r"[#!][A-Za-z_][\w$.-]*"),
    ("type", r"(?<![\w.])(?:tensor|memref|vector|complex|tuple)(?=<)"),
    ("type", r"(?<![\w.])(?:(?:\d+|\?)x)*(?:(?:[su]?i|bf|tf|f)\d+\w*|index)\b(?!\.)"),
    ("op", r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+"),
    ("number", r"(?<![\w.])-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)(?!\w)"),
    (
        "keyword",
        r"(?<![\w.])(?:ins|outs|to|step|iter_args|into|in|else|do|attributes|private|true|false"
        r"|dense|strided|offset|affine_map|affine_set|return|call|module)(?!\w)",
    ),
)

ASSEMBLY: Language = (
    ("comment", r";.*"),
    ("block", r"^[\w$.@-]+:$"),
    ("alias", r"^ +[0-9a-f]+(?=  )"),
    ("type", r"\b(?:[xyzt]mm\d+|k[0-7]|[vqds]\d+(?:\.\w+)?)\b"),
    ("value", r"\b(?:[re]?[abcd]x|[re]?(?:si|di|bp|sp)|r\d+[dwb]?|[abcd][lh]|[xw]\d+)\b"),
    ("number", r"\b(?:0x[0-9a-f]+|\d+)\b"),
    ("keyword", r"\b(?:[xyz]mmword|[dqt]?word|byte|ptr)\b"),
    ("op", r"\b[a-z]\w*(?:\.\w+)?\b"),
)
"""Syntax of the instructions that `Kernel.asm` shows."""

PYTHON: Language = (
    ("comment", r"#.*"),
    ("string", r"[rbfRBF]*(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"),
    ("symbol", r"(?<=\bdef )\w+|@[\w.]+"),
    (
        "keyword",
        r"\b(?:def|return|import|from|as|for|in|if|elif|else|while|with|class|lambda|not|and|or|is"
        r"|None|True|False|raise|try|except|yield|pass)\b",
    ),
    ("number", r"\b\d[\w.]*"),
)


def as_html(text: str, language: Language = MLIR) -> str:
    """Return a text with its words in `<span class="kind">`, all else escaped."""
    parts, position = [], 0
    for match in _pattern(tuple(language)).finditer(text):
        kind = language[(match.lastindex or 1) - 1][0]
        parts += [
            escape(text[position : match.start()], quote=False),
            f'<span class="{kind}">{escape(match[0], quote=False)}</span>',
        ]
        position = match.end()
    return "".join((*parts, escape(text[position:], quote=False)))


@cache
def _pattern(language: Language) -> re.Pattern[str]:
    return re.compile("|".join(f"({pattern})" for _, pattern in language), re.MULTILINE)
