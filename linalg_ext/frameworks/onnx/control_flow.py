"""Functions, branches and loops of ONNX as their nodes, under names of their own.

Functions are those of the model, and those by which ONNX defines ops. If, Loop and Scan are written
if the model decides the branch, or the number of steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linalg_ext.frameworks.onnx.writing import Known, Unwritten, Writer, opset_of, put
from linalg_ext.frameworks.requirements import onnx


def inlined(
    body: Any, values: Mapping[str, str], prefix: str, attributes: Mapping[str, Any] | None = None
) -> tuple[list[Any], list[str]]:
    """Return the nodes of a body, and the names of its results.

    Args:
        values: for each of its inputs, the name of the value.
        prefix: that of the names of its own values.
        attributes: of a call of a function, by the names by which its nodes refer to them.
    """
    names = dict(values)
    nodes: list[Any] = []
    for item in getattr(body, "initializer", ()):
        names[item.name] = prefix + item.name
        nodes.append(onnx().helper.make_node("Constant", [], [names[item.name]], value=item))
    for node in body.node:
        names.update({name: prefix + name for name in node.output if name})
        nodes.append(_renamed(node, names, attributes))
    results = [item if isinstance(item, str) else item.name for item in body.output]
    return nodes, [names.get(name, name) for name in results]


def _renamed(node: Any, names: Mapping[str, str], attributes: Mapping[str, Any] | None) -> Any:
    renamed = onnx().NodeProto()
    renamed.CopyFrom(node)
    put(renamed.input, [names.get(name, name) for name in node.input])
    put(renamed.output, [names.get(name, name) for name in node.output])
    if attributes is not None:
        _put_attributes(renamed, attributes)
    for attribute in renamed.attribute:
        for graph in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
            _rename_within(graph, names, attributes)
    return renamed


def _rename_within(
    graph: Any, names: Mapping[str, str], attributes: Mapping[str, Any] | None
) -> None:
    """Rename the values of outer graphs that a graph reads; its own keep their names."""
    own = {value.name for value in (*graph.input, *graph.initializer)}
    own |= {name for node in graph.node for name in node.output}
    outer = {name: new for name, new in names.items() if name not in own}
    renamed = [_renamed(node, outer, attributes) for node in graph.node]
    put(graph.node, renamed)
    for value in graph.output:
        value.name = outer.get(value.name, value.name)


def _put_attributes(node: Any, attributes: Mapping[str, Any]) -> None:
    """Replace the attributes that a function's node refers to by those of the call."""
    resolved = []
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            resolved.append(attribute)
        elif attribute.ref_attr_name in attributes:
            value = onnx().AttributeProto()
            value.CopyFrom(attributes[attribute.ref_attr_name])
            value.name = attribute.name
            resolved.append(value)
    put(node.attribute, resolved)


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
"""Ops of ONNX that torch-mlir lacks, or supports in part, and that ONNX defines by others."""


def call_of_function(model: Any, node: Any, known: Known, prefix: str) -> list[Any] | None:
    """Return the nodes of the function that a node calls; None if it calls none."""
    own = next(
        (
            function
            for function in model.functions
            if (function.domain, function.name) == (node.domain, node.op_type)
            and getattr(function, "overload", "") == getattr(node, "overload", "")
        ),
        None,
    )
    if own is None and node.domain in ("", "ai.onnx") and node.op_type in _BY_DEFINITION:
        own = _definition(node, known)
    if own is None or not _is_of_opsets(own, model):
        return None
    return _called(own, node, prefix, _defaults(own, node, known))


def _defaults(function: Any, node: Any, known: Known) -> dict[str, Any]:
    """Return the default attributes of a function: of ONNX's own ops, or of the model's."""
    if node.domain not in ("", "ai.onnx"):
        return {proto.name: proto for proto in getattr(function, "attribute_proto", ())}
    schema = onnx().defs.get_schema(node.op_type, known.opset, "")
    defaults = {name: attribute.default_value for name, attribute in schema.attributes.items()}
    return {name: value for name, value in defaults.items() if value.name}


def _called(function: Any, node: Any, prefix: str, defaults: Mapping[str, Any]) -> list[Any]:
    values = dict.fromkeys(function.input, "")
    values.update(zip(function.input, node.input, strict=False))
    attributes = {**defaults} | {attribute.name: attribute for attribute in node.attribute}
    nodes, results = inlined(function, values, prefix, attributes)
    nodes += [
        onnx().helper.make_node("Identity", [result], [name])
        for result, name in zip(results, node.output, strict=False)
        if name
    ]
    return nodes


def _is_of_opsets(function: Any, model: Any) -> bool:
    """Return whether the ops of a function mean the same in the opset of the model."""
    defs = onnx().defs
    versions = opset_of(function), opset_of(model)
    for node in _nodes(function):
        if node.domain in ("", "ai.onnx"):
            try:
                own, models = (defs.get_schema(node.op_type, version, "") for version in versions)
            except defs.SchemaError:
                return False
            if own.since_version != models.since_version:
                return False
    return True


def _nodes(body: Any) -> list[Any]:
    nodes = list(body.node)
    for node in body.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                nodes += _nodes(attribute.g)
    return nodes


def _definition(node: Any, known: Known) -> Any:
    """Return ONNX's function of a node in the newest version for the model's opset, or None."""
    defs = onnx().defs
    try:
        schema = defs.get_schema(node.op_type, known.opset, "")
    except defs.SchemaError:
        return None
    written = _serialized_function(schema, node, known)
    if not written:
        return None
    function = onnx().FunctionProto()
    function.ParseFromString(written)
    return function


