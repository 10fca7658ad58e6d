"""`linalg-ext ods`, `linalg-ext tc`, and `linalg-ext yaml` on a file of TC."""

from __future__ import annotations

from pathlib import Path

import pytest

import linalg_ext as lx
from linalg_ext.cli import main
from linalg_ext.notations.ods import to_cpp, to_ods
from linalg_ext.notations.yaml import to_yaml
from tc_texts import BATCHMATMUL_2020, POOLING

OPDSL = '''
from linalg_ext.opdsl import *

@structured_op
def row_sum(A=TensorDef(T1, S.M, S.N), O=TensorDef(U, S.M, output=True)):
    """Sum of each row."""
    O[D.m] += TypeFn.cast_signed(U, A[D.m, D.n])
'''


@pytest.fixture
def tc_file(tmp_path: Path) -> Path:
    file = tmp_path / "ops.tc"
    file.write_text(BATCHMATMUL_2020 + POOLING)
    return file


@pytest.fixture
def py_file(tmp_path: Path) -> Path:
    file = tmp_path / "row_ops.py"
    file.write_text(OPDSL)
    return file


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return code, captured.out, captured.err


@pytest.mark.parametrize("option", ["--gen-ods-decl", "-gen-ods-decl", "-gen-ods-decl=1"])
def test_records(option: str, tc_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ops = lx.tc(tc_file.read_text())
    code, out, _ = run(capsys, "ods", tc_file, option)
    assert (code, out) == (0, "\n".join(map(to_ods, ops)))


def test_cpp_in_the_style_of_2020(tc_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, "ods", tc_file, "-gen-impl=1", "--style", "2020", "--op", "batchmatmul"
    )
    assert (code, out) == (0, to_cpp(lx.tc(BATCHMATMUL_2020), "2020"))


def test_both_into_a_file(
    py_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out.txt"
    arguments = ("--gen-ods-decl", "--gen-impl", "--type", "T1=i8", "--type", "U=i32")
    assert run(capsys, "ods", py_file, *arguments, "-o", target) == (0, "", "")
    text = target.read_text()
    assert "def RowSumOp : LinalgNamedStructured_Op" in text
    assert "std_sexti32(_0)" in text


def test_nothing_asked_for(tc_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "ods", tc_file)
    assert code == 1
    assert "give --gen-ods-decl, --gen-impl" in err


def test_types_of_the_command_line(py_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "ods", py_file, "--gen-impl")
    assert (code, "`--type T1=f32`" in err) == (1, True)
    code, _, err = run(capsys, "ods", py_file, "--gen-impl", "--type", "f32", "--type", "U=f32")
    assert (code, "--type NAME=TYPE" in err) == (1, True)


def test_tc_of_opdsl(py_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "tc", py_file, "--type", "f32")
    assert code == 0
    assert "O(m) = std_addf<n>(A(m, n));" in out
    assert lx.tc(out).op_name == "row_sum"


def test_yaml_of_tc(tc_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "yaml", tc_file)
    assert (code, out) == (0, to_yaml(*lx.tc(tc_file.read_text())))


def test_a_wrong_text_names_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "wrong.tc"
    file.write_text("def f(A: f32(M)) -> (C: f32(M)) {\n  C(m) = std_x(A(m));\n}\n")
    code, out, err = run(capsys, "yaml", file)
    assert (code, out) == (1, "")
    assert "wrong.tc, line 2, column 10:" in err
    assert "^^^^^" in err
    assert run(capsys, "yaml", tmp_path / "absent.tc")[0] == 1
    assert run(capsys, "yaml", file.parent)[0] == 1


def test_a_warning_is_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sum.tc"
    file.write_text("def f(A: f32(M, K, L)) -> (C: f32(M)) { C(m) = std_addf<k>(A(m, k, l)); }")
    code, out, err = run(capsys, "tc", file)
    assert (code, "std_addf<k, l>" in out) == (0, True)
    assert err.startswith("warning: dimension l is neither")


def test_no_such_op(tc_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "tc", tc_file, "--op", "pol")
    assert (code, "did you mean pool?" in err) == (1, True)


@pytest.mark.parametrize("to", ["mlir", "tc", "yaml", "einsum", "formula", "latex", "ods", "cpp"])
def test_a_file_is_written_in_any_notation(
    to: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "def row_sum(A: f32(M, N)) -> (O: f32(M)) { O(m) = std_addf<n>(A(m, n)); }"
    (file := tmp_path / "ops.tc").write_text(text)
    code, out, _ = run(capsys, "write", file, "--to", to)
    assert (code, out.strip()) == (0, lx.write(lx.tc(text), to).strip())
    (again := tmp_path / "ops.yaml").write_text(lx.write(lx.tc(text), "yaml"))
    assert run(capsys, "write", again, "--to", "einsum")[:2] == (0, "ab->a\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("ops.py", "--to", "tcc"), 1, "'tcc' is not a notation"),
        (("ops.py",), 2, "name a notation: --to cpp"),
        ((), 2, "name a file"),
        (("ops.py", "--to", "einsum", "--type", "f32"), 2, "not with --to einsum"),
    ],
)
def test_wrong_calls_of_write_say_what_there_is(
    arguments: tuple[str, ...],
    code: int,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ops.py").write_text(OPDSL)
    found, _, err = run(capsys, "write", *arguments)
    assert found == code
    assert message in " ".join(err.split())


def test_the_list_of_notations(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "write", "--list")
    assert code == 0
    assert "tc " in out
    assert "(read and written)" in out
