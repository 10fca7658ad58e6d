"""Modules with ops of gml_st as the documents write them: read, printed, read again."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linalg_ext as lx
from gml_st_texts import ACCUMULATORS, FOR, MENDED, MODULES, SLIP, row_sum
from linalg_ext import errors
from linalg_ext.cli import main
from linalg_ext.dialects.asm import translated

DOCUMENT = ("gml_st.loop", "linalg.tiled_loop")


def module_text(name: str) -> str:
    return row_sum(name).replace(SLIP, MENDED) if name in DOCUMENT else MODULES[name]


@pytest.mark.parametrize("name", [*MODULES, *DOCUMENT])
def test_a_module_is_printed_as_it_is_read(name: str) -> None:
    text = module_text(name)
    module = lx.parse(text)
    assert re.search(r'"gml_st\.\w+"\(', str(module))  # MLIR's own form
    assert not re.search(r"(?<!\")!gml_st\.(tile|point)\b", str(module))
    printed = module.to_text(sugar=True)
    assert '"gml_st' not in printed
    again = lx.parse(printed)
    assert str(again) == str(module)
    assert again.to_text(sugar=True) == printed
    generic = lx.parse(str(module))
    assert str(generic) == str(module)


@pytest.mark.parametrize("name", DOCUMENT)
def test_the_loops_of_the_document_sum_rows(name: str) -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal((80, 60), np.float32)
    start = random.standard_normal(80, np.float32)
    result = lx.compile(module_text(name))(x, start)
    np.testing.assert_allclose(result, start + x.sum(axis=1), rtol=1e-4, atol=1e-5)


def test_the_slip_of_the_document_is_an_error_about_the_type() -> None:
    text = row_sum("gml_st.loop")
    assert SLIP in text
    with pytest.raises(errors.ParseError) as caught:
        lx.parse(text, filename="rows.mlir")
    error = caught.value
    assert "%in_tile is a !gml_st.subset<4x4xf32>" in error.what
    assert "said to be a !gml_st.subset<4xf32>" in error.what
    assert "%out_tile" in str(error.hint)
    line = text[: text.index(SLIP)].count("\n") + 2  # the type is on the line behind the op
    place, shown, caret = str(error.where).splitlines()
    assert place.startswith(f"rows.mlir, line {line}, column ")
    assert shown[caret.index("^") : caret.rindex("^") + 1] == "!gml_st.subset<4xf32>"


def test_the_source_of_a_materialize_is_what_its_tile_is_of() -> None:
    text = str(lx.parse(module_text("gml_st.loop")))
    tiles = dict(re.findall(r'(%\w+) = "gml_st.tile"\((%\w+)', text))
    found = re.findall(r'"gml_st.materialize"\((%\w+), (%\w+)\)', text)
    assert len(found) == 2
    assert {tiles[of_set] for _, of_set in found} == {source for source, _ in found}


def test_both_loops_of_the_document_are_one_loop() -> None:
    """Their ops stand in another order, and `reduction` is another word for `sequential`."""

    def ops(name: str) -> list[str]:
        printed = lx.parse(module_text(name)).run("cse").to_text(sugar=True)
        plain = re.sub(r"%\w+", "%", printed.replace("reduction", "sequential"))
        return sorted(line.strip() for line in plain.splitlines())

    assert ops("gml_st.loop") == ops("linalg.tiled_loop")


def test_values_of_two_bodies_that_have_one_name_stay_apart() -> None:
    text = str(lx.parse(ACCUMULATORS))
    region = text[text.index('"gml_st.set_yield"') :]
    (label,) = re.findall(r"\^bb0\((%\w+): .*?, (%\w+): .*?, (%\w+): .*?, (%\w+): .*?\):", region)
    assert len(set(label)) == 4
    assert re.search(rf"arith.addf {label[0]}, {label[1]}", region)
    scaled = re.search(rf"(%\w+) = arith.mulf {label[2]}, %splat", region)
    assert scaled is not None
    assert f"arith.maximumf {scaled[1]}, {label[3]}" in region
    assert "accumulator_flags = array<i1: true, false, true>" in region


def test_other_spellings_stand_amid_them() -> None:
    text = FOR.replace(
        "    gml_st.set_yield %new into",
        "    %more = linalg.add ins(%new : tensor<8xf32>, %part : tensor<8x8xf32>)\n"
        "        outs(%part : tensor<8x8xf32>) broadcast_a = [0] : tensor<8x8xf32>\n"
        "    gml_st.set_yield %new into",
    )
    assert text != FOR
    printed = lx.parse(text).to_text(sugar=True)
    assert re.search(r"broadcast_a = \[0\] : tensor<8x8xf32>\n +gml_st\.set_yield", printed)
    assert str(lx.parse(printed)) == str(lx.parse(text))


def test_the_command_reads_and_prints_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "columns.mlir"
    path.write_text(FOR)
    assert main(["opt", str(path), "--sugar"]) == 0
    printed = capsys.readouterr().out
    assert "gml_st.for (%arg2, %arg3) = (%c0, %c0) to (%c128, %c16) step (%c8, %c8)" in printed
    assert lx.parse(printed).to_text(sugar=True).strip() == printed.strip()


TOKENS = re.compile(r"\s+|[%#!@^]?[\w$.]+|.", re.DOTALL)
PIECES = [TOKENS.findall(text) for text in MODULES.values()]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_text_with_mistakes_is_an_error_of_ours(data: st.DataObject) -> None:
    tokens = list(data.draw(st.sampled_from(PIECES)))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(tokens) - 1))
        other = data.draw(st.integers(0, len(tokens) - 1))
        match data.draw(st.sampled_from(("drop", "repeat", "swap", "cut"))):
            case "drop":
                tokens[place] = ""
            case "repeat":
                tokens.insert(place, tokens[other])
            case "swap":
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case "cut":
                tokens = tokens[: place + 1]
    text = "".join(tokens)
    with contextlib.suppress(errors.ParseError):  # any other error is a mistake
        found = translated(text, "x.mlir")
        assert found.text.count("\n") == text.count("\n")
