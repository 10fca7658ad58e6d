"""Loops over subsets and their terminators, from the text to MLIR's generic form.

    %s = gml_st.loop (%i, %j) = (%c0, %c0) to (%c80, %c60) step (%c4, %c4)
           ins (%in_ = %in: tensor<80x60xf32>) outs (%out_ = %out: tensor<80xf32>)
           iterators["parallel", "sequential"] distribution["block_x", "none"] { ... }
    %f = gml_st.for (%i) = (%c0) to (%c8) step (%c4) outs (%o_ = %o: tensor<8xf32>) { ... }
    %p = gml_st.parallel (%i) = (%c0) to (%c8) step (%c4) { ... } : tensor<8xf32>

All iterators are parallel where `iterators` is left out. The results of a loop are as its outputs
that are tensors, and may be left out of the text but for `parallel`, which has no outputs of its
own. A body that says nothing of its end ends with a terminator without operands.

    gml_st.yield %r to %tile : tensor<4xf32> to !gml_st.subset<4xf32>
    gml_st.yield %whole, %other : tensor<80xf32>, tensor<8xf32>
    gml_st.set_yield %r into %out[%tile] acc (%new, %old: tensor<4xf32>) {
      ...
      gml_st.yield %sum : tensor<4xf32>
    } : tensor<4xf32> into tensor<8xf32>[!gml_st.subset<4xf32>]

Both take several values, with commas between them. `acc` gives the region that combines the new
value with the old one. In the generic form one region holds all these combinations.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from linalg_ext.dialects.gml_st.asm.generic_form import (
    Piece,
    block_head,
    ending,
    flag_array,
    generic,
    listed,
    segment_array,
    slots,
)
from linalg_ext.dialects.gml_st.asm.reading import (
    VALUE_NAME,
    Facts,
    Op,
    Reading,
    Region,
    TypeText,
    unused_name,
)
from linalg_ext.dialects.gml_st.ir.op_views import (
    DISTRIBUTION,
    INPUT_SLOTS,
    ITERATOR_TYPES,
    OUTPUT_SLOTS,
    RESULT_SEGMENTS,
)
from linalg_ext.errors import counted
from linalg_ext.notations.mlir_text import Reader, Span
from linalg_ext.structured.mixed import OPERAND_SEGMENTS

_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')


@dataclass(slots=True)
class Assignments:
    """`(%in_ = %in: tensor<80x60xf32>, ...)`."""

    arguments: list[Span] = field(default_factory=list)
    operands: list[Span] = field(default_factory=list)
    types: list[Span] = field(default_factory=list)


@dataclass(slots=True)
class Head:
    """A loop up to its body."""

    op: Op
    ivs: list[Span]
    bounds: list[list[Span]]
    inputs: Assignments
    outputs: Assignments
    iterators: list[Piece]
    distribution: list[Piece]


def read_loop(reading: Reading, op: Op, reader: Reader) -> int:
    """Read a loop up to its body; the rest is read where the body ends."""
    return open_body(reading, read_head(reading, op, reader), reader)


def open_body(reading: Reading, head: Head, reader: Reader) -> int:
    """Begin to read the body of a loop; where that begins."""
    op = head.op
    opening = reader.peek()
    if opening.text != "{":
        reader.refuse_token(op.written, opening, "the body of the loop: { ... }")
    reader.next()
    bounds = [value for bound in head.bounds for value in bound]
    operands = [*bounds, *head.inputs.operands, *head.outputs.operands]
    pieces: list[Piece] = [f'"gml_st.{op.name}"(', *listed(operands), ") ({"]
    arguments = [*head.ivs, *head.inputs.arguments, *head.outputs.arguments]
    types: list[Piece] = [*["index"] * len(head.ivs), *head.inputs.types, *head.outputs.types]
    pieces += block_head(zip(arguments, types, strict=True))
    reading.change(op.start, reader.position, pieces)
    region = Region()
    region.close = lambda end: _close(reading, head, region, end)
    reading.scope.open(region)
    for name, type_ in zip(arguments, types, strict=True):
        reading.scope.define(name.text, Facts(type_))
    return reader.position


def read_head(reading: Reading, op: Op, reader: Reader) -> Head:
    """Read a loop from behind its name up to its body."""
    ivs = reading.values(reader, op.written)
    bounds = []
    for word, label in (("=", "lower bounds"), ("to", "upper bounds"), ("step", "steps")):
        reader.expect(word, op.written)
        opening = reader.peek()
        bounds.append(reading.values(reader, f"the {label} of {op.written}"))
        if len(bounds[-1]) != len(ivs):
            reader.refuse(
                f"{op.written} has {len(bounds[-1])} {label} for "
                f"{counted(len(ivs), 'induction variable')}",
                Span("", opening.start, reader.position),
                "one for each",
            )
    inputs, outputs = Assignments(), Assignments()
    iterators: list[Piece] = []
    distribution: list[Piece] = []
    if op.name == "loop" and reader.accepts("ins"):
        inputs = read_assignments(reading, reader, f"ins of {op.written}", INPUT_SLOTS)
    if op.name != "parallel" and reader.accepts("outs"):
        outputs = read_assignments(reading, reader, f"outs of {op.written}", OUTPUT_SLOTS)
    if op.name == "loop":
        iterators = ['"parallel"'] * len(ivs)
        if reader.accepts("iterators"):
            iterators = _texts(reader, f"iterators of {op.written}", len(ivs))
    if op.name != "for" and reader.accepts("distribution"):
        distribution = _texts(reader, f"distribution of {op.written}", len(ivs))
    return Head(op, ivs, bounds, inputs, outputs, iterators, distribution)


def read_assignments(reading: Reading, reader: Reader, of_what: str, room: int) -> Assignments:
    """Take `(%in_ = %in: T, ...)`.

    Raises:
        ParseError: it is not one, or of more operands than there is room for.
    """
    opening = reader.expect("(", of_what)
    assignments = Assignments()
    while not reader.accepts(")"):
        if assignments.types:
            reader.expect(",", of_what)
        assignments.arguments.append(reading.value(reader, of_what))
        reader.expect("=", of_what)
        assignments.operands.append(reading.value(reader, of_what))
        reader.expect(":", of_what)
        assignments.types.append(reading.type(reader, of_what))
    if len(assignments.types) > room:
        reader.refuse(
            f"{of_what} has {len(assignments.types)} operands", opening, f"at most {room}"
        )
    return assignments


def _texts(reader: Reader, of_what: str, count: int) -> list[Piece]:
    """Take strings in brackets; or, as a later version has it, in parentheses, one for all."""
    opening = reader.next()
    if opening.text not in ("[", "("):
        reader.refuse_token(of_what, opening, "`[`")
    closing = "]" if opening.text == "[" else ")"
    texts: list[Piece] = []
    while not reader.accepts(closing):
        if texts:
            reader.expect(",", of_what)
        token = reader.next()
        if not _TEXT.fullmatch(token.text):
            reader.refuse_token(of_what, token, 'texts, as in ["parallel"]')
        texts.append(reader.span(token.start, token.end))
    if opening.text == "(" and len(texts) == 1:
        return texts * count
    if len(texts) != count:
        reader.refuse(
            f"{of_what} has {len(texts)} entries for {counted(count, 'induction variable')}",
            Span("", opening.start, reader.position),
            "one for each",
        )
    return texts


def _close(reading: Reading, head: Head, region: Region, end: int) -> int:
    """Read the text after a loop's body, from the offset of its brace; return the end offset."""
    reader = Reader(reading.source, end + 1)
    attributes = reading.attributes(reader)
    after = reader.position if attributes else end + 1
    op = head.op
    results: list[TypeText] = [
        type_ for type_ in head.outputs.types if not reading.canonical(type_).startswith("memref<")
    ]
    if reader.accepts(":"):
        results = [*reading.types(reader, op.written)]
        after = reader.position
    if len(results) > OUTPUT_SLOTS:
        reading.refuse(
            f"{op.written} has {len(results)} results", op.place, f"at most {OUTPUT_SLOTS}"
        )
    yields = "yield" if op.name == "loop" else "set_yield"
    pieces: list[Piece] = []
    if not region.is_ended:
        if results:
            reading.refuse(
                f"the body of {op.written} does not end with gml_st.{yields}, which "
                "names its results",
                Span("}", end, end + 1),
                f"gml_st.{yields} before this brace",
            )
        pieces.append(empty_yield(yields) + " ")
    iterator_attributes: list[Piece | None] = [
        _listed_attribute(ITERATOR_TYPES, head.iterators) if op.name == "loop" else None,
        _listed_attribute(DISTRIBUTION, head.distribution) if head.distribution else None,
    ]
    operand_types: list[Piece] = ["index"] * (3 * len(head.ivs))
    operand_types += [*head.inputs.types, *head.outputs.types]
    pieces += [
        "})",
        *ending(
            [
                segment_array(OPERAND_SEGMENTS, _segments(head)),
                segment_array(RESULT_SEGMENTS, slots(len(results), OUTPUT_SLOTS)),
                *iterator_attributes,
                attributes,
            ],
            operand_types,
            results,
        ),
    ]
    reading.change(end, after, pieces)
    for position, result in enumerate(results):
        if position < len(op.results):
            reading.scope.define(op.results[position], Facts(result))
    return after


