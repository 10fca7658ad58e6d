"""`gml_st.materialize`, with its source as the history has it, or without as the document has.

    %a = gml_st.materialize %x[%tile] : tensor<8x8xf32>[!gml_st.subset<4x8xf32>] to tensor<4x8xf32>
    %b = gml_st.materialize %tile : !gml_st.subset<4x8xf32> to tensor<4x8xf32>

The generic form names the source. Where the text does not, it is what the set is a part of.
"""

from __future__ import annotations

from linalg_ext.gml_st.asm.op_reader import Op, Reading, TypeText, generic
from linalg_ext.gml_st.asm.scope import Known
from linalg_ext.gml_st.asm.types import Shaped, is_element, product, shaped
from linalg_ext.notations.mlir_text import Reader


def read_materialize(reading: Reading, op: Op, reader: Reader) -> int:
    """Read the op in either form."""
    first = reading.value(reader, op.written)
    has_source = reader.accepts("[")
    source, of_set = first, first
    if has_source:
        of_set = reading.value(reader, op.written)
        reader.expect("]", op.written)
    attributes = reading.attributes(reader)
    is_said = reader.accepts(":")
    known = reading.scope[of_set.text]
    of: TypeText
    set_type: TypeText
    if has_source and is_said:
        of = reading.type(reader, op.written)
        reader.expect("[", f"the types of {op.written}")
        set_type = reading.said_type(reader, op, of_set)
        reader.expect("]", f"the types of {op.written}")
    else:
        set_type = reading.known_type(op, of_set)
        if is_said:
            set_type = reading.said_type(reader, op, of_set)
        if has_source:
            of = reading.known_type(op, source)
        elif known.source is not None and known.source_type is not None:
            source, of = known.source, known.source_type
        else:
            reading.refuse(
                f"{op.written} does not name the tensor or memref that it reads, and "
                f"{of_set.text} is not made of one here",
                of_set,
                hint=f"name it: {op.written} %source[{of_set.text}] : tensor<...>[...] to ...",
            )
    if is_said and reader.accepts("to"):
        result: TypeText = reading.type(reader, op.written)
    else:
        result = _result(reading, op, of, set_type, known)
    reading.define(op, Known(result))
    pieces = generic("materialize", [source, of_set], [attributes], [of, set_type], [result])
    reading.change(op.start, reader.position, pieces)
    return reader.position


def _result(reading: Reading, op: Op, of: TypeText, set_type: TypeText, known: Known) -> str:
    """The type of what is materialized, where the text leaves it out."""
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
    return _memref(reading, op, reading.canonical(of), container, part, known)


def _memref(
    reading: Reading, op: Op, of: str, container: Shaped, part: Shaped, known: Known
) -> str:
    """A view of a memref without a layout of its own, with the strides that are known."""
    if known.is_whole and part.sizes == container.sizes:
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
    own = known.strides or ("?",) * len(strides)
    composed = [product(one, other) for one, other in zip(strides, own, strict=False)]
    sizes = "x".join([*part.sizes, container.element])
    return f"memref<{sizes}, strided<[{', '.join(composed)}], offset: ?>>"
