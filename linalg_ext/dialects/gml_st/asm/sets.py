"""Ops that make and ask sets, and `gml_st.materialize`: their forms, read and printed.

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
    %a = gml_st.materialize %x[%tile] : tensor<8x8xf32>[!gml_st.subset<4x8xf32>] to tensor<4x8xf32>
    %b = gml_st.materialize %tile : !gml_st.subset<4x8xf32> to tensor<4x8xf32>

`subset.full`, `tile`, `filter` and `point` are the same, as the document has them. Types may be
left out where the text says those of the operands: in the head of a function, of a block or a loop.
The generic form of materialize names the source. By default it is the superset.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from string import Template

from linalg_ext.dialects.gml_st.asm.generic_form import (
    GenericOp,
    Piece,
    generic,
    number_array,
    segment_array,
)
from linalg_ext.dialects.gml_st.asm.reading import (
    ELEMENT,
    Facts,
    Mixed,
    Op,
    Reading,
    Shaped,
    TypeText,
    is_element,
    product,
    shaped,
    subset_type,
)
from linalg_ext.dialects.gml_st.ir.op_views import PERMUTATION, REMAINING_DIMS, STATIC_INDICES
from linalg_ext.notations.mlir_text import Reader, Span
from linalg_ext.notations.source_text import SourceText
from linalg_ext.structured.mixed import (
    OPERAND_SEGMENTS,
    STATIC_OFFSETS,
    STATIC_SIZES,
    STATIC_STRIDES,
)

FORMS: Mapping[str, str] = {
    "space": "$sizes : $result",
    "full": "$source : $source to $result",
    "tile": "$superset $offsets $sizes $strides : $superset to $result",
    "filter": "$source[$indices] : $source[$indices] to $result",
    "point": "$superset $place : $superset to $result",
    "drop_dims": "$set, $remaining_dims : $set to $result",
    "transpose_dims": "$set, $permutation : $set to $result",
    "offset": "$set[$dim] : $set",
    "size": "$set[$dim] : $set",
    "stride": "$set[$dim] : $set",
    "intersection": "$first, $second : $first, $second to $result",
    "convex_union": "$first, $second : $first, $second to $result",
    "difference": "$first, $second : $first, $second to $result",
    "contains": "$first, $second : $first, $second",
    "is_empty": "$set : $set",
    "materialize": "$source[$set] : $source[$set] to $result",
}
"""The form of each op: its operands and lists of numbers, and behind the colon their types."""

_LISTS = {
    "offsets": STATIC_OFFSETS,
    "sizes": STATIC_SIZES,
    "strides": STATIC_STRIDES,
    "place": STATIC_INDICES,
    "remaining_dims": REMAINING_DIMS,
    "permutation": PERMUTATION,
}
"""The attribute of each list; its dynamic numbers are operands."""

_PART = re.compile(r"\$(\w+)|[\[\],]|\bto\b")

Operands = Mapping[str, Piece]
Lists = Mapping[str, Mixed]
Types = Mapping[str, TypeText]


def set_op(
    name: str,
    operands: Operands,
    lists: Lists,
    types: Types,
    results: Sequence[TypeText],
    attributes: Span | None = None,
) -> list[Piece]:
    """An op in the generic form; an operand without a type is an index."""
    dynamic = [value for numbers in lists.values() for value in numbers.dynamic]
    segments = [1, *(len(numbers.dynamic) for numbers in lists.values())]
    return generic(
        name,
        [*operands.values(), *dynamic],
        [
            segment_array(OPERAND_SEGMENTS, segments) if len(lists) > 1 else None,
            *(number_array(_LISTS[key], numbers.static) for key, numbers in lists.items()),
            attributes,
        ],
        [*(types.get(key, "index") for key in operands), *["index"] * len(dynamic)],
        results,
    )


def print_set_op(source: SourceText, op: GenericOp) -> list[Piece]:
    """An op in its form.

    Raises:
        ValueError: it is not laid out as it must be.
    """
    head, _, tail = FORMS[op.name].partition(" : ")
    names = [part[1] for part in _PART.finditer(head) if part[1]]
    fixed = [name for name in names if name not in _LISTS]
    lists = [name for name in names if name in _LISTS]
    if len(lists) > 1:
        _, *groups = op.segments(1, *[1] * len(lists))
        dynamic = [[value for value, _ in group] for group in groups]
    else:
        dynamic = [op.operands[len(fixed) :]]
    if len(op.operands) < len(fixed) or (not lists and len(op.operands) > len(fixed)):
        raise ValueError(op.name)
    if not op.results or (op.name != "difference" and len(op.results) > 1):
        raise ValueError(op.name)
    values = dict(zip(fixed, op.operands, strict=False))
    for name, numbers in zip(lists, dynamic, strict=False):
        values[name] = op.mixed(_LISTS[name], numbers)
    types = dict(zip(fixed, op.types, strict=False))
    types["result"] = ", ".join(op.results)
    written, typed = Template(head).substitute(values), Template(tail).substitute(types)
    return [f"gml_st.{op.name} {written}{op.notes} : {typed}"]


def read_set_op(reading: Reading, op: Op, reader: Reader) -> int:
    """Read an op in its form; the offset behind it."""
    head, _, tail = FORMS[op.name].partition(" : ")
    if op.name == "materialize" and Reader(reading.source, reader.peek().end).peek().text != "[":
        head, tail = "$set", "$set to $result"
    operands: dict[str, Span] = {}
    lists: dict[str, Mixed] = {}
    for part in _PART.finditer(head):
        name = part[1]
        if name in _LISTS:
            lists[name] = _read_list(reading, op, reader, name)
        elif name:
            operands[name] = reading.value(reader, op.written)
        else:
            reader.expect(part[0], op.written)
    attributes = reading.attributes(reader)
    types: dict[str, TypeText] = {}
    results: list[TypeText] = []
    is_said = reader.accepts(":")
    for part in _PART.finditer(tail):
        name = part[1]
        if part[0] == "to" and not (is_said and reader.accepts("to")):
            break
        if name == "result":
            results = [*reading.types(reader, op.written)] if is_said else []
        elif name:
            value = operands[name]
            types[name] = (
                reading.said_type(reader, op, value) if is_said else reading.known_type(op, value)
            )
        elif is_said and part[0] != "to":
            reader.expect(part[0], f"the types of {op.written}")
    if "set" in operands and op.name == "materialize":
        set_facts = reading.scope[operands["set"].text]
        if "source" not in operands:
            source, types["source"] = _source_of(reading, op, operands["set"], set_facts)
            operands = {"source": source, **operands}
        results = results or [_materialized(reading, op, types["source"], types["set"], set_facts)]
    results = results or _inferred(reading, op, lists, types)
    facts = _facts_of_result(reading, op, operands, lists, types, results[0])
    if facts is not None:
        reading.define(op, facts)
    pieces = set_op(op.name, operands, lists, types, results, attributes)
    reading.change(op.start, reader.position, pieces)
    return reader.position


def _read_list(reading: Reading, op: Op, reader: Reader, name: str) -> Mixed:
    if name in (REMAINING_DIMS, PERMUTATION):
        return reading.numbers(reader, op.written)
    return reading.mixed(reader, f"the {name} of {op.written}" if op.name == "tile" else op.written)


def _inferred(reading: Reading, op: Op, lists: Lists, types: Types) -> list[TypeText]:
    """The types of the results, where the text leaves them out."""
    match op.name:
        case "space":
            return [subset_type(lists["sizes"].sizes)]
        case "tile":
            element = _shape(reading, op, types["superset"]).element
            return [subset_type(lists["sizes"].sizes, element)]
        case "full" | "filter":
            return [_shape(reading, op, types["source"]).subset]
        case "point":
            return [ELEMENT]
        case "drop_dims" | "transpose_dims":
            (dims,) = lists.values()
            return [_type_of_dims(reading, op, types["set"], dims.texts)]
        case "intersection" | "convex_union" | "difference":
            first, second = (_shape(reading, op, types[name]) for name in ("first", "second"))
            element = first.element if first.element == second.element else ""
            box = subset_type(("?",) * len(first.sizes), element)
            return [box] * (2 * len(first.sizes) if op.name == "difference" else 1)
        case "contains" | "is_empty":
            return ["i1"]
    return ["index"]


def _facts_of_result(
    reading: Reading,
    op: Op,
    operands: Mapping[str, Span],
    lists: Lists,
    types: Types,
    result: TypeText,
) -> Facts | None:
    """The facts that are known of the result of an op; None if it is neither a set nor elements."""
    match op.name:
        case "space":
            unit_strides = ("1",) * len(lists["sizes"].static)
            return Facts(result, strides=unit_strides, is_whole=True)
        case "full":
            strides = ("1",) * len(_shape(reading, op, types["source"]).sizes)
            return Facts(result, operands["source"], types["source"], strides, is_whole=True)
        case "filter":
            return Facts(result, operands["source"], types["source"])
        case "tile" | "point":
            return _part_facts(reading, op, operands["superset"], types["superset"], lists, result)
        case "intersection" | "convex_union" | "difference":
            ours, theirs = (reading.scope[value.text] for value in operands.values())
            is_same = ours.source and theirs.source and ours.source.text == theirs.source.text
            facts = ours if is_same else Facts()
            return Facts(result, facts.source, facts.source_type)
        case "drop_dims" | "transpose_dims" | "materialize":
            return Facts(result)  # a set of a space of its own, or no set
    return None


def _part_facts(
    reading: Reading, op: Op, superset: Span, of: TypeText, lists: Lists, result: TypeText
) -> Facts:
    """Return the known facts about a tile, or a point, of a superset."""
    facts, own = reading.scope[superset.text], None
    if op.name == "tile":
        own = lists["strides"].sizes
    container = shaped(reading.canonical(of))
    if container is not None and container.kind != "subset":
        return Facts(result, superset, of, own)
    if own is not None:
        outer = facts.strides or ("?",) * len(own)
        own = tuple(
            product(stride, outer_stride) for stride, outer_stride in zip(own, outer, strict=False)
        )
    return Facts(result, facts.source, facts.source_type, own)


def _type_of_dims(reading: Reading, op: Op, of: TypeText, dims: Sequence[str]) -> str:
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


def _shape(reading: Reading, op: Op, of: TypeText) -> Shaped:
    shape = shaped(reading.canonical(of))
    if shape is None:
        reading.refuse(
            f"{op.written} of {reading.shown(of)}", op.place, "a ranked tensor, a memref or a set"
        )
    return shape


def _source_of(reading: Reading, op: Op, of_set: Span, facts: Facts) -> tuple[Span, TypeText]:
    if facts.source is None or facts.source_type is None:
        reading.refuse(
            f"{op.written} does not name the tensor or memref that it reads, and "
            f"{of_set.text} is not made of one here",
            of_set,
            hint=f"name it: {op.written} %source[{of_set.text}] : tensor<...>[...] to ...",
        )
    return facts.source, facts.source_type


def _materialized(reading: Reading, op: Op, of: TypeText, set_type: TypeText, facts: Facts) -> str:
    """The result type of a materialize, if the text leaves it out."""
    container = shaped(reading.canonical(of))
    part = shaped(reading.canonical(set_type))
    if container is None or container.kind == "subset":
        reading.refuse(
            f"{op.written} of {reading.shown(of)}", op.place, "a ranked tensor or memref"
        )
    if is_element(reading.canonical(set_type)):
        return container.element
    if part is None or part.kind != "subset":
        reading.refuse(f"{op.written} of the set {reading.shown(set_type)}", op.place, "a set")
    if container.kind == "tensor":
        return f"tensor<{'x'.join([*part.sizes, container.element])}>"
    return _memref(reading, op, reading.canonical(of), container, part, facts)


def _memref(
    reading: Reading, op: Op, of: str, container: Shaped, part: Shaped, facts: Facts
) -> str:
    """A view of a memref without a layout of its own, with the strides that are known."""
    if facts.is_whole and part.sizes == container.sizes:
        return of
    if of != f"memref<{'x'.join([*container.sizes, container.element])}>":
        reading.refuse(
            f"{op.written} does not say its result, and {of} has a layout",
            op.place,
            hint="say it behind the types: ... to memref<4x4xf32, strided<[?, ?], offset: ?>>",
        )
    strides: list[str] = []
    step = "1"
    for size in reversed(container.sizes):
        strides.insert(0, step)
        step = product(size, step)
    own = facts.strides or ("?",) * len(strides)
    composed = [
        product(stride, own_stride) for stride, own_stride in zip(strides, own, strict=False)
    ]
    sizes = "x".join([*part.sizes, container.element])
    return f"memref<{sizes}, strided<[{', '.join(composed)}], offset: ?>>"
