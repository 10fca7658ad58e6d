"""Every op, built as IR on tensors of unknown sizes; by upstream's op where there is one."""

from __future__ import annotations

from typing import Any

import pytest

import linalg_ext
from linalg_ext.bindings import func, ir, linalg
from linalg_ext.context import new_context
from linalg_ext.definition.model import OperandKind
from linalg_ext.definition.types import PREDEFINED
from linalg_ext.errors import DTypeError
from linalg_ext.opdsl import StructuredOp
from op_formulas import FORMULAS

ELEMENTS = {"f": ("f32", "f64"), "i": ("i8", "i32")}
"""Of inputs and of outputs, where an op lets them differ."""

FIXED = {"int32": "i32", "int64": "i64", "float32": "f32", "float64": "f64"}


def _kinds(name: str) -> list[str]:
    if name == "quantize":
        return ["f"]  # and to i8: see below
    return FORMULAS[name].kinds.split() if name in FORMULAS else ["f", "i"]


def _types(op: StructuredOp, kind: str) -> list[ir.Type]:
    definition = op.definition
    result = definition.outputs[0].type_var
    types = []
    for operand in (*definition.inputs, *definition.outputs):
        element = ELEMENTS[kind][operand.type_var == result]
        element = FIXED.get(PREDEFINED.get(str(operand.type_var), ""), element)
        if op.op_name == "select" and operand.name == "cond":
            element = "i1"
        if op.op_name == "quantize" and operand.name == "O":
            element = "i8"
        if operand.kind is OperandKind.SCALAR:
            types.append(ir.Type.parse(element))
        else:
            rank = 2 if definition.is_rank_polymorphic else operand.rank
            types.append(ir.Type.parse(f"tensor<{'?x' * rank}{element}>"))
    return types


def _built(op: StructuredOp, kind: str) -> str:
    """The name of the op that is built, verified."""
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            block = func.FuncOp("f", (_types(op, kind), [])).add_entry_block()
        with ir.InsertionPoint(block):
            arguments: list[Any] = list(block.arguments)
            count = len(op.definition.inputs)
            op(*arguments[:count], outs=arguments[count:])
            func.ReturnOp([])
        assert module.operation.verify()
        return str(block.operations[0].operation.name)


@pytest.mark.parametrize("name", dir(linalg_ext.ops))
def test_ir_verifies(name: str) -> None:
    op = getattr(linalg_ext.ops, name)
    built = {_built(op, kind) for kind in _kinds(name)}
    upstream = getattr(linalg, op.definition.cpp_class_name, None)
    if upstream is not None and "f" in _kinds(name) and not name.startswith("elemwise"):
        assert upstream.OPERATION_NAME in built
    else:
        assert built <= {"linalg.generic", f"linalg.{name}"}


@pytest.mark.parametrize(
    "name", [name for name, formula in FORMULAS.items() if formula.kinds == "f"]
)
def test_integers_are_refused_by_ops_for_floats(name: str) -> None:
    takes_integers = {"abs", "negf", "square", "leaky_relu", "lerp", "softmax_normalize"}
    if name in takes_integers:
        _built(getattr(linalg_ext.ops, name), "i")
    else:
        with pytest.raises(DTypeError, match="has no meaning for i"):
            _built(getattr(linalg_ext.ops, name), "i")
