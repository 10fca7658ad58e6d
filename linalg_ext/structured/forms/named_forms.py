"""Upstream's named ops, found by what a structured op computes.

The op library says what each of upstream's ops is. Here it is read the other way round: a table
from the canonical form of a definition, at given element types and ranks, to the op that has it.
Strides and dilations are read off the indices, and the ops are compared with those numbers in their
place. So nothing is taken for a named op because it looks like one: whatever is found has the same
canonical form, and `named.build_named` compares upstream's own maps and body once more.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from linalg_ext import opdsl_defs
from linalg_ext.bindings import ir, linalg
from linalg_ext.definition.affine import AffineDim, AffineExpr, AffineSymbol
from linalg_ext.definition.attributes import CallAttributes, resolve_attributes
from linalg_ext.definition.equivalence import by_appearance
from linalg_ext.definition.model import OpDefinition, Operand, OperandKind
from linalg_ext.definition.specialization import at_rank, specialize
from linalg_ext.definition.types import PREDEFINED_ELEMENTS
from linalg_ext.errors import ArgumentError, ShapeError
from linalg_ext.opdsl import StructuredOp
from linalg_ext.structured.forms.named import build_named
from linalg_ext.structured.recognition import RecognizedOp
from linalg_ext.structured.utils.operands import bind

_CASTS = ("cast_signed", "cast_unsigned")
_MOST_PERMUTED = 3
"""Inputs that are tried in every order; an op of more is looked up in its own order alone."""


@dataclass(frozen=True)
class NamedForm:
    """One of upstream's named ops that computes what another op computes.

    Attributes:
        definition: what the op library says of it.
        attributes: its strides, dilations and cast.
        order: for each of its inputs, which input of the other op it is.
    """

    definition: OpDefinition
    attributes: CallAttributes
    order: tuple[int, ...]

    @property
    def op_name(self) -> str:
        """`linalg.matmul`."""
        return f"linalg.{self.definition.name}"


def named_forms(recognized: RecognizedOp) -> tuple[NamedForm, ...]:
    """The named ops that compute the same, the usual one first.

    There are several where element types make two ops one: on booleans a sum is a maximum. The
    inputs may come in another order: `b - a` is `linalg.sub` of b and a.
    """
    return _named_forms(recognized.definition, tuple(recognized.types.items()))


def build_named_form(
    recognized: RecognizedOp, forms: Iterable[NamedForm] | None = None
) -> ir.Operation | None:
    """Build the named op that computes the same, at the current insertion point.

    Args:
        recognized: the op that it is built for.
        forms: those to choose from; all of them if not given.

    Returns:
        The op; None where upstream has none.
    """
    if not recognized.is_uniform:
        return None
    for form in named_forms(recognized) if forms is None else forms:
        inputs = [recognized.inputs[position] for position in form.order]
        try:
            bound = bind(form.definition, inputs, recognized.outputs, form.attributes)
        except ShapeError:
            continue  # a generic may have sizes that the library's own ops refuse
        built = build_named(bound)
        if built is not None:
            return built
    return None


@functools.lru_cache(maxsize=4096)
def _named_forms(
    definition: OpDefinition, types: tuple[tuple[str, str], ...]
) -> tuple[NamedForm, ...]:
    count = len(definition.inputs)
    orders = [tuple(range(count))]
    if count <= _MOST_PERMUTED:
        orders = list(itertools.permutations(range(count)))
    for order in orders:
        found = tuple(_in_order(definition, dict(types), order))
        if found:
            return found
    return ()


def _in_order(
    definition: OpDefinition, types: Mapping[str, str], order: tuple[int, ...]
) -> Iterator[NamedForm]:
    inputs = tuple(definition.inputs[position] for position in order)
    # Type variables are numbered by the operands: in another order they are others.
    ordered = specialize(replace(definition, operands=(*inputs, *definition.outputs)), types)
    elements = {
        str(new.type_var): types[str(old.type_var)]
        for old, new in zip((*inputs, *definition.outputs), ordered.operands, strict=True)
    }
    signature = _signature(ordered, elements)
    wanted = ordered.canonical()
    for candidate, attributes in _table(signature).get(wanted, ()):
        yield NamedForm(candidate, attributes, order)
    for candidate, of_candidate in _with_indices(signature):
        call = _attributes_read_off(candidate, ordered)
        if call is None:
            continue
        if specialize(candidate, dict(of_candidate), call).canonical() == wanted:
            yield NamedForm(candidate, call, order)


@dataclass(frozen=True)
class _Signature:
    """The key of an op for a first comparison, without its body: kinds, ranks, element types."""

    inputs: tuple[tuple[bool, int, str], ...]
    outputs: tuple[tuple[bool, int, str], ...]
    dims: int


def _signature(definition: OpDefinition, types: Mapping[str, str]) -> _Signature:
    def of(operands: Sequence[Operand]) -> tuple[tuple[bool, int, str], ...]:
        return tuple(
            (o.kind is OperandKind.SCALAR, o.rank, types[str(o.type_var)]) for o in operands
        )

    return _Signature(of(definition.inputs), of(definition.outputs), len(definition.dims))


@functools.cache
def _upstream_definitions() -> tuple[OpDefinition, ...]:
    """Return the op library's definitions of the ops that upstream has, the unsigned ones last."""
    known = {getattr(each, "OPERATION_NAME", None) for each in vars(linalg).values()}
    # Families in which upstream has no op need not be loaded.
    ops = (getattr(opdsl_defs, name) for name in dir(opdsl_defs) if f"linalg.{name}" in known)
    found = [op.definition for op in ops if isinstance(op, StructuredOp) and _is_upstream(op)]
    # On floats an op and its unsigned twin are the same; the usual name is that without.
    return tuple(sorted(found, key=lambda definition: "unsigned" in definition.name))


