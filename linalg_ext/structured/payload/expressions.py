"""Scalar expressions as ops: the body of a structured op.

Source: the region builders of upstream's structured ops (`LinalgOps.cpp`), which the ops here are
compared with (`named.py`); where upstream has no answer for an element type (a logarithm of a
complex number, the square of an integer) the obvious one is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from linalg_ext.bindings import arith, ir, linalg, memref, tensor
from linalg_ext.definition.affine import AffineDim
from linalg_ext.definition.functions import Function, FunctionKind
from linalg_ext.definition.model import OpDefinition
from linalg_ext.definition.scalar import (
    Access,
    Apply,
    Const,
    Index,
    Lookup,
    ScalarExpr,
    ScalarOperand,
    Size,
)
from linalg_ext.errors import DTypeError
from linalg_ext.structured.payload.casts import Scalar, cast
from linalg_ext.structured.payload.function_ops import emit_function
from linalg_ext.structured.utils.constants import float_constant, integer_constant, is_integer


@dataclass(frozen=True)
class PayloadScope:
    """The names that the body of an op refers to.

    Attributes:
        definition: the op.
        types: the IR type of each type variable, the predefined ones included.
        unsigned: names of the type variables whose integers are unsigned. MLIR's integers carry no
            sign; arrays do. A `_signed` function on unsigned values becomes its unsigned twin.
        functions: the function of each function attribute.
        elements: the block argument of each access, by operand and indices.
        scalars: the block argument of each scalar operand.
        sizes: the size of each symbol that the body reads the size of: a number, or a value of type
            index that was made before the op.
        tables: the tensors and memrefs in which elements are looked up, by operand.
    """

    definition: OpDefinition
    types: Mapping[str, ir.Type]
    unsigned: frozenset[str]
    functions: Mapping[str, Function]
    elements: Mapping[Access, ir.Value]
    scalars: Mapping[str, ir.Value]
    sizes: Mapping[str, ir.Value | int]
    tables: Mapping[str, Table] = field(default_factory=dict)


class Table(NamedTuple):
    """A tensor or memref that the body of an op looks elements up in.

    Attributes:
        value: the tensor or memref.
        sizes: its sizes: numbers, or values of type index that were made before the op.
    """

    value: ir.Value
    sizes: Sequence[ir.Value | int]


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
                hint=f"cast it: TypeFn.cast_signed({output.type_var}, ...)",
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
        case Lookup():
            return Scalar(_looked_up(expr, scope), str(expr.type_var) in scope.unsigned)
        case ScalarOperand():
            return Scalar(scope.scalars[expr.operand], str(expr.type_var) in scope.unsigned)
        case Const(value=value):
            return Scalar(_constant(value))
        case Index(dim=dim):
            return Scalar(linalg.IndexOp(scope.definition.dims.index(dim)).result)
        case Size(symbol=symbol):
            size = scope.sizes[symbol]
            index = ir.IndexType.get()
            return Scalar(integer_constant(index, size) if isinstance(size, int) else size)
        case Apply():
            return _emit_function(expr, scope)
        case _:
            raise TypeError(f"unknown scalar expression {type(expr).__name__}")


def _looked_up(expr: Lookup, scope: PayloadScope) -> ir.Value:
    """An element at computed indices, each moved to the nearest in range."""
    table, sizes = scope.tables[expr.operand]
    index_type = ir.IndexType.get()

    def number(value: ir.Value | int) -> ir.Value:
        return integer_constant(index_type, value) if isinstance(value, int) else value

    places: list[ir.Value] = []
    for index, size in zip(expr.indices, sizes, strict=True):
        if isinstance(index, ScalarExpr):
            place = arith.IndexCastOp(index_type, _emit(index, scope).value).result
            last = size - 1 if isinstance(size, int) else arith.SubIOp(size, number(1)).result
            place = arith.MinSIOp(place, number(last)).result
            places.append(arith.MaxSIOp(place, number(0)).result)
        elif isinstance(index, AffineDim):
            places.append(linalg.IndexOp(scope.definition.dims.index(index.name)).result)
        else:
            places.append(number(int(str(index))))
    if isinstance(table.type, ir.MemRefType):
        return memref.LoadOp(table, places).result
    return tensor.ExtractOp(table, places).result


def _constant(value: int | float) -> ir.Value:
    if isinstance(value, int):
        return integer_constant(ir.IntegerType.get_signless(64), value)
    return float_constant(ir.F64Type.get(), value)


def _refuse_fraction(expr: Apply, scope: PayloadScope) -> None:
    """Raise where 0.5 would silently become the integer 0."""
    (value,) = expr.args
    if not isinstance(value, Const) or float(value.value).is_integer():
        return
    element = scope.types[str(expr.type_var)]
    if is_integer(element):
        raise DTypeError(
            f"{scope.definition.name}: {value} has no meaning for {element}",
            where=f"{expr}",
            hint="call the op on floats, or cast to a float type first",
        )


def _emit_operand(arg: ScalarExpr, user: Apply, scope: PayloadScope) -> Scalar:
    """An operand; a whole number beside a position or a size is of type index: `size(S.N) - 1`."""
    if isinstance(arg, Const) and isinstance(arg.value, int) and _is_index(user):
        return Scalar(integer_constant(ir.IndexType.get(), arg.value))
    return _emit(arg, scope)


def _is_index(expr: ScalarExpr) -> bool:
    """Return whether an expression computes with positions and sizes alone."""
    if isinstance(expr, Apply) and expr.function.kind is not FunctionKind.TYPE:
        return any(map(_is_index, expr.args))
    return isinstance(expr, (Index, Size))


def _emit_function(expr: Apply, scope: PayloadScope) -> Scalar:
    function = expr.function
    if expr.attribute is not None:
        function = scope.functions[expr.attribute]
    args = [_emit_operand(arg, expr, scope) for arg in expr.args]
    if function.kind is FunctionKind.TYPE:
        name = str(expr.type_var)
        _refuse_fraction(expr, scope)
        return cast(
            args[0],
            scope.types[name],
            to_unsigned=name in scope.unsigned,
            read_unsigned=function.name == "cast_unsigned",
        )
    compared = args[1:] if function.name == "select" else args
    if len({str(arg.value.type) for arg in compared}) > 1:
        types = " and ".join(str(arg.value.type) for arg in compared)
        raise DTypeError(
            f"{scope.definition.name}: {function.name} is applied to {types}",
            where=f"{expr}",
            hint="cast the operands to one type: TypeFn.cast_signed(U, ...), or give the op "
            "operands of one element type",
        )
    unsigned = any(arg.unsigned for arg in args)
    result = emit_function(function.name, args)
    if result is None:
        raise DTypeError(
            f"{scope.definition.name}: {function.name} has no meaning for {compared[0].value.type}",
            where=f"{expr}",
            hint="cast the operand to a type that has it, or use another function",
        )
    return Scalar(result, unsigned and not function.is_predicate)
