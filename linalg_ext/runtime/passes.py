"""Pass managers of upstream's passes, without the patterns that change what a module computes.

`canonicalize` folds what is padded and then inserted into a fill of the same value:

    %p = tensor.pad %x low[1] high[1] { tensor.yield %zero }
    %r = tensor.insert_slice %p into %zeros[0] [5] [2]

becomes `tensor.insert_slice %x into %zeros[1] [3] [2]`, though it begins at 2: the step is not
asked for. Upstream lets patterns be left out by their names, and each compiler writes a name in
its own way.
"""

from __future__ import annotations

import re

from linalg_ext.bindings import ir, passmanager

_PATTERN = "FoldInsertPadIntoFill"
_DISABLED = f"{{anonymous}}::{_PATTERN},'(anonymous namespace)::{_PATTERN}'"
_OPTION = "disable-patterns="
_PASS = re.compile(r"(?<![\w-])(canonicalize|inline)(?![\w-])(\{(?:[^{}]|\{[^{}]*\})*\})?(?!\{)")
_CLEANING = "default-pipeline="
_PIPELINE = re.compile(r"[\w-]-pipeline(?![\w=-])")
"""What upstream calls passes that it has put together; their names hold those of none of them."""


def pass_manager(anchor: str, context: ir.Context, text: str) -> passmanager.PassManager:
    """A pass manager for upstream's passes.

    Args:
        anchor: the op that they run on.
        context: of that op.
        text: the passes, with commas between.

    Raises:
        ValueError: they cannot be read.
    """
    if _PIPELINE.search(text):
        # Written out, it can be read again.
        _, _, text = str(_made(anchor, context, text)).partition("(")
        text = text.removesuffix(")")
    return _made(anchor, context, sound(text))


def sound(text: str) -> str:
    """The text of a pipeline, its cleaning passes without what is wrong; others as they are."""
    return _PASS.sub(_without_faults, text)


def _without_faults(match: re.Match[str]) -> str:
    name, options = match[1], (match[2] or "{}")[1:-1]
    if name == "inline":
        # It canonicalizes what it has inlined into, unless it is told otherwise.
        options = options.replace(f"{_CLEANING}canonicalize", _CLEANING)
        return f"{name}{{{options if _CLEANING in options else f'{options} {_CLEANING}'.strip()}}}"
    if _OPTION in options:
        return f"{name}{{{options.replace(_OPTION, f'{_OPTION}{_DISABLED},')}}}"
    return f"{name}{{{f'{options} {_OPTION}{_DISABLED}'.strip()}}}"


def _made(anchor: str, context: ir.Context, text: str) -> passmanager.PassManager:
    manager = passmanager.PassManager(anchor, context)
    manager.add(text)
    return manager
