"""The tutorials run in a clean kernel, and give what is stored in them."""

from __future__ import annotations

import copy
import itertools
from pathlib import Path

import nbformat
import pytest

from notebooks.execution import (
    NOTEBOOKS,
    Notebook,
    NotebookError,
    differences,
    executed,
    read,
    text_of,
    varies,
    with_kept_outputs,
)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_gives_what_is_stored(path: Path) -> None:
    assert differences(read(path), executed(path)) == ""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_in_normal_form(path: Path) -> None:
    """Without counts and other noise, every cell that shows something with its output."""
    notebook = read(path)
    assert path.read_text(encoding="utf-8") == text_of(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code" and ("print(" in cell.source or varies(cell)):
            assert cell.outputs, cell.source


def test_each_notebook_leads_to_the_next() -> None:
    for path, following in itertools.pairwise(NOTEBOOKS):
        assert f"]({following.name})" in read(path).cells[-1].source


def _notebook(*sources: str, tags: tuple[str, ...] = ()) -> Notebook:
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in sources])
    for cell in made.cells:
        cell.metadata["tags"] = list(tags)
    return made


def _printed(notebook: Notebook, text: str) -> Notebook:
    made = copy.deepcopy(notebook)
    made.cells[0].outputs = [nbformat.v4.new_output("stream", text=text)]
    return made


def test_another_output_is_a_difference_unless_it_varies() -> None:
    plain, varying = _notebook("print(x)"), _notebook("print(x)", tags=("varies",))
    assert "+2" in differences(_printed(plain, "1\n"), _printed(plain, "2\n")).splitlines()
    assert differences(_printed(varying, "1\n"), _printed(varying, "2\n")) == ""


def test_what_varies_is_kept_where_the_cell_is_the_same() -> None:
    stored = _printed(_notebook("print(x)", tags=("varies",)), "1\n")
    fresh = _printed(stored, "2\n")
    assert with_kept_outputs(fresh, stored).cells[0].outputs[0].text == "1\n"
    fresh.cells[0].source = "print(x + 1)"
    assert with_kept_outputs(fresh, stored).cells[0].outputs[0].text == "2\n"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import linalg_ext as lx\nlx.jti", "did you mean jit"),
        ("import warnings\nwarnings.warn('old')", "wrote to stderr"),
    ],
)
def test_a_cell_that_fails_is_an_error(tmp_path: Path, source: str, message: str) -> None:
    path = tmp_path / "broken.ipynb"
    path.write_text(text_of(_notebook("x = 1", source)), encoding="utf-8")
    with pytest.raises(NotebookError, match=message) as caught:
        executed(path)
    assert "\x1b" not in str(caught.value)
