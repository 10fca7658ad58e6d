"""The public names, from their docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import linalg_ext as lx
from docs.generator.page import Page, table

ELSEWHERE = {
    "errors": "../errors/index.md",
    "ops": "../ops/index.md",
    "transforms": "../transformations/index.md",
}
"""Public names that have pages of their own."""

FURTHER = ("linalg_ext.opdsl", "linalg_ext.rewriting")
"""Modules that users import from, beside the public names."""


_HEADED = {"show_root_heading": "true", "show_root_toc_entry": "true", "heading_level": 2}
"""For names that share a page: each has its own heading."""


def pages() -> Iterator[Page]:
    """A page of all functions and classes, one for each module, and the list of them."""
    public: dict[str, Any] = {name: getattr(lx, name) for name in lx.__all__}
    modules = {name: value for name, value in public.items() if isinstance(value, ModuleType)}
    plain = sorted(set(public) - set(modules), key=str.lower)
    links = {name: f"names.md#{_home(name)}" for name in plain}
    links |= {name: ELSEWHERE.get(name, f"{name}.md") for name in modules}
    rows = [
        (f"[`lx.{name}`]({links[name]})", _lead(name)) for name in sorted(public, key=str.lower)
    ]
    yield Page(
        "reference/index.md",
        "# Reference\n\n`import linalg_ext as lx`. Names are loaded when they are first asked "
        "for.\n\n"
        + table(("name", "what it is"), rows)
        + "\n\nMore: "
        + ", ".join(f"[`{name}`]({_stem(name)}.md)" for name in FURTHER)
        + ", [element types](element_types.md), [notations](notations.md), "
        "[functions of TC](tc_functions.md), [the command line](commands.md).\n",
    )
    yield Page(
        "reference/names.md",
        "# Functions and classes\n\n"
        + "\n\n".join(
            _directive(_home(name), heading=f"lx.{name}", toc_label=name, **_HEADED)
            for name in plain
        )
        + "\n",
    )
    for name, module in modules.items():
        if name not in ELSEWHERE:
            yield Page(f"reference/{name}.md", f"# lx.{name}\n\n{_directive(module.__name__)}\n")
    for name in FURTHER:
        yield Page(f"reference/{_stem(name)}.md", f"# {name}\n\n{_directive(name)}\n")


def _stem(module: str) -> str:
    return module.rpartition(".")[2]


def _home(name: str) -> str:
    """Return the dotted name of a definition: mkdocstrings does not follow lazy names."""
    value = getattr(lx, name)
    if _is_alias(value):
        return lx._LAZY[name].replace(":", ".")
    if not isinstance(value, type) and not inspect.isroutine(value):
        value = type(value)
    return f"{value.__module__}.{value.__qualname__}"


def _is_alias(value: Any) -> bool:
    """Return whether a name is one for types, which Python's own classes represent."""
    return type(value).__module__ == "typing"


def _lead(name: str) -> str:
    value = getattr(lx, name)
    if _is_alias(value):
        return "A type for annotations."
    return (inspect.getdoc(value) or "").partition("\n")[0]


def _directive(identifier: str, **options: object) -> str:
    """Return a directive, which mkdocstrings replaces by the docstrings of `identifier`."""
    lines = [f"::: {identifier}"]
    if options:
        lines += ["    options:", *(f"      {name}: {value}" for name, value in options.items())]
    return "\n".join(lines)
