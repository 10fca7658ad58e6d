"""`gml_st.yield` and `gml_st.set_yield` of the generic form, as the documents write them.

In the generic form one region combines for all accumulators. Here each has a body of its own: the
ops of that region that its value needs.
"""

from __future__ import annotations

import re
from itertools import zip_longest

from linalg_ext.gml_st.asm.generic_form import Block, GenericOp, read_generic, statements
from linalg_ext.gml_st.asm.layout import OUTPUT_SLOTS
from linalg_ext.gml_st.asm.op_reader import Piece
from linalg_ext.notations.mlir_text import Span
from linalg_ext.notations.source_text import SourceText

_NAME = re.compile(r"%[\w$.-]+")
_DEFINED = re.compile(r"\s*((?:%[\w$.-]+(?::\d+)?\s*,\s*)*%[\w$.-]+(?::\d+)?)\s*=(?!=)")
_STEP = 4
"""By how many blanks further values stand behind the first."""


def print_yield(source: SourceText, op: GenericOp) -> list[Piece]:
    """The op in the form of the documents.

    Raises:
        ValueError: it is not laid out as it must be.
    """
    is_set = op.name == "set_yield"
    values, *others = op.segments(*[OUTPUT_SLOTS] * (3 if is_set else 2))
    destinations, subsets = others if is_set else ([], others[0])
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
    unused = [span for _, span in ops if not any(span in each for each in needed)]
    needed[0] = [span for _, span in ops if span in needed[0] or span in unused]
    own = [{new, old} for (new, _), (old, _) in pairs]
    for number, each in enumerate(needed):
        used = {values[number][0], *(name for span in each for name in _NAME.findall(span.text))}
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
    wanted = {value.partition("#")[0]}
    found: list[Span] = []
    for op in reversed(ops):
        defined = _DEFINED.match(op.text)
        names = set(_NAME.findall(defined[1])) if defined else set()
        if names & wanted:
            wanted |= set(_NAME.findall(op.text))
            found.insert(0, op)
    return found
