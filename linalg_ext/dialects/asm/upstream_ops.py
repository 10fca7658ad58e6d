"""Ops of linalg, as they are spelled, become the op with their meaning.

The op of that name where it takes the operands as they are given; else one that carries its maps
(`linalg.matmul` with `indexing_maps`, `linalg.elementwise`, `linalg.contract`, ours), else
`linalg.generic`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import linalg_ext.opdsl_defs as library
from linalg_ext.bindings import ir
from linalg_ext.definition.attributes import CallAttributes, resolve_attributes
from linalg_ext.definition.functions import BINARY, TERNARY, TYPE, UNARY, Function
from linalg_ext.definition.model import OpDefinition, OperandKind
from linalg_ext.definition.operand_maps import add_readings
from linalg_ext.definition.renaming import Renaming, with_values
from linalg_ext.definition.scalar import Apply, ScalarExpr
from linalg_ext.definition.specialization import at_rank, with_own_types
from linalg_ext.dialects.asm.spelled import COMPUTE_TYPE as COMPUTE_TYPE_WORD
from linalg_ext.dialects.asm.spelled import SUGAR, SpelledOp
from linalg_ext.dialects.asm.translation import TRANSPOSED, is_linalg_op
from linalg_ext.errors import ArgumentError, ShapeError
from linalg_ext.notations.affine_text import parse_affine_map
from linalg_ext.notations.einsum.definitions import semiring
from linalg_ext.notations.operand_keywords import (
    OperandMaps,
    inverses_named,
    take_operand_maps,
    with_operand_maps,
)
from linalg_ext.opdsl.op import StructuredOp
from linalg_ext.structured.extension import (
    CAST,
    COMPUTE_TYPE,
    KIND,
    LETTERS,
    MAPS,
    contract_definition,
    elementwise_definition,
    integers,
    scalar_positions,
)
from linalg_ext.structured.op_builders import build, build_mapped, is_mixed_type
from linalg_ext.structured.operands import BoundOp, bind, static_sizes
from linalg_ext.symbolic.affine import AffineDim, AffineMap

_CATEGORIES = ("linalg.elementwise", "linalg.contract")


def build_linalg_op(values: SpelledValues) -> ir.Operation:
    """Build the op at the current insertion point.

    Raises:
        ArgumentError: its clauses do not fit its operands, or there is no such op.
    """
    meaning = meaning_of(values)
    operand_maps = take_operand_maps(meaning.definition, dict(values.sugar))
    meaning, operand_maps = _lettered(meaning, operand_maps)
    bound = _bound(meaning.definition, operand_maps, values, meaning.attributes)
    op = _build(values.name, bound, is_mapped=bool(operand_maps) or meaning.is_mapped)
    if CAST in op.attributes and CAST not in values.entries:
        del op.attributes[CAST]  # it is the default: the op stays as it is written
    if values.compute_type is not None:
        op.attributes[COMPUTE_TYPE] = values.compute_type
    # The very attributes of the text, defaults too, where the op is the one that is named there.
    for name in values.attributes:
        if name in meaning.notes or (op.name == values.name and name not in (MAPS, KIND)):
            op.attributes[name] = values.attributes[name]
    return op


def _lettered(meaning: Meaning, operand_maps: OperandMaps) -> tuple[Meaning, OperandMaps]:
    """Operands named a, b, c, ...: messages name them as the text does."""
    definition = meaning.definition
    names = [operand.name for operand in (*definition.inputs, *definition.outputs)]
    letters = dict(zip(names, (*LETTERS, "z"), strict=False))
    renamed = Renaming(operands=letters).definition(definition)
    return (
        replace(meaning, definition=renamed),
        {letters[name]: maps for name, maps in operand_maps.items()},
    )


def _bound(
    definition: OpDefinition,
    operand_maps: OperandMaps,
    values: SpelledValues,
    attributes: CallAttributes,
) -> BoundOp:
    operands = (*definition.inputs, *definition.outputs)
    shapes = {
        operand.name: static_sizes(value)
        for operand, value in zip(operands, (*values.inputs, values.output), strict=False)
        if operand.kind.is_tensor and isinstance(value.type, (ir.RankedTensorType, ir.MemRefType))
    }
    ranks = {name: len(shape) for name, shape in shapes.items()}
    mapped = definition
    try:
        with inverses_named(definition, operand_maps, shapes, attributes.symbols):
            mapped = with_operand_maps(definition, operand_maps, ranks)
            return bind(mapped, values.inputs, [values.output], attributes)
    except ShapeError as error:
        if error.hint is None:
            raise add_readings(error, mapped, shapes, attributes.symbols) from None
        raise


def _build(name: str, bound: BoundOp, *, is_mapped: bool) -> ir.Operation:
    short = name.removeprefix("linalg.")
    if short in TRANSPOSED:
        named = replace(bound.definition, name=TRANSPOSED[short])
        bound, is_mapped = replace(bound, definition=named), True
    if name in _CATEGORIES and (category := build_mapped(bound)) is not None:
        return category
    built = build(
        bound, mapped=is_mapped or not bound.inputs[0].context.is_registered_operation(name)
    )
    if isinstance(built, ir.Operation):
        return built
    value = built if isinstance(built, ir.Value) else built[0]
    return ir.OpResult(value).owner.operation


@dataclass(frozen=True)
class Meaning:
    """The operation that an op performs.

    Attributes:
        definition: of fixed rank.
        attributes: those that are a part of it.
        notes: the others, which the op carries along.
        is_mapped: True where the maps or casts make it another operation than its name states.
    """

    definition: OpDefinition
    attributes: CallAttributes = field(default_factory=CallAttributes)
    notes: Mapping[str, ir.Attribute] = field(default_factory=dict)
    is_mapped: bool = False


def meaning_of(values: SpelledValues) -> Meaning:
    """The meaning of an op without its sugar.

    Raises:
        ArgumentError: there is no such op, or an attribute has a wrong value.
    """
    attributes = values.attributes
    maps = _maps(attributes)
    if values.name == "linalg.elementwise":
        function = _kind(values, attributes)
        maps = maps or [_identity(values, "")] * (len(values.inputs) + 1)
        definition = elementwise_definition(maps, function, scalars=scalar_positions(values.inputs))
        return Meaning(replace(definition, name=function.name), notes=attributes)
    if values.name == "linalg.contract":
        if not maps:
            raise ArgumentError(f"{values.name}: indexing_maps is missing")
        cast = _cast(attributes)
        definition = contract_definition(
            maps, semiring("+*"), cast=cast, scalars=scalar_positions(values.inputs)
        )
        return Meaning(definition, notes=attributes)
    definition = _named_definition(values)
    if definition.is_rank_polymorphic:
        rank = len(_identity(values, definition.outputs[0].name).dims)
        definition = at_rank(definition, rank)
    if maps:
        definition = _with_maps(definition, maps)
    own = {o.name for o in definition.attributes} & set(attributes)
    arguments = {name: _keyword(attributes.pop(name)) for name in sorted(own)}
    definition, resolved = _with_functions(definition, resolve_attributes(definition, arguments))
    is_mapped = bool(maps)
    if values.compute_type is not None and is_mixed_type(
        definition, values.inputs, [values.output]
    ):
        definition, is_mapped = with_own_types(definition), True
    return Meaning(definition, resolved, attributes, is_mapped)


def _named_definition(values: SpelledValues) -> OpDefinition:
    op = getattr(library, values.name.removeprefix("linalg."), None)
    if isinstance(op, StructuredOp) and is_linalg_op(values.name, values.output.context):
        return op.definition
    raise ArgumentError(
        f"{values.name} is not a structured op of linalg",
        expected="linalg.elementwise, linalg.contract, or a named structured op of linalg",
    )


def _identity(values: SpelledValues, output: str) -> AffineMap:
    """The identity on the iteration space of an element-wise op.

    It has the rank of a map that is given, or else that of the destination, with the dimensions
    that are added to it.
    """
    own_names = (LETTERS[len(values.inputs)], output.lower())
    kind = values.output.type
    if not isinstance(kind, (ir.RankedTensorType, ir.MemRefType)):
        raise ArgumentError(
            f"{values.name}: the destination is of type {kind}",
            expected="a ranked tensor or memref",
        )
    rank = ir.ShapedType(kind).rank
    for name, mapping in values.sugar.items():
        word, _, operand = name.partition("_")
        if isinstance(mapping, AffineMap):
            rank = len(mapping.dims)
            break
        if word == "broadcast" and operand.lower() in own_names and isinstance(mapping, list):
            rank += len(mapping)
    dims = tuple(f"d{axis}" for axis in range(rank))
    return AffineMap(dims, (), tuple(AffineDim(dim) for dim in dims))


def _with_maps(definition: OpDefinition, maps: list[AffineMap]) -> OpDefinition:
    """The definition read by the maps that the op states, as upstream's matmuls do."""
    operands = (*definition.inputs, *definition.outputs)
    if len(maps) != len(operands):
        raise ArgumentError(
            f"{definition.name}: there are {len(maps)} indexing_maps",
            expected=f"one for each of {len(operands)} operands",
        )
    operand_maps = {operand.name: {"map": map} for operand, map in zip(operands, maps, strict=True)}
    return with_operand_maps(definition, operand_maps, {})


