"""YAML of definitions beyond upstream's own: what it holds, and what it cannot hold."""

from __future__ import annotations

import subprocess

import pytest

from linalg_ext.errors import NotationError
from linalg_ext.notations.yaml import iter_definitions, to_yaml
from linalg_ext.opdsl import (
    D,
    IndexAttrDef,
    ReduceFn,
    S,
    StructuredOp,
    T,
    TensorDef,
    TernaryFn,
    TernaryFnAttrDef,
    const,
    structured_op,
)
from resources import upstream_tool

# an operand is declared by a call as a default
# mypy: allow-untyped-defs


@structured_op
def extremes(
    A=TensorDef(T, S.M, S.N),
    low=TensorDef(T, S.M, output=True),
    high=TensorDef(T, S.M, output=True),
):
    """The least and the greatest of each row."""
    low[D.m] = ReduceFn.min_signed[D.n](A[D.m, D.n])
    high[D.m] = ReduceFn.max_signed[D.n](A[D.m, D.n])


@structured_op
def undocumented(
    A=TensorDef(T, S.OW * S.SW),
    C=TensorDef(T, S.OW, output=True),
    strides=IndexAttrDef(S.SW, default=[2]),
):
    C[D.ow] = A[D.ow * S.SW] + 1


@structured_op
def chosen(
    P=TensorDef(T),
    A=TensorDef(T),
    C=TensorDef(T, output=True),
    fn=TernaryFnAttrDef(default=TernaryFn.select),
):
    """Says `"select": 'yes'`; with: colons, # marks

    and two paragraphs."""
    C[None] = fn(P[None], A[None], A[None])


@structured_op
def differences(A=TensorDef(T, S.M), C=TensorDef(T, S.M, S.M, output=True)):
    C[D.i, D.j] = A[D.i] - A[D.j]


@structured_op
def endless(A=TensorDef(T), C=TensorDef(T, output=True)):
    C[None] = A[None] * const(float("inf"))


@pytest.mark.parametrize("op", [extremes, undocumented, chosen], ids=lambda op: op.op_name)
def test_the_real_generator_accepts_it(op: StructuredOp) -> None:
    tool = upstream_tool("mlir-linalg-ods-yaml-gen-22")
    for flag in ("-o-ods-decl=-", "-o-impl=-"):
        done = subprocess.run(
            [tool, "-", flag], input=to_yaml(op), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert op.definition.cpp_class_name in done.stdout


def test_documents() -> None:
    text = to_yaml(extremes, undocumented.definition)
    assert text.count("--- !LinalgOpConfig") == 2
    assert text.count("!ScalarAssign") == 3
    assert "&id" not in text


def test_one_operand_by_two_maps() -> None:
    with pytest.raises(NotationError) as raised:
        to_yaml(differences)
    assert "reads A with two indexing maps, A[i] and A[j]" in str(raised.value)
    assert "declare A as two operands" in str(raised.value)


def test_what_is_no_op_or_has_no_text() -> None:
    with pytest.raises(NotationError, match=r"(?s)3 is not an op.*@structured_op"):
        to_yaml(3)
    with pytest.raises(NotationError, match="no portable text"):
        to_yaml(endless)


def test_definitions_of_a_namespace() -> None:
    found = list(iter_definitions([extremes, 3, undocumented, S]))
    assert found == [extremes.definition, undocumented.definition]
