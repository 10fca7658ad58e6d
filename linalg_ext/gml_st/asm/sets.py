"""Ops that make and ask sets: from the text to MLIR's generic form.

    %s = gml_st.space [64, %n] : !gml_st.tile<64x?>
    %f = gml_st.full %x : tensor<80x60xf32> to !gml_st.subset<80x60xf32>
    %t = gml_st.tile %x [%i, 0] [4, 60] [1, 1] : tensor<80x60xf32> to !gml_st.subset<4x60xf32>
    %k = gml_st.filter %x[%rows] : tensor<8xf32>[tensor<3xindex>] to !gml_st.subset<8xf32>
    %p = gml_st.point %t[0, %j] : !gml_st.subset<4x60xf32> to !gml_st.point
    %d = gml_st.drop_dims %t, [0] : !gml_st.subset<4x60xf32> to !gml_st.subset<4>
    %u = gml_st.transpose_dims %t, [1, 0] : !gml_st.subset<4x60xf32> to !gml_st.subset<60x4>
    %o = gml_st.offset %t[%c0] : !gml_st.subset<4x60xf32>          also: size, stride
    %i = gml_st.intersection %a, %b : S, S to S                    also: convex_union
    %d:2 = gml_st.difference %a, %b : S, S to S, S
    %c = gml_st.contains %a, %b : S, S
    %e = gml_st.is_empty %a : S

`subset.full`, `tile`, `filter` and `point` are the same, as the document has them. Types may be
left out where the text says those of the operands: in the head of a function, of a block or a loop.
"""

from __future__ import annotations

from collections.abc import Callable

from linalg_ext.gml_st.asm.layout import (
    PERMUTATION,
    REMAINING_DIMS,
    STATIC_INDICES,
    number_array,
    segment_array,
)
from linalg_ext.gml_st.asm.op_reader import Mixed, Op, Reading, TypeText, generic
from linalg_ext.gml_st.asm.scope import Known
from linalg_ext.gml_st.asm.types import ELEMENT, Shaped, is_element, product, shaped, subset_type
from linalg_ext.notations.mlir_text import Reader, Span
from linalg_ext.structured.mixed import (
    OPERAND_SEGMENTS,
    STATIC_OFFSETS,
    STATIC_SIZES,
    STATIC_STRIDES,
)

ReadOp = Callable[[Reading, Op, Reader], int]
"""Reads an op whose name was taken, changes it, and gives the offset behind it."""


def read_space(reading: Reading, op: Op, reader: Reader) -> int:
    """`space [64, %n] : S`."""
    sizes = reading.mixed(reader, op.written)
    attributes = reading.attributes(reader)
    result: TypeText = subset_type(sizes.sizes)
    if reader.accepts(":"):
        result = reading.type(reader, op.written)
    reading.define(op, Known(result, strides=("1",) * len(sizes.static), is_whole=True))
    pieces = generic(
        "space",
        sizes.dynamic,
        [number_array(STATIC_SIZES, sizes.static), attributes],
        ["index"] * len(sizes.dynamic),
        [result],
    )
    return _changed(reading, op, reader, pieces)


def read_full(reading: Reading, op: Op, reader: Reader) -> int:
    """`full %x : T to S`."""
    source = reading.value(reader, op.written)
    attributes = reading.attributes(reader)
    of, is_said = _type_of(reading, op, reader, source)
    result = _result(reading, op, reader, is_said, lambda: _shape(reading, op, of).subset)
    strides = ("1",) * len(_shape(reading, op, of).sizes)
    reading.define(op, Known(result, source, of, strides, is_whole=True))
    return _changed(reading, op, reader, generic("full", [source], [attributes], [of], [result]))


def read_tile(reading: Reading, op: Op, reader: Reader) -> int:
    """`tile %superset [offsets] [sizes] [strides] : A to S`."""
    superset = reading.value(reader, op.written)
    offsets, sizes, strides = (
        reading.mixed(reader, f"the {what} of {op.written}")
        for what in ("offsets", "sizes", "strides")
    )
    attributes = reading.attributes(reader)
    of, is_said = _type_of(reading, op, reader, superset)
    result = _result(
        reading,
        op,
        reader,
        is_said,
        lambda: subset_type(sizes.sizes, _shape(reading, op, of).element),
    )
    reading.define(op, tile_of(reading, superset, of, result, strides))
    return _changed(
        reading,
        op,
        reader,
        tile_pieces(superset, of, (offsets, sizes, strides), result, attributes),
    )


