"""ODS and C++: the documents' own examples, white space aside, and what they leave open."""

from __future__ import annotations

import re

import pytest

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, NotationError
from linalg_ext.notations.ods import to_cpp, to_ods
from linalg_ext.opdsl import D, S, T, TensorDef, TypeFn, const, index, structured_op
from tc_texts import ATTRIBUTES, BATCHMATMUL_2020, BATCHMATMUL_2024, POOLING, STRIDED_CONVOLUTION

RECORD_2020 = """
  def batchmatmulOp : LinalgNamedStructured_Op<"batchmatmul", [
    NInputs<2>,
    NOutputs<1>,
    NamedStructuredOpTraits]> { ... }
"""

RECORD_2024 = """
def batchmatmulOp : LinalgNamedStructured_Op<"batchmatmul", [
  NInputs<2>,
  NOutputs<1>,
  NamedStructuredOpTrait]> { ... }
"""

CPP_2020 = """
llvm::Optional<SmallVector<StringRef, 8>> batchmatmul::referenceIterators() {
  return SmallVector<StringRef, 8>{
    getParallelIteratorTypeName(),
    getParallelIteratorTypeName(),
    getParallelIteratorTypeName(),
    getReductionIteratorTypeName() };
}
llvm::Optional<SmallVector<AffineMap, 8>> batchmatmul::referenceIndexingMaps() {
  MLIRContext *context = getContext();
  AffineExpr d0, d1, d2, d3;
  bindDims(context, d0, d1, d2, d3);
  return SmallVector<AffineMap, 8>{
      AffineMap::get(4, 0, {d0, d1, d3}),
      AffineMap::get(4, 0, {d3, d2}),
      AffineMap::get(4, 0, {d0, d1, d2}) };
}
void batchmatmul::regionBuilder(ArrayRef<BlockArgument> args) {
  using namespace edsc;
  using namespace intrinsics;
  Value _0(args[0]), _1(args[1]), _2(args[2]);
  Value _4 = std_mulf(_0, _1);
  Value _5 = std_addf(_2, _4);
  (linalg_yield(ValueRange{ _5 }));
}
"""

CPP_2024 = CPP_2020.replace("llvm::Optional", "std::optional")


def _normalised(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "style", "record"),
    [(BATCHMATMUL_2020, "2020", RECORD_2020), (BATCHMATMUL_2024, "2024", RECORD_2024)],
)
def test_the_documents_record(text: str, style, record: str) -> None:
    head, body = _normalised(to_ods(lx.tc(text), style)).split("]> { ", 1)
    assert head + "]> { ... }" == _normalised(record)
    assert body.endswith("}")


@pytest.mark.parametrize(
    ("text", "style", "cpp"),
    [(BATCHMATMUL_2020, "2020", CPP_2020), (BATCHMATMUL_2024, "2024", CPP_2024)],
)
def test_the_documents_cpp(text: str, style, cpp: str) -> None:
    assert _normalised(to_cpp(lx.tc(text), style)) == _normalised(cpp)


def test_documentation() -> None:
    record = to_ods(lx.tc(BATCHMATMUL_2024))
    assert "let summary = [{ Batch matrix-multiply operation. }];" in record
    assert re.search(r"let description = \[\{\n +This operation performs batch", record)
    assert "summary" not in to_ods(lx.tc(BATCHMATMUL_2020))


def test_a_class_of_ones_own() -> None:
    op = lx.tc(STRIDED_CONVOLUTION)
    assert to_ods(op).startswith('def StridedConvOp : LinalgNamedStructured_Op<"strided_conv", [')
    assert "> StridedConvOp::referenceIterators()" in to_cpp(op)


def test_attributes_in_maps() -> None:
    cpp = to_cpp(lx.tc(STRIDED_CONVOLUTION))
    for line in (
        "auto s8 = getAffineSymbolExpr(8, context); (void)s8;",
        "auto cst0 = getAffineConstantExpr(strides().getValue<int>({ 0 }), context);",
        "auto cst1 = getAffineConstantExpr(strides().getValue<int>({ 1 }), context);",
        "auto map0 = AffineMap::get(7, 11, {d0, d1 * s9 + d4, d2 * s10 + d5, d6}, context);",
        "map0 = simplifyAffineMap(map0);",
        "return SmallVector<AffineMap, 8>{ map0, map1, map2 };",
    ):
        assert line in cpp
    replaced = re.search(r"map1\.replaceDimsAndSymbols\(\{\}, \{ (.*) \}, 7, 0\);", cpp)
    assert replaced is not None
    assert replaced.group(1).split(", ")[-3:] == ["s8", "cst0", "cst1"]