def _with_functions(
    definition: OpDefinition, attributes: CallAttributes
) -> tuple[OpDefinition, CallAttributes]:
    """The definition with the functions that its attributes chose, as in `elemwise_binary`."""
    chosen = {
        o.name: attributes.functions[o.name]
        for o in definition.attributes
        if o.kind.is_function_attribute and o.kind is not OperandKind.TYPE_FN_ATTR
    }
    if not chosen or any(a.reduction for a in definition.assignments):
        return definition, attributes

    def resolved(expr: ScalarExpr) -> ScalarExpr:
        if isinstance(expr, Apply) and expr.attribute in chosen:
            return replace(expr, function=chosen[expr.attribute], attribute=None)
        return expr

    operands = tuple(o for o in definition.operands if o.name not in chosen)
    functions = {name: f for name, f in attributes.functions.items() if name not in chosen}
    return (
        with_values(replace(definition, operands=operands), resolved),
        replace(attributes, functions=functions),
    )


def _maps(attributes: dict[str, ir.Attribute]) -> list[AffineMap]:
    """The `indexing_maps` of an op, taken out of its attributes."""
    attribute = attributes.pop(MAPS, None)
    if attribute is None:
        return []
    if isinstance(attribute, ir.ArrayAttr) and all(
        isinstance(item, ir.AffineMapAttr) for item in attribute
    ):
        return [parse_affine_map(str(item)) for item in attribute]
    raise ArgumentError(f"{MAPS} = {attribute}", expected="an array of affine maps")