def tile_of(
    reading: Reading, superset: Span, of: TypeText, result: TypeText, strides: Mixed
) -> Known:
    """Return the known facts about a tile."""
    own = tuple("?" if text.startswith("%") else text for text in strides.texts)
    known = reading.scope[superset.text]
    found = shaped(reading.canonical(of))
    if found is not None and found.kind != "subset":
        return Known(result, superset, of, own)
    outer = known.strides or ("?",) * len(own)
    composed = tuple(product(one, other) for one, other in zip(own, outer, strict=False))
    return Known(result, known.source, known.source_type, composed)


def tile_pieces(
    superset: Span,
    of: TypeText,
    place: tuple[Mixed, Mixed, Mixed],
    result: TypeText,
    attributes: Span | None = None,
) -> list[Span | str]:
    """A tile in the generic form."""
    dynamic = [value for part in place for value in part.dynamic]
    names = (STATIC_OFFSETS, STATIC_SIZES, STATIC_STRIDES)
    return generic(
        "tile",
        [superset, *dynamic],
        [
            segment_array(OPERAND_SEGMENTS, [1, *(len(part.dynamic) for part in place)]),
            *(number_array(name, part.static) for name, part in zip(names, place, strict=True)),
            attributes,
        ],
        [of, *["index"] * len(dynamic)],
        [result],
    )


def read_filter(reading: Reading, op: Op, reader: Reader) -> int:
    """`filter %x[%indices] : T[I] to S`."""
    source = reading.value(reader, op.written)
    reader.expect("[", op.written)
    indices = reading.value(reader, op.written)
    reader.expect("]", op.written)
    attributes = reading.attributes(reader)
    is_said = reader.accepts(":")
    if is_said:
        of: TypeText = reading.said_type(reader, op, source)
        reader.expect("[", f"the types of {op.written}")
        by: TypeText = reading.type(reader, op.written)
        reader.expect("]", f"the types of {op.written}")
    else:
        of, by = reading.known_type(op, source), reading.known_type(op, indices)
    result = _result(reading, op, reader, is_said, lambda: _shape(reading, op, of).subset)
    reading.define(op, Known(result, source, of))
    pieces = generic("filter", [source, indices], [attributes], [of, by], [result])
    return _changed(reading, op, reader, pieces)


def read_point(reading: Reading, op: Op, reader: Reader) -> int:
    """`point %superset [indices] : A to P`."""
    superset = reading.value(reader, op.written)
    indices = reading.mixed(reader, op.written)
    attributes = reading.attributes(reader)
    of, is_said = _type_of(reading, op, reader, superset)
    result = _result(reading, op, reader, is_said, lambda: ELEMENT)
    known = reading.scope[superset.text]
    found = shaped(reading.canonical(of))
    if found is not None and found.kind != "subset":
        known = Known(source=superset, source_type=of)
    reading.define(op, Known(result, known.source, known.source_type))
    pieces = generic(
        "point",
        [superset, *indices.dynamic],
        [number_array(STATIC_INDICES, indices.static), attributes],
        [of, *["index"] * len(indices.dynamic)],
        [result],
    )
    return _changed(reading, op, reader, pieces)


def read_dims(reading: Reading, op: Op, reader: Reader) -> int:
    """`drop_dims %set, [0, 2] : A to B` and `transpose_dims %set, [1, 0] : A to B`."""
    superset = reading.value(reader, op.written)
    reader.expect(",", op.written)
    dims = reading.numbers(reader, op.written)
    attributes = reading.attributes(reader)
    of, is_said = _type_of(reading, op, reader, superset)
    result = _result(reading, op, reader, is_said, lambda: _picked(reading, op, of, dims))
    reading.define(op, Known(result))  # it is of a space of its own
    name = REMAINING_DIMS if op.name == "drop_dims" else PERMUTATION
    pieces = generic(op.name, [superset], [number_array(name, dims), attributes], [of], [result])
    return _changed(reading, op, reader, pieces)


