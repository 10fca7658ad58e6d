"""Scalar expressions as arith, math and complex ops: the body of a structured op.

Source: the region builders of upstream's structured ops (`LinalgOps.cpp`), which the ops here are
compared with (`named.py`); where upstream has no answer for an element type (a logarithm of a
complex number, the square of an integer) the obvious one is given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType

from linalg_ext.bindings import arith, complex, ir, linalg, math
from linalg_ext.definition.functions import Function, FunctionKind
from linalg_ext.definition.model import OpDefinition
from linalg_ext.definition.scalar import (
    Access,
    Apply,
    Const,
    Index,
    ScalarExpr,
    ScalarOperand,
)
from linalg_ext.errors import DTypeError
from linalg_ext.structured.casts import Scalar, cast
from linalg_ext.structured.constants import (
    float_constant,
    integer_constant,
    is_bool,
    is_complex,
    is_float,
    is_integer,
    number_constant,
)


@dataclass(frozen=True)
class PayloadScope:
    """What the body of an op refers to.

    Attributes:
        definition: the op.
        types: the IR type of each type variable, the predefined ones included.
        unsigned: names of the type variables whose integers are unsigned. MLIR's integers carry no
            sign; arrays do, and a `_signed` function on unsigned values is taken as its twin.
        functions: the function of each function attribute.
        elements: the block argument of each access, by operand and indices.
        scalars: the block argument of each scalar operand.
    """

    definition: OpDefinition
    types: Mapping[str, ir.Type]
    unsigned: frozenset[str]
    functions: Mapping[str, Function]
    elements: Mapping[Access, ir.Value]
    scalars: Mapping[str, ir.Value]


def emit_assignments(scope: PayloadScope) -> list[ir.Value]:
    """Emit the body at the current insertion point; the value of each output, in order.

    Raises:
        DTypeError: a function has no meaning for the element type that it is applied to, or its
            operands differ in type and no cast is stated.
    """
    values = []
    for output in scope.definition.outputs:
        assignment = scope.definition.assignment_to(output.name)
        value = _emit(assignment.value, scope).value
        expected = scope.types[str(output.type_var)]
        if value.type != expected:
            raise DTypeError(
                f"{scope.definition.name} assigns {value.type} to output {output.name}, "
                f"which is of {expected}",
                where=f"{assignment}",
                cure=f"cast it: TypeFn.cast_signed({output.type_var}, ...)",
            )
        values.append(value)
    return values


def emit_expression(expr: ScalarExpr, scope: PayloadScope) -> ir.Value:
    """Emit one expression at the current insertion point; errors as of `emit_assignments`."""
    return _emit(expr, scope).value


def _emit(expr: ScalarExpr, scope: PayloadScope) -> Scalar:
    match expr:
        case Access():
            return Scalar(scope.elements[expr], str(expr.type_var) in scope.unsigned)
        case ScalarOperand():
            return Scalar(scope.scalars[expr.operand], str(expr.type_var) in scope.unsigned)
        case Const(value=value):
            return Scalar(_constant(value))
        case Index(dim=dim):
            return Scalar(linalg.IndexOp(scope.definition.dims.index(dim)).result)
        case Apply():
            return _emit_function(expr, scope)
        case _:
            raise TypeError(f"unknown scalar expression {type(expr).__name__}")


def _constant(value: int | float) -> ir.Value:
    if isinstance(value, int):
        return integer_constant(ir.IntegerType.get_signless(64), value)
    return float_constant(ir.F64Type.get(), value)


def _emit_function(expr: Apply, scope: PayloadScope) -> Scalar:
    function = expr.function
    if expr.attribute is not None:
        function = scope.functions[expr.attribute]
    args = [_emit(arg, scope) for arg in expr.args]
    if function.kind is FunctionKind.TYPE:
        name = str(expr.type_var)
        return cast(
            args[0],
            scope.types[name],
            to_unsigned=name in scope.unsigned,
            read_unsigned=function.name == "cast_unsigned",
        )
    compared = args[1:] if function.kind is FunctionKind.TERNARY else args
    if len({str(arg.value.type) for arg in compared}) > 1:
        types = " and ".join(str(arg.value.type) for arg in compared)
        raise DTypeError(
            f"{scope.definition.name}: {function.name} is applied to {types}",
            where=f"{expr}",
            cure="cast the operands to one type: TypeFn.cast_signed(U, ...), or give the op "
            "operands of one element type",
        )
    unsigned = any(arg.unsigned for arg in args)
    result = _FUNCTIONS[function.name](*args)
    if result is None:
        raise DTypeError(
            f"{scope.definition.name}: {function.name} has no meaning for {compared[0].value.type}",
            where=f"{expr}",
            cure="cast the operand to a type that has it, or use another function",
        )
    return Scalar(result, unsigned)


Emitter = Callable[..., "ir.Value | None"]
_Op = Callable[..., ir.OpView]


def _one(*args: Scalar) -> ir.Value:
    """The number 1 of the type of the first operand."""
    return number_constant(1, args[0].value.type)


def _unary(
    *, floating: str | None = None, complex_: str | None = None, integer: str | None = None
) -> Emitter:
    """A unary function by the names of upstream's ops for each family of types."""

    def emit(x: Scalar) -> ir.Value | None:
        if is_float(x.value.type) and floating is not None:
            dialect = arith if floating == "NegFOp" else math
            return getattr(dialect, floating)(x.value).result  # type: ignore[no-any-return]
        if is_complex(x.value.type) and complex_ is not None:
            return getattr(complex, complex_)(x.value).result  # type: ignore[no-any-return]
        if is_integer(x.value.type) and not is_bool(x.value.type) and integer is not None:
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
) -> Emitter:
    """A binary function by the names of upstream's ops for each family of types."""

    def emit(x: Scalar, y: Scalar) -> ir.Value | None:
        element = x.value.type
        dialect: ModuleType = arith
        if is_float(element):
            name = floating
            dialect = math if name == "PowFOp" else arith
        elif is_complex(element):
            name, dialect = complex_, complex
        elif is_bool(element):
            name = boolean
        else:
            name = unsigned if x.unsigned or signed is None else signed
        return None if name is None else getattr(dialect, name)(x.value, y.value).result

    return emit


