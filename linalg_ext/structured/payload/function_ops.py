"""The functions of scalar expressions as ops of arith, math and complex, by element type.

Source: the region builders of upstream's structured ops (`LinalgOps.cpp`); where upstream has no
answer for an element type (a logarithm of a complex number, the square of an integer) the obvious
one is given, and None stands for no meaning at all.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from linalg_ext.bindings import arith, complex, ir, math
from linalg_ext.structured.payload.casts import Scalar, cast
from linalg_ext.structured.utils.constants import (
    integer_constant,
    is_bool,
    is_complex,
    is_float,
    is_integer,
    number_constant,
)

Emitter = Callable[..., "ir.Value | None"]


def emit_function(name: str, args: list[Scalar]) -> ir.Value | None:
    """The value of a function, built at the current insertion point; None if it has no meaning."""
    return _FUNCTIONS[name](*args)


def _one(x: Scalar) -> ir.Value:
    """The number 1 of the type of an operand."""
    return number_constant(1, x.value.type)


def _is_number(element: ir.Type) -> bool:
    return is_integer(element) and not is_bool(element)


def _math(floating: str, complex_: str | None = None, integer: str | None = None) -> Emitter:
    """A unary function by the names of math's and complex's ops for each family of types."""

    def emit(x: Scalar) -> ir.Value | None:
        element = x.value.type
        if is_float(element):
            return getattr(math, floating)(x.value).result  # type: ignore[no-any-return]
        if is_complex(element) and complex_ is not None:
            return getattr(complex, complex_)(x.value).result  # type: ignore[no-any-return]
        if _is_number(element) and integer is not None:
            return x.value if x.unsigned else getattr(math, integer)(x.value).result
        return None

    return emit


def _binary(
    *,
    floating: str | None = None,
    complex_: str | None = None,
    signed: str | None = None,
    unsigned: str | None = None,
    boolean: str | None = None,
    float_dialect: str = "arith",
) -> Emitter:
    """A binary function by the names of upstream's ops for each family of types."""

    def emit(x: Scalar, y: Scalar) -> ir.Value | None:
        element = x.value.type
        dialect: ModuleType = arith
        if is_float(element):
            name, dialect = floating, math if float_dialect == "math" else arith
        elif is_complex(element):
            name, dialect = complex_, complex
        elif is_bool(element):
            name = boolean
        else:
            name = unsigned if x.unsigned or signed is None else signed
        return None if name is None else getattr(dialect, name)(x.value, y.value).result

    return emit


def _compare(predicate: str) -> Emitter:
    """A comparison: ordered on floats (false with NaN) but for `ne`, signed or not on integers."""

    def emit(x: Scalar, y: Scalar) -> ir.Value | None:
        element = x.value.type
        is_equality = predicate in ("eq", "ne")
        if is_float(element):
            name = "UNE" if predicate == "ne" else f"O{predicate.upper()}"
            return arith.CmpFOp(arith.CmpFPredicate[name], x.value, y.value).result
        if is_complex(element):
            if not is_equality:
                return None
            op = complex.EqualOp if predicate == "eq" else complex.NotEqualOp
            return op(x.value, y.value).result
        unsigned = x.unsigned or is_bool(element)
        name = predicate if is_equality else f"{'u' if unsigned else 's'}{predicate}"
        return arith.CmpIOp(arith.CmpIPredicate[name], x.value, y.value).result

    return emit


def _negate(x: Scalar) -> ir.Value | None:
    element = x.value.type
    if _is_number(element):
        return arith.SubIOp(integer_constant(element, 0), x.value).result
    if is_float(element):
        return arith.NegFOp(x.value).result
    return complex.NegOp(x.value).result if is_complex(element) else None


def _not(x: Scalar) -> ir.Value | None:
    if not is_integer(x.value.type):
        return None
    ones = integer_constant(x.value.type, -1)
    return arith.XOrIOp(x.value, ones).result


def _conjugate(x: Scalar) -> ir.Value | None:
    return complex.ConjOp(x.value).result if is_complex(x.value.type) else x.value


def _reciprocal(x: Scalar) -> ir.Value | None:
    if is_float(x.value.type):
        return arith.DivFOp(_one(x), x.value).result
    return complex.DivOp(_one(x), x.value).result if is_complex(x.value.type) else None


def _square(x: Scalar) -> ir.Value | None:
    return None if is_bool(x.value.type) else _multiply(x, x)


def _log(base_two: str, scale: float) -> Emitter:
    """A logarithm to another base: math's op on floats, a scaled log on complex numbers."""

    def emit(x: Scalar) -> ir.Value | None:
        if is_float(x.value.type):
            return getattr(math, base_two)(x.value).result  # type: ignore[no-any-return]
        if not is_complex(x.value.type):
            return None
        factor = number_constant(scale, x.value.type)
        return complex.MulOp(complex.LogOp(x.value).result, factor).result

    return emit


