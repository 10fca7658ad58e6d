"""Ops called on MLIR values: what is built, what is refused, and that nothing half-built stays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from core_ops import Array, assert_same, core_ops, problem, run, types_of
from linalg_ext.bindings import arith, func, ir, tensor
from linalg_ext.compiler import compile as compile_module
from linalg_ext.errors import ArgumentError, ArityError, DTypeError, LinalgExtError, ShapeError
from linalg_ext.ir.context import new_context
from linalg_ext.opdsl import (
    TV,
    BinaryFn,
    BinaryFnAttrDef,
    D,
    ReduceFn,
    S,
    ScalarDef,
    StructuredOp,
    T,
    TensorDef,
    TernaryFn,
    TypeFn,
    U,
    UnaryFn,
    index,
    structured_op,
)
from linalg_ext.structured.op_builders import build
from linalg_ext.structured.operands import bind

# an operand is declared by a call as a default
# mypy: allow-untyped-defs

Body = Callable[..., object]


@structured_op
def row_sum(A=TensorDef(T, S.M, S.N), C=TensorDef(T, S.M, output=True)):
    C[D.m] += A[D.m, D.n]


@structured_op
def scale(A=TensorDef(T), x=ScalarDef(T), C=TensorDef(T, output=True)):
    C[None] = A[None] * x


@structured_op
def differences(A=TensorDef(T, S.M), C=TensorDef(T, S.M, S.M, output=True)):
    C[D.i, D.j] = A[D.i] - A[D.j]


@structured_op
def extremes(
    A=TensorDef(T, S.M, S.N),
    low=TensorDef(T, S.M, output=True),
    high=TensorDef(T, S.M, output=True),
):
    low[D.m] = ReduceFn.min_signed[D.n](A[D.m, D.n])
    high[D.m] = ReduceFn.max_signed[D.n](A[D.m, D.n])


@structured_op
def fold(
    A=TensorDef(T, S.M, S.N),
    C=TensorDef(T, S.M, output=True),
    fn=BinaryFnAttrDef(default=BinaryFn.add),
):
    C[D.m] = fn[D.n](A[D.m, D.n])


@structured_op
def positions(
    A=TensorDef(T, S.M, S.N, index_dims=[D.m, D.n]), C=TensorDef(TV.I64, S.M, S.N, output=True)
):
    C[D.m, D.n] = TypeFn.cast_signed(TV.I64, index(D.m)) * 10 + TypeFn.cast_signed(
        TV.I64, index(D.n)
    )


@structured_op
def mixed(A=TensorDef(T, S.M), B=TensorDef(U, S.M), C=TensorDef(U, S.M, output=True)):
    C[D.m] = A[D.m] * B[D.m]


@structured_op
def choose(P=TensorDef(TV.B), A=TensorDef(T), B=TensorDef(T), C=TensorDef(T, output=True)):
    C[None] = TernaryFn.select(P[None], A[None], B[None])


@structured_op(op_name="matvec")
def transposed_matvec(
    A=TensorDef(T, S.N, S.M), y=TensorDef(T, S.N), x=TensorDef(T, S.M, output=True)
):
    x[D.m] += A[D.n, D.m] * y[D.n]


@structured_op(op_name="abs")
def abs_of_two(A=TensorDef(T), B=TensorDef(T), C=TensorDef(T, output=True)):
    C[None] = A[None] * B[None]


@contextmanager
def building(*types: str) -> Iterator[list[ir.Value]]:
    """The arguments of a function under construction."""
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            main = func.FuncOp("main", ([ir.Type.parse(t) for t in types], []))
        block = main.add_entry_block()
        with ir.InsertionPoint(block):
            yield list(block.arguments)
            func.ReturnOp([])
        assert module.operation.verify()


def names_built(value: ir.Value) -> list[str]:
    """The ops of the block that a value is an argument of."""
    return [op.operation.name for op in ir.BlockArgument(value).owner.operations]


def ran(body: Body, *arrays: Array, dynamic: bool = False) -> list[Array]:
    """What a function gives whose results are those of `body` on its arguments."""
    elements = {"float32": "f32", "int32": "i32", "bool": "i1", "complex64": "complex<f32>"}
    types = [
        f"tensor<{''.join('?x' if dynamic else f'{size}x' for size in array.shape)}"
        f"{elements[str(array.dtype)]}>"
        for array in arrays
    ]
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            main = func.FuncOp("main", ([ir.Type.parse(t) for t in types], []))
        block = main.add_entry_block()
        with ir.InsertionPoint(block):
            result: Any = body(*block.arguments)
            results = [result] if isinstance(result, ir.Value) else list(result)
            func.ReturnOp(results)
        signature = ir.FunctionType.get(
            [a.type for a in block.arguments], [r.type for r in results]
        )
        main.attributes["function_type"] = ir.TypeAttr.get(signature)
        assert module.operation.verify()
        got = compile_module(module, "main")(*arrays)
    return list(got) if isinstance(got, tuple) else [got]


X = np.arange(12, dtype=np.float32).reshape(3, 4) - 5


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize(
    ("op", "inputs", "expected"),
    [
        (row_sum, [X], [X.sum(1)]),
        (extremes, [X], [X.min(1), X.max(1)]),
        (differences, [X[0]], [X[0][:, None] - X[0]]),
        (positions, [X], [np.arange(3)[:, None] * 10 + np.arange(4)]),
        (core_ops()["exp"], [X], [np.exp(X)]),
        (core_ops()["exp"], [X[0, 0, ...]], [np.exp(X[0, 0, ...])]),
        (core_ops()["matvec"], [X, X[0]], [X @ X[0]]),
        (core_ops()["conv_1d"], [X[0], X[0, :2]], [np.correlate(X[0], X[0, :2])]),
        (core_ops()["conv_1d"], [X[0, :2], X[0]], [np.empty(0, np.float32)]),
    ],
)
def test_outputs_are_made(
    op: StructuredOp, inputs: Sequence[Array], expected: Sequence[Array], dynamic: bool
) -> None:
    if not dynamic and inputs[0].size < inputs[-1].size and op.op_name == "conv_1d":
        with pytest.raises(ShapeError, match="needs 4 elements of I, which has size 2"):
            ran(op, *inputs)
        return
    assert_same(ran(op, *inputs, dynamic=dynamic), expected, op.op_name)


@pytest.mark.parametrize("function", ["add", "mul", "max_signed", "min_signed"])
def test_the_start_is_that_of_the_chosen_function(function: str) -> None:
    reductions: dict[str, Any] = {
        "add": np.sum,
        "mul": np.prod,
        "max_signed": np.max,
        "min_signed": np.min,
    }
    assert_same(ran(lambda a: fold(a, fn=function), X), [reductions[function](X, axis=1)], function)


def test_a_static_size_is_preferred() -> None:
    add = core_ops()["batch_matvec"]
    with building("tensor<?x3x4xf32>", "tensor<2x4xf32>") as (a, b):
        assert str(add(a, b).type) == "tensor<2x3xf32>"


def test_python_numbers_for_scalars() -> None:
    assert_same(ran(lambda a: scale(a, 2), X), [X * 2], "int for f32")
    assert_same(ran(lambda a: scale(a, np.float32(0.5)), X), [X * 0.5], "NumPy scalar")
    z = X.astype(np.complex64)
    assert_same(ran(lambda a: scale(a, 1j), z), [z * 1j], "complex")


def test_booleans() -> None:
    case = problem(choose, np.float32, dtypes={"B": np.bool_})
    assert_same(run([case])[0], case.reference(), "select")
    flags = np.array([[True, False], [True, True]])
    assert_same(ran(row_sum, flags), [np.asarray(flags.any(1))], "a sum of booleans is `or`")


def test_named_only_where_it_means_the_same() -> None:
    with building("tensor<3x4xf32>", "tensor<3xf32>", "tensor<4xf32>") as (a, y, x):
        transposed_matvec(a, y, outs=[x])
        core_ops()["matvec"](a, x, outs=[y])
        core_ops()["matvec"](a, x, outs=[y], emit_generic=True)
        assert names_built(a) == ["linalg.generic", "linalg.matvec", "linalg.generic"]


@pytest.mark.parametrize("element", ["f32", "i32", "i1", "complex<f32>", "index"])
def test_upstreams_name_for_another_number_of_operands(element: str) -> None:
    shape = f"tensor<4x{element}>"
    with building(shape, shape, shape) as (a, b, c):
        abs_of_two(a, b, outs=[c])
        assert names_built(a) == ["linalg.generic"]


def test_results() -> None:
    with building("tensor<3x4xf32>", "memref<3x4xf32>", "memref<3xf32>") as (a, m, n):
        one = row_sum(a)
        low, high = extremes(a)
        nothing = row_sum(m, outs=n)
        assert isinstance(one, ir.Value)
        assert str(low.type) == str(high.type) == "tensor<3xf32>"
        assert isinstance(nothing, ir.Operation)
        assert len(nothing.results) == 0


def test_an_op_stands_for_its_result() -> None:
    with building("tensor<3x4xf32>") as (a,):
        empty = tensor.EmptyOp([3], ir.F32Type.get())
        row_sum(a, outs=[empty])


TYPES = ("tensor<3x4xf32>", "tensor<3xf32>", "tensor<4xf32>", "memref<3xf32>", "tensor<3xi32>")

WRONG: dict[str, tuple[Body, type[LinalgExtError], str]] = {
    "too many inputs": (lambda a, *_: row_sum(a, a), ArityError, "expected 1: A"),
    "too few inputs": (lambda *_: scale(outs=[]), ArityError, "no input A"),
    "input twice": (lambda a, *_: row_sum(a, A=a), ArityError, "input A twice"),
    "unknown keyword": (lambda a, *_: row_sum(a, axis=1), ArityError, "no argument 'axis'"),
    "too many outputs": (lambda a, b, *_: row_sum(a, outs=[b, b]), ArityError, "2 output"),
    "outs that is not a list": (lambda a, *_: row_sum(a, outs=3), ArgumentError, "outs=3"),
    "emit_generic": (lambda a, *_: row_sum(a, emit_generic=1), ArgumentError, "a bool"),
    "rank": (lambda a, b, *_: row_sum(b), ShapeError, "A is of rank 1"),
    "rank of an output": (lambda a, *_: row_sum(a, outs=[a]), ShapeError, "C is of rank 2"),
    "size of an output": (
        lambda a, b, c, *_: row_sum(a, outs=[c]),
        ShapeError,
        "dimension m is 3 for A (axis 0), but C has size 4",
    ),
    "shapes of an element-wise op": (
        lambda a, b, c, *_: core_ops()["exp"](b, outs=[c]),
        ShapeError,
        "I is of type tensor<3xf32>, but O is of type tensor<4xf32>",
    ),
    "array beside a value": (
        lambda a, b, *_: row_sum(np.ones((3, 4)), outs=[b]),
        DTypeError,
        "an MLIR value",
    ),
    "tensor and memref": (
        lambda a, b, c, d, *_: row_sum(a, outs=[d]),
        DTypeError,
        "tensors alone, or memrefs alone",
    ),
    "memref without outputs": (
        lambda a, b, c, d, *_: core_ops()["exp"](d),
        ArgumentError,
        "an op on memrefs writes to memrefs",
    ),
    "one type variable, two types": (
        lambda a, b, c, d, e: row_sum(a, outs=[e]),
        DTypeError,
        "C is of i32, but type variable T is f32 by A",
    ),
    "no cast": (lambda a, b, c, d, e: mixed(e, b), DTypeError, "mul is applied to i32 and f32"),
    "no meaning": (
        lambda a, b, c, d, e: core_ops()["exp"](e),
        DTypeError,
        "exp has no meaning for i32",
    ),
    "tensor for a scalar": (
        lambda a, b, *_: scale(a, b),
        DTypeError,
        "scalar x is of type tensor<3xf32>",
    ),
    "fraction for an integer": (
        lambda a, b, c, d, e: scale(e, 1.5),
        DTypeError,
        "1.5 is not an integer",
    ),
    "too large for an integer": (
        lambda a, b, c, d, e: scale(e, 2**32),
        DTypeError,
        "4294967296 does not fit in i32",
    ),
    "complex for a real": (lambda a, *_: scale(a, 2j), DTypeError, "imaginary part"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_is_refused_and_leaves_nothing(name: str) -> None:
    body, error, words = WRONG[name]
    with building(*TYPES) as arguments:
        before = names_built(arguments[0])
        with pytest.raises(error) as raised:
            body(*arguments)
        assert words in str(raised.value), str(raised.value)
        assert names_built(arguments[0]) == before


def test_the_ops_before_a_wrong_call_stay() -> None:
    with building(*TYPES) as (a, _, _, _, e):
        one = arith.ConstantOp(ir.F32Type.get(), 1.0)
        marked = arith.ConstantOp(ir.F32Type.get(), 2.0)
        with ir.InsertionPoint(marked), pytest.raises(DTypeError):
            core_ops()["exp"](e)
        assert names_built(a) == ["arith.constant"] * 2
        scale(a, one)


def test_outside_an_insertion_point() -> None:
    with building(*TYPES) as (a, b, *_):
        pass
    with pytest.raises(ArgumentError, match="outside an insertion point"):
        row_sum(a, outs=[b])


def test_unary_functions_of_every_family() -> None:
    @structured_op
    def negated_square(A=TensorDef(T), C=TensorDef(T, output=True)):
        C[None] = -UnaryFn.square(A[None]) + 1

    for dtype in (np.float32, np.int32, np.complex64):
        values: Any = X.astype(dtype)
        assert_same(ran(negated_square, values), [1 - values * values], str(dtype))


def test_casts_between_families() -> None:
    z = np.array([0, 1j, 2, -3 + 1j], np.complex64)
    copy = core_ops()["copy"]
    for source, target in (
        (z, np.bool_),
        (z, np.float32),
        (np.array([0.0, 0.5, -2.0], np.float32), np.bool_),
        (np.array([0, 256, -1], np.int32), np.bool_),
        (np.array([-2, 3], np.int32), np.complex64),
        (np.array([1.5, -2.5], np.float16), np.float32),
    ):
        case = problem(copy, source.dtype, dtypes={"U": target})
        shaped = np.resize(source, (2, 3))
        case.arrays["I"][...] = shaped
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            assert_same(run([case])[0], case.reference(), f"{source.dtype} to {target}")


def test_unsigned_arrays() -> None:
    """What an array's dtype says about its integers reaches the body of the op."""
    case = problem(core_ops()["copy"], np.int8, dtypes={"U": np.float32})
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        types = types_of(case, memref=False)
        with ir.InsertionPoint(module.body):
            main = func.FuncOp("main", (types, types[1:]))
        block = main.add_entry_block()
        with ir.InsertionPoint(block):
            inputs, outputs = list(block.arguments)[:1], list(block.arguments)[1:]
            bound = bind(case.definition, inputs, outputs, case.resolved, frozenset({"T1"}))
            result: Any = build(bound)
            func.ReturnOp([result])
        assert module.operation.verify()
        assert "arith.uitofp" in str(module)
