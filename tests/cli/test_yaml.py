"""`linalg-ext yaml`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from linalg_ext.cli import main
from linalg_ext.notations.yaml import to_yaml
from linalg_ext.opdsl_defs import dot, matmul
from resources import REPOSITORY

TWO_OPS = '''
from linalg_ext.opdsl import *

print("a line of the file's own")

@structured_op
def second_by_name(A=TensorDef(T, S.M), O=TensorDef(T, S.M, output=True)):
    """Twice."""
    O[D.m] = A[D.m] + A[D.m]

@linalg_structured_op(op_name="first_by_name")
def function_name(A=TensorDef(T, S.M), O=TensorDef(T, S.M, output=True)):
    """Square."""
    O[D.m] = A[D.m] * A[D.m]

alias = second_by_name
'''


def run(arguments: list[str | Path], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(["yaml", *map(str, arguments)])
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return code, captured.out, captured.err


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my_ops.py"
    path.write_text(TWO_OPS)
    return path


def _names(text: str) -> list[str]:
    return [line.split()[1] for line in text.splitlines() if line.startswith("  name: ")]


def test_prints_every_op_once_in_order(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run([file], capsys)
    assert code == 0
    assert _names(out) == ["second_by_name", "first_by_name"]
    assert out.count("--- !LinalgOpConfig") == 2
    assert "a line of the file's own" in err


def test_chooses_and_writes(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "x.yaml"
    assert run([file, "--op", "first_by_name", "-o", target], capsys)[:2] == (0, "")
    assert _names(target.read_text()) == ["first_by_name"]
    _, out, _ = run([file, "--op", "first_by_name", "--op", "second_by_name"], capsys)
    assert _names(out) == ["first_by_name", "second_by_name"]


def test_a_file_of_the_op_library(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run([REPOSITORY / "linalg_ext/opdsl_defs/contraction.py"], capsys)
    assert code == 0
    assert out == (REPOSITORY / "opdsl_defs/contraction.yaml").read_text()


def test_imported_ops_are_printed_by_name_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.py"
    path.write_text("from linalg_ext.opdsl_defs import dot, matmul\n")
    code, out, err = run([path], capsys)
    assert (code, out) == (1, "")
    assert "defines no op" in err
    assert "the file imports dot, matmul: choose one with --op" in err
    assert run([path, "--op", "matmul", "--op", "dot"], capsys)[1] == to_yaml(matmul, dot)


def test_relative_imports_work_in_a_package(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "yaml_test_package"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "inner" / "__init__.py").touch()
    (package / "shared.py").write_text(
        "from linalg_ext.opdsl import *\nVECTOR = TensorDef(T, S.M)\n"
    )
    file = package / "inner" / "ops.py"
    file.write_text(
        "from linalg_ext.opdsl import *\nfrom ..shared import VECTOR\n\n@structured_op\n"
        "def negate(A=VECTOR, O=TensorDef(T, S.M, output=True)):\n"
        "    O[D.m] = UnaryFn.negf(A[D.m])\n"
    )
    path_before = list(sys.path)
    code, out, _ = run([file], capsys)
    assert (code, _names(out)) == (0, ["negate"])
    assert sys.path == path_before


def test_files_beside_it_can_be_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "yaml_test_shared.py").write_text("SIZE = 4\n")
    file = tmp_path / "copy.py"  # the name of a module of Python's, which must not be replaced
    file.write_text(TWO_OPS + "from yaml_test_shared import SIZE\n")
    assert run([file], capsys)[0] == 0


OP = "@structured_op\ndef f(A=TensorDef(T, S.M, S.N), C=TensorDef(T, S.M, output=True)):\n"
STAR = "from linalg_ext.opdsl import *\n"
CURE = "change that line to `from linalg_ext.opdsl import *`"

WRONG = {
    "no op": ("x = 1\n", ["defines no op", "begin the file with `from linalg_ext.opdsl import *`"]),
    "empty": ("", ["defines no op"]),
    "definition": (
        STAR + OP + "    C[D.m] = A[D.m, D.n]\n",
        ["drops dimension n", "x.py, line 4, in f:   C[D.m] = A[D.m, D.n]", "for a sum over n"],
    ),
    "upstream's language": (
        "from mlir.dialects.linalg.opdsl.lang import *\n",
        ["imports upstream's OpDSL, mlir.dialects.linalg.opdsl.lang", "x.py, line 1:", CURE],
    ),
    "upstream's language, other wheel": (
        "import os\nimport torch_mlir.dialects.linalg.opdsl.lang as dsl\n",
        ["torch_mlir.dialects.linalg.opdsl.lang", "x.py, line 2:", CURE],
    ),
    "upstream's folder": (
        "from linalg_ext.opdsl.lang import *\n",
        ["x.py, line 1:", CURE],
    ),
    "relative": ("from ..lang import *\n", ["imports upstream's OpDSL, ..lang", "line 1:", CURE]),
    "relative name": ("from .. import lang\n", ["OpDSL, ..lang", "line 1:", CURE]),
    "syntax": ("x = 1\ndef f(:\n", ["is not Python", "x.py, line 2, column 7"]),
    "no import line": (
        OP + "    C[D.m] += A[D.m, D.n]\n",
        ["NameError: name 'structured_op' is not defined", "begin the file with"],
    ),
    "other name": (STAR + "x = nope\n", ["NameError: name 'nope'", "x.py, line 2:   x = nope"]),
    "failure below": (
        "import json\n\ndef load():\n    return json.loads('{')\n\nload()\n",
        ["JSONDecodeError", "x.py, line 4, in load:   return json.loads('{')"],
    ),
    "missing module": (
        "import not_there_at_all\n",
        ["No module named 'not_there_at_all'", "line 1"],
    ),
    "exit": (
        "import sys\nsys.exit(3)\n",
        ["ends the program: SystemExit(3)", "__main__", "line 2"],
    ),
    "beyond yaml": (
        STAR + OP + "    C[D.m] += A[D.m, D.n] * A[D.n, D.m]\n",
        ["two indexing maps", "x.py, line 2, in f"],
    ),
}


@pytest.mark.parametrize(("text", "messages"), WRONG.values(), ids=WRONG)
def test_wrong_files(
    text: str, messages: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.py"
    path.write_text(text)
    code, out, err = run([path], capsys)
    assert (code, out) == (1, "")
    for message in messages:
        assert message in err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["/nonexistent.py"], 1, "/nonexistent.py: No such file"),
        (["{folder}"], 1, "is a folder"),
        (["{file}", "--op", "second"], 1, "did you mean second_by_name?"),
        (["{file}", "--op", "zzz"], 1, "expected one of second_by_name, first_by_name"),
        (["{binary}"], 1, "not UTF-8"),
        (["{file}", "-o", "{folder}"], 1, "Is a directory"),
        ([], 2, "Missing argument"),
    ],
)
def test_wrong_calls(
    arguments: list[str],
    code: int,
    message: str,
    file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    binary = tmp_path / "binary.py"
    binary.write_bytes(b"\xff\xfe")
    given = [each.format(file=file, folder=tmp_path, binary=binary) for each in arguments]
    actual, out, err = run(list(given), capsys)
    assert (actual, out) == (code, "")
    assert message in err


def test_the_folder_behind_the_link_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run([REPOSITORY / "opdsl_defs/contraction.py"], capsys)
    assert code == 1
    assert "import linalg_ext.opdsl_defs, not opdsl_defs" in err


def test_leaves_out_what_the_format_cannot_hold(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    beyond = """
@structured_op
def sine(A=TensorDef(T), O=TensorDef(T, output=True)):
    O[None] = UnaryFn.sin(A[None])
"""
    file.write_text(TWO_OPS + beyond)
    code, out, err = run([file], capsys)
    assert (code, out) == (1, "")
    assert "sine applies sin" in err
    assert "--partial leaves out" in err
    code, out, _ = run([file, "--partial"], capsys)
    assert code == 0
    assert _names(out) == ["second_by_name", "first_by_name"]
    assert "# sine applies sin, which upstream's YAML has no name for.\n" in out
