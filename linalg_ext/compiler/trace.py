"""`jit`: a Python function of ops, traced into one function of linalg on tensors."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from linalg_ext.bindings import func, ir
from linalg_ext.compiler.compilation import compile, compile_in_place
from linalg_ext.compiler.conversion import as_array
from linalg_ext.compiler.kernel import Kernel
from linalg_ext.compiler.traced import Traced, as_traced, element_type, new_trace
from linalg_ext.compiler.unrecorded import refuse
from linalg_ext.context import borrowed_context, new_context
from linalg_ext.definition.call_shapes import Shape
from linalg_ext.errors import (
    ArgumentError,
    ArityError,
    SourceLocation,
    caller_location,
    refuse_pickling,
)
from linalg_ext.module import Module
from linalg_ext.runtime.dtypes import DType
from linalg_ext.target import Target, override

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
        self._kernels: dict[tuple[Target | None, tuple[Spec, ...]], Kernel] = {}
        self._counts: set[int] = set()
        self._lock = threading.Lock()

    def __call__(self, *arrays: Any, out: Any = None, **named: Any) -> Any:
        """Run the function, compiling it first where these dtypes and shapes are new.

        Inside another traced function it is traced along, as a plain function would be.

        Raises:
            ArgumentError: an argument is no array, or the function does what cannot be traced.
        """
        if not named and all(type(array) is np.ndarray for array in arrays):
            known = self._kernels.get((override(), self._specs(arrays)))
            if known is not None:
                return known(*arrays, out=out)
        if any(isinstance(value, Traced) for value in (*arrays, *named.values())):
            if out is not None:
                refuse(f"{self.__name__}: out= inside a traced function", "leave it out")
            return self._function(*arrays, **named)
        given = self._arrays(arrays, named)
        key = (override(), self._specs(given))
        kernel = self._kernels.get(key)
        if kernel is None:
            with self._lock:
                kernel = self._kernels.get(key)
                if kernel is None:
                    kernel = self._kernels[key] = _compile(self._function, key[1])
        return kernel(*given, out=out)

    def lower(self, *arrays: Any, **named: Any) -> Lowered:
        """Trace the function for arrays of these dtypes and shapes; nothing is run.

        Raises:
            ArgumentError: as for a call.
        """
        return _trace(self._function, self._specs(self._arrays(arrays, named)))

    def _arrays(
        self, arrays: tuple[Any, ...], named: Mapping[str, Any]
    ) -> list[np.ndarray[Any, Any]]:
        """What is given as arrays, in the order of the parameters."""
        if named or not self._takes(len(arrays)):
            arrays = self._bound(arrays, named)
        return [
            as_array(value, f"argument {index} of {self.__name__}")
            for index, value in enumerate(arrays)
        ]

    def _takes(self, count: int) -> bool:
        if count not in self._counts:
            self._bound((None,) * count, {})
            self._counts.add(count)
        return True

    def _bound(self, arrays: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...]:
        try:
            signature = inspect.signature(self._function)
        except (TypeError, ValueError):  # a function of C that does not tell
            return arrays
        try:
            bound = signature.bind(*arrays, **named)
        except TypeError as error:
            raise ArityError(
                f"{self.__name__}: {error}",
                where=caller_location(),
                expected=f"{self.__name__}{signature}",
            ) from None
        if bound.kwargs:
            raise ArityError(
                f"{self.__name__} takes {', '.join(bound.kwargs)} by name alone",
                where=caller_location(),
                cure="arrays are parameters that have a position",
            )
        return bound.args

    def _specs(self, arrays: Sequence[np.ndarray[Any, Any]]) -> tuple[Spec, ...]:
        return tuple((array.shape, array.dtype) for array in arrays)

    def __reduce__(self) -> NoReturn:
        refuse_pickling("a jitted function", "pickle the plain function, and jit it there")

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
        """The kernel for the target in force."""
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
    context = new_context()
    module, dtypes = _traced_module(function, specs, context)
    return Lowered(Module.of(module), _name(function), dtypes)


def _compile(function: Callable[..., Any], specs: Sequence[Spec]) -> Kernel:
    """`_trace` and `compile`, in one context that is lent again afterwards."""
    with borrowed_context() as loan:
        module, dtypes = _traced_module(function, specs, loan.context)
        return compile_in_place(Module(module), _name(function), loan=loan, result_dtypes=dtypes)


def _name(function: Callable[..., Any]) -> str:
    name: str = getattr(function, "__name__", "function")
    return name if name.isidentifier() else "function"


def _traced_module(
    function: Callable[..., Any], specs: Sequence[Spec], context: ir.Context
) -> tuple[ir.Module, list[DType]]:
    """The function for arrays of these shapes and dtypes, and the dtypes of its results."""
    name = _name(function)
    with context, _location(function, context), new_trace():
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
        return module, [result.dtype for result in results]


def _results(name: str, returned: Any) -> list[Traced]:
    values = returned if isinstance(returned, (tuple, list)) else (returned,)
    if not values:
        raise ArgumentError(f"{name} returns nothing under jit", expected="a traced array")
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
