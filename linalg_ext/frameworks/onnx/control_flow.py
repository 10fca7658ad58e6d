"""Functions, branches and loops of ONNX as their nodes, under names of their own.

Functions are those of the model, and those that ONNX defines ops by. If, Loop and Scan are written
where the model tells which branch is taken, and how many steps there are.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from linalg_ext.frameworks.onnx.writing import Known, Unwritten, Writer, put
from linalg_ext.frameworks.requirements import onnx


def inlined(
    body: Any, given: Mapping[str, str], prefix: str, attributes: Mapping[str, Any] | None = None
) -> tuple[list[Any], list[str]]:
    """Return the nodes of a body, and the names of its results.

    Args:
        body: a graph, or a function.
        given: for each of its inputs, the value that it is.
        prefix: what the names of its own values begin with.
        attributes: of a call of a function, by name: what its nodes refer to.
    """
    names = dict(given)
    nodes: list[Any] = []
    for each in getattr(body, "initializer", ()):
        names[each.name] = prefix + each.name
        nodes.append(onnx().helper.make_node("Constant", [], [names[each.name]], value=each))
    for node in body.node:
        names.update({name: prefix + name for name in node.output if name})
        nodes.append(_renamed(node, names, attributes))
    results = [each if isinstance(each, str) else each.name for each in body.output]
    return nodes, [names.get(name, name) for name in results]


def _renamed(node: Any, names: Mapping[str, str], attributes: Mapping[str, Any] | None) -> Any:
    found = onnx().NodeProto()
    found.CopyFrom(node)
    put(found.input, [names.get(name, name) for name in node.input])
    put(found.output, [names.get(name, name) for name in node.output])
    if attributes is not None:
        _put_attributes(found, attributes)
    for attribute in found.attribute:
        for graph in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
            _rename_within(graph, names, attributes)
    return found


def _rename_within(
    graph: Any, names: Mapping[str, str], attributes: Mapping[str, Any] | None
) -> None:
    """Rename what a graph reads of what is around it; its own values keep their names."""
    own = {each.name for each in (*graph.input, *graph.initializer)}
    own |= {name for node in graph.node for name in node.output}
    outer = {name: new for name, new in names.items() if name not in own}
    renamed = [_renamed(node, outer, attributes) for node in graph.node]
    put(graph.node, renamed)
    for each in graph.output:
        each.name = outer.get(each.name, each.name)


def _put_attributes(node: Any, attributes: Mapping[str, Any]) -> None:
    """Put what a call says in the place of what a function's node refers to."""
    kept = []
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            kept.append(attribute)
        elif attribute.ref_attr_name in attributes:
            said = onnx().AttributeProto()
            said.CopyFrom(attributes[attribute.ref_attr_name])
            said.name = attribute.name
            kept.append(said)
    put(node.attribute, kept)


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
    """Return the nodes of the function that a node calls; None where it calls none."""
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
    """Return the attributes that a node says nothing of: of ONNX's own ops, or of the model's."""
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


_MOST_STEPS = 256
"""A loop of more would be a graph too large to compile."""

_TOTAL = frozenset(
    {
        *("Abs", "Add", "Cast", "Concat", "Constant", "Cos", "Erf", "Exp", "Gelu", "Gemm"),
        *("Identity", "LeakyRelu", "MatMul", "Max", "Min", "Mul", "Neg", "Relu", "Sigmoid", "Sin"),
        *("Softmax", "Softplus", "Sqrt", "Sub", "Tanh", "Transpose", "Where"),
    }
)
"""Ops that have a result for all elements, wanted or not."""


