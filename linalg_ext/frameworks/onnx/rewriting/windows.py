"""Pools and transposed convolutions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from linalg_ext.frameworks.onnx.rewriting.writing import Writer, at


def _transposed(write: Writer, node: Any, attributes: Mapping[str, Any]) -> None:
    """`ConvTranspose` of groups: one for each."""
    groups = attributes.get("group", 1)
    if groups == 1:
        return
    x, w, bias = node.input[0], node.input[1], at(node.input, 2)
    channels, filters = (write.known.shapes[name] for name in (x, w))
    if channels[1] is None or filters[1] is None:
        return
    own = {name: value for name, value in attributes.items() if name != "group"}
    given, made = channels[1] // groups, filters[1]
    parts = []
    for number in range(groups):
        first, last = number * given, (number + 1) * given
        pair = write.sliced(x, 1, first, last), write.sliced(w, 0, first, last)
        term = [write.sliced(bias, 0, number * made, (number + 1) * made)] if bias else []
        parts.append(write("ConvTranspose", *pair, *term, **own))
    write("Concat", *parts, gives=node.output[0], axis=1)


REWRITES: Mapping[str, Callable[[Writer, Any, Mapping[str, Any]], None]] = MappingProxyType(
    {"ConvTranspose": _transposed}
)
