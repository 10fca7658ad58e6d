"""Functions: those of the model, and those that ONNX defines ops by."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from linalg_ext.frameworks.onnx.rewriting.inlining import inlined
from linalg_ext.frameworks.onnx.rewriting.writing import Known
from linalg_ext.frameworks.requirements import onnx

_BY_DEFINITION = frozenset(
    {
        *("AffineGrid", "Attention", "BlackmanWindow", "Celu", "CenterCropPad", "Elu", "Gelu"),
        *("DynamicQuantizeLinear", "GroupNormalization", "HammingWindow", "HannWindow"),
        *("HardSigmoid", "HardSwish", "LinearAttention", "MeanVarianceNormalization", "Mish"),
        *("NegativeLogLikelihoodLoss", "RMSNormalization"),
        *("RotaryEmbedding", "Selu", "Shrink", "SoftmaxCrossEntropyLoss"),
        *("SwiGLU", "Swish", "ThresholdedRelu", "CausalConvWithState", "CastLike"),
    }
)
"""Ops of ONNX that torch-mlir has no way for, or not for all of, and ONNX defines by others."""


def call_of_function(model: Any, node: Any, known: Known, prefix: str) -> list[Any] | None:
    """The nodes of the function that a node calls; None where it calls none."""
    own = next(
        (
            each
            for each in model.functions
            if (each.domain, each.name) == (node.domain, node.op_type)
            and getattr(each, "overload", "") == getattr(node, "overload", "")
        ),
        None,
    )
    if own is None and node.domain in ("", "ai.onnx") and node.op_type in _BY_DEFINITION:
        own = _definition(node, known)
    if own is None or not _is_of_opsets(own, model):
        return None
    return _called(own, node, prefix, _defaults(own, node, known))


def _defaults(function: Any, node: Any, known: Known) -> dict[str, Any]:
    """The attributes that a node says nothing of: of ONNX's own ops, or of the model's."""
    if node.domain not in ("", "ai.onnx"):
        return {each.name: each for each in getattr(function, "attribute_proto", ())}
    defs = importlib.import_module("onnx.defs")
    schema = defs.get_schema(node.op_type, known.opset, "")
    found = {name: each.default_value for name, each in schema.attributes.items()}
    return {name: value for name, value in found.items() if value.name}


def _called(function: Any, node: Any, prefix: str, defaults: Mapping[str, Any]) -> list[Any]:
    given = dict.fromkeys(function.input, "")
    given.update(zip(function.input, node.input, strict=False))
    said = {**defaults} | {each.name: each for each in node.attribute}
    nodes, results = inlined(function, given, prefix, said)
    nodes += [
        onnx().helper.make_node("Identity", [result], [name])
        for result, name in zip(results, node.output, strict=False)
        if name
    ]
    return nodes


def _is_of_opsets(function: Any, model: Any) -> bool:
    """Return whether the ops of a function mean the same in the opset of the model."""
    defs = importlib.import_module("onnx.defs")
    versions = {each.domain: each.version for each in model.opset_import}
    own = {each.domain: each.version for each in function.opset_import}
    for node in _nodes(function):
        domain = node.domain
        if domain in ("", "ai.onnx"):
            found = (each.get("", each.get("ai.onnx", 0)) for each in (own, versions))
            try:
                schemas = [defs.get_schema(node.op_type, version, "") for version in found]
            except defs.SchemaError:
                return False
            if schemas[0].since_version != schemas[1].since_version:
                return False
    return True


def _nodes(body: Any) -> list[Any]:
    found = list(body.node)
    for node in body.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found += _nodes(attribute.g)
    return found


def _definition(node: Any, known: Known) -> Any:
    """Return ONNX's function of a node, in the newest version that the opset of its model knows.

    None where ONNX has none.
    """
    defs = importlib.import_module("onnx.defs")
    try:
        schema = defs.get_schema(node.op_type, known.opset, "")
    except defs.SchemaError:
        return None
    written = _written(schema, node, known)
    if not written:
        return None
    function = onnx().FunctionProto()
    function.ParseFromString(written)
    return function


def _written(schema: Any, node: Any, known: Known) -> bytes:
    plain = [each for each in schema.function_opset_versions if each <= known.opset]
    if schema.has_function and plain:
        return bytes(schema.get_function_with_opset_version(max(plain)))
    versions = schema.context_dependent_function_opset_versions
    fitting = [each for each in versions if each <= known.opset]
    if not fitting:
        return b""
    types = [_type(known, name).SerializeToString() for name in node.input]
    build = schema.get_context_dependent_function_with_opset_version
    try:
        return bytes(build(max(fitting), node.SerializeToString(), types))
    except (RuntimeError, ValueError):
        return b""


def _type(known: Known, name: str) -> Any:
    if not name or name not in known.kinds:
        return onnx().TypeProto()
    shape = known.shapes.get(name)
    return onnx().helper.make_tensor_type_proto(known.kinds[name], shape)
