"""Kernels as plain data and bytes, and back: for the cache and for export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linalg_ext.executable.explanation import Explanation, Stage, decisions_data, decisions_of
from linalg_ext.executable.signature import (
    ArrayType,
    Entry,
    Parameter,
    Result,
    ScalarType,
    Signature,
    ValueType,
)
from linalg_ext.runtime.dtypes import by_mlir
from linalg_ext.target import Target

Data = dict[str, Any]


def signature_data(signature: Signature) -> Data:
    """Return a signature as plain data."""
    return {
        "name": signature.name,
        "parameters": [
            {**_type_data(parameter.type), "is_written": parameter.is_written}
            for parameter in signature.parameters
        ],
        "results": [
            {**_type_data(result.type), "is_unsigned": result.dtype == result.type.element.unsigned}
            for result in signature.results
        ],
    }


def signature_of(data: Mapping[str, Any]) -> Signature:
    """Rebuild a signature from the result of `signature_data`."""
    parameters = [
        Parameter(index, _type_of(item), item["is_written"])
        for index, item in enumerate(data["parameters"])
    ]
    results = []
    for index, item in enumerate(data["results"]):
        type_ = _type_of(item)
        element = type_.element
        unsigned = element.unsigned if item["is_unsigned"] else None
        results.append(Result(index, type_, element.dtype if unsigned is None else unsigned))
    return Signature(data["name"], tuple(parameters), tuple(results))


def entry_of(data: Mapping[str, Any]) -> Entry:
    """Rebuild an entry from its fields."""
    return Entry(data["symbol"], tuple(data["destinations"]), tuple(data["returned"]))


def stages_data(stages: Sequence[Stage]) -> tuple[list[Data], bytes]:
    """Return stages as plain data, and their contents, one after the other."""
    contents = [stage.bytecode or stage.kept_text.encode() for stage in stages]
    data = [
        {**stage.data(stage.kept_count), "bytes": len(content)}
        for stage, content in zip(stages, contents, strict=True)
    ]
    return data, b"".join(contents)


def stages_of(data: Sequence[Mapping[str, Any]], contents: bytes) -> list[Stage]:
    """Rebuild stages from the result of `stages_data`."""
    stages, start = [], 0
    for item in data:
        stages.append(Stage.of_data(item, contents[start : start + item["bytes"]]))
        start += item["bytes"]
    return stages


def explanation_data(explanation: Explanation) -> Data:
    """Return an explanation as plain data; its target is that of the kernel."""
    return {
        "signature": explanation.signature,
        "decisions": decisions_data(explanation.decisions),
        "left": explanation.left,
        "threads": explanation.threads,
    }


def explanation_of(data: Mapping[str, Any], target: Target) -> Explanation:
    """Rebuild an explanation from the result of `explanation_data`."""
    return Explanation(
        data["signature"],
        target,
        decisions_of(data["decisions"]),
        tuple((name, text) for name, text in data["left"]),
        data["threads"],
    )


def _type_data(type_: ValueType) -> Data:
    data: Data = {"text": type_.text, "kind": "scalar", "element": type_.element.mlir}
    if isinstance(type_, ArrayType):
        names = ("kind", "shape", "vector", "strides", "offset")
        data |= {name: getattr(type_, name) for name in names}
    return data


def _type_of(data: Mapping[str, Any]) -> ValueType:
    element = by_mlir(data["element"])
    if element is None:
        raise ValueError(f"{data['element']} is not an element type")
    if data["kind"] == "scalar":
        return ScalarType(data["text"], element)
    strides = data["strides"]
    return ArrayType(
        data["text"],
        data["kind"],
        tuple(data["shape"]),
        element,
        tuple(data["vector"]),
        None if strides is None else tuple(strides),
        data["offset"],
    )
