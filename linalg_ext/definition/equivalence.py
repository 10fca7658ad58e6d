"""When two definitions are the same operation.

A definition has a canonical form. Its names follow from positions, the order of its iteration space
from the operands, and its sizes from the indices; the operands of commutative functions are in a
fixed order. Two definitions with equal canonical forms compute the same values. The
other way round it is a matter of form: `x - y` and `x + -y` are not found equal.

The order of the iteration space is not looked at: it says in which order a loop nest may run, and a
reduction over floats may be done in any. Nor are names, documentation and interfaces, nor the
default start of a fold. The order of the operands is: it is how the op is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from linalg_ext.definition.functions import BINARY, REDUCTIONS, TERNARY, UNARY
from linalg_ext.definition.model import (
    Assignment,
    OpDefinition,
    Operand,
    Reduction,
    accumulation,
    runs_with,
    symbols_read,
)
from linalg_ext.definition.renaming import Renaming, with_indices, with_values
from linalg_ext.definition.scalar import Access, Apply, Const, Index, ScalarExpr, constant_of
from linalg_ext.definition.types import PREDEFINED
from linalg_ext.symbolic.affine import (
    AffineBinary,
    AffineConst,
    AffineDim,
    AffineExpr,
    AffineKind,
    AffineSymbol,
    addends,
)


def canonical(definition: OpDefinition) -> OpDefinition:
    """The canonical form: equal, and of equal hash, for definitions of the same operation."""
    dims = by_appearance(definition)
    operands = {operand.name: f"p{i}" for i, operand in enumerate(definition.operands)}
    type_vars = [t.name for t in definition.type_vars if t.name not in PREDEFINED]
    bound = _bound_symbols(definition)
    free = [symbol for symbol in definition.symbols if symbol not in bound]
    renaming = Renaming(
        dims={dim: f"d{i}" for i, dim in enumerate(dims)},
        symbols={
            **{name: AffineSymbol(f"s{i}") for i, name in enumerate(bound)},
            **{name: AffineSymbol(f"free{i}") for i, name in enumerate(free)},
        },
        type_vars={name: f"T{i}" for i, name in enumerate(type_vars)},
        operands=operands,
    )
    named = replace(
        renaming.definition(definition),
        name="",
        cpp_class_name="",
        doc="",
        dims=tuple(f"d{i}" for i in range(len(dims))),
        implements=(),
        defines=(),
    )
    named = replace(
        named, operands=tuple(_with_shape_of_indices(named, operand) for operand in named.operands)
    )
    named = with_values(with_indices(named, _with_sorted_sums), _simplified)
    return _in_order(replace(named, assignments=tuple(_reductions_found(named))))


def equivalent(first: OpDefinition, second: OpDefinition) -> bool:
    """Return whether two definitions have the same canonical form."""
    return canonical(first) == canonical(second)


def _in_order(definition: OpDefinition) -> OpDefinition:
    """Sort the dimensions of reductions into the order of the iteration space, and drop repetition.

    An operand that is read needs no `index_dims`: its accesses state its indices already.
    """
    read = {
        expr.operand
        for a in definition.assignments
        for expr in (a.target, *a.value.walk())
        if isinstance(expr, Access)
    }
    operands = tuple(
        replace(o, index_dims=None) if o.name in read else o for o in definition.operands
    )
    assignments = []
    for assignment in definition.assignments:
        reduction = _reduction(assignment, definition.assignments)
        if reduction is not None:
            dims = sorted(reduction.dims, key=definition.dims.index)
            reduction = replace(reduction, dims=tuple(dims))
        assignments.append(replace(assignment, reduction=reduction))
    return replace(definition, operands=operands, assignments=tuple(assignments))


def _reduction(assignment: Assignment, assignments: Sequence[Assignment]) -> Reduction | None:
    """The reduction that a lone fold is equivalent to; other reductions stay as they are."""
    reduction = assignment.reduction
    if reduction is None or reduction.function is not None or runs_with(assignment, assignments):
        return reduction
    accumulated = accumulation(assignment.target, assignment.value, reduction.dims)
    return accumulated if accumulated and accumulated.function == reduction.initial else reduction


def by_appearance(definition: OpDefinition) -> list[str]:
    """The dimensions in the order in which outputs, then inputs are indexed by them."""
    exprs: list[AffineExpr] = []
    for operand in (*definition.outputs, *definition.inputs):
        for indices in definition.accesses.get(operand.name, ()):
            exprs += indices
    used = [dim for expr in exprs for dim in expr.dims]
    return list(dict.fromkeys([*used, *definition.dims]))


def _bound_symbols(definition: OpDefinition) -> list[str]:
    """Symbols that some index uses, in order; the remaining symbols only name sizes."""
    used = symbols_read(definition)
    attributes = {s for o in definition.attributes for expr in o.shape for s in expr.symbols}
    return [symbol for symbol in definition.symbols if symbol in used | attributes]


def _with_shape_of_indices(definition: OpDefinition, operand: Operand) -> Operand:
    """Name a size that no index uses after the dimension that runs over it."""
    if not operand.kind.is_tensor:
        return operand
    bound = {AffineSymbol(name) for name in _bound_symbols(definition)}
    sizes: dict[AffineExpr, AffineExpr | int] = {
        AffineDim(dim): AffineSymbol(f"size_{dim}") for dim in definition.dims
    }
    if not definition.accesses[operand.name]:
        return operand  # it is only looked up
    derived = tuple(expr.substitute(sizes) for expr in definition.accesses[operand.name][0])
    if len(derived) != operand.rank:
        return replace(operand, shape=derived)
    return replace(
        operand,
        shape=tuple(
            written if written in bound else size
            for written, size in zip(operand.shape, derived, strict=True)
        ),
    )


def _with_sorted_sums(expr: AffineExpr) -> AffineExpr:
    """`N - 1 - i` and `N - i - 1` are one index: terms in the order of their text."""
    if not isinstance(expr, AffineBinary):
        return expr
    if expr.kind is not AffineKind.ADD:
        lhs, rhs = _with_sorted_sums(expr.lhs), _with_sorted_sums(expr.rhs)
        return AffineBinary(expr.kind, lhs, rhs)
    return sum(sorted(map(_with_sorted_sums, addends(expr)), key=str), start=AffineConst(0))


def _reductions_found(definition: OpDefinition) -> Iterable[Assignment]:
    positions = {output.name: position for position, output in enumerate(definition.outputs)}
    for step in definition.steps:
        for assignment in sorted(step.assignments, key=lambda a: positions[a.target.operand]):
            reduction = assignment.reduction
            dims = reduction.dims if reduction else ()
            if runs_with(assignment, step.assignments):
                reduction = Reduction(None, dims)
            elif reduction is None or reduction.function is None:
                accumulated = accumulation(assignment.target, assignment.value, dims)
                reduction = accumulated or (Reduction(None, dims) if dims else None)
            yield replace(assignment, reduction=reduction)


def _simplified(expr: ScalarExpr) -> ScalarExpr:
    """One step of simplification; the parts of the expression are simple already."""
    if not isinstance(expr, Apply) or expr.attribute is not None:
        return expr
    if expr.function == BINARY["mul"] and expr.args[0] == expr.args[1]:
        return Apply(UNARY["square"], expr.args[:1])
    if expr.function in REDUCTIONS:
        return replace(expr, args=tuple(sorted(expr.args, key=repr)))
    if expr.function == TERNARY["select"]:
        return replace(expr, args=(_condition_value(expr.args[0]), *expr.args[1:]))
    if expr.type_var is not None:
        return _simplified_cast(expr)
    return expr


def _condition_value(condition: ScalarExpr) -> ScalarExpr:
    """Return x for the condition `x != 0`: a `select` takes any number for a condition."""
    if not isinstance(condition, Apply) or condition.function != BINARY["ne"]:
        return condition
    value, other = condition.args
    return value if constant_of(other) == 0 else condition


def _simplified_cast(expr: Apply) -> ScalarExpr:
    (inner,) = expr.args
    if (
        not isinstance(inner, Apply)
        or inner.type_var is None
        or inner.function.name != "cast_signed"
    ):
        return expr
    (innermost,) = inner.args
    exact = isinstance(innermost, Index) or (
        isinstance(innermost, Const) and isinstance(innermost.value, int)
    )
    # Positions and constants are 64-bit integers already.
    return replace(expr, args=(innermost,)) if exact and inner.type_var.name == "I64" else expr
