"""Definitions of the structured ops of our own dialect, read from their attributes.

`linalg_ext.contract` and `linalg_ext.elementwise` carry no body: their kind and their maps define
the computation. Recognition, the verifiers and the lowering all use this module.
"""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Sequence
from dataclasses import replace

from linalg_ext.bindings import ir
from linalg_ext.definition.functions import BINARY, TERNARY, TYPE, UNARY, Function
from linalg_ext.definition.model import Assignment, OpDefinition, Operand, OperandKind
from linalg_ext.definition.operand_maps import Indices, Sugar, apply_map, apply_sugar
from linalg_ext.definition.renaming import with_values
from linalg_ext.definition.scalar import Access, Apply, ScalarExpr, ScalarOperand
from linalg_ext.definition.types import TypeVar
from linalg_ext.errors import ArgumentError, counted
from linalg_ext.notations.affine_text import parse_affine_map
from linalg_ext.notations.einsum.definitions import Semiring, semiring
from linalg_ext.notations.einsum.definitions import definition_of as definition_of_labels
from linalg_ext.symbolic.affine import AffineDim, AffineMap, AffineSymbol

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
        cast: the function that converts the inputs to the element type of the result.
        overwrite: True where the old value of the destination is ignored; a reduction adds to it
            nonetheless.
        scalars: positions of inputs that are not tensors.
    Raises:
        ArgumentError: a map is not a list of dimensions.
    """
    labels = [_labels(maps, position) for position in range(len(maps))]
    definition = definition_of_labels(
        labels[:-1], labels[-1], kind=kind, name="contract", dims=_dims(maps[0])
    )
    (assignment,) = definition.assignments
    if assignment.reduction is None and not overwrite:
        value = Apply(kind.add, (assignment.target, assignment.value))
        definition = replace(definition, assignments=(replace(assignment, value=value),))

    def recast(expr: ScalarExpr) -> ScalarExpr:
        if isinstance(expr, Apply) and expr.type_var is not None:
            return replace(expr, function=cast)
        return expr

    definition = with_values(definition, recast)
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
        scalars: positions of inputs that are not tensors.

    Raises:
        ArgumentError: the function does not take this number of operands, or the map of the
            destination lacks a dimension.
    """
    arity, count = function.kind.arity, len(maps) - 1
    if count != arity and not (function.name in _FOLDED and count > arity):
        more = " or more" if function.name in _FOLDED else ""
        raise ArgumentError(
            f"kind {function.name} is applied to {counted(count, 'operand')}",
            expected=f"{arity}{more}",
        )
    dims = _dims(maps[-1])
    written = {dim for index in maps[-1].results_over(dims) for dim in index.dims}
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
        indices = map.results_over(dims)
        leaves.append(Access(name, indices, type_var))
        operands.append(Operand(name, OperandKind.INPUT_TENSOR, type_var, _shape(indices)))
    target = Access("O", maps[-1].results_over(dims), _RESULT)
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
    def plain(expr: ScalarExpr) -> ScalarExpr:
        if isinstance(expr, Access) and expr.operand in names:
            return ScalarOperand(expr.operand, expr.type_var)
        return expr

    if not names:
        return definition
    operands = (
        replace(o, kind=OperandKind.SCALAR) if o.name in names else o for o in definition.operands
    )
    return with_values(replace(definition, operands=tuple(operands)), plain)


def _shape(indices: Indices) -> Indices:
    return tuple(AffineSymbol(f"size_{index}") for index in indices)


def _dims(map: AffineMap) -> tuple[str, ...]:
    return tuple(f"d{position}" for position in range(len(map.dims)))


def _labels(maps: Sequence[AffineMap], position: int) -> list[str]:
    map, is_destination = maps[position], position == len(maps) - 1
    subject = "the destination" if is_destination else f"operand {LETTERS[position]}"
    labels = []
    for index in map.results_over(_dims(map)):
        if not isinstance(index, AffineDim):
            raise ArgumentError(
                f"the map of {subject}, {map}, has the index {index}", expected="plain dimensions"
            )
        labels.append(index.name)
    if is_destination and len(set(labels)) != len(labels):
        raise ArgumentError(f"the map of {subject}, {map}, has a dimension twice")
    return labels


CONTRACT = "linalg_ext.contract"
ELEMENTWISE = "linalg_ext.elementwise"
NAMES = (CONTRACT, ELEMENTWISE)

MAPS, KIND, CAST, OVERWRITE = "indexing_maps", "kind", "cast", "overwrite"
SEGMENTS = "operandSegmentSizes"
COMPUTE_TYPE = "linalg_ext.compute_type"
SUGAR_WORDS = {"permutation": "permutation", "permute": "permutation", "broadcast": "broadcast"}
"""The prefix of an attribute such as `permute_a`, and the clause that it stands for."""


