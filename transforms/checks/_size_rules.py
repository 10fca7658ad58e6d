"""Conditions on the sizes of ops, structured ones and others: casts, reshapes, packs, pads, ...

The extent of a loop is the size of each dimension that its variable alone indexes. Two sizes of one
loop are equal. A computed index, such as `d0 * 2 + d3` of a window, stays within its size. No check
depends on the trip counts: a loop that does not run has sizes, too.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from linalg_ext.bindings import affine, arith, ir, memref, tensor
from linalg_ext.structured.constants import index
from linalg_ext.structured.loops import either, nest_over
from linalg_ext.structured.maps import indexing_maps
from linalg_ext.structured.operands import to_ir_map
from linalg_ext.symbolic.affine import (
    AffineBinary,
    AffineConst,
    AffineDim,
    AffineExpr,
    AffineKind,
    AffineMap,
    linear_terms,
)
from linalg_ext.transforms.analysis.buffers import element_bytes
from linalg_ext.transforms.ir_utils.tensor_loops import add, as_index, compare, mul, sub
from linalg_ext.transforms.ir_utils.walking import text_of

from ._assertions import DYNAMIC, Bounds, as_condition, mixed, operand_groups

_RANKED = ir.RankedTensorType | ir.MemRefType


def check_equal_shapes(op: Any, bounds: Bounds) -> None:
    """Check that operands and results are of one shape, as of elementwise ops and copies."""
    ranked = [value for value in op.operands if isinstance(value.type, _RANKED)]
    if not ranked:
        return
    first = ranked[0]
    for axis in range(first.type.rank):
        length = bounds.size(first, axis)
        for number, value in enumerate(ranked[1:], 1):
            bounds.equal(
                bounds.size(value, axis),
                length,
                f"dimension #{axis} of input/output operand #{number} is incompatible with that "
                "of operand #0: they are of one shape",
            )
        for result in op.results:
            if isinstance(result.type, _RANKED):
                _check_static(result.type, axis, length, bounds)


def _check_static(type_: Any, axis: int, length: Any, bounds: Bounds) -> None:
    """Require that a static size of a type is the actual one."""
    if not type_.is_dynamic_dim(axis):
        bounds.equal(
            length,
            type_.get_dim_size(axis),
            f"dimension #{axis} of the result is not {type_.get_dim_size(axis)} long, as its type "
            "says",
        )


def check_cast(op: Any, bounds: Bounds) -> None:
    """`tensor.cast`, `memref.cast`, `bufferization.clone`: the static sizes are the actual ones."""
    source: Any = op.operands[0]
    type_: Any = op.results[0].type
    if not isinstance(type_, _RANKED):
        return
    if not isinstance(source.type, _RANKED):
        _check_unranked_cast(source, type_, bounds)
        return
    for axis in range(type_.rank):
        _check_static(type_, axis, bounds.size(source, axis), bounds)
    if not isinstance(type_, ir.MemRefType) or op.name == "bufferization.clone":
        return
    from_: Any = source.type
    if from_.layout == type_.layout:
        return
    result_layout, source_layout = (view.get_strides_and_offset() for view in (type_, from_))
    expected = [*result_layout[0], result_layout[1]]
    if all(
        static in (actual, DYNAMIC)
        for static, actual in zip(expected, [*source_layout[0], source_layout[1]], strict=True)
    ):
        return
    _, offset, *rest = memref.ExtractStridedMetadataOp(source).results
    for static, actual in zip(expected, [*rest[type_.rank :], offset], strict=True):
        if static != DYNAMIC:
            bounds.equal(
                actual, static, "the memory of the operand does not fit the layout of the result"
            )


def _check_unranked_cast(source: Any, type_: Any, bounds: Bounds) -> None:
    """Check the rank, and then the static sizes."""
    is_tensor = isinstance(type_, ir.RankedTensorType)
    rank, dim = (tensor.rank, tensor.dim) if is_tensor else (memref.rank, memref.dim)
    fits: Any = compare("eq", rank(source), type_.rank)
    bounds.holds(fits, f"the operand is not of rank {type_.rank}")
    for axis in range(type_.rank):
        if not type_.is_dynamic_dim(axis):
            # A tensor of a lower rank may lack the axis: its first size is read instead.
            known_axis = arith.select(fits, index(axis), index(0))
            _check_static(type_, axis, dim(source, known_axis), bounds)


def check_given_sizes(op: Any, bounds: Bounds) -> None:
    """Check `tensor.empty`, `memref.alloc`, ...: sizes that are given are not negative."""
    bounds.not_negative(
        bounds.number(value) for value in op.operands if isinstance(value.type, ir.IndexType)
    )


def check_expand(op: Any, bounds: Bounds) -> None:
    """Check `expand_shape`: each dimension is the product of those that it becomes."""
    source, *dynamic = op.operands
    sizes = [bounds.number(size) for size in mixed(op, "static_output_shape", dynamic)]
    bounds.not_negative(sizes)
    for axis, group in enumerate(_groups(op)):
        reason = f"dimension #{axis} of its operand is not the product of dimensions {group}"
        product = bounds.product((sizes[part] for part in group), reason)
        bounds.equal(bounds.size(source, axis), product, reason)


def check_collapse(op: Any, bounds: Bounds) -> None:
    """Check `collapse_shape`: of memory, dimensions that become one lie one behind the other."""
    (source,) = op.operands
    strides, _ = source.type.get_strides_and_offset()
    rank = source.type.rank
    if source.type.affine_map == ir.AffineMap.get_identity(rank) or DYNAMIC not in strides:
        return
    sizes = bounds.sizes(source)
    _, _, *rest = memref.ExtractStridedMetadataOp(source).results
    steps = [
        step if static == DYNAMIC else static
        for step, static in zip(rest[rank:], strides, strict=True)
    ]
    for group in _groups(op):
        for outer, inner in itertools.pairwise(group):
            if sizes[outer] == 1:
                continue
            behind = compare("eq", steps[outer], mul(steps[inner], sizes[inner]))
            bounds.holds(
                arith.ori(behind, compare("sle", sizes[outer], 1)),
                f"dimensions {outer} and {inner} of its operand do not lie one behind the other",
            )


def _groups(op: Any) -> list[list[int]]:
    return [
        [ir.IntegerAttr(dim).value for dim in ir.ArrayAttr(group)]
        for group in ir.ArrayAttr(op.attributes["reassociation"])
    ]


def check_reshape(op: Any, bounds: Bounds) -> None:
    """Check `reshape` to a shape that is computed: it has as many elements as there are."""
    source, shape = op.operands
    type_ = op.results[0].type
    if not (isinstance(source.type, _RANKED) and isinstance(type_, _RANKED)):
        return
    load = tensor.extract if isinstance(type_, ir.RankedTensorType) else memref.load
    sizes = [as_index(load(shape, [index(axis)])) for axis in range(type_.rank)]
    bounds.not_negative(sizes)
    for axis, size in enumerate(sizes):
        _check_static(type_, axis, size, bounds)
    reason = "the shape has another number of elements: some would be out of bounds"
    bounds.equal(
        bounds.product(bounds.sizes(source), reason), bounds.product(sizes, reason), reason
    )


def check_concat(op: Any, bounds: Bounds) -> None:
    """Check `tensor.concat`: the others are as large as the first, but along one dimension."""
    along, type_ = ir.IntegerAttr(op.attributes["dim"]).value, op.results[0].type
    first, *rest = op.operands
    total = bounds.size(first, along)
    for number, value in enumerate(rest, 1):
        before, total = total, add(total, bounds.size(value, along))
        bounds.at_most(before, total, f"dimension #{along} would be longer than 2^63 - 1")
        for axis in range(type_.rank):
            if axis != along:
                bounds.equal(
                    bounds.size(value, axis),
                    bounds.size(first, axis),
                    f"dimension #{axis} of operand #{number} is not as long as that of operand #0",
                )
    for axis in range(type_.rank):
        _check_static(type_, axis, total if axis == along else bounds.size(first, axis), bounds)


def check_pad(op: Any, bounds: Bounds) -> None:
    """`tensor.pad`: amounts that are computed are not negative, and the result has these sizes."""
    (source,), low, high = operand_groups(op)
    type_ = op.results[0].type
    for amount in (*low, *high):
        bounds.at_most(0, amount, "a negative amount: its operand would be put out of bounds")
    amounts = (
        [bounds.number(amount) for amount in mixed(op, name, group)]
        for name, group in (("static_low", low), ("static_high", high))
    )
    for axis, (before, after) in enumerate(zip(*amounts, strict=True)):
        length = add(add(before, bounds.size(source, axis)), after)
        _check_static(type_, axis, length, bounds)
        if any(isinstance(amount, int) and amount < 0 for amount in (before, after)):
            bounds.at_most(0, length, f"less than nothing is left of dimension #{axis}")
        elif not isinstance(before, int) or not isinstance(after, int):
            # A sum that leaves 64 bits is less than each of its parts.
            bounds.at_most(before, length, f"dimension #{axis} would be longer than 2^63 - 1")


def check_scatter(op: Any, bounds: Bounds) -> None:
    """Check `tensor.scatter`: a slice for each of the indices, of the size of the destination."""
    slices, target, indices = op.operands
    dims = list(ir.DenseI64ArrayAttr(op.attributes["scatter_dims"]))
    batch = indices.type.rank - 1
    sizes = bounds.sizes(indices)[:batch]
    for axis in range(target.type.rank):
        if axis not in dims:
            sizes.append(bounds.size(target, axis))
        elif slices.type.rank - batch == target.type.rank:
            sizes.append(1)  # the dimensions that are indexed stay
    for axis, size in enumerate(sizes):
        bounds.equal(
            bounds.size(slices, axis),
            size,
            f"dimension #{axis} of the scattered tensor does not fit the indices and the "
            "destination",
        )


def check_pack(op: Any, bounds: Bounds) -> None:
    """Check `linalg.pack`: whole tiles are made, and all of its operand is in them."""
    (source,), (packed,), padding, dynamic = operand_groups(op)
    for axis, length, count, tile in _tiled_axes(op, source, packed, dynamic, bounds):
        reason = f"the tiles of dimension #{axis} do not hold the packed tensor"
        bounds.at_most(_tile_count(length, tile), count, reason)
        if not padding:
            bounds.equal(bounds.product((count, tile), reason), length, reason)


def check_unpack(op: Any, bounds: Bounds) -> None:
    """Check `linalg.unpack`: there are tiles for all that is unpacked."""
    packed, result, *dynamic = op.operands
    for axis, length, count, tile in _tiled_axes(op, result, packed, dynamic, bounds):
        reason = f"dimension #{axis} has too few tiles"
        bounds.at_most(_tile_count(length, tile), count, reason)


def _tiled_axes(
    op: Any, plain: Any, packed: Any, dynamic: Sequence[Any], bounds: Bounds
) -> Iterator[tuple[int, Any, Any, Any]]:
    """Give each axis that has tiles: with its length, how many tiles there are, and their size.

    The others must be as long as they are when packed.
    """
    rank = plain.type.rank
    tiles = _tiles(op, packed, rank, dynamic, bounds)
    for axis, packed_axis in enumerate(_outer_axes(op, rank)):
        length, count = bounds.size(plain, axis), bounds.size(packed, packed_axis)
        if axis in tiles:
            yield axis, length, count, tiles[axis]
        else:
            reason = (
                f"dimension #{axis} is not as long as dimension #{packed_axis} of the packed tensor"
            )
            bounds.equal(length, count, reason)


def _tiles(
    op: Any, packed: Any, rank: int, dynamic: Sequence[Any], bounds: Bounds
) -> dict[int, Any]:
    sizes = [bounds.number(size) for size in mixed(op, "static_inner_tiles", dynamic)]
    for packed_axis, size in enumerate(sizes, rank):
        bounds.at_most(1, size, "a tile is of no size")
        bounds.equal(
            bounds.size(packed, packed_axis),
            size,
            f"dimension #{packed_axis} of the packed tensor is not as long as the tile that is "
            "said",
        )
    return dict(zip(ir.DenseI64ArrayAttr(op.attributes["inner_dims_pos"]), sizes, strict=True))


def _outer_axes(op: Any, rank: int) -> list[int]:
    """Return for each axis of the plain tensor the axis of its tiles in the packed one."""
    if "outer_dims_perm" not in op.attributes:
        return list(range(rank))
    order = list(ir.DenseI64ArrayAttr(op.attributes["outer_dims_perm"]))
    return [order.index(axis) for axis in range(rank)] if order else list(range(rank))


def _tile_count(length: Any, tile: Any) -> Any:
    if isinstance(length, int) and isinstance(tile, int):
        return -(-length // max(1, tile))
    # A tile of no size is refused, and must not divide.
    return arith.ceildivsi(index(length), arith.maxsi(index(tile), index(1)))


def check_winograd_filter(op: Any, bounds: Bounds) -> None:
    """Check `linalg.winograd_filter_transform`: filters (F, H, W, C) into (H', W', C, F)."""
    source, result = op.operands
    winograd = _Winograd(op, bounds)
    winograd.keeps(source, result, {0: 3, 3: 2})
    for axis in (1, 2):
        is_flat = _is_one(source, axis)
        winograd.equal(source, axis, 1 if is_flat else winograd.taps)
        winograd.equal(result, axis - 1, 1 if is_flat else winograd.size)


def check_winograd_input(op: Any, bounds: Bounds) -> None:
    """`linalg.winograd_input_transform`: images (N, H, W, C) into (H', W', tiles, tiles, N, C)."""
    source, result = op.operands
    winograd = _Winograd(op, bounds)
    winograd.keeps(source, result, {0: 4, 3: 5})
    for axis in (1, 2):
        length, tiles = bounds.size(source, axis), bounds.size(result, axis + 1)
        if _is_one(result, axis - 1):
            winograd.equal(source, axis, tiles)
            continue
        winograd.equal(result, axis - 1, winograd.size)
        bounds.at_most(tiles, length, f"dimension #{axis} of the image has fewer tiles")
        covered = add(mul(tiles, winograd.outputs), winograd.taps - 1)
        bounds.at_most(covered, length, f"dimension #{axis} of the image has fewer tiles")


def check_winograd_output(op: Any, bounds: Bounds) -> None:
    """`linalg.winograd_output_transform`: (H', W', tiles, tiles, N, F) into images (N, H, W, F)."""
    source, result = op.operands
    winograd = _Winograd(op, bounds)
    winograd.keeps(source, result, {4: 0, 5: 3})
    for axis in (0, 1):
        tiles, is_flat = bounds.size(source, axis + 2), _is_one(source, axis)
        winograd.equal(source, axis, 1 if is_flat else winograd.size)
        reason = f"dimension #{axis + 1} of the image has another number of tiles"
        outputs = 1 if is_flat else winograd.outputs
        bounds.equal(
            bounds.product((tiles, outputs), reason), bounds.size(result, axis + 1), reason
        )


class _Winograd:
    """A transform of Winograd's: F(outputs, taps), in tiles of a size."""

    def __init__(self, op: Any, bounds: Bounds) -> None:
        self.bounds = bounds
        name = re.search(r"fmr\(F_(\d+)_(\d+)\)", text_of(op))
        self.outputs, self.taps = map(int, name.groups()) if name else (1, 1)
        self.size = self.outputs + self.taps - 1

    def keeps(self, source: Any, result: Any, axes: Mapping[int, int]) -> None:
        """Check that dimensions are equal to those of the result, at other axes."""
        for axis, result_axis in axes.items():
            self.equal(source, axis, self.bounds.size(result, result_axis))

    def equal(self, value: Any, axis: int, size: Any) -> None:
        reason = f"dimension #{axis} of {value.type} does not fit the other operand"
        self.bounds.equal(self.bounds.size(value, axis), size, reason)


