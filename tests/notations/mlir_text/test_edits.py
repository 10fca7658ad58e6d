"""Edits of a text: nested, moved and copied parts, lines that stay, and the way back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from linalg_ext.notations.mlir_text import Edit, Span, apply_edits
from linalg_ext.notations.source_text import SourceText


def edited(text: str, *edits: Edit) -> str:
    return apply_edits(SourceText(text, "x"), edits).text


def span(text: str, part: str) -> Span:
    start = text.index(part)
    return Span(part, start, start + len(part))


def test_without_edits_the_text_is_the_same_object() -> None:
    text = "a b"
    assert edited(text) is text


def test_an_edit_inside_a_part_that_is_moved_is_made_there() -> None:
    text = "move %x : T here"
    swapped = Edit(5, 11, [span(text, "T"), " of ", span(text, "%x")])
    renamed = Edit(5, 7, ["%name"])
    retyped = Edit(10, 11, ["type"])
    assert edited(text, renamed, swapped, retyped) == "move type of %name here"


def test_an_edit_inside_a_part_that_goes_is_gone() -> None:
    assert edited("a (b) c", Edit(2, 5, ["-"]), Edit(3, 4, ["x"])) == "a - c"


def test_a_part_that_is_copied_twice_is_edited_twice() -> None:
    text = "%x"
    assert edited("f %x", Edit(2, 4, [Span(text, 2, 4), Span(text, 2, 4)]), Edit(3, 4, ["y"])) == (
        "f %y%y"
    )


def test_an_insertion_stands_before_what_begins_there() -> None:
    assert edited("ab", Edit(1, 2, ["c"]), Edit(1, 1, ["-"])) == "a-c"
    assert edited("ab", Edit(2, 2, ["!"])) == "ab!"


def test_lines_stay_where_they_are_unless_that_is_not_wanted() -> None:
    text = "a (\n\n) b"
    assert edited(text, Edit(2, 6, ["x"])) == "a x\n\n  b"
    source = SourceText(text, "x")
    assert apply_edits(source, [Edit(2, 6, ["x"])], keeps_lines=False).text == "a x b"


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), max_size=8), st.data())
def test_each_copied_letter_leads_back_to_itself(
    places: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Every letter of the source is another one; new text has none of them."""
    text = "".join(chr(0x100 + n) if n % 9 else "\n" for n in range(1, 46))
    edits = []
    for start, length in places:
        end = min(start + length, len(text))
        begin = data.draw(st.integers(start, end))
        kept = Span(text[begin:end], begin, end)
        edits.append(Edit(start, end, ["-", kept, "-"]))
    new = apply_edits(SourceText(text, "x"), edits)
    assert new.text.count("\n") >= text.count("\n")
    line, column = 1, 1
    for offset, letter in enumerate(new.text):
        if letter == "\n":
            line, column = line + 1, 1
            continue
        if letter not in "- ":
            assert text[new.source_offset(offset)] == letter
            there_line, there_column = new.origin(line, column)
            assert text.split("\n")[there_line - 1][there_column - 1] == letter
        column += 1
