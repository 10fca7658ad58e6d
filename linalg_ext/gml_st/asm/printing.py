"""IR as MLIR prints it, its ops of `gml_st` written as the documents write them: the way back.

An op that does not have the layout that it must is left in the generic form, which shows all of it.
"""

from __future__ import annotations

import re

from linalg_ext.gml_st.asm.generic_form import GenericOp, Printer, rewritten
from linalg_ext.gml_st.asm.layout import (
    DISTRIBUTION,
    INPUT_SLOTS,
    ITERATOR_TYPES,
    OUTPUT_SLOTS,
    PERMUTATION,
    REMAINING_DIMS,
    STATIC_INDICES,
)
from linalg_ext.gml_st.asm.op_reader import Piece
from linalg_ext.gml_st.asm.printed_yields import print_yield
from linalg_ext.gml_st.asm.types import pretty_types
from linalg_ext.notations.source_text import SourceText
from linalg_ext.structured.mixed import STATIC_OFFSETS, STATIC_SIZES, STATIC_STRIDES

_GENERIC = re.compile(r'"gml_st\.(\w+)"(?=\()')
_STEP = 4
"""By how many blanks the clauses of a loop stand behind the line that it begins in."""


def pretty(text: str) -> str:
    """A text as MLIR prints it, in the form of the documents."""
    if "gml_st." not in text:
        return text
    return pretty_types(rewritten(text, _GENERIC, _PRINTERS))


def _space(source: SourceText, op: GenericOp) -> list[Piece]:
    return [f"gml_st.space {op.mixed(STATIC_SIZES, op.operands)}{op.notes} : {_one(op)}"]


def _full(source: SourceText, op: GenericOp) -> list[Piece]:
    (value,), (type_,) = op.operands, op.types
    return [f"gml_st.full {value}{op.notes} : {type_} to {_one(op)}"]


def _tile(source: SourceText, op: GenericOp) -> list[Piece]:
    ((value, type_),), *groups = op.segments(1, 1, 1, 1)
    place = [
        op.mixed(name, [each for each, _ in group])
        for name, group in zip((STATIC_OFFSETS, STATIC_SIZES, STATIC_STRIDES), groups, strict=True)
    ]
    return [f"gml_st.tile {value} {' '.join(place)}{op.notes} : {type_} to {_one(op)}"]


def _filter(source: SourceText, op: GenericOp) -> list[Piece]:
    (value, indices), (of, by) = op.operands, op.types
    return [f"gml_st.filter {value}[{indices}]{op.notes} : {of}[{by}] to {_one(op)}"]


def _point(source: SourceText, op: GenericOp) -> list[Piece]:
    value, *indices = op.operands
    place = op.mixed(STATIC_INDICES, indices)
    return [f"gml_st.point {value} {place}{op.notes} : {op.types[0]} to {_one(op)}"]


def _dims(source: SourceText, op: GenericOp) -> list[Piece]:
    (value,), (type_,) = op.operands, op.types
    dims = ", ".join(op.array(REMAINING_DIMS if op.name == "drop_dims" else PERMUTATION))
    return [f"gml_st.{op.name} {value}, [{dims}]{op.notes} : {type_} to {_one(op)}"]


def _query(source: SourceText, op: GenericOp) -> list[Piece]:
    (value, dim), (type_, _) = op.operands, op.types
    return [f"gml_st.{op.name} {value}[{dim}]{op.notes} : {type_}"]


def _pair(source: SourceText, op: GenericOp) -> list[Piece]:
    (first, second), (one, other) = op.operands, op.types
    results = "" if op.name == "contains" else f" to {', '.join(op.results)}"
    if not op.results:
        raise ValueError(op.name)
    return [f"gml_st.{op.name} {first}, {second}{op.notes} : {one}, {other}{results}"]


def _is_empty(source: SourceText, op: GenericOp) -> list[Piece]:
    (value,), (type_,) = op.operands, op.types
    return [f"gml_st.is_empty {value}{op.notes} : {type_}"]


def _materialize(source: SourceText, op: GenericOp) -> list[Piece]:
    (value, of_set), (type_, set_type) = op.operands, op.types
    types = f"{type_}[{set_type}] to {_one(op)}"
    return [f"gml_st.materialize {value}[{of_set}]{op.notes} : {types}"]


def _loop(source: SourceText, op: GenericOp) -> list[Piece]:
    if op.block is None:
        raise ValueError(op.name)
    inputs = INPUT_SLOTS * (op.name == "loop")
    outputs = OUTPUT_SLOTS * (op.name != "parallel")
    *bounds, ins, outs = op.segments(1, 1, 1, inputs, outputs)
    rank = len(bounds[0])
    arguments = [name for name, _ in op.block.arguments]
    if len(arguments) != rank + len(ins) + len(outs):
        raise ValueError(op.name)
    ivs, lower, upper, step = (
        f"({', '.join(names)})"
        for names in (arguments[:rank], *([name for name, _ in bound] for bound in bounds))
    )
    begin = source.text.rfind("\n", 0, op.start) + 1
    line = source.text[begin : op.start]
    clause = "\n" + " " * (len(line) - len(line.lstrip()) + _STEP)
    head = f"gml_st.{op.name} {ivs} = {lower} to {upper} step {step}"
    for word, group, names in (
        ("ins", ins, arguments[rank : rank + len(ins)]),
        ("outs", outs, arguments[rank + len(ins) :]),
    ):
        if group:
            given = [f"{n} = {v}: {t}" for n, (v, t) in zip(names, group, strict=True)]
            head += f"{clause}{word} ({', '.join(given)})"
    kinds = op.attributes.get(ITERATOR_TYPES, "[]")
    all_parallel = ", ".join(['"parallel"'] * rank)
    if op.name == "loop" and kinds != f"[{all_parallel}]":
        head += f"{clause}iterators{kinds}"
    if DISTRIBUTION in op.attributes:
        head += f"{clause}distribution{op.attributes[DISTRIBUTION]}"
    expected = [type_ for _, type_ in outs if not type_.startswith("memref<")]
    types = f" : {', '.join(op.results)}" if op.results else ""
    if op.name == "loop" and op.results == expected:
        types = ""
    elif not op.results and expected:
        raise ValueError(op.name)
    return [f"{head} {{", op.block.body, f"}}{op.notes}{types}"]


def _one(op: GenericOp) -> str:
    """The type of the one result."""
    (result,) = op.results
    return result


_PRINTERS: dict[str, Printer] = {
    "space": _space,
    "full": _full,
    "tile": _tile,
    "filter": _filter,
    "point": _point,
    "drop_dims": _dims,
    "transpose_dims": _dims,
    "offset": _query,
    "size": _query,
    "stride": _query,
    "intersection": _pair,
    "convex_union": _pair,
    "difference": _pair,
    "contains": _pair,
    "is_empty": _is_empty,
    "materialize": _materialize,
    "loop": _loop,
    "for": _loop,
    "parallel": _loop,
    "yield": print_yield,
    "set_yield": print_yield,
}
