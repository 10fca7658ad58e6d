"""Destinations of an op: one rule for each kind of op.

Ops of linalg with a body are known by the body: it yields one value for each destination. All
others are in a table: dialects above add to it by `add_destination_rule`, users by
`declare_destination_style`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError
from linalg_ext.structured.destination_ops.group import GROUPS
from linalg_ext.structured.extension import attributes as extension_ops
from linalg_ext.structured.interfaces import initial_values
from linalg_ext.structured.interfaces.asked import listed
from linalg_ext.structured.utils.maps import has_payload


@dataclass(frozen=True)
class DestinationRule:
    """The rule that makes an op destination-style.

    Attributes:
        inits: the positions of its destinations among its operands.
        reads: returns whether the results may depend on the old value of a destination.
        on_buffers: True where the op has a form on buffers, without results.
        carried: the argument of its region for the destination at a position, where the region gets
            whole destinations.
    """

    inits: Callable[[ir.Operation], Sequence[int]]
    reads: Callable[[ir.Operation, int], bool]
    on_buffers: bool = False
    carried: Callable[[ir.Operation, int], ir.BlockArgument] | None = None


def rule_of(op: ir.Operation) -> DestinationRule | None:
    """The rule of an op; None where it has no destinations, or nothing is known of it."""
    if has_payload(op):
        return _PAYLOAD
    return _RULES.get(op.name) or _declared.get(op.name)


def add_destination_rule(op_name: str, rule: DestinationRule) -> None:
    """Add the rule of an op of this library that is defined above this room."""
    _RULES[op_name] = rule


def declare_destination_style(
    op_name: str,
    *,
    inits: Sequence[int] | Callable[[ir.Operation], Sequence[int]],
    reads_init: bool | Callable[[ir.Operation, int], bool] = True,
) -> None:
    """Say which operands of an op are its destinations, for `destination_style` from then on.

        >>> lx.structured.declare_destination_style("my.sort", inits=[1], reads_init=False)

    Args:
        op_name: the op with its dialect; one that upstream or this library knows is refused.
        inits: positions among its operands, counted from 0; or a function of the op that gives
            them, for an op with a varying number of operands.
        reads_init: whether what a destination holds may matter to the results; or a function of
            the op and the position of a destination that tells it.

    Raises:
        ArgumentError: the op is known already, or the positions are none.
    """
    if not isinstance(op_name, str) or not all(op_name.partition(".")):
        raise ArgumentError(f"{op_name!r} names no op", expected='a name such as "my.sort"')
    if op_name in _RULES or op_name.startswith(("gml_st.", "linalg.", "scf.", "tensor.")):
        raise ArgumentError(
            f"{op_name} is an op of upstream's or of this library: its destinations are known"
        )
    reads = reads_init if callable(reads_init) else lambda op, position: bool(reads_init)
    if callable(inits):
        _declared[op_name] = DestinationRule(inits, reads)
        return
    positions = listed("inits", inits)
    if not all(type(each) is int and each >= 0 for each in positions) or not positions:
        raise ArgumentError(
            f"inits={inits!r} of {op_name}", expected="positions of operands, such as [1]"
        )
    _declared[op_name] = DestinationRule(lambda op: positions, reads)


def why_without(op: ir.Operation) -> str:
    """Return advice for an op that was taken for a destination-style one."""
    return _WITHOUT.get(
        op.name,
        "if it has destinations, say which operands they are: "
        f'lx.structured.declare_destination_style("{op.name}", inits=[...])',
    )


def _last(op: ir.Operation) -> Sequence[int]:
    return (len(op.operands) - 1,)


def _second(op: ir.Operation) -> Sequence[int]:
    return (1,)


def _yielded(op: ir.Operation) -> Sequence[int]:
    body = op.regions[0].blocks[0].operations
    count = len(op.operands)
    return range(count - len(body[len(body) - 1].operation.operands), count)


_FOR_BOUNDS = 3


def _carried_by_for(op: ir.Operation) -> Sequence[int]:
    return range(_FOR_BOUNDS, len(op.operands))


def _argument_of_for(op: ir.Operation, position: int) -> ir.BlockArgument:
    return op.regions[0].blocks[0].arguments[1 + position - _FOR_BOUNDS]


def _shared_outs(op: ir.Operation) -> Sequence[int]:
    *_, shared = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
    return range(len(op.operands) - shared, len(op.operands))


def _argument_of_forall(op: ir.Operation, position: int) -> ir.BlockArgument:
    arguments = op.regions[0].blocks[0].arguments
    return arguments[len(arguments) - len(op.operands) + position]


def _tied_to_results(op: ir.Operation) -> Sequence[int]:
    return range(len(op.operands) - len(op.results), len(op.operands))


_PAYLOAD = DestinationRule(_yielded, initial_values.structured_reads, on_buffers=True)
_OVERWRITES = DestinationRule(_second, initial_values.never)

_RULES: dict[str, DestinationRule] = {
    **dict.fromkeys(extension_ops.NAMES, DestinationRule(_last, initial_values.extension_op_reads)),
    **dict.fromkeys(
        (f"linalg_ext.{name}" for name in ("concatenate", "gather", "reverse", "sort")),
        DestinationRule(_tied_to_results, initial_values.never),
    ),
    "linalg_ext.dynamic_broadcast_in_dim": DestinationRule(_last, initial_values.never),
    # What a group writes to, its ops may read before.
    **dict.fromkeys(
        GROUPS,
        DestinationRule(_tied_to_results, initial_values.always, carried=_argument_of_forall),
    ),
    "linalg_ext.scan": DestinationRule(_tied_to_results, initial_values.scan_reads),
    "linalg_ext.scatter": DestinationRule(_last, initial_values.always),
    "linalg.softmax": DestinationRule(_second, initial_values.never, on_buffers=True),
    "linalg.pack": DestinationRule(_second, initial_values.never, on_buffers=True),
    "linalg.unpack": DestinationRule(_second, initial_values.never, on_buffers=True),
    "linalg.winograd_filter_transform": _OVERWRITES,
    "linalg.winograd_input_transform": _OVERWRITES,
    # It adds to its destination, as the convolution that it ends does.
    "linalg.winograd_output_transform": DestinationRule(_second, initial_values.always),
    "tensor.insert": DestinationRule(_second, initial_values.insert_reads),
    "tensor.insert_slice": DestinationRule(_second, initial_values.insert_slice_reads),
    "tensor.scatter": DestinationRule(_second, initial_values.always),
    "scf.for": DestinationRule(_carried_by_for, initial_values.for_reads, carried=_argument_of_for),
    "scf.forall": DestinationRule(_shared_outs, initial_values.always, carried=_argument_of_forall),
    "bufferization.materialize_in_destination": _OVERWRITES,
    "vector.transfer_write": DestinationRule(_second, initial_values.always, on_buffers=True),
}

_declared: dict[str, DestinationRule] = {}

_NEW_TENSOR = (
    "the result is a new tensor: transform.structured.rewrite_in_destination_passing_style makes "
    "ops of it that write to one"
)
_WITHOUT: Mapping[str, str] = {
    **dict.fromkeys(("tensor.pad", "tensor.generate", "tensor.from_elements"), _NEW_TENSOR),
    "tensor.parallel_insert_slice": "ask the scf.forall around it, whose destination it writes to",
    "gml_st.parallel": "the destinations are those of the gml_st.set_yield in the loop",
    "scf.while": "carried values may change their types; an scf.for has destinations",
    "scf.parallel": "the inits are the start of reductions; an scf.forall has destinations",
    "linalg.yield": "ask the op around it",
    "linalg.index": "ask the op around it",
}