def _serialized_function(schema: Any, node: Any, known: Known) -> bytes:
    plain = [version for version in schema.function_opset_versions if version <= known.opset]
    if schema.has_function and plain:
        return bytes(schema.get_function_with_opset_version(max(plain)))
    versions = schema.context_dependent_function_opset_versions
    fitting = [version for version in versions if version <= known.opset]
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
"""Largest number of steps; the graph of a longer loop would be too large to compile."""

_TOTAL = frozenset(
    {
        *("Abs", "Add", "Cast", "Concat", "Constant", "Cos", "Erf", "Exp", "Gelu", "Gemm"),
        *("Identity", "LeakyRelu", "MatMul", "Max", "Min", "Mul", "Neg", "Relu", "Sigmoid", "Sin"),
        *("Softmax", "Softplus", "Sqrt", "Sub", "Tanh", "Transpose", "Where"),
    }
)
"""Ops that have a result for all operands, so that a branch may run that is not chosen."""


def branch(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Write `If`: the chosen branch, if known, or else a choice of both branches' results."""
    if node.input[0] not in write.known.constants:
        _choice(write, node, attributes)
        return
    name_of_branch = "then_branch" if write.known_array(node.input[0]).item() else "else_branch"
    nodes, results = inlined(attributes[name_of_branch], {}, f"{write.prefix}/")
    write.nodes += nodes
    for result, name in zip(results, node.output, strict=True):
        if name:
            write("Identity", result, gives=name)


def _choice(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Write `If` as `Where`: both branches run, so all their ops must be total.

    The results must have known sizes.
    """
    branches = [attributes[name] for name in ("then_branch", "else_branch")]
    if not all(inner.op_type in _TOTAL for body in branches for inner in body.node):
        raise Unwritten
    for name in node.output:
        write.sizes(name)
    condition = write("Reshape", node.input[0], write.integers(1))
    results_of_branches = []
    for body, side in zip(branches, ("then", "else"), strict=True):
        nodes, results = inlined(body, {}, f"{write.prefix}/{side}/")
        write.nodes += nodes
        results_of_branches.append(results)
    for name, then_result, else_result in zip(node.output, *results_of_branches, strict=True):
        write("Where", condition, then_result, else_result, gives=name)


def loop(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Write a `Loop` of a known trip count, with a condition that stays true."""
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
        _, *results = _run_step(write, body, [write.constant(step), true, *carried], step)
        carried, scanned = results[: len(carried)], results[len(carried) :]
        stacks.append(scanned)
    ranks = _ranks(body.output[len(carried) + 1 :])
    _finish(write, node.output, carried, stacks, [0] * len(stacks[0]), ranks)


def _run_step(write: Writer, body: Any, inputs: Sequence[str], step: int) -> list[str]:
    """Write the nodes of one step of a loop; returns its results."""
    values = dict(zip((value.name for value in body.input), inputs, strict=True))
    nodes, results = inlined(body, values, f"{write.prefix}/{step}/")
    write.nodes += nodes
    return results


def _ranks(outputs: Sequence[Any]) -> list[int | None]:
    """Return the rank of each scan output without the axis of the steps; None if unknown."""
    tensors = [output.type.tensor_type for output in outputs]
    return [len(t.shape.dim) if t.HasField("shape") else None for t in tensors]


def _goes_on(body: Any) -> bool:
    """Return whether the condition of a body is true after each step."""
    true_values = {body.input[1].name}
    for initializer in body.initializer:
        if onnx().numpy_helper.to_array(initializer).all():
            true_values.add(initializer.name)
    for node in body.node:
        if node.op_type == "Identity" and node.input[0] in true_values:
            true_values.add(node.output[0])
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            value = onnx().numpy_helper.to_array(node.attribute[0].t)
            if value.dtype == bool and value.all():
                true_values.add(node.output[0])
    return body.output[0].name in true_values


def scan(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """Write a `Scan` of opset 9 or later, over inputs of known lengths."""
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
        results = _run_step(write, body, [*carried, *parts], step)
        carried, scanned = results[: len(carried)], results[len(carried) :]
        stacks.append(scanned)
    outputs = len(body.output) - len(carried)
    into = attributes.get("scan_output_axes") or [0] * outputs
    reverse = attributes.get("scan_output_directions") or [0] * outputs
    stacked = [
        [stack[index] for stack in (reversed(stacks) if reverse[index] else stacks)]
        for index in range(outputs)
    ]
    ordered = [list(row) for row in zip(*stacked, strict=True)] or [[] for _ in stacks]
    ranks = _ranks(body.output[len(carried) :])
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
        carried: its state after the last step.
        stacks: for each step, its scan outputs.
        axes: the axis along which each scan output is joined.
        ranks: the rank of each scan output, if known.
    """
    for result, name in zip(carried, names, strict=False):
        if name:
            write("Identity", result, gives=name)
    for index, name in enumerate(names[len(carried) :]):
        if not name:
            continue
        axis, rank = axes[index], ranks[index]
        if axis < 0:
            if rank is None:
                raise Unwritten
            axis += rank + 1
        parts = [_unsqueezed(write, stack[index], axis) for stack in stacks]
        write("Concat", *parts, gives=name, axis=axis)


def _unsqueezed(write: Writer, value: str, axis: int) -> str:
    if write.known.opset < 13:
        return write("Unsqueeze", value, axes=[axis])
    return write("Unsqueeze", value, write.integers(axis))
