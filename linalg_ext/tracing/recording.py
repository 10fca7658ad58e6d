"""One trace of a function: its arguments made, its body recorded, its results returned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from linalg_ext.bindings import func, ir
from linalg_ext.compiler.module_compilation import compile_copy, compile_in_place
from linalg_ext.compiler.tuned import tuned
from linalg_ext.compiler.tuning import Tuning
from linalg_ext.errors import ArgumentError, SourceLocation, TraceError, caller_location
from linalg_ext.executable.kernel import CompilerOptions, Kernel
from linalg_ext.ir.context import borrowed_context, new_context
from linalg_ext.module import Module
from linalg_ext.tracing import dispatch as dispatch  # its tables name NumPy's own functions
from linalg_ext.tracing import known_arrays, patching
from linalg_ext.tracing.arguments import Call
from linalg_ext.tracing.functions.indexing import Selection
from linalg_ext.tracing.lowered import Compiled, Recording
from linalg_ext.tracing.values.containers import Structure, flatten
from linalg_ext.tracing.values.conversion import as_traced
from linalg_ext.tracing.values.elements import element_type
from linalg_ext.tracing.values.emission import materialized
from linalg_ext.tracing.values.sizes import Size
from linalg_ext.tracing.values.trace import Trace, new_trace, static_sizes
from linalg_ext.tracing.values.traced import Traced


def compiled(
    function: Callable[..., Any],
    call: Call,
    tuning: Tuning | None,
    recording: Recording | None = None,
) -> Compiled:
    """Trace and compile a function.

    Args:
        tuning: how several plans are measured, of which the fastest is taken; None for the model's.
        recording: an earlier trace of the function for these arguments; a copy of it is compiled.
    """
    if recording is None and tuning is None:
        # A module is used up by its compilation: no other code sees this one, so it is not copied.
        with borrowed_context() as loan:
            own = record(function, call, loan.context)
            return Compiled(compile_in_place(own.module, own.name, _options(own), loan=loan), own)
    traced = record(function, call, new_context()) if recording is None else recording

    def make() -> Kernel:
        return compile_copy(traced.module, traced.name, _options(traced), trusted=True)

    return Compiled(make() if tuning is None else tuned(make, tuning), traced)


def _options(recording: Recording) -> CompilerOptions:
    return CompilerOptions(result_dtypes=recording.dtypes)


def record(function: Callable[..., Any], call: Call, context: ir.Context) -> Recording:
    """Trace a function for the arguments of a call, in a context."""
    name = getattr(function, "__name__", "function")
    name = name if name.isidentifier() else "function"
    with context, _location(function, context), new_trace(call.sizes) as trace:
        module = ir.Module.create()
        types = [
            ir.RankedTensorType.get(static_sizes(kind.shape), element_type(kind.dtype))
            for kind in call.kinds
        ]
        with ir.InsertionPoint(module.body):
            recorded = func.FuncOp(name, (types, []))
        with ir.InsertionPoint(recorded.add_entry_block()):
            values = list(recorded.arguments)
            _place_sizes(trace, call, values)
            arguments = [
                Traced(value, kind.dtype, kind.shape, weak=kind.weak)
                for value, kind in zip(values, call.kinds, strict=True)
            ]
            for argument in arguments:
                argument.is_argument, argument.is_in_rows = argument.weak is None, False
            positional, named = call.bind(arguments)
            with patching.refused(function, _place(function)), known_arrays.making():
                returned = _called(function, positional, named)
            results, structure = _results(name, returned)
            func.ReturnOp([result.value for result in results])
        signature = ir.FunctionType.get(types, [result.value.type for result in results])
        recorded.attributes["function_type"] = ir.TypeAttr.get(signature)
        dtypes = tuple(result.dtype for result in results)
        return Recording(
            Module(module),
            name,
            call,
            tuple(trace.demands),
            structure,
            dtypes,
            tuple(trace.callbacks),
        )


def _called(
    function: Callable[..., Any], positional: Sequence[Any], named: Mapping[str, Any]
) -> Any:
    """Call the function; NumPy's arrays hide why a traced value cannot be written into them."""
    try:
        return function(*positional, **named)
    except ValueError as error:
        if isinstance(error.__cause__, TraceError):
            raise error.__cause__ from None
        raise
    except TypeError as error:
        if "is not a valid JAX type" not in str(error):
            raise
        raise TraceError(
            "a traced value is given to a function of JAX's",
            where=_line_of(error),
            hint="use NumPy's function of that name; lx.from_jax(f, x) compiles code of JAX's",
        ) from None


def _line_of(error: Exception) -> SourceLocation | None:
    traceback = error.__traceback__
    frame = traceback.tb_next if traceback is not None else None
    if frame is None:
        return None
    code = frame.tb_frame.f_code
    return SourceLocation(code.co_filename, frame.tb_lineno, code.co_name)


def _place_sizes(trace: Trace, call: Call, values: list[ir.Value]) -> None:
    """Record an argument and an axis from which each symbolic dimension can be read.

    Raises:
        ArgumentError: one occurs in larger expressions alone.
    """
    for kind, value in zip(call.kinds, values, strict=True):
        for axis, size in enumerate(kind.shape):
            if isinstance(size, Size) and size.name is not None:
                trace.places.setdefault(size.name, (value, axis))
    for kind, name in zip(call.kinds, call.names, strict=True):
        missing = kind.names - trace.places.keys()
        if missing:
            raise ArgumentError(
                f"{name} has shape {kind.shape}, but no argument has the size {min(missing)} alone",
                where=caller_location(),
                hint=f"give some axis the size Dim({min(missing)!r}) by itself",
            )


def _results(name: str, returned: Any) -> tuple[list[Traced], Structure]:
    leaves, structure = flatten(returned)
    if not leaves:
        raise ArgumentError(f"{name} returns {returned!r} under jit", expected="a traced array")
    for leaf in leaves:
        if isinstance(leaf, Selection):
            leaf.refuse("the result", leaf.line)
        if not isinstance(leaf, Traced | np.ndarray | np.generic | float | int | complex | Size):
            raise ArgumentError(
                f"{name} returns {leaf!r} under jit",
                expected="a traced array, or a tuple, list, dict, ... of them",
            )
    return [materialized(as_traced(leaf)) for leaf in leaves], structure


def _location(function: Callable[..., Any], context: ir.Context) -> ir.Location:
    place = _place(function)
    if place is None:
        return ir.Location.unknown(context)
    return ir.Location.file(place.file, place.line, 0, context)


def _place(function: Callable[..., Any]) -> SourceLocation | None:
    code = getattr(function, "__code__", None)
    return None if code is None else SourceLocation(code.co_filename, code.co_firstlineno)
