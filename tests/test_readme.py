"""Every snippet of the README runs, in order, as a reader would type it."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from command_files import write_files
from linalg_ext.cli import COMMANDS, main
from programs import printed_by
from resources import REPOSITORY

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
FEATURES = (REPOSITORY / "docs" / "features.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SNIPPETS = [(match[1], match[2]) for match in FENCE.finditer(README)]
PYTHON = [text for language, text in SNIPPETS if language == "python"]
TEXTS = [text for language, text in SNIPPETS if language == "text"]
CONSOLE = [
    line.removeprefix("$ ").partition(" #")[0].strip()
    for match in FENCE.finditer(README + FEATURES)
    if match[1] == "console"
    for line in match[2].splitlines()
]


def test_the_snippets_are_of_known_languages() -> None:
    assert {language for language, _ in SNIPPETS} == {"python", "console", "text"}
    assert len(PYTHON) == 3


def test_the_python_snippets_print_what_is_below_them(tmp_path: Path) -> None:
    shown = [text for text in TEXTS if "DefinitionError" not in text]
    assert len(shown) == len(PYTHON)
    assert printed_by(PYTHON, tmp_path) == "".join(shown)


def test_it_fits_on_two_screens() -> None:
    assert len(README.splitlines()) <= 150


def test_its_links_and_pictures_are_there() -> None:
    for target in re.findall(r"\]\(([\w./]+)(?:#[\w-]+)?\)", README):
        assert (REPOSITORY / target).exists(), target


def test_the_error_message_of_the_readme_is_what_a_user_sees(tmp_path: Path) -> None:
    (shown,) = [text for text in TEXTS if "DefinitionError" in text]
    program = tmp_path / "kernels.py"
    head = "from linalg_ext.opdsl import *\n" + "\n" * 7
    program.write_text(
        head
        + "@structured_op\ndef row_sum(\n"
        + "    A=TensorDef(T, S.M, S.N), C=TensorDef(T, S.M, output=True)):\n"
        + "    C[D.m] = A[D.m, D.n]\n"
    )
    result = subprocess.run(
        [sys.executable, program.name], capture_output=True, text=True, cwd=tmp_path
    )
    assert result.stderr.endswith(shown), result.stderr


def test_the_make_targets_exist() -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    for command in CONSOLE:
        if command.startswith("make "):
            assert re.search(rf"^{command.split()[1]}:", makefile, re.MULTILINE), command


@pytest.mark.parametrize("command", [c for c in CONSOLE if c.startswith("linalg-ext ")])
def test_the_commands_run(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    assert main(shlex.split(command)[1:]) == 0, capsys.readouterr().err
    if "--outputs y.npz" in command:
        with np.load(tmp_path / "y.npz") as results:
            np.testing.assert_array_equal(results[results.files[0]], np.arange(4))


def test_every_command_is_shown() -> None:
    assert {command.split()[1] for command in CONSOLE if command.startswith("linalg-ext ")} == set(
        COMMANDS
    )
