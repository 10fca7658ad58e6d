"""Wrong texts of TC: each with its line, a caret under the mistake, what is wrong and the hint."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from linalg_ext.errors import NotationError
from linalg_ext.notations.tc import tc


@dataclass(frozen=True)
class Wrong:
    """A text, what the caret stands under, and what the message says."""

    text: str
    under: str
    says: tuple[str, ...]


def _op(body: str, head: str = "A: f32(M, K)", out: str = "C: f32(M)", rest: str = "") -> str:
    return f"def f({head}) -> ({out}) {rest}\n{{\n  {body}\n}}"


WRONG = {
    "empty": Wrong(" \n", "", ("the text is empty", "begin with `def name(...)`")),
    "not TC": Wrong("C(m) = A(m);", "C", ("`C` is unexpected here", "begin with `def")),
    "no arrow": Wrong("def f(A: f32(M)) { }", "{", ("write the outputs and their shapes",)),
    "no output": Wrong("def f(A: f32(M)) -> () { C() = A(m); }", "f", ("f has no output",)),
    "no shape": Wrong("def f(A: f32) -> (C: f32()) { }", ")", ("rank 0 has `f32()`",)),
    "no type": Wrong("def f(A) -> (C: f32()) { }", ")", ("of which element type",)),
    "no body": Wrong("def f(A: f32(M)) -> (C: f32(M))", "", ("the text ends too early",)),
    "open body": Wrong(
        "def f(A: f32(M)) -> (C: f32(M)) {\n  C(m) = A(m);\n", "", ("close the body with `}`",)
    ),
    "empty body": Wrong(
        "def f(A: f32(M)) -> (C: f32(M)) { }", "}", ("has a comprehension between",)
    ),
    "ods_def without brackets": Wrong("ods_def FOp : def f(", "FOp", ("`ods_def<NameOp> :`",)),
    "ods_def without colon": Wrong("ods_def<FOp> def f(", "def", ("write `:` between",)),
    "no semicolon": Wrong(_op("C(m) = A(m, 0)"), "}", ("end the comprehension with `;`",)),
    "plus equal": Wrong(_op("C(m) += A(m, k);"), "=", ("`+=` is `std_addf<k>(...)` in TC",)),
    "slash": Wrong(_op("C(m) = A(m / 2, 0);"), "/", ("write `floordiv` or `ceildiv`",)),
    "percent": Wrong(_op("C(m) = A(m % 2, 0);"), "%", ("write `mod`",)),
    "one quote": Wrong(_op("C(m) = A(m, 0);", rest='"doc"'), '"', ('between """ and """',)),
    "decimal": Wrong(_op("C(m) = A(m, 0.5);"), ".", ("a number in an index is whole",)),
    "attr after doc": Wrong(
        _op("C(m) = A(m, 0);", rest='"""d""" attr(s: i32)'), "attr", ("before the doc string",)
    ),
    "size of a list": Wrong(
        _op("C(m) = A(m, 0);", rest="attr(s: i32[2])"), "[", ("sizes stand before",)
    ),
    "size without type": Wrong(
        _op("C(m) = A(m, 0);", rest="attr(s: 2)"), "2", ("`strides: 2xi32`",)
    ),
    "attribute without type": Wrong(
        _op("C(m) = A(m, 0);", rest="attr(s)"), ")", ("declared with its type",)
    ),
    "array of lists": Wrong(
        _op("C(m) = A(m, 0);", rest="attr(s: 2xi32[])"), "i32", ("both an array", "`i32[]`")
    ),
    "attribute type": Wrong(
        _op("C(m) = A(m, 0);", rest="attr(s: i8)"), "i8", ("of type i8", "i32, i64, f32")
    ),
    "reserved attribute": Wrong(
        _op("C(m) = A(m, 0);", rest="attr(inputs: i32)"), "inputs", ("a method", "rename it")
    ),
    "declared twice": Wrong(
        _op("C(m) = A(m, 0);", head="A: f32(M), A: f32(M)"), "A", ("A is declared twice",)
    ),
    "defined twice": Wrong(
        _op("C(m) = A(m, 0);") + _op("C(m) = A(m, 0);"), "f", ("f is defined twice",)
    ),
    "element type": Wrong(
        _op("C(m) = A(m);", head="A: float(M)"), "float", ("TC does not have", "f32")
    ),
    "rank": Wrong(_op("C(m) = A(m);"), "A(m)", ("1 index,", "rank 2", "`A: f32(...)`")),
    "input assigned": Wrong(_op("A(m, k) = C(m);"), "A(m, k)", ("an input and is assigned", "C")),
    "target is not a tensor": Wrong(_op("std_exp(m) = A(m, 0);"), "std_exp(m)", ("is assigned",)),
    "target arithmetic": Wrong(_op("C(m + 1) = A(m, 0);"), "m + 1", ("not a plain dimension",)),
    "diagonal": Wrong(
        _op("C(m, m) = A(m, 0);", out="C: f32(M, M)"), "m", ("uses dimension m twice",)
    ),
    "output not written": Wrong(
        _op("C(m) = A(m, 0);", out="C: f32(M), D: f32(M)"), "D", ("D is never written",)
    ),
    "output written twice": Wrong(
        _op("C(m), C(m) = A(m, 0), A(m, 0);"), "C(m)", ("C is written twice",)
    ),
    "more targets": Wrong(
        _op("C(m), D(m) = A(m, 0);", out="C: f32(M), D: f32(M)"),
        "C(m), D(m) = A(m, 0);",
        ("2 tensors on the left, 1 expression",),
    ),
    "written in two comprehensions": Wrong(
        _op("C(m) = A(m, 0); C(m) = A(m, 0);"), "C(m)", ("output C is written twice",)
    ),
    "read while it is written": Wrong(
        _op("C(m), D(m) = A(m, 0), std_addf(C(m), C(m));", out="C: f32(M), D: f32(M)"),
        "std_addf(C(m), C(m))",
        ("D and C are written at once", "write two comprehensions"),
    ),
    "two accesses": Wrong(
        _op("C(m) = std_addf(A(m, 0), A(m, 1));"),
        "A(m, 1)",
        ("two different indices, `A(m, 0)` and `A(m, 1)`", "declare A as two operands"),
    ),
    "unknown function": Wrong(
        _op("C(m) = std_adf(A(m, 0));"),
        "std_adf",
        (
            "neither a tensor nor a function",
            "or a function such as std_addf",
            "did you mean std_addf",
        ),
    ),
    "untyped function": Wrong(
        _op("C(m) = std_add<k>(A(m, k));"), "std_add", ("did you mean std_addf or std_addi?",)
    ),
    "function without std": Wrong(_op("C(m) = exp(A(m, 0));"), "exp", ("did you mean std_exp?",)),
    "comparison": Wrong(
        _op("C(m) = std_cmpf_ugt(A(m, 0), A(m, 0));"),
        "std_cmpf_ugt",
        ("neither a tensor nor a function", "std_cmpf_ogt"),
    ),
    "too few operands": Wrong(
        _op("C(m) = std_addf(A(m, 0));"),
        "std_addf(A(m, 0))",
        ("takes 2 operands, not 1", "`std_addf<k>(...)`"),
    ),
    "integers to floats": Wrong(
        _op("C(m) = std_addi(A(m, 0), A(m, 0));"), "A(m, 0)", ("applied to f32", "use std_addf")
    ),
    "mixed types": Wrong(
        _op("C(m) = std_addf(A(m), B(m));", head="A: f32(M), B: f16(M)"),
        "B(m)",
        ("applied to f32 and f16", "cast it: std_fpext32(...)"),
    ),
    "output type": Wrong(
        _op("C(m) = A(m);", head="A: i8(M)"),
        "A(m)",
        ("i8 is assigned to output C, which is of f32", "std_sitofp32"),
    ),
    "condition": Wrong(
        _op("C(m) = std_select(A(m, 0), A(m, 0), A(m, 0));"), "A(m, 0)", ("condition", "i1")
    ),
    "tensor without indices": Wrong(
        _op("C(m) = std_exp(A);"), "A", ("stands without indices", "`A(i, j)`")
    ),
    "constant": Wrong(_op("C(m) = std_addf(A(m, 0), 1);"), "1", ("no constants", "`c: f32()`")),
    "operator": Wrong(
        _op("C(m) = A(m, 0) * A(m, 0);"), "A(m, 0) * A(m, 0)", ("write `std_mulf(...)`",)
    ),
    "name among elements": Wrong(_op("C(m) = std_exp(m);"), "m", ("not an element of a tensor",)),
    "dropped dimension": Wrong(
        _op("C(m) = A(m, k);"),
        "A(m, k)",
        ("dimension k is neither an index of output C nor reduced", "`std_addf<k>(...)`"),
    ),
    "reduction inside": Wrong(
        _op("C(m) = std_exp(std_addf<k>(A(m, k)));"),
        "std_addf<k>(A(m, k))",
        ("inside a larger expression",),
    ),
    "reduction by a function that cannot": Wrong(
        _op("C(m) = std_subf<k>(A(m, k));"), "std_subf<k>(A(m, k))", ("cannot reduce", "std_addf")
    ),
    "reduction over a written dimension": Wrong(
        _op("C(m) = std_addf<m>(A(m, 0));"), "m", ("dimension m is reduced, but output C",)
    ),
    "reduction over a symbol": Wrong(
        _op("C(m) = std_addf<K>(A(m, K));"), "K", ("K is a symbol of the shapes",)
    ),
    "reduction twice": Wrong(
        _op("C(m) = std_addf<k, k>(A(m, k));"), "k", ("dimension k is reduced twice",)
    ),
    "reduction of two values": Wrong(
        _op("C(m) = std_addf<k>(A(m, k), A(m, k));"),
        "std_addf<k>(A(m, k), A(m, k))",
        ("reduces 2 values", "after `C(m)`"),
    ),
    "reduction over arithmetic": Wrong(
        _op("C(m) = std_addf<k + 1>(A(m, k));"), "+", ("by their names: `std_addf<k, l>(...)`",)
    ),
    "reduction over nothing": Wrong(
        _op("C(m) = std_exp<>(A(m, 0));"), "std_exp<>(A(m, 0))", ("leave the angle brackets out",)
    ),
    "brackets on a tensor": Wrong(
        _op("C(m) = A<k>(m, k);"), "A<k>(m, k)", ("tensor A has angle brackets",)
    ),
    "product of dimensions": Wrong(
        _op("C(m) = std_addf<k>(A(m, m * k));"), "m * k", ("multiplies two dimensions",)
    ),
    "tensor in an index": Wrong(_op("C(m) = A(A(m, 0), 0);"), "A(m, 0)", ("inside an index",)),
    "unknown attribute": Wrong(
        _op("C(m) = A(m * s[1], 0);"), "s[1]", ("s is not an attribute of f", "`attr(s: 2xi32)`")
    ),
    "attribute beyond its size": Wrong(
        _op("C(m) = A(m * s[2], 0);", rest="attr(s: 2xi32)"), "s[2]", ("no element [2]", "below 2")
    ),
    "attribute without index": Wrong(
        _op("C(m) = A(m * s, 0);", rest="attr(s: 2xi32)"), "s", ("used with 0 indices", "s[0]")
    ),
    "float attribute in an index": Wrong(
        _op("C(m) = A(m * s, 0);", rest="attr(s: f32)"), "s", ("holds floats",)
    ),
    "unused input": Wrong(
        _op("C(m) = std_addf<k>(A(m, k));", head="A: f32(M, K), B: f32(X, Y)"),
        "B",
        ("its 2 dimensions are the reduction dimensions", "of these there are 1: k"),
    ),
}


def _shown(error: NotationError) -> tuple[int, str]:
    """The line that an error names, and the text above its caret."""
    lines = str(error).splitlines()
    place = next(i for i, line in enumerate(lines) if re.search(r", line \d+, column \d+:$", line))
    number = int(re.search(r"line (\d+)", lines[place]).group(1))  # type: ignore[union-attr]
    caret = lines[place + 2]
    start = caret.index("^")
    return number, lines[place + 1][start : start + caret.count("^")]


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_text(name: str) -> None:
    wrong = WRONG[name]
    with pytest.raises(NotationError) as caught:
        tc(wrong.text, name="wrong.tc")
    message = str(caught.value)
    for part in wrong.says:
        assert part in message, message
    line, under = _shown(caught.value)
    assert "wrong.tc, line" in message
    assert under == wrong.under, message
    if wrong.under:
        assert wrong.under in wrong.text.splitlines()[line - 1]


def test_there_are_enough_of_them() -> None:
    assert len(WRONG) >= 40


def test_a_caret_stands_in_its_column_after_tabs() -> None:
    with pytest.raises(NotationError) as caught:
        tc("def f(A: f32(M)) -> (C: f32(M)) {\n\tC(m) = std_x(A(m));\n}")
    lines = str(caught.value).splitlines()
    place = next(i for i, line in enumerate(lines) if "line 2" in line)
    assert lines[place + 2].strip(" ") == "\t" + " " * 7 + "^" * 5


def test_only_a_text_is_read() -> None:
    with pytest.raises(NotationError, match="is not text"):
        tc(3)  # type: ignore[arg-type]
