"""Calls of `einsum` that are not known: read, planned, and computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import lru_cache
from typing import Any

import numpy as np

from linalg_ext.compiler.einsum.algebra import Algebra, Array
from linalg_ext.compiler.einsum.dtypes import (
    Dtypes,
    as_dtype,
    check_casting,
    is_known,
    resolve,
)
from linalg_ext.compiler.einsum.evaluation import evaluate
from linalg_ext.compiler.einsum.layout import arranged, check_order, turned
from linalg_ext.compiler.einsum.memo import remember
from linalg_ext.compiler.einsum.narrow import narrow_kernel
from linalg_ext.compiler.einsum.request import Request
from linalg_ext.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    LayoutError,
    ShapeError,
)
from linalg_ext.executable.foreign_arrays import Guests, has_guests
from linalg_ext.executable.overlap import overlaps_itself, share_memory
from linalg_ext.notations.einsum import (
    Contraction,
    Semiring,
    Shape,
    Subscripts,
    parse,
    parse_interleaved,
    semiring,
)
from linalg_ext.notations.einsum.path import Path, find_path
from linalg_ext.opdsl.op import kind_of_call
from linalg_ext.runtime import backends
from linalg_ext.runtime.threads import using
from linalg_ext.utils import hooks


def evaluated(
    einsum: Callable[..., Any],
    operands: Sequence[Any],
    *,
    is_usual: bool,
    out: Any,
    dtype: Any,
    casting: str,
    order: str,
    optimize: Any,
    compute_type: Any,
    kind: str | Semiring,
    outs: Any,
    threads: int | None,
    tune: Any,
    backend: str,
) -> Any:
    """Evaluate a call of `einsum`, which documents the arguments.

    Args:
        einsum: the public function. Arrays of other libraries are handed back to it.
        operands: of the call.
        is_usual: True where the call has two arrays and no other argument but `out`.
        out, dtype, casting, order, optimize, compute_type, kind, outs: of the call.
        threads, tune, backend: of the call.
    """
    if outs is None and has_guests(operands, out):
        guests = Guests()
        has_text = bool(operands) and isinstance(operands[0], str | bytes)
        numbers = (at - 1 if has_text else at // 2 for at in range(len(operands)))
        named = [f"einsum: operand {number}" for number in numbers]
        return guests.back(
            einsum(
                *map(guests.array, operands, named),
                out=guests.place(out, "einsum: out="),
                dtype=dtype,
                casting=casting,
                order=order,
                optimize=optimize,
                compute_type=compute_type,
                kind=kind,
                threads=threads,
                tune=tune,
                backend=backend,
            )
        )
    ring = semiring(kind)
    check_casting(casting)
    if operands and isinstance(operands[0], str | bytes):
        subscripts, arrays = parse(operands[0]), list(operands[1:])
    else:
        subscripts, arrays = parse_interleaved(*operands)
    called_on = "arrays"
    if outs is not None or any(type(value) is not np.ndarray for value in arrays):
        called_on = kind_of_call(tuple(arrays), {} if outs is None else {"outs": outs})
    if called_on == "dask":
        asked = _request(subscripts, ring, dtype, compute_type, casting, optimize)
        return hooks.facade("calls").einsum_on_dask(asked, arrays, out, threads, tune, backend)
    if called_on != "arrays":
        if out is not None:
            raise ArgumentError(
                "einsum: out= where nothing runs",
                hint="give out= to the compiled function; on MLIR values, outs=[...]",
            )
        if threads is not None:
            raise ArgumentError(
                "einsum: threads= where nothing runs",
                hint="give threads= to the compiled function",
            )
        asked = _request(subscripts, ring, dtype, compute_type, casting, optimize)
        if called_on == "traced":
            return hooks.facade("calls").einsum_on_traced(asked, arrays)
        from linalg_ext.compiler.einsum.path_emission import on_values

        return on_values(asked, arrays, outs)
    in_force = nullcontext() if threads is None else using(threads)
    if tune is not None and tune is not False:
        from linalg_ext.tuning import Tuning  # which loads MLIR

        asked = _request(subscripts, ring, dtype, compute_type, casting, optimize)
        with in_force:
            return hooks.facade("calls").einsum_tuned(asked, arrays, out, Tuning.of(tune))
    with in_force, np.errstate(all="ignore"):  # kernels do not warn of overflows; np.einsum neither
        return _on_arrays(
            subscripts,
            [_array(number, value) for number, value in enumerate(arrays)],
            ring,
            is_usual=is_usual,
            out=out,
            dtype=as_dtype("dtype", dtype),
            compute_type=as_dtype("compute_type", compute_type),
            casting=casting,
            order=check_order(order),
            optimize=optimize,
            is_compiled=backend == backends.KERNEL,
        )


def _request(
    subscripts: Subscripts,
    kind: Semiring,
    dtype: Any,
    compute_type: Any,
    casting: str,
    optimize: Any,
) -> Request:
    return Request(
        subscripts,
        kind,
        as_dtype("dtype", dtype),
        as_dtype("compute_type", compute_type),
        casting,
        optimize,
    )


def _on_arrays(
    subscripts: Subscripts,
    arrays: Sequence[Array],
    kind: Semiring,
    *,
    is_usual: bool,
    out: Any,
    dtype: Any,
    compute_type: Any,
    casting: str,
    order: str,
    optimize: Any,
    is_compiled: bool,
) -> Any:
    contraction, path = _plan(subscripts, tuple(array.shape for array in arrays), optimize)
    if out is not None:
        _check_out(out, contraction.shape)
    out_is_cast = optimize is False or optimize == "auto"
    dtypes = resolve(
        tuple(array.dtype for array in arrays),
        kind,
        dtype=dtype,
        compute_type=compute_type,
        casting=casting,
        out=None if out is None else out.dtype,
        out_is_cast=out_is_cast,
    )
    if is_compiled and (len(arrays) > 1 or {*contraction.inputs[0]} != {*contraction.output}):
        steps = ("einsum_path", *path)
        asked = Request(subscripts, kind, dtypes.result, compute_type, "unsafe", steps)
        read = [array if is_known(array.dtype) else dtypes.converted(array) for array in arrays]
        result = hooks.facade("calls").einsum_compiled(asked, read)
        if out is None:
            result = arranged(result, order, contraction, arrays)
            return result if result.ndim else result[()]
        return _put(result, out, dtypes, casting, out_is_cast=out_is_cast)
    if out is None:
        asked = Request(subscripts, kind, dtype, compute_type, casting, optimize)
        if (kernel := narrow_kernel(asked, contraction, arrays, dtypes)) is not None:
            result = arranged(kernel(*arrays), order, contraction, arrays)
            return result if result.ndim else result[()]
    algebra = Algebra(kind, dtypes.compute)
    computed = [dtypes.converted(array) for array in arrays]
    # A result that lies otherwise than row by row is computed so, not copied afterwards.
    wanted, axes = turned(contraction, order, arrays, out)
    back = tuple(axes.index(axis) for axis in range(len(axes)))
    target = None if out is None else out.transpose(axes)
    if target is not None and not _is_writable_in_place(target, algebra, arrays):
        target = None
    made = evaluate(wanted, path, computed, algebra, target)
    result = made.transpose(back)
    if out is None:
        is_view = len(arrays) == 1 and np.may_share_memory(result, arrays[0])
        if is_view and result.dtype == dtypes.result and order in "KA":
            return result if result.ndim else result[()]
        if is_usual:
            remember(subscripts.text, wanted, arrays, None, made, back)
        result = arranged(result.astype(dtypes.result, copy=False), order, contraction, arrays)
        return result if result.ndim else result[()]
    if is_usual and target is not None:
        remember(subscripts.text, contraction, arrays, target, result)
    if target is None or not np.may_share_memory(result, target):
        _put(result, out, dtypes, casting, out_is_cast=out_is_cast)
    return out


def _put(result: Array, out: Array, dtypes: Dtypes, casting: str, *, out_is_cast: bool) -> Array:
    result = result.astype(dtypes.result, copy=False)
    if not out_is_cast:
        _check_exact(result, out, casting)
    np.copyto(out, result, casting="unsafe")
    return out


def _plan(
    subscripts: Subscripts, shapes: tuple[Shape, ...], optimize: Any
) -> tuple[Contraction, Path]:
    if isinstance(optimize, str | bool):
        return _cached_plan(subscripts.text, shapes, optimize)
    contraction = subscripts.bind(shapes)
    return contraction, find_path(contraction, optimize)


@lru_cache(maxsize=4096, typed=True)
def _cached_plan(text: str, shapes: tuple[Shape, ...], optimize: Any) -> tuple[Contraction, Path]:
    contraction = parse(text).bind(shapes)
    return contraction, find_path(contraction, optimize)


def _array(number: int, value: Any) -> Array:
    if type(value) is np.ndarray:
        return value
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentError(
            f"einsum: operand {number} is a masked array, and there is no mask in the result",
            hint="fill it first: array.filled(value)",
        )
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(
            f"einsum: operand {number} is no array", notes=[str(error)]
        ) from None


def _check_out(out: Any, shape: Shape) -> None:
    if not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray):
        raise ArgumentTypeError(
            f"einsum: out= is a {type(out).__name__}",
            expected="an array or a writable buffer, which is overwritten",
        )
    if out.shape != shape:
        raise ShapeError(
            f"einsum: out= has shape {out.shape}", expected=f"{shape}, the shape of the result"
        )
    if not out.flags.writeable:
        raise LayoutError("einsum: out= is read-only", hint="pass a writable array")
    if overlaps_itself(out):
        raise LayoutError(
            f"einsum: out= has elements that overlap one another (strides {out.strides})",
            hint="pass an array with memory of its own for each element",
        )


def _is_writable_in_place(out: Array, algebra: Algebra, arrays: Sequence[Array]) -> bool:
    return (
        out.dtype == algebra.dtype
        and out.flags.c_contiguous
        and out.flags.aligned
        and not any(share_memory(out, array) for array in arrays)
    )


def _check_exact(result: Array, out: Array, casting: Any) -> None:
    """Raise where `out` would hold other numbers than the result."""
    if np.can_cast(result.dtype, out.dtype, casting):
        return
    with np.errstate(all="ignore"):
        held = result.astype(out.dtype)
        exact = bool((held.astype(result.dtype) == result).all())
    if not exact:
        raise DTypeError(
            f"einsum: out= of {out.dtype} does not hold the result of {result.dtype} exactly",
            expected=f"a cast that casting={casting!r} allows",
            hint="give casting='unsafe' if the loss is meant, or an out= of another dtype",
        )
