"""The kernel of an op: a function of it alone, compiled."""

from __future__ import annotations

from functools import partial

from linalg_ext.bindings import func, ir
from linalg_ext.compiler.module_compilation import compile_built
from linalg_ext.compiler.op_call import OpCall
from linalg_ext.compiler.op_dtypes import unsigned_type_vars
from linalg_ext.definition.model import OperandKind
from linalg_ext.executable.kernel import CompilerOptions, Kernel
from linalg_ext.runtime.dtypes import by_dtype
from linalg_ext.structured.op_builders import build, results_of
from linalg_ext.structured.operands import bind
from linalg_ext.structured.outputs import initial_tensor


def compile_op(call: OpCall, key: str | None) -> Kernel:
    """Return the kernel for calls of an op, made; `key` is its key in the cache, if it is kept."""
    definition = call.definition
    results = [call.dtypes[str(output.type_var)] for output in definition.outputs]
    options = CompilerOptions(result_dtypes=results)
    return compile_built(definition.name, partial(_build_function, call), options, key=key)


def _build_function(call: OpCall) -> None:
    """Build a function of the op, from its inputs and given initial values to its results."""
    definition = call.definition
    elements = {name: ir.Type.parse(by_dtype(d).mlir) for name, d in call.dtypes.items()}
    initialized = [o for o in definition.outputs if o.name in call.initialized]
    types = [
        elements[str(operand.type_var)]
        if operand.kind is OperandKind.SCALAR
        else ir.RankedTensorType.get(call.shapes[operand.name], elements[str(operand.type_var)])
        for operand in (*definition.inputs, *initialized)
    ]
    results = [
        ir.RankedTensorType.get(call.shapes[output.name], elements[str(output.type_var)])
        for output in definition.outputs
    ]
    function = func.FuncOp(definition.name, (types, results))
    with ir.InsertionPoint(function.add_entry_block()):
        arguments = list(function.arguments)
        inputs = arguments[: len(definition.inputs)]
        initial_values = dict(zip(initialized, arguments[len(inputs) :], strict=True))
        outputs = [
            initial_values[output]
            if output in initial_values
            else initial_tensor(
                definition,
                output.name,
                call.shapes[output.name],
                elements[str(output.type_var)],
                call.attributes,
                call.dtypes[str(output.type_var)],
            )
            for output in definition.outputs
        ]
        bound = bind(definition, inputs, outputs, call.attributes, unsigned_type_vars(call.dtypes))
        computed = call.compute_type and ir.Type.parse(by_dtype(call.compute_type).mlir)
        func.ReturnOp(results_of(build(bound, mapped=bool(call.maps), compute_type=computed)))
