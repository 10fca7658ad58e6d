"""`linalg_ext.group` and `linalg_ext.isolated_group`: ops that belong together.

A group is a region in destination style. Its block has an argument for each input and for each
destination, and ends with `linalg_ext.group_yield`: a value for each destination, of its type. It
has the meaning of its ops in its place; that they stand together is a request to code generation.

A group may use values from above that are not inputs of it; an isolated one may not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ArityError, counted
from linalg_ext.structured.destination_ops import (
    check_results,
    listed,
    ranked_tensor,
    segments_of,
)
from linalg_ext.structured.extension import SEGMENTS, integers
from linalg_ext.structured.operands import ops_inside

GROUP_NAMES = ("isolated_group", "group")
YIELD = "group_yield"

INPUT_SLOTS, INIT_SLOTS = 64, 16

LABEL, TILING, PRESERVE = "label", "tiling", "preserve"
OPERAND_SEGMENTS, RESULT_SEGMENTS = "operandSegmentSizes", "resultSegmentSizes"

CLAUSES = frozenset((LABEL, TILING, PRESERVE, OPERAND_SEGMENTS, RESULT_SEGMENTS))
"""The attributes that have a place of their own in the readable form."""


_PURE_DIALECTS = frozenset(
    (
        *("affine", "arith", "complex", "gml_st", "index", "linalg", "linalg_ext"),
        *("math", "scf", "shape", "tensor", "ub", "vector"),
    )
)
"""Their ops write nothing, where all they touch are tensors and scalars."""

_IMPURE = frozenset({"vector.print"})


def side_effect(op: ir.Operation) -> str:
    """Return the side effect of an op, or of one inside it; empty if absent.

    An op of an unknown dialect counts as one that may do anything.
    """
    effects = map(_own_side_effect, (*ops_inside(op), op))
    return next(filter(None, effects), "")


def _own_side_effect(op: ir.Operation) -> str:
    name = op.name
    if name.partition(".")[0] not in _PURE_DIALECTS or name in _IMPURE:
        return f"{name} may have side effects"
    memory = (ir.MemRefType, ir.UnrankedMemRefType)
    if any(isinstance(value.type, memory) for value in (*op.operands, *op.results)):
        return f"{name} works on memory"
    return ""


GROUP = "linalg_ext.group"
ISOLATED = "linalg_ext.isolated_group"
GROUPS = (GROUP, ISOLATED)
GROUP_YIELD = "linalg_ext.group_yield"

UNIT = "linalg_ext.group"
"""The attribute of an op that says by number which group it came of, where groups are gone."""

PRESERVED = "linalg_ext.preserved"
"""The attribute of an op that came of a group that says `preserve`."""

_STRUCTURE = frozenset({SEGMENTS, RESULT_SEGMENTS})


@dataclass(frozen=True)
class Group:
    """The fields of a group.

    Attributes:
        inputs: values of any type, `INPUT_SLOTS` at most.
        inits: its destinations, tensors, `INIT_SLOTS` at most; none where it has no results.
        body: the block, with an argument for each input and each destination.
        yielded: the values that the block yields, one for each destination.
        label: a name for people, empty where it has none.
        tiling: the tile sizes, outermost first; empty where none are given.
        preserve: True where it must stay together until groups are inlined.
        annotations: all its attributes but those that count operands, by name.
    """

    inputs: tuple[ir.Value, ...]
    inits: tuple[ir.Value, ...]
    body: ir.Block
    yielded: tuple[ir.Value, ...]
    label: str
    tiling: tuple[int, ...]
    preserve: bool
    annotations: Mapping[str, ir.Attribute]

    @classmethod
    def of(cls, op: ir.Operation) -> Group:
        """Read a group; only the rules that reading needs are checked.

        Raises:
            ArgumentError: it breaks one; names operands, types and attributes.
        """
        inputs, inits = segments_of(op, (INPUT_SLOTS, INIT_SLOTS))
        for number, init in enumerate(inits):
            ranked_tensor(init, f"destination {number}")
        check_results(op, inits)
        body = _body(op, [*inputs, *inits])
        return cls(
            tuple(inputs),
            tuple(inits),
            body,
            _yielded(body, inits),
            _label(op),
            _tiling(op),
            _preserve(op),
            MappingProxyType(annotations_of(op)),
        )


def annotations_of(op: ir.Operation) -> dict[str, ir.Attribute]:
    """The attributes of a group, but for those that count its operands and results."""
    return {name: attribute for name, attribute in op.attributes.items() if name not in _STRUCTURE}


def check_group(op: ir.Operation) -> None:
    """Check a group against all its rules; an ArgumentError where it breaks one."""
    group = Group.of(op)
    for inner in group.body.operations:
        if inner.operation.name != GROUP_YIELD and (effect := side_effect(inner.operation)):
            raise ArgumentError(
                f"{op.name} holds an op with side effects: {effect}",
                expected="ops on tensors and scalars",
                hint="leave it outside the group",
            )
    if op.name == ISOLATED and (value := _captured(op)) is not None:
        raise ArgumentError(
            f"{op.name} uses a value from above, of type {value.type}, that is not an input of it",
            hint="make it an input, or use linalg_ext.group",
        )


def in_preserved_group(op: ir.Operation) -> bool:
    """Return whether an op stands in a group that must stay together."""
    parent = op.parent
    while parent is not None:
        if parent.name in GROUPS and PRESERVE in parent.attributes:
            return True
        parent = parent.operation.parent
    return False


def may_be_fused(*ops: ir.Operation) -> bool:
    """Return whether groups do not part some ops: all are of one, or it is not said of which they
    are.

    With an op of a preserved group go those of that group alone.
    """
    return may_units_be_fused(map(unit_of, ops))


Unit = tuple[Any, bool]
"""The unit that an op is of, if it is said of which, and whether its group is preserved."""


def unit_of(op: ir.Operation) -> Unit:
    """Return all that `may_be_fused` asks of an op: many ops are of few units."""
    return op.attributes.get(UNIT), PRESERVED in op.attributes


def may_units_be_fused(units: Iterable[Unit]) -> bool:
    """Return whether ops of some units may be fused; see `may_be_fused`."""
    units = set(units)
    names = {name for name, _ in units}
    if any(is_preserved for _, is_preserved in units):
        return len(names) == 1
    return len(names - {None}) < 2


def _body(op: ir.Operation, operands: list[ir.Value]) -> ir.Block:
    blocks = list(op.regions[0].blocks)
    if len(blocks) != 1:
        raise ArgumentError(f"the region of {op.name} has {len(blocks)} blocks", expected="one")
    argument_types = [argument.type for argument in blocks[0].arguments]
    operand_types = [value.type for value in operands]
    if argument_types != operand_types:
        raise ArgumentError(
            f"the block of {op.name} takes ({listed(argument_types)})",
            expected=f"an argument for each input and each destination: ({listed(operand_types)})",
        )
    return blocks[0]


def _yielded(body: ir.Block, inits: list[ir.Value]) -> tuple[ir.Value, ...]:
    operations = list(body.operations)
    last = operations[-1].operation if operations else None
    if last is None or last.name != GROUP_YIELD:
        raise ArgumentError(
            "the block of a group ends without its terminator", expected=f"{GROUP_YIELD} at its end"
        )
    yielded_types, init_types = [v.type for v in last.operands], [v.type for v in inits]
    if len(yielded_types) != len(init_types):
        raise ArityError(
            f"{GROUP_YIELD} gives {counted(len(yielded_types), 'value')} for "
            f"{counted(len(inits), 'destination')}"
        )
    if yielded_types != init_types:
        raise ArgumentError(
            f"{GROUP_YIELD} gives ({listed(yielded_types)})",
            expected=f"the types of the destinations: ({listed(init_types)})",
        )
    return tuple(last.operands)


def _label(op: ir.Operation) -> str:
    attribute = op.attributes.get(LABEL)
    if attribute is None:
        return ""
    if not isinstance(attribute, ir.StringAttr):
        raise ArgumentError(f"{LABEL} = {attribute}", expected='a text, as in label = "softmax"')
    return attribute.value


def _tiling(op: ir.Operation) -> tuple[int, ...]:
    sizes = integers(op.attributes.get(TILING), TILING)
    if any(size < 0 for size in sizes):
        raise ArgumentError(
            f"{TILING} = {list(sizes)}", expected="sizes, 0 for a dimension that is not tiled"
        )
    return sizes


def _preserve(op: ir.Operation) -> bool:
    attribute = op.attributes.get(PRESERVE)
    if attribute is not None and not isinstance(attribute, ir.UnitAttr):
        raise ArgumentError(
            f"{PRESERVE} = {attribute}", expected=f"{PRESERVE} alone, or no such attribute"
        )
    return attribute is not None


def _captured(op: ir.Operation) -> ir.Value | None:
    """A value that an op inside uses and that is defined outside; None if absent."""
    values = (value for inner in ops_inside(op) for value in inner.operands)
    return next((value for value in values if not is_within(value, op)), None)


def is_within(value: ir.Value, op: ir.Operation) -> bool:
    """Return whether a value is defined inside a region of `op`, at whatever depth."""
    owner = value.owner
    above = owner.owner if isinstance(owner, ir.Block) else owner.operation.parent
    while above is not None:
        if above.operation == op:
            return True
        above = above.operation.parent
    return False
