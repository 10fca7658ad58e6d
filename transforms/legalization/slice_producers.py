"""Compute the slices of a result that are read, where no more of it is.

before:
    %e = linalg.generic {indexing_maps = [affine_map<(i) -> (-i + 99)>, affine_map<(i) -> (i)>],
                         iterator_types = ["parallel"]}
        ins(%a : tensor<100xf32>) outs(%o : tensor<100xf32>) {
    ^bb0(%x: f32, %old: f32):
      %y = math.exp %x : f32
      linalg.yield %y : f32
    } -> tensor<100xf32>
    %r = tensor.extract_slice %e[10] [5] [1] : tensor<100xf32> to tensor<5xf32>
after:
    %s = tensor.extract_slice %a[85] [5] [1] : tensor<100xf32> to tensor<5xf32>
    %p = tensor.empty() : tensor<5xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (-i + 4)>, affine_map<(i) -> (i)>],
                         iterator_types = ["parallel"]}
        ins(%s : tensor<5xf32>) outs(%p : tensor<5xf32>) {
    ^bb0(%x: f32, %old: f32):
      %y = math.exp %x : f32
      linalg.yield %y : f32
    } -> tensor<5xf32>

The last row of a product is the product of the last row, and the first few of sorted numbers need
no other number to be decoded. Slices move up through elementwise ops, products and fills. Where
several slices of a result are read, which together are more than half of it, it is computed once. A
check in a body stays, for all elements.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, ir, linalg
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.constants import index
from linalg_ext.structured.maps import (
    indexing_maps,
    iterators_attribute,
    maps_attribute,
)
from linalg_ext.symbolic.affine import AffineConst, AffineDim, AffineExpr, AffineMap, linear_terms
from linalg_ext.transforms.ir_utils.generics import input_count, loop_of, parallel_loops
from linalg_ext.transforms.ir_utils.tensor_loops import empty_like, extract_slice, inlined
from linalg_ext.transforms.ir_utils.walking import operations, producer

NAME = "linalg-ext-slice-producers"
OP = "tensor.extract_slice"

_PURE = ("arith.", "complex.", "index.", "linalg.index", "linalg.yield", "math.", "tensor.extract")


@module_pass(NAME, on=(OP,))
def slice_producers(module: ir.Operation) -> Report:
    """Compute slices of results in the place of whole results."""
    report = Report(NAME)
    waiting = {op: None for op in operations(module, {OP}) if _slice_of(op) is not None}
    refused: set[Any] = set()
    while waiting:
        op, _ = waiting.popitem()
        source = producer(op.operands[0])
        reads = None if source is None or source in refused else _reads(source)
        if source is None or reads is None:
            refused.add(source)
            continue
        report.matched[OP] += len(reads)
        for read, _ in reads:
            waiting.pop(read.op, None)
        for read, parts in reads:
            slices: list[Any] = []
            with source.location, ir.InsertionPoint(read.op):
                if source.name == "linalg.fill":
                    value = _filled(source, read)
                else:
                    value, slices = _computed(source, read, parts)
                read.op.results[0].replace_all_uses_with(_reduced(value, read))
            waiting.update((op, None) for op in slices if _slice_of(op) is not None)
            read.op.erase()
        # Its operands are read by fewer ops now.
        refused -= {producer(value) for value in source.operands}
        source.erase()
        report.changed[OP] += len(reads)
    return report


@dataclass(frozen=True)
class _Slice:
    """A slice without gaps of which all numbers are known."""

    op: Any
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def elements(self) -> int:
        return math.prod(self.sizes)


def _slice_of(op: Any) -> _Slice | None:
    """Return the numbers of a slice; None where they are not known, or it has gaps."""
    offsets, sizes, strides = (
        tuple(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    )
    is_known = len(op.operands) == 1 and ir.ShapedType(op.operands[0].type).has_static_shape
    return _Slice(op, offsets, sizes) if is_known and set(strides) <= {1} else None


def _reads(source: Any) -> list[tuple[_Slice, list[_Part]]] | None:
    """Return the slices of an op's result if they alone are read, and can be computed alone.

    Each comes with the parts of the operands of a generic that it needs; a fill has none.
    """
    if len(source.results) != 1:
        return None
    reads: list[_Slice] = []
    for use in source.results[0].uses:
        user = use.owner.operation
        read = _slice_of(user) if user.name == OP and user.block == source.block else None
        if read is None:
            return None
        reads.append(read)
    whole = math.prod(source.results[0].type.shape)
    if 2 * sum(read.elements for read in reads) > whole:
        return None
    if source.name == "linalg.fill":
        return [(read, []) for read in reads]
    if source.name != "linalg.generic" or not _is_pure(source):
        return None
    needed = [(read, parts) for read in reads if (parts := _parts(source, read)) is not None]
    return needed if len(needed) == len(reads) else None


def _is_pure(op: Any) -> bool:
    body = op.regions[0].blocks[0]
    names = [inner.operation.name for inner in body.operations]
    return all(name.startswith(_PURE) for name in names)


@dataclass(frozen=True)
class _Part:
    """The part of an operand that a slice of the result needs, and its map from the loops of that.

    Attributes:
        offsets, sizes: of the part; None for the whole.
        map: from the loops to its elements.
    """

    offsets: tuple[int, ...] | None
    sizes: tuple[int, ...]
    map: AffineMap


def _parts(op: Any, read: _Slice) -> list[_Part] | None:
    """Return the part of each operand that a slice of a generic's result needs.

    None where an index of an operand is more than a sliced loop, a constant and a sign.
    """
    maps = indexing_maps(op)
    if not all(isinstance(expr, AffineDim) for expr in maps[-1].results):
        return None
    names = [expr.name for expr in maps[-1].results if isinstance(expr, AffineDim)]
    if len(set(names)) < len(names):
        return None
    ranges = dict(zip(names, zip(read.offsets, read.sizes, strict=True), strict=True))
    whole = dict(zip(names, op.results[0].type.shape, strict=True))
    sliced = {name: part for name, part in ranges.items() if part != (0, whole[name])}
    parts: list[_Part] = []
    for value, map_ in zip(op.operands, maps, strict=True):
        if not isinstance(value.type, ir.RankedTensorType):
            parts.append(_Part(None, (), map_))
            continue
        if not value.type.has_static_shape:
            return None
        shape = list(value.type.shape)
        offsets, results = [0] * len(shape), list(map_.results)
        for axis, expr in enumerate(map_.results):
            if not set(expr.dims) & set(sliced):
                continue
            place = _place(expr, sliced)
            if place is None:
                return None
            offsets[axis], shape[axis], results[axis] = place
        is_whole = shape == list(value.type.shape)
        new = AffineMap(map_.dims, map_.symbols, tuple(results))
        parts.append(_Part(None if is_whole else tuple(offsets), tuple(shape), new))
    return parts


def _place(
    expr: AffineExpr, sliced: dict[str, tuple[int, int]]
) -> tuple[int, int, AffineExpr] | None:
    """Return where an index begins for a slice of its loop, its range, and the index in that."""
    terms = linear_terms(expr)
    if terms is None or len(terms[0]) != 1:
        return None
    ((name, factor),) = terms[0].items()
    first, size = sliced[name]
    if factor == 1:
        return first + terms[1], size, AffineDim(name)
    if factor == -1:
        last = AffineConst(size - 1) - AffineDim(name)
        return terms[1] - (first + size - 1), size, last
    return None


def _computed(op: Any, read: _Slice, parts: Sequence[_Part]) -> tuple[Any, list[Any]]:
    """Return a slice of a generic's result, and the slices of its operands that were made."""
    body = op.regions[0].blocks[0]
    count, old = input_count(op), body.arguments[len(body.arguments) - 1]
    slices: list[Any] = []
    operands: list[Any] = []
    for number, (value, part) in enumerate(zip(op.operands, parts, strict=True)):
        if number == count and not list(old.uses):
            operands.append(empty_like(value.type, part.sizes))
        elif part.offsets is None:
            operands.append(value)
        else:
            operands.append(extract_slice(value, part.offsets, part.sizes))
            slices.append(operands[-1].owner.operation)
    kinds = ["parallel" if is_one else "reduction" for is_one in parallel_loops(op)]
    generic = linalg.GenericOp(
        [ir.RankedTensorType.get(parts[-1].sizes, op.results[0].type.element_type)],
        operands[:count],
        operands[count:],
        maps_attribute([part.map for part in parts]),
        iterators_attribute(kinds),
    )
    block = generic.regions[0].blocks.append(*(argument.type for argument in body.arguments))
    with ir.InsertionPoint(block):
        linalg.YieldOp(inlined(body, list(block.arguments)))
    _move_positions(op, block, read)
    for name in op.attributes:
        if name not in generic.attributes:  # such as the group that it is in
            generic.attributes[name] = op.attributes[name]
    return generic.results[0], slices


