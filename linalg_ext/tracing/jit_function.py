"""`jit`: a Python function of arrays, traced into one function of linalg on tensors."""

from __future__ import annotations

import difflib
import functools
import inspect
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import FunctionType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    NoReturn,
    ParamSpec,
    Protocol,
    TypeVar,
    overload,
)

import numpy as np

from linalg_ext.compiler.einsum.algebra import Array
from linalg_ext.compiler.einsum.request import Request
from linalg_ext.compiler.searching import asked_search, searching
from linalg_ext.compiler.tuning import Tuning
from linalg_ext.errors import ArgumentError, caller_location, counted, warn
from linalg_ext.executable.explanation import Explanation
from linalg_ext.executable.foreign_arrays import ForeignArrays, has_foreign_arrays
from linalg_ext.ir.context import new_context
from linalg_ext.runtime import threads as thread_counts
from linalg_ext.runtime.libraries import Libraries, in_force
from linalg_ext.runtime.vectorcall import caller
from linalg_ext.target import Target, override
from linalg_ext.tracing.arguments import Call, Parameters
from linalg_ext.tracing.functions.linear_algebra import einsum_on_traced
from linalg_ext.tracing.lowered import Compiled, Lowered, Recording
from linalg_ext.tracing.recording import compiled, record
from linalg_ext.tracing.values.containers import constants, flatten, leaves_of, unflatten
from linalg_ext.tracing.values.trace import running
from linalg_ext.tracing.values.traced import Traced
from linalg_ext.tracing.values.unsupported import refuse
from linalg_ext.utils import hooks, other_libraries
from linalg_ext.utils.hooks import Shown, is_dask
from linalg_ext.utils.locks import Lock
from linalg_ext.utils.recent import Arrivals, CallCache
from linalg_ext.utils.vectorcall import quickly_called

if TYPE_CHECKING:
    from linalg_ext.executable.kernel import Kernel
    from linalg_ext.transforms.grouping import Search

Key = tuple[Target | None, Libraries, tuple[Tuning | None, ...], Any]

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
Q = ParamSpec("Q")

_MANY = 20
"""Number of kernels for one set of shapes, of several static values, that a warning tells of."""

_MOST_KNOWN = 4096
"""Sets of shapes whose kernels are found at once; where sizes are open there may be any number."""