def _kind(values: SpelledValues, attributes: dict[str, ir.Attribute]) -> Function:
    if KIND not in attributes:
        raise ArgumentError(f"{values.name}: kind is missing", expected="kind = add, or another")
    name = _word(attributes.pop(KIND))
    function = UNARY.get(name) or BINARY.get(name) or TERNARY.get(name)
    if function is None:
        raise ArgumentError(
            f"{values.name}: kind = {name} is not an element-wise function",
            expected=f"one of {', '.join((*UNARY, *BINARY, *TERNARY))}",
        )
    return function


def _cast(attributes: dict[str, ir.Attribute]) -> Function:
    name = _word(attributes.pop(CAST)) if CAST in attributes else "cast_signed"
    if name not in TYPE:
        raise ArgumentError(f"{CAST} = {name} is not a cast", expected=" or ".join(TYPE))
    return TYPE[name]


def _word(attribute: ir.Attribute) -> str:
    """`add` of `#linalg.elementwise_kind<add>` and of `"add"`."""
    text = str(attribute)
    return text[text.find("<") + 1 : -1] if text.endswith(">") else text.strip('"')


def _keyword(attribute: ir.Attribute) -> object:
    """Return an attribute of a named op as the argument of a call."""
    if isinstance(attribute, ir.DenseElementsAttr):
        values: Any = attribute
        return [int(value) for value in values]
    return _word(attribute)


@dataclass(frozen=True)
class SpelledValues:
    """A spelled op, its words read.

    Attributes:
        name: of the op, with its dialect.
        inputs, output: its operands.
        entries: the attributes of its clauses, by name: sugar, `kind`, `indexing_maps`, attributes.
    """

    name: str
    inputs: tuple[ir.Value, ...]
    output: ir.Value
    entries: Mapping[str, ir.Attribute]

    @classmethod
    def of(cls, op: ir.Operation, spelled: SpelledOp) -> SpelledValues:
        """Read `linalg_ext.spelled`."""
        *inputs, output = op.operands
        entries: Any = op.attributes["said"]
        words = {entry.name: entry.attr for entry in entries}
        return cls(spelled.name, tuple(inputs), output, words)

    @property
    def sugar(self) -> dict[str, object]:
        """The mappings of the operands: lists of integers, maps, True for `transpose_x`.

        Raises:
            ArgumentError: one is an attribute of another kind.
        """
        return {n: _meaning(n, entry) for n, entry in self.entries.items() if SUGAR.fullmatch(n)}

    @property
    def attributes(self) -> dict[str, ir.Attribute]:
        """The rest, but for the compute type."""
        return {
            name: entry
            for name, entry in self.entries.items()
            if not SUGAR.fullmatch(name) and name not in (COMPUTE_TYPE_WORD, COMPUTE_TYPE)
        }

    @property
    def compute_type(self) -> ir.TypeAttr | None:
        """The type to compute in.

        Raises:
            ArgumentError: the clause is not an element type.
        """
        for name in (COMPUTE_TYPE_WORD, COMPUTE_TYPE):
            entry = self.entries.get(name)
            if entry is None:
                continue
            if isinstance(entry, ir.TypeAttr) and not isinstance(entry.value, ir.ShapedType):
                return entry
            raise ArgumentError(f"{self.name}: {name} = {entry}", expected="a type, such as f32")
        return None


def _meaning(name: str, entry: ir.Attribute) -> object:
    word = name.partition("_")[0]
    if word == "transpose":
        if isinstance(entry, ir.UnitAttr):
            return True
        raise ArgumentError(
            f"{name} = {entry}", expected=f"{name} alone, or permutation_{name[10:]} = [...]"
        )
    if word == "map":
        if isinstance(entry, ir.AffineMapAttr):
            return parse_affine_map(str(entry))
        raise ArgumentError(f"{name} = {entry}", expected="a map, as in { (d0, d1) -> (d0) }")
    return list(integers(entry, name))
