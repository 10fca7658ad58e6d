"""Scalar expressions: the computation at one point of the iteration space.

Immutable trees. They carry Python's operators, so that every front end builds them the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from linalg_ext.definition.functions import BINARY, TERNARY, TYPE, UNARY, Function, FunctionKind
from linalg_ext.definition.numpy_functions import NUMPY_FUNCTIONS
from linalg_ext.definition.types import BOOLEAN, TypeVar
from linalg_ext.errors import DefinitionError, caller_location, counted
from linalg_ext.symbolic.affine import (
    AffineBinary,
    AffineConst,
    AffineDim,
    AffineExpr,
    AffineKind,
    AffineSymbol,
)


def _refuse_operator(symbol: str, hint: str) -> NoReturn:
    raise DefinitionError(
        f"elements have no operator `{symbol}`", where=caller_location(), hint=hint
    )


def _operator(name: str) -> Callable[[ScalarExpr, ScalarExpr | float], ScalarExpr]:
    return lambda self, other: apply(BINARY[name], (self, other))


def _reflected(name: str) -> Callable[[ScalarExpr, float], ScalarExpr]:
    return lambda self, other: apply(BINARY[name], (other, self))


def _unary(name: str) -> Callable[[ScalarExpr], ScalarExpr]:
    return lambda self: Apply(UNARY[name], (self,))


class ScalarExpr:
    """A scalar expression; `+ - * / **`, `< <= > >=`, `& | ^ ~`, `abs` and minus build larger ones.

    So do NumPy's ufuncs that have a function here, such as `np.exp`, and `x << 3`. A number beside
    an expression becomes a constant of the expression's type. `==` and `!=` compare trees, as
    Python's containers need it: elements are compared by `eq` and `ne`.
    """

    __slots__ = ()

    __add__, __radd__ = _operator("add"), _reflected("add")
    __sub__, __rsub__ = _operator("sub"), _reflected("sub")
    __mul__, __rmul__ = _operator("mul"), _reflected("mul")
    __truediv__, __rtruediv__ = _operator("div"), _reflected("div")
    __pow__ = _operator("powf")
    __and__, __or__, __xor__ = map(_operator, ("and", "or", "xor"))
    __lt__, __le__, __gt__, __ge__ = map(_operator, ("lt", "le", "gt", "ge"))
    __neg__, __abs__, __invert__ = map(_unary, ("negf", "abs", "not"))
    __floor__, __ceil__ = _unary("floor"), _unary("ceil")
    __trunc__, __round__ = _unary("trunc"), _unary("roundeven")

    def __mod__(self, other: object) -> NoReturn:
        _refuse_operator("%", "write BinaryFn.rem(x, y): C's remainder, with the sign of x")

    def __floordiv__(self, other: object) -> NoReturn:
        _refuse_operator("//", "write x / y: on integers it rounds towards zero")

    def __matmul__(self, other: object) -> NoReturn:
        _refuse_operator("@", "write the product of elements, as in C[D.m] += A[D.m, D.k] * B[D.k]")

    def __lshift__(self, other: object) -> ScalarExpr:
        if isinstance(other, int) and 0 <= other < 63:
            return self * (1 << other)
        _refuse_operator("<<", "shift by a number, as in x << 3; else multiply by a power of two")

    def __rshift__(self, other: object) -> NoReturn:
        _refuse_operator(">>", "divide by a power of two: x / 8 rounds towards zero")

    def __float__(self) -> NoReturn:
        raise DefinitionError(
            f"`{self}` is used as a number, and has none when the operation is declared",
            where=caller_location(),
            hint="write UnaryFn.exp(x) or np.exp(x) in the place of math.exp(x), and so for the "
            "others: UnaryFn and BinaryFn list all functions",
        )

    __int__ = __index__ = __complex__ = __float__

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **keywords: Any) -> Any:
        """Return the expression of a ufunc of NumPy's that has a function here."""
        name = ufunc.__name__
        function = _FUNCTIONS_OF_UFUNCS.get(name)
        if all(
            isinstance(operand, ScalarExpr) and type_of(operand) == BOOLEAN for operand in operands
        ):
            # On conditions, and on no other numbers, the logical functions are those of bits.
            function = function or _FUNCTIONS_OF_UFUNCS.get(name.replace("logical", "bitwise"))
        if method != "__call__" or keywords or function is None:
            used = name if method == "__call__" else f"{name}.{method}"
            raise DefinitionError(
                f"`np.{used}` has no function of elements",
                where=caller_location(),
                expected="a function of UnaryFn, BinaryFn or TernaryFn, or a ufunc of the same "
                "meaning with its operands alone",
                hint="reduce by `C[D.m] += A[D.m, D.k]`" if method == "reduce" else None,
            )
        return apply(function, operands)

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        """Return the expression of `np.where` and `np.clip`; any other function is refused."""
        chosen = {"where": TERNARY["select"], "clip": TERNARY["clamp"]}.get(function.__name__)
        if chosen is None or keywords or len(args) != 3:
            raise DefinitionError(
                f"`np.{function.__name__}` is not a function of elements",
                where=caller_location(),
                expected="a function of UnaryFn, BinaryFn or TernaryFn",
                hint="the body of an op computes one element; sums and maxima are written as "
                "`C[D.m] += A[D.m, D.k]` and ReduceFn.max[D.k](...)",
            )
        return apply(chosen, args)

    def __bool__(self) -> NoReturn:
        raise DefinitionError(
            f"the truth of `{self}` is not known when the operation is declared",
            where=caller_location(),
            hint="use TernaryFn.select(condition, x, y) instead of if, and `& | ~` instead of "
            "and, or, not; a chain x < y < z is (x < y) & (y < z)",
        )

    @property
    def operands(self) -> tuple[ScalarExpr, ...]:
        """The direct sub-expressions."""
        return ()

    def walk(self) -> Iterator[ScalarExpr]:
        """This expression and all below it, from the outside in, left to right."""
        yield self
        for operand in self.operands:
            yield from operand.walk()


