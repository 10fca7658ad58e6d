"""`lx.pure_callback`: Python called from inside a kernel, and NumPy's functions called so."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from linalg_ext.errors import ArgumentError, DTypeError, ShapeError, SourceLocation, caller_location
from linalg_ext.runtime.callbacks import Callback
from linalg_ext.runtime.dtypes import DType, by_dtype
from linalg_ext.tracing.functions.shaping import as_shape
from linalg_ext.tracing.values.containers import Structure, flatten, leaves_of, unflatten
from linalg_ext.tracing.values.conversion import as_traced
from linalg_ext.tracing.values.elements import as_dtype
from linalg_ext.tracing.values.emission import materialized, shape_text
from linalg_ext.tracing.values.sizes import Shape, Size, names_of, value_of
from linalg_ext.tracing.values.specs import ShapeDtype
from linalg_ext.tracing.values.tensor_ops import empty
from linalg_ext.tracing.values.trace import at_users_line, running, untraced
from linalg_ext.tracing.values.traced import Traced, current_trace
from linalg_ext.transforms.rewrites.call_stubs import call_python
from linalg_ext.utils.logs import logger

Array = np.ndarray[Any, Any]

_TRIALS = ((7, 5, 11, 3), (5, 13, 7, 17), (6, 4, 10, 8))
"""Sizes for open dimensions, by which the sizes of results are told: of either order and parity."""


def pure_callback(function: Callable[..., Any], like: Any, /, *arguments: Any) -> Any:
    """Call a function of Python from inside a kernel.

        def total(x):                       # any code: a library of others, a table, a file
            return np.float64(sum(x.tolist()))

        lx.jit(lambda x: lx.pure_callback(total, lx.ShapeDtype((), np.float64), x) * 2)

    It may run as often as the kernel does, in any thread, once it has the GIL; it gets copies of
    the arrays. An exception that it raises ends the call of the kernel, and comes out of it. A
    kernel that calls Python is not kept on disk, and cannot be shipped.

    Args:
        function: has no effects; gives arrays of the shapes and dtypes that `like` says.
        like: for each result an array, a `ShapeDtype`, or a pair of a shape and a dtype; in a
            container as the results are. Sizes may be open, where they are those of arrays.
        arguments: arrays and numbers, and containers of them.

    Returns:
        The results of the function. Outside of a trace it is called at once.

    Raises:
        ArgumentError: `like` says no shape, or no dtype.
        ShapeError, DTypeError: at a call: the function gives something else.

    Example:
        >>> lx.pure_callback(np.linalg.inv, lx.ShapeDtype((2, 2), float), 2 * np.eye(2))
        array([[0.5, 0. ],
               [0. , 0.5]])
    """
    if not callable(function):
        raise ArgumentError(
            f"pure_callback of {function!r}", where=caller_location(), expected="a function"
        )
    kinds, structure = _declared(like)
    name = getattr(function, "__name__", type(function).__name__)
    leaves, container = flatten(list(arguments))
    where = caller_location()

    def call(arrays: Sequence[Array]) -> list[Array]:
        copies = [np.array(array) for array in arrays]
        return _checked(name, where, function(*unflatten(container, copies)), structure)

    if running() is None:
        results = call([np.asarray(leaf) for leaf in leaves])
        for array, (shape, dtype) in zip(results, kinds, strict=True):
            _check(name, where, array, shape, dtype)
        return unflatten(structure, results)
    return unflatten(structure, recorded(name, call, [as_traced(leaf) for leaf in leaves], kinds))


def recorded(
    name: str,
    call: Callable[[Sequence[Array]], Sequence[Any]],
    operands: Sequence[Traced],
    kinds: Sequence[tuple[Shape, DType]],
) -> list[Traced]:
    """Record the call of a function of arrays, which are memory of the kernel."""
    trace, where = current_trace(operands), caller_location()
    for dtype in (*(operand.dtype for operand in operands), *(dtype for _, dtype in kinds)):
        if by_dtype(dtype).width % 8 and dtype != np.bool_:
            raise DTypeError(
                f"{name} with an array of {dtype} cannot be called from a kernel",
                where=where,
                hint="cast it with .astype(np.int8)",
            )

    def run(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        with untraced():
            results = call(inputs)
        for array, out in zip(results, outputs, strict=True):
            _check(name, where, array, out.shape, out.dtype)
            out[...] = array

    callback = Callback(
        run,
        [(operand.dtype, operand.ndim) for operand in operands],
        [(dtype, len(shape)) for shape, dtype in kinds],
    )
    trace.callbacks.append(callback)
    with at_users_line():
        results = call_python(
            callback,
            [materialized(operand).tensor for operand in operands],
            [empty(shape, dtype) for shape, dtype in kinds],
        )
    return [
        Traced(result, dtype, shape) for result, (shape, dtype) in zip(results, kinds, strict=True)
    ]


def _declared(like: Any) -> tuple[list[tuple[Shape, DType]], Structure]:
    leaves, structure = flatten(_specified(like))
    if not leaves:
        raise ArgumentError(
            f"pure_callback with like={like!r}",
            where=caller_location(),
            expected="an array, a ShapeDtype, a pair of a shape and a dtype, or several of them",
        )
    return list(map(_kind, leaves)), structure


def _specified(like: Any) -> Any:
    """Put a `ShapeDtype` in the place of each pair of a shape and a dtype."""
    if _is_pair(like):
        return ShapeDtype(*(like if _is_shape(like[0]) else like[::-1]))
    if type(like) in (tuple, list):
        return type(like)(map(_specified, like))
    if type(like) is dict:
        return {key: _specified(value) for key, value in like.items()}
    return like


def _kind(like: Any) -> tuple[Shape, DType]:
    if hasattr(like, "shape") and hasattr(like, "dtype"):
        return as_shape(tuple(like.shape)), as_dtype(like.dtype)
    if not isinstance(like, int | float | complex):
        raise ArgumentError(
            f"pure_callback with like={like!r}",
            where=caller_location(),
            expected="an array, a ShapeDtype, or a pair of a shape and a dtype",
        )
    return (), np.asarray(like).dtype


def _is_shape(value: Any) -> bool:
    sizes = value if isinstance(value, tuple | list) else (value,)
    return all(isinstance(size, int | np.integer | Size) for size in sizes)


def _is_pair(value: Any) -> bool:
    if not isinstance(value, tuple) or len(value) != 2:
        return False
    first, second = value
    return any(
        _is_shape(shape) and isinstance(dtype, type | str | np.dtype)
        for shape, dtype in ((first, second), (second, first))
    )


def _checked(
    name: str, where: SourceLocation | None, returned: Any, structure: Structure
) -> list[Array]:
    leaves, own = flatten(returned)
    if own.leaves != structure.leaves or (own.kind is None) != (structure.kind is None):
        raise ArgumentError(
            f"pure_callback: {name} gives {own}", where=where, expected=f"{structure}, by like"
        )
    return [np.asarray(leaf) for leaf in leaves]


def _check(
    name: str, where: SourceLocation | None, array: Any, shape: Sequence[Any], dtype: DType
) -> None:
    result = np.asarray(array)
    if len(result.shape) != len(shape) or any(
        isinstance(size, int) and own != size for own, size in zip(result.shape, shape, strict=True)
    ):
        raise ShapeError(
            f"{name} gives an array of shape {result.shape}",
            where=where,
            expected=f"shape {shape_text(tuple(shape))}, as was declared",
        )
    if result.dtype != dtype:
        raise DTypeError(
            f"{name} gives an array of {result.dtype}",
            where=where,
            expected=f"{dtype}, as was declared",
            hint=f"return result.astype({str(dtype)!r})",
        )


def called_back(
    name: str, function: Callable[..., Any], arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> Any:
    """Record the call of one of NumPy's functions, or of another library's, as a call of its code.

    The shapes and dtypes of its results are those that it gives for other numbers; where sizes are
    open, for several sizes in their place.

    Raises:
        ArgumentError: it takes no such arguments; the message is NumPy's.
        TraceError: sizes of results do not follow from open ones, and no call is at hand.
    """
    logger("fallbacks").info("%s is called from the kernel, by Python", name)
    leaves, structure = flatten([list(arguments), dict(keywords)])
    places = [at for at, leaf in enumerate(leaves) if isinstance(leaf, Traced | Size)]
    operands = [as_traced(leaves[at]) for at in places]

    def call(arrays: Sequence[Array]) -> Any:
        filled = list(leaves)
        for at, array in zip(places, arrays, strict=True):
            filled[at] = array
        positional, named = unflatten(structure, filled)
        return function(*positional, **named)

    kinds, results = _kinds_of_results(
        name, call, [(operand.shape, operand.dtype) for operand in operands]
    )

    def run(arrays: Sequence[Array]) -> Sequence[Any]:
        return leaves_of(call(arrays))

    return unflatten(results, recorded(name, run, operands, kinds))


def _kinds_of_results(
    name: str, call: Callable[[Sequence[Array]], Any], kinds: Sequence[tuple[Shape, DType]]
) -> tuple[list[tuple[Shape, DType]], Structure]:
    """Return the kinds of a function's results, by calls with numbers for open sizes."""
    dims = sorted(names_of(*(size for shape, _ in kinds for size in shape)))
    tried = []
    for numbers in _TRIALS if dims else ((),):
        sizes = {dim: numbers[at % 4] + at // 4 for at, dim in enumerate(dims)}
        arrays = [
            _example(tuple(value_of(size, sizes) for size in shape), dtype)
            for shape, dtype in kinds
        ]
        try:
            with untraced(), warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                leaves, structure = flatten(call(arrays))
        except (ValueError, TypeError, IndexError, np.linalg.LinAlgError) as error:
            raise ArgumentError(
                f"{name}: {error}",
                where=caller_location(),
                notes=[f"for arrays of shapes {', '.join(str(a.shape) for a in arrays)}"],
            ) from None
        tried.append((sizes, [np.asarray(leaf) for leaf in leaves]))
    candidates = {size for shape, _ in kinds for size in shape if isinstance(size, Size)}
    candidates |= {
        guess for size in candidates for guess in (size // 2 + 1, 2 * (size - 1), size + 1)
    }
    results = []
    for number, first in enumerate(tried[0][1]):
        shape = tuple(
            _size([(sizes, arrays[number].shape[axis]) for sizes, arrays in tried], candidates)
            for axis in range(first.ndim)
        )
        results.append((shape, as_dtype(first.dtype)))
    if any(size is None for shape, _ in results for size in shape):
        # Nothing that the algebra has: the sizes of the call at hand, then.
        return _kinds_of_results(
            name, call, [(tuple(map(operator.index, shape)), dtype) for shape, dtype in kinds]
        )
    return results, structure


def _size(observed: Sequence[tuple[dict[str, int], int]], candidates: Any) -> Any:
    """Return the size that has each observed number for the numbers put for open sizes, or None."""
    numbers = {number for _, number in observed}
    if len(numbers) == 1:
        return numbers.pop()
    return next(
        (
            size
            for size in candidates
            if all(value_of(size, sizes) == number for sizes, number in observed)
        ),
        None,
    )


def _example(shape: tuple[int, ...], dtype: DType) -> Array:
    """Return an array that any decomposition takes: the identity, or numbers that grow."""
    if len(shape) > 1:
        return np.broadcast_to(np.eye(shape[-2], shape[-1]), shape).astype(dtype)
    if dtype.kind in "iub":
        return np.zeros(shape, dtype)  # which are places in any array
    count = int(np.prod(shape))
    return (np.arange(1, count + 1) % 100).reshape(shape).astype(dtype)