def _negate(x: Scalar) -> ir.Value | None:
    element = x.value.type
    if is_integer(element) and not is_bool(element):
        zero = integer_constant(element, 0)
        return arith.SubIOp(zero, x.value).result
    return _unary(floating="NegFOp", complex_="NegOp")(x)


def _reciprocal(x: Scalar) -> ir.Value | None:
    if is_float(x.value.type):
        return arith.DivFOp(_one(x), x.value).result
    return complex.DivOp(_one(x), x.value).result if is_complex(x.value.type) else None


def _absolute(x: Scalar) -> ir.Value | None:
    return _unary(floating="AbsFOp", integer="AbsIOp")(x)


def _select(condition: Scalar, x: Scalar, y: Scalar) -> ir.Value | None:
    boolean = ir.IntegerType.get_signless(1)
    chosen = cast(condition, boolean, to_unsigned=False, read_unsigned=False).value
    return arith.SelectOp(chosen, x.value, y.value).result


_multiply = _binary(
    floating="MulFOp", complex_="MulOp", signed="MulIOp", unsigned="MulIOp", boolean="AndIOp"
)

_FUNCTIONS: dict[str, Emitter] = {
    "exp": _unary(floating="ExpOp", complex_="ExpOp"),
    "log": _unary(floating="LogOp", complex_="LogOp"),
    "abs": _absolute,
    "ceil": _unary(floating="CeilOp"),
    "floor": _unary(floating="FloorOp"),
    "negf": _negate,
    "reciprocal": _reciprocal,
    "round": _unary(floating="RoundOp"),
    "sqrt": _unary(floating="SqrtOp", complex_="SqrtOp"),
    "rsqrt": _unary(floating="RsqrtOp", complex_="RsqrtOp"),
    "square": lambda x: None if is_bool(x.value.type) else _multiply(x, x),
    "tanh": _unary(floating="TanhOp", complex_="TanhOp"),
    "erf": _unary(floating="ErfOp"),
    "add": _binary(
        floating="AddFOp", complex_="AddOp", signed="AddIOp", unsigned="AddIOp", boolean="OrIOp"
    ),
    "sub": _binary(floating="SubFOp", complex_="SubOp", signed="SubIOp", unsigned="SubIOp"),
    "mul": _multiply,
    "div": _binary(floating="DivFOp", complex_="DivOp", signed="DivSIOp", unsigned="DivUIOp"),
    "div_unsigned": _binary(unsigned="DivUIOp"),
    "max_signed": _binary(
        floating="MaximumFOp", signed="MaxSIOp", unsigned="MaxUIOp", boolean="OrIOp"
    ),
    "min_signed": _binary(
        floating="MinimumFOp", signed="MinSIOp", unsigned="MinUIOp", boolean="AndIOp"
    ),
    "max_unsigned": _binary(floating="MaximumFOp", unsigned="MaxUIOp", boolean="OrIOp"),
    "min_unsigned": _binary(floating="MinimumFOp", unsigned="MinUIOp", boolean="AndIOp"),
    "powf": _binary(floating="PowFOp", complex_="PowOp"),
    "select": _select,
}
