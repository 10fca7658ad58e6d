"""Wrong definitions: one error, at the user's line, that says what is wrong and how to mend it.

Here what is wrong is what an op is made of: its operands, its attributes, where it stands.
"""

from __future__ import annotations

from typing import Any

import pytest

from linalg_ext.errors import DefinitionError
from linalg_ext.opdsl import (
    TV,
    BinaryFn,
    BinaryFnAttrDef,
    ContractionOpInterface,
    D,
    IndexAttrDef,
    S,
    ScalarDef,
    T,
    TensorDef,
    TernaryFn,
    TernaryFnAttrDef,
    TypeFn,
    TypeFnAttrDef,
    U,
    UnaryFn,
    UnaryFnAttrDef,
    defines,
    domain,
    implements,
    index,
    linalg_structured_op,
    structured_op,
)
from wrong_definitions import WrongDefinitions

# an operand is declared by a call as a default
# mypy: ignore-errors
# They are wrong on purpose, and a type checker says so of many.

CASES = WrongDefinitions()
wrong = CASES.says


@wrong("symbol SW", "never bound", "IndexAttrDef(S.SW")
def symbol_never_bound():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.OW, output=True)):
        C[D.ow] = A[D.ow * S.SW]  # here


@wrong(
    "type variable V",
    "not an operand's type",
    "BF16, C128, C64, F16, F32, F64, I1, I16, I32, I64, I8, T, U, U16, U32, U64, U8",
)
def type_variable_of_no_operand():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(U, S.M, output=True)):
        C[D.m] = TypeFn.cast_signed(TV.V, A[D.m])  # here


@wrong("symbol SW", "bound twice, by strides and dilations", "a symbol of its own")
def symbol_bound_twice():
    @structured_op
    def op(
        A=TensorDef(T, S.M),
        C=TensorDef(T, S.OW, output=True),
        strides=IndexAttrDef(S.SW, default=[1]),
        dilations=IndexAttrDef(S.SW, default=[1]),  # here
    ):
        C[D.ow] = A[D.ow * S.SW]


@wrong("`A[m]` is assigned", "A is an input", "assign to C")
def assignment_to_an_input():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        A[D.m] = C[D.m]  # here


@wrong("op assigns nothing", "assign to an output")
def no_assignment():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):  # here
        A[D.m]


@wrong("op assigns nothing")
def accumulating_a_copy():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):  # here
        element = C[D.m]
        element += A[D.m]


@wrong("output E is never assigned", "add `E[...] = ...` to op")
def output_never_assigned():
    @structured_op
    def op(
        A=TensorDef(T, S.M),
        C=TensorDef(T, S.M, output=True),
        E=TensorDef(T, S.M, output=True),  # here
    ):
        C[D.m] = A[D.m]


@wrong("output C is assigned twice", "combine")
def output_assigned_twice():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m] = A[D.m]
        C[D.m] = A[D.m] * A[D.m]  # here


@wrong("input B is never used", "remove it", "index_dims=[D.x, ...]")
def unused_input():
    @structured_op
    def op(
        A=TensorDef(T, S.M),
        B=TensorDef(T, S.M),  # here
        C=TensorDef(T, S.M, output=True),
    ):
        C[D.m] = A[D.m]


@wrong("scalar x is never used", "remove it")
def unused_scalar():
    @structured_op
    def op(
        A=TensorDef(T, S.M),
        x=ScalarDef(T),  # here
        C=TensorDef(T, S.M, output=True),
    ):
        C[D.m] = A[D.m]


@wrong("function attribute fn is never applied", "remove it")
def unused_function_attribute():
    @structured_op
    def op(
        A=TensorDef(T, S.M),
        C=TensorDef(T, S.M, output=True),
        fn=UnaryFnAttrDef(default=UnaryFn.exp),  # here
    ):
        C[D.m] = A[D.m]


@wrong("symbol SW", "occurs in no index", "remove it")
def unused_index_attribute():
    @structured_op
    def op(
        A=TensorDef(T, S.M),
        C=TensorDef(T, S.M, output=True),
        strides=IndexAttrDef(S.SW, default=[1]),  # here
    ):
        C[D.m] = A[D.m]


@wrong("parameter B of op declares no operand", "default is nothing", "B=TensorDef(...)")
def parameter_without_a_default():
    @structured_op
    def op(B, C=TensorDef(T, S.M, output=True)):  # here
        C[D.m] = B[D.m]


@wrong("parameter n of op declares no operand", "default is 3", "n=TensorDef(...)")
def parameter_with_another_default():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True), n=3):  # here
        C[D.m] = A[D.m] * n


@wrong("operand A, an input", "inputs first, then outputs, then attributes")
def input_after_an_output():
    @structured_op
    def op(
        C=TensorDef(T, S.M, output=True),
        A=TensorDef(T, S.M),  # here
    ):
        C[D.m] = A[D.m]


@wrong("op has no output", "output=True")
def no_output():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M)):  # here
        C[D.m] = A[D.m]


@wrong("shape of A uses dimension m", "symbols (S.M)", "belong in indices")
def dimension_in_a_shape():
    @structured_op
    def op(
        A=TensorDef(T, D.m),  # here
        C=TensorDef(T, S.M, output=True),
    ):
        C[D.m] = A[D.m]


