"""The attribute `linalg_ext.compute_type`: read, set, checked by the module and by the parser."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from linalg_ext.bindings import func, ir
from linalg_ext.definition.functions import FUNCTIONS, FunctionKind
from linalg_ext.definition.types import has_function
from linalg_ext.errors import ArgumentError, DTypeError, VerificationError
from linalg_ext.ir.context import new_context
from linalg_ext.module import Module
from linalg_ext.structured.compute_type import (
    NAME,
    as_compute_type,
    compute_type_of,
    ops_with_compute_type,
    set_compute_type,
)
from linalg_ext.structured.payload import Scalar, emit_function

ELEMENTS = ["f32", "bf16", "f8E5M2", "i1", "i8", "i32", "complex<f32>"]


def module_with(attribute: str, *, op: str = "linalg.exp") -> str:
    return f"""func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {{
  %r = {op} {{linalg_ext.compute_type = {attribute}}}
         ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}}"""


@pytest.mark.parametrize("element", ["f32", "bf16", "f8E4M3FN", "f64", "complex<f32>"])
def test_a_type_is_taken(element: str) -> None:
    module = lx.parse(module_with(element))
    module.verify()
    (op,) = ops_with_compute_type(module.ir.operation)
    assert str(compute_type_of(op)) == element


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("5 : i32", "linalg_ext.compute_type is 5 : i32\n.*expected a type"),
        ('"f32"', "expected a type: linalg_ext.compute_type = f32"),
        ("index", "is index\n.*expected a float, integer or complex type"),
        ("si8", "is si8\n"),
        ("tensor<4xf32>", "is tensor<4xf32>\n"),
        ("vector<4xf32>", "is vector<4xf32>\n"),
        ("i32", "exp cannot be computed in i32: exp has no meaning for it"),
        ("i1", "exp cannot be computed in i1"),
        ("f8E8M0FNU", "no zero and no sign"),
    ],
)
def test_what_is_wrong_is_found_with_its_place(attribute: str, message: str) -> None:
    text = module_with(attribute)
    with pytest.raises(VerificationError, match=f"(?s){message}") as caught:
        lx.parse(text, filename="kernel.mlir")
    assert "kernel.mlir:2:8" in str(caught.value)
    assert "linalg.exp" in str(caught.value)
    # The same where nobody parsed it anew.
    with new_context() as context:
        raw = ir.Module.parse(text, context)
    with pytest.raises(VerificationError, match=f"(?s){message}"):
        Module(raw).verify()


def test_an_op_that_computes_nothing_carries_none() -> None:
    text = "func.func @f() attributes {linalg_ext.compute_type = f32} { return }"
    with pytest.raises(VerificationError, match=r"'func.func' op carries .* no body that computes"):
        lx.parse(text)


def test_softmax_has_no_body_and_carries_none() -> None:
    text = """func.func @f(%a: tensor<4x4xbf16>) -> tensor<4x4xbf16> {
  %r = linalg.softmax {linalg_ext.compute_type = f32} dimension(1)
         ins(%a : tensor<4x4xbf16>) outs(%a : tensor<4x4xbf16>) -> tensor<4x4xbf16>
  return %r : tensor<4x4xbf16>
}"""
    with pytest.raises(VerificationError, match=r"'linalg.softmax' op carries .* has no body"):
        lx.parse(text)


def test_bytecode_is_checked_too() -> None:
    with new_context() as context:
        raw = ir.Module.parse(module_with("i32"), context)
    with pytest.raises(VerificationError, match="exp has no meaning"):
        Module.parse(Module(raw).bytecode())


def test_a_pass_that_leaves_a_wrong_one_is_named() -> None:
    with new_context() as context:
        raw = ir.Module.parse(module_with("i32"), context)
    with pytest.raises(VerificationError, match="exp has no meaning"):
        Module(raw).verify(after="a-pass")


def the_op(module: Module) -> ir.Operation:
    return module.ir.body.operations[0].regions[0].blocks[0].operations[0].operation


@pytest.mark.parametrize(
    ("value", "element"),
    [
        ("bf16", "bf16"),
        ("f64", "f64"),
        (np.float64, "f64"),
        (ml_dtypes.bfloat16, "bf16"),
        ("float16", "f16"),
    ],
)
def test_setting(value: Any, element: str) -> None:
    module = lx.parse(module_with("f32"))
    op = the_op(module)
    set_compute_type(op, value)
    assert str(op.attributes[NAME]) == element
    set_compute_type(op, None)
    set_compute_type(op, None)
    assert NAME not in op.attributes


def test_setting_what_cannot_be() -> None:
    module = lx.parse(module_with("f32"))
    with pytest.raises(DTypeError, match="exp has no meaning"):
        set_compute_type(the_op(module), "i32")
    with pytest.raises(DTypeError, match="'nonsense' is not a compute type"):
        set_compute_type(the_op(module), "nonsense")
    with module.context, pytest.raises(DTypeError, match="index is not a compute type"):
        as_compute_type(ir.IndexType.get())
    with pytest.raises(ArgumentError, match=r"func\.func is not a structured op"):
        set_compute_type(module.ir.body.operations[0], "f32")
    assert str(compute_type_of(the_op(module))) == "f32"


@pytest.mark.parametrize("element", ELEMENTS)
def test_the_table_of_functions_is_what_can_be_built(element: str) -> None:
    """A function that the table lacks, or has beyond what is built, would crash or mislead."""
    differing = []
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        kind = ir.Type.parse(element)
        with ir.InsertionPoint(module.body):
            block = func.FuncOp("f", ([kind], [])).add_entry_block()
        with ir.InsertionPoint(block):
            x = Scalar(block.arguments[0])
            for family, table in FUNCTIONS.items():
                if family is FunctionKind.TYPE:
                    continue
                for name in table:
                    built = emit_function(name, [x] * family.arity) is not None
                    if built != has_function(element, name):
                        differing.append(name)
    # What abs gives of a complex number is none: it cannot be the operand of the next function.
    assert differing == (["abs"] if element.startswith("complex") else [])
