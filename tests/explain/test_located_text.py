"""The text of a module, what folds in it, and the places its lines come of."""

from __future__ import annotations

from pathlib import Path

import pytest

import linalg_ext as lx
from exported_modules import module_params
from linalg_ext.explain.located_text import (
    Place,
    of_module,
    of_printed,
    of_stage,
    places_of,
    within,
)

TEXT = """func.func @f(%a: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.load %a[%i] : memref<?xf32>
    %p = arith.cmpf olt, %x, %x : f32
    scf.if %p {
      memref.store %x, %a[%c0] : memref<?xf32>
    } else {
      memref.store %x, %a[%i] : memref<?xf32>
    }
  }
  return
}"""


def test_lines_are_those_that_mlir_prints_without_locations() -> None:
    module = lx.parse(TEXT)
    assert "\n".join(of_module(module).lines) == str(module).strip()


def test_each_op_comes_of_its_line_and_regions_end_where_they_do() -> None:
    text = of_module(lx.parse(TEXT))
    line = {each.strip(): number for number, each in enumerate(text.lines)}
    load = next(number for words, number in line.items() if "memref.load" in words)
    assert text.places[load] == (Place("-", 5),)
    loop = next(number for words, number in line.items() if "scf.for" in words)
    branch = next(number for words, number in line.items() if "scf.if" in words)
    assert text.places[loop] == (Place("-", 4),)
    assert text.places[text.ends[loop]] == (Place("-", 4),)
    otherwise = text.ends[branch]
    assert text.lines[otherwise].strip() == "} else {"
    assert text.lines[text.ends[otherwise]].strip() == "}"
    assert text.places[branch] == (Place("-", 7),)


def test_statements_leave_out_what_is_inside_them() -> None:
    text = of_module(lx.parse(TEXT))
    head = next(number for number, line in enumerate(text.lines) if "func.func" in line)
    names = [text.lines[each].split("=")[-1].split()[0] for each in text.statements(head)]
    assert names == ["arith.constant", "arith.constant", "%c0", "return"]


@pytest.mark.parametrize(
    ("location", "places"),
    [
        ('loc("a.py":3:1)', [("a.py", 3)]),
        ("loc(unknown)", []),
        ('loc(fused["a.py":3:1, "b.py":4:1])', [("a.py", 3), ("b.py", 4)]),
        ('loc("name"("a.py":3:1))', [("a.py", 3)]),
        ('loc(callsite("a.py":3:1 at "b.py":9:2))', [("a.py", 3), ("b.py", 9)]),
        ('loc("odd)\\"(.py":3:1)', [('odd)\\"(.py', 3)]),
        ("loc(#loc1)", [("c.py", 7)]),
        ('loc("-":0:0)', []),
    ],
)
def test_every_kind_of_location_is_read(location: str, places: list[tuple[str, int]]) -> None:
    text = of_printed(f'#loc1 = loc("c.py":7:1)\n"x.y"() : () -> () {location}\n')
    assert text.lines == ('"x.y"() : () -> ()',)
    assert text.places == (tuple(Place(*each) for each in places),)


def test_what_looks_like_a_location_in_a_string_stays() -> None:
    line = '"x.y"() {a = "see loc(here)", b = "} {"} : () -> ()'
    assert of_printed(f'{line} loc("a.py":1:1)').lines == (line,)


def test_places_that_a_pass_made_up_are_left_out() -> None:
    text = of_module(lx.parse(TEXT))
    known = {Place("-", 5)}
    assert places_of(within(text, known)) == [Place("-", 5)]


@pytest.mark.parametrize("path", module_params("l3_0[45]*.mlir"))
def test_most_lines_of_every_stage_lead_back_to_the_source(path: Path) -> None:
    kernel = lx.compile(path.read_text(), opt_level=0)
    texts = [of_stage(stage) for stage in kernel.steps]
    known = set(places_of(texts[0]))
    for stage, text in zip(kernel.steps, texts, strict=True):
        assert [line.rstrip() for line in stage.text.strip().splitlines()] == list(text.lines)
        led = sum(bool(own) for own in within(text, known).places)
        assert led > 0.5 * len(text.lines), stage.name
        assert all(start < end for start, end in text.ends.items())
