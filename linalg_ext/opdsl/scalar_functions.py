"""The functions that an op's body may apply, in upstream's namespaces."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from linalg_ext.definition.functions import BINARY, TERNARY, TYPE, UNARY, Function, FunctionKind
from linalg_ext.definition.scalar import (
    Accumulation,
    Apply,
    Const,
    Index,
    ScalarExpr,
    Size,
    apply,
    as_operand,
)
from linalg_ext.definition.types import TypeVar
from linalg_ext.errors import DefinitionError, UnknownFunctionError, caller_location
from linalg_ext.symbolic.affine import AffineDim, AffineSymbol


@dataclass(frozen=True, slots=True)
class OpFunction:
    """A function of an op's body: call it on expressions, or give it for a function attribute."""

    function: Function

    @property
    def fn_name(self) -> str:
        """Upstream's name of the function."""
        return self.function.name

    def __call__(self, *args: ScalarExpr | TypeVar | float) -> Apply:
        """The function applied; a type function takes the target type variable first."""
        values = args
        type_var = None
        if self.function.kind is FunctionKind.TYPE:
            if not args or not isinstance(args[0], TypeVar):
                raise DefinitionError(
                    f"{self.function} got {args[0] if args else 'nothing'!r} for a target type",
                    where=caller_location(),
                    expected=f"TypeFn.{self.function}(U, expression), U a type variable",
                )
            type_var, values = args[0], args[1:]
        return apply(self.function, values, type_var=type_var)  # type: ignore[arg-type]  # checked there

    def __repr__(self) -> str:
        return f"{self.function.kind.value.capitalize()}Fn.{self.function.name}"


@dataclass(frozen=True, slots=True)
class Reducer:
    """A reduction over given dimensions: call it on the expression to reduce."""

    function: Function
    dims: tuple[str, ...]
    attribute: str | None = None

    def __call__(self, *args: ScalarExpr | float) -> Accumulation:
        """The reduction of an expression, to be assigned to an output."""
        if len(args) != 1:
            raise DefinitionError(
                f"a reduction takes one expression, not {len(args)}", where=caller_location()
            )
        value = as_operand(args[0], None, f"reduction by {self.function}")
        return Accumulation(self.function, value, self.dims, self.attribute)


@dataclass(frozen=True, slots=True)
class ReduceFunction:
    """A function to reduce with: `ReduceFn.max_signed[D.kh, D.kw](...)`."""

    function: Function

    def __getitem__(self, dims: AffineDim | Sequence[AffineDim]) -> Reducer:
        return Reducer(self.function, reduce_dims(dims))

    def __call__(self, *_: object) -> NoReturn:
        """Refuse a call without the dimensions, which Python has come to first."""
        raise DefinitionError(
            f"{self!r} is called, and no dimension is named that it runs over",
            where=caller_location(),
            expected=f"dimensions in brackets: {self!r}[D.k](...)",
            hint=f"BinaryFn.{self.function.name} takes two elements",
        )

    def __repr__(self) -> str:
        return f"ReduceFn.{self.function.name}"


def reduce_dims(dims: AffineDim | Sequence[AffineDim]) -> tuple[str, ...]:
    """The names of the dimensions in the brackets of a reduction."""
    parts = (dims,) if isinstance(dims, AffineDim) else dims
    if not isinstance(parts, Sequence):
        parts = (dims,)  # refused below, by its own repr
    for dim in parts:
        if not isinstance(dim, AffineDim):
            raise DefinitionError(
                f"a reduction over {dim!r}",
                where=caller_location(),
                expected="dimensions, as in ReduceFn.add[D.k](...)",
            )
    return tuple(dim.name for dim in parts)


class _Namespace:
    """Functions by name; an unknown name lists the known ones."""

    def __getattr__(self, name: str) -> OpFunction:
        if name.startswith("__"):
            raise AttributeError(name)
        raise _unknown(type(self).__name__.lstrip("_"), name, sorted(vars(type(self))))


