"""`linalg.tiled_loop`, the ancestor of `gml_st.loop`, as such a loop.

before:
    %in_sub = tensor.extract_slice %in_[%i, %j] [4, 4] [1, 1] : tensor<80x60xf32> to tensor<4x4xf32>
    ...
    %update = tensor.insert_slice %r into %out_[%i] [4] [1] : tensor<4xf32> into tensor<80xf32>
    linalg.yield %update : tensor<80xf32>
after:
    %in_sub_tile = gml_st.tile %in_[%i, %j] [4, 4] [1, 1] : ...
    %in_sub = gml_st.materialize %in_[%in_sub_tile] : ...
    ...
    %update_tile = gml_st.tile %out_[%i] [4] [1] : ...
    gml_st.yield %r to %update_tile : tensor<4xf32> to !gml_st.subset<4xf32>

Its body models the read, change and write of a part of each output, so the inserted slice must be
the extracted one. A body that does something else with its outputs stays as it is, and yields whole
tensors; so does one whose slices have a lower rank than their source, and one on memrefs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from linalg_ext.dialects.gml_st.asm.generic_form import Piece
from linalg_ext.dialects.gml_st.asm.loops import empty_yield, open_body, read_head, yield_pieces
from linalg_ext.dialects.gml_st.asm.reading import (
    VALUE_NAME,
    Mixed,
    Op,
    Reading,
    TypeText,
    shaped,
    subset_type,
    unused_name,
)
from linalg_ext.dialects.gml_st.asm.sets import set_op
from linalg_ext.errors import ParseError
from linalg_ext.notations.mlir_text import Reader, Span

_STATEMENTS = re.compile(
    r"""
    (?://[^\n]*)
  | "(?:[^"\\\n]|\\.)*"
  | (?P<open>[{])
  | (?P<close>[}])
  | (?P<result>%[\w$.-]+)\s*=\s*tensor\.(?P<slice>extract_slice|insert_slice)\b
  | (?<![\w$.#!%@^"-])(?P<yield>linalg\.yield)\b
    """,
    re.VERBOSE,
)


@dataclass(slots=True)
class Slice:
    """`tensor.extract_slice`, or `tensor.insert_slice` of a value.

    Attributes:
        result: the name of its result.
        of: the tensor that it is a part of.
        value: the tensor that is inserted.
        tile: offsets, sizes and strides.
        part_type, type: of the part, and of the whole.
    """

    start: int
    end: int
    result: Span
    of: Span
    value: Span | None
    tile: tuple[Mixed, Mixed, Mixed]
    part_type: Span
    type: Span


@dataclass(slots=True)
class Body:
    """The slices of a body, and the values it yields."""

    extracts: list[Slice] = field(default_factory=list)
    inserts: dict[str, Slice] = field(default_factory=dict)
    yields: Span | None = None
    values: list[Span] = field(default_factory=list)
    types: list[Span] = field(default_factory=list)


def read_tiled_loop(reading: Reading, op: Op, reader: Reader) -> int:
    """Read its head as that of a loop, and its body ahead."""
    head = read_head(reading, Op("loop", op.written, op.place, op.results), reader)
    begin = open_body(reading, head, reader)
    end = Reader(reading.source, begin - 1).balanced()
    body = _body(reading, op, begin, end - 1)
    if body.yields is None:
        return begin
    reading.scope.innermost.is_ended = True
    updates: list[Slice] = []
    for output, value in zip(head.outputs.arguments, body.values, strict=False):
        update = body.inserts.get(value.text)
        if update is not None and update.of.text == output.text and _is_tile(reading, update):
            _check_same_tile(reading, op, update, body)
            updates.append(update)
    if len(updates) < len(body.values) or not updates:
        new_yield = yield_pieces(body.values, body.types) if body.values else [empty_yield("yield")]
        reading.change(body.yields.start, body.yields.end, new_yield)
        return begin
    for extract in body.extracts:
        if _is_tile(reading, extract):
            _materialize(reading, extract)
    tiles: list[str] = []
    for update in updates:
        tiles.append(_tile_name(reading, update))
        _tile(reading, update, tiles[-1], is_kept=_uses(reading, update, begin, end) > 1)
    values = [update.value for update in updates if update.value is not None]
    types = [update.part_type for update in updates]
    subsets = [_subset(reading, update) for update in updates]
    reading.change(body.yields.start, body.yields.end, yield_pieces(values, types, tiles, subsets))
    return begin


def _body(reading: Reading, op: Op, begin: int, end: int) -> Body:
    """Read the slices and the end of a body, and nothing of the regions inside it."""
    body = Body()
    depth, position = 0, begin
    while match := _STATEMENTS.search(reading.source.text, position, end):
        position = match.end()
        depth += (match["open"] is not None) - (match["close"] is not None)
        if depth:
            continue
        reader = Reader(reading.source, position)
        if match["slice"]:
            place = Span(match["result"], *match.span("result"))
            slice_ = _read_slice(reading, match["slice"], place, reader)
            if slice_.value is None:
                body.extracts.append(slice_)
            else:
                body.inserts[slice_.result.text] = slice_
            position = slice_.end
        elif match["yield"]:
            body.values, body.types = reading.typed_values(reader, "linalg.yield")
            body.yields = Span("linalg.yield", match.start(), reader.position)
            position = reader.position
    return body


def _read_slice(reading: Reading, kind: str, result: Span, reader: Reader) -> Slice:
    try:
        return _slice(reading, kind, result, reader)
    except ParseError as error:
        if error.hint is None:
            operands = "%x" if kind == "extract_slice" else "%part into %x"
            error.hint = f"write tensor.{kind} {operands}[offsets] [sizes] [strides] : ..."
        raise


def _slice(reading: Reading, kind: str, result: Span, reader: Reader) -> Slice:
    name = f"tensor.{kind}"
    value = None
    if kind == "insert_slice":
        value = reading.value(reader, name)
        reader.expect("into", name)
    of = reading.value(reader, name)
    offsets, sizes, strides = (
        reading.mixed(reader, f"the {label} of {name}") for label in ("offsets", "sizes", "strides")
    )
    reading.attributes(reader)
    reader.expect(":", name)
    first = reading.type(reader, name)
    reader.expect("to" if value is None else "into", name)
    second = reading.type(reader, name)
    part, whole = (second, first) if value is None else (first, second)
    end = reader.position
    return Slice(result.start, end, result, of, value, (offsets, sizes, strides), part, whole)


def _is_tile(reading: Reading, slice_: Slice) -> bool:
    part, whole = (shaped(reading.canonical(type_)) for type_ in (slice_.part_type, slice_.type))
    return part is not None and whole is not None and len(part.sizes) == len(whole.sizes)


def _check_same_tile(reading: Reading, op: Op, update: Slice, body: Body) -> None:
    for extract in body.extracts:
        if extract.of.text != update.of.text:
            continue
        for label, ours, theirs in zip(
            ("offsets", "sizes", "strides"), update.tile, extract.tile, strict=True
        ):
            if _numbers(reading, ours) != _numbers(reading, theirs):
                line = reading.source.text.count("\n", 0, extract.start) + 1
                reading.refuse(
                    f"the slice inserted into {update.of.text} has other {label} than "
                    f"{extract.result.text}, which line {line} extracts from it",
                    ours.place,
                    f"[{', '.join(theirs.texts)}]: {op.written} reads, changes and writes one tile "
                    "of each output",
                    "extract and insert the same tile, or give the loop an output for each",
                )


def _numbers(reading: Reading, mixed: Mixed) -> list[str]:
    """The entries, constants by their numbers."""
    constants = [reading.scope[text].constant for text in mixed.texts]
    return [
        text if constant is None else str(constant)
        for text, constant in zip(mixed.texts, constants, strict=True)
    ]


def _subset(reading: Reading, slice_: Slice) -> str:
    part, whole = (shaped(reading.canonical(type_)) for type_ in (slice_.part_type, slice_.type))
    return subset_type(part.sizes if part else (), whole.element if whole else "")


def _tile_name(reading: Reading, slice_: Slice) -> str:
    names = VALUE_NAME.findall(reading.source.text)
    return unused_name(slice_.result.text, "tile", names)


def _materialize(reading: Reading, extract: Slice) -> None:
    """Replace a slice by a tile and a `gml_st.materialize` of it."""
    tile = _tile_name(reading, extract)
    subset = _subset(reading, extract)
    operands: dict[str, Piece] = {"source": extract.of, "set": tile}
    types: dict[str, TypeText] = {"source": extract.type, "set": subset}
    pieces: list[Piece] = [
        *(f"{tile} = ", *_tile_of(extract, subset), " ", extract.result, " = "),
        *set_op("materialize", operands, {}, types, [extract.part_type]),
    ]
    reading.change(extract.start, extract.end, pieces)


def _tile_of(slice_: Slice, subset: str) -> list[Piece]:
    lists = dict(zip(("offsets", "sizes", "strides"), slice_.tile, strict=True))
    return set_op("tile", {"superset": slice_.of}, lists, {"superset": slice_.type}, [subset])


def _tile(reading: Reading, update: Slice, name: str, *, is_kept: bool) -> None:
    """Replace an inserting op by a tile; put the tile before the op if the op has other users."""
    subset = _subset(reading, update)
    pieces = [f"{name} = ", *_tile_of(update, subset), " "]
    reading.change(update.start, update.start if is_kept else update.end, pieces)


def _uses(reading: Reading, update: Slice, begin: int, end: int) -> int:
    name = re.compile(re.escape(update.result.text) + r"(?![\w$.-])")
    return len(name.findall(reading.source.text, update.end, end))
