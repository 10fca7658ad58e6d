"""A signature as plain data, for another process or another day."""

from __future__ import annotations

from typing import Any

from linalg_ext.calling.signature import (
    ArrayType,
    Parameter,
    Result,
    ScalarType,
    Signature,
    ValueType,
)
from linalg_ext.runtime.dtypes import by_mlir, dtype_named

Plain = dict[str, Any]
"""What JSON can hold."""


def to_data(signature: Signature) -> Plain:
    """A signature as JSON can hold it."""
    return {
        "name": signature.name,
        "parameters": [
            {"type": _type_data(one.type), "written": one.is_written}
            for one in signature.parameters
        ],
        "results": [
            {"type": _type_data(one.type), "dtype": one.dtype.name} for one in signature.results
        ],
    }


def from_data(data: Plain) -> Signature:
    """The signature again."""
    return Signature(
        data["name"],
        tuple(
            Parameter(index, _type(one["type"]), one["written"])
            for index, one in enumerate(data["parameters"])
        ),
        tuple(
            Result(index, _type(one["type"]), dtype_named(one["dtype"]))
            for index, one in enumerate(data["results"])
        ),
    )


def _type_data(type_: ValueType) -> Plain:
    data: Plain = {"text": type_.text, "element": type_.element.mlir}
    if isinstance(type_, ArrayType):
        data["array"] = {
            "kind": type_.kind,
            "shape": type_.shape,
            "vector": type_.vector,
            "strides": type_.strides,
            "offset": type_.offset,
        }
    return data


def _type(data: Plain) -> ValueType:
    element = by_mlir(data["element"])
    if element is None:
        raise ValueError(f"no element type is called {data['element']!r}")
    array = data.get("array")
    if array is None:
        return ScalarType(data["text"], element)
    strides = array["strides"]
    return ArrayType(
        data["text"],
        array["kind"],
        tuple(array["shape"]),
        element,
        tuple(array["vector"]),
        None if strides is None else tuple(strides),
        array["offset"],
    )