def _clamp(x: Scalar, low: Scalar, high: Scalar) -> ir.Value | None:
    above = _largest(x, low)
    return None if above is None else _smallest(Scalar(above, x.unsigned), high)


def _multiply_add(x: Scalar, y: Scalar, z: Scalar) -> ir.Value | None:
    if is_float(x.value.type):
        return math.FmaOp(x.value, y.value, z.value).result
    product = _multiply(x, y)
    return None if product is None else _add(Scalar(product, x.unsigned), z)


def _select(condition: Scalar, x: Scalar, y: Scalar) -> ir.Value | None:
    boolean = ir.IntegerType.get_signless(1)
    chosen = cast(condition, boolean, to_unsigned=False, read_unsigned=False).value
    return arith.SelectOp(chosen, x.value, y.value).result


_add = _binary(
    floating="AddFOp", complex_="AddOp", signed="AddIOp", unsigned="AddIOp", boolean="OrIOp"
)
_multiply = _binary(
    floating="MulFOp", complex_="MulOp", signed="MulIOp", unsigned="MulIOp", boolean="AndIOp"
)
_largest = _binary(floating="MaximumFOp", signed="MaxSIOp", unsigned="MaxUIOp", boolean="OrIOp")
_smallest = _binary(floating="MinimumFOp", signed="MinSIOp", unsigned="MinUIOp", boolean="AndIOp")


def _bitwise(name: str) -> Emitter:
    return _binary(signed=name, unsigned=name, boolean=name)


_FUNCTIONS: dict[str, Emitter] = {
    "exp": _math("ExpOp", "ExpOp"),
    "log": _math("LogOp", "LogOp"),
    "abs": _math("AbsFOp", "AbsOp", "AbsIOp"),
    "ceil": _math("CeilOp"),
    "floor": _math("FloorOp"),
    "negf": _negate,
    "reciprocal": _reciprocal,
    "round": _math("RoundOp"),
    "sqrt": _math("SqrtOp", "SqrtOp"),
    "rsqrt": _math("RsqrtOp", "RsqrtOp"),
    "square": _square,
    "tanh": _math("TanhOp", "TanhOp"),
    "erf": _math("ErfOp"),
    "sin": _math("SinOp", "SinOp"),
    "cos": _math("CosOp", "CosOp"),
    "tan": _math("TanOp", "TanOp"),
    "asin": _math("AsinOp"),
    "acos": _math("AcosOp"),
    "atan": _math("AtanOp"),
    "sinh": _math("SinhOp"),
    "cosh": _math("CoshOp"),
    "asinh": _math("AsinhOp"),
    "acosh": _math("AcoshOp"),
    "atanh": _math("AtanhOp"),
    "exp2": _math("Exp2Op"),
    "expm1": _math("ExpM1Op", "Expm1Op"),
    "log2": _log("Log2Op", 1.4426950408889634),
    "log10": _log("Log10Op", 0.4342944819032518),
    "log1p": _math("Log1pOp", "Log1pOp"),
    "cbrt": _math("CbrtOp"),
    "erfc": _math("ErfcOp"),
    "roundeven": _math("RoundEvenOp"),
    "trunc": _math("TruncOp"),
    "conj": _conjugate,
    "not": _not,
    "add": _add,
    "sub": _binary(floating="SubFOp", complex_="SubOp", signed="SubIOp", unsigned="SubIOp"),
    "mul": _multiply,
    "div": _binary(floating="DivFOp", complex_="DivOp", signed="DivSIOp", unsigned="DivUIOp"),
    "div_unsigned": _binary(unsigned="DivUIOp"),
    "rem": _binary(floating="RemFOp", signed="RemSIOp", unsigned="RemUIOp"),
    "max_signed": _largest,
    "min_signed": _smallest,
    "max_unsigned": _binary(unsigned="MaxUIOp", boolean="OrIOp"),
    "min_unsigned": _binary(unsigned="MinUIOp", boolean="AndIOp"),
    "powf": _binary(floating="PowFOp", complex_="PowOp", float_dialect="math"),
    "atan2": _binary(floating="Atan2Op", complex_="Atan2Op", float_dialect="math"),
    "copysign": _binary(floating="CopySignOp", float_dialect="math"),
    "and": _bitwise("AndIOp"),
    "or": _bitwise("OrIOp"),
    "xor": _bitwise("XOrIOp"),
    "eq": _compare("eq"),
    "ne": _compare("ne"),
    "lt": _compare("lt"),
    "le": _compare("le"),
    "gt": _compare("gt"),
    "ge": _compare("ge"),
    "select": _select,
    "clamp": _clamp,
    "fma": _multiply_add,
}
