"""Structured ops of the dialect `linalg_ext`: contract, elementwise; and the spelled op."""

# No `from __future__ import annotations`: the bindings read the annotations of these classes.

from collections.abc import Sequence
from typing import Any, TypeAlias

from linalg_ext.bindings import ext, ir
from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.functions import BINARY, TERNARY, UNARY, Function
from linalg_ext.dialects.linalg_ext.dialect import LinalgExt, Outs, is_verified, listed
from linalg_ext.dialects.linalg_ext.structured_rules import check_extension_op
from linalg_ext.errors import ArgumentError, ArityError, LinalgExtError
from linalg_ext.ir.context import ensure_dialects
from linalg_ext.notations.affine_text import affine_map
from linalg_ext.notations.einsum.definitions import Semiring, semiring
from linalg_ext.notations.einsum.subscripts import parse as parse_einsum
from linalg_ext.structured.extension import (
    CAST,
    COMPUTE_TYPE,
    KIND,
    LETTERS,
    MAPS,
    OVERWRITE,
    contract_definition,
    elementwise_definition,
    scalar_positions,
)
from linalg_ext.structured.maps import maps_attribute
from linalg_ext.structured.operands import as_values
from linalg_ext.structured.outputs import make_outputs
from linalg_ext.symbolic.affine import AffineDim, AffineMap

_Map: TypeAlias = "AffineMap | ir.AffineMap | ir.AffineMapAttr | str"
Maps: TypeAlias = "str | Sequence[_Map]"
"""An einsum string, `"ij,jk->ik"`, or a map for each operand, the destination last."""


class _StructuredOp(LinalgExt.Operation, traits=[ext.Pure]):
    """Inputs `a`, `b`, ... and a destination.

    Each input is an optional operand of its own, counted by `operandSegmentSizes`: those of one
    variadic operand would all have to be of one type.
    """

    __annotations__ = dict.fromkeys(LETTERS, ext.Operand[Any] | None)
    vars().update(dict.fromkeys(LETTERS))
    __annotations__.update({"init": ext.Operand[Any], "result": ext.Result[Any]})
    init = ext.operand(kw_only=True)
    result = ext.result(kw_only=True)

    def verify_invariants(self) -> bool:
        """Return whether the op keeps its rules."""
        return is_verified(self, check_extension_op)


class ContractOp(_StructuredOp, name="contract"):
    """An n-ary contraction in a semiring: `init[...] += a[...] * b[...] * c[...]`."""


class ElementwiseOp(_StructuredOp, name="elementwise"):
    """A function at every element, its inputs cast to the type of the result."""


class SpelledOp(LinalgExt.Operation, name="spelled"):
    """A structured op in a spelling that MLIR's parser does not know, on its way to its meaning.

    It lives between the parser and `dialects.asm`, which knows by its `number` how it was written,
    and in a module that is printed that way; no transformation ever sees one.
    """

    __annotations__ = {
        **dict.fromkeys(LETTERS, ext.Operand[Any] | None),
        "init": ext.Operand[Any],
        "result": ext.Result[Any] | None,
    }
    vars().update(dict.fromkeys(LETTERS))
    init = ext.operand(kw_only=True)
    result = ext.result(kw_only=True, default_factory=None)


def contract(
    *inputs: ir.Value | ir.OpView,
    outs: Outs | None = None,
    maps: Maps,
    kind: str | Semiring = "+*",
    overwrite: bool = False,
    cast: str = "cast_signed",
    compute_type: ir.Type | str | None = None,
) -> ir.Value:
    """Build `linalg_ext.contract` at the current insertion point.

        >>> contract(a, b, c, maps="ij,jk,kl->il")

    Args:
        inputs: tensors or scalars, 25 at most.
        outs: the destination, which the sum is added to; where it is left out, a new tensor.
        maps: an einsum string, or a map for each operand, the destination last: lists of
            dimensions, which may be left out, permuted and, but for the destination, repeated.
        kind: the semiring, as of `lx.einsum`.
        overwrite: ignore the old elements of the destination.
        cast: how inputs are cast to the type of the result: `"cast_signed"` or `"cast_unsigned"`.
        compute_type: the type to compute in, where it is not that of the result.

    Raises:
        ArgumentError: operands and maps do not fit together; names them.
    """
    values = as_values("contract", inputs)
    semiring_ = semiring(kind)
    parsed = _maps(maps, len(values) + 1)
    scalars = scalar_positions(values)
    if outs is None:
        definition = contract_definition(parsed, semiring_, overwrite=True, scalars=scalars)
        overwrite = not definition.reduction_dims
        (destination,) = make_outputs(definition, values, CallAttributes())
    else:
        (destination,) = as_values("contract", listed(outs))
    attributes: dict[str, ir.Attribute] = {KIND: ir.StringAttr.get(semiring_.name)}
    if overwrite:
        attributes[OVERWRITE] = ir.UnitAttr.get()
    return _build(ContractOp, values, destination, parsed, attributes, cast, compute_type)


