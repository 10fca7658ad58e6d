"""The nodes of a function, a branch or a loop's body, under names of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linalg_ext.frameworks.requirements import onnx


def inlined(
    body: Any,
    given: Mapping[str, str],
    prefix: str,
    attributes: Mapping[str, Any] | None = None,
) -> tuple[list[Any], list[str]]:
    """The nodes of a body, and the names of its results.

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
    _put(found.input, [names.get(name, name) for name in node.input])
    _put(found.output, [names.get(name, name) for name in node.output])
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
    del graph.node[:]
    graph.node.extend(renamed)
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
    del node.attribute[:]
    node.attribute.extend(kept)


def _put(field: Any, values: Sequence[Any]) -> None:
    del field[:]
    field.extend(values)
