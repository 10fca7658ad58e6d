"""Examples of the documents that the library implements, by their own text."""

from __future__ import annotations

import functools
import re

from resources import REPOSITORY

_PROPERTY = re.compile(r"#### Property (\d)[^\n]*\n(.*?)(?=\n#### |\Z)", re.DOTALL)
_EXAMPLE = re.compile(r"```(?:mlir)?\n(.*?)```", re.DOTALL)

DOCUMENTS = REPOSITORY / "tests" / "data" / "documents"

_UNKNOWN = '"some_compute"(%a, %b): (f32, vector<4xf32>) -> (vector<4xf32>)'


@functools.cache
def _examples(year: int) -> dict[str, list[str]]:
    text = (DOCUMENTS / f"linalg_dialect_{year}.md").read_text()
    return {number: _EXAMPLE.findall(body) for number, body in _PROPERTY.findall(text)}


def example(year: int, property_: int, number: int = 0) -> str:
    """Return an example of a property, by the document's own text."""
    return _examples(year)[str(property_)][number]


def with_a_sum(text: str) -> str:
    """The document's unknown function `some_compute` bound to a sum: b + a, of every lane."""
    assert _UNKNOWN in text
    wide = "%wide = vector.broadcast %a : f32 to vector<4xf32>"
    return text.replace(f"%c = {_UNKNOWN}", f"{wide}\n%c = arith.addf %b, %wide : vector<4xf32>")
