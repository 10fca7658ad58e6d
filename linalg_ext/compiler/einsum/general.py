"""Calls of `einsum` that are not known: read, planned, computed, and put in NumPy's `order=`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from linalg_ext.compiler.einsum.algebra import Algebra, Array
from linalg_ext.compiler.einsum.evaluation import evaluate
from linalg_ext.compiler.einsum.kernels import narrow_kernel
from linalg_ext.compiler.einsum.memo import remember
from linalg_ext.compiler.einsum.request import Request, is_known
from linalg_ext.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    LayoutError,
    ShapeError,
    kind_of,
)
from linalg_ext.executable.arguments import overlaps_itself, share_memory
from linalg_ext.executable.foreign_arrays import ForeignArrays, has_foreign_arrays
from linalg_ext.notations.einsum import (
    Contraction,
    Shape,
    parse,
    parse_interleaved,
)
from linalg_ext.notations.einsum.plan import Path, find_path
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
    outs: Any,
    order: str,
    threads: int | None,
    tune: Any,
    backend: str,
    **options: Any,
) -> Any:
    """Evaluate a call of `einsum`, which documents the arguments.

    Args:
        einsum: the public function. Arrays of other libraries are handed back to it.
        operands: of the call.
        is_usual: True where the call has two arrays and no other argument but `out`.
        out, outs, order, threads, tune, backend: of the call.
        **options: the other arguments of the call, those of a `Request`.
    """
    if outs is None and has_foreign_arrays(operands, out):
        guests = ForeignArrays()
        has_text = bool(operands) and isinstance(operands[0], str | bytes)
        numbers = (at - 1 if has_text else at // 2 for at in range(len(operands)))
        named = [f"einsum: operand {number}" for number in numbers]
        return guests.back(
            einsum(
                *map(guests.array, operands, named),
                out=guests.place(out, "einsum: out="),
                order=order,
                threads=threads,
                tune=tune,
                backend=backend,
                **options,
            )
        )
    if operands and isinstance(operands[0], str | bytes):
        subscripts, arrays = parse(operands[0]), list(operands[1:])
    else:
        subscripts, arrays = parse_interleaved(*operands)
    request = Request.of(subscripts, **options)
    called_on = "arrays"
    if outs is not None or any(type(value) is not np.ndarray for value in arrays):
        called_on = kind_of_call(tuple(arrays), {} if outs is None else {"outs": outs})
    if called_on == "dask":
        return hooks.facade("calls").einsum_on_dask(request, arrays, out, threads, tune, backend)
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
        if called_on == "traced":
            return hooks.facade("calls").einsum_on_traced(request, arrays)
        from linalg_ext.compiler.einsum.emission import on_values

        return on_values(request, arrays, outs)
    in_force = nullcontext() if threads is None else using(threads)
    if tune is not None and tune is not False:
        from linalg_ext.compiler.tuning import Tuning  # which loads MLIR

        with in_force:
            return hooks.facade("calls").einsum_tuned(request, arrays, out, Tuning.of(tune))
    with in_force, np.errstate(all="ignore"):  # kernels do not warn of overflows; np.einsum neither
        return _on_arrays(
            request,
            [_array(number, value) for number, value in enumerate(arrays)],
            out,
            _checked_order(order),
            is_usual=is_usual,
            is_compiled=backend == backends.KERNEL,
        )


def _on_arrays(
    request: Request,
    arrays: Sequence[Array],
    out: Any,
    order: str,
    *,
    is_usual: bool,
    is_compiled: bool,
) -> Any:
    text, optimize = request.subscripts.text, request.optimize
    plan = _cached_plan if isinstance(optimize, str | bool) else _plan
    contraction, path = plan(text, tuple(array.shape for array in arrays), optimize)
    if out is not None:
        _check_out(out, contraction.shape)
    out_is_cast = optimize is False or optimize == "auto"
    out_dtype = None if out is None else out.dtype
    dtypes = request.dtypes_for(arrays, out_dtype, out_is_cast=out_is_cast)

    def put(result: Array) -> Any:
        result = result.astype(dtypes.result, copy=False)
        if not out_is_cast:
            _check_exact(result, out, request.casting)
        np.copyto(out, result, casting="unsafe")
        return out

    def arranged(result: Array) -> Any:
        ordered = _arranged(result, order, contraction, arrays)
        return ordered if ordered.ndim else ordered[()]

    if is_compiled and (len(arrays) > 1 or {*contraction.inputs[0]} != {*contraction.output}):
        steps = ("einsum_path", *path)
        unsafe_request = replace(request, dtype=dtypes.result, casting="unsafe", optimize=steps)
        read = [array if is_known(array.dtype) else dtypes.converted(array) for array in arrays]
        result = hooks.facade("calls").einsum_compiled(unsafe_request, read)
        return arranged(result) if out is None else put(result)
    if out is None and (kernel := narrow_kernel(request, contraction, arrays, dtypes)) is not None:
        return arranged(kernel(*arrays))
    algebra = Algebra(request.kind, dtypes.compute)
    computed = [dtypes.converted(array) for array in arrays]
    # A result that lies otherwise than row by row is computed so, not copied afterwards.
    turned, axes = _turned(contraction, order, arrays, out)
    back = tuple(axes.index(axis) for axis in range(len(axes)))
    target = None if out is None else out.transpose(axes)
    if target is not None and not _is_writable_in_place(target, algebra, arrays):
        target = None
    in_order = evaluate(turned, path, computed, algebra, target)
    result = in_order.transpose(back)
    if out is None:
        is_view = len(arrays) == 1 and np.may_share_memory(result, arrays[0])
        if is_view and result.dtype == dtypes.result and order in "KA":
            return result if result.ndim else result[()]
        if is_usual:
            remember(text, turned, arrays, None, in_order, back)
        return arranged(result.astype(dtypes.result, copy=False))
    if is_usual and target is not None:
        remember(text, contraction, arrays, target, result)
    if target is None or not np.may_share_memory(result, target):
        put(result)
    return out


def _plan(text: str, shapes: tuple[Shape, ...], optimize: Any) -> tuple[Contraction, Path]:
    contraction = parse(text).bind(shapes)
    return contraction, find_path(contraction, optimize)


_cached_plan = lru_cache(maxsize=4096, typed=True)(_plan)


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
            f"einsum: operand {number} is not an array", notes=[str(error)]
        ) from None


def _check_out(out: Any, shape: Shape) -> None:
    if not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray):
        raise ArgumentTypeError(
            f"einsum: out= is {kind_of(out)}",
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
        stored = result.astype(out.dtype)
        exact = bool((stored.astype(result.dtype) == result).all())
    if not exact:
        raise DTypeError(
            f"einsum: out= of {out.dtype} does not hold the result of {result.dtype} exactly",
            expected=f"a cast that casting={casting!r} allows",
            hint="give casting='unsafe' if the loss is meant, or an out= of another dtype",
        )


def _checked_order(order: object) -> str:
    if isinstance(order, str) and len(order) == 1 and order.upper() in "CFAK":
        return order.upper()
    error = ArgumentError if isinstance(order, str) else ArgumentTypeError
    raise error(f"einsum: order={order!r}", expected="'C', 'F', 'A' or 'K'")


def _turned(
    contraction: Contraction, order: str, operands: Sequence[Array], out: Array | None
) -> tuple[Contraction, list[int]]:
    """Return a contraction whose result has the wanted layout row by row, and its axes.

    It is wanted in `out`, or new in an order.
    """
    axes = list(range(len(contraction.output)))
    if len(axes) > 1:
        if out is None:
            axes = _axes(len(axes), order, contraction, operands)
        elif not out.flags.c_contiguous:
            nearest = sorted(axes, key=lambda axis: -abs(out.strides[axis]))
            axes = nearest if out.transpose(nearest).flags.c_contiguous else axes
    output = tuple(contraction.output[axis] for axis in axes)
    return replace(contraction, output=output), axes


def _arranged(
    result: Array, order: str, contraction: Contraction, operands: Sequence[Array]
) -> Array:
    """Return the result in the order that was asked for: itself where it lies so."""
    if result.ndim < 2:
        return result if result.flags.c_contiguous else np.ascontiguousarray(result)
    axes = _axes(result.ndim, order, contraction, operands)
    if result.transpose(axes).flags.c_contiguous:
        return result
    ordered = np.ascontiguousarray(result.transpose(axes))
    return ordered.transpose(np.argsort(axes))


def _axes(rank: int, order: str, contraction: Contraction, operands: Sequence[Array]) -> list[int]:
    axes = list(range(rank))
    if order == "A":
        fortran = all(operand.flags.f_contiguous for operand in operands)
        contiguous = all(operand.flags.c_contiguous for operand in operands)
        order = "F" if fortran and not contiguous else "C"
    if order == "F":
        return axes[::-1]
    return axes if order == "C" else _closest(contraction, operands)


def _closest(contraction: Contraction, operands: Sequence[Array]) -> list[int]:
    """As close to the operands as can be: the result of `numpy.nditer` finds for `order="K"`.

    An insertion sort by strides, from the fastest axis up; an axis moves before another where no
    operand wants it otherwise.
    """
    strides = [
        {
            label: abs(stride)
            for label, stride, size in zip(labels, operand.strides, operand.shape, strict=True)
            if size != 1
        }
        for labels, operand in zip(contraction.inputs, operands, strict=True)
    ]
    labels = contraction.output
    ordered: list[int] = []  # from the fastest to the slowest
    for axis in reversed(range(len(labels))):
        place = len(ordered)
        for earlier in reversed(range(len(ordered))):
            faster = _is_faster(labels[axis], labels[ordered[earlier]], strides)
            if faster is False:
                break
            if faster:
                place = earlier
        ordered.insert(place, axis)
    return ordered[::-1]


def _is_faster(label: str, other: str, strides: Sequence[dict[str, int]]) -> bool | None:
    """Return whether the first axis has the smaller stride in every operand that has both.

    None where no operand has both.
    """
    both = [(own[label], own[other]) for own in strides if own.get(label) and own.get(other)]
    return all(first < second for first, second in both) if both else None