def extension_definition(op: ir.Operation) -> OpDefinition:
    """The definition of an op of ours, of types `T1`, ..., and `U` for the result.

    Raises:
        ArgumentError: an attribute is missing, or has a wrong value.
    """
    maps, scalars = indexing_maps(op), scalar_positions(list(op.operands)[:-1])
    if op.name != CONTRACT:
        function = elementwise_function(op)
        return elementwise_definition(maps, function, cast=cast_function(op), scalars=scalars)
    return contract_definition(
        maps,
        contract_kind(op),
        cast=cast_function(op),
        overwrite=OVERWRITE in op.attributes,
        scalars=scalars,
    )


def indexing_maps(op: ir.Operation) -> list[AffineMap]:
    """The map of each operand, sugar and left-out identities spelt out.

    Raises:
        ArgumentError: they have wrong values.
    """
    if MAPS in op.attributes:
        return _explicit_maps(op)
    if op.name == CONTRACT:
        raise ArgumentError(f"{MAPS} is missing", expected="a map for each operand")
    return _sugared_maps(op)


def sugar_attributes(op: ir.Operation) -> dict[str, ir.Attribute]:
    """The attributes of an op that say how an operand is given: `permutation_a`, `map_b`, ..."""
    words = (*SUGAR_WORDS, "map")
    return {
        name: attribute
        for name, attribute in op.attributes.items()
        if name.partition("_")[0] in words and name.partition("_")[2]
    }


def own_attributes(op: ir.Operation) -> set[str]:
    """The names of the attributes that define an op of ours; the others are notes on it."""
    own = {MAPS, KIND, CAST, OVERWRITE, SEGMENTS, *sugar_attributes(op)}
    return own & set(op.attributes)


def segments(inputs: int) -> ir.Attribute:
    """The attribute that says how many inputs an op of ours has."""
    absent = [0] * (len(LETTERS) - inputs)
    return ir.DenseI32ArrayAttr.get([*[1] * inputs, *absent, 1])


def operand_letters(count: int) -> list[str]:
    """Return the letters of `count` operands in sugar: a, b, c, ..., the destination last."""
    return list(string.ascii_lowercase[:count])


def scalar_positions(inputs: Sequence[ir.Value]) -> list[int]:
    """The positions of the inputs that are not tensors, vectors or memrefs."""
    return [i for i, value in enumerate(inputs) if not isinstance(value.type, ir.ShapedType)]


def contract_kind(op: ir.Operation) -> Semiring:
    """The semiring of a contract, a sum of products by default; an ArgumentError if unknown."""
    if KIND not in op.attributes:
        return semiring("+*")
    attribute = op.attributes[KIND]
    if not isinstance(attribute, ir.StringAttr):
        raise ArgumentError(f"kind = {attribute} is not text", expected='a semiring, as in "+*"')
    return semiring(attribute.value)


def elementwise_function(op: ir.Operation) -> Function:
    """The function of an elementwise op; an ArgumentError if its name is unknown."""
    if KIND not in op.attributes:
        raise ArgumentError("kind is missing", expected="#linalg.elementwise_kind<add>, ...")
    text = str(op.attributes[KIND])
    named = re.fullmatch(r"#linalg\.elementwise_kind<(\w+)>", text)
    name, functions = named[1] if named else text.strip('"'), {**UNARY, **BINARY, **TERNARY}
    if name not in functions:
        raise ArgumentError(
            f"kind = {text} is not an element-wise function",
            expected=f"one of {', '.join(functions)}",
        )
    return functions[name]


def cast_function(op: ir.Operation) -> Function:
    """The cast function of the inputs of an op; an ArgumentError where it names no cast."""
    if CAST not in op.attributes:
        return TYPE["cast_signed"]
    text = str(op.attributes[CAST])
    named = re.fullmatch(r"#linalg\.type_fn<(\w+)>", text)
    if named is None or named[1] not in TYPE:
        raise ArgumentError(
            f"cast = {text} is not a cast",
            expected="#linalg.type_fn<cast_signed> or #linalg.type_fn<cast_unsigned>",
        )
    return TYPE[named[1]]


def _explicit_maps(op: ir.Operation) -> list[AffineMap]:
    attribute = op.attributes[MAPS]
    if not isinstance(attribute, ir.ArrayAttr) or not all(
        isinstance(item, ir.AffineMapAttr) for item in attribute
    ):
        raise ArgumentError(f"{MAPS} = {attribute}", expected="an array of affine maps")
    if sugared := sorted(sugar_attributes(op)):
        raise ArgumentError(f"{MAPS} and {sugared[0]} are both given", expected="one or the other")
    maps = [parse_affine_map(str(item)) for item in attribute]
    if len(maps) != len(op.operands):
        raise ArgumentError(
            f"{MAPS} has {counted(len(maps), 'map')} for {counted(len(op.operands), 'operand')}",
            expected="one for each, the destination last",
        )
    if len({len(map.dims) for map in maps}) > 1 or any(map.symbols for map in maps):
        raise ArgumentError(
            f"{MAPS} = {attribute}", expected="maps of one iteration space, without symbols"
        )
    return maps


