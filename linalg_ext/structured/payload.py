"""The bodies of structured ops: scalar expressions and casts as ops, and generics with them.

Source: the region builders of upstream's structured ops (`LinalgOps.cpp`); where upstream has no
answer for an element type (a logarithm of a complex number, the square of an integer) the obvious
one is given, and None stands for no meaning at all.

Ops of our own dialect have no body: its contents follow from their definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import NamedTuple

from linalg_ext.bindings import arith, complex, ir, linalg, math, memref, tensor
from linalg_ext.definition.functions import Function, FunctionKind
from linalg_ext.definition.model import OpDefinition, why_several
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
from linalg_ext.definition.shapes import infer_extents, narrowed_axes, symbol_sizes
from linalg_ext.errors import DefinitionError, DTypeError, ShapeError
from linalg_ext.structured import extension as extension_ops
from linalg_ext.structured.constants import (
    float_constant,
    index,
    integer_constant,
    is_bool,
    is_complex,
    is_float,
    is_integer,
    number_constant,
)
from linalg_ext.structured.loops import whole_or_none
from linalg_ext.structured.maps import iterators_attribute, maps_attribute
from linalg_ext.structured.operands import BoundOp, ops_inside
from linalg_ext.structured.sizes import extract_slice, mixed_size, mixed_sizes, size_at, sizes_of
from linalg_ext.symbolic.affine import AffineDim, AffineSymbol
from linalg_ext.symbolic.index_sets import Tile
from linalg_ext.symbolic.integers import Number


@dataclass(frozen=True)
class Scalar:
    """A value in the body of an op, and whether its integers are read as unsigned."""

    value: ir.Value
    unsigned: bool = False


def cast(x: Scalar, target: ir.Type, *, to_unsigned: bool, read_unsigned: bool) -> Scalar:
    """Cast a value to an element type, as upstream's `convertScalarToDtype` does.

    To i1 it is "not zero": true for every number that a truncation would lose.

    Args:
        to_unsigned: whether the result is an unsigned integer (of an array's dtype).
        read_unsigned: whether the cast reads integers as unsigned.
    """
    source = x.value.type
    if source == target:
        return Scalar(x.value, to_unsigned)
    unsigned = x.unsigned or read_unsigned
    if is_complex(source):
        value = _from_complex(x.value, target, to_unsigned, unsigned)
    elif is_complex(target):
        value = _to_complex(x, target, unsigned)
    elif is_bool(target):
        value = _not_zero(x.value)
    elif is_float(target):
        value = _to_float(x.value, target, unsigned)
    else:
        value = _to_integer(x.value, target, unsigned, to_unsigned or read_unsigned)
    return Scalar(value, to_unsigned)


def _to_float(value: ir.Value, target: ir.Type, unsigned: bool) -> ir.Value:
    source = value.type
    if isinstance(source, ir.IndexType):
        value = arith.IndexCastOp(ir.IntegerType.get_signless(64), value).result
    if is_integer(source):
        return (arith.UIToFPOp if unsigned else arith.SIToFPOp)(target, value).result
    if ir.FloatType(source).width < ir.FloatType(target).width:
        return arith.ExtFOp(target, value).result
    if ir.FloatType(source).width == ir.FloatType(target).width:
        # Formats of one width are converted through f32, which holds both.
        value = arith.ExtFOp(ir.F32Type.get(), value).result
    return arith.TruncFOp(target, value).result


def _to_integer(
    value: ir.Value, target: ir.Type, unsigned: bool, unsigned_result: bool
) -> ir.Value:
    source = value.type
    if is_float(source):
        if isinstance(target, ir.IndexType):
            wide = arith.FPToSIOp(ir.IntegerType.get_signless(64), value).result
            return arith.IndexCastOp(target, wide).result
        return (arith.FPToUIOp if unsigned_result else arith.FPToSIOp)(target, value).result
    if isinstance(source, ir.IndexType) or isinstance(target, ir.IndexType):
        return (arith.IndexCastUIOp if unsigned else arith.IndexCastOp)(target, value).result
    if ir.IntegerType(source).width < ir.IntegerType(target).width:
        return (arith.ExtUIOp if unsigned else arith.ExtSIOp)(target, value).result
    return arith.TruncIOp(target, value).result


def _not_zero(value: ir.Value) -> ir.Value:
    source = value.type
    if is_float(source):
        zero = float_constant(source, 0.0)
        return arith.CmpFOp(arith.CmpFPredicate.UNE, value, zero).result
    zero = integer_constant(source, 0)
    return arith.CmpIOp(arith.CmpIPredicate.ne, value, zero).result


def _to_complex(x: Scalar, target: ir.Type, unsigned: bool) -> ir.Value:
    part = ir.ComplexType(target).element_type
    real = x.value if x.value.type == part else _to_float(x.value, part, unsigned)
    zero = float_constant(part, 0.0)
    return complex.CreateOp(target, real, zero).result


def _from_complex(
    value: ir.Value, target: ir.Type, to_unsigned: bool, read_unsigned: bool
) -> ir.Value:
    """Part by part to another complex type, else the real part alone, as NumPy; i1 asks both."""
    if is_bool(target):
        parts = [_not_zero(op(value).result) for op in (complex.ReOp, complex.ImOp)]
        return arith.OrIOp(*parts).result
    if not is_complex(target):
        real = Scalar(complex.ReOp(value).result)
        return cast(real, target, to_unsigned=to_unsigned, read_unsigned=read_unsigned).value
    part = ir.ComplexType(target).element_type
    parts = [
        _to_float(op(value).result, part, unsigned=False) for op in (complex.ReOp, complex.ImOp)
    ]
    return complex.CreateOp(target, *parts).result


Emitter = Callable[..., "ir.Value | None"]


def emit_function(name: str, args: list[Scalar]) -> ir.Value | None:
    """The value of a function, built at the current insertion point; None if it has no meaning."""
    return _FUNCTIONS[name](*args)


def _is_number(element: ir.Type) -> bool:
    return is_integer(element) and not is_bool(element)


def _math(floating: str, complex_: str | None = None, integer: str | None = None) -> Emitter:
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
    all_ones = integer_constant(x.value.type, -1)
    return arith.XOrIOp(x.value, all_ones).result


def _reciprocal(x: Scalar) -> ir.Value | None:
    element = x.value.type
    if not (is_float(element) or is_complex(element)):
        return None
    divide = arith.DivFOp if is_float(element) else complex.DivOp
    return divide(number_constant(1, element), x.value).result


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


_OF_FLOATS = (
    *("ceil", "floor", "round", "erf", "erfc", "exp2", "cbrt", "trunc"),
    *("asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh"),
)
_OF_COMPLEX = ("exp", "log", "sqrt", "rsqrt", "tanh", "sin", "cos", "tan")
"""Functions of floats, and those of complex numbers too, whose ops are called as they are."""

_FUNCTIONS: dict[str, Emitter] = {
    **{name: _math(f"{name.title()}Op") for name in _OF_FLOATS},
    **{name: _math(*[f"{name.title()}Op"] * 2) for name in _OF_COMPLEX},
    "abs": _math("AbsFOp", "AbsOp", "AbsIOp"),
    "negf": _negate,
    "reciprocal": _reciprocal,
    "square": lambda x: None if is_bool(x.value.type) else _multiply(x, x),
    "expm1": _math("ExpM1Op", "Expm1Op"),
    "log2": _log("Log2Op", 1.4426950408889634),
    "log10": _log("Log10Op", 0.4342944819032518),
    "log1p": _math("Log1pOp", "Log1pOp"),
    "roundeven": _math("RoundEvenOp"),
    "conj": lambda x: complex.ConjOp(x.value).result if is_complex(x.value.type) else x.value,
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
    **{name: _compare(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "select": _select,
    "clamp": _clamp,
    "fma": _multiply_add,
}


@dataclass(frozen=True)
class PayloadScope:
    """The names that the body of an op refers to.

    Attributes:
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
            return Scalar(index(scope.sizes[symbol]))
        case Apply():
            return _emit_function(expr, scope)
        case _:
            raise TypeError(f"unknown scalar expression {type(expr).__name__}")


def _looked_up(expr: Lookup, scope: PayloadScope) -> ir.Value:
    """An element at computed indices, each moved to the nearest in range."""
    table, sizes = scope.tables[expr.operand]
    positions: list[ir.Value] = []
    for place, size in zip(expr.indices, sizes, strict=True):
        if isinstance(place, ScalarExpr):
            position = arith.IndexCastOp(ir.IndexType.get(), _emit(place, scope).value).result
            last = size - 1 if isinstance(size, int) else arith.SubIOp(size, index(1)).result
            position = arith.MinSIOp(position, index(last)).result
            positions.append(arith.MaxSIOp(position, index(0)).result)
        elif isinstance(place, AffineDim):
            positions.append(linalg.IndexOp(scope.definition.dims.index(place.name)).result)
        else:
            positions.append(index(int(str(place))))
    if isinstance(table.type, ir.MemRefType):
        return memref.LoadOp(table, positions).result
    return tensor.ExtractOp(table, positions).result


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
        return Scalar(index(arg.value))
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
    if any(arg.value.type != compared[0].value.type for arg in compared[1:]):
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


def build_generic(bound: BoundOp) -> ir.Operation:
    """Build the op at the current insertion point.

    Raises:
        DefinitionError: the definition is several ops, one after the other.
        DTypeError: a function has no meaning for the element type that it is applied to.
    """
    if (reason := why_several(bound.definition)) is not None:
        raise DefinitionError(
            f"{bound.definition.name} is not a single linalg.generic: {reason}",
            hint="call the op on the values: it is then built as several",
        )
    slots = [
        (operand, value if access is None else narrowed(bound, value, access), access, map)
        for operand, value, access, map in bound.slots()
    ]
    sizes = {
        expr.symbol: symbol_size(bound, expr.symbol)
        for expr in bound.definition.expressions()
        if isinstance(expr, Size)
    }
    looked_up = {lookup.operand for lookup in bound.definition.lookups}
    tables = {
        operand.name: Table(value, mixed_sizes(sizes_of(value)))
        for operand, value in zip(bound.definition.inputs, bound.inputs, strict=True)
        if operand.name in looked_up
    }
    inputs = [value for operand, value, _, _ in slots if operand.kind.is_input]
    generic = linalg.GenericOp(
        result_tensors=bound.result_types,
        inputs=inputs,
        outputs=list(bound.outputs),
        indexing_maps=maps_attribute([map for _, _, _, map in slots]),
        iterator_types=iterators_attribute(kind.value for kind in bound.iterator_types),
    )
    elements: dict[Access, ir.Value] = {}
    scalars: dict[str, ir.Value] = {}
    block = generic.regions[0].blocks.append(
        *(bound.types[str(operand.type_var)] for operand, _, _, _ in slots)
    )
    for (operand, _, access, _), argument in zip(slots, block.arguments, strict=True):
        if access is None:
            scalars[operand.name] = argument
        else:
            elements[access] = argument
    scope = PayloadScope(
        bound.definition,
        bound.types,
        bound.unsigned,
        bound.attributes.functions,
        elements,
        scalars,
        sizes,
        tables,
    )
    with whole_or_none(generic), ir.InsertionPoint(block):
        linalg.YieldOp(emit_assignments(scope))
    return generic.operation


def symbol_size(bound: BoundOp, symbol: str) -> ir.Value | int:
    """Return the size of a symbol: a number, or a value made at the current insertion point.

    Raises:
        ShapeError: no operand has the symbol as a size.
    """
    if symbol in bound.attributes.symbols:
        return bound.attributes.symbols[symbol]
    if symbol in bound.sizes:
        return bound.sizes[symbol]
    size = size_at(
        (value, axis)
        for operand, value, _, _ in bound.slots()
        for axis, expr in enumerate(operand.shape)
        if expr == AffineSymbol(symbol)
    )
    if size is None:
        sizes = symbol_sizes(bound.definition, shapes_of(bound), bound.attributes.symbols)
        solved = sizes.get(AffineSymbol(symbol))
        size = None if solved is None else mixed_size(solved)
    if size is None:
        raise ShapeError(
            f"{bound.definition.name}: size({symbol}) is not known: no operand is that long",
            hint=f"give an operand the size S.{symbol} by itself",
        )
    return size


def narrowed(bound: BoundOp, value: ir.Value, access: Access) -> ir.Value:
    """An operand, cut to the dimensions that index it where these end before it does.

    MLIR takes a dimension that indexes an operand by itself to be as long as that operand.
    """
    kind = ir.ShapedType(value.type)
    axes = [
        axis
        for axis, index in enumerate(access.indices)
        if isinstance(index, AffineDim)
        and (access.operand, axis, index.name) in narrowed_axes(bound.definition)
    ]
    if not axes:
        return value
    extents = infer_extents(bound.definition, shapes_of(bound), bound.attributes.symbols)
    sizes = sizes_of(value)
    narrowed_sizes = list(sizes)
    for axis in axes:
        narrowed_sizes[axis] = extents[str(access.indices[axis])]
    if tuple(narrowed_sizes) == sizes and kind.has_static_shape:
        return value
    rank = len(sizes)
    if isinstance(value.type, ir.RankedTensorType):
        return extract_slice(value, Tile((0,) * rank, tuple(narrowed_sizes), (1,) * rank))
    view: ir.Value = memref.subview(value, [0] * rank, mixed_sizes(narrowed_sizes), [1] * rank)
    return view


def shapes_of(bound: BoundOp) -> dict[str, tuple[Number, ...]]:
    """The sizes of the tensors and memrefs that an op is on, by operand."""
    return {o.name: sizes_of(value) for o, value in bound.pairs if o.kind.is_tensor}


def reaches_outside_memory(op: ir.Operation) -> bool:
    """Return whether the payload uses a buffer that is not an operand, and so is in no map."""
    memory = (ir.MemRefType, ir.UnrankedMemRefType)
    return op.name not in extension_ops.NAMES and any(
        isinstance(value.type, memory) for inner in ops_inside(op) for value in inner.operands
    )
