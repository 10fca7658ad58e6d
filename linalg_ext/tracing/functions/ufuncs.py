"""NumPy's ufuncs, recorded: dtypes as NumPy itself resolves them, one element-wise op each."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from linalg_ext.errors import ArgumentError, DTypeError
from linalg_ext.runtime.dtypes import DType, by_dtype, integer_range
from linalg_ext.tracing.functions import arithmetic as own
from linalg_ext.tracing.functions import complex_functions
from linalg_ext.tracing.functions.callbacks import called_back
from linalg_ext.tracing.functions.linear_algebra import record_product
from linalg_ext.tracing.functions.reductions import UFUNCS as REDUCTIONS
from linalg_ext.tracing.functions.reductions import accumulate, reduce_by
from linalg_ext.tracing.values.conversion import (
    as_traced,
    cast_to,
    holds_traced,
    kind_for_numpy,
    operand,
)
from linalg_ext.tracing.values.elements import BOOL, INT64, Element, apply, as_dtype, constant
from linalg_ext.tracing.values.emission import Body, demand, pointwise
from linalg_ext.tracing.values.traced import Number, Traced, current_trace, xp
from linalg_ext.tracing.values.unsupported import refuse, refuse_function


def _function(name: str) -> Body:
    return lambda *args: apply(name, *args)


def _by_kind(name: str, real: Body) -> Body:
    """Return a body, and another one for complex numbers where they have their own."""
    parts = complex_functions.FUNCTIONS.get(name)
    if parts is None:
        return real
    return lambda *args: (parts if args[0].dtype.kind == "c" else real)(*args)


_SAME_NAME = (
    "exp log sqrt sin cos tan sinh cosh tanh exp2 expm1 log2 log10 log1p cbrt copysign square"
)
_OTHER_NAME = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "rint": "roundeven",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
    "invert": "not",
}
_NO_NEGATIVE_POWERS = "integers to negative integer powers are not allowed"
_COMPARISONS = {
    "equal": ("eq", operator.eq),
    "not_equal": ("ne", operator.ne),
    "less": ("lt", operator.lt),
    "less_equal": ("le", operator.le),
    "greater": ("gt", operator.gt),
    "greater_equal": ("ge", operator.ge),
}
_BODIES: Mapping[str, Body] = {
    **{name: _function(name) for name in _SAME_NAME.split()},
    **{name: _function(ours) for name, ours in _OTHER_NAME.items()},
    **{name: partial(own.compare, ours) for name, (ours, _) in _COMPARISONS.items()},
    **{name: own.unless_integer(name) for name in ("floor", "ceil", "trunc")},
    "divide": lambda x, y: x / y,
    "floor_divide": own.rounded_once(own.floor_divide),
    "remainder": own.rounded_once(own.remainder),
    "fmod": own.fmod,
    "power": own.power,
    "float_power": own.power,
    "negative": _function("negf"),
    "positive": lambda x: x,
    "absolute": own.absolute,
    "fabs": own.absolute,
    "sign": own.sign,
    "signbit": own.sign_bit,
    "heaviside": own.heaviside,
    "conjugate": _function("conj"),
    "reciprocal": own.reciprocal,
    "arctan2": own.angle,
    "hypot": own.rounded_once(own.hypotenuse),
    "logaddexp": own.rounded_once(partial(own.log_add, "exp")),
    "logaddexp2": own.rounded_once(partial(own.log_add, "exp2")),
    "maximum": partial(own.extremum, "max_signed"),
    "minimum": partial(own.extremum, "min_signed"),
    "fmax": partial(own.extremum_of_numbers, "max_signed"),
    "fmin": partial(own.extremum_of_numbers, "min_signed"),
    "isnan": lambda x: x.is_nan(),
    "isinf": own.is_infinite,
    "isfinite": own.is_finite,
    "logical_and": own.truth("and"),
    "logical_or": own.truth("or"),
    "logical_xor": own.truth("xor"),
    "logical_not": own.truth("not"),
    "left_shift": own.left_shift,
    "right_shift": own.right_shift,
    "bitwise_count": own.bit_count,
    "degrees": own.scaled(180 / math.pi),
    "rad2deg": own.scaled(180 / math.pi),
    "radians": own.scaled(math.pi / 180),
    "deg2rad": own.scaled(math.pi / 180),
}
BODIES: Mapping[str, Body] = {name: _by_kind(name, body) for name, body in _BODIES.items()}
"""For each ufunc the element of its result, by elements of the dtypes of its loop."""
OTHER_UFUNCS = ("divmod", "matmul", "matvec", "modf", "vecdot", "vecmat")
"""Ufuncs that are more than one element of one result."""

CALLED_UFUNCS = ("frexp", "gcd", "lcm", "ldexp", "nextafter", "spacing")
"""Ufuncs that are not recorded: the kernel calls NumPy."""


def record_ufunc(
    ufunc: Any, method: str, inputs: Sequence[Any], keywords: Mapping[str, Any]
) -> Any:
    """Record a call of a ufunc or of one of its methods.

    Raises:
        TraceError: it cannot be recorded; the message names the nearest.
        DTypeError, ShapeError: the operands do not fit, as for NumPy.
    """
    current_trace(inputs)
    # `reduce` reduces all axes for axis=None, and the first one by default.
    meaningful = ("axis",) if method == "reduce" else ()
    keywords = {k: v for k, v in keywords.items() if v is not None or k in meaningful}
    is_numpys = getattr(np, ufunc.__name__, None) is ufunc
    if not is_numpys:
        # A ufunc of SciPy or of the user: its name tells nothing of its meaning.
        return called_back(f"the ufunc {ufunc.__name__}", getattr(ufunc, method), inputs, keywords)
    if method in ("reduce", "accumulate") and ufunc.__name__ in REDUCTIONS:
        return (reduce_by if method == "reduce" else accumulate)(ufunc, *inputs, **keywords)
    if method == "outer":
        left, right = (
            as_traced(value)
            if isinstance(value, Traced) or holds_traced(value)
            else np.asarray(value)
            for value in inputs
        )
        return ufunc(left[(..., *[None] * right.ndim)], right, **keywords)
    if method in ("reduce", "accumulate", "reduceat") and ufunc.nin == 2:
        name = f"numpy.{ufunc.__name__}.{method}"
        return called_back(name, getattr(ufunc, method), inputs, keywords)
    if method != "__call__":
        refuse_function(f"{ufunc.__name__}.{method}")
    if keywords.get("where") is True:
        keywords.pop("where")
    if "where" in keywords:
        refuse(
            f"numpy.{ufunc.__name__} with where= cannot be recorded while a function is traced",
            "write np.where(mask, f(x), otherwise)",
        )
    dtype = keywords.pop("dtype", None)
    if ufunc is np.vecdot and "axis" in keywords:
        axis = keywords.pop("axis")
        inputs = [xp.moveaxis(as_traced(value), axis, -1) for value in inputs]
    for name in keywords:
        if name not in ("casting", "order", "subok"):
            refuse(f"numpy.{ufunc.__name__} with {name}=", f"leave {name}= out")
    if ufunc.signature is not None:
        loop = resolve(ufunc, inputs, dtype)
        if dtype is not None or _are_builtin(inputs):
            return record_product(ufunc, inputs, loop[-1])
        # NumPy has no such loop for the dtypes of ml_dtypes, and takes that of float32.
        return record_product(ufunc, inputs, None)
    if ufunc is np.divmod:
        return np.floor_divide(*inputs, dtype=dtype), np.remainder(*inputs, dtype=dtype)
    if ufunc is np.modf:
        return _modf(cast_to(inputs[0], resolve(ufunc, inputs, dtype)[0]))
    name = ufunc.__name__
    body = BODIES.get(name)
    if name in CALLED_UFUNCS:
        options = {} if dtype is None else {"dtype": dtype}
        return called_back(f"numpy.{name}", ufunc, inputs, options)
    if body is None:
        refuse_function(name)
    return _elementwise(ufunc, body, list(inputs), dtype)


def _are_builtin(values: Sequence[Any]) -> bool:
    kinds = [kind_for_numpy(value) for value in values]
    return all(isinstance(kind, type) or kind.isbuiltin == 1 for kind in kinds)


def _modf(value: Any) -> tuple[Any, Any]:
    whole = xp.trunc(value)
    part = xp.where(xp.isinf(value), 0, value - whole)
    return xp.copysign(part, value), whole


def _elementwise(ufunc: Any, body: Body, inputs: list[Any], dtype: Any) -> Any:
    name = ufunc.__name__
    exponent = _exponent(inputs[1]) if ufunc is np.power else None
    weak = _weak_result(ufunc, inputs)
    *loop, result = resolve(ufunc, inputs, dtype)
    if ufunc is np.power and loop[1].kind == "i" and exponent is None:
        # NumPy raises where it meets one.
        demand(xp.all(as_traced(inputs[1]) >= 0), _NO_NEGATIVE_POWERS)
    if exponent is not None and (known := _known_power(exponent, loop[0])) is not None:
        # The result is of the dtype that the exponent leads to, though it is not an operand.
        body, inputs, loop = known, inputs[:1], loop[:1]
    if name in _COMPARISONS and (decided := _decided(name, inputs, loop)) is not None:
        holds, other = decided
        return pointwise(name, lambda _: constant(holds, BOOL), [other], result)
    loop = _loop_of_numbers(name, inputs, loop)
    operands = [operand(value, own_dtype) for value, own_dtype in zip(inputs, loop, strict=True)]
    if all(isinstance(x, Number) for x in operands):
        raise ArgumentError(f"numpy.{name} of numbers alone is not traced")
    recorded = pointwise(name, _cast_first(body, loop), operands, result)
    recorded.weak = weak
    return recorded


def _loop_of_numbers(name: str, inputs: Sequence[Any], loop: list[DType]) -> list[DType]:
    """Return the loop for Python's integers among the arguments, whose size only a call tells.

    A comparison takes it as it is. Elsewhere the run checks that it fits the dtype that it meets.
    """
    for place, value in enumerate(inputs):
        is_number = isinstance(value, Traced) and value.weak is int
        if not is_number or loop[place].kind not in "iu" or loop[place] == INT64:
            continue
        if name in _COMPARISONS:
            wide_loop = [INT64 if dtype != np.uint64 else dtype for dtype in loop]
            return [*wide_loop[:place], INT64, *wide_loop[place + 1 :]]
        demand_fit(value, loop[place])
    return loop


def demand_fit(value: Any, dtype: DType) -> None:
    """Have the run check that an integer of Python, an argument, fits the dtype that it meets."""
    is_number = isinstance(value, Traced) and value.weak is int
    if not is_number or dtype.kind not in "iu" or dtype == INT64:
        return
    low, high = integer_range(dtype)
    number = cast_to(value, INT64)
    fits = number >= low
    if high <= np.iinfo(np.int64).max:
        fits = fits & (number <= high)
    demand(fits, f"a number does not fit the dtype {dtype} that it meets")


def fitted(value: Any, dtype: DType) -> Traced:
    """Return a value cast to the dtype that it meets; a number of Python has to fit it.

    Raises:
        DTypeError: a number is known, and does not fit. The run checks one that is an argument.
    """
    traced = as_traced(value, dtype)
    demand_fit(traced, dtype)
    return cast_to(traced, dtype)


def _cast_first(body: Body, loop: Sequence[DType]) -> Body:
    return lambda *args: body(*(x.to(d) for x, d in zip(args, loop, strict=False)))


def resolve(ufunc: Any, inputs: Sequence[Any], dtype: Any = None) -> tuple[DType, ...]:
    """Return the dtypes of the loop that NumPy would run: inputs, then results.

    Raises:
        DTypeError: it has none, or one of a dtype that MLIR lacks.
    """
    kinds = tuple(kind_for_numpy(value) for value in inputs)
    return _loop(ufunc, kinds, None if dtype is None else as_dtype(dtype))


@lru_cache(maxsize=4096)
def _loop(ufunc: Any, kinds: tuple[DType | type, ...], dtype: DType | None) -> tuple[DType, ...]:
    fixed: dict[str, Any] = {}
    if dtype is not None:
        fixed["signature"] = (None,) * ufunc.nin + (dtype,) * ufunc.nout
    try:
        if all(isinstance(kind, type) for kind in kinds):
            kinds = tuple(np.dtype(kind) for kind in kinds)
        loop = ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout), **fixed)
        for own_dtype in loop:
            by_dtype(own_dtype)
    except TypeError as error:
        shown = " and ".join(getattr(kind, "__name__", str(kind)) for kind in kinds)
        raise DTypeError(
            f"numpy.{ufunc.__name__} of {shown}",
            hint="convert them with .astype(...) first",
            notes=[str(error).splitlines()[0]],
        ) from None
    return tuple(loop)


_OF_PYTHON = (
    *(np.add, np.subtract, np.multiply, np.negative, np.positive),
    *(np.divide, np.floor_divide, np.remainder, np.power, np.absolute),
)
"""The ufuncs that are operators of Python's numbers."""


