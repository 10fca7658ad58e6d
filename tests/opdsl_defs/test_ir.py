"""Every op, built as IR on tensors of unknown sizes; by upstream's op where there is one."""

from __future__ import annotations

from typing import Any

import pytest

import linalg_ext
from linalg_ext.bindings import func, ir, linalg
from linalg_ext.definition.model import OperandKind
from linalg_ext.definition.types import PREDEFINED
from linalg_ext.errors import DTypeError, ShapeError
from linalg_ext.ir.context import new_context
from linalg_ext.opdsl import StructuredOp
from op_cases import ALL_FORMULAS, OPS, WINDOWS, Case, formula_case, window_case

ELEMENTS = {"f": ("f32", "f64"), "i": ("i8", "i32")}
"""Of inputs and of outputs, where an op lets them differ."""

FIXED = {"bool": "i1", "int32": "i32", "int64": "i64", "float32": "f32", "float64": "f64"}


def _kinds(name: str) -> list[str]:
    if name.startswith("quantize_") or name == "quantize":
        return ["f"]  # and to i8: see below
    if name.endswith("_average"):
        return ["f"]
    if name.endswith("_unsigned") and name not in ALL_FORMULAS:
        return ["i"]
    return ALL_FORMULAS[name].kinds.split() if name in ALL_FORMULAS else ["f", "i"]


def _needs_sizes(name: str) -> bool:
    """Return whether an index is computed with a size; MLIR's maps hold sizes as numbers only."""
    definition = OPS[name].definition
    bound = {s for o in definition.attributes for size in o.shape for s in size.symbols}
    indices = (
        i for accesses in definition.accesses.values() for access in accesses for i in access
    )
    return any(set(index.symbols) - bound for index in indices)


SIZED = [name for name in OPS if _needs_sizes(name)]


def _case(name: str, kind: str) -> Case:
    if name in WINDOWS:
        return window_case(name, kind, is_strided=bool(OPS[name].definition.attributes))
    return formula_case(name, kind)


def _types(op: StructuredOp, kind: str, *, is_sized: bool) -> list[ir.Type]:
    definition = op.definition
    result = definition.outputs[0].type_var
    types = []
    case = _case(op.op_name, kind) if is_sized else None
    shapes = [array.shape for array in (*case.inputs, *case.before)] if case else []
    for position, operand in enumerate((*definition.inputs, *definition.outputs)):
        element = ELEMENTS[kind][operand.type_var == result]
        element = FIXED.get(PREDEFINED.get(str(operand.type_var), ""), element)
        if op.op_name == "select" and operand.name == "cond":
            element = "i1"
        if op.op_name.split("_")[0] == "quantize" and operand.name == "O":
            element = "i8"
        if operand.kind is OperandKind.SCALAR:
            types.append(ir.Type.parse(element))
        else:
            rank = 2 if definition.is_rank_polymorphic else operand.rank
            sizes = shapes[position] if shapes else ("?",) * rank
            types.append(ir.Type.parse(f"tensor<{''.join(f'{s}x' for s in sizes)}{element}>"))
    return types


def _built(op: StructuredOp, kind: str, *, are_sizes_known: bool = True) -> str:
    """The name of the op that is built, verified."""
    is_sized = are_sizes_known and op.op_name in SIZED
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            block = func.FuncOp("f", (_types(op, kind, is_sized=is_sized), [])).add_entry_block()
        with ir.InsertionPoint(block):
            arguments: list[Any] = list(block.arguments)
            count = len(op.definition.inputs)
            given = _case(op.op_name, kind).attributes if is_sized else {}
            op(*arguments[:count], outs=arguments[count:], **given)
            func.ReturnOp([])
        assert module.operation.verify()
        names = [str(operation.operation.name) for operation in block.operations]
        return next(name for name in names if name.startswith("linalg."))


@pytest.mark.parametrize("name", dir(linalg_ext.ops))
def test_ir_verifies(name: str) -> None:
    op = getattr(linalg_ext.ops, name)
    built = {_built(op, kind) for kind in _kinds(name)}
    upstream = getattr(linalg, op.definition.cpp_class_name, None)
    if upstream is not None and "f" in _kinds(name) and not name.startswith("elemwise"):
        assert upstream.OPERATION_NAME in built
    else:
        assert built <= {"linalg.generic", f"linalg.{name}"}


@pytest.mark.parametrize("name", SIZED)
def test_a_size_in_an_index_must_be_known(name: str) -> None:
    with pytest.raises(ShapeError, match=f"{name} computes an index with the size . of "):
        _built(OPS[name], "f", are_sizes_known=False)


@pytest.mark.parametrize(
    "name", [name for name, formula in ALL_FORMULAS.items() if formula.kinds == "f"]
)
def test_integers_are_refused_by_ops_for_floats(name: str) -> None:
    takes_integers = {"abs", "negf", "square", "leaky_relu", "lerp", "softmax_normalize"}
    if name in takes_integers:
        _built(getattr(linalg_ext.ops, name), "i")
    else:
        with pytest.raises(DTypeError, match="has no meaning for i"):
            _built(getattr(linalg_ext.ops, name), "i")