@wrong("'M' cannot be a size of a TensorDef", "symbols (S.M)")
def string_in_a_shape():
    TensorDef(T, "M")  # here


@wrong("TensorDef got", "float", "a type variable belongs", "TV.T")
def python_type_for_a_type_variable():
    TensorDef(float, S.M)  # here


@wrong("IndexAttrDef strides", "cannot stand in an index")
def attribute_in_an_index():
    @structured_op
    def op(
        A=TensorDef(T, S.M),
        C=TensorDef(T, S.M, output=True),
        strides=IndexAttrDef(S.SW, default=[1]),
    ):
        C[D.m] = A[D.m * strides]  # here


@wrong("BinaryFn.add is not a unary function", "UnaryFnAttrDef(default=UnaryFn.NAME)")
def function_of_another_kind():
    UnaryFnAttrDef(default=BinaryFn.add)  # here


@wrong("'add' is not a binary function", "BinaryFn.NAME")
def function_by_name():
    BinaryFnAttrDef(default="add")  # here


@wrong("BinaryFnAttrDef fn reduces", "sub is not a reduction", "add, mul, max_signed")
def reduction_by_a_difference():
    @structured_op
    def op(
        A=TensorDef(T, S.M),
        C=TensorDef(T, output=True),
        fn=BinaryFnAttrDef(default=BinaryFn.sub),
    ):
        C[None] = fn[D.m](A[D.m])  # here


@wrong("defined inside the definition of another")
def nested_definition():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        @structured_op  # here
        def inner(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
            C[D.m] = A[D.m]

        C[D.m] = A[D.m]


@wrong("domain() is called outside", "under @structured_op")
def domain_outside():
    domain(D.m)  # here


@wrong("implements() is called outside", "under @structured_op")
def implements_outside():
    implements(ContractionOpInterface)  # here


@wrong("defines('hasCanonicalizer')", "methods, as in Canonicalizer")
def method_by_name():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        defines("hasCanonicalizer")  # here
        C[D.m] = A[D.m]


@wrong("TensorDef is used outside the definition", "parameter's default")
def tensor_outside():
    A = TensorDef(T, S.M)
    A[D.m]  # here


@wrong("TensorDef is used outside the definition")
def tensor_after_its_definition():
    kept = []

    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        kept.append(A)
        C[D.m] = A[D.m]

    kept[0][D.m]  # here


@wrong("attribute indexing_maps", "rename it")
def reserved_attribute():
    @structured_op
    def op(
        A=TensorDef(T, S.M),
        C=TensorDef(T, S.M, output=True),
        indexing_maps=TypeFnAttrDef(default=TypeFn.cast_signed),  # here
    ):
        C[D.m] = indexing_maps(T, A[D.m])


@wrong("2 symbols and 1 default value", "one default for each symbol")
def too_few_defaults():
    IndexAttrDef(S.SH, S.SW, default=[1])  # here


@wrong("default of an IndexAttrDef is 1", "default=[1, 1]")
def default_that_is_no_list():
    IndexAttrDef(S.SH, default=1)  # here


@wrong("default [0]", "1 or more")
def default_that_is_not_positive():
    IndexAttrDef(S.SH, default=[0])  # here


@wrong("1 index_dims for a shape of rank 2", "one dimension for each size")
def too_few_index_dims():
    TensorDef(T, S.KH, S.KW, index_dims=[D.kh])  # here


@wrong("TernaryFnAttrDef fn is used as if it were a number", "call it on elements")
def function_attribute_as_a_number():
    @structured_op
    def op(
        A=TensorDef(T, S.M),
        C=TensorDef(T, S.M, output=True),
        fn=TernaryFnAttrDef(default=TernaryFn.select),
    ):
        C[D.m] = fn * A[D.m]  # here


@wrong("decorates a function, not", "write @structured_op above `def name(...)`")
def decorated_class():
    structured_op(int)  # here


@pytest.mark.parametrize("name", CASES)
def test_wrong_definition(name: str) -> None:
    CASES.check(name)


def test_an_upstream_op_may_index_an_output_more_often_than_it_has_sizes() -> None:
    def outer(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m, D.n] = A[D.m] * TypeFn.cast_signed(T, index(D.n))

    with pytest.warns(UserWarning, match="its shape is taken from the indices"):
        op = linalg_structured_op(outer)
    assert op.definition.dims == ("m", "n")
    with pytest.raises(DefinitionError, match="rank 1"):
        structured_op(outer)


def test_a_failed_definition_leaves_the_language_usable() -> None:
    with pytest.raises(DefinitionError):
        CASES["no_output"][0]()

    @structured_op
    def good(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m] = A[D.m]

    assert good.op_name == "good"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"default": [0]}, r"default \[0\] .* is not positive(.|\n)*minimum=0 lets a value be 0"),
        ({"default": [-1], "minimum": 0}, r"default \[-1\] .* is negative(.|\n)*0 or more"),
        ({"default": [2], "minimum": 2}, r"minimum of an IndexAttrDef is 2(.|\n)*expected 0 or 1"),
    ],
)
def test_the_least_value_of_an_attribute(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        IndexAttrDef(S.L, **arguments)
