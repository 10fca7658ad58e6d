"""The oracle: a definition evaluated by NumPy, slow and obviously right.

Independent of every IR: the op is evaluated point by point of its reduction space, in order, each
time for all points of its parallel space at once. Arrays keep NumPy's signedness: a `_signed`
function on unsigned integers computes on their values.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from linalg_ext.definition.affine import AffineDim, AffineExpr, AffineSymbol
from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.functions import Function
from linalg_ext.definition.model import IteratorType, OpDefinition
from linalg_ext.definition.scalar import Access, Apply, Const, Index, ScalarExpr, ScalarOperand
from linalg_ext.definition.types import PREDEFINED

Array = np.ndarray[Any, np.dtype[Any]]


def evaluate(
    definition: OpDefinition,
    operands: Mapping[str, Array],
    extents: Mapping[str, int],
    dtypes: Mapping[str, np.dtype[Any]],
    attributes: CallAttributes,
) -> list[Array]:
    """The outputs of an op.

    Args:
        definition: the op; not rank-polymorphic unless every tensor is of rank 0.
        operands: an array for each input and each output (its value before the op), by name.
        extents: the size of each dimension of the iteration space.
        dtypes: the dtype of each type variable.
        attributes: the attributes of the call.
    """
    outputs = {o.name: np.array(operands[o.name]) for o in definition.outputs}
    spaces = {kind: _axes(definition, kind) for kind in IteratorType}
    parallel = [extents[dim] for dim in spaces[IteratorType.PARALLEL]]
    grid = dict(zip(spaces[IteratorType.PARALLEL], np.indices(parallel, sparse=True), strict=True))
    sizes = [range(extents[dim]) for dim in spaces[IteratorType.REDUCTION]]
    scope = _Scope(operands, dtypes, attributes, tuple(parallel))
    for point in itertools.product(*sizes):
        position = {
            **grid,
            **dict(zip(spaces[IteratorType.REDUCTION], map(np.int64, point), strict=True)),
        }
        values = {**operands, **outputs}
        for assignment in definition.assignments:
            result = scope.value(assignment.value, position, values)
            target = outputs[assignment.target.operand]
            where = scope.indices(assignment.target, position)
            updated = np.array(target)
            updated[where] = np.asarray(result).astype(target.dtype)
            outputs[assignment.target.operand] = updated
    return [outputs[o.name] for o in definition.outputs]


def _axes(definition: OpDefinition, kind: IteratorType) -> list[str]:
    return [d for d, k in zip(definition.dims, definition.iterator_types, strict=True) if k is kind]


class _Scope:
    """What an expression refers to while it is evaluated."""

    def __init__(
        self,
        operands: Mapping[str, Array],
        dtypes: Mapping[str, np.dtype[Any]],
        attributes: CallAttributes,
        shape: Sequence[int],
    ) -> None:
        self.operands = operands
        self.dtypes = {**{k: np.dtype(v) for k, v in PREDEFINED.items()}, **dtypes}
        self.attributes = attributes
        self.shape = tuple(shape)

    def indices(self, access: Access, position: Mapping[str, Any]) -> tuple[Array, ...]:
        """Index arrays of an access at one position of the reduction space."""
        leaves: dict[AffineExpr, Any] = {AffineDim(dim): grid for dim, grid in position.items()}
        leaves.update((AffineSymbol(k), v) for k, v in self.attributes.symbols.items())
        return tuple(
            np.broadcast_to(np.asarray(index.evaluate(leaves)), self.shape)
            for index in access.indices
        )

    def value(
        self, expr: ScalarExpr, position: Mapping[str, Any], arrays: Mapping[str, Array]
    ) -> Array:
        """The value of an expression at one position of the reduction space."""
        match expr:
            case Access():
                return np.asarray(arrays[expr.operand][self.indices(expr, position)])
            case ScalarOperand():
                return np.asarray(arrays[expr.operand])
            case Const(value=value):
                return np.asarray(value, np.int64 if isinstance(value, int) else np.float64)
            case Index(dim=dim):
                return np.asarray(position[dim])
            case Apply():
                args = [self.value(arg, position, arrays) for arg in expr.args]
                function = expr.function
                if expr.attribute is not None:
                    function = self.attributes.functions[expr.attribute]
                if expr.type_var is not None:
                    return _cast(args[0], self.dtypes[expr.type_var.name], function.name)
                return _apply(function, args)
            case _:
                raise TypeError(f"unknown scalar expression {type(expr).__name__}")


def _apply(function: Function, args: Sequence[Array]) -> Array:
    with np.errstate(all="ignore"):
        result = np.asarray(_FUNCTIONS[function.name](*args))
    kept = args[-1].dtype
    return result.astype(kept)


def _cast(value: Array, dtype: np.dtype[Any], function: str) -> Array:
    if function == "cast_unsigned":
        value = _as_unsigned(value)
    with np.errstate(all="ignore"):
        return value.astype(dtype)


def _as_unsigned(value: Array) -> Array:
    if value.dtype == ml_dtypes.int4:
        return (value.astype(np.int16) % 16).astype(ml_dtypes.uint4)
    return value.view(f"u{value.dtype.itemsize}") if value.dtype.kind == "i" else value


def _divide(x: Array, y: Array) -> Array:
    if x.dtype.kind not in "iub":
        return np.asarray(x / y)
    # Towards zero, as compiled code divides; NumPy's rounds down. Both give 0 for x / 0.
    inexact = (x % y != 0) & ((x < 0) != (y < 0))
    return np.asarray(x // y + inexact)


def _round(x: Array) -> Array:
    whole = np.trunc(x)
    return np.asarray(whole + np.copysign(np.abs(x - whole) >= 0.5, x))


def _unsigned(operation: Any) -> Any:
    def apply(x: Array, y: Array) -> Array:
        return np.asarray(operation(_as_unsigned(x), _as_unsigned(y))).view(x.dtype)

    return apply


_erf = np.vectorize(math.erf, otypes=[np.float64])

_FUNCTIONS: dict[str, Any] = {
    "exp": np.exp,
    "log": np.log,
    "abs": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
    "negf": np.negative,
    "reciprocal": lambda x: 1 / x,
    "round": _round,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "square": lambda x: x * x,
    "tanh": np.tanh,
    "erf": lambda x: _erf(x.astype(np.float64)),
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _divide,
    "div_unsigned": _unsigned(_divide),
    "max_signed": np.maximum,
    "min_signed": np.minimum,
    "max_unsigned": _unsigned(np.maximum),
    "min_unsigned": _unsigned(np.minimum),
    "powf": np.power,
    "select": lambda condition, x, y: np.where(condition.astype(bool), x, y),
}