def _is_one(value: Any, axis: int) -> bool:
    return bool(value.type.get_dim_size(axis) == 1)


def forget_promise(op: Any, bounds: Bounds) -> None:
    """`memref.distinct_objects`: its promise that its operands share no memory is not trusted."""
    for result, operand in zip(op.results, op.operands, strict=True):
        result.replace_all_uses_with(operand)
    op.erase()


def check_alignment(op: Any, bounds: Bounds) -> None:
    """Check `memref.assume_alignment`: the first element is at a multiple of the alignment."""
    (source,) = op.operands
    alignment = ir.IntegerAttr(op.attributes["alignment"]).value
    start = memref.extract_aligned_pointer_as_index(source)
    _, offset, *_ = memref.ExtractStridedMetadataOp(source).results
    start = add(start, mul(offset, element_bytes(source.type.element_type)))
    rest = arith.andi(start, index(alignment - 1))
    bounds.equal(rest, 0, f"memref is not aligned to {alignment}")


_FEW = 1 << 16
"""The most places of an index that are checked one by one at compile time."""

_MOST = 1 << 62


def check_structured(op: Any, bounds: Bounds) -> None:
    """Check the sizes of an op with indexing maps."""
    check_maps(op.operands, indexing_maps(op), bounds)


def check_maps(operands: Sequence[Any], maps: Sequence[AffineMap], bounds: Bounds) -> None:
    """Check the sizes of operands with an indexing map for each."""
    loops: dict[str, tuple[Any, int, int]] = {}
    computed: list[tuple[int, int]] = []
    for number, (value, map_) in enumerate(zip(operands, maps, strict=True)):
        for axis, expr in enumerate(map_.results):
            if not isinstance(expr, AffineDim):
                computed.append((number, axis))
                continue
            size = bounds.size(value, axis)
            length, other, other_axis = loops.setdefault(expr.name, (size, number, axis))
            if length is not size and length != size:
                bounds.equal(
                    size,
                    length,
                    f"{_dimension(number, axis)} with dimension #{other_axis} of operand #{other}: "
                    "they are of one loop",
                )
    lengths = {dim: length for dim, (length, _, _) in loops.items()}
    for number, axis in computed:
        check_index(operands[number], number, axis, maps[number], lengths, bounds)