@quickly_called
class JitFunction(Shown, Generic[P, R], shown_as="jitted"):
    """A function that is traced, fused and compiled at the first call with each set of shapes.

    Call it as the function itself, on arrays and on containers of arrays; `out=` says where the
    result goes, in containers like its own, `threads=` how many may work on it. `lower` gives the
    traced module, `lower(...).compile()` the kernel that a call runs. On dask arrays it runs on
    their blocks.

    Attributes:
        options: the options of `jit`.
    """

    __name__: str
    __wrapped__: Callable[P, R]

    def __init__(
        self,
        function: Callable[P, R],
        *,
        static_argnames: str | Sequence[str] = (),
        static_argnums: int | Sequence[int] = (),
        dynamic: bool = False,
        signature: Sequence[Any] | None = None,
        tuning: Tuning | None = None,
        search: Search | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self._function = function
        self.options: Mapping[str, Any] = {
            "static_argnames": static_argnames,
            "static_argnums": static_argnums,
            "dynamic": dynamic,
            "signature": signature,
            "tuning": tuning,
            "search": search,
        }
        self._identity: str | None = None
        self._parameters = Parameters(function, static_argnames, static_argnums, dynamic, signature)
        self._tuning, self._search = tuning, search
        self._known: CallCache[Any, Compiled] = CallCache(_MOST_KNOWN)
        self._compiled: dict[Key, list[Compiled]] = {}
        self._static_values: dict[int, set[Any]] = {}
        self._lock = Lock()

    @overload
    def __call__(self, *arguments: P.args, **named: P.kwargs) -> R: ...
    @overload
    def __call__(self, *arguments: Any, out: Any, threads: int | None = ..., **named: Any) -> R: ...
    @overload
    def __call__(self, *arguments: Any, threads: int | None, **named: Any) -> R: ...

    def __call__(  # type: ignore[misc]  # mypy wants out= and threads= in P
        self, *arguments: Any, out: Any = None, threads: int | None = None, **named: Any
    ) -> Any:
        """Run the function, compiling it first where these dtypes and shapes are new.

        Inside another traced function it is traced along, as a plain function would be.

        Raises:
            ArgumentError: an argument is not an array, or the function cannot be traced.
            ShapeError: open sizes of the arguments do not agree; names the arguments and axes.
        """
        libraries = in_force()
        if not named and all(type(array) is np.ndarray for array in arguments):
            known = self._known.get(
                (override(), libraries, tuple((array.shape, array.dtype) for array in arguments))
            )
            if known is not None:
                result = known.kernel(*arguments, out=out, threads=threads)
                if threads is None:
                    self._quicken(known, arguments, len(arguments), (), libraries)
                return result
        leaves, _ = flatten([list(arguments), named], constants=True)
        if any(map(is_dask, leaves)):
            return hooks.facade("calls").jitted_on_dask(self, arguments, named, out, threads)
        if running() is not None and any(isinstance(leaf, Traced) for leaf in leaves):
            if out is not None or threads is not None:
                keyword = "out" if threads is None else "threads"
                refuse(f"{self.__name__}: {keyword}= inside a traced function", "leave it out")
            return self._function(*arguments, **named)
        if has_foreign_arrays(leaves, tuple(leaves_of(out))):
            return self._with_guests(arguments, named, out, threads)
        call = self._parameters.call(arguments, named)
        compiled = self._compiled_for(call)
        result = compiled.on_arrays(call.arrays, out, threads)
        if compiled.is_plain and not named and all(type(x) is np.ndarray for x in arguments):
            # Sizes agree or not by the shapes alone: these do.
            kinds = tuple((array.shape, array.dtype) for array in call.arrays)
            self._known.remember((override(), in_force(), kinds), compiled)
        if threads is None:
            self._quicken(compiled, call.leaves, len(arguments), tuple(named), libraries)
        return result

    def _with_guests(
        self, arguments: Sequence[Any], named: Mapping[str, Any], out: Any, threads: int | None
    ) -> Any:
        """Call the function with arrays that are not NumPy's."""
        guests = ForeignArrays()

        def brought(value: Any, name: str) -> Any:
            leaves, structure = flatten(value, constants=True)
            arrays = [guests.array(leaf, f"{self.__name__}: {name}") for leaf in leaves]
            return unflatten(structure, arrays) if has_foreign_arrays(leaves) else value

        arrays = [brought(value, f"argument {at}") for at, value in enumerate(arguments)]
        named_arrays = {name: brought(value, f"argument {name}") for name, value in named.items()}
        places, structure = flatten(out)
        destinations = [guests.place(place, f"{self.__name__}: out=") for place in places]
        result = self(
            *arrays, out=unflatten(structure, destinations), threads=threads, **named_arrays
        )
        leaves, structure = flatten(result)
        return unflatten(structure, list(map(guests.back, leaves)))

    def _quicken(
        self,
        compiled: Compiled,
        leaves: Sequence[Any],
        count: int,
        names: tuple[str, ...],
        libraries: Libraries,
    ) -> None:
        """Have native code answer calls like this one from now on, where it can."""
        if (native := caller()) is not None:
            binding = self._parameters.binding
            compiled.quicken(native, self, leaves, count, names, binding, libraries)

    @overload
    def __get__(self, instance: None, owner: type | None = ...) -> JitFunction[P, R]: ...
    @overload
    def __get__(
        self: JitFunction[Concatenate[S, Q], R], instance: S, owner: type | None = ...
    ) -> Callable[Q, R]: ...

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As a method: called with the instance, which a dataclass of arrays can be."""
        return self if instance is None else functools.partial(self, instance)

    if not TYPE_CHECKING:  # a type checker that saw it would take every name for one that exists

        def __getattr__(self, name: str) -> NoReturn:
            raise other_libraries.no_attribute("a jitted function", name, other_libraries.FUNCTION)

    def lower(self, *arguments: Any, **named: Any) -> Lowered:
        """Trace the function for arguments of these dtypes and shapes; nothing is run.

        Args:
            arguments, named: as of a call; a `ShapeDtype`, or JAX's `ShapeDtypeStruct`, may
                stand for any array. None at all where `jit` was given a signature.

        Raises:
            ArgumentError: as for a call.
        """
        call = self._parameters.call(arguments, named, specs=True)
        recording = record(self._function, call, new_context())
        return Lowered(**vars(recording), compiled_for=self._compiled_for)

    def explain(self, *arguments: Any, **named: Any) -> Explanation:
        """Return the plans of the kernel for these arguments, with reasons; compile it where new.

            print(layer.explain(x, w, b))

        Raises:
            ArgumentError: as for a call.
        """
        call = self._parameters.call(arguments, named, specs=True)
        with thread_counts.using(1):  # the plans are those of one thread
            return self._compiled_for(call).kernel.explain()

    def _compiled_for(
        self,
        call: Call,
        recording: Recording | None = None,
        tune: bool | float | Tuning | None = None,
    ) -> Compiled:
        """Return the kernel for the arguments of a call, compiled where it is new.

        Args:
            recording: an earlier trace for them. Where the function did something else in the trace
                that the kernel is of, as globals have changed, the recording is compiled by itself.
            tune: as of `linalg_ext.compile`; None for the option of `jit`.
        """
        tuning = self._tuning if tune is None else Tuning.of(tune)
        tuning_key = () if tuning == self._tuning else (tuning,)
        key = (override(), in_force(), tuning_key, call.key)
        kernel = self._kernel_for(key, call, recording)
        if kernel is not None:
            return kernel
        with self._lock:
            kernel = self._kernel_for(key, call, recording)
            if kernel is not None:
                return kernel
            with searching(self._search):
                new = compiled(self._function, call, tuning, recording)
            if self._kernel_for(key, call) is None:
                kernels = self._compiled.setdefault(key, [])
                kernels.append(new)
                if len(kernels) == _MANY:
                    warn(
                        f"{self.__name__} was compiled {_MANY} times for open sizes, once for "
                        "each answer to len(x), range(x.shape[0]) and the like: compute on "
                        "whole arrays, or use lx.loop and lx.cond"
                    )
            self._warn_of_many(call)
            return new

    def _kernel_for(
        self, key: Key, call: Call, recording: Recording | None = None
    ) -> Compiled | None:
        """Return the kernel of a recording, if there is one; else that for the sizes of a call."""
        return next(
            (
                kernel
                for kernel in self._compiled.get(key, ())
                if (kernel.serves(call) if recording is None else kernel.is_of(recording))
            ),
            None,
        )

    def _warn_of_many(self, call: Call) -> None:
        """Warn at the twentieth kernel for one set of shapes, which static arguments make."""
        static = [*dict(call.static), *constants(call.structure)]
        if not static:
            return
        # By the hash: open sizes cannot be asked whether they are equal to numbers.
        values = self._static_values.setdefault(hash(call.kinds), set())
        values.add(call.key[1:])
        if len(values) != _MANY:
            return
        warn(
            f"{self.__name__} was compiled {_MANY} times for arrays of the same shapes, once for "
            f"each value of {' and '.join(static)}: pass a number as an array's element, or a "
            "function that is made once"
        )

    def __reduce__(self) -> Any:
        """A jitted function travels as functions do: by its name, or with the function in it.

        By its name where a module that can be imported has it under that name. Else as the function
        that it was made of and the options: the pickler must know how to send that one, and
        cloudpickle, which dask uses, sends any. A function of a script that was decorated is found
        under the name of the decorated one, as its `__wrapped__`: so pickle sends it to processes
        that run the same script. Kernels do not travel: it is traced and compiled where it arrives,
        once, however often it does.
        """
        qualified = getattr(self, "__qualname__", self.__name__)
        named: Any = sys.modules.get(self.__module__)
        for name in qualified.split("."):
            named = getattr(named, name, None)
        if named is self and self.__module__ != "__main__":
            return qualified
        if named is self and isinstance(self._function, FunctionType):
            self._function.__qualname__ = f"{qualified}.__wrapped__"
        if self._identity is None:
            self._identity = secrets.token_hex(16)
            _arrivals.get(self._identity, lambda: self)
        return _arrived, (self._identity, self._function, self.options)

    def __copy__(self) -> JitFunction[P, R]:
        return self  # as of functions, there is no second one

    def __deepcopy__(self, memo: object) -> JitFunction[P, R]:
        return self

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Return the kernels that calls have compiled, or found on disk, in their order."""
        return tuple(compiled.kernel for own in self._compiled.values() for compiled in own)

    def __repr__(self) -> str:
        return f"<jit {self.__name__}, {counted(len(self.kernels), 'kernel')}>"


_arrivals: Arrivals[JitFunction[..., Any]] = Arrivals(most=256)


def _arrived(
    identity: str, function: Callable[..., Any], options: Mapping[str, Any]
) -> JitFunction[..., Any]:
    """Return the jitted function of an identity: the first that arrived of it."""

    def make() -> JitFunction[..., Any]:
        jitted: JitFunction[..., Any] = JitFunction(function, **options)
        jitted._identity = identity
        return jitted

    return _arrivals.get(identity, make)


class _Jit(Protocol):
    """A decorator that keeps the parameters and the result of a function."""

    def __call__(self, function: Callable[P, R], /) -> JitFunction[P, R]: ...


@overload
def jit(function: np.ufunc) -> JitFunction[..., Any]: ...  # of overloads, P would be the first


@overload
def jit(
    *,
    static_argnames: str | Sequence[str] = ...,
    static_argnums: int | Sequence[int] = ...,
    dynamic: bool = ...,
    signature: Sequence[Any] | None = ...,
    tune: bool | float | Tuning = ...,
    search: bool | str | Search = ...,
) -> _Jit: ...


@overload
def jit(
    function: Callable[P, R],
    *,
    static_argnames: str | Sequence[str] = ...,
    static_argnums: int | Sequence[int] = ...,
    dynamic: bool = ...,
    signature: Sequence[Any] | None = ...,
    tune: bool | float | Tuning = ...,
    search: bool | str | Search = ...,
) -> JitFunction[P, R]: ...


def jit(
    function: Any = None,
    *,
    static_argnames: str | Sequence[str] = (),
    static_argnums: int | Sequence[int] = (),
    dynamic: bool = False,
    signature: Sequence[Any] | None = None,
    tune: bool | float | Tuning = False,
    search: bool | str | Search = False,
    **unknown: Any,
) -> Any:
    """Trace a function of arrays and compile it as one kernel, in which element-wise chains fuse.

        @lx.jit
        def layer(x, w, b):
            return np.tanh(x @ w + b)

        @lx.jit(tune=True)
        def measured(x, w): ...

    Inside, arrays are traced values: NumPy's functions, operators, methods and indexing are
    recorded, and so are ops of `lx.ops` and of your own. Arrays that the function makes, by
    `np.zeros` or as copies, may be written into; its arguments may not. Decompositions, Fourier
    transforms and their kin are NumPy's own, which the kernel calls: see the page "NumPy under
    jit". A function that is not covered raises.

    The function itself runs once for each set of shapes, when it is recorded. Arrays and numbers
    that come to it from outside, as globals, from closures or from `self`, are constants of the
    kernel: later assignments to them, or writes into them, are not seen. Pass changing values as
    arguments; a dataclass of arrays may be one, and so may `self` be if it is such.

        scale = np.ones(3)
        shifted = lx.jit(lambda x: x * scale)            # keeps the scale of the first call
        shifted = lx.jit(lambda x, scale: x * scale)     # takes the scale of each call

    Random numbers and the time would be fixed likewise: functions of `numpy.random`, `random` and
    `time`, and generators that the function refers to, raise a TraceError while it is recorded.
    Draw by keys, as of `lx.random`, or outside of it, and pass the numbers in; a generator that is
    made inside from a seed gives the same numbers at every call anyhow.

    Args:
        function: takes arrays, Python numbers, and tuples, lists, dicts, named tuples and
            dataclasses of these, and gives such; left out, `jit` is a decorator with options.
        static_argnames: parameters that are not arrays: values with a hash, for each of which the
            function is traced again. A parameter that is annotated as `lx.Static[int]`, or as a
            `Literal`, is static without being named here; so is every argument, and every field of
            a dataclass, that cannot be an array: a string, a dtype, a slice, a function.
        static_argnums: positions of such parameters.
        dynamic: one kernel for all sizes of 2 or more, and another where slices end earlier,
            `x[:9]` of fewer than 9, comparisons of sizes have another answer, or `len(x)` is
            another number. Sizes that must agree are checked at each call, before native code.
        signature: the types of the arguments, each a `ShapeDtype` (or a container of them), whose
            open sizes are made of `lx.Dim`: kernels as with `dynamic`, and other arguments raise.
        tune: seconds in which plans are measured at the first call with each set of shapes (True:
            10); the fastest is taken and remembered: see `linalg_ext.compiler.tuning`.
        search: look for the grouping of the ops that costs least: as of `linalg_ext.compile`.
    """

    if unknown:
        name = next(iter(unknown))
        known = [
            parameter for parameter in inspect.signature(jit).parameters if parameter != "unknown"
        ][1:]
        near = difflib.get_close_matches(name, known, n=1)
        similar = f"did you mean {near[0]}?" if near else None
        raise ArgumentError(
            f"jit has no keyword {name!r}",
            where=caller_location(),
            expected=f"one of {', '.join(known)}",
            hint=other_libraries.KEYWORDS.get(name, similar),
        )
    tuning = Tuning.of(tune)
    chosen_search = asked_search(search)

    def wrapped(traced: Callable[..., Any]) -> JitFunction[..., Any]:
        if not callable(traced):
            raise ArgumentError(
                f"jit got {traced!r}", where=caller_location(), expected="a function of arrays"
            )
        return JitFunction(
            traced,
            static_argnames=static_argnames,
            static_argnums=static_argnums,
            dynamic=dynamic,
            signature=signature,
            tuning=tuning,
            search=chosen_search,
        )

    return wrapped if function is None else wrapped(function)


def einsum_compiled(request: Request, arrays: Sequence[Array]) -> Array:
    """Return the result of one kernel, as an array; the static arguments can be hashed."""
    return np.asarray(_function(request, None)(*arrays))


def einsum_tuned(request: Request, arrays: Sequence[Array], out: Any, tuning: Tuning) -> Any:
    """Return the result of the fastest kernel that was found for these shapes and dtypes.

    Raises:
        ArgumentError: an option cannot be the key of a cache: a path as a list, say.
    """
    try:
        function = _function(request, tuning)
    except TypeError:
        raise ArgumentError(
            "einsum: tune= with an order of contraction that is a list",
            hint="give optimize= by name, or tune a function of yours: lx.jit(f, tune=True)",
        ) from None
    result = function(*arrays, out=out)
    return result if out is not None or result.ndim else result[()]


@lru_cache(maxsize=1024)
def _function(request: Request, tuning: Tuning | None) -> JitFunction[..., Any]:
    def einsum(*operands: Any) -> Any:
        return einsum_on_traced(request, list(operands))

    return JitFunction(einsum, tuning=tuning)
