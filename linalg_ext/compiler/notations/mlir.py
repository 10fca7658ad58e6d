"""A definition as MLIR's text: a function around one structured op, with sizes left open.

    func.func @dot(%arg0: tensor<?xf32>, %arg1: tensor<?xf32>, %arg2: tensor<f32>) -> tensor<f32> {
      %0 = linalg.generic {...} ins(%arg0, %arg1 : ...) outs(%arg2 : ...) ...
      return %0 : tensor<f32>
    }

Read back, each structured op of a text is a definition: see `linalg_ext.structured.definition_of`.
"""

from __future__ import annotations

from collections.abc import Mapping

from linalg_ext.bindings import func, ir
from linalg_ext.definition.model import OpDefinition, Operand, OperandKind
from linalg_ext.errors import NotationError
from linalg_ext.ir.context import new_context
from linalg_ext.module import Module
from linalg_ext.notations.registry import Notation, register
from linalg_ext.notations.std_functions import concrete, element_of, no_element_type
from linalg_ext.opdsl.op import StructuredOp
from linalg_ext.structured.indexed_forms import SCAN, recurrence_of
from linalg_ext.structured.recognition import definition_of
from linalg_ext.structured.structured_interface import is_structured
from linalg_ext.symbolic.affine import AffineConst


def read_mlir(text: str, *, filename: str | None = None) -> tuple[OpDefinition, ...]:
    """Return the definitions of the structured ops of a text, in its order.

    Raises:
        NotationError: the text has no structured op.
        ParseError: it is not MLIR.
        RecognitionError: no definition describes one of its ops.
    """
    ops: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if is_structured(op) or op.name == SCAN:
            ops.append(op)
        return ir.WalkResult.ADVANCE

    module = Module.parse(text, filename=filename or "MLIR text")
    module.ir.operation.walk(visit)  # an error in there would arrive as a RuntimeError
    if not ops:
        raise NotationError(
            "the text has no structured op",
            where=filename,
            expected="linalg.generic, or a named op of linalg",
        )
    with module.ir.context:
        return tuple(
            recurrence_of(op) if op.name == SCAN else definition_of(op, look_ups=True) for op in ops
        )


def write_mlir(
    op: OpDefinition, types: Mapping[str, str] | str | None = None, *, generic: bool = True
) -> str:
    """Return the text of a module with a function that is the op.

    Args:
        op: the definition.
        types: element types for its type variables, as for `to_tc`.
        generic: write `linalg.generic` even where linalg has a named op.

    Raises:
        NotationError: a type variable has no element type, or the op is of any rank.
    """
    definition = concrete(op, types)
    if definition.is_rank_polymorphic:
        raise NotationError(
            f"{definition.name} is element-wise at any rank, and a type of MLIR has one",
            hint="write an op of the rank that is meant",
        )
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        operands = (*definition.inputs, *definition.outputs)
        arguments = [_type(definition, operand) for operand in operands]
        results = arguments[len(definition.inputs) :]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp(definition.name, (arguments, results))
            block = function.add_entry_block()
        with ir.InsertionPoint(block):
            values = list(block.arguments)
            inputs, outs = values[: len(definition.inputs)], values[len(definition.inputs) :]
            generic = generic and not definition.recurrence_dims  # which is not a linalg.generic
            built = StructuredOp(definition)(*inputs, outs=outs, emit_generic=generic)
            func.ReturnOp([built] if isinstance(built, ir.Value) else list(built))
        return str(module)


def _type(definition: OpDefinition, operand: Operand) -> ir.Type:
    name = element_of(operand.type_var)
    if name is None:
        raise no_element_type(definition, str(operand.type_var), "MLIR's text")
    element = ir.Type.parse(name)
    if operand.kind is OperandKind.SCALAR:
        return element
    dynamic = ir.ShapedType.get_dynamic_size()
    sizes = [size.value if isinstance(size, AffineConst) else dynamic for size in operand.shape]
    return ir.RankedTensorType.get(sizes, element)


register(
    Notation(
        "mlir",
        "MLIR's text: a function around one structured op",
        read=read_mlir,
        write=write_mlir,
        suffixes=(".mlir",),
    )
)