def _dimension(number: int, axis: int) -> str:
    return f"dimension #{axis} of input/output operand #{number} is incompatible"


def check_index(
    value: Any,
    number: int,
    axis: int,
    map_: AffineMap,
    lengths: Mapping[str, Any],
    bounds: Bounds,
) -> None:
    """Check that an index computed from loop positions stays within its size."""
    expr, size = map_.results[axis], bounds.size(value, axis)
    dims = [dim for dim in map_.dims if dim in expr.dims]
    extents = [lengths[dim] for dim in dims]
    if any(isinstance(length, int) and length == 0 for length in extents):
        return
    reason = f"{_dimension(number, axis)}: the index {expr} leaves it"
    is_exact = linear_terms(expr) is not None
    least, most = _span(expr, lengths)
    if all(isinstance(end, int) for end in (least, most, size)):
        if least >= 0 and most < size:
            return
        if is_exact:
            bounds.holds(False, reason)
            return
        static = [length for length in extents if isinstance(length, int)]
        if math.prod(static) <= _FEW:
            bounds.holds(
                all(0 <= position < size for position in _positions_of(expr, dims, static)), reason
            )
            return
    inside: Any = True
    if not (isinstance(least, int) and least >= 0):
        inside = compare("sle", 0, least)
    below = compare("slt", most, size)
    inside = below if inside is True else arith.andi(inside, below)
    limit = _MOST // max(1, _weight(expr))
    for length in extents:
        if not isinstance(length, int):
            # No step of the computation is beyond 63 bits.
            inside = arith.andi(inside, compare("sle", length, limit))
            if is_exact:
                inside = arith.ori(inside, compare("eq", length, 0))
    bounds.holds(
        inside if is_exact else _every_position(inside, map_, axis, dims, extents, size), reason
    )


