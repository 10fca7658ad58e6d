"""Destinations of an op: one rule for each kind of op.

Ops of linalg with a body are known by the body: it yields one value for each destination. All
others are in a table: dialects above add to it by `add_destination_rule`, users by
`declare_destination_style`.

Rules also answer whether results depend on the initial value of a destination. False is a promise:
the destination may then be uninitialized memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError
from linalg_ext.structured import extension as extension_ops
from linalg_ext.structured.constants import number_of
from linalg_ext.structured.group import GROUPS
from linalg_ext.structured.interface_dispatch import listed
from linalg_ext.structured.maps import has_payload, indexing_maps
from linalg_ext.structured.operands import static_sizes
from linalg_ext.symbolic.affine import AffineDim
from linalg_ext.symbolic.index_sets import full, image


def always(op: ir.Operation, position: int) -> bool:
    """It always may."""
    return True


def never(op: ir.Operation, position: int) -> bool:
    """All of the destination is overwritten and nothing of it read."""
    return False


def structured_reads(op: ir.Operation, position: int) -> bool:
    """Return whether a structured op reads a destination, or may leave elements unchanged."""
    return payload_reads(op, position) or not _writes_all(op, position)


def payload_reads(op: ir.Operation, position: int) -> bool:
    """Return whether the body uses the element of an operand."""
    arguments = op.regions[0].blocks[0].arguments
    # A body that has no argument for a destination cannot use it.
    return position < len(arguments) and is_used(arguments[position])


def extension_op_reads(op: ir.Operation, position: int) -> bool:
    """Return whether an op of our own accumulates: its attributes say so."""
    if extension_ops.OVERWRITE in op.attributes:
        return False
    (assignment,) = extension_ops.extension_definition(op).assignments
    return assignment.reads_target


def scan_reads(op: ir.Operation, position: int) -> bool:
    """Return whether a destination of a scan is the value that it begins with."""
    return len(op.results) == 2 and position == len(op.operands) - 1


def insert_reads(op: ir.Operation, position: int) -> bool:
    """Return whether a tensor has elements besides the one that is inserted."""
    shape = ir.RankedTensorType(op.operands[position].type)
    return not shape.has_static_shape or any(size != 1 for size in shape.shape)


def insert_slice_reads(op: ir.Operation, position: int) -> bool:
    """Return whether a slice may leave out elements of the tensor that it is inserted into."""
    shape = ir.RankedTensorType(op.operands[position].type)
    if not shape.has_static_shape:
        return True
    offsets, sizes, strides = (
        list(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    )
    rank = shape.rank
    return (offsets, sizes, strides) != ([0] * rank, list(shape.shape), [1] * rank)


def for_reads(op: ir.Operation, position: int) -> bool:
    """Return whether a loop uses the value it carries, or may return it without running."""
    lower, upper = (number_of(value) for value in list(op.operands)[:2])
    # Bounds that are not negative compare alike, whether the loop takes them as signed or not.
    runs = lower is not None and upper is not None and 0 <= lower < upper
    carried = op.regions[0].blocks[0].arguments[position - 2]
    return not runs or is_used(carried)


def is_used(value: ir.Value) -> bool:
    """Return whether any op uses a value."""
    return next(iter(value.uses), None) is not None


def _writes_all(op: ir.Operation, position: int) -> bool:
    """Return whether a structured op's iterations are known to reach all elements of an operand."""
    maps, sizes = indexing_maps(op), static_sizes(op.operands[position])
    size_of_index = {
        index: size
        for map, value in zip(maps, op.operands, strict=True)
        if isinstance(value.type, ir.ShapedType)
        for index, size in zip(map.results, static_sizes(value), strict=True)
        if size is not None
    }
    map = maps[position]
    dims = [AffineDim(name) for name in map.dims]
    if map.is_projected_permutation:
        # A loop of no iterations, along which nothing is written, would write nothing at all.
        return all(size_of_index.get(dim, 0) > 0 for dim in dims if dim not in map.results)
    ranges = [size_of_index.get(dim) for dim in dims]
    if None in ranges or None in sizes:
        return False
    reached = image(map, full([size for size in ranges if size is not None]))
    return reached.is_exact and list(reached.tile.sizes) == sizes


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
        reads_init: whether the old elements of a destination may matter to the results; or a
            function of the op and the position of a destination that tells it.

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
    if not all(type(position) is int and position >= 0 for position in positions) or not positions:
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


def _yielded(op: ir.Operation) -> Sequence[int]:
    body = op.regions[0].blocks[0].operations
    count = len(op.operands)
    return range(count - len(body[len(body) - 1].operation.operands), count)


def _last_argument(op: ir.Operation, position: int) -> ir.BlockArgument:
    """The argument of an op whose block ends with one for each destination."""
    arguments = op.regions[0].blocks[0].arguments
    return arguments[len(arguments) - len(op.operands) + position]


def _tied_to_results(op: ir.Operation) -> Sequence[int]:
    return range(len(op.operands) - len(op.results), len(op.operands))


_PAYLOAD = DestinationRule(_yielded, structured_reads, on_buffers=True)


def _second(
    reads: Callable[[ir.Operation, int], bool], on_buffers: bool = False
) -> DestinationRule:
    return DestinationRule(lambda op: (1,), reads, on_buffers)


_RULES: dict[str, DestinationRule] = {
    **dict.fromkeys(extension_ops.NAMES, DestinationRule(_last, extension_op_reads)),
    **dict.fromkeys(
        (f"linalg_ext.{name}" for name in ("concatenate", "gather", "reverse", "sort")),
        DestinationRule(_tied_to_results, never),
    ),
    "linalg_ext.dynamic_broadcast_in_dim": DestinationRule(_last, never),
    # The ops of a group may read its destinations first.
    **dict.fromkeys(
        GROUPS,
        DestinationRule(_tied_to_results, always, carried=_last_argument),
    ),
    "linalg_ext.scan": DestinationRule(_tied_to_results, scan_reads),
    "linalg_ext.scatter": DestinationRule(_last, always),
    **dict.fromkeys(("linalg.softmax", "linalg.pack", "linalg.unpack"), _second(never, True)),
    "linalg.winograd_filter_transform": _second(never),
    "linalg.winograd_input_transform": _second(never),
    # The last step of a convolution, which adds to its destination.
    "linalg.winograd_output_transform": _second(always),
    "tensor.insert": _second(insert_reads),
    "tensor.insert_slice": _second(insert_slice_reads),
    "tensor.scatter": _second(always),
    "scf.for": DestinationRule(_tied_to_results, for_reads, carried=_last_argument),
    "scf.forall": DestinationRule(_tied_to_results, always, carried=_last_argument),
    "bufferization.materialize_in_destination": _second(never),
    "vector.transfer_write": _second(always, True),
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