@dataclass(frozen=True, slots=True, repr=False)
class Access(ScalarExpr):
    """An element of a tensor operand: `A[D.m, D.k]`."""

    operand: str
    indices: tuple[AffineExpr, ...]
    type_var: TypeVar

    def __iadd__(self, value: ScalarExpr | float) -> Accumulation:  # type: ignore[override]
        # `C[m] += x` is C[m].__iadd__(x), then C.__setitem__(m, ...): an accumulation, not a sum.
        return Accumulation(BINARY["add"], as_operand(value, self.type_var, "+="), None)

    def __repr__(self) -> str:
        return f"{self.operand}[{', '.join(map(str, self.indices))}]"


@dataclass(frozen=True, slots=True, repr=False)
class Lookup(ScalarExpr):
    """An element of a tensor at a place that other elements tell: `W[I[D.n], D.e]`.

    A computed index out of range is moved to the nearest in range, as `linalg_ext.gather` does.

    Attributes:
        operand: the tensor.
        indices: one for each axis: an affine index, or an expression of integers (int64).
        type_var: the element type of the tensor.
    """

    operand: str
    indices: tuple[AffineExpr | ScalarExpr, ...]
    type_var: TypeVar

    def __iadd__(self, value: ScalarExpr | float) -> Accumulation:  # type: ignore[override]
        # `C[m] += x` is C[m].__iadd__(x), then C.__setitem__(m, ...): an accumulation, not a sum.
        return Accumulation(BINARY["add"], as_operand(value, self.type_var, "+="), None)

    @property
    def operands(self) -> tuple[ScalarExpr, ...]:
        """The computed indices."""
        return tuple(index for index in self.indices if isinstance(index, ScalarExpr))

    @property
    def dims(self) -> tuple[str, ...]:
        """Dimensions of the affine indices."""
        return tuple(d for i in self.indices if isinstance(i, AffineExpr) for d in i.dims)

    def __repr__(self) -> str:
        # Every computed index is cast to int64, which goes without saying.
        indices = [
            i.args[0] if isinstance(i, Apply) and i.function.kind is FunctionKind.TYPE else i
            for i in self.indices
        ]
        return f"{self.operand}[{', '.join(map(str, indices))}]"