def _unknown(namespace: str, name: str, names: list[str]) -> UnknownFunctionError:
    public = [name for name in names if not name.startswith("_")]
    near = difflib.get_close_matches(name, public, 1)
    return UnknownFunctionError(
        f"{namespace} has no function {name!r}",
        where=caller_location(),
        expected=f"one of {', '.join(public)}",
        hint=f"did you mean {namespace}.{near[0]}?" if near else None,
    )


class _UnaryFn(_Namespace):
    """Functions of one operand."""

    exp = OpFunction(UNARY["exp"])
    log = OpFunction(UNARY["log"])
    abs = OpFunction(UNARY["abs"])
    ceil = OpFunction(UNARY["ceil"])
    floor = OpFunction(UNARY["floor"])
    negf = OpFunction(UNARY["negf"])
    reciprocal = OpFunction(UNARY["reciprocal"])
    round = OpFunction(UNARY["round"])
    sqrt = OpFunction(UNARY["sqrt"])
    rsqrt = OpFunction(UNARY["rsqrt"])
    square = OpFunction(UNARY["square"])
    tanh = OpFunction(UNARY["tanh"])
    erf = OpFunction(UNARY["erf"])
    sin = OpFunction(UNARY["sin"])
    cos = OpFunction(UNARY["cos"])
    tan = OpFunction(UNARY["tan"])
    asin = OpFunction(UNARY["asin"])
    acos = OpFunction(UNARY["acos"])
    atan = OpFunction(UNARY["atan"])
    sinh = OpFunction(UNARY["sinh"])
    cosh = OpFunction(UNARY["cosh"])
    asinh = OpFunction(UNARY["asinh"])
    acosh = OpFunction(UNARY["acosh"])
    atanh = OpFunction(UNARY["atanh"])
    exp2 = OpFunction(UNARY["exp2"])
    expm1 = OpFunction(UNARY["expm1"])
    log2 = OpFunction(UNARY["log2"])
    log10 = OpFunction(UNARY["log10"])
    log1p = OpFunction(UNARY["log1p"])
    cbrt = OpFunction(UNARY["cbrt"])
    erfc = OpFunction(UNARY["erfc"])
    roundeven = OpFunction(UNARY["roundeven"])
    trunc = OpFunction(UNARY["trunc"])
    conj = OpFunction(UNARY["conj"])
    not_ = OpFunction(UNARY["not"])


class _BinaryFn(_Namespace):
    """Functions of two operands; integers are signless, so signedness is in the function."""

    add = OpFunction(BINARY["add"])
    sub = OpFunction(BINARY["sub"])
    mul = OpFunction(BINARY["mul"])
    div = OpFunction(BINARY["div"])
    div_unsigned = OpFunction(BINARY["div_unsigned"])
    max_signed = OpFunction(BINARY["max_signed"])
    min_signed = OpFunction(BINARY["min_signed"])
    max_unsigned = OpFunction(BINARY["max_unsigned"])
    min_unsigned = OpFunction(BINARY["min_unsigned"])
    powf = OpFunction(BINARY["powf"])
    and_ = OpFunction(BINARY["and"])
    or_ = OpFunction(BINARY["or"])
    xor = OpFunction(BINARY["xor"])
    rem = OpFunction(BINARY["rem"])
    atan2 = OpFunction(BINARY["atan2"])
    copysign = OpFunction(BINARY["copysign"])
    eq = OpFunction(BINARY["eq"])
    ne = OpFunction(BINARY["ne"])
    lt = OpFunction(BINARY["lt"])
    le = OpFunction(BINARY["le"])
    gt = OpFunction(BINARY["gt"])
    ge = OpFunction(BINARY["ge"])
    max = OpFunction(BINARY["max_signed"])
    min = OpFunction(BINARY["min_signed"])


class _TernaryFn(_Namespace):
    """Functions of three operands."""

    select = OpFunction(TERNARY["select"])
    clamp = OpFunction(TERNARY["clamp"])
    fma = OpFunction(TERNARY["fma"])


