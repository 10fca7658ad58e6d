"""Rules for words that a machine can see: in docstrings, comments, messages, pages and names.

`sentences.toml` has the rules, the page "Glossary" the words to avoid; CONTRIBUTING says the rest.
`python -m sentences` lists what breaks a rule, as `make lint` does.
"""

from __future__ import annotations

import ast
import functools
import inspect
import io
import json
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from resources import REPOSITORY, project_files

RULES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
GLOSSARY = REPOSITORY / "docs" / "glossary.md"

_SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Yields|Warns):$")
_ITEM = re.compile(r"^(?=\s*(?:[-*]|\d+\.|[\w`*., ]+:) )", re.MULTILINE)
_END = re.compile(r"(?<=[.!?:;])[\"')]*\s+(?=[A-Z`*\"(])|(?<=[;])\s+")
_LAID_OUT = re.compile(r"^ {4}|^>>>|\S {3,}\S")
_CODE = re.compile(r"```.*?```|<!--.*?-->|^(?: {4}|\||#).*?$", re.DOTALL | re.MULTILINE)
_BEGINS = {
    "docstring": ["docstring_begins"],
    "comment": ["docstring_begins"],
    "page": [],
    "text": ["text_begins"],
    "message": ["text_begins", "message_begins"],
}


class Text(NamedTuple):
    """A text with its line and its kind: `docstring`, `comment`, `page`, `text`, or `message`."""

    line: int
    kind: str
    content: str


@functools.cache
def avoided() -> dict[str, str]:
    """Return the words to avoid, each with those to write instead, as the glossary has them."""
    _, _, table = GLOSSARY.read_text(encoding="utf-8").partition("| instead of | write |\n")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", table, re.MULTILINE)
    return {word: better for words, better in rows for word in words.split(", ")}


def faults(text: Text) -> Iterator[str]:
    """Yield the rules that a text breaks, each as a sentence."""
    forbidden = [word for kind in _BEGINS[text.kind] for word in RULES[kind]]
    first = re.match(r"\w+\b(?! of\b)", text.content)
    if first is not None and first[0] in forbidden:
        yield f"begins with `{first[0]}`: begin with the noun that the sentence is about"
    prose = " ".join(re.sub(r"`[^`]+`", "`x`", text.content).split())
    for word, better in avoided().items():
        if re.search(rf"\b{word}\b", prose, re.IGNORECASE):
            yield f"has `{word}`: write {better}"
    for phrase in RULES["phrases"]:
        if text.kind in phrase["kinds"] and (match := re.search(phrase["pattern"], prose)):
            yield f"has `{match[0].strip()}`: {phrase['remedy']}"
    if text.kind in ("docstring", "comment", "page"):
        for sentence in sentences(text.content):
            if (count := len(re.findall(r"\S*[a-z]\S*", sentence))) > RULES["longest"]:
                yield f"has a sentence of {count} words: {sentence[:60]}..."


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a docstring or a page, without code, tables and headings."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        lines = paragraph.splitlines()
        if lines and _SECTION.match(lines[0]):
            lines = lines[1:]
        elif any(_LAID_OUT.search(line) for line in lines):
            continue
        for item in _ITEM.split("\n".join(lines)):
            shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]+`", "`x`", item))
            yield from _END.split(" ".join(shown.split()))


def texts(source: str) -> Iterator[Text]:
    """Yield the docstrings and the strings of several words of a module."""
    tree = ast.parse(source)
    inner: set[ast.AST] = set()
    reasons: set[ast.AST] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                inner.add(node.value)
                yield Text(node.lineno, "docstring", text.strip())
            case ast.JoinedStr():
                inner.update(node.values)
            case ast.BinOp():
                inner.update(ast.walk(node.right))
            case ast.Return(value=ast.expr() as returned):
                reasons.update(_choices(returned))
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[*_, last]):
                if name.endswith("Error") or name in RULES["makers"]:
                    reasons.update(_choices(last if name == "leave" else node.args[0]))
        if isinstance(node, ast.expr) and node not in inner and " " in (text := _written(node)):
            yield Text(node.lineno, "message" if node in reasons else "text", text)


def _choices(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.IfExp):
        yield from (*_choices(node.body), *_choices(node.orelse))
    yield node.left if isinstance(node, ast.BinOp) else node


def comments(source: str) -> Iterator[Text]:
    """Yield the comments of a module; lines of their own that follow each other are one."""
    lines: list[str] = []
    end = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line, column = token.start
        is_alone = not token.line[:column].strip()
        if lines and (line != end + 1 or not is_alone):
            yield Text(end - len(lines) + 1, "comment", "\n".join(lines))
            lines = []
        lines.append(token.string.strip("# "))
        end = line if is_alone else -1
        if not is_alone:
            yield Text(line, "comment", lines.pop())
    if lines:
        yield Text(end - len(lines) + 1, "comment", "\n".join(lines))


def vague_names(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each variable, parameter and function with a vague name."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                pass
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                pass
            case _:
                continue
        if name.strip("_") in RULES["vague_names"]:
            yield node.lineno, name


def _written(node: ast.AST) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_written(part) or "X" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def broken(files: Iterable[Path]) -> Iterator[str]:
    """Yield a line for each rule that is broken in files, which are relative to the repository."""
    for path in files:
        for text in _texts_of(path):
            yield from (f"{path}:{text.line}: {fault}" for fault in faults(text))
        if _is_code(path):
            public = RULES["public_names"].get(str(path), ())
            for line, name in vague_names((REPOSITORY / path).read_text(encoding="utf-8")):
                if name not in public:
                    yield f"{path}:{line}: binds `{name}`: name what the value is"


def _texts_of(path: Path) -> Iterator[Text]:
    folder = path.parts[0]
    is_text = path.suffix in (".py", ".md", ".ipynb")
    content = (REPOSITORY / path).read_text(encoding="utf-8") if is_text else ""
    if path.suffix == ".py" and folder in RULES["docstrings"]:
        kinds = _BEGINS if folder in RULES["messages"] else ("docstring",)
        yield from (text for text in texts(content) if text.kind in kinds)
        if _is_code(path):
            yield from comments(content)
    elif path.suffix == ".md" and (folder == "docs" or path.name in RULES["pages"]):
        yield from _paragraphs(content.partition("\n## Words to avoid")[0])
    elif path.suffix == ".ipynb" and folder in RULES["docstrings"]:
        for cell in json.loads(content)["cells"]:
            if cell["cell_type"] == "markdown":
                yield from _paragraphs("".join(cell["source"]))


def _is_code(path: Path) -> bool:
    return path.suffix == ".py" and str(path).startswith(tuple(RULES["code"]))


def _paragraphs(page: str) -> Iterator[Text]:
    blank = _CODE.sub(lambda code: "\n" * code[0].count("\n"), page)
    for paragraph in re.finditer(r"(?:.+\n?)+", blank):
        yield Text(blank.count("\n", 0, paragraph.start()) + 1, "page", paragraph[0])


if __name__ == "__main__":
    listed = list(broken(project_files()))
    sys.exit("\n".join(listed) if listed else 0)