def _type_of(reading: Reading, op: Op, reader: Reader, value: Span) -> tuple[TypeText, bool]:
    """The type of an operand, and whether it is said: without a colon it is known."""
    is_said = reader.accepts(":")
    of = reading.said_type(reader, op, value) if is_said else reading.known_type(op, value)
    return of, is_said


def _picked(reading: Reading, op: Op, of: TypeText, dims: list[str]) -> str:
    if is_element(reading.canonical(of)):
        return ELEMENT
    sizes = _shape(reading, op, of).sizes
    for dim in dims:
        if not 0 <= int(dim) < len(sizes):
            reading.refuse(
                f"{op.written} names dimension {dim} of a set of rank {len(sizes)}",
                op.place,
                f"dimensions from 0 to {len(sizes) - 1}",
            )
    return subset_type(tuple(sizes[int(dim)] for dim in dims))


def read_query(reading: Reading, op: Op, reader: Reader) -> int:
    """`offset %set[%dim] : A`, `size` and `stride`."""
    of_set = reading.value(reader, op.written)
    reader.expect("[", op.written)
    dim = reading.value(reader, op.written)
    reader.expect("]", op.written)
    attributes = reading.attributes(reader)
    of, _ = _type_of(reading, op, reader, of_set)
    pieces = generic(op.name, [of_set, dim], [attributes], [of, "index"], ["index"])
    return _changed(reading, op, reader, pieces)


def read_pair(reading: Reading, op: Op, reader: Reader) -> int:
    """`intersection %a, %b : A, B to C`, `convex_union`, `difference` and `contains`."""
    first = reading.value(reader, op.written)
    reader.expect(",", op.written)
    second = reading.value(reader, op.written)
    attributes = reading.attributes(reader)
    is_said = reader.accepts(":")
    if is_said:
        one: TypeText = reading.said_type(reader, op, first)
        reader.expect(",", f"the types of {op.written}")
        other: TypeText = reading.said_type(reader, op, second)
    else:
        one, other = reading.known_type(op, first), reading.known_type(op, second)
    results: list[TypeText] = ["i1"]
    if op.name != "contains":
        if is_said and reader.accepts("to"):
            results = [reading.type(reader, op.written)]
            while reader.accepts(","):
                results.append(reading.type(reader, op.written))
        else:
            shape = _shape(reading, op, one)
            element = shape.element if shape.element == _shape(reading, op, other).element else ""
            box = subset_type(("?",) * len(shape.sizes), element)
            results = [box] * (2 * len(shape.sizes) if op.name == "difference" else 1)
        ours, theirs = reading.scope[first.text], reading.scope[second.text]
        is_same = ours.source and theirs.source and ours.source.text == theirs.source.text
        known = ours if is_same else Known()
        reading.define(op, Known(results[0], known.source, known.source_type))
    pieces = generic(op.name, [first, second], [attributes], [one, other], results)
    return _changed(reading, op, reader, pieces)


def read_is_empty(reading: Reading, op: Op, reader: Reader) -> int:
    """`is_empty %set : A`."""
    of_set = reading.value(reader, op.written)
    attributes = reading.attributes(reader)
    of, _ = _type_of(reading, op, reader, of_set)
    return _changed(reading, op, reader, generic(op.name, [of_set], [attributes], [of], ["i1"]))


def _result(
    reading: Reading, op: Op, reader: Reader, is_said: bool, otherwise: Callable[[], str]
) -> TypeText:
    """The type behind `to`, or what follows from the operands."""
    if is_said and reader.accepts("to"):
        return reading.type(reader, op.written)
    return otherwise()


def _shape(reading: Reading, op: Op, of: TypeText) -> Shaped:
    found = shaped(reading.canonical(of))
    if found is None:
        reading.refuse(
            f"{op.written} of {reading.shown(of)}", op.place, "a ranked tensor, a memref or a set"
        )
    return found


def _changed(reading: Reading, op: Op, reader: Reader, pieces: list[Span | str]) -> int:
    reading.change(op.start, reader.position, pieces)
    return reader.position
