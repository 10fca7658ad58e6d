"""What a function takes, read and matched."""

from __future__ import annotations

import pytest

from linalg_ext.errors import LibraryError
from linalg_ext.executable.libraries import OperandType, Prototype, library_names

OPEN = OperandType("f32", (None, None))
FIXED = OperandType("f32", (4, 8))


def test_the_types_of_mlir_are_read() -> None:
    said = Prototype.parse(
        "func.func private @f(memref<?x8xf32>, memref<f64>,\n"
        " memref<?xvector<4xf32>, strided<[1], offset: ?>>, index, i8) -> f32"
    )
    assert said.symbol == "f"
    assert said.result == "f32"
    assert said.operands == (
        OperandType("f32", (None, 8)),
        OperandType("f64", ()),
        OperandType("vector<4xf32>", (None,), (True,)),
        OperandType("index"),
        OperandType("i8"),
    )
    assert Prototype.parse(str(said)) == said
    assert Prototype.parse("f()").operands == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("add", "does not state the operands of a function"),
        ("add(memref<?x?xf32>", "does not state the operands of a function"),
        ("add(memref<?x?xf31>)", "`memref<?x?xf31>` is not a type that can be passed"),
        ("add(memref<f32>, )", "`` is not a type"),
        ("add(tensor<4xf32>)", "`tensor<4xf32>` is not a type"),
        ("add(f32) -> void", "`void` is not a type"),
        ("add(bf16)", "`bf16` is not a type that can be passed"),
        ("add(memref<?xf32, strided<[?, ?]>>)", "the layout `strided<[?,?]>` is not one"),
        ("add(memref<?x?xf32, strided<[1, ?]>>)", "the layout `strided<[1,?]>` is not one"),
        ("add(memref<?xf32, strided<[2]>>)", "the layout `strided<[2]>` is not one"),
        ("add(memref<?xf32, 1>)", "the layout `1` is not one"),
    ],
)
def test_what_cannot_be_understood_is_named(text: str, message: str) -> None:
    with pytest.raises(LibraryError) as found:
        Prototype.parse(text)
    assert message in str(found.value)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (OperandType("f32"), "the operand is f32, and the function takes memref<?x8xf32>"),
        (OperandType("f64", (4, 8)), "the elements are f64, and the function takes f32"),
        (OperandType("f32", (4,)), "the rank is 1, and the function takes rank 2"),
        (OperandType("f32", (4, 9)), "the size is 9 along axis 1, and the function takes 8"),
        (OperandType("f32", (4, None)), "the size is open along axis 1, and the function takes 8"),
        (FIXED, None),
    ],
)
def test_an_operand_that_does_not_fit(other: OperandType, reason: str | None) -> None:
    (taken,) = Prototype.parse("f(memref<?x8xf32>)").operands
    assert taken.refusal_of(other) == reason


@pytest.mark.parametrize(
    ("taken", "given", "fits"),
    [
        (None, None, True),
        (None, (False, True), False),
        ((False, False), None, True),
        ((False, False), (False, False), True),
        ((False, True), None, True),
        ((False, True), (False, True), True),
        ((False, True), (False, False), False),
    ],
)
def test_which_strides_are_taken(taken, given, fits) -> None:
    function = OperandType("f32", (None, None), taken)
    assert function.takes_layout_of(OperandType("f32", (4, 8), given)) == fits


def test_the_names_of_a_function_for_given_types() -> None:
    names = library_names("add", [FIXED, OPEN], [OperandType("f32")])
    assert names[-1] == "add"
    assert names.index("add_view4x8xf32_viewsxsxf32_f32") == 0
    assert {"add_4x8xf32_sxsxf32", "add_sxsxf32_sxsxf32", "add_viewsxsxf32_viewsxsxf32_f32"} < {
        *names
    }
