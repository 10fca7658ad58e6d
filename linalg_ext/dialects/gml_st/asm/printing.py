"""IR as MLIR prints it, its ops of `gml_st` written as the documents write them: the way back.

An op that does not have the layout that it must is left in the generic form, which shows all of it.
"""

from __future__ import annotations

import re
from itertools import zip_longest

from linalg_ext.dialects.gml_st.asm.generic_form import (
    Block,
    GenericOp,
    Piece,
    Printer,
    read_generic,
    rewritten,
    statements,
)
from linalg_ext.dialects.gml_st.asm.reading import VALUE_NAME, pretty_types
from linalg_ext.dialects.gml_st.asm.sets import FORMS, print_set_op
from linalg_ext.dialects.gml_st.ir.op_views import (
    DISTRIBUTION,
    INPUT_SLOTS,
    ITERATOR_TYPES,
    OUTPUT_SLOTS,
)
from linalg_ext.notations.mlir_text import Span
from linalg_ext.notations.source_text import SourceText

_GENERIC = re.compile(r'"gml_st\.(\w+)"(?=\()')
_DEFINED = re.compile(r"\s*((?:%[\w$.-]+(?::\d+)?\s*,\s*)*%[\w$.-]+(?::\d+)?)\s*=(?!=)")
_STEP = 4
"""By how many blanks clauses of a loop, and further yielded values, are indented."""


def pretty(text: str) -> str:
    """A text as MLIR prints it, in the form of the documents."""
    if "gml_st." not in text:
        return text
    return pretty_types(rewritten(text, _GENERIC, _PRINTERS))


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
            operands = [f"{n} = {v}: {t}" for n, (v, t) in zip(names, group, strict=True)]
            head += f"{clause}{word} ({', '.join(operands)})"
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


def _yield(source: SourceText, op: GenericOp) -> list[Piece]:
    """In the generic form one region combines for all accumulators; here each has its own body."""
    is_set = op.name == "set_yield"
    values, *groups = op.segments(*[OUTPUT_SLOTS] * (3 if is_set else 2))
    destinations, subsets = groups if is_set else ([], groups[0])
    if (is_set and len(destinations) != len(values)) or len(subsets) not in (0, len(values)):
        raise ValueError(op.name)
    if op.results or (is_set and len(subsets) != len(values)):
        raise ValueError(op.name)
    bodies = iter(_bodies(source, op.block, sum(op.flags(len(values)))))
    line = source.text[source.text.rfind("\n", 0, op.start) + 1 : op.start]
    between = ",\n" + " " * (len(line) + _STEP)
    pieces: list[Piece] = [f"gml_st.{op.name}{op.notes}{' ' if values else ''}"]
    for number, (value, destination, subset, flag) in enumerate(
        zip_longest(values, destinations, subsets, op.flags(len(values)))
    ):
        pieces.append(f"{between if number else ''}{value[0]}")
        if destination is not None:
            pieces.append(f" into {destination[0]}[{subset[0]}]")
        elif subset is not None:
            pieces.append(f" to {subset[0]}")
        if flag:
            pieces += next(bodies)
        pieces.append(f" : {value[1]}")
        if destination is not None:
            pieces.append(f" into {destination[1]}[{subset[1]}]")
        elif subset is not None:
            pieces.append(f" to {subset[1]}")
    return pieces


def _bodies(source: SourceText, block: Block | None, count: int) -> list[list[Piece]]:
    """` acc (%new, %old: T) { ... }` for each accumulator."""
    if block is None:
        return []
    if len(block.arguments) != 2 * count:
        raise ValueError("acc")
    pairs = [*zip(block.arguments[::2], block.arguments[1::2], strict=True)]
    heads: list[str] = []
    for (new, type_), (old, old_type) in pairs:
        if type_ != old_type:
            raise ValueError("acc")
        heads.append(f" acc ({new}, {old}: {type_}) {{")
    if count == 1:
        return [[heads[0], block.body, "}"]]
    *ops, last = statements(source, block.body.start, block.body.end)
    start = source.text.index('"gml_st.yield"', last[1].start, last[1].end)
    combined = read_generic(source, start, "yield")
    values, subsets = combined.segments(OUTPUT_SLOTS, OUTPUT_SLOTS)
    if len(values) != count or subsets:
        raise ValueError("acc")
    indent = source.text[source.text.rfind("\n", 0, start) : start]
    ending = source.text[source.text.rfind("\n", 0, block.body.end) : block.body.end]
    needed = [_needed([span for _, span in ops], value) for value, _ in values]
    unused = [span for _, span in ops if not any(span in spans for spans in needed)]
    needed[0] = [span for _, span in ops if span in needed[0] or span in unused]
    own = [{new, old} for (new, _), (old, _) in pairs]
    for number, spans in enumerate(needed):
        used = {
            values[number][0],
            *(name for span in spans for name in VALUE_NAME.findall(span.text)),
        }
        if any(used & names for other, names in enumerate(own) if other != number):
            raise ValueError("acc")  # it has no body of its own
    return [
        [
            head,
            *needed[number],
            f"{indent}gml_st.yield {value} : {type_}",
            ending,
            "}",
        ]
        for number, (head, (value, type_)) in enumerate(zip(heads, values, strict=True))
    ]


def _needed(ops: list[Span], value: str) -> list[Span]:
    """The ops that a value is computed by, in their order."""
    names_needed = {value.partition("#")[0]}
    needed: list[Span] = []
    for op in reversed(ops):
        defined = _DEFINED.match(op.text)
        names = set(VALUE_NAME.findall(defined[1])) if defined else set()
        if names & names_needed:
            names_needed |= set(VALUE_NAME.findall(op.text))
            needed.insert(0, op)
    return needed


_PRINTERS: dict[str, Printer] = {
    **dict.fromkeys(FORMS, print_set_op),
    **dict.fromkeys(("loop", "for", "parallel"), _loop),
    **dict.fromkeys(("yield", "set_yield"), _yield),
}
