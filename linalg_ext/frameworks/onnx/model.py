"""`lx.from_onnx`: a model of ONNX, prepared for the importer, compiled, and called on arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from linalg_ext.cache.keys import digest
from linalg_ext.errors import (
    ArgumentError,
    ArityError,
    IRError,
    ModelError,
    kind_of,
    refuse_pickling,
)
from linalg_ext.executable.kernel import CompilerOptions, Kernel
from linalg_ext.frameworks.kernels import kernel_of, module_of
from linalg_ext.frameworks.onnx.rewriting import newer, rewritten
from linalg_ext.frameworks.onnx.writing import is_weight, put
from linalg_ext.frameworks.requirements import importer_files, onnx, require_torch_mlir
from linalg_ext.settings import Options

if TYPE_CHECKING:
    from linalg_ext.module import Module


def from_onnx(
    model: str | os.PathLike[str] | bytes | Any,
    *,
    checked: bool | None = None,
    opt_level: int | None = None,
) -> OnnxModel:
    """Compile a model of ONNX.

        net = lx.from_onnx("model.onnx")
        y = net(x)                               # in the order of the model's inputs, or by name

    Args:
        model: the path of a file, its bytes, or an `onnx.ModelProto`, which is not changed.
        checked, opt_level: as of `linalg_ext.compile`.

    Returns:
        A function of arrays. One result comes by itself, several as a tuple.

    Raises:
        MissingExtraError, BindingsError: ONNX, or torch-mlir, is not installed or does not fit.
        ArgumentError: there is no such file.
        ModelError: the file has no model, the model breaks a rule of ONNX, or a node of it cannot
            be lowered; names the node.
    """
    require_torch_mlir("models of ONNX")
    return OnnxModel(prepared(model), checked, opt_level)


class OnnxModel:
    """A compiled model.

    Attributes:
        inputs: the names of its inputs, in order.
        outputs: the names of its results.
        weights: its arrays, by name; the next call reads changes to them.
        kernel: the compiled code; its last arguments are the weights.
    """

    def __init__(self, model: Prepared, checked: bool | None, opt_level: int | None) -> None:
        """Made by `from_onnx`."""
        self.inputs = model.inputs
        outputs = model.proto.graph.output
        self.outputs = tuple(output.name for output in outputs)
        self.weights: Mapping[str, np.ndarray[Any, Any]] = MappingProxyType(dict(model.weights))
        dtype_of = onnx().helper.tensor_dtype_to_np_dtype
        kinds = [output.type.tensor_type.elem_type for output in outputs]
        self.kernel: Kernel = _compiled(
            model.proto,
            CompilerOptions(
                checked=Options.current().checked if checked is None else checked,
                opt_level=opt_level,
                result_dtypes=[dtype_of(kind) for kind in kinds],
            ),
        )

    @cached_property
    def module(self) -> Module:
        """Linalg on tensors, as it was compiled; its last arguments are the weights."""
        return module_of(self.kernel)

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Run the model and return its results.

        Raises:
            ArityError: an input is missing, or there are too many.
            ArgumentError: an input differs from the declaration of the model.
        """
        return self.kernel(*self._ordered(arrays, named), *self.weights.values())

    def _ordered(self, arrays: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
        expected = f"{', '.join(self.inputs) or 'none'}"
        if len(arrays) > len(self.inputs):
            raise ArityError(f"{len(arrays)} inputs for a model", expected=expected)
        by_name = dict(zip(self.inputs, arrays, strict=False))
        for name, value in named.items():
            if name in by_name or name not in self.inputs:
                fault = "is given twice" if name in by_name else "is not an input of the model"
                raise ArgumentError(f"{name} {fault}", expected=expected)
            by_name[name] = value
        if missing := [name for name in self.inputs if name not in by_name]:
            raise ArityError(f"input {missing[0]} of the model is missing", expected=expected)
        return [by_name[name] for name in self.inputs]

    def __repr__(self) -> str:
        inputs, outputs = ", ".join(self.inputs), ", ".join(self.outputs)
        head = f"model of ONNX ({inputs}) -> ({outputs}) with {len(self.weights)} weights"
        return f"{head}\n{self.kernel!r}"

    def __reduce__(self) -> NoReturn:
        refuse_pickling("a compiled model", "pickle the path of the model, and compile it there")


def _compiled(proto: Any, options: CompilerOptions) -> Kernel:
    """Return the kernel of a prepared model; the key has the whole model and its importer."""

    # A model from the disk cache does without MLIR, which these imports load.
    def module() -> Module:
        from linalg_ext.frameworks.onnx.importing import imported

        return imported(proto)

    def refusal(error: IRError) -> ModelError:
        from linalg_ext.frameworks.onnx.importing import refusal_of

        return refusal_of(proto, error)

    fingerprint = digest(
        onnx().__version__, importer_files(), proto.SerializeToString(deterministic=True)
    )
    return kernel_of("model of ONNX", fingerprint, module, refusal, options)


Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Prepared:
    """A model that can be imported.

    Attributes:
        proto: of ONNX, whose inputs are those of the model, then its weights.
        inputs: the names of those that callers pass.
        weights: the arrays of the weights, by their names.
    """

    proto: Any
    inputs: tuple[str, ...]
    weights: Mapping[str, Array]


def prepared(source: Any) -> Prepared:
    """Load a model, if need be, and rewrite it for the importer.

    Raises:
        ArgumentError: `source` is neither a model nor a file.
        ModelError: the file has no model, or the model breaks a rule of ONNX.
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
        # Errors about any op name the node.
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
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    declared = [value for value in graph.input if value.name not in tensors]
    to_array = onnx().numpy_helper.to_array
    # Each copy has memory of its own, which can be written.
    weights = {name: np.array(to_array(t)) for name, t in tensors.items() if is_weight(t)}
    constants = [tensor for name, tensor in tensors.items() if name not in weights]
    arguments = [
        onnx().helper.make_tensor_value_info(n, tensors[n].data_type, list(tensors[n].dims))
        for n in weights
    ]
    put(graph.input, [*declared, *arguments])
    put(graph.initializer, constants)
    return Prepared(model, tuple(value.name for value in declared), weights)


def _refusals() -> tuple[type[Exception], ...]:
    """Return the exception types that ONNX raises for a model that breaks one of its rules."""
    package = onnx()
    own = package.checker.ValidationError, package.shape_inference.InferenceError
    return (ValueError, RuntimeError, *own)


def _loaded(source: Any) -> Any:
    if isinstance(source, onnx().ModelProto):
        return source
    if isinstance(source, bytes):
        return _read(lambda: onnx().load_model_from_string(source), "the bytes given")
    if not isinstance(source, str | os.PathLike):
        raise ArgumentError(
            f"{kind_of(source)} is not a model of ONNX",
            expected="the path of a file, the bytes of one, or an onnx.ModelProto",
        )
    if not Path(source).is_file():
        raise ArgumentError(
            f"the file {os.fspath(source)} does not exist",
            expected="the path of a model, such as model.onnx",
        )
    return _read(lambda: onnx().load(os.fspath(source)), os.fspath(source))


def _read(load: Any, name: str) -> Any:
    try:
        model = load()
    except Exception as error:
        # Protobuf has errors of its own, which differ among its implementations.
        raise ModelError(f"{name}: no model of ONNX can be read from it: {error}") from error
    if not model.graph.node and not model.graph.output:
        raise ModelError(f"{name}: there is no model of ONNX in it")
    return model


def _name_of(source: Any) -> str:
    return os.fspath(source) if isinstance(source, str | os.PathLike) else "the model"
