"""`linalg.indexed_generic`, which MLIR had until 2021, as `linalg.generic` with `linalg.index`.

before:
    linalg.indexed_generic {indexing_maps = [...], iterator_types = ["parallel"]}
        ins(%a : tensor<4xindex>) outs(%o : tensor<4xindex>) {
      ^bb0(%i: index, %x: index, %y: index):
        ...
after:
    linalg.generic {indexing_maps = [...], iterator_types = ["parallel"]}
        ins(%a : tensor<4xindex>) outs(%o : tensor<4xindex>) {
      ^bb0(%x: index, %y: index): %i = linalg.index 0 : index
        ...

Its body had the position in each dimension for its first arguments. The generic form is read too,
with `operand_segment_sizes` as it was spelled then.
"""

from __future__ import annotations

import re
from itertools import takewhile

from linalg_ext.dialects.gml_st.asm.generic_form import listed
from linalg_ext.errors import ParseError, counted
from linalg_ext.notations.mlir_text import Reader, Span, Token
from linalg_ext.notations.source_text import SourceText

_NAME = "linalg.indexed_generic"
_ITERATORS = re.compile(r"iterator_types\s*=\s*\[")
_KIND = re.compile(r'"(parallel|reduction|window)"')
_SEGMENTS = re.compile(r"operand_segment_sizes\s*=\s*dense<\[?([\d,\s]*)\]?>\s*:\s*vector<\d+xi32>")


def translate_indexed_generic(source: SourceText, start: int) -> tuple[int, int, list[Span | str]]:
    """The part of the text that changes, and its replacement.

    Args:
        source: the text.
        start: where the name of the op begins; in the generic form, behind the quote.

    Raises:
        ParseError: its body does not have the arguments that it must.
    """
    is_generic_form = start > 0 and source.text[start - 1] == '"'
    reader = Reader(source, start + len(_NAME) + is_generic_form)
    body = _body(reader, is_generic_form)
    end = reader.position
    label, arguments, after = _arguments(source, body)
    if is_generic_form and reader.peek().text == "{":
        end = reader.balanced()
    head = source.text[start:end]
    count = _iterator_count(source, start, head, end)
    if count is None:
        types = (argument.text.partition(":")[2].strip() for argument in arguments)
        count = len([*takewhile(lambda type_: type_ == "index", types)])
    if len(arguments) < count:
        raise ParseError(
            f"the body of {_NAME} has {counted(len(arguments), 'argument')}",
            where=source.place(label.start, label.end),
            expected=f"one for each of {counted(count, 'dimension')}, then one for each operand",
        )
    pieces: list[Span | str] = ["linalg.generic", _copied(source, start + len(_NAME), label.end)]
    pieces += ["(", *listed(arguments[count:]), "):"]
    for position, argument in enumerate(arguments[:count]):
        name = argument.text.partition(":")[0].strip()
        pieces.append(f" {name} = linalg.index {position} : index")
    rest = _renewed(source, after, end) if is_generic_form else [_copied(source, after, end)]
    return start, end, [*pieces, *rest]


def _body(reader: Reader, is_generic_form: bool) -> int:
    """The offset behind the brace that opens the body; the reader is left behind its end."""
    source = reader.source
    while not ((token := reader.peek()).text == "{" and _LABEL.match(source.text, token.end)):
        if not token.text:
            reader.refuse(
                f"{_NAME} has no body", token, "a block: { ^bb0(%i: index, %x: f32, ...): ... }"
            )
        opens_body = token.text == "(" and Reader(source, token.end).peek().text == "{"
        if token.text in ("(", "[", "<", "{") and not (opens_body and is_generic_form):
            reader.balanced()
        else:
            reader.next()
    reader.balanced()
    if is_generic_form:
        reader.expect(")", _NAME)
    return token.end


_LABEL = re.compile(r"(?:\s+|//[^\n]*)*\^")


def _arguments(source: SourceText, body: int) -> tuple[Token, list[Span], int]:
    """The label of the first block, its arguments, and the offset behind its colon."""
    reader = Reader(source, body)
    label = reader.next()
    reader.expect("(", f"the block of {_NAME}")
    arguments = []
    while not reader.accepts(")"):
        start = reader.peek().start
        end = start
        while (token := reader.peek()).text not in (",", ")"):
            if not token.text:
                reader.refuse("the block has no end", token, "`)`")
            end = reader.balanced() if token.text in ("<", "(", "[") else reader.next().end
        arguments.append(reader.span(start, end))
        reader.accepts(",")
    reader.expect(":", f"the block of {_NAME}")
    return label, arguments, reader.position


def _iterator_count(source: SourceText, start: int, head: str, end: int) -> int | None:
    """Return the number of iterator types that the op states; None where none is found.

    They may be in the attributes that an alias names.
    """
    match = _ITERATORS.search(source.text, start, end)
    if match is None and (alias := re.match(r"\s*(#[\w$.-]+)", head[len(_NAME) :])):
        stated = re.search(rf"^\s*{re.escape(alias[1])}\s*=\s*", source.text, re.MULTILINE)
        match = stated and _ITERATORS.search(source.text, stated.end())
    if match is None:
        return None
    closing = source.text.find("]", match.end())
    return len(_KIND.findall(source.text[match.end() : closing])) or None


def _copied(source: SourceText, start: int, end: int) -> Span:
    return Span(source.text[start:end], start, end)


def _renewed(source: SourceText, start: int, end: int) -> list[Span | str]:
    """The rest of a generic form, with its attributes as they are spelled now."""
    pieces: list[Span | str] = []
    position = start
    iterators = _ITERATORS.search(source.text, start, end)
    closing = source.text.find("]", iterators.end()) if iterators else start
    matches = [
        *(_KIND.finditer(source.text, iterators.end(), closing) if iterators else ()),
        *_SEGMENTS.finditer(source.text, start, end),
    ]
    for match in sorted(matches, key=lambda candidate: candidate.start()):
        pieces.append(_copied(source, position, match.start()))
        if match[0].startswith('"'):
            pieces.append(f"#linalg.iterator_type<{match[1]}>")
        else:
            pieces.append(f"operandSegmentSizes = array<i32: {match[1].strip()}>")
        position = match.end()
    pieces.append(_copied(source, position, end))
    return pieces