def test_operands_and_attributes() -> None:
    record = _normalised(to_ods(lx.tc(ATTRIBUTES)))
    assert (
        "let arguments = (ins Variadic<AnyShaped>:$inputs, Variadic<AnyShaped>:$outputs, "
        "F32ArrayAttr:$array_attr, F32Attr:$f32_attr, RankedF32ElementsAttr<[4]>:$fvec_attr, "
        "I32Attr:$i32_attr, I64Attr:$i64_attr, RankedI32ElementsAttr<[5, 6]>:$ivec_attr, "
        "OptionalAttr<F32Attr>:$optional_attr);"
    ) in record
    assert record.count("OpBuilder<") == 2
    assert '$_state.addAttribute("ivec_attr", ivec_attr);' in record
    assert '"Attribute":$i32_attr' in record


def test_an_attribute_with_a_default() -> None:
    record = to_ods(lx.ops.conv_2d_nhwc_hwcf)
    assert (
        'DefaultValuedAttr<RankedI64ElementsAttr<[2]>, "{ static_cast<int64_t>(1), '
        'static_cast<int64_t>(1) }">:$strides'
    ) in record


def test_an_optional_attribute_is_one_where_it_is_absent() -> None:
    cpp = to_cpp(lx.tc(POOLING))
    assert "stridesAttr() ? stridesAttr().getValue<int64_t>({ 1 }) : 1" in cpp


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ("(m + 1) floordiv 2", "(d0 + 1).floorDiv(2)"),
        ("(m * 3) ceildiv 2", "(d0 * 3).ceilDiv(2)"),
        ("m mod 4", "d0 % 4"),
        ("(m mod 4) * 2", "(d0 % 4) * 2"),
        ("3 - m", "d0 * -1 + 3"),
        ("2", "getAffineConstantExpr(2, context)"),
    ],
)
def test_affine_expressions(index: str, expected: str) -> None:
    text = f"def f(A: f32(N)) -> (C: f32(M)) {{ C(m) = A({index}); }}"
    assert f"AffineMap::get(1, 0, {{{expected}}})" in to_cpp(lx.tc(text))


def test_several_results_and_shared_parts() -> None:
    text = """def f(A: f32(M)) -> (C: f32(M), E: f32(M)) {
      C(m), E(m) = std_exp(std_negf(A(m))), A(m); }"""
    cpp = to_cpp(lx.tc(text))
    assert "Value _4 = std_negf(_0);" in cpp
    assert "Value _5 = std_exp(_4);" in cpp
    assert "(linalg_yield(ValueRange{ _5, _0 }));" in cpp


def test_constants() -> None:
    @structured_op
    def half(A=TensorDef(T, S.M), R=TensorDef(T, S.M, output=True)):
        R[D.m] = A[D.m] * TypeFn.cast_signed(T, const(2))

    assert "std_constant_float(APFloat(2.0f), FloatType::getF32" in to_cpp(half, types="f32")
    assert "std_constant_int(2, 16)" in to_cpp(half, types="i16")
    with pytest.raises(NotationError, match="constant 2 as F16"):
        to_cpp(half, types="f16")


def test_a_definition_over_type_variables() -> None:
    with pytest.raises(NotationError, match=r"`--type T1=f32`"):
        to_cpp(lx.ops.matvec)
    assert "std_addi(_2, _4)" in to_cpp(lx.ops.matvec, types="i32")
    assert 'LinalgNamedStructured_Op<"matvec", [' in to_ods(lx.ops.matvec)


@structured_op
def _positions(A=TensorDef(T, S.M), R=TensorDef(T, S.M, output=True)):
    R[D.m] = A[D.m] + TypeFn.cast_signed(T, index(D.m))


@structured_op
def _twice(A=TensorDef(T, S.M, S.M), R=TensorDef(T, S.M, S.M, output=True)):
    R[D.m, D.n] = A[D.m, D.n] + A[D.n, D.m]


@pytest.mark.parametrize(
    ("op", "says"),
    [
        (_positions, r"index\(m\)"),
        (_twice, "uses A with two different indices"),
        (lx.ops.exp, "element-wise at any rank"),
        (lx.ops.matmul_transpose_a, "function attribute cast"),
    ],
)
def test_what_the_cpp_cannot_hold(op: object, says: str) -> None:
    with pytest.raises(NotationError, match=says):
        to_cpp(op, types="f32")


def test_what_the_record_cannot_hold() -> None:
    with pytest.raises(NotationError, match="function attribute cast"):
        to_ods(lx.ops.matmul_transpose_a)
    text = 'def f(A: f32(M)) -> (C: f32(M)) """A }] b""" { C(m) = A(m); }'
    with pytest.raises(NotationError, match="ends one in TableGen"):
        to_ods(lx.tc(text))


def test_there_are_two_styles() -> None:
    with pytest.raises(ArgumentError, match="one of 2020, 2024"):
        to_ods(lx.ops.matvec, "2022")  # type: ignore[arg-type]
