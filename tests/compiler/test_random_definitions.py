"""Random well-formed definitions: every way to run or to write one down says the same.

A definition is drawn (dimensions, indices, functions, dtypes), then evaluated by the oracle, run as
the op that is built for it and as `linalg.generic`, read back from IR and from YAML, and run again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linalg_ext.bindings import func, ir
from linalg_ext.compiler import compile
from linalg_ext.definition import (
    Access,
    AffineDim,
    AffineExpr,
    AffineSymbol,
    Apply,
    Assignment,
    Const,
    Index,
    OpDefinition,
    Operand,
    OperandKind,
    Reduction,
    ScalarExpr,
    TypeVar,
    check,
)
from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.equivalence import equivalent
from linalg_ext.definition.functions import BINARY, TERNARY, TYPE, UNARY
from linalg_ext.definition.specialization import specialize
from linalg_ext.errors import NotationError
from linalg_ext.ir.context import new_context
from linalg_ext.notations import from_yaml, to_yaml
from linalg_ext.opdsl import StructuredOp
from linalg_ext.runtime.dtypes import by_dtype
from linalg_ext.structured import definition_of
from linalg_ext.structured.op_builders import build, results_of
from linalg_ext.structured.operands import bind
from linalg_ext.structured.payload import build_generic

Array = np.ndarray[Any, Any]

# Every example compiles four kernels: few examples, each with much variety, and no deadline.
RUN = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))

U = TypeVar("U")
# Functions that are exact, or nearly so, on the small numbers that are drawn.
EXACT_UNARY = ("abs", "negf", "square")
EXACT_BINARY = ("add", "sub", "mul", "max_signed", "min_signed")
REDUCTIONS = ("add", "max_signed", "min_signed")
PREDICATES = ("lt", "ge", "ne")
DTYPES = [np.dtype(kind) for kind in (np.float32, np.float64, np.int32, np.int64, np.int8)]
EXTENT = 3


def size_of(expr: AffineExpr) -> int:
    """The least size that an index with these coefficients stays inside of."""
    leaves: dict[AffineExpr, int] = {AffineDim(dim): EXTENT - 1 for dim in expr.dims}
    return int(expr.evaluate(leaves)) + 1


@st.composite
def indices(draw: st.DrawFn, dims: tuple[str, ...]) -> AffineExpr:
    """A dimension, a sum of two, a multiple, or one shifted."""
    expr: AffineExpr = AffineDim(draw(st.sampled_from(dims)))
    kind = draw(st.sampled_from(["plain", "plain", "sum", "scaled", "shifted"]))
    if kind == "sum":
        other = draw(st.sampled_from(dims))
        expr = expr + AffineDim(other) * draw(st.integers(1, 2))
    if kind == "scaled":
        expr = expr * 2
    return expr + 1 if kind == "shifted" else expr


@st.composite
def expressions(draw: st.DrawFn, leaves: list[ScalarExpr], depth: int) -> ScalarExpr:
    """A tree of functions over values that are all of type U."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(leaves))
    kind = draw(st.sampled_from(["unary", "binary", "binary", "select"]))
    args = [
        draw(expressions(leaves, depth - 1)) for _ in range({"unary": 1, "binary": 2}.get(kind, 4))
    ]
    if kind == "unary":
        return Apply(UNARY[draw(st.sampled_from(EXACT_UNARY))], tuple(args))
    if kind == "binary":
        return Apply(BINARY[draw(st.sampled_from(EXACT_BINARY))], tuple(args))
    condition = Apply(BINARY[draw(st.sampled_from(PREDICATES))], tuple(args[:2]))
    return Apply(TERNARY["select"], (condition, *args[2:]))