def _every_position(
    inside: Any,
    map_: AffineMap,
    axis: int,
    dims: Sequence[str],
    lengths: Sequence[Any],
    size: Any,
) -> Any:
    """Return True if the ends are inside, else whether every position that occurs is."""

    def look(positions: Sequence[Any], so_far: Sequence[Any]) -> Sequence[Any]:
        by_dim = dict(zip(dims, positions, strict=True))
        operands = [by_dim.get(dim, index(0)) for dim in map_.dims]
        position = affine.AffineApplyOp(to_ir_map(map_).get_submap([axis]), operands).result
        fits = arith.andi(compare("sle", 0, position), compare("slt", position, size))
        return [arith.andi(so_far[0], fits)]

    def every() -> list[Any]:
        return nest_over(lengths, [as_condition(True)], look)

    return either(inside, lambda: [as_condition(True)], every, [inside])[0]


def _positions_of(expr: AffineExpr, dims: Sequence[str], lengths: Sequence[int]) -> Iterator[int]:
    names = [AffineDim(dim) for dim in dims]
    for indices in itertools.product(*(range(length) for length in lengths)):
        yield expr.evaluate(dict(zip(names, indices, strict=True)))


def _weight(expr: AffineExpr) -> int:
    """Return the sum of all factors and constants, a bound of the expression's growth."""
    if isinstance(expr, AffineConst):
        return abs(expr.value)
    if not isinstance(expr, AffineBinary):
        return 1
    left, right = _weight(expr.lhs), _weight(expr.rhs)
    return left * right if expr.kind is AffineKind.MUL else left + right


