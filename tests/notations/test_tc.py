"""TC read: the documents' grammar, what each part of it means, and the ops on arrays."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.definition.functions import FunctionKind
from linalg_ext.definition.model import AttributeType, IteratorType
from linalg_ext.errors import ArgumentError, ArityError
from linalg_ext.notations.std_functions import ELEMENT_TYPES, STD_FUNCTIONS
from linalg_ext.opdsl import StructuredOp
from linalg_ext.symbolic.affine import AffineDim
from tc_texts import (
    ATTRIBUTES,
    BATCHMATMUL_2020,
    BATCHMATMUL_2024,
    INTEGER_MATMUL,
    POOLING,
    STRIDED_CONVOLUTION,
    TWO_UPDATES,
)

PARALLEL, REDUCTION = IteratorType.PARALLEL, IteratorType.REDUCTION


def _maps(op: StructuredOp) -> list[str]:
    definition = op.definition
    return [
        str(definition.indexing_map(definition.accesses[operand.name][0]))
        for operand in (*definition.inputs, *definition.outputs)
    ]


@pytest.mark.parametrize("text", [BATCHMATMUL_2020, BATCHMATMUL_2024])
def test_the_documents_example(text: str) -> None:
    op = lx.tc(text)
    assert op.definition.dims == ("b", "m", "n", "k")
    assert op.definition.iterator_types == (PARALLEL, PARALLEL, PARALLEL, REDUCTION)
    assert _maps(op) == [
        "affine_map<(d0, d1, d2, d3)[s0, s1, s2, s3] -> (d0, d1, d3)>",
        "affine_map<(d0, d1, d2, d3)[s0, s1, s2, s3] -> (d3, d2)>",
        "affine_map<(d0, d1, d2, d3)[s0, s1, s2, s3] -> (d0, d1, d2)>",
    ]
    a, b = np.random.default_rng(0).random((2, 3, 4), "f4"), np.ones((4, 5), np.float32)
    np.testing.assert_allclose(op(a, b), a @ b, rtol=1e-6)


def test_documentation() -> None:
    doc = lx.tc(BATCHMATMUL_2024).definition.doc
    assert doc.splitlines()[0] == "Batch matrix-multiply operation."
    assert doc.splitlines()[-1] == "This operation performs batch matrix-multiply over ..."


def test_names_of_classes_and_interfaces() -> None:
    assert lx.tc(BATCHMATMUL_2020).definition.cpp_class_name == "batchmatmulOp"
    definition = lx.tc(INTEGER_MATMUL).definition
    assert definition.cpp_class_name == "MatmulI8I8I32Op"
    assert [i.cpp_name for i in definition.implements] == ["LinalgContractionOpInterface"]


def test_dimensions_in_the_order_of_the_text() -> None:
    op = lx.tc(
        "def f(A: f32(I, J, K, L)) -> (O: f32(J, I)) { O(j, i) = std_addf<l, k>(A(i, j, k, l)); }"
    )
    assert op.definition.dims == ("j", "i", "l", "k")


def test_symbols_are_discovered_in_shapes() -> None:
    op = lx.tc(
        "def f(A: f32(M, N + M * 2), B: f32(N)) -> (O: f32(M))"
        "{ O(m) = std_addf<n>(std_mulf(A(m, n + M * 2), B(n))); }"
    )
    assert op.definition.symbols == ("M", "N")
    assert str(op.definition.symbol_map(op.definition.operand("A").shape)) == (
        "affine_map<()[s0, s1] -> (s0, s1 + s0 * 2)>"
    )
    a = np.arange(14, dtype=np.float32).reshape(2, 7)
    np.testing.assert_array_equal(op(a, np.ones(3, np.float32)), a[:, 4:].sum(1))


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ("-m + 3", [3, 2, 1, 0]),
        ("(m + 1) * 2 - 2", [0, 2, 4, 6]),
        ("m floordiv 2", [0, 0, 1, 1]),
        ("(m + 1) ceildiv 2", [1, 1, 2, 2]),
        ("m mod 3", [0, 1, 2, 0]),
        ("2 * m mod 3", [0, 2, 1, 0]),
        ("m - 1 + 1", [0, 1, 2, 3]),
    ],
)
def test_affine_expressions(index: str, expected: list[int]) -> None:
    op = lx.tc(
        f"def f(A: f32(N), B: f32(M)) -> (C: f32(M)) {{ C(m) = std_addf(A({index}), B(m)); }}"
    )
    definition = op.definition
    (indices,) = definition.accesses["A"]
    assert [indices[0].evaluate({AffineDim("m"): m}) for m in range(4)] == expected


def test_attributes_in_indices() -> None:
    op = lx.tc(STRIDED_CONVOLUTION)
    image, kernel = np.ones((1, 5, 5, 2), np.float32), np.ones((3, 2, 2, 2), np.float32)
    assert op(image, kernel, strides=[2, 1]).shape == (1, 2, 4, 3)
    assert op(image, kernel, strides=2).flat[0] == 8
    with pytest.raises(ArityError, match="got no attribute strides"):
        op(image, kernel)


def test_an_optional_attribute_is_one() -> None:
    op = lx.tc(POOLING)
    image = np.arange(16, dtype=np.float32).reshape(1, 4, 4)
    window = np.empty((2, 2), np.float32)
    assert op(image, window).tolist() == [[[5, 6, 7], [9, 10, 11], [13, 14, 15]]]
    assert op(image, window, strides=2).tolist() == [[[5, 7], [13, 15]]]
    assert op(image, window, dilations=3).tolist() == [[[15]]]


def test_a_list_and_a_single_value_in_indices() -> None:
    op = lx.tc(
        "def f(A: f32(N)) -> (C: f32(M)) attr(factors: i64[], offset: i64)"
        "{ C(m) = A(m * factors[1] + offset); }"
    )
    a = np.arange(12, dtype=np.float32)
    out = np.empty(3, np.float32)
    assert op(a, factors=[7, 3], offset=2, out=out).tolist() == [2, 5, 8]


def test_a_shape_only_operand_has_the_reduction_dimensions() -> None:
    definition = lx.tc(POOLING).definition
    assert [str(d) for d in definition.operand("K").index_dims or ()] == ["kh", "kw"]


def test_attributes_that_no_index_uses_are_carried() -> None:
    op = lx.tc(ATTRIBUTES)
    kinds = {o.name: o.attribute_type for o in op.definition.attributes}
    assert kinds["ivec_attr"] == AttributeType("i32", (5, 6))
    assert kinds["array_attr"] == AttributeType("f32", is_list=True)
    assert kinds["optional_attr"] == AttributeType("f32", is_optional=True)
    assert op(np.ones((2, 3), np.float32), np.ones(3, np.float32)).tolist() == [3, 3]
    with pytest.raises(ArgumentError, match="read by no index"):
        op(np.ones((2, 3), np.float32), np.ones(3, np.float32), i32_attr=1)


def test_several_updates_read_the_values_before() -> None:
    total, product = lx.tc(TWO_UPDATES)(np.array([[1, 2, 3]], "f4"), np.array([[2, 3, 4]], "f4"))
    assert (total.tolist(), product.tolist()) == ([6], [24])


def test_the_accumulator_may_be_written_out() -> None:
    written = INTEGER_MATMUL
    understood = INTEGER_MATMUL.replace("std_addi<k>(C(m, n), ", "std_addi<k>(")
    assert lx.tc(written).definition == lx.tc(understood).definition
    a = np.full((2, 300), 100, np.int8)
    assert lx.tc(written)(a, -a.T).tolist() == [[-3000000] * 2] * 2


def test_a_dimension_that_no_bracket_names_is_reduced_with_a_warning() -> None:
    text = "def f(A: f32(M, K, L)) -> (C: f32(M)) { C(m) = std_addf<k>(A(m, k, l)); }"
    with pytest.warns(UserWarning, match=r"std_addf<k, l>") as caught:
        op = lx.tc(text)
    assert caught[0].filename == __file__
    assert op(np.ones((2, 3, 4), np.float32)).tolist() == [12, 12]


def test_several_definitions() -> None:
    ops = lx.tc(BATCHMATMUL_2020 + "// and another\n" + POOLING)
    assert [op.op_name for op in ops] == ["batchmatmul", "pool"]
    assert ops.pool is ops[1]


def test_bfloat16_and_half() -> None:
    op = lx.tc(
        "def f(A: bf16(M), B: f16(M)) -> (C: bf16(M), D: f32(M))"
        "{ C(m), D(m) = std_tanh(A(m)), std_fpext32(B(m)); }"
    )
    c, d = op(np.ones(2, ml_dtypes.bfloat16), np.ones(2, np.float16))
    assert c.dtype == ml_dtypes.bfloat16
    assert d.dtype == np.float32


def test_booleans() -> None:
    text = """
    def f(A: i1(M), B: i1(M), X: f32(M), Y: f32(M)) -> (C: i1(M), Z: f32(M)) {
      C(m), Z(m) = std_and(A(m), std_or(A(m), B(m))), std_select(A(m), X(m), Y(m));
    }"""
    a, b = np.array([True, False]), np.array([False, True])
    c, z = lx.tc(text)(a, b, np.array([1, 1], "f4"), np.array([2, 2], "f4"))
    assert c.tolist() == [True, False]
    assert z.tolist() == [1, 2]


@pytest.mark.parametrize("name", STD_FUNCTIONS)
def test_every_function_is_read_and_its_body_verifies(name: str) -> None:
    """Each is built into IR, and its value on ones is finite."""
    function = STD_FUNCTIONS[name]
    assert set(function.operands) <= set(ELEMENT_TYPES)
    element = function.operands[0]
    result = "i1" if function.function.is_predicate else function.result or element
    arity = function.function.kind.arity
    condition = "P: i1(M), " if function.function.kind is FunctionKind.TERNARY else ""
    args = ["P(m)"] * bool(condition) + ["A(m)"] * (arity - bool(condition))
    op = lx.tc(
        f"def f({condition}A: {element}(M)) -> (C: {result}(M))"
        f"{{ C(m) = {name}({', '.join(args)}); }}"
    )
    dtype = {"i1": "bool", "bf16": "bfloat16"}.get(element) or element.replace("i", "int").replace(
        "f", "float"
    )
    given = [np.ones(2, bool)] * bool(condition) + [np.ones(2).astype(np.dtype(dtype))]
    assert np.isfinite(np.asarray(op(*given), np.float64)).all()


def test_a_comparison_chooses() -> None:
    op = lx.tc(
        "def relu(A: f32(M), Z: f32(M)) -> (C: f32(M)) {"
        " C(m) = std_select(std_cmpf_ogt(A(m), Z(m)), A(m), Z(m)); }"
    )
    a = np.array([-1, 2, np.nan], "f4")
    np.testing.assert_array_equal(op(a, np.zeros(3, "f4")), [0, 2, 0])
    assert lx.tc(lx.to_tc(op)).definition.equivalent(op.definition)
