"""A text with ops of `gml_st` as the documents write them: the changes for MLIR to read it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from typing import NoReturn

from linalg_ext.dialects.gml_st.asm.loops import read_loop, read_yield
from linalg_ext.dialects.gml_st.asm.reading import Facts, Op, Reading, Region
from linalg_ext.dialects.gml_st.asm.sets import read_set_op
from linalg_ext.dialects.gml_st.asm.tiled_loop import read_tiled_loop
from linalg_ext.errors import ParseError
from linalg_ext.notations.mlir_text import Edit, Reader, Span, Token
from linalg_ext.notations.source_text import SourceText

ReadOp = Callable[[Reading, Op, Reader], int]
"""Reads an op whose name was taken, changes it, and gives the offset behind it."""

_BOUNDS = "(%i) = (%lower) to (%upper) step (%step)"
_HINTS = {
    "space": "[64, %n] : !gml_st.tile<64x?>",
    "full": "%x : T to S",
    "tile": "%x [offsets] [sizes] [strides] : T to S",
    "filter": "%x[%indices] : T[I] to S",
    "point": "%x [indices] : T to !gml_st.point",
    "drop_dims": "%set, [0, 2] : S to S2",
    "transpose_dims": "%set, [1, 0] : S to S2",
    "offset": "%set[%dim] : S",
    "size": "%set[%dim] : S",
    "stride": "%set[%dim] : S",
    "intersection": "%a, %b : S, S to S2",
    "convex_union": "%a, %b : S, S to S2",
    "difference": "%a, %b : S, S to S2, S2, ...",
    "contains": "%a, %b : S, S",
    "is_empty": "%set : S",
    "materialize": "%x[%set] : T[S] to T2, or: %set : S to T2",
    "loop": f"{_BOUNDS} ins (%x_ = %x: T) outs (%y_ = %y: T) iterators[...] {{...}}",
    "for": f"{_BOUNDS} outs (%y_ = %y: T) {{...}}",
    "parallel": f"{_BOUNDS} {{...}} : T",
    "yield": "%value to %set : T to S, or: %value : T",
    "set_yield": "%value into %y[%set] acc (%new, %old: T) {...} : T into T2[S]",
    "tiled_loop": f"{_BOUNDS} ins (%x_ = %x: T) outs (%y_ = %y: T) iterators[...] {{...}}",
}
"""The syntax of each op for messages."""

_READERS: dict[str, ReadOp] = {
    **dict.fromkeys(("loop", "for", "parallel"), read_loop),
    **dict.fromkeys(("yield", "set_yield"), read_yield),
    "tiled_loop": read_tiled_loop,
}
"""The reader of each op that is not about sets alone."""

_OLDER = {
    "collapse_tile": "drop_dims",
    "transpose_tile": "transpose_dims",
    "subset_yield": "set_yield",
    "dim": "size",
}
"""Former names of some ops, and the names of today."""

_MENTIONED = ("gml_st.", "subset.", "linalg.tiled_loop")
_SCAN = re.compile(
    r"""
    (?P<comment>//[^\n]*)
  | "gml_st\.(?P<generic>\w+)"(?=\s*\()
  | (?P<string>"(?:[^"\\\n]|\\.)*")
  | (?P<open>\{)
  | (?P<close>\})
  | (?P<results>%[\w$.-]+(?::\d+)?(?:\s*,\s*%[\w$.-]+(?::\d+)?)*)\s*=(?!=)
  | (?P<type>!gml_st\.\w+)
  | (?P<arguments>\^[\w$.-]+\s*(?=\()|\bfunc\s+[^@"{}()]*@[\w$.-]+\s*(?=\())
  | (?<![\w$.#!%@^"-])(?P<op>gml_st\.\w+|subset\.(?:full|tile|filter|point)\b|linalg\.tiled_loop\b)
    """,
    re.VERBOSE,
)
_CONSTANT = re.compile(r"\s*arith\.constant\s+(-?\d{1,18})\s*:\s*index\b")


def changes(source: SourceText) -> list[Edit]:
    """Return the edits to a text that let MLIR read its ops and types of `gml_st`.

    Raises:
        ParseError: a mistake in one of them; points at it.
    """
    if not any(word in source.text for word in _MENTIONED):
        return []
    scanner = _Scanner(source)
    scanner.scan()
    return scanner.reading.edits


class _Scanner:
    """Goes through a text once, from one brace, name or op to the next."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self.reading = Reading(source)
        self._names: tuple[str, ...] = ()  # of the results that were read last
        self._names_end = -1

    def scan(self) -> None:
        """Read the whole text."""
        position = 0
        while match := _SCAN.search(self._source.text, position):
            kind = match.lastgroup or ""
            position = getattr(self, f"_{kind}")(match)

    def _comment(self, match: re.Match[str]) -> int:
        return match.end()

    _string = _comment

    def _generic(self, match: re.Match[str]) -> int:
        """An op in the generic form: MLIR reads it as it is, but for its types."""
        if match["generic"] in ("yield", "set_yield"):
            self.reading.scope.innermost.is_ended = True
        return match.end()

    def _open(self, match: re.Match[str]) -> int:
        self.reading.scope.open(Region())
        return match.end()

    def _close(self, match: re.Match[str]) -> int:
        region = self.reading.scope.close()
        if region is None or region.close is None:
            return match.end()
        return region.close(match.start())

    def _results(self, match: re.Match[str]) -> int:
        constant = _CONSTANT.match(self._source.text, match.end())
        facts = Facts("index", constant=int(constant[1])) if constant else Facts()
        self._names = tuple("".join(name.split()) for name in match["results"].split(","))
        for name in self._names:
            self.reading.scope.define(name, facts)
        self._names_end = Reader(self._source, match.end()).peek().start
        return match.end()

    def _type(self, match: re.Match[str]) -> int:
        return self.reading.translate_type(Token(match[0], match.start()))

    def _arguments(self, match: re.Match[str]) -> int:
        """The arguments of a function or a block, whose types are said."""
        reader = Reader(self._source, match.end())
        try:
            reader.next()
            while reader.peek().text.startswith("%"):
                name = reader.next()
                reader.expect(":", "an argument")
                self.reading.scope.define(
                    name.text, Facts(self.reading.type(reader, "an argument"))
                )
                while reader.peek().text not in (",", ")", ""):
                    if reader.peek().text in ("{", "("):
                        reader.balanced()
                    else:
                        reader.next()
                reader.accepts(",")
        except ParseError:
            pass  # its subject is met again, or MLIR reports it
        return match.end()

    def _op(self, match: re.Match[str]) -> int:
        written = match["op"]
        name = written.partition(".")[2]
        place = Span(written, *match.span("op"))
        reader = Reader(self._source, place.end)
        follows = reader.peek().text
        if follows == "=" or (follows in (",", "}") and not name.endswith("yield")):
            return place.end  # an attribute of that name
        if name not in _HINTS:
            self._unknown(name, place)
        results = self._names if self._names_end == place.start else ()
        read = _READERS.get(name, read_set_op)
        try:
            return read(self.reading, Op(name, written, place, results), reader)
        except ParseError as error:
            if error.hint is None:
                error.hint = f"write {written} {_HINTS[name]}"
            raise

    def _unknown(self, name: str, place: Span) -> NoReturn:
        close = _OLDER.get(name) or next(iter(difflib.get_close_matches(name, _HINTS)), None)
        self.reading.refuse(
            f"gml_st.{name} is not an op of gml_st",
            place,
            f"one of {', '.join(op_name for op_name in _HINTS if op_name != 'tiled_loop')}",
            f"write gml_st.{close}" if close else None,
        )
