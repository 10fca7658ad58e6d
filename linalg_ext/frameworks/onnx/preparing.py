"""A model of ONNX as it is imported: checked, its shapes inferred, its weights among its inputs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from linalg_ext.errors import ArgumentError, ModelError
from linalg_ext.frameworks.onnx.rewriting import newer, rewritten
from linalg_ext.frameworks.requirements import onnx

Array = np.ndarray[Any, Any]

_MOST_CONSTANTS = 16
"""Weights of no more elements may be sizes, scales or axes: they stay in the code, where ops that
must know them see them."""


@dataclass(frozen=True)
class Prepared:
    """A model that can be imported.

    Attributes:
        proto: of ONNX, whose inputs are those of the model, then its weights.
        inputs: the names of those that a caller gives.
        weights: the others, by their names.
    """

    proto: Any
    inputs: tuple[str, ...]
    weights: Mapping[str, Array]


def prepared(source: Any) -> Prepared:
    """A model that was loaded, or is to be, as it is imported.

    Raises:
        ArgumentError: `source` is no model, and no file.
        ModelError: it holds no model, or one that breaks a rule of ONNX.
    """
    model = _loaded(source)
    try:
        # A copy: the caller's model stays as it is.
        model = onnx().shape_inference.infer_shapes(model, data_prop=True)
        onnx().checker.check_model(model)
    except _refusals() as error:
        first = str(error).strip().partition("\n")[0]
        raise ModelError(
            f"{_name_of(source)} breaks a rule of ONNX: {first}",
            hint="onnx.checker.check_model(model) says more",
        ) from error
    model = newer(model)
    for number, node in enumerate(model.graph.node):
        # So that each op can be found again, whatever refuses it.
        node.name = f"{number}: {node.name or node.op_type}"
        node.doc_string = f"{node.op_type} -> {', '.join(node.output)}"
    try:
        model = rewritten(model)
    except _refusals() as error:
        first = str(error).strip().partition("\n")[0]
        raise ModelError(
            f"{_name_of(source)} cannot be written by ops that come through: {first}",
            hint="export it in another opset (onnx.version_converter), with its shapes inferred",
        ) from error
    graph = model.graph
    initial = {each.name: each for each in graph.initializer}
    inputs = tuple(each.name for each in graph.input if each.name not in initial)
    weights = {n: _array(each) for n, each in initial.items() if _is_weight(each)}
    declared = [each for each in graph.input if each.name in inputs]
    constants = [each for each in graph.initializer if each.name not in weights]
    made = [
        onnx().helper.make_tensor_value_info(n, initial[n].data_type, list(initial[n].dims))
        for n in weights
    ]
    _put(graph.input, [*declared, *made])
    _put(graph.initializer, constants)
    return Prepared(model, inputs, weights)


def _refusals() -> tuple[type[Exception], ...]:
    """Return the exception types that ONNX raises for a model that breaks one of its rules."""
    found = onnx()
    known = found.checker.ValidationError, found.shape_inference.InferenceError
    return (ValueError, RuntimeError, *known)


def _loaded(source: Any) -> Any:
    if isinstance(source, onnx().ModelProto):
        return source
    if isinstance(source, bytes):
        return _read(lambda: onnx().load_model_from_string(source), "the bytes given")
    if not isinstance(source, str | os.PathLike):
        raise ArgumentError(
            f"a {type(source).__name__} is no model of ONNX",
            expected="the path of a file, the bytes of one, or an onnx.ModelProto",
        )
    if not Path(source).is_file():
        raise ArgumentError(
            f"the file {os.fspath(source)} does not exist", expected="a model: model.onnx"
        )
    return _read(lambda: onnx().load(os.fspath(source)), os.fspath(source))


def _read(load: Any, name: str) -> Any:
    try:
        found = load()
    except Exception as error:
        # Protobuf has errors of its own, and of each of its implementations others.
        raise ModelError(f"{name}: no model of ONNX can be read from it: {error}") from error
    if not found.graph.node and not found.graph.output:
        raise ModelError(f"{name}: there is no model of ONNX in it")
    return found


def _name_of(source: Any) -> str:
    return os.fspath(source) if isinstance(source, str | os.PathLike) else "the model"


def _is_weight(initializer: Any) -> bool:
    types = onnx().TensorProto
    floats = (types.FLOAT, types.FLOAT16, types.DOUBLE, types.BFLOAT16)
    count = int(np.prod(list(initializer.dims), dtype=np.int64))
    return initializer.data_type in floats and count > _MOST_CONSTANTS


def _array(initializer: Any) -> Array:
    found = onnx().numpy_helper.to_array(initializer)
    return np.array(found)  # its own memory, which can be written to


def _put(field: Any, values: list[Any]) -> None:
    del field[:]
    field.extend(values)
