"""Structured ops read back: the library at several types, variations, refusals."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from core_ops import Problem, build, problem
from linalg_ext.bindings import ir
from linalg_ext.definition import OpDefinition
from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.specialization import at_rank, specialize
from linalg_ext.errors import ArgumentError, LinalgExtError, RecognitionError
from linalg_ext.ir.context import new_context
from linalg_ext.opdsl import StructuredOp
from linalg_ext.runtime.dtypes import by_dtype
from linalg_ext.structured import definition_of, recognize
from linalg_ext.symbolic.affine import AffineSymbol
from op_calls import problem_of
from op_cases import OPS, formula_case, formula_cases, window_case, window_cases

LIBRARY = [getattr(lx.ops, name) for name in dir(lx.ops)]

TYPES: Mapping[str, tuple[Any, Mapping[str, Any]]] = {
    "f32": (np.float32, {}),
    "f64": (np.float64, {}),
    "i32": (np.int32, {}),
    "i64": (np.int64, {}),
    "bf16 into f32": (ml_dtypes.bfloat16, {"U": np.float32}),
    "i8 into i32": (np.int8, {"U": np.int32}),
    "i32 into f64": (np.int32, {"U": np.float64}),
    "complex": (np.complex64, {}),
    "bool": (np.bool_, {}),
}


SIZES_IN_INDICES = {
    *("concatenate", "concatenate_columns", "concatenate_rows", "flip", "flip_columns"),
    *("flip_rows", "kron_2d", "pad_nchw", "pad_ncw", "pad_nhwc", "pad_nwc", "roll", "roll_rows"),
    *("rotary_embedding", "tile", "tile_2d"),
    *("transposed_conv_1d_ncw_cfw", "transposed_conv_1d_nwc_wcf"),
    *("transposed_conv_2d_nchw_cfhw", "transposed_conv_2d_nhwc_hwcf"),
    *("transposed_conv_3d_ncdhw_cfdhw", "transposed_conv_3d_ndhwc_dhwcf"),
}
"""Ops whose indices hold sizes, which `problem` cannot choose; `_every_op` has cases of them."""


def _problems(types: str) -> list[Problem]:
    """The ops of the library that arrays of any dtype can be made for, on such arrays."""
    dtype, dtypes = TYPES[types]
    return [
        problem(op, dtype, dtypes=dtypes)
        for op in LIBRARY
        if op.definition.name not in SIZES_IN_INDICES
    ]


def _every_op(kind: str) -> list[Problem]:
    """Every op of the library that takes a kind of numbers, on arrays that suit it."""
    cases = [formula_case(name, each) for name, each in formula_cases() if each == kind]
    cases += [
        window_case(name, each, is_strided=is_strided)
        for name, is_strided, each in window_cases()
        if each == kind
    ]
    return [problem_of(OPS[c.name], c.inputs, c.before, c.attributes) for c in cases]


def _expected(case: Problem) -> OpDefinition:
    """What is left of an op's definition at the types and attributes of a problem."""
    types = {name: by_dtype(dtype).mlir for name, dtype in case.dtypes.items()}
    tensors = {o.name: case.arrays[o.name] for o in case.definition.operands if o.kind.is_tensor}
    ranked = at_rank(case.definition, tensors[case.definition.outputs[0].name].ndim)
    sizes = {
        expr.name: size
        for name, array in tensors.items()
        for expr, size in zip(ranked.operand(name).shape, array.shape, strict=True)
        if isinstance(expr, AffineSymbol)
    }
    call = case.resolved
    known = CallAttributes({**sizes, **call.symbols}, call.functions, call.changed)
    return specialize(ranked, types, known)


_ALIVE: deque[ir.Module] = deque(maxlen=8)
"""An op lives as long as its module, which somebody must hold; all of them would take gigabytes."""


