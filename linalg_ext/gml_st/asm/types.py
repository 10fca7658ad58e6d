"""Types of `gml_st` in a text: as people write them, and as MLIR reads them.

written                      read by MLIR
!gml_st.subset<4x?xf32>      !gml_st.subset<"4x?xf32">
!gml_st.tile<4x?>            !gml_st.subset<"4x?">
!gml_st.tile<>               !gml_st.subset<"">
!gml_st.point                !gml_st.element
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from linalg_ext.notations.mlir_text import Reader, Span, Token
from linalg_ext.notations.source_text import SourceText

SUBSET = "!gml_st.subset"
ELEMENT = "!gml_st.element"

_NAMES = ("subset", "tile", "point", "element")
_DIMENSION = re.compile(r"\s*(\?|\d+)\s*(?:x|(?=$|[,>]))")
_NUMBER = re.compile(r"0|[1-9]\d*|\?")
_QUOTED = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_PRINTED = re.compile(rf'{SUBSET}<{_QUOTED.pattern}>|"(?:[^"\\\n]|\\.)*"|//[^\n]*')


@dataclass(frozen=True, slots=True)
class Shaped:
    """A tensor, a memref or a subset, read from its text.

    Attributes:
        kind: `tensor`, `memref` or `subset`.
        sizes: a text each, `?` where it is dynamic.
        element: the element type; empty for a subset of an index space.
    """

    kind: str
    sizes: tuple[str, ...]
    element: str

    @property
    def subset(self) -> str:
        """The type of the subset of all of it, as MLIR reads it."""
        return subset_type(self.sizes, self.element)


def subset_type(sizes: tuple[str, ...], element: str = "") -> str:
    """A subset type as MLIR reads it."""
    return f'{SUBSET}<"{"x".join([*sizes, *filter(None, [element])])}">'


def shaped(text: str) -> Shaped | None:
    """Read a type in either spelling; None where it has no visible shape."""
    kind, _, rest = text.partition("<")
    kind = kind.strip()
    if kind in ("tensor", "memref"):
        sizes, element = _dimensions(rest.rstrip()[:-1])
        element = _without_encoding(element)
        return None if not element or element.startswith("*") else Shaped(kind, sizes, element)
    if kind in (SUBSET, "!gml_st.tile"):
        inside = rest.strip()[:-1].strip()
        return Shaped("subset", *_dimensions(_unquoted(inside)))
    return None


def is_element(text: str) -> bool:
    """Return whether a type is that of a single element, in either spelling."""
    return text.strip() in (ELEMENT, "!gml_st.point")


def is_set(text: str) -> bool:
    """Return whether a type is one of `gml_st`."""
    return text.lstrip().startswith("!gml_st.")


def translated_type(source: SourceText, at: Token) -> tuple[int, str]:
    """A type of `gml_st` as MLIR reads it.

    Args:
        source: the text.
        at: `!gml_st.` and the name.

    Returns:
        The offset behind the type, and what stands in its place.

    Raises:
        ParseError: there is no such type, or its sizes are none.
    """
    reader = Reader(source, at.end)
    name = at.text.partition(".")[2]
    if name not in _NAMES:
        reader.refuse(
            f"{at.text} is no type of gml_st",
            at,
            "!gml_st.subset<4x?xf32>, !gml_st.tile<4x?>, !gml_st.point",
        )
    has_shape = reader.peek().text == "<" and reader.peek().start == at.end
    if name in ("point", "element"):
        if has_shape:
            reader.refuse(f"{at.text} is a single element and has no shape", reader.peek())
        return at.end, ELEMENT
    if not has_shape:
        reader.refuse(f"{at.text} has no shape", at, f"{at.text}<4x?xf32>")
    end = reader.balanced()
    inside = reader.span(at.end + 1, end - 1).text.strip()
    place = Span("", at.start, end)
    if quoted := _QUOTED.fullmatch(inside):
        return end, f'{SUBSET}<"{quoted[1]}">'
    sizes, element = _dimensions(inside)
    for size in sizes:
        if not _NUMBER.fullmatch(size):
            reader.refuse(f"{size} in {at.text}<{inside}> is no size", place, "a number, or ?")
    if name == "tile" and element:
        reader.refuse(
            f"{at.text}<{inside}> says an element type, which a tile has not",
            place,
            f"{at.text}<{'x'.join(sizes)}>, or {SUBSET}<{inside}>",
        )
    is_word = re.match(r"[A-Za-z!]", element) is not None
    if (element and not is_word) or re.search(r"x\s*$", inside):
        reader.refuse(
            f"{at.text}<{inside}> is not written as a subset is",
            place,
            f"sizes with an x between them, then the element type: {SUBSET}<4x?xf32>",
        )
    if '"' in element or "\\" in element:
        reader.refuse(f"{element} is no element type of a subset", place)
    return end, subset_type(sizes, element)


def pretty_types(text: str) -> str:
    """A text as MLIR prints it, its subset types as people write them."""
    return _PRINTED.sub(_pretty, text)


def _pretty(found: re.Match[str]) -> str:
    inside = found[1]
    if inside is None or "\\" in inside or subset_type(*_dimensions(inside)) != found[0]:
        return found[0]
    return f"{SUBSET}<{inside}>"


def product(one: str, other: str) -> str:
    """The product of two numbers of which each may be `?`."""
    is_known = all(re.fullmatch(r"-?\d{1,18}", number) for number in (one, other))
    return str(int(one) * int(other)) if is_known else "?"


def _dimensions(text: str) -> tuple[tuple[str, ...], str]:
    """The sizes at the beginning of a text, and the element type behind them."""
    sizes: list[str] = []
    position = 0
    while found := _DIMENSION.match(text, position):
        sizes.append(found[1])
        position = found.end()
    return tuple(sizes), text[position:].strip()


def _without_encoding(text: str) -> str:
    """An element type without what follows it at a comma: a layout, an encoding."""
    depth = 0
    for offset, letter in enumerate(text):
        depth += (letter in "<([") - (letter in ">)]")
        if letter == "," and depth <= 0:
            return text[:offset].strip()
    return text


def _unquoted(text: str) -> str:
    quoted = _QUOTED.fullmatch(text)
    return quoted[1] if quoted else text
