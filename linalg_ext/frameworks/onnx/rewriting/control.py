"""If, Loop and Scan, where the model tells which branch is taken, and how many steps there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linalg_ext.frameworks.onnx.rewriting.inlining import inlined
from linalg_ext.frameworks.onnx.rewriting.writing import Unwritten, Writer
from linalg_ext.frameworks.requirements import onnx

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
