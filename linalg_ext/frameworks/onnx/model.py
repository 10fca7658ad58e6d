"""`lx.from_onnx`: a model of ONNX as compiled code, called on arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from linalg_ext.cache.keys import digest
from linalg_ext.errors import ArgumentError, ArityError, IRError, refuse_pickling
from linalg_ext.executable import disk_cache
from linalg_ext.executable.kernel import Kernel
from linalg_ext.frameworks.modules import module_of
from linalg_ext.frameworks.onnx.importing import ENTRY
from linalg_ext.frameworks.onnx.preparing import Prepared, prepared
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
        MissingExtraError, BindingsError: ONNX, or torch-mlir, is not there or does not fit.
        ArgumentError: there is no such file.
        ModelError: it holds no model, the model breaks a rule of ONNX, or a node of it does not
            come through; names the node.
    """
    require_torch_mlir("models of ONNX")
    return OnnxModel(prepared(model), checked, opt_level)


class OnnxModel:
    """A compiled model.

    Attributes:
        inputs: the names of its inputs, in order.
        outputs: those of its results.
        weights: the arrays that it holds, by name; what is written to them the next call sees.
        kernel: what runs; its last arguments are the weights.
    """

    def __init__(self, model: Prepared, checked: bool | None, opt_level: int | None) -> None:
        """Made by `from_onnx`."""
        self.inputs = model.inputs
        self.outputs = tuple(each.name for each in model.proto.graph.output)
        self.weights: Mapping[str, np.ndarray[Any, Any]] = MappingProxyType(dict(model.weights))
        dtype_of = onnx().helper.tensor_dtype_to_np_dtype
        kinds = [each.type.tensor_type.elem_type for each in model.proto.graph.output]
        self.kernel: Kernel = _compiled(
            model.proto,
            checked=Options.current().checked if checked is None else checked,
            opt_level=opt_level,
            result_dtypes=[dtype_of(kind) for kind in kinds],
        )

    @cached_property
    def module(self) -> Module:
        """Linalg on tensors, as it was compiled; its last arguments are the weights."""
        return module_of(self.kernel)

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Run the model and return its results.

        Raises:
            ArityError: an input is missing, or there is one too many.
            ArgumentError: an input differs from the declaration of the model.
        """
        return self.kernel(*self._ordered(arrays, named), *self.weights.values())

    def _ordered(self, arrays: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
        expected = f"{', '.join(self.inputs) or 'none'}"
        if len(arrays) > len(self.inputs):
            raise ArityError(f"{len(arrays)} inputs for a model", expected=expected)
        given = dict(zip(self.inputs, arrays, strict=False))
        for name, value in named.items():
            if name in given or name not in self.inputs:
                what = "is given twice" if name in given else "is no input of the model"
                raise ArgumentError(f"{name} {what}", expected=expected)
            given[name] = value
        if missing := [name for name in self.inputs if name not in given]:
            raise ArityError(f"input {missing[0]} of the model is missing", expected=expected)
        return [given[name] for name in self.inputs]

    def __repr__(self) -> str:
        inputs, outputs = ", ".join(self.inputs), ", ".join(self.outputs)
        head = f"model of ONNX ({inputs}) -> ({outputs}) with {len(self.weights)} weights"
        return f"{head}\n{self.kernel!r}"

    def __reduce__(self) -> NoReturn:
        refuse_pickling("a compiled model", "pickle the path of the model, and compile it there")


def _compiled(proto: Any, **options: Any) -> Kernel:
    """The kernel of a prepared model, whose key is all of it, and what will import it."""
    told = digest(onnx().__version__, importer_files(), proto.SerializeToString(deterministic=True))
    key = disk_cache.key_of_module("model of ONNX", told, ENTRY, libraries=(), **options)
    if (found := disk_cache.find(key)) is not None:
        return found
    # Only here what loads MLIR: a model that is kept does without.
    from linalg_ext.compiler.module_compilation import compile_copy
    from linalg_ext.frameworks.onnx.importing import imported, refusal_of

    module = imported(proto)
    try:
        return compile_copy(module, ENTRY, trusted=True, libraries=(), key=key, **options)
    except IRError as error:
        raise refusal_of(proto, error) from error