def _segments(head: Head) -> list[int]:
    sizes = [len(head.ivs)] * 3
    if head.op.name == "loop":
        sizes += slots(len(head.inputs.types), INPUT_SLOTS)
    if head.op.name != "parallel":
        sizes += slots(len(head.outputs.types), OUTPUT_SLOTS)
    return sizes


def _listed_attribute(name: str, texts: list[Piece]) -> str:
    return f"{name} = [{', '.join(str(text) for text in texts)}]"


@dataclass(slots=True)
class Accumulator:
    """`acc (%new, %old: tensor<4xf32>) { ... }`: its arguments, and where its body begins, ends."""

    new: Span
    old: Span
    type: Span
    begin: int
    end: int


@dataclass(slots=True)
class Item:
    """One value that is yielded.

    Attributes:
        values: the value; then its destination, of `gml_st.set_yield`; then its set, if it has one.
        types: theirs.
    """

    values: list[Span]
    types: list[Span] = field(default_factory=list)
    accumulator: Accumulator | None = None

    @property
    def value(self) -> Span:
        """The value."""
        return self.values[0]

    @property
    def subset(self) -> Span | None:
        """The set that it goes to."""
        return self.values[-1] if len(self.values) > 1 else None


def empty_yield(name: str) -> str:
    """A terminator without operands."""
    groups = 2 if name == "yield" else 3
    segments = segment_array(OPERAND_SEGMENTS, [0] * groups * OUTPUT_SLOTS)
    return f'"gml_st.{name}"() ({{}}) {{{segments}, {flag_array(())}}} : () -> ()'