def _structured(module: ir.Module, name: str = "linalg.generic") -> list[ir.Operation]:
    found: list[ir.Operation] = []
    _ALIVE.append(module)

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.operation.name == name:
            found.append(op.operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def _differing(cases: list[Problem]) -> tuple[list[str], int]:
    """The ops that are not read back as they are, and how many were looked at."""
    differing, checked = [], 0
    for case in cases:
        try:
            module = build([case], emit_generic=True)
        except LinalgExtError:
            continue  # the op has no meaning for the type
        expected = _expected(case).steps
        for op, step in zip(_structured(module), expected, strict=True):
            checked += 1
            read_twice = any(len(found) > 1 for found in step.accesses.values())
            if not definition_of(op, merge_inputs=read_twice).equivalent(step):
                differing.append(case.definition.name)
    return differing, checked


@pytest.mark.parametrize("types", TYPES)
def test_the_library_is_read_back_at_every_type(types: str) -> None:
    differing, checked = _differing(_problems(types))
    assert differing == []
    assert checked > 100


@pytest.mark.parametrize("kind", ["f", "i"])
def test_every_op_of_the_library_is_read_back(kind: str) -> None:
    differing, checked = _differing(_every_op(kind))
    assert differing == []
    assert checked > 150


def test_named_ops_are_read_through_their_hidden_bodies() -> None:
    case = problem(lx.ops.matmul, np.float32)
    (op,) = _structured(build([case]), "linalg.matmul")
    definition = definition_of(op)
    assert definition.name == "matmul"
    assert definition.equivalent(_expected(case))


def _parse(body: str, *, arguments: str = "", before: str = "", types: str = "f32") -> ir.Operation:
    """A generic op over a vector with a body; `%x` is its element, `%o` the output's."""
    text = f"""
    func.func @f(%a: tensor<4x{types}>, %r: tensor<4x{types}>{arguments}) -> tensor<4x{types}> {{
      {before}
      %y = linalg.generic {{
        indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
        iterator_types = ["parallel"]
      }} ins(%a : tensor<4x{types}>) outs(%r : tensor<4x{types}>) {{
      ^bb0(%x: {types}, %o: {types}):
        {body}
      }} -> tensor<4x{types}>
      return %y : tensor<4x{types}>
    }}"""
    with new_context():
        (op,) = _structured(ir.Module.parse(text))
    return op


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("%1 = math.exp %x : f32\nlinalg.yield %1 : f32", "O[d0] = exp(A[d0])"),
        ("%1 = arith.mulf %x, %x fastmath<fast> : f32\nlinalg.yield %1 : f32", "O[d0] = A[d0]²"),
        (
            "%c = arith.constant 1.0 : f32\n%1 = arith.divf %c, %x : f32\nlinalg.yield %1 : f32",
            "O[d0] = 1 / A[d0]",
        ),
        (
            "%c = arith.constant 0.5 : f64\n%1 = arith.truncf %c : f64 to f32\n"
            "%2 = arith.mulf %1, %x : f32\nlinalg.yield %2 : f32",
            "O[d0] = 0.5 * A[d0]",
        ),
        ("%1 = arith.addf %x, %o : f32\nlinalg.yield %1 : f32", "O[d0] = A[d0] + O[d0]"),
        (
            "%i = linalg.index 0 : index\n%1 = arith.index_cast %i : index to i64\n"
            "%2 = arith.sitofp %1 : i64 to f32\nlinalg.yield %2 : f32",
            "O[d0] = d0; (d0) ∈ A",
        ),
        (
            "%z = arith.constant 0.0 : f32\n%1 = arith.cmpf ugt, %x, %z : f32\n"
            "%2 = arith.select %1, %x, %z : f32\nlinalg.yield %2 : f32",
            "O[d0] = max(A[d0], 0.0)",
        ),
        ("linalg.yield %x : f32", "O[d0] = A[d0]"),
    ],
)
def test_bodies_are_read(body: str, text: str) -> None:
    assert definition_of(_parse(body)).formula() == text


def test_positions_are_computed_with_as_integers() -> None:
    op = _parse(
        "%i = linalg.index 0 : index\n%c = arith.constant 3 : index\n"
        "%1 = arith.muli %i, %c : index\n%2 = arith.index_cast %1 : index to i32\n"
        "linalg.yield %2 : i32",
        types="i32",
    )
    definition = definition_of(op, name="thirds")
    assert definition.formula() == "O[d0] = d0 * 3; (d0) ∈ A"
    result = StructuredOp(definition)(np.zeros(4, np.int32))
    np.testing.assert_array_equal(result, [0, 3, 6, 9])


def test_a_constant_outside_is_part_of_it_and_another_scalar_an_operand() -> None:
    op = _parse(
        "%1 = arith.mulf %x, %two : f32\n%2 = arith.addf %1, %s : f32\nlinalg.yield %2 : f32",
        arguments=", %s: f32",
        before="%two = arith.constant 2.0 : f32",
    )
    read = recognize(op)
    assert read.definition.formula() == "O[d0] = A[d0] * 2.0 + scalar0"
    assert [str(value.type) for value in read.inputs] == ["tensor<4xf32>", "f32"]
    assert read.types == {"T": "f32"}
    np.testing.assert_allclose(
        StructuredOp(read.definition)(np.arange(4.0), 5.0), 2 * np.arange(4.0) + 5
    )