@st.composite
def definitions(draw: st.DrawFn) -> OpDefinition:
    """An op with one to three inputs and one output, parallel or reduced."""
    rank = draw(st.integers(1, 3))
    dims = tuple(f"d{i}" for i in range(rank + draw(st.integers(0, 1))))
    reduced = dims[rank:]
    target_dims = draw(st.permutations(dims[:rank]))
    operands: list[Operand] = []
    leaves: list[ScalarExpr] = [Apply(TYPE["cast_signed"], (Const(draw(st.integers(-2, 2))),), U)]
    if draw(st.booleans()):
        place = Index(draw(st.sampled_from(dims)))
        leaves.append(Apply(TYPE["cast_signed"], (place,), U))
    inputs = draw(st.integers(1, 3))
    values: list[ScalarExpr] = []
    for i in range(inputs):
        type_var = TypeVar(f"T{i}")
        exprs = tuple(draw(st.lists(indices(dims), min_size=1, max_size=3)))
        symbols = tuple(AffineSymbol(f"S{i}{axis}") for axis in range(len(exprs)))
        operands.append(Operand(f"X{i}", OperandKind.INPUT_TENSOR, type_var, symbols))
        access = Access(f"X{i}", exprs, type_var)
        values.append(Apply(TYPE["cast_signed"], (access,), U))
    # Every dimension must be read or written: the first input is indexed by all that are reduced.
    if reduced:
        first = operands[0]
        exprs = tuple(AffineDim(dim) for dim in dims)
        symbols = tuple(AffineSymbol(f"S0{axis}") for axis in range(len(exprs)))
        operands[0] = Operand(first.name, first.kind, first.type_var, symbols)
        values[0] = Apply(TYPE["cast_signed"], (Access("X0", exprs, TypeVar("T0")),), U)
    shape = tuple(AffineSymbol(f"N{dim}") for dim in target_dims)
    operands.append(Operand("C", OperandKind.OUTPUT_TENSOR, U, shape))
    target = Access("C", tuple(AffineDim(dim) for dim in target_dims), U)
    value = values[0]
    for other in values[1:]:
        value = Apply(BINARY[draw(st.sampled_from(EXACT_BINARY))], (value, other))
    value = Apply(BINARY["add"], (value, draw(expressions([*leaves, *values], 2))))
    reduction = None
    if reduced:
        function = BINARY[draw(st.sampled_from(REDUCTIONS))]
        reduction = Reduction(function, reduced)
        value = Apply(function, (target, value))
    return check(
        OpDefinition(
            "drawn",
            "DrawnOp",
            "Drawn.",
            tuple(operands),
            dims,
            (Assignment(target, value, reduction),),
        )
    )


@st.composite
def calls(draw: st.DrawFn) -> tuple[OpDefinition, list[Array], np.dtype[Any], Array]:
    """A definition, inputs that fit it, the dtype of the output, and what the output was."""
    definition = draw(definitions())
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    result = draw(st.sampled_from(DTYPES))
    smaller = [d for d in DTYPES if np.can_cast(d, result)]
    arrays = []
    for operand in definition.inputs:
        (exprs,) = definition.accesses[operand.name]
        shape = [size_of(expr) for expr in exprs]
        # A dimension by itself fixes its size; what is read by a sum may be larger.
        dtype = draw(st.sampled_from(smaller))
        arrays.append(generator.integers(-3, 4, shape).astype(dtype))
    init = generator.integers(-3, 4, [EXTENT] * definition.outputs[0].rank).astype(result)
    return definition, arrays, result, init


def run_generic(
    definition: OpDefinition, arrays: list[Array], init: Array, *, named: bool
) -> Array:
    """The op on tensors, built by itself and compiled."""
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        types = [
            ir.RankedTensorType.get(a.shape, ir.Type.parse(by_dtype(a.dtype).mlir))
            for a in (*arrays, init)
        ]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("f", (types, types[-1:]))
        with ir.InsertionPoint(function.add_entry_block()):
            *inputs, output = function.arguments
            bound = bind(definition, inputs, [output], CallAttributes())
            built = build(bound) if named else build_generic(bound)
            func.ReturnOp(results_of(built))
        if not named:
            generic = next(iter(function.entry_block.operations))
            check_read_back(generic, definition, arrays, init)
        result: Array = compile(module, "f", trusted=True, checked=False)(*arrays, init)
        return result


def check_read_back(
    generic: ir.OpView, definition: OpDefinition, arrays: list[Array], init: Array
) -> None:
    """The definition that IR is read back into is the one that it was built from."""
    back, expected = definition_of(generic), specialized(definition, arrays, init)
    by_way_of_i64 = init.dtype.kind == "f" and "index(" in str(definition)
    # A position becomes a float by way of i64, which an operand's type variable may also be.
    assert equivalent(back, expected) or by_way_of_i64, f"{back}\n{expected}"


def specialized(definition: OpDefinition, arrays: list[Array], init: Array) -> OpDefinition:
    """What IR can tell of a definition: type variables of one element type are one."""
    types = {
        str(o.type_var): by_dtype(a.dtype).mlir
        for o, a in zip(definition.inputs, arrays, strict=True)
    }
    return specialize(definition, {**types, "U": by_dtype(init.dtype).mlir})


@RUN
@given(calls())
def test_every_way_says_the_same(
    call: tuple[OpDefinition, list[Array], np.dtype[Any], Array],
) -> None:
    definition, arrays, dtype, init = call
    expected = definition.reference(*arrays, init=init, dtype=dtype)
    np.testing.assert_allclose(StructuredOp(definition)(*arrays, init=init, dtype=dtype), expected)
    for named in (False, True):
        np.testing.assert_allclose(run_generic(definition, arrays, init, named=named), expected)
    try:
        text = to_yaml(definition)
    except NotationError:
        return
    back = from_yaml(text)
    assert equivalent(back.definition, definition)
    assert to_yaml(back) == text
    np.testing.assert_allclose(back(*arrays, init=init, dtype=dtype), expected)
