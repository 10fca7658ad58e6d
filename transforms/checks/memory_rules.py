"""For each op that holds or reaches memory: the misfits that are possible, and the check for each.

The table has every op of the dialects linalg, tensor, memref, vector and bufferization, and of
`linalg_ext` and `gml_st`. A row has the check of the op's sizes (`linalg-ext-check-sizes`, before
lowering), that of its accesses (`linalg-ext-check-accesses`, where they are computed), or the
reason why the op needs no check. An op that is not in the table is refused if checks are on. The
documentation shows the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from linalg_ext.bindings import arith, ir, memref, tensor, vector
from linalg_ext.structured.constants import index
from linalg_ext.transforms.analysis.buffers import element_bytes
from linalg_ext.transforms.ir_utils.arithmetic import Integers, constant, like, negated
from linalg_ext.transforms.ir_utils.tensor_loops import add, as_index, compare, mul, sub

from ._assertions import DYNAMIC, Bounds, apply_map, mixed, operand_groups
from ._size_rules import (
    check_alignment,
    check_cast,
    check_collapse,
    check_concat,
    check_equal_shapes,
    check_expand,
    check_given_sizes,
    check_pack,
    check_pad,
    check_reshape,
    check_scatter,
    check_structured,
    check_unpack,
    check_winograd_filter,
    check_winograd_input,
    check_winograd_output,
    forget_promise,
)


def check_insertion(op: Any, bounds: Bounds) -> None:
    """Check `tensor.insert_slice`: all of it is within the whole, and of the size that it says."""
    (source,), (whole,), *dynamic = operand_groups(op)
    offsets, sizes, strides = _slice_of(op, dynamic, bounds)
    _check_slice(whole, offsets, sizes, strides, bounds)
    for step in strides:
        bounds.at_most(1, step)
    _check_sizes(source, sizes, bounds)


def check_extraction(op: Any, bounds: Bounds) -> None:
    """Check `tensor.extract_slice` and `memref.subview`: all of it is within the whole."""
    (whole,), *dynamic = operand_groups(op)
    offsets, sizes, strides = _slice_of(op, dynamic, bounds)
    _check_slice(whole, offsets, sizes, strides, bounds)


def _slice_of(op: Any, dynamic: Sequence[Any], bounds: Bounds) -> list[list[Any]]:
    names = ("static_offsets", "static_sizes", "static_strides")
    return [
        [bounds.number(number) for number in mixed(op, name, group)]
        for name, group in zip(names, dynamic, strict=True)
    ]


def _check_slice(
    whole: Any, offsets: Sequence[Any], sizes: Sequence[Any], strides: Sequence[Any], bounds: Bounds
) -> None:
    for axis, (start, count, step) in enumerate(zip(offsets, sizes, strides, strict=True)):
        limit = bounds.size(whole, axis)
        if step == 1:
            bounds.within(start, count, limit)
        else:
            _check_steps(start, count, step, limit, bounds)


def _check_steps(start: Any, count: Any, step: Any, limit: Any, bounds: Bounds) -> None:
    """Require that the first and the last of strided elements are within the limit."""
    if all(isinstance(number, int) for number in (start, count, step, limit)):
        ends = (start, start + (count - 1) * step) if count else (start, max(start - 1, 0))
        bounds.holds(count >= 0 and all(0 <= end < limit or not count for end in ends))
        if not count:
            bounds.within(start, 0, limit)
        return
    bounds.at_most(0, count)
    far, inside = _product(sub(count, 1), step)
    for end in (start, add(start, far)):
        both = arith.andi(compare("sle", 0, end), compare("slt", end, limit))
        inside = arith.andi(inside, both)
    none = arith.andi(compare("sle", 0, start), compare("sle", start, limit))
    bounds.holds(arith.ori(inside, arith.andi(none, compare("eq", count, 0))))


def _product(left: Any, right: Any) -> tuple[Any, Any]:
    """Return a signed product, and whether 64 bits hold it."""
    i64 = ir.IntegerType.get_signless(64)
    product = arith.MulSIExtendedOp(*(arith.index_cast(i64, index(x)) for x in (left, right)))
    sign = arith.shrsi(product.low, constant(i64, 63))
    fits = arith.cmpi(arith.CmpIPredicate.eq, product.high, sign)
    return arith.index_cast(ir.IndexType.get(), product.low), fits


def _check_sizes(source: Any, sizes: Sequence[Any], bounds: Bounds) -> None:
    """Check the sizes of a slice; dimensions of size one may have been dropped."""
    axis, spare = 0, len(sizes) - source.type.rank
    for count in sizes:
        is_one = axis < source.type.rank and source.type.get_dim_size(axis) == 1
        if spare and count == 1 and not is_one:
            spare -= 1
            continue
        if axis == source.type.rank:
            return
        # An assertion of its own: the place of the slice may be known before its value.
        bounds.equal(bounds.size(source, axis), count, _OTHER_SIZE)
        axis += 1


_OTHER_SIZE = "the inserted value is larger, or smaller, than the slice"


def check_read(op: Any, bounds: Bounds) -> None:
    """Check one read element: `memref.load`, `tensor.extract`."""
    base, *indices = op.operands
    check_element(base, indices, bounds)


def check_written(op: Any, bounds: Bounds) -> None:
    """Check one written element: `memref.store`, `tensor.insert`, `memref.atomic_rmw`."""
    _, base, *indices = op.operands
    check_element(base, indices, bounds)


def check_element(base: Any, indices: Sequence[Any], bounds: Bounds) -> None:
    """Check the index of one element."""
    for axis, position in enumerate(indices):
        bounds.within(bounds.number(position), 1, bounds.size(base, axis))


def check_dimension(op: Any, bounds: Bounds) -> None:
    """Check `tensor.dim` and `memref.dim`: there is such a dimension."""
    source, axis = op.operands
    if isinstance(source.type, ir.MemRefType | ir.RankedTensorType):
        rank: Any = source.type.rank
    else:
        of_tensor = isinstance(source.type, ir.UnrankedTensorType)
        rank = (tensor.rank if of_tensor else memref.rank)(source)
    bounds.within(bounds.number(axis), 1, rank)


def check_reinterpretation(op: Any, bounds: Bounds) -> None:
    """Check `memref.reinterpret_cast`: a view shows the same elements as its source."""
    (source,), *dynamic = operand_groups(op)
    if not isinstance(source.type, ir.MemRefType):
        return
    names = ("static_offsets", "static_sizes", "static_strides")
    (offset,), sizes, strides = (
        mixed(op, name, group) for name, group in zip(names, dynamic, strict=True)
    )
    rank = source.type.rank
    _, first, *rest = memref.ExtractStridedMetadataOp(source).results
    least = most = first
    for count, step in zip(rest[:rank], rest[rank:], strict=True):
        far = arith.muli(index(sub(count, 1)), step)  # of a buffer that exists
        least = arith.addi(least, arith.minsi(far, index(0)))
        most = arith.addi(most, arith.maxsi(far, index(0)))
    span = arith.subi(most, least)
    # Offsets within the span cannot add up to more than 64 bits.
    low = high = index(offset)
    inside = _is_between(least, offset, most)
    for count, step in zip(sizes, strides, strict=True):
        bounds.at_most(0, count)
        far, fits = _product(sub(count, 1), step)
        near = arith.andi(fits, _is_between(arith.subi(index(0), span), far, span))
        inside = arith.andi(inside, near)
        low = arith.addi(low, arith.minsi(far, index(0)))
        high = arith.addi(high, arith.maxsi(far, index(0)))
    inside = arith.andi(inside, _is_between(least, low, high))
    inside = arith.andi(inside, compare("sle", high, most))
    for count in sizes:
        inside = arith.ori(inside, compare("eq", count, 0))
    bounds.holds(inside)


def _is_between(low: Any, value: Any, high: Any) -> Any:
    return arith.andi(compare("sle", low, value), compare("sle", value, high))


def check_view(op: Any, bounds: Bounds) -> None:
    """Check `memref.view`: its bytes are those of the buffer."""
    source, shift, *dynamic = op.operands
    type_ = op.results[0].type
    remaining = iter(dynamic)
    sizes = [
        next(remaining) if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
        for axis in range(type_.rank)
    ]
    room = bounds.size(source, 0)
    bounds.within(shift, 0, room)
    for count in sizes:
        bounds.at_most(0, count)
    nbytes = bounds.product([element_bytes(type_.element_type), *sizes])
    bounds.at_most(nbytes, sub(room, shift))


_MOST_LANES = (1 << 31) - 1
"""Upstream compares lanes as integers of 32 bits."""


def check_vector(base: Any, starts: Sequence[Any], value: Any, bounds: Bounds) -> None:
    """Check a scalar, or a vector of consecutive elements along the last dimensions.

    Args:
        base: the memref.
        starts: the index of its first element.
        value: the type of the element or vector that is read or written.
        bounds: the list to which the conditions are added.
    """
    lanes = [1] * len(starts)
    if isinstance(value, ir.VectorType) and value != base.type.element_type:
        lanes[len(starts) - value.rank :] = value.shape
    for axis, (start, count) in enumerate(zip(starts, lanes, strict=True)):
        bounds.within(start, count, bounds.size(base, axis))


def check_consecutive(op: Any, bounds: Bounds) -> None:
    """Check loads and stores of vectors, and those of affine: at operands, or where a map says."""
    is_store = op.name.endswith("store")
    base, *starts = list(op.operands)[is_store:]
    if "map" in op.attributes:
        starts = apply_map(ir.AffineMapAttr(op.attributes["map"]).value, starts)
    value = op.operands[0] if is_store else op.results[0]
    check_vector(base, starts, value.type, bounds)


def check_transfer(op: Any, bounds: Bounds) -> None:
    """Check `vector.transfer_read` and `_write`: along dimensions that are said to be in bounds."""
    is_read = op.name == "vector.transfer_read"
    groups = operand_groups(op)
    (base,), starts, mask = (groups[0], groups[1], groups[3]) if is_read else groups[1:4]
    shape = (op.results[0] if is_read else op.operands[0]).type.shape
    map_ = ir.AffineMapAttr(op.attributes["permutation_map"]).value
    flags = [ir.BoolAttr(flag).value for flag in ir.ArrayAttr(op.attributes["in_bounds"])]
    lanes: dict[int, int] = {}
    for expr, count, is_inside in zip(map_.results, shape, flags, strict=True):
        if isinstance(expr, ir.AffineDimExpr):
            # Lanes beyond the end are padded, or not written: only where it begins matters.
            lanes[expr.position] = count if is_inside else 0
    element = base.type.element_type
    if isinstance(element, ir.VectorType):
        lanes = {}
    limits = [bounds.size(base, axis) for axis in range(base.type.rank)]
    for axis, (start, limit) in enumerate(zip(starts, limits, strict=True)):
        count = lanes.get(axis, 1)
        if count and not mask:
            bounds.within(start, count, limit)
        else:
            bounds.at_most(0, start)
            bounds.at_most(start, _MOST_LANES)
    if mask and map_.is_projected_permutation and not isinstance(element, ir.VectorType):
        _check_mask(mask[0], starts, limits, lanes, map_, bounds)


def _check_mask(
    mask: Any, starts: Sequence[Any], limits: Sequence[Any], lanes: Any, map_: Any, bounds: Bounds
) -> None:
    """Check the chosen lanes along the dimensions that are marked in bounds."""
    order = [e.position for e in map_.results if isinstance(e, ir.AffineDimExpr)]
    # A mask has the dimensions in the order of the memory.
    shape = list(mask.type.shape)
    axes = sorted(order)
    if len(axes) != len(shape):
        return
    lane_limits = [
        sub(limits[axis], starts[axis]) if lanes[axis] else count
        for axis, count in zip(axes, shape, strict=True)
    ]
    _all_below(mask, lane_limits, bounds)


def _all_below(mask: Any, limits: Sequence[Any], bounds: Bounds) -> None:
    """Require that the chosen lanes are below limits, one for each dimension of the mask."""
    counts = [arith.maxsi(index(limit), index(0)) for limit in limits]
    inside = vector.CreateMaskOp(mask.type, counts).result
    holds = arith.ori(inside, negated(mask))
    bounds.holds(_reduced("and", holds))


def check_masked(op: Any, bounds: Bounds) -> None:
    """Check `vector.maskedload` and `maskedstore`: the lanes that are chosen."""
    base, *outer, last, mask, _ = op.operands
    for axis, start in enumerate(outer):
        bounds.within(start, 1, bounds.size(base, axis))
    bounds.at_most(0, last)
    bounds.at_most(last, _MOST_LANES)
    _all_below(mask, [sub(bounds.size(base, len(outer)), last)], bounds)


def check_packed(op: Any, bounds: Bounds) -> None:
    """Check `vector.expandload` and `compressstore`: as many as are chosen."""
    base, *rest = op.operands
    *outer, last, mask, _ = rest
    for axis, start in enumerate(outer):
        bounds.within(start, 1, bounds.size(base, axis))
    wide = arith.extui(like(mask.type, ir.IntegerType.get_signless(64)), mask)
    count = as_index(_reduced("add", wide))
    bounds.within(last, count, bounds.size(base, len(outer)))


def check_gather(op: Any, bounds: Bounds) -> None:
    """Check `vector.gather` and `scatter`: the lanes that are chosen, from a place on."""
    base, *rest = op.operands
    starts, (lanes, mask) = rest[: base.type.rank], rest[base.type.rank : base.type.rank + 2]
    steps = _steps(base, bounds)
    if steps is None:
        return
    limits = [bounds.size(base, axis) for axis in range(base.type.rank)]
    for start, limit in zip(starts, limits, strict=True):
        bounds.within(start, 1, limit)
    start, last = index(0), index(0)
    for position, step, limit in zip(starts, steps, limits, strict=True):
        start = arith.addi(start, arith.muli(index(position), index(step)))
        last = arith.addi(last, arith.muli(index(sub(limit, 1)), index(step)))
    positions = Integers(like(lanes.type, ir.IndexType.get()))
    offsets = lanes
    if lanes.type.element_type != ir.IndexType.get():
        offsets = arith.index_cast(positions.type, lanes)
    least = vector.BroadcastOp(positions.type, arith.subi(index(0), start)).result
    most = vector.BroadcastOp(positions.type, arith.subi(last, start)).result
    sle = arith.CmpIPredicate.sle
    inside = arith.andi(
        positions.compare(sle, least, offsets), positions.compare(sle, offsets, most)
    )
    # Lanes that are not chosen may hold poison, which `ori` would hand on and `select` does not.
    bounds.holds(_reduced("and", arith.select(mask, inside, negated(mask))))


def _steps(base: Any, bounds: Bounds) -> list[Any] | None:
    """Return the stride of each dimension in elements; None where the layout hides it."""
    rank = base.type.rank
    if isinstance(base.type, ir.MemRefType):
        strides, _ = base.type.get_strides_and_offset()
        if DYNAMIC not in strides:
            return list(strides)
        if not base.type.affine_map.is_permutation:
            return None
    steps: list[Any] = [1] * rank
    for axis in reversed(range(rank - 1)):
        steps[axis] = mul(steps[axis + 1], bounds.size(base, axis + 1))
    return steps


def check_position(op: Any, bounds: Bounds) -> None:
    """Check `vector.extract` and `insert` at positions that are computed."""
    is_insertion = op.name == "vector.insert"
    _, *rest = op.operands
    whole = op.operands[int(is_insertion)]
    positions = mixed(op, "static_position", rest[int(is_insertion) :])
    for position, count in zip(positions, whole.type.shape, strict=False):
        bounds.within(position, 1, count)


def _reduced(kind: str, value: Any) -> Any:
    """Return all lanes of a vector of any rank, as one number."""
    element = value.type.element_type
    if value.type.rank != 1:
        flat = ir.VectorType.get([math.prod(value.type.shape)], element)
        value = vector.ShapeCastOp(flat, value).result
    attribute = ir.Attribute.parse(f"#vector.kind<{kind}>")
    return vector.ReductionOp(element, attribute, value).result


Check = Callable[[Any, Bounds], None]

DIALECTS = ("linalg", "tensor", "memref", "vector", "bufferization", "linalg_ext", "gml_st")
"""The dialects that have all of their ops in the table."""

SIZES = "linalg-ext-check-sizes"
ACCESSES = "linalg-ext-check-accesses"


@dataclass(frozen=True)
class Rule:
    """The checks of an op.

    Attributes:
        misfit: the sizes or shapes that may not fit; or why nothing can be a misfit.
        sizes: asserts that its sizes fit, before it is lowered.
        accesses: asserts that the elements it reads and writes are in bounds, where it stands.
        held_by: the pass that asserts it.
    """

    misfit: str
    sizes: Check | None = None
    accesses: Check | None = None
    held_by: str = ""


def _sizes(check: Check, misfit: str, *names: str) -> dict[str, Rule]:
    return _ruled(Rule(misfit, sizes=check, held_by=SIZES), names)


def _accesses(check: Check, misfit: str, *names: str) -> dict[str, Rule]:
    return _ruled(Rule(misfit, accesses=check, held_by=ACCESSES), names)


def _lowered(by: str, misfit: str, *names: str) -> dict[str, Rule]:
    return _ruled(Rule(misfit, held_by=by), names)


def _safe(reason: str, *names: str) -> dict[str, Rule]:
    return _ruled(Rule(reason), names)


def _ruled(rule: Rule, names: Sequence[str]) -> dict[str, Rule]:
    """Return a rule by the names of its ops, of which each text has one or several."""
    return dict.fromkeys(" ".join(names).split(), rule)


def _of(dialect: str, names: str) -> str:
    return " ".join(f"{dialect}.{name}" for name in names.split())


_LINALG = """
abs add batch_matmul batch_matvec batch_mmt4d batch_reduce_matmul batch_vecmat broadcast ceil
contract conv_1d conv_1d_ncw_fcw conv_1d_nwc_wcf conv_2d conv_2d_nchw_fchw conv_2d_nchw_fchw_q
conv_2d_ngchw_fgchw conv_2d_ngchw_gfchw conv_2d_ngchw_gfchw_q conv_2d_nhwc_fhwc
conv_2d_nhwc_fhwc_q conv_2d_nhwc_hwcf conv_2d_nhwc_hwcf_q conv_2d_nhwgc_gfhwc
conv_2d_nhwgc_gfhwc_q conv_3d conv_3d_ncdhw_fcdhw conv_3d_ndhwc_dhwcf conv_3d_ndhwc_dhwcf_q copy
depthwise_conv_1d_ncw_cw depthwise_conv_1d_nwc_wc depthwise_conv_1d_nwc_wcm
depthwise_conv_2d_nchw_chw depthwise_conv_2d_nhwc_hwc depthwise_conv_2d_nhwc_hwc_q
depthwise_conv_2d_nhwc_hwcm depthwise_conv_2d_nhwc_hwcm_q depthwise_conv_3d_ncdhw_cdhw
depthwise_conv_3d_ndhwc_dhwc depthwise_conv_3d_ndhwc_dhwcm div div_unsigned dot elementwise erf
exp fill fill_rng_2d floor generic log map matmul matvec max min mmt4d mul negf pooling_nchw_max
pooling_nchw_sum pooling_ncw_max pooling_ncw_sum pooling_ndhwc_max pooling_ndhwc_min
pooling_ndhwc_sum pooling_nhwc_max pooling_nhwc_max_unsigned pooling_nhwc_min
pooling_nhwc_min_unsigned pooling_nhwc_sum pooling_nwc_max pooling_nwc_max_unsigned
pooling_nwc_min pooling_nwc_min_unsigned pooling_nwc_sum powf quantized_batch_matmul
quantized_matmul reciprocal reduce round rsqrt select sqrt square sub tanh transpose vecmat
"""
_STATIC_VECTORS = """
bitcast broadcast constant_mask contract create_mask deinterleave extract_strided_slice fma
from_elements insert_strided_slice interleave mask multi_reduction outerproduct reduction scan
shape_cast shuffle step to_elements transpose yield
"""
_ENDS = "the op ends a region, and reaches no memory"

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **_sizes(
            check_structured,
            "two sizes of one loop; a window, or another index that is computed, and its size",
            _of("linalg", _LINALG),
            _of("linalg_ext", "contract elementwise"),
        ),
        **_sizes(check_pack, "tiles and the packed tensor; a tile of no size", "linalg.pack"),
        **_sizes(check_unpack, "tiles and the unpacked tensor; a tile of no size", "linalg.unpack"),
        **_sizes(check_equal_shapes, "the shapes of operand and result", "linalg.softmax"),
        **_sizes(check_winograd_filter, "filters and tiles", "linalg.winograd_filter_transform"),
        **_sizes(check_winograd_input, "the image and tiles", "linalg.winograd_input_transform"),
        **_sizes(check_winograd_output, "the image and tiles", "linalg.winograd_output_transform"),
        **_safe("the position of a loop, which the verifier knows", "linalg.index"),
        **_safe(_ENDS, "linalg.yield tensor.yield linalg_ext.yield"),
        # tensor
        **_sizes(check_equal_shapes, "an open size and that of the type", "tensor.bitcast"),
        **_sizes(
            check_cast,
            "an open size and that of the type; the rank; the layout",
            "tensor.cast memref.cast bufferization.clone",
        ),
        **_sizes(
            check_expand,
            "a size and the product of those that it becomes",
            "tensor.expand_shape memref.expand_shape",
        ),
        **_sizes(check_collapse, "memory that does not lie in one piece", "memref.collapse_shape"),
        **_safe(
            "the verifier has its type follow from that of its operand", "tensor.collapse_shape"
        ),
        **_sizes(check_concat, "the sizes of its operands, and their sum", "tensor.concat"),
        **_sizes(
            check_given_sizes,
            "a size that is negative; more than memory can hold is found when it is allocated",
            _of("tensor", "empty generate splat"),
            _of("memref", "alloc alloca realloc"),
            "bufferization.alloc_tensor",
        ),
        **_sizes(
            check_reshape,
            "the number of elements of a shape that is computed",
            "tensor.reshape memref.reshape",
        ),
        **_sizes(
            check_pad,
            "amounts that are negative; the sum of amounts and size, where the type says it",
            "tensor.pad",
        ),
        **_lowered(ACCESSES, "each index: the op becomes single elements", "tensor.gather"),
        **_sizes(
            check_scatter,
            "the numbers of indices and of slices; each index, when it has become single elements",
            "tensor.scatter",
        ),
        **_accesses(check_read, "each index, or place", "tensor.extract memref.load"),
        **_accesses(
            check_written, "each index, or place", "tensor.insert memref.store memref.atomic_rmw"
        ),
        **_accesses(check_dimension, "the dimension, by its number", "tensor.dim memref.dim"),
        **_accesses(
            check_extraction,
            "the begin and the end of a slice",
            "tensor.extract_slice memref.subview",
        ),
        **_accesses(
            check_insertion,
            "the begin and the end of a slice, and the size of the inserted value",
            "tensor.insert_slice tensor.parallel_insert_slice",
        ),
        **_safe("the verifier counts its operands", "tensor.from_elements"),
        **_safe("a rank is not an access", "tensor.rank memref.rank"),
        # memref
        **_sizes(check_equal_shapes, "the shapes of source and destination", "memref.copy"),
        **_sizes(check_alignment, "the place of the first element", "memref.assume_alignment"),
        **_sizes(forget_promise, "operands that share memory", "memref.distinct_objects"),
        **_accesses(
            check_reinterpretation,
            "the memory of the result and that of the source",
            "memref.reinterpret_cast",
        ),
        **_accesses(check_view, "the bytes of the view and those of the buffer", "memref.view"),
        **_safe(
            "the op frees nothing: the compiler places the deallocations",
            "memref.dealloc bufferization.dealloc_tensor",
        ),
        **_safe("the verifier compares its type with that of the global", "memref.get_global"),
        **_safe("the type is static, and the initial value of that type", "memref.global"),
        **_safe(
            "the op takes a memref apart, and reads no element",
            _of("memref", "extract_aligned_pointer_as_index extract_strided_metadata"),
        ),
        **_safe("the result has the same elements, in another order", "memref.transpose"),
        **_safe("the result has the same elements", "memref.memory_space_cast"),
        **_safe(
            "the op changes nothing, and processors ignore a prefetch outside of memory",
            "memref.prefetch",
        ),
        **_safe("the region runs once, in place", "memref.alloca_scope"),
        **_safe(_ENDS, "memref.alloca_scope.return memref.atomic_yield"),
        **_safe(
            "the op is refused: it has no lowering",
            _of("memref", "dma_start dma_wait generic_atomic_rmw"),
            _of("vector", "print type_cast vscale"),
            "bufferization.dealloc",
        ),
        # vector
        **_accesses(
            check_consecutive, "the begin and the length of the access", "vector.load vector.store"
        ),
        **_accesses(
            check_transfer,
            "the begin of the access, and its length along dimensions that are marked in bounds",
            "vector.transfer_read vector.transfer_write",
        ),
        **_accesses(
            check_masked, "each lane that is chosen", "vector.maskedload vector.maskedstore"
        ),
        **_accesses(
            check_packed, "as many lanes as are chosen", "vector.expandload vector.compressstore"
        ),
        **_accesses(
            check_gather, "the index of each lane that is chosen", "vector.gather vector.scatter"
        ),
        **_accesses(check_position, "a position that is computed", "vector.extract vector.insert"),
        **_safe(
            "the sizes are in the types, and the op reaches no memory",
            _of("vector", _STATIC_VECTORS),
        ),
        **_safe(
            "the op is refused: vectors are of a fixed size",
            "vector.scalable.extract vector.scalable.insert",
        ),
        # bufferization
        **_sizes(
            check_equal_shapes,
            "the shapes of source and destination",
            "bufferization.materialize_in_destination",
        ),
        **_safe(
            "tensor and buffer are of one shape by their types",
            "bufferization.to_buffer bufferization.to_tensor",
        ),
        # affine
        **_accesses(
            check_consecutive,
            "the indices that the map gives",
            _of("affine", "load store vector_load vector_store"),
        ),
        # linalg_ext
        **_lowered(
            "linalg-ext-lower-concatenate",
            "the sizes of its operands, and their sum",
            "linalg_ext.concatenate",
        ),
        **_lowered(
            "linalg-ext-lower-reverse",
            "the shapes of operand and destination",
            "linalg_ext.reverse",
        ),
        **_lowered(
            "linalg-ext-lower-dynamic-broadcast",
            "a size that is neither 1 nor that of the destination",
            "linalg_ext.dynamic_broadcast_in_dim",
        ),
        **_lowered(
            "linalg-ext-lower-gather",
            "the number of indices, and a window larger than its operand; an index is clamped",
            "linalg_ext.gather",
        ),
        **_lowered(
            "linalg-ext-lower-scatter",
            "the numbers of indices and windows; a window out of bounds is left out",
            "linalg_ext.scatter",
        ),
        **_lowered("linalg-ext-lower-scan", "the shapes of the scanned tensors", "linalg_ext.scan"),
        **_lowered("linalg-ext-lower-sort", "the shapes of the sorted tensors", "linalg_ext.sort"),
        **_lowered(
            ACCESSES,
            "the begin and the end of a view: the op becomes a memref.subview",
            _of("linalg_ext", "slice tile intersection convex_union difference"),
        ),
        **_safe(
            "three numbers, which the slice that takes them is asked about", "linalg_ext.range"
        ),
        **_safe(
            "the ops in the region are checked one by one",
            _of("linalg_ext", "group isolated_group group_yield"),
        ),
        # gml_st
        **_lowered(
            ACCESSES,
            "the begin and the end of a set, and each of its elements: the op becomes "
            "slices, views, and single elements",
            _of("gml_st", "tile point filter materialize set_yield yield"),
        ),
        **_lowered(
            "linalg-ext-lower-subset-loops",
            "a step that is 0 or negative",
            _of("gml_st", "loop for parallel"),
        ),
        **_safe(
            "a set: its users are checked",
            _of(
                "gml_st", "space full drop_dims transpose_dims intersection convex_union difference"
            ),
        ),
        **_safe(
            "a number, or an answer: it reaches no memory",
            _of("gml_st", "offset size stride contains is_empty"),
        ),
        **_safe("the op is replaced right after parsing", "linalg_ext.spelled"),
    }
)
"""The rule of each op, by its name."""


def is_held(name: str) -> bool:
    """Return whether every op of the dialect of an op is in the table."""
    return name.partition(".")[0] in DIALECTS


def checked_by(part: str) -> Iterable[str]:
    """Return the ops that have a check of one part, `"sizes"` or `"accesses"`."""
    return [name for name, rule in RULES.items() if getattr(rule, part) is not None]
