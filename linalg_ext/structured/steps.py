"""Parts of a bound op: its steps, and tensors of an expression's values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from linalg_ext.bindings import ir
from linalg_ext.definition.model import (
    Assignment,
    OpDefinition,
    Operand,
    OperandKind,
    Reduction,
    part_of,
    symbols_read,
)
from linalg_ext.definition.scalar import Access, Apply, Lookup, ScalarExpr, ScalarOperand
from linalg_ext.definition.shapes import infer_extents, narrowed_axes
from linalg_ext.definition.types import TypeVar
from linalg_ext.errors import ShapeError
from linalg_ext.structured.operands import BoundOp, predefined_types, static_sizes
from linalg_ext.structured.outputs import empty_tensor, initial_tensor
from linalg_ext.structured.payload import build_generic, shapes_of, symbol_size
from linalg_ext.symbolic.affine import AffineDim, AffineSymbol
from linalg_ext.symbolic.integers import Number


def bound_step(bound: BoundOp, step: OpDefinition, values: Mapping[str, ir.Value]) -> BoundOp:
    """One step of a bound op, on the values that its operands have by then."""
    symbols, sizes = dict(bound.attributes.symbols), {}
    for symbol in sorted(symbols_read(step) - symbols.keys()):
        size = symbol_size(bound, symbol)
        if isinstance(size, int):
            symbols[symbol] = size
        else:
            sizes[symbol] = size
    values = {**values, **_ranges(bound, step, values)}
    return replace(
        bound,
        definition=step,
        inputs=tuple(values[o.name] for o in step.inputs),
        outputs=tuple(values[o.name] for o in step.outputs),
        attributes=replace(bound.attributes, symbols=symbols),
        sizes=sizes,
    )


def _ranges(
    bound: BoundOp, step: OpDefinition, values: Mapping[str, ir.Value]
) -> dict[str, ir.Value]:
    """Empty tensors as long as the dimensions of a step that none of its operands has."""
    missing = [operand for operand in step.inputs if operand.name not in values]
    if not missing:
        return {}
    extents = infer_extents(bound.definition, shapes_of(bound), bound.attributes.symbols)
    name: dict[str, ir.Value] = {}
    for operand in missing:
        (dim,) = operand.index_dims or ()
        if any(isinstance(value.type, ir.MemRefType) for value in bound.outputs):
            raise ShapeError(
                f"{bound.definition.name}: no operand of `{step.assignments[0]}` is as long as "
                f"dimension {dim}",
                hint="call it on tensors, or read an operand that has the dimension",
            )
        element = bound.types[str(operand.type_var)]
        name[operand.name] = empty_tensor([extents[str(dim)]], element)
    return name


def operand_values(bound: BoundOp) -> dict[str, ir.Value]:
    """The values of the operands, by name."""
    return {operand.name: value for operand, value in bound.pairs}


def computed(
    bound: BoundOp,
    dims: Mapping[str, Number],
    expr: ScalarExpr,
    type_var: TypeVar,
    reduction: Reduction | None = None,
) -> ir.Value:
    """Build a tensor of the values of a bound op's expression at each point of some dimensions.

    Args:
        dims: the dimensions of the tensor, and their sizes.
        expr: reads inputs of the op, and nothing else.
        reduction: by a function, of the expression over further dimensions.
    """
    values = operand_values(bound)
    if isinstance(expr, Access) and reduction is None and _is_whole(bound, expr, dims):
        return values[expr.operand]
    # No operand and no cast names the type of a comparison.
    bound = replace(bound, types={**predefined_types([str(type_var)]), **bound.types})
    read = {e.operand for e in expr.walk() if isinstance(e, (Access, Lookup, ScalarOperand))}
    target = Access("computed", tuple(map(AffineDim, dims)), type_var)
    shape = tuple(AffineSymbol(f"size of {dim}") for dim in dims)
    summed: tuple[str, ...] = ()
    if reduction is not None and reduction.function is not None:
        summed = reduction.dims
        expr = Apply(reduction.function, (target, expr))
    operands = [operand for operand in bound.definition.inputs if operand.name in read]
    operands += [Operand(target.operand, OperandKind.OUTPUT_TENSOR, type_var, shape)]
    assignment = Assignment(target, expr, reduction)
    part = part_of(bound.definition, operands, (*dims, *summed), [assignment])
    element = bound.types[str(type_var)]
    start = initial_tensor(part, target.operand, list(dims.values()), element, bound.attributes)
    return build_generic(bound_step(bound, part, {**values, target.operand: start})).results[0]


def _is_whole(bound: BoundOp, access: Access, dims: Mapping[str, Number]) -> bool:
    """Return whether an access reads all of a tensor, in the order of some dimensions."""
    if access.indices != tuple(map(AffineDim, dims)) or narrowed_axes(bound.definition):
        return False
    sizes = static_sizes(operand_values(bound)[access.operand])
    return sizes == [size if isinstance(size, int) else None for size in dims.values()]


def extents_of(bound: BoundOp, dims: Sequence[str]) -> dict[str, Number]:
    """The sizes of dimensions of a bound op."""
    extents = infer_extents(bound.definition, shapes_of(bound), bound.attributes.symbols)
    return {dim: extents[dim] for dim in dims}
