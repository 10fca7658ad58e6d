"""Groups as MLIR prints them, written as people write them: the way back.

A group that does not have the layout that it must is left in the generic form, which shows all of
it.
"""

from __future__ import annotations

import re

from linalg_ext.gml_st.asm.generic_form import GenericOp, rewritten
from linalg_ext.notations.mlir_text import Span
from linalg_ext.notations.source_text import SourceText
from linalg_ext.structured.group import GROUP_NAMES as GROUPS
from linalg_ext.structured.group import (
    INIT_SLOTS,
    INPUT_SLOTS,
    LABEL,
    PRESERVE,
    SAID,
    TILING,
    YIELD,
)

_GENERIC = re.compile(rf'"linalg_ext\.({"|".join((*GROUPS, YIELD))})"(?=\()')
_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_WIDE = 100
"""Columns of a line; operands that need more have a line each."""

_STEP = 4
"""By how many blanks the clauses stand behind the line that a group begins in."""


def pretty(text: str) -> str:
    """A text as MLIR prints it, its groups as people write them."""
    if '"linalg_ext.' not in text:
        return text
    return rewritten(text, _GENERIC, {**dict.fromkeys(GROUPS, _group), YIELD: _yield})


def _yield(_: SourceText, op: GenericOp) -> list[Span | str]:
    (values,) = op.segments(INIT_SLOTS)
    named, types = ", ".join(op.operands), ", ".join(op.types)
    return [f"linalg_ext.{YIELD} {named} : {types}" if values else f"linalg_ext.{YIELD}"]


def _group(source: SourceText, op: GenericOp) -> list[Span | str]:
    if op.block is None:
        raise ValueError(op.name)
    ins, outs = op.segments(INPUT_SLOTS, INIT_SLOTS)
    arguments = [name for name, _ in op.block.arguments]
    if len(arguments) != len(ins) + len(outs) or op.results != [type_ for _, type_ in outs]:
        raise ValueError(op.name)
    begin = source.text.rfind("\n", 0, op.start) + 1
    line = source.text[begin : op.start]
    clause = "\n" + " " * (len(line) - len(line.lstrip()) + _STEP)
    pieces: list[Span | str] = [f"linalg_ext.{op.name}{_said(op)}"]
    for word, group, names in (
        ("ins", ins, arguments[: len(ins)]),
        ("outs", outs, arguments[len(ins) :]),
    ):
        if group:
            given = [f"{n} = {v}: {t}" for n, (v, t) in zip(names, group, strict=True)]
            short = f"{clause}{word}({', '.join(given)})"
            between = f",{clause} {' ' * len(word)}"
            is_long = len(short) > _WIDE
            pieces.append(f"{clause}{word}({between.join(given)})" if is_long else short)
    return [*pieces, " {", op.block.body, "}"]


def _said(op: GenericOp) -> str:
    """Return the attributes of a group: its label, its tiling, `preserve`, and the others."""
    said = ""
    if LABEL in op.attributes:
        said += f" {op.attributes[LABEL]}"
    if TILING in op.attributes:
        said += f" {TILING} [{', '.join(op.array(TILING))}]"
    if PRESERVE in op.attributes:
        said += f" {PRESERVE}"
    if op.attributes.get(PRESERVE) or not _TEXT.fullmatch(op.attributes.get(LABEL, '""')):
        raise ValueError(op.name)
    notes = [f"{n} = {v}" if v else n for n, v in op.attributes.items() if n not in SAID]
    return said + (f" attributes {{{', '.join(notes)}}}" if notes else "")