def yield_pieces(
    values: Sequence[Piece],
    types: Sequence[Piece],
    subsets: Sequence[Piece] = (),
    subset_types: Sequence[Piece] = (),
) -> list[Piece]:
    """`gml_st.yield` without accumulators."""
    counts = (len(values), len(subsets))
    segments = [size for count in counts for size in slots(count, OUTPUT_SLOTS)]
    return generic(
        "yield",
        [*values, *subsets],
        [segment_array(OPERAND_SEGMENTS, segments), flag_array([False] * len(values))],
        [*types, *subset_types],
        [],
        region=" ({})",
    )


def read_yield(reading: Reading, op: Op, reader: Reader) -> int:
    """Read `gml_st.yield` or `gml_st.set_yield`, up to its first body if it has one."""
    region = reading.scope.innermost
    region.is_ended = True
    attributes = reading.attributes(reader)
    items = _items(reading, op, reader) if reader.peek().text.startswith("%") else []
    _check(reading, op, items)
    end = reader.position
    if region.collect is not None:
        region.collect(op, items, end)
        return end
    accumulators = [item.accumulator for item in items if item.accumulator is not None]
    if accumulators:
        rename_locals(
            reading, [(accumulator.new.start, accumulator.end) for accumulator in accumulators]
        )
        return _Bodies(reading, op, items, accumulators, attributes, end).open(0)
    operands, types, segments = _yield_operands(op, items)
    dictionary = [
        segment_array(OPERAND_SEGMENTS, segments),
        flag_array([False] * len(items)),
        attributes,
    ]
    reading.change(op.start, end, generic(op.name, operands, dictionary, types, [], region=" ({})"))
    return end


