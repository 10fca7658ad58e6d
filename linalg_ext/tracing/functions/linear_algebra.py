"""Sums of products: matmul and its like at any rank, tensordot, einsum; `numpy.linalg`.

Norms, powers and crosses are recorded, decompositions called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.compiler.einsum.emission import definition_for
from linalg_ext.compiler.einsum.request import Request
from linalg_ext.compiler.op_dtypes import unsigned_type_vars
from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.model import OpDefinition
from linalg_ext.errors import ShapeError, caller_location
from linalg_ext.notations.einsum import BROADCAST, Semiring, semiring
from linalg_ext.notations.einsum.plan import Labels, Step, contract_along, find_path, steps_along
from linalg_ext.runtime.dtypes import DType
from linalg_ext.structured.op_builders import build, results_of
from linalg_ext.structured.operands import bind
from linalg_ext.structured.outputs import initial_tensor
from linalg_ext.tracing.functions.callbacks import called_back
from linalg_ext.tracing.functions.shaping import expand_dims, reshape
from linalg_ext.tracing.values.axes import normal_axes
from linalg_ext.tracing.values.conversion import arrays_of, as_traced, cast_to, common_dtype
from linalg_ext.tracing.values.elements import accumulator_dtype, as_dtype, element_type
from linalg_ext.tracing.values.emission import broadcast_shapes, materialized, shape_text
from linalg_ext.tracing.values.sizes import AnySize, Size, same
from linalg_ext.tracing.values.trace import at_users_line
from linalg_ext.tracing.values.traced import Traced, current_trace, xp

_NO_ATTRIBUTES = CallAttributes()
_SUM_OF_PRODUCTS = semiring("+*")


def contracted(
    values: Sequence[Traced],
    labels: Sequence[Labels],
    output: Labels,
    dtype: DType,
    kind: Semiring = _SUM_OF_PRODUCTS,
) -> Traced:
    """Record one op that sums products of values.

    Args:
        labels: for each the labels of its axes; `BROADCAST` for one of size 1 that others stretch.
        dtype: the dtype of the computation and of the result.
    """
    trace = current_trace()
    sizes: dict[str, AnySize] = {}
    read: list[tuple[ir.Value, Labels, DType]] = []
    for value, own in zip(values, labels, strict=True):
        pairs = zip(own, value.shape, strict=True)
        sizes.update((label, size) for label, size in pairs if label != BROADCAST)
    for value, own in zip(values, labels, strict=True):
        # An axis that no tensor has is made one of this one, or its size would not be known.
        lone = [
            label
            for label, dim in zip(own, value.axes, strict=True)
            if dim is None and label != BROADCAST
        ]
        if lone or not value.axes:
            value = materialized(value)
        rank = ir.ShapedType(value.tensor.type).rank
        by_dim = [BROADCAST] * rank
        for label, dim in zip(own, value.axes, strict=True):
            if dim is not None:
                by_dim[dim] = label
        read.append((value.tensor, tuple(by_dim), value.dtype))
    definition = _definition(tuple(own for _, own, _ in read), tuple(output), kind)
    shape = tuple(trace.resolved(sizes[label]) for label in output)
    dtypes = {f"T{number + 1}": own for number, (_, _, own) in enumerate(read)} | {"U": dtype}
    with at_users_line():
        runtime_shape = [trace.number(size) for size in shape]
        (result_operand,) = definition.outputs
        target = initial_tensor(
            definition,
            result_operand.name,
            runtime_shape,
            element_type(dtype),
            _NO_ATTRIBUTES,
            dtype,
        )
        inputs = [tensor for tensor, _, _ in read]
        bound = bind(definition, inputs, [target], _NO_ATTRIBUTES, unsigned_type_vars(dtypes))
        (result,) = results_of(build(bound))
    return Traced(result, dtype, shape)


@lru_cache(maxsize=1024)
def _definition(inputs: tuple[Labels, ...], output: Labels, kind: Semiring) -> OpDefinition:
    return definition_for(inputs, output, kind)


def product(
    name: str, left: Any, right: Any, labels: tuple[Labels, Labels, Labels], dtype: Any = None
) -> Traced:
    """Record a product of two values: their last axes by labels, those before them broadcast."""
    first, second = as_traced(left), as_traced(right)
    result_dtype = as_dtype(dtype) if dtype is not None else common_dtype(name, [left, right])
    own = labels[:2]
    call = f"{name} of shapes {shape_text(first.shape)} and {shape_text(second.shape)}"
    for value, inner in zip((first, second), own, strict=True):
        if value.ndim < len(inner):
            raise ShapeError(call, expected="more dimensions")
    trace = current_trace()
    factors = (first, second)
    batches = [v.shape[: v.ndim - len(inner)] for v, inner in zip(factors, own, strict=True)]
    batch = broadcast_shapes(name, batches)
    known: dict[str, AnySize] = {}
    every: list[Labels] = []
    for value, inner, own_batch in zip(factors, own, batches, strict=True):
        offset = len(batch) - len(own_batch)
        names = [
            BROADCAST if same(size, 1) and not same(batch[offset + n], 1) else f"b{offset + n}"
            for n, size in enumerate(own_batch)
        ]
        every.append((*names, *inner))
        for label, size in zip(inner, value.shape[value.ndim - len(inner) :], strict=True):
            if not trace.agree(known.setdefault(label, size), size, call):
                raise ShapeError(
                    f"{call} sums over sizes that differ: {known[label]} and {size}",
                    where=caller_location(),
                    expected="the last axis of the first to be as long as the summed axis of the "
                    "second",
                )
    output = (*(f"b{n}" for n in range(len(batch))), *labels[2])
    compute = accumulator_dtype(result_dtype)
    return cast_to(contracted(factors, every, output, compute), result_dtype)


def matmul(left: Any, right: Any, dtype: Any = None) -> Traced:
    """`numpy.matmul`, at any rank."""
    first, second = as_traced(left), as_traced(right)
    if not first.ndim or not second.ndim:
        raise ShapeError(
            f"matmul of shapes {shape_text(first.shape)} and {shape_text(second.shape)}",
            expected="no array of rank 0",
            hint="write x * y",
        )
    rows = ("m",) if first.ndim > 1 else ()
    columns = ("n",) if second.ndim > 1 else ()
    return product("matmul", first, second, ((*rows, "k"), ("k", *columns), rows + columns), dtype)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1, dtype: Any = None) -> Traced:
    """`numpy.vecdot`: along an axis, the first conjugated."""
    left, right = (xp.moveaxis(as_traced(x), axis, -1) for x in (x1, x2))
    return product("vecdot", left.conj(), right, (("k",), ("k",), ()), dtype)


def record_product(ufunc: Any, inputs: Sequence[Any], dtype: Any) -> Traced:
    """Record a ufunc of matrices and vectors, `dtype` being that of its result."""
    name = ufunc.__name__
    left, right = inputs
    if name == "vecdot":
        return vecdot(left, right, dtype=dtype)
    if name == "matvec":
        return product(name, left, right, (("m", "k"), ("k",), ("m",)), dtype)
    if name == "vecmat":
        left = as_traced(left).conj()
        return product(name, left, right, (("k",), ("k", "n"), ("n",)), dtype)
    return matmul(left, right, dtype)


def dot(a: Any, b: Any) -> Traced:
    first, second = arrays_of(a, b)
    if not first.ndim or not second.ndim:
        return xp.multiply(first, second)
    if second.ndim == 1:
        return tensordot(first, second, ([-1], [0]))
    return tensordot(first, second, ([-1], [-2]))


def inner(a: Any, b: Any, /) -> Traced:
    first, second = arrays_of(a, b)
    if not first.ndim or not second.ndim:
        product = xp.multiply(first, second)
        # A sum is never -0.0.
        return product if product.dtype == np.bool_ else product + 0
    return tensordot(first, second, ([-1], [-1]))


def vdot(a: Any, b: Any, /) -> Traced:
    return vecdot(*map(xp.ravel, arrays_of(a, b)))


def outer(a: Any, b: Any) -> Traced:
    left, right = map(xp.ravel, arrays_of(a, b))
    return xp.multiply(expand_dims(left, 1), right)


def kron(a: Any, b: Any) -> Traced:
    first, second = arrays_of(a, b)
    rank = max(first.ndim, second.ndim)
    left, right = ((1,) * (rank - v.ndim) + v.shape for v in (first, second))
    first = expand_dims(reshape(first, left), tuple(range(1, 2 * rank, 2)))
    second = expand_dims(reshape(second, right), tuple(range(0, 2 * rank, 2)))
    return reshape(first * second, tuple(x * y for x, y in zip(left, right, strict=True)))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Traced:
    first, second = arrays_of(a, b)
    if hasattr(axes, "__index__"):
        count = axes.__index__()
        axes = (list(range(first.ndim - count, first.ndim)), list(range(count)))
    left, right = (
        normal_axes(tuple(own) if isinstance(own, list | tuple) else own, value.ndim, "tensordot")
        for own, value in zip(axes, (first, second), strict=True)
    )
    if len(left) != len(right):
        raise ShapeError(f"tensordot over axes {axes}")
    names = [f"a{n}" for n in range(first.ndim)]
    other_names = [f"b{n}" for n in range(second.ndim)]
    trace = current_trace()
    for x, y in zip(left, right, strict=True):
        call = f"tensordot of shapes {shape_text(first.shape)} and {shape_text(second.shape)}"
        if not trace.agree(first.shape[x], second.shape[y], call):
            raise ShapeError(call, expected="one size of the summed axis")
        other_names[y] = names[x]
    output = [n for n in names if n not in other_names] + [n for n in other_names if n not in names]
    result_dtype = common_dtype("tensordot", [first, second])
    compute = accumulator_dtype(result_dtype)
    result = contracted([first, second], [tuple(names), tuple(other_names)], tuple(output), compute)
    return cast_to(result, result_dtype)


def einsum_on_traced(request: Request, operands: Sequence[Any]) -> Any:
    """Record an einsum of traced values, arrays and numbers."""
    values = [as_traced(value) for value in operands]
    contraction = request.subscripts.bind(_known_shapes(request, values))
    path = find_path(contraction, request.optimize)
    dtypes = request.dtypes_for(values)
    if dtypes.operands != dtypes.compute:
        values = [cast_to(value, dtypes.operands) for value in values]
    labels = [
        tuple(
            BROADCAST if same(size, 1) and contraction.sizes[label] != 1 else label
            for label, size in zip(own, value.shape, strict=True)
        )
        for own, value in zip(contraction.inputs, values, strict=True)
    ]

    def apply(group: list[Traced], step: Step) -> Traced:
        return contracted(group, step.inputs, step.output, dtypes.compute, request.kind)

    distributes = not request.kind.needs_non_negative or dtypes.compute.kind in "bu"
    steps = steps_along(
        path,
        tuple(labels),
        contraction.output,
        distributes=distributes,
        reads_diagonals=True,
    )
    result = contract_along(steps, values, apply)
    return cast_to(result, dtypes.result)


def _known_shapes(request: Request, values: Sequence[Traced]) -> list[tuple[int, ...]]:
    """Return shapes with a number for each open size: contraction paths are found by them.

    Sizes of one label have to agree, which the call checks; axes of size 1 are stretched.
    """
    trace = current_trace(values)
    sizes: dict[str, AnySize] = {}
    inputs = request.subscripts.bind([(1,) * value.ndim for value in values]).inputs
    for own, value in zip(inputs, values, strict=True):
        for label, size in zip(own, value.shape, strict=True):
            if same(size, 1) is not True:
                trace.agree(sizes.setdefault(label, size), size, f"einsum {request.subscripts}")
                sizes[label] = size if isinstance(size, int) else sizes[label]
    numbers = {
        label: size if isinstance(size, int) else (1 << 10) + number
        for number, (label, size) in enumerate(sizes.items())
    }
    return [
        tuple(
            size if isinstance(size, int) else numbers[label]
            for label, size in zip(own, value.shape, strict=True)
        )
        for own, value in zip(inputs, values, strict=True)
    ]


def einsum(*operands: Any, out: Any = None, optimize: Any = "auto", **keywords: Any) -> Any:
    from linalg_ext.compiler.einsum import einsum as ours

    return ours(*operands, out=out, optimize=optimize or False, **keywords)


def trace_of(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Traced:
    return xp.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Traced:
    value = xp.moveaxis(as_traced(a), (axis1, axis2), (-2, -1))
    rows, columns = (size.__index__() for size in value.shape[-2:])
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    places = np.arange(count)
    return value[..., places - min(offset, 0), places + max(offset, 0)]


_SQUARE = "inv solve det slogdet cholesky eigh eigvalsh eig eigvals"
_EQUAL: Mapping[str, tuple[int, int, int, int]] = {
    **{f"linalg.{name}": (0, -2, 0, -1) for name in _SQUARE.split()},
    "linalg.lstsq": (0, 0, 1, 0),
    "polyfit": (0, 0, 1, 0),
}
"""Sizes that must be equal: of an argument an axis, and of an argument an axis."""


def called(
    name: str, function: Callable[..., Any], arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> Any:
    """Record a call of NumPy's own code."""
    _agree(name, arguments, *_EQUAL.get(name, (0, 0, 0, 0)))
    if name == "linalg.solve" and len(arguments) > 1:
        _agree(name, arguments, 0, -1, 1, -1 if np.ndim(arguments[1]) == 1 else -2)
    return called_back(f"numpy.{name}", _COMPLEX.get(name, function), arguments, keywords)