def _is_upstream(op: StructuredOp) -> bool:
    op_class = getattr(linalg, op.definition.cpp_class_name, None)
    return getattr(op_class, "OPERATION_NAME", None) == f"linalg.{op.definition.name}"


def _candidates(signature: _Signature) -> Iterator[tuple[OpDefinition, dict[str, str]]]:
    """The ops of a signature, at its rank, with the element type of each type variable."""
    elements = [element for _, _, element in (*signature.inputs, *signature.outputs)]
    for definition in _upstream_definitions():
        if (len(definition.inputs), len(definition.outputs)) != (
            len(signature.inputs),
            len(signature.outputs),
        ):
            continue
        ranked = at_rank(definition, signature.outputs[0][1])
        kinds = [
            (operand.kind is OperandKind.SCALAR, operand.rank)
            for operand in (*ranked.inputs, *ranked.outputs)
        ]
        if len(ranked.dims) != signature.dims or kinds != [
            (scalar, rank) for scalar, rank, _ in (*signature.inputs, *signature.outputs)
        ]:
            continue
        types = dict(PREDEFINED_ELEMENTS)
        variables = [str(operand.type_var) for operand in (*ranked.inputs, *ranked.outputs)]
        if all(
            types.setdefault(variable, element) == element
            for variable, element in zip(variables, elements, strict=True)
        ):
            yield definition, types


def _calls(definition: OpDefinition) -> Iterator[CallAttributes]:
    """The calls of an op without index attributes: each way to cast, where it has that choice."""
    casts = [o.name for o in definition.attributes if o.kind is OperandKind.TYPE_FN_ATTR]
    for functions in itertools.product(_CASTS, repeat=len(casts)):
        yield resolve_attributes(definition, dict(zip(casts, functions, strict=True)))


@functools.cache
def _table(
    signature: _Signature,
) -> Mapping[OpDefinition, Sequence[tuple[OpDefinition, CallAttributes]]]:
    """The ops of a signature that have no index attributes, by their canonical forms."""
    table: dict[OpDefinition, list[tuple[OpDefinition, CallAttributes]]] = {}
    for definition, types in _candidates(signature):
        if not _index_attributes(definition):
            ranked = at_rank(definition, signature.outputs[0][1])
            for attributes in _calls(definition):
                form = specialize(ranked, types, attributes).canonical()
                table.setdefault(form, []).append((definition, attributes))
    return table


@functools.cache
def _with_indices(
    signature: _Signature,
) -> tuple[tuple[OpDefinition, tuple[tuple[str, str], ...]], ...]:
    """The ops of a signature that have strides or dilations, with their element types."""
    return tuple(
        (definition, tuple(types.items()))
        for definition, types in _candidates(signature)
        if _index_attributes(definition)
    )


def _index_attributes(definition: OpDefinition) -> list[str]:
    return [o.name for o in definition.attributes if o.kind is OperandKind.INDEX_ATTR]


def _attributes_read_off(candidate: OpDefinition, op: OpDefinition) -> CallAttributes | None:
    """The strides and dilations with which a candidate may be an op; None where it cannot be."""
    dims = dict(zip(by_appearance(candidate), by_appearance(op), strict=True))
    unit: dict[str, int] = {
        symbol: 1
        for operand in candidate.attributes
        for expr in operand.shape
        for symbol in expr.symbols
    }
    found = dict(unit)
    pairs = zip((*candidate.inputs, *candidate.outputs), (*op.inputs, *op.outputs), strict=True)
    for theirs, ours in pairs:
        if not theirs.kind.is_tensor:
            continue
        indices = zip(candidate.accesses[theirs.name][0], op.accesses[ours.name][0], strict=True)
        for index, other in indices:
            for symbol, dim in itertools.product(index.symbols, index.dims):
                if symbol not in unit:
                    return None
                doubled = _factor(index, dim, {**unit, symbol: 2})
                if doubled != _factor(index, dim, unit):
                    found[symbol] = _factor(other, dims[dim], {})
    given = {
        operand.name: [found[str(expr)] for expr in operand.shape]
        for operand in candidate.attributes
        if operand.kind is OperandKind.INDEX_ATTR
    }
    try:
        return resolve_attributes(candidate, given)
    except ArgumentError:
        return None  # the index does not move with the dimension


def _factor(index: AffineExpr, dim: str, symbols: Mapping[str, int]) -> int:
    """By how much an index grows with a dimension, at the origin."""
    origin: dict[AffineExpr, int] = {AffineDim(name): 0 for name in index.dims}
    origin.update((AffineSymbol(name), value) for name, value in symbols.items())
    grown = {**origin, AffineDim(dim): 1}
    return int(index.evaluate(grown)) - int(index.evaluate(origin))
