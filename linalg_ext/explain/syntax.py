"""Syntax of MLIR, of assembly and of Python, for highlighting.

Each language has one table. The browser colours pages by it, this file what notebooks show, and
pygments what terminals show.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from html import escape

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
    """A text with its words in `<span class="kind">`, all else escaped."""
    parts, at = [], 0
    for match in _pattern(tuple(language)).finditer(text):
        kind = language[(match.lastindex or 1) - 1][0]
        parts += [
            escape(text[at : match.start()], quote=False),
            f'<span class="{kind}">{escape(match[0], quote=False)}</span>',
        ]
        at = match.end()
    return "".join((*parts, escape(text[at:], quote=False)))


@cache
def _pattern(language: Language) -> re.Pattern[str]:
    return re.compile("|".join(f"({pattern})" for _, pattern in language), re.MULTILINE)