def _agree(
    name: str, arguments: Sequence[Any], first: int, axis: int, second: int, second_axis: int
) -> None:
    """Have open sizes agree that must be equal; NumPy tells of others."""
    shapes = [np.shape(argument) for argument in arguments[: max(first, second) + 1]]
    if len(shapes) > max(first, second):
        sizes = shapes[first][axis : axis + 1 or None] + shapes[second][second_axis:][:1]
        if len(sizes) == 2 and any(isinstance(size, Size) for size in sizes):
            current_trace().agree(sizes[0], sizes[1], f"numpy.{name}")


def _eigenvalues(a: Any) -> Any:
    """`numpy.linalg.eigvals`, complex for real values too: the dtype is known before these."""
    values = np.linalg.eigvals(a)
    return values.astype(np.result_type(values.dtype, np.complex64))


def _eigenvectors(a: Any) -> Any:
    decomposed = np.linalg.eig(a)
    dtype = np.result_type(decomposed.eigenvalues.dtype, np.complex64)
    return type(decomposed)(
        decomposed.eigenvalues.astype(dtype), decomposed.eigenvectors.astype(dtype)
    )


_COMPLEX: Mapping[str, Callable[..., Any]] = {
    "linalg.eig": _eigenvectors,
    "linalg.eigvals": _eigenvalues,
}


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Traced:
    """`numpy.linalg.norm`, but for those that need a decomposition."""
    value = as_traced(x)
    if value.dtype.kind in "iub":
        value = value.astype(np.float64)
    if axis is None and (ord is None or (ord in ("f", "fro") and value.ndim == 2)):
        axes = tuple(range(value.ndim))
        return xp.sqrt(xp.sum(_squares(value), axis=axes, keepdims=keepdims))
    axes = normal_axes(axis, value.ndim, "norm")
    if len(axes) == 1:
        return vector_norm(value, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ShapeError(f"norm over axes {axes}", expected="one or two")
    if ord in (None, "fro", "f"):
        return xp.sqrt(xp.sum(_squares(value), axis=axes, keepdims=keepdims))
    if ord in (1, -1, np.inf, -np.inf):
        along, other = axes if abs(ord) == 1 else axes[::-1]
        sums = xp.sum(xp.abs(value), axis=along, keepdims=True)
        start = {"initial": 0} if ord > 0 else {}
        largest = (xp.max if ord > 0 else xp.min)(sums, axis=other, keepdims=True, **start)
        return largest if keepdims else xp.squeeze(largest, axis=axes)
    decomposed: Traced = called("linalg.norm", np.linalg.norm, [value, ord, axis, keepdims], {})
    return decomposed


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Traced:
    value = as_traced(x)
    if value.dtype.kind in "iub":
        value = value.astype(np.float64)
    sizes = xp.abs(value)
    if ord == 2:
        return xp.sqrt(xp.sum(_squares(value), axis=axis, keepdims=keepdims))
    if ord == np.inf:
        return xp.max(sizes, axis=axis, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return xp.min(sizes, axis=axis, keepdims=keepdims)
    if ord == 0:
        return xp.sum((value != 0).astype(sizes.dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return xp.sum(sizes, axis=axis, keepdims=keepdims)
    return xp.power(xp.sum(sizes**ord, axis=axis, keepdims=keepdims), 1 / ord)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Traced:
    return norm(x, ord, (-2, -1), keepdims)


def _squares(value: Traced) -> Traced:
    if value.dtype.kind == "c":
        return xp.real(value) ** 2 + xp.imag(value) ** 2
    return value * value


def matrix_power(a: Any, n: int) -> Traced:
    """`numpy.linalg.matrix_power`, to a power that is known."""
    value = as_traced(a)
    if value.ndim < 2 or same(*value.shape[-2:]) is False:
        raise ShapeError(
            f"matrix_power of shape {shape_text(value.shape)}", expected="square matrices"
        )
    if n < 0:
        value, n = called("linalg.inv", np.linalg.inv, [value], {}), -n
    result: Traced | None = None
    while n:
        if n & 1:
            result = value if result is None else result @ value
        n >>= 1
        if n:
            value = value @ value
    if result is None:
        eye = np.eye(value.shape[-1].__index__(), dtype=value.dtype)
        return xp.broadcast_to(as_traced(eye), value.shape)
    return result


def multi_dot(arrays: Any) -> Traced:
    """`numpy.linalg.multi_dot`, from left to right."""
    first, *rest = (as_traced(array) for array in arrays)
    for factor in rest:
        first = xp.dot(first, factor)
    return first


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None
) -> Traced:
    """`numpy.cross` of vectors of three."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = xp.moveaxis(as_traced(a), axisa, 0), xp.moveaxis(as_traced(b), axisb, 0)
    if x.shape[0] != 3 or y.shape[0] != 3:
        raise ShapeError(
            f"cross of vectors of {x.shape[0]} and {y.shape[0]}", expected="vectors of 3"
        )
    parts = [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]
    return xp.stack(parts, axis=axisc)