def _sugared_maps(op: ir.Operation) -> list[AffineMap]:
    """The maps that the attributes of an elementwise op describe; identities by default."""
    count = len(op.operands)
    letters = operand_letters(count)
    clauses: dict[str, dict[str, ir.Attribute]] = {}
    for name, attribute in sugar_attributes(op).items():
        word, _, letter = name.partition("_")
        if letter not in letters:
            raise ArgumentError(
                f"{name} is of no operand", expected=f"one of {', '.join(letters)} after `{word}_`"
            )
        meaning = SUGAR_WORDS.get(word, word)
        if meaning in clauses.setdefault(letter, {}):
            raise ArgumentError(f"the {meaning} of operand {letter} is given twice")
        clauses[letter][meaning] = attribute
    dims = tuple(f"d{position}" for position in range(_iteration_rank(op, clauses, letters)))
    return [
        AffineMap(dims, (), _operand_indices(dims, clauses.get(letter, {}), letter, value))
        for letter, value in zip(letters, op.operands, strict=True)
    ]


def _operand_indices(
    dims: tuple[str, ...], clauses: dict[str, ir.Attribute], letter: str, value: ir.Value
) -> Indices:
    natural, subject = tuple(map(AffineDim, dims)), f"operand {letter}"
    if "map" in clauses:
        if len(clauses) > 1:
            raise ArgumentError(f"{subject} has a map and sugar besides", expected="one of them")
        if not isinstance(clauses["map"], ir.AffineMapAttr):
            raise ArgumentError(f"map_{letter} = {clauses['map']}", expected="an affine map")
        return apply_map(dims, natural, parse_affine_map(str(clauses["map"])), subject)
    if not clauses and not isinstance(value.type, ir.ShapedType):
        return ()
    sugar = Sugar(
        integers(clauses.get("permutation"), f"permutation_{letter}"),
        integers(clauses.get("broadcast"), f"broadcast_{letter}"),
    )
    return apply_sugar(natural, sugar, subject)


def integers(attribute: ir.Attribute | None, name: str) -> tuple[int, ...]:
    """The integers of `[0, 1]` or `array<i64: 0, 1>`; an ArgumentError for another attribute."""
    if attribute is None:
        return ()
    if isinstance(attribute, ir.DenseI64ArrayAttr):
        return tuple(attribute)
    items = list(attribute) if isinstance(attribute, ir.ArrayAttr) else [attribute]
    if all(isinstance(item, ir.IntegerAttr) for item in items):
        return tuple(ir.IntegerAttr(item).value for item in items)
    raise ArgumentError(f"{name} = {attribute}", expected="a list of integers, as in [1, 0]")


def _iteration_rank(
    op: ir.Operation, clauses: dict[str, dict[str, ir.Attribute]], letters: list[str]
) -> int:
    """The rank of the iteration space: that of an operand, with the dimensions added to it."""
    for letter in reversed(letters):
        map = clauses.get(letter, {}).get("map")
        if isinstance(map, ir.AffineMapAttr):
            return len(parse_affine_map(str(map)).dims)
    destination, letter = op.operands[len(letters) - 1], letters[-1]
    if not isinstance(destination.type, ir.ShapedType):
        raise ArgumentError(f"the destination is of type {destination.type}", expected="a tensor")
    added = integers(clauses.get(letter, {}).get("broadcast"), f"broadcast_{letter}")
    return ir.ShapedType(destination.type).rank + len(added)


_INHERENT = frozenset(
    (
        *("operandSegmentSizes", "indexing_maps", "iterator_types", "doc", "library_call"),
        *("cast", "fun", "kind", "strides", "dilations", "permutation", "dimensions"),
        OVERWRITE,
    )
)
"""Inherent attributes of the structured ops of linalg; an op may lack any of them."""

_MEMOIZED = "linalg.memoized_indexing_maps"
"""Left on an op by upstream when its maps are asked for: a copy of the op's own maps."""


def discardable_attributes(op: ir.Operation) -> dict[str, ir.Attribute]:
    """The attributes of a structured op that its meaning does not rest on, by name."""
    inherent = {*_INHERENT, _MEMOIZED, *sugar_attributes(op)}
    return {name: value for name, value in op.attributes.items() if name not in inherent}


def carry_over(source: ir.Operation, target: ir.Operation) -> None:
    """Give `target`, which takes the place of `source`, its discardable attributes."""
    for name, attribute in discardable_attributes(source).items():
        target.attributes[name] = attribute


def forget_memoized_maps(op: ir.Operation) -> None:
    """Remove the attribute that upstream leaves on an op whose maps were asked for."""
    if _MEMOIZED in op.attributes:
        del op.attributes[_MEMOIZED]
