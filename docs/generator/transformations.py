"""A page for each pass of this library, with what its file says of it: before --> after."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator

from docs.generator.page import Page, fenced, table
from linalg_ext.rewriting.registry import Registered, all_passes
from linalg_ext.rewriting.resolve import NamedPipeline
from linalg_ext.rewriting.transformation import Transformation

FOLDERS = {
    "rewrites": "Rewrites",
    "subsets": "Subsets",
    "grouping": "Grouping",
    "schedules": "Schedules",
    "codegen": "Code generation",
    "lowering": "On the way to LLVM",
    "pipelines": "Named pipelines",
}
"""The folders of `transforms/`, and what they are called. One that is not here goes by its name."""

_LABEL = re.compile(r"^(before|after)\b[^\n]*:$")


def passes() -> dict[str, Registered]:
    """The passes of this library; examples may have registered more."""
    return {
        name: each
        for name, each in all_passes().items()
        if isinstance(each, NamedPipeline) or each.__module__.startswith("linalg_ext.")
    }


def pages() -> Iterator[Page]:
    """The list of all passes, then a page for each."""
    by_folder: dict[str, list[Registered]] = {}
    for each in passes().values():
        by_folder.setdefault(_folder(each), []).append(each)
    parts = [
        "# Transformations",
        "Each is a function, `lx.transforms.fold_transposes(module)`, and a pass in pipelines, "
        '`module.run("linalg-ext-fold-transposes,cse")`. `linalg-ext opt --list` lists them.',
    ]
    order = [*FOLDERS, *sorted(set(by_folder) - set(FOLDERS))]
    for folder in (name for name in order if name in by_folder):
        parts.append(f"## {FOLDERS.get(folder, folder.capitalize())}")
        rows = [
            (f"[`{each.pass_name}`]({_stem(each)}.md)", each.summary) for each in by_folder[folder]
        ]
        parts.append(table(("pass", "what it does"), rows))
    yield Page("transformations/index.md", "\n\n".join(parts) + "\n")
    for group in by_folder.values():
        for each in group:
            yield Page(f"transformations/{_stem(each)}.md", _page(each))


def _page(each: Registered) -> str:
    parts = [f"# {each.pass_name}"]
    if isinstance(each, NamedPipeline):
        steps = each.text.replace(",", ",\n") if "\n" not in each.text else each.text
        return "\n\n".join([*parts, f"{each.summary}. It stands for", fenced(steps)]) + "\n"
    assert isinstance(each, Transformation)
    parts.append(marked_up(sys.modules[each.function.__module__].__doc__ or each.summary))
    if each.options:
        options = "\n".join(f"- `{option}`" for option in each.options.values())
        parts.append(f"## Options\n\n{options}")
    function = each.function.__name__
    keywords = next(iter(each.options), None)
    call = f"lx.transforms.{function}(module{f', {keywords}=...' if keywords else ''})"
    parts.append("## Use")
    parts.append(fenced(f'{call}\nmodule.run("{each.pass_name}")', "python"))
    parts.append(
        f"Defined in `{each.function.__module__.removeprefix('linalg_ext.').replace('.', '/')}.py`."
    )
    return "\n\n".join(parts) + "\n"


def marked_up(docstring: str) -> str:
    """A docstring as Markdown: what is indented under `before:` and `after:` is IR."""
    parts: list[str] = []
    for block in re.split(r"\n(?=\S)", textwrap.dedent(docstring).strip()):
        head, _, rest = block.partition("\n")
        if _LABEL.match(head) and rest.startswith(" "):
            parts.append(f"**{head.capitalize()}**\n\n{fenced(textwrap.dedent(rest), 'mlir')}\n")
        elif rest.startswith("    "):
            parts.append(f"{head}\n\n{fenced(textwrap.dedent(rest))}\n")
        else:
            parts.append(block)
    return "\n".join(parts)


def _folder(each: Registered) -> str:
    if isinstance(each, Transformation):
        inside = each.function.__module__.removeprefix("linalg_ext.transforms.")
        return inside.partition(".")[0]
    return "pipelines"


def _stem(each: Registered) -> str:
    return each.pass_name.removeprefix("linalg-ext-").replace("-", "_")
