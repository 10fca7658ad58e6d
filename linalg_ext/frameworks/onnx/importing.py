"""A model of ONNX as a module of linalg on tensors, through torch-mlir's importer and passes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import CrashError, IRError, ModelError
from linalg_ext.frameworks.kernels import ENTRY
from linalg_ext.frameworks.onnx.recurrent import NODE, recurrence_of
from linalg_ext.frameworks.onnx.writing import attributes_of, opset_of
from linalg_ext.frameworks.requirements import onnx, onnx_importer
from linalg_ext.frameworks.torch_dialect import write_cutting_pads, write_traced, write_views
from linalg_ext.ir.context import new_context
from linalg_ext.module import Module
from linalg_ext.runtime import parser_process

_TO_TORCH = "torch-onnx-to-torch-backend-pipeline"
_TO_LINALG = "inline,torch-backend-to-linalg-on-tensors-backend-pipeline{allow-non-finites=true}"

_UNSIGNED = ("UINT8", "UINT16", "UINT32", "UINT64")
_SIGN_AGNOSTIC = frozenset(
    {
        *("Cast", "Concat", "Constant", "Expand", "Flatten", "Gather", "Identity", "Reshape"),
        *("Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze", "DequantizeLinear"),
        *("QuantizeLinear", "DynamicQuantizeLinear", "Shape", "Where", "Equal"),
    }
)
"""Ops that are independent of the sign of integers, or handle it."""


def imported(model: Any) -> Module:
    """Return a prepared model as linalg on tensors: the function `main`.

    Raises:
        ModelError: a node of it cannot be lowered; names it.
    """
    _refuse_wrong_results(model)
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
    """Run passes on a module in the parser process, where a crash becomes an error."""
    try:
        result = parser_process.run_passes(module.bytecode(), pipeline, allow_unregistered=False)
    except CrashError as error:
        raise ModelError(f"torch-mlir's passes die of the model: {error.what}") from error
    if isinstance(result, parser_process.Refusal):
        lines = [
            line for diagnostic in result.diagnostics for line in (diagnostic, *diagnostic.notes)
        ]
        first = lines[0].message.strip().partition("\n")[0] if lines else result.message
        text = "\n".join(f"{line.location}\n{line.message}" for line in lines)
        raise _refusal(model, text, first)
    return Module.parse(result.bytecode, trusted=True, legalize=False, context=new_context())


def refusal_of(model: Any, error: IRError) -> ModelError:
    """Return an error of this library's compiler, by the node that it is about."""
    text = "\n".join([str(error.where), *map(str, error.diagnostics)])
    return _refusal(model, text, error.what)


def _refusal(model: Any, text: str, reason: str) -> ModelError:
    nodes = {node.name: node for node in model.graph.node}
    if (wrong := _wrong_declaration(model)) is not None and wrong[0] in nodes:
        return _error(nodes[wrong[0]], wrong[1], "mend the types that the model declares")
    named = next((name for name in re.findall(r'"(\d+: [^"]*)"', text) if name in nodes), None)
    operator = re.search(r"onnx\.(\w+)", text)
    if named is None:
        kind = operator and operator[1]
        same = [node for node in model.graph.node if node.op_type == kind]
        return _error(same[0] if same else None, reason)
    return _error(nodes[named], reason)


def _wrong_declaration(model: Any) -> tuple[str, str] | None:
    """Return the name of a node whose results are declared with other types, and the difference."""
    try:
        onnx().shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    except onnx().shape_inference.InferenceError as error:
        text = str(error).replace("existing", "declared")
        difference = re.search(r"node name: (.*?)\): \[\w+\] (Inferred .* declared .*)", text)
        return None if difference is None else (difference[1], difference[2].strip())
    return None


_HINT = "export the model with other ops, or in another opset (onnx.version_converter)"


def _error(node: Any, reason: str, hint: str = _HINT) -> ModelError:
    subject, where = "the model", None
    if node is not None:
        number, _, name = node.name.partition(": ")
        # The text is of the caller's node, which may have been rewritten.
        op, _, results = node.doc_string.partition(" -> ")
        subject = f"{op} of the model"
        where = f"node {number}, {name}, which makes {results}"
    return ModelError(f"{subject} cannot be compiled: {reason[:300]}", where=where, hint=hint)


def _torch_ir(model: Any) -> Any:
    importer = onnx_importer()
    context = new_context()
    model.graph.name = ENTRY
    try:
        info = importer.ModelInfo(model)
        module = info.create_module(context=context)
        importer.NodeImporter.define_function(info.main_graph, module.operation).import_all()
    except Exception as error:
        # The importer raises errors of all kinds.
        first = str(error).strip().partition("\n")[0]
        raise ModelError(
            f"torch-mlir's importer cannot read the model: {type(error).__name__}: {first}",
            hint="export it in another opset (onnx.version_converter), with its shapes inferred",
        ) from error
    return module


def _refuse_wrong_results(model: Any) -> None:
    """Refuse nodes that torch-mlir would compute differently from ONNX."""
    graph, types = model.graph, onnx().TensorProto
    unsigned = {getattr(types, name) for name in _UNSIGNED}
    values = (*graph.value_info, *graph.input)
    kinds = {value.name: value.type.tensor_type.elem_type for value in values}
    kinds |= {value.name: value.data_type for value in graph.initializer}
    for node in graph.node:
        if node.op_type not in _SIGN_AGNOSTIC and any(kinds.get(n) in unsigned for n in node.input):
            raise _error(node, "torch-mlir computes with unsigned integers as with signed ones")
        if node.op_type == "Resize" and _is_of_open_scale(node):
            raise _error(node, "torch-mlir rounds sizes between corners, which are not known yet")
        mode = _WRONG_MODES.get(node.op_type)
        if mode is not None and attributes_of(node).get("mode") == mode:
            raise _error(node, "torch-mlir takes other elements in this mode")
        if node.op_type == "PRelu" and opset_of(model) < 7:
            raise _error(node, "the slopes were those of channels before opset 7")
        if node.op_type.startswith(("Random", "Multinomial", "Bernoulli")):
            raise _error(node, "the random numbers would not be those of another runtime")


_WRONG_MODES = {"GridSample": "nearest", "SpaceToDepth": "CRD"}
"""Modes in which torch-mlir computes an op differently."""


def _is_of_open_scale(node: Any) -> bool:
    """Return whether a node aligns corners by factors that only a run knows."""
    by_sizes = len(node.input) > 3 and node.input[3]
    transformation = attributes_of(node).get("coordinate_transformation_mode")
    return transformation == "align_corners" and not by_sizes