def _items(reading: Reading, op: Op, reader: Reader) -> list[Item]:
    """Read the yielded values. A colon leads to the types of all values since the last colon."""
    items: list[Item] = []
    typed = 0
    while not items or reader.accepts(","):
        items.append(_item(reading, op, reader))
        if reader.accepts(":"):
            for item in items[typed:]:
                if item is not items[typed]:
                    reader.expect(",", f"the types of {op.written}")
                _types(reading, op, reader, item)
            typed = len(items)
    for item in items[typed:]:
        reading.refuse(
            f"{op.written} does not say the type of {item.value.text}",
            item.value,
            hint=f"{op.written} {item.value.text} ... : tensor<4xf32> ...",
        )
    return items


def _check(reading: Reading, op: Op, items: list[Item]) -> None:
    for item in items:
        if (item.subset is None) != (items[0].subset is None):
            reading.refuse(
                f"{op.written} says a subset of some of its values and none of {item.value.text}"
                if item.subset is None
                else f"{op.written} says the subset {item.subset.text} and none of other values",
                item.value,
                "a subset of each value, or none at all for whole tensors",
            )
    if len(items) > OUTPUT_SLOTS:
        reading.refuse(f"{op.written} has {len(items)} values", op.place, f"at most {OUTPUT_SLOTS}")


def _item(reading: Reading, op: Op, reader: Reader) -> Item:
    item = Item([reading.value(reader, op.written)])
    if op.name == "set_yield":
        reader.expect("into", op.written)
        item.values.append(reading.value(reader, op.written))
        reader.expect("[", op.written)
        item.values.append(reading.value(reader, op.written))
        reader.expect("]", op.written)
    elif reader.accepts("to"):
        item.values.append(reading.value(reader, op.written))
    if reader.accepts("acc"):
        item.accumulator = _accumulator(reading, op, reader)
    return item


def _accumulator(reading: Reading, op: Op, reader: Reader) -> Accumulator:
    of_what = f"acc of {op.written}"
    reader.expect("(", of_what)
    new = reading.value(reader, of_what)
    reader.expect(",", of_what)
    old = reading.value(reader, of_what)
    reader.expect(":", of_what)
    type_ = reading.type(reader, of_what)
    reader.expect(")", of_what)
    opening = reader.peek()
    if opening.text != "{":
        reader.refuse(f"{of_what} has no body", opening, "{ ... gml_st.yield %combined : ... }")
    return Accumulator(new, old, type_, opening.end, reader.balanced())


def _types(reading: Reading, op: Op, reader: Reader, item: Item) -> None:
    of_what = f"the types of {op.written}"
    item.types.append(reading.type(reader, op.written))
    if op.name == "set_yield":
        reader.expect("into", of_what)
        item.types.append(reading.type(reader, op.written))
        reader.expect("[", of_what)
        item.types.append(reading.said_type(reader, op, item.values[-1]))
        reader.expect("]", of_what)
    elif item.subset is not None:
        reader.expect("to", of_what)
        item.types.append(reading.said_type(reader, op, item.subset))


def _yield_operands(op: Op, items: list[Item]) -> tuple[list[Span], list[Span], list[int]]:
    """The operands of the generic form, group by group, their types, and their segments."""
    groups = range(3 if op.name == "set_yield" else 2)
    values = [[item.values[i] for item in items if i < len(item.values)] for i in groups]
    types = [[item.types[i] for item in items if i < len(item.types)] for i in groups]
    segments = [size for group in values for size in slots(len(group), OUTPUT_SLOTS)]
    return [*chain(*values)], [*chain(*types)], segments


