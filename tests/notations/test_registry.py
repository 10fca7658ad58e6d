"""The registry of notations: ops read and written by a notation's name, there and back again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, NotationError
from linalg_ext.notations import Notation, notations, register
from linalg_ext.opdsl import D, S, StructuredOp, T, TensorDef, structured_op


@structured_op
def dot(
    A: Any = TensorDef(T, S.M),
    B: Any = TensorDef(T, S.M),
    C: Any = TensorDef(T, output=True),
) -> None:
    """Inner product."""
    C[()] += A[D.m] * B[D.m]


THERE_AND_BACK: dict[str, dict[str, object]] = {
    "einsum": {},
    "mlir": {"types": "f32"},
    "tc": {"types": "f32"},
    "yaml": {},
}
"""Each notation that is read and written, and what its text of `dot` needs."""

WRITTEN = {
    "cpp": "DotOp::regionBuilder",
    "formula": "C = Σ_{m} A[m] * B[m]",
    "latex": "\\sum_{m}",
    "ods": "def DotOp",
}
"""Each notation that is only written, and a part of its text of `dot`."""


def test_every_notation_is_tested() -> None:
    ours = {n: each for n, each in notations().items() if each.module.startswith("linalg_ext.")}
    assert {name for name, each in ours.items() if each.read} == set(THERE_AND_BACK)
    assert set(ours) == {*THERE_AND_BACK, *WRITTEN}


@pytest.mark.parametrize("name", THERE_AND_BACK)
def test_an_op_goes_there_and_back(name: str, tmp_path: Path) -> None:
    text = lx.write(dot, name, **THERE_AND_BACK[name])
    back = lx.read(text, name)
    assert isinstance(back, StructuredOp)
    again = lx.write(back, name, **THERE_AND_BACK[name])
    assert lx.write(lx.read(again, name), name, **THERE_AND_BACK[name]) == again
    x = np.array([1, 2, 3], np.float32)
    assert back(x, x) == 14
    for suffix in notations()[name].suffixes:
        (file := tmp_path / f"dot{suffix}").write_text(text)
        assert lx.read(file).definition == back.definition


@pytest.mark.parametrize("name", WRITTEN)
def test_an_op_is_written(name: str) -> None:
    options = {"types": "f32"} if name == "cpp" else {}
    assert WRITTEN[name] in lx.write(
        lx.read(lx.write(dot, "tc", types="f32"), "tc"), name, **options
    )


def test_several_ops_are_a_text_and_back() -> None:
    text = lx.write([dot, lx.ops.matmul], "yaml")
    ops = lx.read(text, "yaml")
    assert ops._fields == ("dot", "matmul")
    assert lx.write(ops, "yaml") == text == lx.to_yaml(*ops)


def test_mlir_text_keeps_fixed_sizes_and_named_ops() -> None:
    op = lx.read("def f(A: f32(3, N)) -> (B: f32(N)) { B(n) = std_addf<m>(A(m, n)); }", "tc")
    assert "tensor<3x?xf32>" in lx.write(op, "mlir")
    assert "linalg.dot" in lx.write(lx.ops.dot, "mlir", types="f32", generic=False)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lx.read("x", "tcc"), "'tcc' is not a notation.*did you mean tc"),
        (lambda: lx.read("x"), "the notation of the text is not given"),
        (lambda: lx.read(Path("x.zzz")), "x.zzz is that of no notation.*\\.mlir, \\.tc"),
        (lambda: lx.read("x", "ods"), "ods is written only.*einsum, mlir"),
        (lambda: lx.read("i->i", "einsum", knd="+*"), "no option 'knd'.*kind"),
        (lambda: lx.write(dot, "tc", filename="x"), "no option 'filename'"),
        (lambda: lx.write(dot, "mlir", types={"Q": "f32"}), "no type variable 'Q'"),
    ],
)
def test_a_wrong_call_names_what_there_is(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(ArgumentError, match=f"(?s){message}"):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lx.read(3, "tc"), "3 is not text"),  # type: ignore[arg-type]
        (lambda: lx.write(3, "tc"), "3 is not an op"),
        (lambda: lx.write(dot, "mlir"), "over the type variable T"),
        (lambda: lx.write(lx.ops.add, "mlir", types="f32"), "at any rank"),
        (lambda: lx.read("func.func @f() { return }", "mlir"), "no structured op"),
    ],
)
def test_what_a_notation_cannot_hold_is_said(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(NotationError, match=message):
        call()


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (file := tmp_path / "x.tc").write_bytes(b"\xff")
    with pytest.raises(NotationError, match="byte 0 is not UTF-8"):
        lx.read(file)


def test_two_notations_of_a_name_are_refused() -> None:
    with pytest.raises(ArgumentError, match="two notations are called tc"):
        register(Notation("tc", "another", write=lambda op: str(op)))
