"""Structured ops as people spell them: the grammar of one op, from its name to its result types.

The "Linalg Dialect Wish list" (Renato Golin, 2024) writes broadcasts, transposes and compute types
of operands beside an op of linalg; older and newer versions of MLIR spell some ops otherwise than
the one at hand. Such an op is read here, and all other text is left as it is:

    %s = linalg.add ins(%x : tensor<16xf32>, %y : tensor<16x64xf32>)
                    outs(%o : tensor<16x64xf32>) broadcast_a = [1] : tensor<16x64xf32>

    op      = ("linalg." | "linalg_ext.") name part* ("ins" group)? part*
              ("outs" | "inits") group part* (("->" | ":") types)?
    part    = clause ","? | "{" (clause ("," clause)*)? "}" | "<" kind ">"
    clause  = word "=" value | "map_" word map | unit          e.g. broadcast_a = [1]
    group   = "(" operands ":" types ")", or "(" operand ":" type ("," operand ":" type)* ")"
    map     = "{" map "}" | "affine_map" "<" map ">" | "(" dims ")" "->" "(" results ")" | alias

An op that upstream's own syntax can express is not a spelled op: `parse_op` says None, and
upstream's parser reads it, and reports its mistakes.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from linalg_ext.errors import ParseError, counted
from linalg_ext.notations.mlir_text import Reader, Span, Token
from linalg_ext.notations.source_text import SourceText

SUGAR = re.compile(r"(broadcast|permutation|permute|transpose|map)_(\w+)")
"""Words that say how an operand is given, and which."""

COMPUTE_TYPE = "compute_type"
_UNITS = ("overwrite",)
_TRAILING = ("indexing_maps", "kind", "cast", "dimensions", "permutation", COMPUTE_TYPE, *_UNITS)


@dataclass(frozen=True, slots=True)
class Clause:
    """Something that is said of an op by a word: `broadcast_a = [1]`.

    Attributes:
        name: the word.
        value: the text after it; None for a word alone.
        place: the whole clause.
    """

    name: str
    value: Span | None
    place: Span


@dataclass(frozen=True, slots=True)
class SpelledOperand:
    """A value that is given to an op, with its type."""

    name: Span
    type: Span


@dataclass(slots=True)
class SpelledOp:
    """One op as it is written.

    Attributes:
        name: with its dialect: `linalg.add`.
        start, end: its place, from its name to its result types.
        inputs, outputs: the operands.
        clauses: its clauses, in order; the entries of its dictionaries too.
        results: the types of its results.
    """

    name: str
    start: int
    end: int
    inputs: list[SpelledOperand] = field(default_factory=list)
    outputs: list[SpelledOperand] = field(default_factory=list)
    clauses: list[Clause] = field(default_factory=list)
    results: list[Span] = field(default_factory=list)
    is_foreign: bool = False
    """A flag: upstream's parser cannot read the op."""

    def clause(self, name: str) -> Clause | None:
        """Return the clause of a name, or None."""
        return next((clause for clause in self.clauses if clause.name == name), None)


def parse_op(
    source: SourceText, start: int, name: str, unknown: Collection[str]
) -> SpelledOp | None:
    """The op whose name stands at an offset; None where upstream's own syntax says it.

    Args:
        source: the text.
        start: where its name begins.
        name: its name.
        unknown: ops of linalg that upstream's parser does not know.

    Raises:
        ParseError: it is a spelled op, with a mistake; points at it.
    """
    reader = Reader(source, start + len(name))
    op = SpelledOp(name, start, reader.position)
    op.is_foreign = name.startswith("linalg_ext.") or name in unknown
    parser = _OpParser(reader, op)
    try:
        if not parser.leading():
            return None
        parser.trailing()
    except ParseError:
        if _is_spelled(op):
            raise
        return None  # a mistake in upstream's own syntax
    op.end = reader.position
    return op if _is_spelled(op) else None


def _is_spelled(op: SpelledOp) -> bool:
    """Return whether something of it is not in upstream's syntax."""
    return op.is_foreign or any(
        clause.name == COMPUTE_TYPE or SUGAR.fullmatch(clause.name) for clause in op.clauses
    )