def test_an_accumulation_may_be_written_in_any_order() -> None:
    text = """
    func.func @f(%a: tensor<4x5xf32>, %r: tensor<4xf32>) -> tensor<4xf32> {
      %y = linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
        iterator_types = ["parallel", "reduction"]
      } ins(%a : tensor<4x5xf32>) outs(%r : tensor<4xf32>) {
      ^bb0(%x: f32, %o: f32):
        %1 = arith.addf %o, %x : f32
        %2 = arith.addf %x, %1 : f32
        linalg.yield %2 : f32
      } -> tensor<4xf32>
      return %y : tensor<4xf32>
    }"""
    with new_context():
        (op,) = _structured(ir.Module.parse(text))
    definition = definition_of(op)
    assert definition.formula() == "O[d0] = Σ_{d1} (A[d0, d1] + A[d0, d1])"
    array = np.arange(20, dtype=np.float32).reshape(4, 5)
    np.testing.assert_allclose(StructuredOp(definition)(array), 2 * array.sum(1))


def test_what_was_read_can_be_named_and_written_down() -> None:
    case = problem(lx.ops.matmul, np.float32)
    (op,) = _structured(build([case], emit_generic=True))
    text = lx.to_yaml(definition_of(op, name="my_product"))
    assert "cpp_class_name: MyProductOp" in text
    back = lx.from_yaml(text)
    assert back.definition.equivalent(definition_of(op))


def test_a_relu_with_the_wrong_zero_is_no_minimum() -> None:
    op = _parse(
        "%z = arith.constant 0.0 : f32\n%1 = arith.cmpf ult, %x, %z : f32\n"
        "%2 = arith.select %1, %x, %z : f32\nlinalg.yield %2 : f32"
    )
    assert definition_of(op).formula() == "O[d0] = 0.0 if A[d0] ≥ 0.0 else A[d0]"


@pytest.mark.parametrize("predicate", ["ugt", "uge", "ult", "ule", "ogt", "oge", "olt", "ole"])
def test_comparisons_with_nan_are_kept(predicate: str) -> None:
    op = _parse(
        f"%1 = arith.cmpf {predicate}, %x, %o : f32\n%2 = arith.uitofp %1 : i1 to f32\n"
        "linalg.yield %2 : f32"
    )
    x = np.array([1, 2, 3, np.nan], np.float32)
    y = np.array([2, 2, 2, 2], np.float32)
    compare = {"gt": np.greater, "ge": np.greater_equal, "lt": np.less, "le": np.less_equal}
    expected = compare[predicate[1:]](x, y) | ((predicate[0] == "u") & np.isnan(x))
    definition = definition_of(op)
    np.testing.assert_array_equal(definition.reference(x, init=y), expected)
    np.testing.assert_array_equal(StructuredOp(definition)(x, init=y), expected)


def test_what_is_no_reduction_is_a_fold() -> None:
    text = """
    func.func @f(%a: tensor<4x5xf32>, %r: tensor<4xf32>) -> tensor<4xf32> {
      %y = linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
        iterator_types = ["parallel", "reduction"]
      } ins(%a : tensor<4x5xf32>) outs(%r : tensor<4xf32>) {
      ^bb0(%x: f32, %o: f32):
        %1 = arith.subf %x, %o : f32
        linalg.yield %1 : f32
      } -> tensor<4xf32>
      return %y : tensor<4xf32>
    }"""
    with new_context():
        (op,) = _structured(ir.Module.parse(text))
    definition = definition_of(op)
    array = np.arange(20, dtype=np.float32).reshape(4, 5)
    expected = np.zeros(4, np.float32)
    for column in array.T:
        expected = column - expected
    init = np.zeros(4, np.float32)
    np.testing.assert_array_equal(definition.reference(array, init=init), expected)
    np.testing.assert_array_equal(StructuredOp(definition)(array, init=init), expected)