@dataclass(frozen=True, slots=True, repr=False)
class Carried(ScalarExpr):
    """The element of the output that a recurrence wrote one step before: `O[D.n - 1]`.

    Before the first step it is the neutral element of the reduction that the recurrence is
    (`O[n - 1] + X[n]`), else 0.

    Attributes:
        operand: the output.
        indices: those of the target, one of them less or more by 1.
        type_var: the element type of the output.
    """

    operand: str
    indices: tuple[AffineExpr, ...]
    type_var: TypeVar

    def __repr__(self) -> str:
        return f"{self.operand}[{', '.join(map(str, self.indices))}]"


@dataclass(frozen=True, slots=True)
class Accumulation:
    """An accumulation to assign: `C[...] += value` or `C[...] = ReduceFn.f[dims](value)`.

    Attributes:
        function: combines the previous value with the new one. None for a fold: its value reads the
            previous value itself.
        value: the new value.
        dims: dimensions to reduce over; None for all that the value reads and the target lacks.
        attribute: the function attribute that chooses the function, or None.
        initial: the start of a fold: a number, or the function whose neutral element it is.
        is_scatter: whether it is a scatter, see `Reduction`.
    """

    function: Function | None
    value: ScalarExpr
    dims: tuple[str, ...] | None
    attribute: str | None = None
    initial: Function | float | None = None
    is_scatter: bool = False

    def __add__(self, other: object) -> NoReturn:
        self._refuse()

    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __add__

    def __neg__(self) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise DefinitionError(
            f"a reduction by {self.function} is used inside a larger expression",
            where=caller_location(),
            hint="assign it to an output by itself; compute on the result in an op of its own",
        )


@dataclass(frozen=True, slots=True, repr=False)
class ScalarOperand(ScalarExpr):
    """The value of a scalar operand."""

    operand: str
    type_var: TypeVar

    def __repr__(self) -> str:
        return self.operand


@dataclass(frozen=True, slots=True, repr=False)
class Const(ScalarExpr):
    """A number. An `int` is of type i64 and a `float` of type f64 until it is cast."""

    value: int | float

    def __repr__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True, slots=True, repr=False)
class Index(ScalarExpr):
    """The position along a dimension of the iteration space, of type index."""

    dim: str

    def __repr__(self) -> str:
        return f"index({self.dim})"


@dataclass(frozen=True, slots=True, repr=False)
class Size(ScalarExpr):
    """A size that a symbol stands for, of type index."""

    symbol: str

    def __repr__(self) -> str:
        return f"size({self.symbol})"


@dataclass(frozen=True, slots=True, repr=False)
class Apply(ScalarExpr):
    """A function applied to operands.

    Attributes:
        function: the function; for one given by an attribute, its default.
        args: as many expressions as the function's kind takes.
        type_var: the target type of a type function, else None.
        attribute: the function attribute of the op that chooses the function at a call, or None.
    """

    function: Function
    args: tuple[ScalarExpr, ...]
    type_var: TypeVar | None = None
    attribute: str | None = None

    @property
    def operands(self) -> tuple[ScalarExpr, ...]:
        """The arguments."""
        return self.args

    def __repr__(self) -> str:
        args = [str(self.type_var)] if self.type_var is not None else []
        args += [repr(arg) for arg in self.args]
        return f"{self.attribute or self.function.name}({', '.join(args)})"


def type_of(expr: ScalarExpr) -> TypeVar | None:
    """The type variable of an expression; None for bare constants and indices."""
    if isinstance(expr, (Access, ScalarOperand, Lookup, Carried)):
        return expr.type_var
    if isinstance(expr, Apply):
        if expr.function.kind is FunctionKind.TYPE:
            return expr.type_var
        if expr.function.is_predicate:
            return BOOLEAN
        args = expr.args[1:] if expr.function.name == "select" else expr.args
        return next((type_var for arg in args if (type_var := type_of(arg)) is not None), None)
    return None


def constant_of(expr: ScalarExpr) -> int | float | None:
    """The number of a constant, cast or not; None for any other expression."""
    if isinstance(expr, Apply) and expr.function.kind is FunctionKind.TYPE:
        (expr,) = expr.args
    return expr.value if isinstance(expr, Const) else None


