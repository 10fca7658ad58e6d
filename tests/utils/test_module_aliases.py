"""Modules that have another name now are found by the old one for a release, with a warning."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings

import pytest

from linalg_ext.utils.module_aliases import RENAMED


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_the_old_name_gives_the_new_module(
    old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        importlib.import_module(old.rpartition(".")[0])
    monkeypatch.delitem(sys.modules, old, raising=False)
    spec = importlib.import_module(new).__spec__
    with pytest.warns(DeprecationWarning, match=f"{old} is now {new}; the old name goes") as warned:
        module = importlib.import_module(old)
    assert module is sys.modules[new]
    assert module.__spec__ is spec
    assert [warning.filename for warning in warned] != []


def test_a_module_below_a_renamed_one_is_loaded_once() -> None:
    program = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from linalg_ext.analysis.subsets import Tile as old\n"
        "from linalg_ext.symbolic.index_sets import Tile as new\n"
        "import linalg_ext.analysis.subsets.tile as tile\n"
        "print(old is new, tile.Tile is new)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("True True\n", "")


def test_the_warning_names_the_line_of_the_import() -> None:
    program = "import linalg_ext.analysis"
    command = [sys.executable, "-W", "always", "-c", program]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert "<string>:1: DeprecationWarning: linalg_ext.analysis is now" in ran.stderr


def test_another_name_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match="No module named"):
        importlib.import_module("linalg_ext.analyses")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("linalg_ext.analysis.nothing")