def test_an_axis_of_size_one_is_written_by_index_zero() -> None:
    text = """
    func.func @f(%a: tensor<4x5xf32>, %r: tensor<4x1xf32>) -> tensor<4x1xf32> {
      %y = linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, 0)>],
        iterator_types = ["parallel", "reduction"]
      } ins(%a : tensor<4x5xf32>) outs(%r : tensor<4x1xf32>) {
      ^bb0(%x: f32, %o: f32):
        %1 = arith.addf %x, %o : f32
        linalg.yield %1 : f32
      } -> tensor<4x1xf32>
      return %y : tensor<4x1xf32>
    }"""
    with new_context():
        (op,) = _structured(ir.Module.parse(text))
    definition = definition_of(op)
    assert definition.formula() == "O[d0, 0] = Σ_{d1} A[d0, d1]"
    array = np.arange(20, dtype=np.float32).reshape(4, 5)
    np.testing.assert_allclose(StructuredOp(definition)(array), array.sum(1, keepdims=True))
    np.testing.assert_allclose(definition.reference(array), array.sum(1, keepdims=True))
    with pytest.raises(LinalgExtError, match="size 3"):
        StructuredOp(definition)(array, out=np.zeros((4, 3), np.float32))


@pytest.mark.parametrize(
    ("body", "keywords", "message"),
    [
        (
            "%1 = math.fpowi %x, %n : f32, i32\nlinalg.yield %1 : f32",
            {"arguments": ", %n: i32"},
            "math.fpowi",
        ),
        (
            "%i = linalg.index 0 : index\n%1 = tensor.extract %t[%i] : tensor<?xf32>\n"
            "linalg.yield %1 : f32",
            {"arguments": ", %t: tensor<?xf32>"},
            "the index is computed",
        ),
        (
            "%1 = arith.truncf %x : f32 to f8E5M2\n%2 = arith.extf %1 : f8E5M2 to f32\n"
            "linalg.yield %2 : f32",
            {},
            "computes in f8E5M2, which is the type of no operand",
        ),
        (
            '%t = arith.constant true\ncf.assert %t, "no"\nlinalg.yield %x : f32',
            {},
            "cf.assert in the body",
        ),
        (
            "%v0 = arith.mulf %x, %x : f32\n"
            + "\n".join(f"%v{i + 1} = arith.addf %v{i}, %v{i} : f32" for i in range(12))
            + "\nlinalg.yield %v12 : f32",
            {},
            "more than 2000 parts",
        ),
    ],
)
def test_what_no_definition_says_is_refused_with_its_line(
    body: str, keywords: dict[str, str], message: str
) -> None:
    with pytest.raises(RecognitionError) as caught:
        definition_of(_parse(body, **keywords))
    assert message in str(caught.value)
    assert '"-":' in str(caught.value)  # the place in the text
    assert caught.value.reason


def test_what_is_no_structured_op_is_refused() -> None:
    op = _parse("linalg.yield %x : f32")
    parent = op.parent
    assert parent is not None
    with pytest.raises(ArgumentError, match=r"func.func is not a structured op"):
        definition_of(parent)
    with pytest.raises(ArgumentError, match="'matmul' is not a structured op"):
        definition_of("matmul")  # type: ignore[arg-type]


def test_ops_of_one_body_are_told_apart_by_their_own_values() -> None:
    module = lx.parse("""func.func @f(%x: tensor<4xf32>, %s: f32, %t: f32, %o: tensor<4xf32>)
        -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
      %a = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
        iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%o : tensor<4xf32>) {
        ^bb0(%i: f32, %out: f32):
          %r = arith.mulf %i, %s : f32
          linalg.yield %r : f32 } -> tensor<4xf32>
      %b = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
        iterator_types = ["parallel"]} ins(%a : tensor<4xf32>) outs(%o : tensor<4xf32>) {
        ^bb0(%i: f32, %out: f32):
          %r = arith.mulf %i, %t : f32
          linalg.yield %r : f32 } -> tensor<4xf32>
      %c = linalg.sub ins(%a, %a : tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<4xf32>)
        -> tensor<4xf32>
      %d = linalg.sub ins(%a, %b : tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<4xf32>)
        -> tensor<4xf32>
      return %b, %c, %d : tensor<4xf32>, tensor<4xf32>, tensor<4xf32> }""")
    entry = module.ir.body.operations[0]
    x, s, t, o = entry.regions[0].blocks[0].arguments
    *ops, _ = (op.operation for op in entry.regions[0].blocks[0].operations)
    a, b = ops[0].results[0], ops[1].results[0]
    read = [recognize(op) for op in ops]
    assert [each.inputs for each in read] == [(x, s), (a, t), (a, a), (a, b)]
    assert [each.outputs for each in read] == [(o,)] * 4
    assert read[0].definition == read[1].definition
