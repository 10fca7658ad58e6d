"""Definitions of the structured ops of our own dialect, from their kind and their maps."""

from __future__ import annotations

import string
from collections.abc import Collection, Sequence
from dataclasses import replace

from linalg_ext.definition.affine import AffineDim, AffineExpr, AffineMap, AffineSymbol
from linalg_ext.definition.functions import TYPE, Function
from linalg_ext.definition.model import Assignment, OpDefinition, Operand, OperandKind
from linalg_ext.definition.operand_maps import Indices
from linalg_ext.definition.scalar import Access, Apply, ScalarExpr, ScalarOperand
from linalg_ext.definition.types import TypeVar
from linalg_ext.errors import ArgumentError
from linalg_ext.notations.einsum.definitions import Semiring
from linalg_ext.notations.einsum.definitions import definition_of as definition_of_labels

_FOLDED = ("add", "mul", "max_signed", "min_signed", "max_unsigned", "min_unsigned")
"""Kinds that take any number of operands, combined from the left."""

LETTERS = string.ascii_lowercase[:25]
"""Names of the inputs, in order; the destination has the next letter."""

_RESULT = TypeVar("U")


def contract_definition(
    maps: Sequence[AffineMap],
    kind: Semiring,
    *,
    cast: Function = TYPE["cast_signed"],
    overwrite: bool = False,
    scalars: Collection[int] = (),
) -> OpDefinition:
    """Return the definition of a contract.

    Args:
        maps: one for each operand, the destination last.
        kind: the semiring.
        cast: the function that converts the inputs to the element type of the result.
        overwrite: True where the old value of the destination is ignored; a reduction adds to it
            nonetheless.
        scalars: positions of inputs that are no tensors.
    Raises:
        ArgumentError: a map is no list of dimensions.
    """
    labels = [_labels(maps, position) for position in range(len(maps))]
    definition = definition_of_labels(
        labels[:-1], labels[-1], kind=kind, name="contract", dims=_dims(maps[0])
    )
    (assignment,) = definition.assignments
    value = assignment.value
    if assignment.reduction is None and not overwrite:
        value = Apply(kind.add, (assignment.target, value))
    definition = replace(definition, assignments=(replace(assignment, value=_recast(value, cast)),))
    return _with_scalars(definition, {definition.inputs[position].name for position in scalars})


def elementwise_definition(
    maps: Sequence[AffineMap],
    function: Function,
    *,
    cast: Function = TYPE["cast_signed"],
    scalars: Collection[int] = (),
) -> OpDefinition:
    """Return the definition of an elementwise op.

    Args:
        maps: one for each operand, the destination last.
        function: the function of the inputs; all of them but the condition of `select` are cast.
        cast: the function that converts the inputs to the element type of the result.
        scalars: positions of inputs that are no tensors.

    Raises:
        ArgumentError: the function does not take this number of operands, or the map of the
            destination lacks a dimension.
    """
    arity, count = function.kind.arity, len(maps) - 1
    if count != arity and not (function.name in _FOLDED and count > arity):
        more = " or more" if function.name in _FOLDED else ""
        raise ArgumentError(
            f"kind {function.name} is applied to {count} operand(s)", expected=f"{arity}{more}"
        )
    dims = _dims(maps[-1])
    written = {dim for index in _renamed(maps[-1], dims) for dim in index.dims}
    if missing := [dim for dim in dims if dim not in written]:
        raise ArgumentError(
            f"the map of the destination, {maps[-1]}, lacks dimension {missing[0]}, and an "
            "element-wise op combines no values along it",
            hint="reduce with linalg_ext.contract, or linalg.reduce",
        )
    names = [letter.upper() for letter in LETTERS[:count]]
    operands: list[Operand] = []
    leaves: list[ScalarExpr] = []
    for position, (name, map) in enumerate(zip(names, maps, strict=False)):
        type_var = TypeVar(f"T{position + 1}")
        if position in scalars:
            leaves.append(ScalarOperand(name, type_var))
            operands.append(Operand(name, OperandKind.SCALAR, type_var))
            continue
        indices = _renamed(map, dims)
        leaves.append(Access(name, indices, type_var))
        operands.append(Operand(name, OperandKind.INPUT_TENSOR, type_var, _shape(indices)))
    target = Access("O", _renamed(maps[-1], dims), _RESULT)
    operands.append(Operand("O", OperandKind.OUTPUT_TENSOR, _RESULT, _shape(target.indices)))
    terms: list[ScalarExpr] = [Apply(cast, (leaf,), _RESULT) for leaf in leaves]
    if function.name == "select":
        terms[0] = leaves[0]
    value: ScalarExpr = Apply(function, tuple(terms[:arity]))
    for term in terms[arity:]:
        value = Apply(function, (value, term))
    return OpDefinition(
        name="elementwise",
        cpp_class_name="ElementwiseOp",
        doc="",
        operands=tuple(operands),
        dims=dims,
        assignments=(Assignment(target, value),),
    )


def _with_scalars(definition: OpDefinition, names: set[str]) -> OpDefinition:
    """The definition with operands of rank 0 that are given as scalars."""

    def plain(expr: ScalarExpr) -> ScalarExpr:
        if isinstance(expr, Access) and expr.operand in names:
            return ScalarOperand(expr.operand, expr.type_var)
        if isinstance(expr, Apply):
            return replace(expr, args=tuple(plain(arg) for arg in expr.args))
        return expr

    if not names:
        return definition
    return replace(
        definition,
        operands=tuple(
            replace(o, kind=OperandKind.SCALAR) if o.name in names else o
            for o in definition.operands
        ),
        assignments=tuple(replace(a, value=plain(a.value)) for a in definition.assignments),
    )


def _recast(expr: ScalarExpr, cast: Function) -> ScalarExpr:
    if not isinstance(expr, Apply):
        return expr
    args = tuple(_recast(arg, cast) for arg in expr.args)
    return replace(expr, args=args, function=cast if expr.type_var is not None else expr.function)


def _shape(indices: Indices) -> Indices:
    return tuple(AffineSymbol(f"size_{index}") for index in indices)


def _dims(map: AffineMap) -> tuple[str, ...]:
    return tuple(f"d{position}" for position in range(len(map.dims)))


def _renamed(map: AffineMap, dims: Sequence[str]) -> Indices:
    names: dict[AffineExpr, AffineExpr | int] = {
        AffineDim(old): AffineDim(new) for old, new in zip(map.dims, dims, strict=True)
    }
    return tuple(result.substitute(names) for result in map.results)


def _labels(maps: Sequence[AffineMap], position: int) -> list[str]:
    map, is_destination = maps[position], position == len(maps) - 1
    subject = "the destination" if is_destination else f"operand {LETTERS[position]}"
    labels = []
    for index in _renamed(map, _dims(map)):
        if not isinstance(index, AffineDim):
            raise ArgumentError(
                f"the map of {subject}, {map}, has the index {index}", expected="plain dimensions"
            )
        labels.append(index.name)
    if is_destination and len(set(labels)) != len(labels):
        raise ArgumentError(f"the map of {subject}, {map}, has a dimension twice")
    return labels