def _move_positions(op: Any, block: Any, read: _Slice) -> None:
    """Have the positions in a body be those in the whole result."""
    names = [expr.name for expr in indexing_maps(op)[-1].results if isinstance(expr, AffineDim)]
    loops = list(indexing_maps(op)[0].dims)
    first = {loops.index(name): at for name, at in zip(names, read.offsets, strict=True)}
    for position in [inner.operation for inner in block.operations]:
        if position.name == "linalg.index" and first.get(loop_of(position)):
            with ir.InsertionPoint.after(position):
                moved: Any = arith.AddIOp(position.results[0], index(first[loop_of(position)]))
            position.results[0].replace_all_uses_except(moved.result, moved.operation)


def _filled(op: Any, read: _Slice) -> Any:
    init = empty_like(op.results[0].type, read.sizes)
    return linalg.fill(op.operands[0], outs=[init])


def _reduced(value: Any, read: _Slice) -> Any:
    """Return a value without the axes that a slice drops."""
    shape = list(read.op.results[0].type.shape)
    dropped = len(read.sizes) - len(shape)
    if not dropped:
        return value
    axes = next(
        axes
        for axes in itertools.combinations(range(len(read.sizes)), dropped)
        if [size for axis, size in enumerate(read.sizes) if axis not in axes] == shape
    )
    return extract_slice(value, [0] * len(read.sizes), read.sizes, axes)