def apply(
    function: Function,
    args: tuple[ScalarExpr | float, ...],
    *,
    type_var: TypeVar | None = None,
    attribute: str | None = None,
) -> Apply:
    """`function(args)`, with Python numbers turned into constants of the other operands' type.

    Raises:
        DefinitionError: wrong number of operands, or an operand that is not a scalar expression.
    """
    name = attribute or function.name
    if len(args) != function.kind.arity:
        raise DefinitionError(
            f"{name} takes {counted(function.kind.arity, 'operand')}, not {len(args)}",
            where=caller_location(),
        )
    typed = args[1:] if function.name == "select" else args
    known = next(
        (
            argument_type
            for arg in typed
            if isinstance(arg, ScalarExpr) and (argument_type := type_of(arg))
        ),
        None,
    )
    return Apply(function, tuple(as_operand(arg, known, name) for arg in args), type_var, attribute)


_FUNCTIONS_OF_UFUNCS = {
    **{
        ufunc.__name__: (UNARY | BINARY)[name]
        for name, ufunc in NUMPY_FUNCTIONS.items()
        if isinstance(ufunc, np.ufunc)
    },
    "square": UNARY["square"],
    "reciprocal": UNARY["reciprocal"],
    "divide": BINARY["div"],
    "arctan2": BINARY["atan2"],
    "bitwise_not": UNARY["not"],
}
"""The function of each ufunc of NumPy's that has one of the same meaning."""


def position(expr: AffineExpr) -> ScalarExpr:
    """Return an index as a number of type index, to compute or to compare with.

    Raises:
        DefinitionError: it has a quotient or a remainder.
    """
    match expr:
        case AffineDim(name=name):
            return Index(name)
        case AffineSymbol(name=name):
            return Size(name)
        case AffineConst(value=value):
            return Const(value)
        case AffineBinary(kind=AffineKind.ADD, lhs=lhs, rhs=rhs):
            return Apply(BINARY["add"], (position(lhs), position(rhs)))
        case AffineBinary(kind=AffineKind.MUL, lhs=lhs, rhs=rhs):
            return Apply(BINARY["mul"], (position(lhs), position(rhs)))
    raise DefinitionError(
        f"the index `{expr}` divides, and is used as a number",
        where=caller_location(),
        hint="write it with index(D.x), / and BinaryFn.rem",
    )


AffineExpr.as_number = position


def as_operand(value: object, type_var: TypeVar | None, function: str) -> ScalarExpr:
    """`value` as an operand of `function`; a Python number becomes a constant of the type."""
    if isinstance(value, ScalarExpr):
        return value
    if isinstance(value, np.number) and not isinstance(value, np.complexfloating):
        value = value.item()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        constant = Const(value)
        if type_var is None:
            return constant
        return Apply(TYPE["cast_signed"], (constant,), type_var)
    raise DefinitionError(
        f"{_describe(value)} is not an operand of `{function}`",
        where=caller_location(),
        expected="an element of a tensor such as A[D.m, D.k], a scalar operand, a number, "
        "const(...), index(...), or a function of these",
        hint=_hint_for(value),
    )


def _describe(value: object) -> str:
    if isinstance(value, AffineExpr):
        return f"the index expression `{value}`"
    if isinstance(value, Accumulation):
        return f"a reduction by {value.function}"
    return f"{value!r}"


def _hint_for(value: object) -> str | None:
    if isinstance(value, bool):
        return (
            "for a number write 1 or 0; for x == y write BinaryFn.eq(x, y), for x != y "
            "BinaryFn.ne(x, y): `==` compares expressions while the op is declared"
        )
    if isinstance(value, Accumulation):
        return "assign it to an output by itself; compute on the result in an op of its own"
    if isinstance(value, AffineExpr):
        if value.symbols and value.is_symbolic:
            size = f"size(S.{value.symbols[0]})"
            return f"cast a size to the type of an element: TypeFn.cast_signed(T, {size})"
        return "wrap it in index(D.x) to compute with the position along a dimension"
    if hasattr(value, "__getitem__"):
        return "index the tensor, as in A[D.m, D.k] (A[None] for one of rank 0)"
    return None