def _span(expr: AffineExpr, lengths: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the least and the greatest that an expression can be: numbers, or values."""
    if isinstance(expr, AffineConst):
        return expr.value, expr.value
    if isinstance(expr, AffineDim):
        return 0, sub(lengths[expr.name], 1)
    if not isinstance(expr, AffineBinary):
        raise TypeError(f"{expr} is a symbol, in a map without any")
    (least, most), by = _span(expr.lhs, lengths), _span(expr.rhs, lengths)
    (factor, _) = by
    match expr.kind:
        case AffineKind.ADD:
            return add(least, by[0]), add(most, by[1])
        case AffineKind.MUL:
            ends = mul(least, factor), mul(most, factor)
            return ends if factor >= 0 else ends[::-1]
        case AffineKind.CEILDIV:
            least, most = (add(end, factor - 1) for end in (least, most))
            return _divided(least, factor), _divided(most, factor)
    low, high = (_divided(end, factor) for end in (least, most))
    if expr.kind is AffineKind.FLOORDIV:
        return low, high
    return _remainders(least, most, low, high, factor)


def _divided(value: Any, by: int) -> Any:
    return value // by if isinstance(value, int) else arith.floordivsi(value, index(by))


def _remainders(least: Any, most: Any, low: Any, high: Any, by: int) -> tuple[Any, Any]:
    """Return the range of remainders of a range: all, unless no multiple lies in it."""
    ends = sub(least, mul(low, by)), sub(most, mul(high, by))
    if isinstance(low, int) and isinstance(high, int):
        return ends if low == high else (0, by - 1)
    same = compare("eq", low, high)
    return (
        arith.select(same, index(ends[0]), index(0)),
        arith.select(same, index(ends[1]), index(by - 1)),
    )