class _OpParser:
    def __init__(self, reader: Reader, op: SpelledOp) -> None:
        self._reader = reader
        self._op = op

    def leading(self) -> bool:
        """All up to the destinations; False where this is not a structured op."""
        reader = self._reader
        has_inputs = False
        while True:
            token = reader.peek()
            if token.text == "ins" and not has_inputs:
                has_inputs = True
                reader.next()
                self._op.inputs = self._group("ins")
            elif token.text in ("outs", "inits"):
                reader.next()
                self._op.is_foreign |= token.text == "inits"
                self._op.outputs = self._group(token.text)
                return True
            elif not self._part(token):
                return False

    def trailing(self) -> None:
        """Read the rest of the op's text after the destinations."""
        reader = self._reader
        while True:
            token = reader.peek()
            before = reader.position
            if token.text == ",":
                reader.next()
                if not self._starts_clause(reader.peek()):
                    reader.position = before
                    return
                continue
            count = len(self._op.clauses)
            if token.text == "<" or not self._part(token):
                break
            if token.text != "{" and token.text not in ("dimensions", "permutation"):
                self._op.is_foreign |= len(self._op.clauses) > count
        if reader.accepts("->"):
            self._result_types()
        elif reader.peek().text == ":":
            self._op.is_foreign = True
            reader.next()
            self._result_types()

    def _part(self, token: Token) -> bool:
        """Take the next clause, dictionary or short kind; False if none follows."""
        if token.text == "{":
            self._dictionary()
        elif token.text == "<":
            self._short_kind()
        elif self._starts_clause(token):
            self._op.clauses.append(self._clause())
        else:
            return False
        return True

    def _starts_clause(self, token: Token) -> bool:
        """Return whether a word is not an op of the next line: none of those is followed by `=`."""
        if not token.is_word:
            return False
        after = Reader(self._reader.source, token.end).peek().text
        sugar = SUGAR.fullmatch(token.text)
        if sugar is not None and sugar[1] == "map" and after == "{":
            return True
        if (sugar is not None and sugar[1] == "transpose") or token.text in _UNITS:
            return True
        return after == "="

    def _dictionary(self) -> None:
        reader = self._reader
        reader.next()
        while not reader.accepts("}"):
            token = reader.peek()
            if not token.is_word and not token.text.startswith('"'):
                of_what = f"the attributes of {self._op.name}"
                reader.refuse_token(of_what, token, "a name, as in { broadcast_a = [1] }")
            self._op.clauses.append(self._clause(in_dictionary=True))
            if reader.peek().text != "}":
                reader.expect(",", f"the attributes of {self._op.name}")

    def _clause(self, *, in_dictionary: bool = False) -> Clause:
        reader = self._reader
        word = reader.next()
        name = word.text.strip('"')
        is_map = name.startswith("map_")
        value: Span | None = None
        if reader.accepts("=") or (is_map and reader.peek().text == "{"):
            if is_map:
                value = self._map()
            elif in_dictionary:
                value = self._attribute_in_dictionary()
            else:
                value = self._attribute(name)
        clause = Clause(name, value, reader.span(word.start, reader.position))
        is_bare_kind = name == "kind" and value is not None and value.text.isidentifier()
        self._op.is_foreign |= is_bare_kind or SUGAR.fullmatch(name) is not None
        self._check(clause, in_dictionary)
        return clause

    def _check(self, clause: Clause, in_dictionary: bool) -> None:
        reader, name = self._reader, clause.name
        if self._op.clause(name) is not None:
            reader.refuse(f"{self._op.name}: {name} is given twice", clause.place)
        known = in_dictionary or SUGAR.fullmatch(name) is not None or name in _TRAILING
        if not known:
            reader.refuse(
                f"{self._op.name}: {name} is not a clause of ops",
                clause.place,
                "broadcast_x, permutation_x (or permute_x), transpose_x or map_x for an operand x, "
                "or compute_type",
                f"write other attributes before ins: {{{name} = ...}}",
            )

    def _map(self) -> Span:
        """A map, in any of its spellings, as `affine_map<...>`, or an alias."""
        reader = self._reader
        token = reader.peek()
        if token.text == "{":
            reader.balanced()
            inner = Reader(reader.source, token.end)
            span = _bare_map(inner)
            if inner.peek().text != "}":
                reader.refuse("a map cannot have this here", inner.peek(), "`}`")
            return span
        if token.text == "(":
            return _bare_map(reader)
        return self._attribute("map")

    def _attribute_in_dictionary(self) -> Span:
        """All up to the comma or the brace that ends an entry."""
        reader = self._reader
        start = end = reader.peek().start
        while (token := reader.peek()).text not in (",", "}"):
            if not token.text:
                reader.refuse("the attributes end too soon", token, "`}`")
            end = reader.skip()
        return reader.span(start, end)

    def _attribute(self, name: str) -> Span:
        """One attribute that no type follows: a list, a word, `#dialect.kind<...>`, a type."""
        reader = self._reader
        token = reader.peek()
        if token.text in ("[", "{", "<"):
            return reader.span(token.start, reader.balanced())
        if not token.text or token.text in (",", ":", ")", "}", "->", "="):
            reader.refuse(f"{self._op.name}: {name} = has no value", token, f"{name} = ...")
        reader.next()
        if token.text == "!" or token.text == "-":
            reader.next()
        end = reader.position
        if reader.peek().text == "<":
            end = reader.balanced()
            if token.text == "dense" and reader.accepts(":"):
                end = self._type().end
        return reader.span(token.start, end)

    def _short_kind(self) -> None:
        """`<add>`, as newer versions of upstream write the kind of an elementwise op."""
        reader = self._reader
        opening = reader.peek()
        end = reader.balanced()
        inside = reader.span(opening.start + 1, end - 1)
        self._op.is_foreign = True
        place = reader.span(opening.start, end)
        clause = Clause("kind", inside, place)
        self._check(clause, in_dictionary=True)
        self._op.clauses.append(clause)

    def _group(self, keyword: str) -> list[SpelledOperand]:
        reader = self._reader
        opening = reader.expect("(", f"{keyword} of {self._op.name}")
        names: list[Span] = []
        types: list[Span] = []
        while not reader.accepts(")"):
            token = reader.peek()
            if token.text.startswith("%"):
                if types and len(types) == len(names):
                    self._op.is_foreign = True  # a type for each operand
                reader.next()
                names.append(reader.span(token.start, token.end))
            elif types and token.text != ":":
                types.append(self._type())
            if reader.accepts(":"):
                types.append(self._type())
            if reader.peek().text != ")":
                reader.expect(",", f"{keyword}(...) of {self._op.name}")
        if len(names) != len(types):
            # Upstream's own words for this are good, but it must see the text.
            reader.refuse(
                f"{self._op.name}: {keyword}(...) has {counted(len(names), 'operand')} and "
                f"{counted(len(types), 'type')}",
                Span("", opening.start, reader.position),
                "a type for each operand: ins(%a, %b : t, u), or ins(%a : t, %b : u)",
            )
        return [SpelledOperand(*pair) for pair in zip(names, types, strict=True)]

    def _result_types(self) -> None:
        if self._reader.accepts("("):
            while not self._reader.accepts(")"):
                self._op.results.append(self._type())
                if self._reader.peek().text != ")":
                    self._reader.expect(",", f"the results of {self._op.name}")
            return
        self._op.results.append(self._type())

    def _type(self) -> Span:
        reader = self._reader
        start = reader.peek().start
        type_ = reader.span(start, reader.type_end(self._op.name, in_group=True))
        if "<" in type_.text and not type_.text.endswith(">"):
            # The wish list writes `tensor<16x64xf32)`; nothing else can be meant.
            self._op.is_foreign = True
            return replace(type_, after=">")
        return type_


def _bare_map(reader: Reader) -> Span:
    """Take a map without `affine_map<` and `>` around it, or an alias."""
    start = reader.peek()
    if start.text == "affine_map" or start.text.startswith("#"):
        reader.next()
        end = reader.balanced() if reader.peek().text == "<" else start.end
        return reader.span(start.start, end)
    if start.text != "(":
        reader.refuse("a map cannot begin with this", start, "(d0, d1) -> (d0)")
    reader.balanced()
    reader.expect("->", "a map")
    if reader.peek().text != "(":
        reader.refuse("a map cannot have this here", reader.peek(), "(d0, d1) -> (d0)")
    end = reader.balanced()
    return replace(reader.span(start.start, end), before="affine_map<", after=">")