def elementwise(
    kind: str | Function,
    *inputs: ir.Value | ir.OpView,
    outs: Outs | None = None,
    maps: Maps,
    cast: str = "cast_signed",
    compute_type: ir.Type | str | None = None,
) -> ir.Value:
    """Build `linalg_ext.elementwise` at the current insertion point.

        >>> elementwise("add", x, y, maps="i,ij->ij")

    Args:
        kind: a function of `UnaryFn`, `BinaryFn` or `TernaryFn`; sums, products, greatest and least
            take any number of operands.
        inputs: tensors or scalars, 25 at most.
        outs: the destination; where it is left out, a new tensor.
        maps, cast, compute_type: as of `contract`.

    Raises:
        ArgumentError: operands and maps do not fit together; names them.
    """
    values = as_values("elementwise", inputs)
    name = kind if isinstance(kind, str) else kind.name
    function = UNARY.get(name) or BINARY.get(name) or TERNARY.get(name)
    if function is None:
        raise ArgumentError(f"elementwise has no kind {name!r}")
    parsed = _maps(maps, len(values) + 1)
    if outs is None:
        scalars = scalar_positions(values)
        definition = elementwise_definition(parsed, function, scalars=scalars)
        (destination,) = make_outputs(definition, values, CallAttributes())
    else:
        (destination,) = as_values("elementwise", listed(outs))
    attributes = {KIND: ir.Attribute.parse(f"#linalg.elementwise_kind<{name}>")}
    return _build(ElementwiseOp, values, destination, parsed, attributes, cast, compute_type)


def _build(
    op: type[ContractOp | ElementwiseOp],
    inputs: Sequence[ir.Value],
    destination: ir.Value,
    maps: Sequence[AffineMap],
    attributes: dict[str, ir.Attribute],
    cast: str,
    compute_type: ir.Type | str | None,
) -> ir.Value:
    if not 1 <= len(inputs) <= len(LETTERS):
        raise ArityError(
            f"{op.OPERATION_NAME} of {len(inputs)} inputs", expected=f"1 to {len(LETTERS)}"
        )
    ensure_dialects(destination.context)
    built = op(
        **dict(zip(LETTERS, inputs, strict=False)), init=destination, result=destination.type
    ).operation
    attributes[MAPS] = maps_attribute(maps)
    if cast != "cast_signed":
        attributes[CAST] = ir.Attribute.parse(f"#linalg.type_fn<{cast}>")
    if compute_type is not None:
        type_ = ir.Type.parse(compute_type) if isinstance(compute_type, str) else compute_type
        attributes[COMPUTE_TYPE] = ir.TypeAttr.get(type_)
    for name, attribute in attributes.items():
        built.attributes[name] = attribute
    try:
        check_extension_op(built)
    except LinalgExtError:
        built.erase()
        raise
    result: ir.Value = built.results[0]
    return result


def _maps(maps: Maps, count: int) -> list[AffineMap]:
    if isinstance(maps, str):
        return _maps_of_einsum(maps, count)
    parsed = [affine_map(map) for map in maps]
    if len(parsed) != count:
        raise ArityError(
            f"{len(parsed)} maps are given for {count} operands",
            expected="one for each, the destination last",
        )
    return parsed


def _maps_of_einsum(text: str, count: int) -> list[AffineMap]:
    subscripts = parse_einsum(text)
    terms = [*subscripts.inputs, subscripts.output]
    if len(terms) != count:
        raise ArityError(f"'{text}' has {len(terms) - 1} terms for {count - 1} operands")
    for term in terms:
        if term.has_ellipsis:
            subscripts.refuse("an op has no ellipsis: its rank is fixed", term.column)
    labels = [label for term in (terms[-1], *terms[:-1]) for label in term.labels]
    dims = tuple(dict.fromkeys(labels))
    return [AffineMap(dims, (), tuple(map(AffineDim, term.labels))) for term in terms]
