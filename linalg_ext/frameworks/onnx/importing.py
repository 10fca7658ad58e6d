"""A model of ONNX as a module of linalg on tensors, through torch-mlir's importer and passes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import CrashError, IRError, ModelError
from linalg_ext.frameworks.kernels import ENTRY
from linalg_ext.frameworks.onnx.recurrent import NODE, recurrence_of
from linalg_ext.frameworks.onnx.writing import opset_of
from linalg_ext.frameworks.requirements import onnx, onnx_importer
from linalg_ext.frameworks.torch_dialect import write_cutting_pads, write_traced, write_views
from linalg_ext.ir.context import new_context
from linalg_ext.module import Module
from linalg_ext.runtime import parser_process

_TO_TORCH = "torch-onnx-to-torch-backend-pipeline"
_TO_LINALG = "inline,torch-backend-to-linalg-on-tensors-backend-pipeline{allow-non-finites=true}"

_UNSIGNED = ("UINT8", "UINT16", "UINT32", "UINT64")
_KEEPING = frozenset(
    {
        *("Cast", "Concat", "Constant", "Expand", "Flatten", "Gather", "Identity", "Reshape"),
        *("Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze", "DequantizeLinear"),
        *("QuantizeLinear", "DynamicQuantizeLinear", "Shape", "Where", "Equal"),
    }
)
"""Ops that do not compute with the sign of integers, or handle it."""


def imported(model: Any) -> Module:
    """Return a prepared model as linalg on tensors: the function `main`.

    Raises:
        ModelError: a node of it does not come through; names it.
    """
    _refuse_what_would_differ(model)
    module = Module(_torch_ir(model), filename="the model")
    module = _lowered(model, module, _TO_TORCH)
    write_traced(module.ir, _recurrence)
    write_views(module.ir)
    write_cutting_pads(module.ir)
    return _lowered(model, module, _TO_LINALG)


def _recurrence(op: ir.Operation) -> tuple[str, Callable[..., Any]] | None:
    """Return the text of a recurrent layer, and the function that computes it."""
    if ir.StringAttr(op.attributes["name"]).value != f"onnx.{NODE}":
        return None
    text = ir.StringAttr(op.attributes["torch.onnx.cell"]).value
    return text, recurrence_of(text).over_rows


def _lowered(model: Any, module: Module, pipeline: str) -> Module:
    """Run passes on a module in the guard process, where a crash becomes an error."""
    try:
        done = parser_process.run_passes(module.bytecode(), pipeline, allow_unregistered=False)
    except CrashError as error:
        raise ModelError(f"torch-mlir's passes die of the model: {error.what}") from error
    if isinstance(done, parser_process.Refusal):
        lines = [line for one in done.diagnostics for line in (one, *one.notes)]
        first = lines[0].message.strip().partition("\n")[0] if lines else done.message
        raise _refusal(
            model, "\n".join(f"{line.location}\n{line.message}" for line in lines), first
        )
    return Module.parse(done.bytecode, trusted=True, legalize=False, context=new_context())


def refusal_of(model: Any, error: IRError) -> ModelError:
    """Return an error of this library's compiler, by the node that it is about."""
    text = "\n".join([str(error.where), *map(str, error.diagnostics)])
    return _refusal(model, text, error.what)


def _refusal(model: Any, text: str, reason: str) -> ModelError:
    nodes = {node.name: node for node in model.graph.node}
    named = next((name for name in re.findall(r'"(\d+: [^"]*)"', text) if name in nodes), None)
    operator = re.search(r"onnx\.(\w+)", text)
    if named is None:
        kind = operator and operator[1]
        same = [node for node in model.graph.node if node.op_type == kind]
        return _error(same[0] if same else None, reason)
    return _error(nodes[named], reason)


def _error(node: Any, reason: str) -> ModelError:
    if node is None:
        what, where = "the model", None
    else:
        number, _, name = node.name.partition(": ")
        # Of the node that the caller knows, whatever it was written as.
        op, _, made = node.doc_string.partition(" -> ")
        what = f"{op} of the model"
        where = f"node {number}, {name}, which makes {made}"
    return ModelError(
        f"{what} cannot be compiled: {reason[:300]}",
        where=where,
        hint="export the model with other ops, or in another opset (onnx.version_converter)",
    )


def _torch_ir(model: Any) -> Any:
    importer = onnx_importer()
    context = new_context()
    model.graph.name = ENTRY
    try:
        info = importer.ModelInfo(model)
        module = info.create_module(context=context)
        importer.NodeImporter.define_function(info.main_graph, module.operation).import_all()
    except Exception as error:
        # The importer raises whatever it meets.
        first = str(error).strip().partition("\n")[0]
        raise ModelError(
            f"torch-mlir's importer cannot read the model: {type(error).__name__}: {first}",
            hint="export it in another opset (onnx.version_converter), with its shapes inferred",
        ) from error
    return module


def _refuse_what_would_differ(model: Any) -> None:
    """Refuse what torch-mlir makes something else of than ONNX says, without a word."""
    graph, types = model.graph, onnx().TensorProto
    unsigned = {getattr(types, name) for name in _UNSIGNED}
    values = (*graph.value_info, *graph.input)
    kinds = {each.name: each.type.tensor_type.elem_type for each in values}
    kinds |= {each.name: each.data_type for each in graph.initializer}
    for node in graph.node:
        if node.op_type not in _KEEPING and any(kinds.get(n) in unsigned for n in node.input):
            raise _error(node, "torch-mlir computes with unsigned integers as with signed ones")
        if node.op_type == "Resize" and _is_of_open_scale(node):
            raise _error(node, "torch-mlir rounds sizes between corners, which are not known yet")
        if (node.op_type, _mode(node)) in _OTHERWISE:
            raise _error(node, "torch-mlir takes other elements in this mode")
        if node.op_type == "PRelu" and opset_of(model) < 7:
            raise _error(node, "the slopes were those of channels before opset 7")
        if node.op_type.startswith(("Random", "Multinomial", "Bernoulli")):
            raise _error(node, "the random numbers would not be those of another runtime")


_OTHERWISE = {("GridSample", b"nearest"), ("SpaceToDepth", b"CRD")}
"""Ops that torch-mlir computes otherwise in a mode."""


def _mode(node: Any) -> Any:
    return next((each.s for each in node.attribute if each.name == "mode"), None)


def _is_of_open_scale(node: Any) -> bool:
    """Return whether a node puts corners on corners by factors that only the run tells."""
    said = {each.name: onnx().helper.get_attribute_value(each) for each in node.attribute}
    by_sizes = len(node.input) > 3 and node.input[3]
    return said.get("coordinate_transformation_mode") == b"align_corners" and not by_sizes
