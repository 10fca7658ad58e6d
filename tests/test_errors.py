"""Where an error points: at the user's own line, in words that a reader can follow."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, SourceLocation


def test_a_mistake_in_a_with_statement_is_at_its_line() -> None:
    """And not at the line of contextlib that goes on to the function behind it."""
    with pytest.raises(ArgumentError) as caught, lx.options(checked="yes"):  # type: ignore[arg-type]
        pass
    assert isinstance(caught.value.where, SourceLocation)
    assert Path(caught.value.where.file).name == Path(__file__).name


@pytest.mark.parametrize(
    "file", ["/var/x/ipykernel_4711/815.py", "<ipython-input-3-0a1b2c>"], ids=["kernel", "shell"]
)
def test_a_cell_of_a_notebook_is_called_so(file: str) -> None:
    assert str(SourceLocation(file, 2)) == "a cell of the notebook, line 2"


@pytest.mark.parametrize("file", ["/opt/ipykernel_tools/x.py", "ipykernel_4711.py"])
def test_other_files_keep_their_names(file: str) -> None:
    assert "cell" not in str(SourceLocation(file, 2))


def test_what_is_added_on_the_way_is_shown() -> None:
    """Libraries in between add to `args`, in front and behind, as to those of any exception."""
    with pytest.raises(ArgumentError) as caught, lx.options(threads=-1):
        pass
    error = caught.value
    said = str(error)
    error.args = ("while a step was evaluated", *error.args)
    assert str(error) == f"while a step was evaluated\n  {said}"
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert str(twin) == str(error)
    error.args += ("of step 3",)
    assert "of step 3" in str(error)
    error.args = ()
    assert "expected" in str(error)