@dataclass(slots=True)
class _Bodies:
    """The bodies of `acc` of an op, which become one region."""

    reading: Reading
    op: Op
    items: list[Item]
    accumulators: list[Accumulator]
    attributes: Span | None
    end: int
    combined: list[Item] = field(default_factory=list)

    def open(self, index: int) -> int:
        """Begin to read a body; where that begins."""
        reading, accumulator = self.reading, self.accumulators[index]
        if index == 0:
            operands, _, _ = _yield_operands(self.op, self.items)
            pairs = [(name, a.type) for a in self.accumulators for name in (a.new, a.old)]
            pieces = [f'"gml_st.{self.op.name}"(', *listed(operands), ") ({", *block_head(pairs)]
            reading.change(self.op.start, accumulator.begin, pieces)
        region = Region()
        region.close = lambda brace: self._close(index, region, brace)
        if len(self.accumulators) > 1:
            region.collect = self._collect
        reading.scope.open(region)
        for name in (accumulator.new, accumulator.old):
            reading.scope.define(name.text, Facts(accumulator.type))
        return accumulator.begin

    def _collect(self, op: Op, items: list[Item], end: int) -> None:
        """Take the value that a body yields; the last body yields all of them."""
        if len(items) != 1 or items[0].subset is not None or items[0].accumulator is not None:
            self.reading.refuse(
                f"a body of acc ends with {counted(len(items), 'value')}, or with a subset",
                op.place,
                "one value: gml_st.yield %combined : tensor<4xf32>",
            )
        self.combined += items
        is_last = len(self.combined) == len(self.accumulators)
        values = [item.value for item in self.combined]
        types = [item.types[0] for item in self.combined]
        self.reading.change(op.start, end, yield_pieces(values, types) if is_last else [])

    def _close(self, index: int, region: Region, brace: int) -> int:
        reading = self.reading
        is_combined = len(self.combined) > index or len(self.accumulators) == 1
        if not (region.is_ended and is_combined):
            reading.refuse(
                f"a body of acc of {self.op.written} does not end with gml_st.yield",
                Span("}", brace, brace + 1),
                "gml_st.yield %combined : tensor<4xf32> before this brace",
            )
        if index + 1 < len(self.accumulators):
            reading.change(brace, self.accumulators[index + 1].begin, [])
            return self.open(index + 1)
        _, types, segments = _yield_operands(self.op, self.items)
        flags = flag_array([item.accumulator is not None for item in self.items])
        dictionary = [segment_array(OPERAND_SEGMENTS, segments), flags, self.attributes]
        reading.change(brace, self.end, ["})", *ending(dictionary, types, [])])
        return self.end


_NOT_CODE = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*')
_LIST = r"((?:%[\w$.-]+(?::\d+)?\s*,\s*)*%[\w$.-]+(?::\d+)?)\s*"
_DEFINED = re.compile(rf"{_LIST}\)?\s*=(?!=)|\({_LIST}\)\s*in\b")
_LABEL = re.compile(r"\^[\w$.-]+\s*(?=\()")
_ARGUMENTS = re.compile(r"(\w*)\s*\((\s*%[^()]*)\)\s*\{")
_TYPED = re.compile(r"(%[\w$.-]+)\s*(?:,\s*%[\w$.-]+\s*)*:")
_USES = frozenset(("ins", "outs", "inits"))


def rename_locals(reading: Reading, bodies: Sequence[tuple[int, int]]) -> None:
    """Give the values of each body but the first names that no other body has.

    In one block each name stands for one value. Values that a body uses from outside keep their
    names.

    Args:
        reading: the text; it is changed.
        bodies: from the first argument of each to behind its last brace.
    """
    if len(bodies) < 2:
        return
    text = _NOT_CODE.sub(lambda match: " " * len(match[0]), reading.source.text)
    names = set(VALUE_NAME.findall(text))
    used_names = set(VALUE_NAME.findall(text, *bodies[0]))
    for number, (start, end) in enumerate(bodies[1:], start=2):
        own = _locals(reading, text, start, end)
        new: dict[str, str] = {}
        for name in sorted(own & used_names):
            new[name] = unused_name(name, str(number), names)
            names.add(new[name])
        for match in VALUE_NAME.finditer(text, start, end):
            if match[0] in new:
                reading.change(match.start(), match.end(), [new[match[0]]])
        used_names |= set(VALUE_NAME.findall(text, start, end))


def _locals(reading: Reading, text: str, start: int, end: int) -> set[str]:
    """The names that a body defines: its two arguments, results, arguments of blocks inside."""
    names = set(VALUE_NAME.findall(text[start : text.index(":", start)]))
    for match in _DEFINED.finditer(text, start, end):
        names |= set(VALUE_NAME.findall(match[1] or match[2]))
    for match in _LABEL.finditer(text, start, end):
        reader = Reader(reading.source, match.end())
        names |= set(_TYPED.findall(text[match.end() : reader.balanced()]))
    for match in _ARGUMENTS.finditer(text, start, end):
        if match[1] not in _USES:
            names |= set(VALUE_NAME.findall(match[2]))
    return names