def branch(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """`If`: the branch that is known to be taken, or a choice of what both give."""
    if node.input[0] not in write.known.constants:
        _choice(write, node, attributes)
        return
    taken = "then_branch" if write.known_array(node.input[0]).item() else "else_branch"
    nodes, results = inlined(attributes[taken], {}, f"{write.prefix}/")
    write.nodes += nodes
    for result, name in zip(results, node.output, strict=True):
        if name:
            write("Identity", result, gives=name)


def _choice(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Write `If` as `Where`: both branches run, so all their ops must be total.

    The results must have known sizes.
    """
    branches = [attributes[name] for name in ("then_branch", "else_branch")]
    if not all(each.op_type in _TOTAL for body in branches for each in body.node):
        raise Unwritten
    for name in node.output:
        write.sizes(name)
    condition = write("Reshape", node.input[0], write.integers(1))
    found = []
    for body, side in zip(branches, ("then", "else"), strict=True):
        nodes, results = inlined(body, {}, f"{write.prefix}/{side}/")
        write.nodes += nodes
        found.append(results)
    for name, one, other in zip(node.output, *found, strict=True):
        write("Where", condition, one, other, gives=name)


def loop(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """`Loop`, of a trip count that is known, and a condition that stays true."""
    count, condition, *carried = node.input
    body = attributes["body"]
    steps = int(write.known_array(count).item()) if count else -1
    if condition and not write.known_array(condition).item():
        steps = 0
    if not 0 < steps <= _MOST_STEPS or not _goes_on(body):
        raise Unwritten
    stacks: list[list[str]] = []
    for step in range(steps):
        true = write.constant(True)
        inputs = [write.constant(step), true, *carried]
        given = dict(zip((each.name for each in body.input), inputs, strict=True))
        nodes, (_, *results) = inlined(body, given, f"{write.prefix}/{step}/")
        write.nodes += nodes
        carried, made = results[: len(carried)], results[len(carried) :]
        stacks.append(made)
    _finish(write, node.output, carried, stacks, [0] * len(stacks[0]), _ranks(body, len(carried)))


def _ranks(body: Any, carried: int) -> list[int | None]:
    """Return the rank of each scan output without the axis of the steps; None where not known."""
    found = []
    for each in body.output[carried + 1 :]:
        tensor = each.type.tensor_type
        found.append(len(tensor.shape.dim) if tensor.HasField("shape") else None)
    return found


def _goes_on(body: Any) -> bool:
    """Return whether the condition that a body gives is true at each step."""
    known = {body.input[1].name}
    for each in body.initializer:
        if onnx().numpy_helper.to_array(each).all():
            known.add(each.name)
    for node in body.node:
        if node.op_type == "Identity" and node.input[0] in known:
            known.add(node.output[0])
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            value = onnx().numpy_helper.to_array(node.attribute[0].t)
            if value.dtype == bool and value.all():
                known.add(node.output[0])
    return body.output[0].name in known


def scan(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """`Scan` since opset 9, over inputs of known lengths."""
    if write.known.opset < 9:
        raise Unwritten
    count, body = attributes["num_scan_inputs"], attributes["body"]
    carried, rows = list(node.input)[:-count], list(node.input)[-count:]
    axes = attributes.get("scan_input_axes") or [0] * count
    backwards = attributes.get("scan_input_directions") or [0] * count
    steps = write.sizes(rows[0])[axes[0]]
    if steps > _MOST_STEPS:
        raise Unwritten
    stacks = []
    for step in range(steps):
        parts = [
            write("Gather", row, write.constant(steps - 1 - step if is_back else step), axis=axis)
            for row, axis, is_back in zip(rows, axes, backwards, strict=True)
        ]
        given = dict(zip((each.name for each in body.input), [*carried, *parts], strict=True))
        nodes, results = inlined(body, given, f"{write.prefix}/{step}/")
        write.nodes += nodes
        carried, made = results[: len(carried)], results[len(carried) :]
        stacks.append(made)
    outputs = len(body.output) - len(carried)
    into = attributes.get("scan_output_axes") or [0] * outputs
    reverse = attributes.get("scan_output_directions") or [0] * outputs
    stacked = [
        [stack[place] for stack in (reversed(stacks) if reverse[place] else stacks)]
        for place in range(outputs)
    ]
    ordered = [list(row) for row in zip(*stacked, strict=True)] or [[] for _ in stacks]
    ranks = [
        len(each.type.tensor_type.shape.dim) if each.type.tensor_type.HasField("shape") else None
        for each in body.output[len(carried) :]
    ]
    _finish(write, node.output, carried, ordered, into, ranks)


def _finish(
    write: Writer,
    names: Sequence[str],
    carried: Sequence[str],
    stacks: Sequence[Sequence[str]],
    axes: Sequence[int],
    ranks: Sequence[int | None],
) -> None:
    """Write the results of a loop: its final state, and its scan outputs joined over the steps.

    Args:
        write: the writer of the loop.
        names: the names of its results.
        carried: its state after the last step.
        stacks: for each step, its scan outputs.
        axes: the axis along which each scan output is joined.
        ranks: the rank of each scan output, where it is known.
    """
    for result, name in zip(carried, names, strict=False):
        if name:
            write("Identity", result, gives=name)
    for place, name in enumerate(names[len(carried) :]):
        if not name:
            continue
        axis, rank = axes[place], ranks[place]
        if axis < 0:
            if rank is None:
                raise Unwritten
            axis += rank + 1
        parts = [_unsqueezed(write, stack[place], axis) for stack in stacks]
        write("Concat", *parts, gives=name, axis=axis)


def _unsqueezed(write: Writer, value: str, axis: int) -> str:
    if write.known.opset < 13:
        return write("Unsqueeze", value, axes=[axis])
    return write("Unsqueeze", value, write.integers(axis))
