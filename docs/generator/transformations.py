"""A page for each pass of this library, from its file's docstring: before --> after."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterator

from docs.generator.page import Page, fenced, table
from linalg_ext.rewriting.pipeline_text import NamedPipeline
from linalg_ext.rewriting.registry import Registered, all_passes
from linalg_ext.rewriting.transformation import Transformation
from linalg_ext.transforms.schedules.step import Step

_SELECTING = {
    "op": "only ops of this name; every one of linalg if empty",
    "function": "only in this function",
    "position": "which of those found, in the order of the text; -1 is the last",
}
"""The options of every step that, as a pass, select ops."""

FOLDERS = {
    "rewrites": "Rewrites",
    "subsets": "Subsets",
    "grouping": "Grouping",
    "schedules": "Schedules",
    "codegen": "Code generation",
    "lowering": "On the way to LLVM",
    "pipelines": "Named pipelines",
}
"""The folders of `transforms/`, and their names. One that is not here goes by its name."""

_LABEL = re.compile(r"^(before|after|refused)\b[^\n]*:$", re.MULTILINE)
_SECTION = re.compile(r"^(Args|Raises|Returns):$")
_ARGUMENT = re.compile(r"^    (\w+(?:, \w+)*): (.*(?:\n     .*)*)", re.MULTILINE)


def passes() -> dict[str, Registered]:
    """The passes of this library; examples may have registered more."""
    return {
        name: pass_
        for name, pass_ in all_passes().items()
        if pass_.__module__.startswith("linalg_ext.")
    }


def pages() -> Iterator[Page]:
    """Yield the list of all passes, then a page for each."""
    by_folder: dict[str, list[Registered]] = {}
    for pass_ in passes().values():
        by_folder.setdefault(_folder(pass_), []).append(pass_)
    parts = [
        "# Transformations",
        "Each is a function, `lx.transforms.fold_transposes(module)`, and a pass in pipelines, "
        '`module.run("linalg-ext-fold-transposes,cse")`. `linalg-ext opt --list` lists them.',
    ]
    order = [*FOLDERS, *sorted(set(by_folder) - set(FOLDERS))]
    for folder in (name for name in order if name in by_folder):
        parts.append(f"## {FOLDERS.get(folder, folder.capitalize())}")
        rows = [
            (f"[`{pass_.pass_name}`]({_stem(pass_)}.md)", pass_.summary)
            for pass_ in by_folder[folder]
        ]
        parts.append(table(("pass", "what it does"), rows))
    yield Page("transformations/index.md", "\n\n".join(parts) + "\n")
    for group in by_folder.values():
        for pass_ in group:
            yield Page(f"transformations/{_stem(pass_)}.md", _page(pass_))


def _page(pass_: Registered) -> str:
    parts = [f"# {pass_.pass_name}"]
    if isinstance(pass_, NamedPipeline):
        steps = pass_.text.replace(",", ",\n") if "\n" not in pass_.text else pass_.text
        return "\n\n".join([*parts, f"{pass_.summary}. It stands for", fenced(steps)]) + "\n"
    assert isinstance(pass_, Transformation)
    documented = inspect.getdoc(pass_.function) or ""
    if _LABEL.search(documented):  # one of several in a file
        parts.append(marked_up(documented))
    parts.append(marked_up(sys.modules[pass_.function.__module__].__doc__ or pass_.summary))
    if pass_.options:
        parts.append(f"## Options\n\n{_options(pass_, documented)}")
    parts.append("## Use")
    parts.append(fenced(_use(pass_), "python"))
    module = pass_.function.__module__.removeprefix("linalg_ext.")
    parts.append(f"Defined in `{module.replace('.', '/')}.py`.")
    return "\n\n".join(parts) + "\n"


def _options(transformation: Transformation, documented: str) -> str:
    """Return a line for each option: its kind and default, and its documentation."""
    documentation = {
        name: " ".join(sentence.split())
        for names, sentence in _ARGUMENT.findall(documented)
        for name in names.split(", ")
    } | _SELECTING
    lines = []
    for name, option in transformation.options.items():
        text = documentation.get(name, "").rstrip(".")
        lines.append(f"- `{option}`" + (f": {text}" if text else ""))
    return "\n".join(lines)


def _use(transformation: Transformation) -> str:
    function, needed = transformation.function.__name__, next(iter(transformation.options), None)
    lines = [
        f"lx.transforms.{function}(module{f', {needed}=...' if needed else ''})",
        f'module.run("{transformation.pass_name}")',
    ]
    if isinstance(transformation, Step):
        needed = next(iter(transformation.arguments), None)
        chosen = "" if transformation.whole else '.match("matmul")'
        step = f"{function}({f'{needed}=...' if needed else ''})"
        lines.append(f"lx.Schedule(module){chosen}.{step}")
    return "\n".join(lines)


def marked_up(docstring: str) -> str:
    """A docstring as Markdown: text that is indented under `before:` and `after:` is IR."""
    parts: list[str] = []
    for block in re.split(r"\n(?=\S)", textwrap.dedent(docstring).strip()):
        head, _, rest = block.partition("\n")
        if _SECTION.match(head):
            continue  # for those who read the code; the users' part is under "Options"
        if _LABEL.match(head) and rest.startswith(" "):
            parts.append(f"**{head.capitalize()}**\n\n{fenced(textwrap.dedent(rest), 'mlir')}\n")
        elif rest.startswith("    "):
            parts.append(f"{head}\n\n{fenced(textwrap.dedent(rest))}\n")
        else:
            parts.append(block)
    return "\n".join(parts)


def _folder(pass_: Registered) -> str:
    if isinstance(pass_, Transformation):
        inside = pass_.function.__module__.removeprefix("linalg_ext.transforms.")
        return inside.partition(".")[0]
    return "pipelines"


def _stem(pass_: Registered) -> str:
    return pass_.pass_name.removeprefix("linalg-ext-").replace("-", "_")