def _weak_result(ufunc: Any, inputs: Sequence[Any]) -> type | None:
    """Return the type of the number that Python would compute, where all are numbers of Python."""
    kinds = [kind_for_numpy(value) for value in inputs]
    if ufunc not in _OF_PYTHON or not all(isinstance(kind, type) for kind in kinds):
        return None
    if ufunc is np.divide:
        return complex if complex in kinds else float
    if ufunc is np.absolute and complex in kinds:
        return float
    order: tuple[type, ...] = (int, float, complex)
    return order[max(order.index(kind) for kind in kinds)]


def _exponent(value: Any) -> int | float | None:
    """Return an exponent that is known: a Python number, or a float of NumPy's."""
    if isinstance(value, np.floating | np.ndarray) and not value.ndim and value.dtype.kind == "f":
        return float(value)
    return value if type(value) in (int, float) else None


def _known_power(exponent: float, base: DType) -> Callable[[Element], Element] | None:
    """Return the power to an exponent that is known, where products or a root give it."""
    if exponent == 0.5 and base.kind in "fc":
        return lambda x: apply("sqrt", x)
    if exponent != int(exponent) if math.isfinite(exponent) else True:
        return None
    count = int(exponent)
    if base.kind == "c" and count not in (1, 2, 3):
        return None
    if base.kind in "iu" and count < 0:
        raise ArgumentError(_NO_NEGATIVE_POWERS, hint="convert the base with .astype(float)")
    if abs(count) <= 64:
        return own.rounded_once(lambda x: own.power_of(x, count))
    return None


def _decided(name: str, inputs: Sequence[Any], loop: Sequence[DType]) -> tuple[bool, Traced] | None:
    """Return a comparison with a number of Python beyond the dtype: it has one answer for all."""
    for place, value in enumerate(inputs):
        other = inputs[1 - place]
        if type(value) is not int or loop[place].kind not in "iu" or not isinstance(other, Traced):
            continue
        low, high = integer_range(loop[place])
        if not low <= value <= high:
            compare = _COMPARISONS[name][1]
            return (compare(value, 0) if place == 0 else compare(0, value)), other
    return None
