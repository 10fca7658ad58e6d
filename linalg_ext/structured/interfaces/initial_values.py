"""Dependence of an op's results on the initial values of its destinations.

False is a promise: the destination may then be uninitialized memory. True means that the results
may depend on the initial value.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.definition.affine import AffineDim
from linalg_ext.structured.extension import attributes as extension_ops
from linalg_ext.structured.utils.maps import indexing_maps
from linalg_ext.structured.utils.operands import static_sizes
from linalg_ext.structured.utils.values import producer
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
        list(ir.DenseI64ArrayAttr(op.attributes[f"static_{what}"]))
        for what in ("offsets", "sizes", "strides")
    )
    rank = shape.rank
    return (offsets, sizes, strides) != ([0] * rank, list(shape.shape), [1] * rank)


def for_reads(op: ir.Operation, position: int) -> bool:
    """Return whether a loop uses what it carries, or may run not once and give it back."""
    lower, upper, *_ = (_constant(value) for value in op.operands)
    # Bounds that are not negative compare alike, whether the loop takes them as signed or not.
    runs = lower is not None and upper is not None and 0 <= lower < upper
    carried = op.regions[0].blocks[0].arguments[position - 2]
    return not runs or is_used(carried)


def is_used(value: ir.Value) -> bool:
    """Return whether any op uses a value."""
    return next(iter(value.uses), None) is not None


def _writes_all(op: ir.Operation, position: int) -> bool:
    """Return whether the iterations of a structured op are known to reach every element of an
    operand.
    """
    maps, sizes = indexing_maps(op), static_sizes(op.operands[position])
    known = {
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
        return all(known.get(dim, 0) > 0 for dim in dims if dim not in map.results)
    ranges = [known.get(dim) for dim in dims]
    if None in ranges or None in sizes:
        return False
    reached = image(map, full([size for size in ranges if size is not None]))
    return reached.is_exact and list(reached.tile.sizes) == sizes


def _constant(value: ir.Value) -> int | None:
    op = producer(value)
    if op is None or op.name != "arith.constant":
        return None
    attribute = op.attributes["value"]
    return attribute.value if isinstance(attribute, ir.IntegerAttr) else None
