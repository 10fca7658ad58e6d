"""What all commands have in common: help, exit codes, colours, pipes, completion."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from command_files import write_files
from linalg_ext.cli import COMMANDS, _module, main

EXAMPLES = [
    (name, example)
    for name in COMMANDS
    for example in _module(name).EXAMPLES
    if example != "linalg-ext demo"  # with a folder it is run below
]
COMMAND = [sys.executable, "-m", "linalg_ext"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to run in, with files, a cache of its own, and whatever terminal is set left out."""
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LINALG_EXT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_ends_with_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    _, _, after = capsys.readouterr().out.partition("Examples:")
    lines = [line.strip() for line in after.splitlines() if line.strip()]
    assert lines == list(_module(name).EXAMPLES)  # each in a line of its own, at 80 columns


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
@pytest.mark.usefixtures("folder")
def test_the_examples_run(name: str, example: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert shlex.split(example)[:2] == ["linalg-ext", name]
    assert main(shlex.split(example)[1:]) == 0, capsys.readouterr().err


def test_the_help_tells_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    for code in ("0 done", "1 an error", "2 a wrong call", "130 interrupted", "141 the reader"):
        assert code in told


def test_an_interruption_has_its_own_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("linalg_ext.cli.opt.read_module", interrupted)
    assert main(["opt", "-"]) == 130


@pytest.mark.parametrize(
    "arguments", [["opt", "--list"], ["opt", "FILE.mlir", "-cse"], ["yaml", "FILE.py"]]
)
@pytest.mark.usefixtures("folder")
def test_a_reader_that_goes_away_is_survived(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ran = subprocess.run([*COMMAND, *arguments], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (ran.returncode, ran.stderr) == (141, "")


def on_terminal(*arguments: str) -> str:
    """What a command writes to a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([*COMMAND, *arguments], stdout=theirs, stderr=theirs):
        os.close(theirs)
        said = b""
        try:
            while data := os.read(ours, 65536):
                said += data
        except OSError:
            pass  # how Linux says that the other end is closed
    os.close(ours)
    return said.decode()


@pytest.mark.parametrize("arguments", [["tc", "none.tc"], ["tc", "--help"]])
@pytest.mark.usefixtures("folder")
def test_no_color_is_respected(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b[" in on_terminal(*arguments)
    monkeypatch.setenv("NO_COLOR", "1")
    said = on_terminal(*arguments)
    assert "tc" in said
    assert "\x1b[3" not in said


@pytest.mark.usefixtures("folder")
def test_a_terminal_shows_what_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "passes on FILE.mlir" in on_terminal("opt", "FILE.mlir", "-cse")
    monkeypatch.setenv("TERM", "dumb")
    assert on_terminal("opt", "FILE.mlir", "-cse").startswith("module {")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("linalg-ext ca", "cache"),
        ("linalg-ext cache cl", "clear"),
        ("linalg-ext run --exp", "--explain"),
        ("linalg-ext export FILE.mlir --target avx5", "avx512"),
        ("linalg-ext opt -p cse,linalg-ext-fold-t", "cse,linalg-ext-fold-transposes"),
    ],
)
def test_a_shell_completes(typed: str, offered: str) -> None:
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    completing = {**os.environ, **words, "_LINALG_EXT_COMPLETE": "complete_bash"}
    ran = subprocess.run(COMMAND, env=completing, capture_output=True, text=True)
    assert offered in ran.stdout.split(), ran.stderr