class _TypeFn(_Namespace):
    """Casts to a type variable; integers are signless, so signedness is in the cast."""

    cast_signed = OpFunction(TYPE["cast_signed"])
    cast_unsigned = OpFunction(TYPE["cast_unsigned"])


class _ReduceFn(_Namespace):
    """Functions to reduce with."""

    add = ReduceFunction(BINARY["add"])
    mul = ReduceFunction(BINARY["mul"])
    max_signed = ReduceFunction(BINARY["max_signed"])
    min_signed = ReduceFunction(BINARY["min_signed"])
    max_unsigned = ReduceFunction(BINARY["max_unsigned"])
    min_unsigned = ReduceFunction(BINARY["min_unsigned"])
    max = ReduceFunction(BINARY["max_signed"])
    min = ReduceFunction(BINARY["min_signed"])
    and_ = ReduceFunction(BINARY["and"])
    or_ = ReduceFunction(BINARY["or"])
    xor = ReduceFunction(BINARY["xor"])


UnaryFn = _UnaryFn()
BinaryFn = _BinaryFn()
TernaryFn = _TernaryFn()
TypeFn = _TypeFn()
ReduceFn = _ReduceFn()


def const(value: int | float) -> Const:
    """A number: an `int` of type i64, a `float` of type f64, until it is cast."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise DefinitionError(
            f"const({value!r}): not a number",
            where=caller_location(),
            expected="an int or a float",
        )
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise DefinitionError(f"const({value}) does not fit in 64 bits", where=caller_location())
    return Const(value)


def index(dim: AffineDim) -> Index:
    """The position along a dimension of the iteration space, of type index."""
    if not isinstance(dim, AffineDim):
        raise DefinitionError(
            f"index({dim!r}): not a dimension", where=caller_location(), expected="index(D.m)"
        )
    return Index(dim.name)


def size(symbol: AffineSymbol) -> Size:
    """The size that a symbol stands for, of type index: `size(S.N)` in a mean over N elements."""
    if not isinstance(symbol, AffineSymbol):
        raise DefinitionError(
            f"size({symbol!r}): not a symbol", where=caller_location(), expected="size(S.N)"
        )
    return Size(symbol.name)


@dataclass(frozen=True, slots=True)
class Folder:
    """A fold over given dimensions: call it on the expression that becomes the output's value."""

    dims: tuple[str, ...]

    def __call__(
        self, value: ScalarExpr, *, init: float | ReduceFunction | None = None
    ) -> Accumulation:
        """The fold of an expression, to be assigned to an output.

        Args:
            value: the value of the output after each step; it reads the outputs as they were.
            init: the start of the output where a call gives nothing: a number, or the reduction
                whose neutral element it is (`ReduceFn.max`: minus infinity, or the least integer).
        """
        expr = as_operand(value, None, "fold")
        start = init.function if isinstance(init, ReduceFunction) else init
        if start is not None and not isinstance(start, (int, float, Function)):
            raise DefinitionError(
                f"a fold from init={init!r}",
                where=caller_location(),
                expected="a number, or a reduction such as ReduceFn.max",
            )
        return Accumulation(None, expr, self.dims, None, start)


class _Fold:
    """`fold[D.n](value)`: one step after the other along dimensions, in their order.

    For reductions that no reduction function computes, such as the place of a largest element:

        better = A[D.m, D.n] > V[D.m]
        place = TypeFn.cast_signed(I64, index(D.n))
        V[D.m] = fold[D.n](TernaryFn.select(better, A[D.m, D.n], V[D.m]), init=ReduceFn.max)
        P[D.m] = fold[D.n](TernaryFn.select(better, place, P[D.m]), init=0)

    Neighbouring folds over the same dimensions run together: `better` compares with the maximum so
    far, for both. Of equal elements the first counts.
    """

    def __getitem__(self, dims: AffineDim | Sequence[AffineDim]) -> Folder:
        return Folder(reduce_dims(dims))


fold = _Fold()
