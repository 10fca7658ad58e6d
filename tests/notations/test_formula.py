"""Formulas: exact text of a dozen, every operand of every op."""

from __future__ import annotations

import pytest

import linalg_ext as lx
from linalg_ext.notations.formula import LATEX, TEXT, formula, latex
from linalg_ext.opdsl import (
    BinaryFn,
    D,
    ReduceFn,
    S,
    StructuredOp,
    T,
    TensorDef,
    TernaryFn,
    UnaryFn,
    const,
    structured_op,
)
from linalg_ext.symbolic.affine import AffineDim

LIBRARY = [getattr(lx.ops, name) for name in dir(lx.ops)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("matmul", "C[m, n] = Σ_{k} A[m, k] * B[k, n]; cast = cast_signed"),
        ("matmul_max_plus", "C[m, n] = max_{k} (A[m, k] + B[k, n])"),
        ("dot", "C = Σ_{m} A[m] * B[m]"),
        ("exp", "O = exp(I)"),
        ("square", "O = I²"),
        ("rsqrt", "O = 1 / sqrt(I)"),
        ("row_product", "O[m] = Π_{n} A[m, n]"),
        ("trace", "O = Σ_{m} A[m, m]"),
        ("select", "O = lhs if cond else rhs"),
        ("arange", "O[n] = start + n * step"),
        ("elemwise_unary", "O = fun(I); cast = cast_signed"),
        (
            "pooling_nhwc_max",
            "O[n, oh, ow, c] = max_{kh, kw ∈ K} I[n, oh * SH + kh * DH, ow * SW + kw * DW, c]; "
            "strides = (SH, SW); dilations = (DH, DW)",
        ),
        ("softplus", "O = max(I, 0) + log(1 + exp(-|I|))"),
    ],
)
def test_the_text_of(name: str, text: str) -> None:
    assert getattr(lx.ops, name).definition.formula() == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("matvec", r"x_{m} = \sum_{n} A_{mn} y_{n}"),
        ("trace", r"O = \sum_{m} A_{mm}"),
        ("square", "O = I^{2}"),
        ("reciprocal", r"O = \frac{1}{I}"),
        (
            "select",
            r"O = \begin{cases} \mathrm{lhs} & \text{if } \mathrm{cond} \\ "
            r"\mathrm{rhs} & \text{otherwise} \end{cases}",
        ),
        ("row_max", r"O_{m} = \max_{n} A_{mn}"),
    ],
)
def test_the_latex_of(name: str, text: str) -> None:
    op = getattr(lx.ops, name)
    assert latex(op.definition) == text
    assert op._repr_latex_() == op.definition._repr_latex_() == f"${text}$"


@pytest.mark.parametrize("op", LIBRARY, ids=lambda op: op.op_name)
def test_every_operand_is_in_the_one_line(op: StructuredOp) -> None:
    text, tex = op.definition.formula(), latex(op.definition)
    for operand in op.definition.operands:
        assert operand.name in text
        assert operand.name.replace("_", r"\_") in tex or "_{" in tex
    assert len(text.splitlines()) == 1
    assert tex.count("{") == tex.count("}")
    assert tex.count(r"\left") == tex.count(r"\right")


def test_casts_are_shown_on_request() -> None:
    definition = lx.ops.dot.definition
    assert formula(definition, casts=True) == "C = Σ_{m} U(A[m]) * U(B[m])"


def test_brackets_stand_where_they_are_needed_and_nowhere_else() -> None:
    @structured_op
    def op(A=TensorDef(T, S.M), B=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m] = -(A[D.m] - (B[D.m] - A[D.m])) * (A[D.m] / (B[D.m] * A[D.m])) + UnaryFn.exp(A[D.m])

    assert op.definition.formula() == (
        "C[m] = -(A[m] - (B[m] - A[m])) * (A[m] / (B[m] * A[m])) + exp(A[m])"
    )


def test_an_accumulation_that_is_no_reduction_shows_what_was_before() -> None:
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m] += A[D.m]

    assert op.definition.formula() == "C[m] = C[m] + A[m]"


def test_a_sum_under_a_sum_sign_is_bracketed() -> None:
    @structured_op
    def op(A=TensorDef(T, S.M, S.N), C=TensorDef(T, S.M, output=True)):
        C[D.m] = ReduceFn.add[D.n](BinaryFn.powf(A[D.m, D.n], A[D.m, D.n]) - A[D.m, D.n])

    assert op.definition.formula() == "C[m] = Σ_{n} (A[m, n] ** A[m, n] - A[m, n])"
    assert latex(op.definition) == (r"C_{m} = \sum_{n} \left(A_{mn}^{A_{mn}} - A_{mn}\right)")


def test_a_choice_inside_an_expression_is_bracketed() -> None:
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m] = TernaryFn.select(A[D.m], A[D.m], A[D.m] * A[D.m]) * UnaryFn.square(A[D.m])

    assert op.definition.formula() == "C[m] = (A[m] if A[m] else A[m] * A[m]) * A[m]²"


def test_two_outputs_are_two_equations() -> None:
    @structured_op
    def op(A=TensorDef(T, S.M), P=TensorDef(T, S.M, output=True), Q=TensorDef(T, S.M, output=True)):
        P[D.m] = UnaryFn.exp(A[D.m])
        Q[D.m] = const(2) * A[D.m]

    assert op.definition.formula() == "P[m] = exp(A[m]); Q[m] = 2 * A[m]"


def test_indices_are_written_as_people_write_them() -> None:
    i, j = AffineDim("i"), AffineDim("j")
    shown = [TEXT.affine(e).text for e in (i - j, 7 - i, (i - 1) * 2, i // 2 + j % 3, (i + j) / 4)]
    assert shown == [
        "i - j",
        "-i + 7",
        "(i - 1) * 2",
        "i floordiv 2 + j mod 3",
        "(i + j) ceildiv 4",
    ]
    assert LATEX.affine(i // 2).text == r"\lfloor \frac{i}{2} \rfloor"
    assert LATEX.affine(2 * i + 1).text == r"i \cdot 2 + 1"


def test_a_function_that_no_table_knows_is_called_by_its_name() -> None:
    x = TEXT.affine(AffineDim("x"))
    assert TEXT.function("frobnicate", [x, x]).text == "frobnicate(x, x)"
    assert LATEX.function("log1q", [x]).text == r"\mathrm{log1q}\left(x\right)"
