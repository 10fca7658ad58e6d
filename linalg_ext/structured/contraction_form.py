"""Contractions of any number of operands, found in an op's computation.

    C[c] += A[a] * B[b] * ...            and the same in every other semiring of einsum

An op is one by its definition, whatever it is called: the matmul family, `linalg.contract`, many a
generic, convolutions and quantized products. Its indices may be any: the reader of the form decides
whether they must be plain dimensions.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from linalg_ext.bindings import ir
from linalg_ext.definition.functions import BINARY, TYPE, UNARY, Function, FunctionKind
from linalg_ext.definition.model import Assignment, OpDefinition, OperandKind, Reduction
from linalg_ext.definition.scalar import (
    Access,
    Apply,
    ScalarExpr,
    ScalarOperand,
    constant_of,
    type_of,
)
from linalg_ext.definition.specialization import specialize
from linalg_ext.definition.types import TypeVar, is_integer_or_boolean, width
from linalg_ext.notations.einsum.definitions import KINDS, Semiring
from linalg_ext.structured.recognition import RecognizedOp
from linalg_ext.symbolic.affine import AffineDim, AffineExpr

AffineIndices = tuple[AffineExpr, ...]

_SQUARE = (UNARY["square"], BINARY["mul"])
"""The function that multiplies its argument by itself."""


@dataclass(frozen=True)
class Factor:
    """One of the operands that are multiplied.

    Attributes:
        operand: the input that it is read from.
        indices: how; none for a scalar.
        difference: where a scalar is subtracted first (a zero point), that difference, of the type
            of the result; None where the input is read as it is, or cast.
    """

    operand: str
    indices: AffineIndices
    difference: ScalarExpr | None = None


@dataclass(frozen=True)
class ContractionForm:
    """A contraction.

    Attributes:
        factors: the factors of the product, in order; an input may be there several times.
        output: the indices of the result.
        dims: the iteration space, outermost first.
        summed: the dimensions that are summed over.
        accumulates: whether it adds to the old elements of the destination.
        cast: how factors are cast to the type of the result.
    """

    kind: Semiring
    factors: tuple[Factor, ...]
    output: AffineIndices
    dims: tuple[str, ...]
    summed: tuple[str, ...]
    accumulates: bool
    cast: Function


class _NoContraction(Exception):
    """Why a definition is none; caught where it was asked."""


def find_contraction(definition: OpDefinition, types: Mapping[str, str]) -> ContractionForm | str:
    """A definition as a contraction, or why it is not one.

    Args:
        definition: an op at known element types, as `recognize` reads it.
        types: the element type of each type variable, as MLIR spells it.
    """
    try:
        return _form(definition, types)
    except _NoContraction as reason:
        return str(reason)


def _form(definition: OpDefinition, types: Mapping[str, str]) -> ContractionForm:
    if len(definition.outputs) != 1:
        raise _NoContraction(f"the op has {len(definition.outputs)} results")
    (assignment,) = definition.assignments
    target, value = assignment.target, assignment.value
    add, product = _accumulated(target, value)
    if add is None and definition.reduction_dims:
        raise _NoContraction("the op reduces by no function, or by several")
    kind, parts = _in_semiring(add, product)
    casts: list[tuple[Function, TypeVar]] = []
    factors = tuple(_factor(part, target.type_var, casts) for part in parts)
    written = {dim for index in target.indices for dim in index.dims}
    return ContractionForm(
        kind,
        factors,
        target.indices,
        definition.dims,
        tuple(dim for dim in definition.dims if dim not in written),
        add is not None,
        _common_cast(casts, target.type_var, types),
    )


def _accumulated(target: Access, value: ScalarExpr) -> tuple[Function | None, ScalarExpr]:
    """The function that accumulates into the target, and the value that is accumulated."""
    reads = sum(expr == target for expr in value.walk())
    if reads == 0:
        return None, value
    if isinstance(value, Apply) and value.attribute is None and target in value.args and reads == 1:
        (added,) = (arg for arg in value.args if arg != target)
        return value.function, added
    raise _NoContraction("the op reads its destination other than to add to it")


def _in_semiring(add: Function | None, product: ScalarExpr) -> tuple[Semiring, list[ScalarExpr]]:
    """The semiring of a sum of products, and the operands of the product."""
    fitting = [
        kind for kind in KINDS.values() if not kind.is_boolean and (add is None or kind.add == add)
    ]
    if add is None:
        fitting = [kind for kind in fitting if kind.name == "+*"]
    if not fitting:
        raise _NoContraction(f"{add} is the sum of no known semiring")
    split = [(kind, list(_operands(product, kind.multiply))) for kind in fitting]
    # The product of one operand does not matter: the first semiring always distributes.
    return next(((kind, parts) for kind, parts in split if len(parts) > 1), split[0])


def _operands(expr: ScalarExpr, multiply: Function) -> Iterator[ScalarExpr]:
    if isinstance(expr, Apply) and expr.function == multiply and expr.attribute is None:
        for arg in expr.args:
            yield from _operands(arg, multiply)
    elif isinstance(expr, Apply) and (expr.function, multiply) == _SQUARE:
        yield from _operands(expr.args[0], multiply)
        yield from _operands(expr.args[0], multiply)
    else:
        yield expr


def _factor(expr: ScalarExpr, result: TypeVar, casts: list[tuple[Function, TypeVar]]) -> Factor:
    """An operand of a product that is computed in the type of the result; its cast is added."""
    leaf, cast = _leaf(expr, result)
    if leaf is not None:
        if cast is not None:
            casts.append((cast, leaf.type_var))
        return Factor(leaf.operand, leaf.indices if isinstance(leaf, Access) else ())
    if isinstance(expr, Apply) and expr.function == BINARY["sub"] and expr.attribute is None:
        read, subtracted = (_leaf(arg, result)[0] for arg in expr.args)
        is_number = isinstance(subtracted, ScalarOperand) or constant_of(expr.args[1]) is not None
        if isinstance(read, Access) and is_number:
            return Factor(read.operand, read.indices, expr)
    raise _NoContraction(_why_no_factor(expr))


def _leaf(
    expr: ScalarExpr, result: TypeVar
) -> tuple[Access | ScalarOperand | None, Function | None]:
    cast = None
    if isinstance(expr, Apply) and expr.function.kind is FunctionKind.TYPE:
        if expr.attribute is not None or expr.type_var != result:
            return None, None
        cast, (expr,) = expr.function, expr.args
    if not isinstance(expr, (Access, ScalarOperand)):
        return None, None
    return (expr, cast) if cast is not None or expr.type_var == result else (None, None)


def _why_no_factor(expr: ScalarExpr) -> str:
    if isinstance(expr, Apply) and expr.function.kind is FunctionKind.TYPE:
        (inner,) = expr.args
        if type_of(inner) is not None and isinstance(inner, Apply):
            return f"the product is rounded midway: `{expr}` casts a value of another type"
    return f"`{expr}` is not an operand, nor one cast to the type of the result"


def _common_cast(
    casts: list[tuple[Function, TypeVar]], result: TypeVar, types: Mapping[str, str]
) -> Function:
    """The cast function that all casts of a contraction share."""
    target = types[result.name]
    functions = {function for function, source in casts if _reads_sign(types[source.name], target)}
    if len(functions) > 1:
        raise _NoContraction("some operands are cast as signed and some as unsigned integers")
    return functions.pop() if functions else TYPE["cast_signed"]


def _reads_sign(source: str, target: str) -> bool:
    """Return whether it matters to a cast if integers are signed."""
    if is_integer_or_boolean(source):
        narrows = is_integer_or_boolean(target) and width(target) < width(source)
        return target != "i1" and not narrows
    return is_integer_or_boolean(target) and target != "i1"


Indices = tuple[str, ...]


@dataclass(frozen=True)
class Contraction:
    """A sum of products of two operands.

    Attributes:
        a: the dimensions that the first operand is indexed by.
        b: those of the second one.
        c: those of the result.
        dims: the iteration space, outermost first.
        unsigned: whether integers are read as unsigned where they are cast.
    """

    a: Indices
    b: Indices
    c: Indices
    dims: tuple[str, ...]
    unsigned: bool

    @property
    def swapped(self) -> Contraction:
        """The same with its operands changed about: a product does not mind."""
        return replace(self, a=self.b, b=self.a)

    def canonical_indices(self) -> tuple[tuple[int, ...], ...]:
        """The dimensions of a, b and c, numbered as c, then a, then b name them."""
        numbers = {dim: i for i, dim in enumerate(dict.fromkeys((*self.c, *self.a, *self.b)))}
        return tuple(tuple(numbers[dim] for dim in dims) for dims in (self.a, self.b, self.c))

    @property
    def batch(self) -> Indices:
        """The dimensions that all three have, in the order of the result."""
        return tuple(dim for dim in self.c if dim in self.a and dim in self.b)

    @property
    def rows(self) -> Indices:
        """Those of the first operand and the result alone."""
        return tuple(dim for dim in self.c if dim in self.a and dim not in self.b)

    @property
    def columns(self) -> Indices:
        """Those of the second operand and the result alone."""
        return tuple(dim for dim in self.c if dim in self.b and dim not in self.a)

    @property
    def contracted(self) -> Indices:
        """Those of both operands that the result has not."""
        return tuple(dim for dim in self.a if dim in self.b and dim not in self.c)

    @property
    def lone(self) -> Indices:
        """Those that one of the three alone has: broadcast, or summed by themselves."""
        shared = {*self.batch, *self.rows, *self.columns, *self.contracted}
        return tuple(dim for dim in self.dims if dim not in shared)


def contraction_of(recognized: RecognizedOp) -> Contraction | None:
    """An op as a contraction of two operands; None if it is not one.

    The operands are cast to the type of the result before they are multiplied, as upstream's ops
    say it: a product of another type is none of these.
    """
    return _contraction(recognized.definition, tuple(recognized.types.items()))


@functools.lru_cache(maxsize=1024)
def _contraction(
    definition: OpDefinition, types: tuple[tuple[str, str], ...]
) -> Contraction | None:
    form = find_contraction(definition, dict(types))
    if isinstance(form, str) or form.kind.name != "+*" or not form.accumulates:
        return None
    if [factor.operand for factor in form.factors] != [o.name for o in definition.inputs]:
        return None
    if len(form.factors) != 2 or any(factor.difference is not None for factor in form.factors):
        return None
    if any(operand.kind is OperandKind.SCALAR for operand in definition.inputs):
        return None
    a, b, c = (plain_dims(i) for i in (*(f.indices for f in form.factors), form.output))
    if a is None or b is None or c is None:
        return None
    return Contraction(a, b, c, form.dims, form.cast.name == "cast_unsigned")


def rearranged(
    recognized: RecognizedOp,
    contraction: Contraction,
    inputs: tuple[ir.Value, ir.Value],
    output: ir.Value,
) -> RecognizedOp:
    """A contraction on other operands of the same sizes: the op to look for to build it.

    Args:
        contraction: how the operands are indexed now, by dimensions of that op.
        inputs: the operands, of the element types that they had.
    """
    types = tuple(recognized.types.items())
    definition = _rearranged(recognized.definition, contraction, types)
    return RecognizedOp(definition, inputs, (output,), recognized.types)


@functools.lru_cache(maxsize=1024)
def _rearranged(
    definition: OpDefinition, contraction: Contraction, types: tuple[tuple[str, str], ...]
) -> OpDefinition:
    indices_of_operands = (contraction.a, contraction.b, contraction.c)
    indices = {
        operand.name: tuple(map(AffineDim, dims))
        for operand, dims in zip(definition.arguments, indices_of_operands, strict=True)
    }
    cast = "cast_unsigned" if contraction.unsigned else "cast_signed"
    return specialize(_sum_of_products(definition, cast, indices), dict(types))


def plain_dims(indices: tuple[AffineExpr, ...]) -> Indices | None:
    """The dimensions that indices are, each used once; None where they are anything else."""
    names = tuple(index.name for index in indices if isinstance(index, AffineDim))
    if len(names) != len(indices) or len(set(names)) != len(names):
        return None
    return names


def _sum_of_products(
    definition: OpDefinition, cast: str, indices: Mapping[str, tuple[AffineExpr, ...]]
) -> OpDefinition:
    """The contraction with the operands of a definition, indexed as is said."""
    (output,) = definition.outputs
    elements = [
        Access(o.name, indices[o.name], o.type_var)
        for o in (*definition.inputs, output)
        if o.type_var is not None
    ]
    target = elements.pop()
    factors = (Apply(TYPE[cast], (element,), target.type_var) for element in elements)
    product = Apply(BINARY["mul"], tuple(factors))
    written = {dim for index in target.indices for dim in index.dims}
    summed = tuple(dim for dim in definition.dims if dim not in written)
    reduction = Reduction(BINARY["add"], summed)
    assignment = Assignment(target, Apply(BINARY["add"], (target, product)), reduction)
    return replace(
        definition,
        operands=tuple(replace(o, index_dims=None) for o in definition.operands),
        assignments=(assignment,),
    )
