"""A page as a file: whole, on its own, whatever is in it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.cache.store import FOLDER
from linalg_ext.errors import ArgumentError, ArgumentTypeError, ExportError, ShapeError
from linalg_ext.transforms.grouping import search
from searched import searched_sums

TEXT = """func.func @f(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = linalg.add ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>)
                  outs(%b : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}"""


def data_of(page: lx.explain.Page) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.html, re.S)
    assert found is not None
    return json.loads(found[1])


def text_of(page: lx.explain.Page, name: str) -> Any:
    (found,) = (text for text in data_of(page)["texts"] if text["name"] == name)
    return found


def test_it_holds_every_stage_as_the_kernel_has_it() -> None:
    kernel = lx.compile(TEXT)
    page = lx.explain.page(kernel, source=TEXT, filename="f.mlir")
    names = [text["name"] for text in data_of(page)["texts"]]
    assert names == ["source", *kernel.stages]
    for name, text in kernel.stages.items():
        assert text_of(page, name)["text"].split() == text.split()
    assert text_of(page, "source")["text"].splitlines()[0] == "// f.mlir"
    assert "lx_entry_f" in data_of(page)["assembly"]["text"]
    assert "f.mlir" not in page.title


def test_it_loads_nothing_from_elsewhere() -> None:
    page = lx.explain.page(lx.compile(TEXT)).html
    rest = page.replace("http://www.w3.org/2000/svg", "")
    assert "http" not in rest.partition('id="data"')[0]
    assert not re.search(r"<(?:link|script|img)[^>]*(?:src|href)=(?!\"data:)", rest)
    assert page.count("<script") == page.count("</script>") == 2


def test_what_a_module_says_cannot_break_out_of_the_page() -> None:
    wrong = "</script><script>alert(1)</script><!--"
    text = TEXT.replace("linalg.add ins", f'linalg.add {{note = "{wrong}"}} ins')
    page = lx.explain.page(lx.compile(text), source=text, filename=wrong)
    assert page.html.count("<script") == 2
    assert wrong in text_of(page, "source")["text"]


def test_lines_of_python_are_shown_and_no_more_of_the_file() -> None:
    def twice(x: Any) -> Any:
        return x + x

    page = lx.explain.page(lx.jit(twice).lower(np.ones(8, np.float32)).compile())
    source = text_of(page, "source")
    assert "return x + x" in source["text"]
    assert "def data_of" not in source["text"]
    number = source["text"].splitlines().index("        return x + x")
    assert Path(__file__).read_text().splitlines()[source["numbers"][number] - 1].strip() == (
        "return x + x"
    )


def test_a_source_that_is_gone_is_left_out() -> None:
    program = compile("def f(x): return x * 2\n", "nowhere.py", "exec")
    found: dict[str, Any] = {}
    exec(program, found)
    page = lx.explain.page(lx.jit(found["f"]).lower(np.ones(8, np.float32)).compile())
    assert data_of(page)["texts"][0]["name"] == "module"


def test_a_schedule_and_its_steps_are_on_it() -> None:
    module = lx.parse(TEXT)
    schedule = lx.Schedule(module).match("add").tile([4, 4])
    html = lx.explain.page(lx.compile(module), schedule=schedule).html
    assert "linalg.add 1" in html
    assert "went through no schedule" not in html
    assert "linalg-ext-fuse-producers" in html


def test_an_exported_kernel_has_a_page_too(tmp_path: Path) -> None:
    lx.compile(TEXT).export(tmp_path / "out", library=False)
    page = lx.explain.page(lx.load(tmp_path / "out"))
    assert "linalg.add" in text_of(page, "module")["text"]


def test_a_kernel_whose_module_was_too_large_to_keep_has_the_rest() -> None:
    values = ", ".join(map(str, range(300_000)))
    text = (
        "func.func @f() -> tensor<300000xi64> {\n"
        f"  %c = arith.constant dense<[{values}]> : tensor<300000xi64>\n"
        "  return %c : tensor<300000xi64>\n}"
    )
    page = lx.explain.page(lx.compile(text, trusted=True))
    assert "was not kept" in page.html
    assert len(page.html) < 1 << 20


def test_empty_shapes_and_functions_without_ops_have_pages() -> None:
    page = lx.explain.page(lx.compile("func.func @f() { return }"))
    assert "the code has no loop" in data_of(page)["assembly"]["told"]
    empty = lx.jit(lambda x: x + 1).lower(np.ones((0, 3), np.float32)).compile()
    assert lx.explain.page(empty, measured=lx.explain.measure(empty, seconds=0.0)).html


def test_mistakes_are_told(tmp_path: Path) -> None:
    kernel = lx.compile(TEXT)
    with pytest.raises(ArgumentTypeError, match="str is not a kernel of this process"):
        lx.explain.page("f")
    with pytest.raises(ArgumentTypeError, match="IsolatedKernel is not a kernel"):
        lx.explain.page(lx.compile(TEXT, isolated=True))
    with pytest.raises(ArgumentError):
        lx.explain.page(kernel, threads=0)
    with pytest.raises(ExportError, match="cannot be written: No such file"):
        lx.explain.page(kernel).write(tmp_path / "no" / "page.html")
    with pytest.raises(ShapeError, match="leaves sizes open"):
        lx.explain.measure(lx.compile(TEXT.replace("8x8", "?x8")))


def test_calls_are_measured() -> None:
    found = lx.explain.measure(lx.compile(TEXT), seconds=0.0)
    assert 0 < found.best <= found.median
    assert found.calls >= 3
    names = [name for name, _ in found.rows()]
    assert names == ["measured", "median"]


def test_a_kernel_that_was_kept_shows_its_groups_still(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path / "kernels"))
    kernels = [searched_sums() for _ in range(2)]
    assert [kernel.is_kept for kernel in kernels] == [False, True]
    made, found = (lx.explain.page(kernel).html for kernel in kernels)
    assert made.count('<g class="group"') == found.count('<g class="group"') == 1
    assert ('class="rows trace"' in made, 'class="told trace"' in found) == (True, False)


def test_groups_that_were_found_and_not_taken_are_no_boxes() -> None:
    kernel = lx.compile(TEXT)
    told, found = kernel.explain(), search(TEXT)
    assert found.state.groups
    kernel.explanation = lambda: replace(told, decisions=(found,))
    html = lx.explain.page(kernel).html
    assert "were not taken" in html
    assert '<g class="group"' not in html
    assert 'class="rows trace"' in html
