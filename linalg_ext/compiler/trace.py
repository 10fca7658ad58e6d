"""`jit`: a Python function of ops, traced into one function of linalg on tensors."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linalg_ext.bindings import func, ir
from linalg_ext.compiler.compilation import compile
from linalg_ext.compiler.kernel import Kernel
from linalg_ext.compiler.traced import Traced, as_traced, element_type
from linalg_ext.context import new_context
from linalg_ext.definition.call_shapes import Shape
from linalg_ext.errors import ArgumentError, SourceLocation, caller_location
from linalg_ext.module import Module
from linalg_ext.runtime.dtypes import DType, by_dtype

Spec = tuple[Shape, DType]


class JitFunction:
    """A function that is traced, fused and compiled at the first call with each set of shapes.

    Call it as the function itself, on arrays; `out=` says where the result goes. `lower` gives the
    traced module, `lower(...).compile()` the kernel.
    """

    __name__: str
    __wrapped__: Callable[..., Any]

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._kernels: dict[tuple[Spec, ...], Kernel] = {}
        self._lock = threading.Lock()

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Run the function, compiling it first where these dtypes and shapes are new.

        Raises:
            ArgumentError: an argument is no array, or the function does what cannot be traced.
        """
        given = [np.asarray(array) for array in arrays]
        specs = self._specs(given)
        kernel = self._kernels.get(specs)
        if kernel is None:
            with self._lock:
                kernel = self._kernels.get(specs)
                if kernel is None:
                    kernel = self._kernels[specs] = self.lower(*given).compile()
        return kernel(*given, out=out)

    def lower(self, *arrays: Any) -> Lowered:
        """Trace the function for arrays of these dtypes and shapes; nothing is run."""
        specs = self._specs([np.asarray(array) for array in arrays])
        return _trace(self._function, specs)

    def _specs(self, arrays: Sequence[np.ndarray[Any, Any]]) -> tuple[Spec, ...]:
        for array in arrays:
            by_dtype(array.dtype)
        return tuple((array.shape, array.dtype) for array in arrays)

    def __repr__(self) -> str:
        return f"<jit {self.__name__}, {len(self._kernels)} kernel(s)>"


class Lowered:
    """A traced function, before it is compiled.

    Attributes:
        module: the function, in linalg on tensors.
        name: its name in the module.
    """

    def __init__(self, module: Module, name: str, dtypes: Sequence[DType]) -> None:
        self.module = module
        self.name = name
        self._dtypes = tuple(dtypes)

    def as_text(self) -> str:
        """The module as MLIR text."""
        return str(self.module)

    def compile(self) -> Kernel:
        """The kernel for this machine."""
        return compile(
            self.module, self.name, trusted=True, checked=False, result_dtypes=self._dtypes
        )

    def __repr__(self) -> str:
        return f"<Lowered {self.name}>\n{self.as_text()}"


def jit(function: Callable[..., Any]) -> JitFunction:
    """Trace a function of ops and compile it as one kernel, in which element-wise chains fuse.

        @lx.jit
        def layer(x, w, b):
            return lx.ops.tanh(x @ w + b)

    Inside, arrays are traced values: ops of `lx.ops` and of your own, and the operators
    `+ - * / @` with NumPy's broadcasting, record; arrays from outside become constants.

    Args:
        function: takes arrays and returns one, or a tuple of them.
    """
    if not callable(function):
        raise ArgumentError(
            f"jit got {function!r}", where=caller_location(), expected="a function of arrays"
        )
    return JitFunction(function)


def _trace(function: Callable[..., Any], specs: Sequence[Spec]) -> Lowered:
    name = getattr(function, "__name__", "function")
    name = name if name.isidentifier() else "function"
    with new_context() as context, _location(function, context):
        module = ir.Module.create()
        types = [ir.RankedTensorType.get(shape, element_type(dtype)) for shape, dtype in specs]
        with ir.InsertionPoint(module.body):
            traced_function = func.FuncOp(name, (types, []))
        with ir.InsertionPoint(traced_function.add_entry_block()):
            arguments = [
                Traced(value, dtype)
                for value, (_, dtype) in zip(traced_function.arguments, specs, strict=True)
            ]
            results = _results(name, function(*arguments))
            func.ReturnOp([result.value for result in results])
        signature = ir.FunctionType.get(types, [result.value.type for result in results])
        traced_function.attributes["function_type"] = ir.TypeAttr.get(signature)
        return Lowered(Module.of(module), name, [result.dtype for result in results])


def _results(name: str, returned: Any) -> list[Traced]:
    values = returned if isinstance(returned, (tuple, list)) else (returned,)
    for value in values:
        if not isinstance(value, (Traced, np.ndarray, float, int, complex)):
            raise ArgumentError(
                f"{name} returns {value!r} under jit",
                expected="a traced array, or a tuple of them",
            )
    return [as_traced(value) for value in values]


def _location(function: Callable[..., Any], context: ir.Context) -> ir.Location:
    code = getattr(function, "__code__", None)
    if code is None:
        return ir.Location.unknown(context)
    place = SourceLocation(code.co_filename, code.co_firstlineno)
    return ir.Location.file(place.file, place.line, 0, context)
