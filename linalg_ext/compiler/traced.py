"""Values that a tracer records: what a function under `jit` gets in the place of arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from linalg_ext import opdsl_defs as ops
from linalg_ext.bindings import arith, ir, linalg, tensor
from linalg_ext.compiler.conversion import is_python_number
from linalg_ext.compiler.op_dtypes import common_dtype, resolve_dtypes, unsigned_type_vars
from linalg_ext.compiler.unrecorded import Unrecorded, refuse, refuse_function
from linalg_ext.definition.attributes import resolve_attributes
from linalg_ext.definition.call_inputs import split_inputs
from linalg_ext.definition.call_shapes import Shape, resolve_shapes
from linalg_ext.definition.model import OpDefinition, OperandKind
from linalg_ext.errors import ArgumentError, DTypeError, LinalgExtError, ShapeError, caller_location
from linalg_ext.notations.operand_keywords import (
    inverses_named,
    take_operand_maps,
    with_operand_maps,
)
from linalg_ext.opdsl.op import StructuredOp
from linalg_ext.runtime.dtypes import DType, by_dtype
from linalg_ext.structured.calls import build, results_of
from linalg_ext.structured.compute_type import as_compute_type
from linalg_ext.structured.constants import number_constant
from linalg_ext.structured.operands import bind
from linalg_ext.structured.outputs import initial_tensor

_current: ContextVar[object | None] = ContextVar("linalg_ext_trace", default=None)
"""The trace that runs in this thread: values of another are of another context, or dead."""

Operand = "Traced | np.ndarray[Any, Any] | float"


class Traced(Unrecorded):
    """An array of the traced function: a tensor in the IR that is being built.

    Operators follow NumPy's rules of dtypes and broadcasting; broadcasts are recorded as such. Ops
    of `lx.ops` and of the user take traced values as they take arrays.

    Attributes:
        dtype: its dtype, which knows whether integers are unsigned.
        shape: the sizes; all of them are known.
    """

    __linalg_ext_traced__ = True

    def __init__(self, value: ir.Value, dtype: DType) -> None:
        shape = ir.ShapedType(value.type)
        self._value = value
        self._trace = _current.get()
        self.dtype = dtype
        self.shape: Shape = tuple(shape.get_dim_size(axis) for axis in range(shape.rank))

    @property
    def value(self) -> ir.Value:
        """The tensor, while the function that it belongs to is traced.

        Raises:
            TraceError: that trace is over, or not the one that runs; the tensor may be gone.
        """
        _check_trace([self])
        return self._value

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def __add__(self, other: Any) -> Traced:
        return _operator(ops.add, self, other)

    def __radd__(self, other: Any) -> Traced:
        return _operator(ops.add, other, self)

    def __sub__(self, other: Any) -> Traced:
        return _operator(ops.sub, self, other)

    def __rsub__(self, other: Any) -> Traced:
        return _operator(ops.sub, other, self)

    def __mul__(self, other: Any) -> Traced:
        return _operator(ops.mul, self, other)

    def __rmul__(self, other: Any) -> Traced:
        return _operator(ops.mul, other, self)

    def __truediv__(self, other: Any) -> Traced:
        return _operator(ops.div, *_as_inexact(self, other))

    def __rtruediv__(self, other: Any) -> Traced:
        return _operator(ops.div, *_as_inexact(other, self))

    def __neg__(self) -> Traced:
        return _one(ops.negf, self)

    def __pos__(self) -> Traced:
        return self

    def __matmul__(self, other: Any) -> Traced:
        other = as_traced(other)
        if self.ndim != 2 or other.ndim != 2:
            raise ShapeError(
                f"`@` of ranks {self.ndim} and {other.ndim}",
                where=caller_location(),
                expected="two matrices",
                cure="use the op for these ranks: lx.ops.matvec, vecmat, dot, batch_matmul",
            )
        return _one(ops.matmul, self, other)

    def __rmatmul__(self, other: Any) -> Traced:
        return as_traced(other) @ self

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Traced:
        """NumPy's operators, as in `array + traced`; its functions are not recorded."""
        recorded = _UFUNCS.get(ufunc)
        if method != "__call__" or keywords or recorded is None:
            refuse_function(ufunc.__name__, ufunc.__name__ in dir(ops))
        # Ours decide: an array would only come back here.
        result: Traced = recorded(*(as_operand(value) for value in inputs))
        return result

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a traced value of rank 0")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Traced({self.dtype}{list(self.shape)})"


@contextmanager
def new_trace() -> Iterator[None]:
    """A trace: traced values made inside can be used inside, and nowhere else."""
    token = _current.set(object())
    try:
        yield
    finally:
        _current.reset(token)


def _check_trace(values: Iterable[Any]) -> None:
    """Refuse traced values of another trace than the one that runs: theirs may be gone."""
    for value in values:
        if isinstance(value, Traced) and value._trace is not _current.get():
            refuse(
                f"{value!r} belongs to another trace, which is over or runs around this one",
                "return it from the function that made it, or pass it in as an argument",
            )


