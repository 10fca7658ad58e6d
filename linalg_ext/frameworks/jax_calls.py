"""StableHLO's ops without a lowering to linalg as calls of NumPy's functions, and of LAPACK's.

    stablehlo.fft %x, type = RFFT, length = [8]             np.fft.rfftn
    stablehlo.custom_call @lapack_spotrf_ffi(%x)            the same function, called by JAX

JAX has the functions of LAPACK, with their batches and their layouts, in its own runtime.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.frameworks.requirements import jax
from linalg_ext.frameworks.traced_ops import dtype_of, write_traced
from linalg_ext.runtime.callbacks import Callback
from linalg_ext.tracing.functions.callbacks import pure_callback
from linalg_ext.tracing.values.specs import ShapeDtype

_TRANSFORMS: dict[str, Callable[..., Any]] = {
    "FFT": np.fft.fftn,
    "IFFT": np.fft.ifftn,
    "RFFT": np.fft.rfftn,
    "IRFFT": np.fft.irfftn,
}
_FFT, _CALL = "stablehlo.fft", "stablehlo.custom_call"
_LAPACK = "lapack_"
"""Begins the names of LAPACK's functions in JAX's runtime."""

Function = Callable[..., Any]


def write_calls(module: ir.Module, configuration: str) -> list[Callback]:
    """Make Fourier transforms and calls of LAPACK, in StableHLO, calls of functions of Python.

    Args:
        configuration: the attribute of a call that holds the numbers for the called function.

    Returns:
        These functions, which the module's kernel keeps alive.
    """
    return write_traced(module, {_FFT, _CALL}, functools.partial(_function_of, configuration))


def _function_of(configuration: str, op: ir.Operation) -> tuple[str, Function] | None:
    name = str([(key, str(value)) for key, value in op.attributes.items()])
    if op.name == _FFT:
        return name, _transform(op)
    target = ir.StringAttr(op.attributes["call_target_name"]).value
    return (name, _lapack(op, target, configuration)) if target.startswith(_LAPACK) else None


def _transform(op: ir.Operation) -> Function:
    lengths = list(ir.DenseI64ArrayAttr(op.attributes["fft_length"]))
    kind = str(op.attributes["fft_type"]).removeprefix("#stablehlo<fft_type ").removesuffix(">")
    axes = tuple(range(-len(lengths), 0))
    return functools.partial(_TRANSFORMS[kind], s=lengths, axes=axes)


def _lapack(op: ir.Operation, target: str, configuration: str) -> Function:
    """Return a function of arrays that calls LAPACK as the op does."""
    package = jax()
    inputs, outputs = (
        [_spec(value.type) for value in values] for values in (op.operands, op.results)
    )
    entries: Any = ir.DictAttr(op.attributes[configuration])
    numbers = {entry.name: _number(entry.attr) for entry in entries}
    call = package.ffi.ffi_call(
        target,
        [package.ShapeDtypeStruct(spec.shape, spec.dtype) for spec in outputs],
        input_layouts=_layouts(op, "operand_layouts"),
        output_layouts=_layouts(op, "result_layouts"),
    )
    (processor,) = package.local_devices(backend="cpu")[:1]
    with _types_of_64_bits(), package.default_device(processor):
        # Compiled now: a call may come from within another trace of JAX's.
        specs = [package.ShapeDtypeStruct(spec.shape, spec.dtype) for spec in inputs]
        jitted = package.jit(lambda *arrays: call(*arrays, **numbers))
        compiled = jitted.lower(*specs).compile()

    def called(*arrays: Any) -> tuple[Any, ...]:
        with _types_of_64_bits():
            return tuple(np.asarray(result) for result in compiled(*arrays))

    called.__name__ = target
    return lambda *arrays: pure_callback(called, tuple(outputs), *arrays)


def _spec(type_: ir.Type) -> ShapeDtype:
    tensor = ir.RankedTensorType(type_)
    return ShapeDtype(tuple(tensor.shape), dtype_of(tensor))


def _number(attribute: Any) -> Any:
    """Return an integer of the attribute's type, such as `ui8`; or a truth value."""
    value = attribute.value
    if isinstance(value, bool):
        return value
    return np.dtype(str(attribute.type).replace("i", "int")).type(value)


def _layouts(op: ir.Operation, name: str) -> list[tuple[int, ...]]:
    """Return the orders of axes in memory, outermost first: the attribute has them last."""
    layouts: Any = ir.ArrayAttr(op.attributes[name])
    return [tuple(layout)[::-1] for layout in layouts]


def _types_of_64_bits() -> AbstractContextManager[Any]:
    """Return a context in which JAX keeps the types of 64 bits, whatever its settings."""
    package = jax()
    if not hasattr(package, "enable_x64"):  # JAX 0.7 and before
        package = importlib.import_module("jax.experimental")
    context: AbstractContextManager[Any] = package.enable_x64(True)
    return context