def call_on_traced(op: StructuredOp, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Record a call of an op: its operands as on arrays, its result a traced value.

    Args:
        op: the op.
        operands: traced values, arrays (which become constants), numbers for scalars.
        keywords: `init`, `dtype`, inputs and attributes by name.

    Raises:
        ArgumentError: as on arrays; `out=` has no meaning here.
    """
    try:
        return _record(op, operands, keywords)
    except LinalgExtError as error:
        error.where = error.where or caller_location()
        raise


def _record(op: StructuredOp, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    definition = op.definition
    _check_trace((*operands, *keywords.values()))
    keywords = dict(keywords)
    if "out" in keywords:
        raise ArgumentError(
            f"{definition.name}: out= inside a traced function",
            where=caller_location(),
            cure="give out= to the compiled function",
        )
    if "threads" in keywords:
        raise ArgumentError(
            f"{definition.name}: threads= inside a traced function",
            where=caller_location(),
            cure="give threads= to the compiled function",
        )
    dtype, init = keywords.pop("dtype", None), keywords.pop("init", None)
    compute_type = keywords.pop("compute_type", None)
    if compute_type is not None:
        compute_type = as_compute_type(compute_type, definition.name)
    said = take_operand_maps(definition, keywords)
    given = split_inputs(definition, operands, keywords)
    attributes = resolve_attributes(definition, keywords, also=("init", "dtype", "compute_type"))
    inputs = {
        o.name: value if is_python_number(value) else as_traced(value)
        for o, value in zip(definition.inputs, given, strict=True)
    }
    inits = _initial_values(definition, init)
    known = {name: value.dtype for name, value in inits.items()}
    deciding = {n: v.dtype if isinstance(v, Traced) else v for n, v in inputs.items()}
    dtypes = resolve_dtypes(definition, deciding, known, dtype)
    tensors = {
        o.name: as_traced(inputs[o.name], dtypes[str(o.type_var)])
        for o in definition.inputs
        if o.kind is OperandKind.INPUT_TENSOR
    }
    given_shapes = {name: value.shape for name, value in tensors.items()}
    known_shapes = {name: value.shape for name, value in inits.items()}
    every = {**given_shapes, **known_shapes}
    with inverses_named(definition, said, every, attributes.symbols):
        ranks = {name: len(shape) for name, shape in every.items()}
        definition = with_operand_maps(definition, said, ranks)
        shapes = resolve_shapes(definition, given_shapes, known_shapes, attributes)
    values = [
        _cast(tensors[o.name], dtypes[str(o.type_var)]).value
        if o.name in tensors
        else _scalar(definition, o.name, inputs[o.name], dtypes[str(o.type_var)])
        for o in definition.inputs
    ]
    outputs = []
    for output in definition.outputs:
        wanted = dtypes[str(output.type_var)]
        if output.name in inits:
            outputs.append(_cast(inits[output.name], wanted).value)
        else:
            assignment = definition.assignment_to(output.name)
            shape = shapes[output.name]
            outputs.append(
                initial_tensor(assignment, shape, element_type(wanted), attributes, wanted)
            )
    bound = bind(definition, values, outputs, attributes, unsigned_type_vars(dtypes))
    results = results_of(build(bound, mapped=bool(said), compute_type=compute_type))
    traced = tuple(
        Traced(result, dtypes[str(output.type_var)])
        for result, output in zip(results, definition.outputs, strict=True)
    )
    return traced[0] if len(traced) == 1 else traced


def element_type(dtype: DType) -> ir.Type:
    """The element type of MLIR for a dtype."""
    return ir.Type.parse(by_dtype(dtype).mlir)


def as_traced(value: Any, dtype: DType | None = None) -> Traced:
    """A traced value as it is; an array or a number as a constant of the function."""
    if isinstance(value, Traced):
        return value
    array = _constant(value, dtype)
    element = element_type(array.dtype)
    kind = ir.RankedTensorType.get(array.shape, element)
    if array.ndim == 0:
        scalar = number_constant(array.item(), element)
        return Traced(tensor.FromElementsOp(kind, [scalar]).result, array.dtype)
    if by_dtype(array.dtype).width % 8:
        raise DTypeError(
            f"an array of {array.dtype} cannot be a constant of a traced function",
            where=caller_location(),
            cure="pass it as an argument of the function",
        )
    # As bytes: the bindings know the buffers of NumPy's own dtypes only.
    content = np.ascontiguousarray(array).view(np.uint8).data
    elements = ir.DenseElementsAttr.get(content, type=kind)
    return Traced(arith.constant(kind, elements), array.dtype)


def _constant(value: Any, dtype: DType | None) -> np.ndarray[Any, Any]:
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentError(
            "a masked array cannot be a constant of a traced function",
            where=caller_location(),
            cure="fill it first: array.filled(value)",
        )
    try:
        array = np.asarray(value, dtype if is_python_number(value) else None)
        by_dtype(array.dtype)
    except OverflowError as error:
        raise DTypeError(
            f"{value} does not fit the dtype {dtype} that it meets",
            where=caller_location(),
            cure="give it a dtype of its own, as in np.int64(...)",
            notes=[str(error)],
        ) from None
    except DTypeError as error:
        raise DTypeError(
            f"a {type(value).__name__} cannot be traced: {error.what}",
            where=caller_location(),
            expected=error.expected,
            cure=error.cure,
        ) from None
    return array


def as_operand(value: Any) -> Any:
    """An operand that does not hand an operator back to NumPy."""
    return as_traced(value) if isinstance(value, (np.ndarray, np.generic)) else value


_UFUNCS: dict[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.matmul: operator.matmul,
    np.negative: operator.neg,
}
"""What NumPy's operators call, and the operator that records it."""


def _one(op: StructuredOp, *operands: Any, **keywords: Any) -> Traced:
    """Record an op that has one output."""
    result: Traced = call_on_traced(op, operands, keywords)
    return result


def _operator(op: StructuredOp, lhs: Any, rhs: Any) -> Traced:
    """An operator by NumPy's rules: a common dtype, and shapes broadcast to a common one."""
    dtype = _common(op.op_name, lhs, rhs)
    sides = [_cast(as_traced(value, dtype), dtype) for value in (lhs, rhs)]
    try:
        shape = np.broadcast_shapes(*(side.shape for side in sides))
    except ValueError:
        raise ShapeError(
            f"{op.op_name} of shapes {sides[0].shape} and {sides[1].shape}",
            where=caller_location(),
            expected="shapes that broadcast together as NumPy's do",
        ) from None
    return _one(op, *(_broadcast(side, shape) for side in sides))


def _common(op: str, *values: Any) -> DType:
    _check_trace(values)
    # NumPy would read a text as the name of a dtype.
    arrays = [
        v if is_python_number(v) or isinstance(v, Traced) else _constant(v, None) for v in values
    ]
    return common_dtype(op, [v.dtype if isinstance(v, Traced) else v for v in arrays])


def _as_inexact(lhs: Any, rhs: Any) -> tuple[Any, Any]:
    """True division: integers become floats first."""
    dtype = _common("division", lhs, rhs)
    if by_dtype(dtype).kind in ("float", "complex"):
        return lhs, rhs
    double = np.dtype(np.float64)
    return _cast(as_traced(lhs), double), _cast(as_traced(rhs), double)


def _cast(value: Traced, dtype: DType) -> Traced:
    if value.dtype == dtype:
        return value
    return _one(ops.copy, value, dtype=dtype)


def _broadcast(value: Traced, shape: Sequence[int]) -> Traced:
    """`linalg.broadcast` to a shape; size-1 dimensions are dropped first. Rank 0 stays as it is."""
    if value.shape == tuple(shape) or not value.shape:
        return value
    offset = len(shape) - value.ndim
    kept = [axis for axis, size in enumerate(value.shape) if size == shape[offset + axis]]
    element = ir.ShapedType(value.value.type).element_type
    source = value.value
    if len(kept) < value.ndim:
        groups: list[list[int]] = [[] for _ in kept]
        group = 0
        for axis in range(value.ndim):
            if groups:
                groups[min(group, len(groups) - 1)].append(axis)
            group += axis in kept
        dropped = ir.RankedTensorType.get([value.shape[axis] for axis in kept], element)
        source = tensor.CollapseShapeOp(dropped, source, groups).result
    added = [axis for axis in range(len(shape)) if axis - offset not in kept]
    empty = tensor.EmptyOp(list(shape), element).result
    broadcast = linalg.BroadcastOp([empty.type], source, empty, added)
    linalg.fill_builtin_region(broadcast.operation)
    return Traced(broadcast.results[0], value.dtype)


def _initial_values(definition: OpDefinition, init: Any) -> dict[str, Traced]:
    if init is None:
        return {}
    values = init if isinstance(init, tuple) else (init,)
    if len(values) != len(definition.outputs):
        raise ArgumentError(
            f"{definition.name}: init= has {len(values)} value(s)",
            where=caller_location(),
            expected=f"{len(definition.outputs)}",
        )
    return {
        output.name: as_traced(value)
        for output, value in zip(definition.outputs, values, strict=True)
        if value is not None
    }


def _scalar(definition: OpDefinition, name: str, value: Any, dtype: DType) -> ir.Value:
    if isinstance(value, Traced):
        if value.ndim:
            raise ShapeError(
                f"{definition.name}: {name} is a scalar, but a traced value of shape "
                f"{value.shape} is given",
                where=caller_location(),
            )
        return tensor.ExtractOp(_cast(value, dtype).value, []).result
    return number_constant(value, element_type(dtype))
