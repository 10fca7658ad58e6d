"""Perfect nests of loops over buffers raised to structured ops, wherever they stand."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from linalg_ext.bindings import ir, linalg
from linalg_ext.dialects.gml_st.ir.sets import is_defined_inside
from linalg_ext.errors import SubsetError
from linalg_ext.rewriting import MatchFailure, Report
from linalg_ext.structured.indices import IndexReader
from linalg_ext.structured.maps import iterators_attribute, maps_attribute
from linalg_ext.structured.operands import producer
from linalg_ext.structured.sizes import size_of, sizes_of, value_of
from linalg_ext.structured.views import Placement, is_view, subview
from linalg_ext.symbolic.affine import AffineConst, AffineDim, AffineExpr, AffineMap
from linalg_ext.symbolic.index_sets import Tile, check_within
from linalg_ext.symbolic.integers import Number, Symbol, is_eq, maximum, total
from linalg_ext.transforms.codegen.vectorization.reductions import combining_op
from linalg_ext.transforms.ir_utils.walking import copied, operations

from ._bands import (
    FOR,
    Band,
    Level,
    Linear,
    Memory,
    band_of,
    computed_from,
    induction_variable,
    is_load,
    is_pure,
    linear,
    read_values,
)

PARALLEL = "scf.parallel"
WAS_PARALLEL = "linalg_ext.was_parallel"
"""Attribute of an `scf.for` that was an `scf.parallel`."""

ON_TENSORS = "the loop is on tensors: linalg-ext-raise-loops takes it as it is"


def raise_nests(root: ir.Operation, report: Report) -> None:
    """Raise every perfect nest below an op, at any depth, except those on tensors."""
    report.matched[FOR] += len(operations(root, [FOR]))
    for loop in outermost(root):
        _raise(loop, report)


def outermost(root: ir.Operation) -> list[ir.Operation]:
    """Return the loops below an op that are in no other one there."""
    loops: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name != FOR or op == root:
            return ir.WalkResult.ADVANCE
        loops.append(op)
        return ir.WalkResult.SKIP

    root.walk(visit, ir.WalkOrder.PRE_ORDER)
    return loops


def is_tensor(value: ir.Value) -> bool:
    """Return whether a value is a tensor of any kind."""
    return isinstance(value.type, ir.RankedTensorType | ir.UnrankedTensorType)


def is_on_tensors(loop: ir.Operation) -> bool:
    """Return whether a nest carries tensors or reads elements of them."""
    return any(map(is_tensor, read_values([loop])))


def with_location(loop: ir.Operation, reason: str) -> str:
    """Return the reason that a loop is left, with the loop's location if known."""
    where = str(loop.location).removeprefix("loc(").removesuffix(")")
    name = PARALLEL if WAS_PARALLEL in loop.attributes else loop.name
    return reason if where == "unknown" else f"{reason} ({name} at {where})"


def _raise(loop: ir.Operation, report: Report) -> None:
    """Raise the nest that begins with a loop; else those inside."""
    band = band_of(loop, SizeReader())
    answer = band if isinstance(band, MatchFailure) else raised(band)
    if answer is None:
        report.changed[FOR] += len(operations(loop, [FOR]))
        loop.erase()
        return
    if not is_on_tensors(loop):
        report.leave(FOR, with_location(loop, answer.reason))
    for inner in outermost(loop):
        _raise(inner, report)


_STORE = "memref.store"


@dataclass
class _Element:
    """An element of a buffer that an iteration reads or writes: an operand of the op.

    Attributes:
        view: where it is.
        ops: the loads and stores of it, in order.
    """

    view: ElementView
    ops: list[ir.Operation] = field(default_factory=list)

    @property
    def stores(self) -> list[ir.Operation]:
        return [op for op in self.ops if op.name == _STORE]

    @property
    def is_written(self) -> bool:
        return bool(self.stores)


def raised(band: Band) -> MatchFailure | None:
    """Build a band as `linalg.generic` in front of it; why not, where that cannot be.

    The band itself stays.
    """
    if any(level.count == 0 for level in band.levels):
        return MatchFailure("the nest never runs")
    elements = _elements(band)
    if isinstance(elements, MatchFailure):
        return elements
    outputs = [element for element in elements if element.is_written]
    if not outputs:
        return MatchFailure("the nest writes no memory")
    if not all(output.view.map(_dims(band)).is_projected_permutation for output in outputs):
        return MatchFailure(
            "the nest writes at sums of induction variables, or at one of them twice"
        )
    parts = _parts(band, elements, outputs)
    if isinstance(parts, MatchFailure):
        return parts
    for part, kinds in parts:
        results = [element for element in part if element.is_written]
        if "reduction" in kinds and not all(map(_is_combined, results)):
            return MatchFailure("the iterations do not combine results by one associative op")
    with band.outermost.location, ir.InsertionPoint(band.outermost):
        for part, kinds in parts:
            _build(band, part, kinds)
    return None


def _parts(
    band: Band, elements: Sequence[_Element], outputs: Sequence[_Element]
) -> list[tuple[list[_Element], tuple[str, ...]]] | MatchFailure:
    """Results indexed by the same loops, each after its operands, and the iterator types."""
    groups: dict[frozenset[str], list[_Element]] = {}
    for output in outputs:
        groups.setdefault(output.view.dims, []).append(output)
    inputs = [element for element in elements if not element.is_written]
    parts: list[tuple[list[_Element], tuple[str, ...]]] = []
    for parallel, group in groups.items():
        read = inputs
        if len(groups) > 1:
            stored = [op.operands[0] for output in group for op in output.stores]
            needed = _needed(band, stored)
            reached = [element for element in elements if not needed.isdisjoint(element.ops)]
            if any(element.is_written and element not in group for element in reached):
                return MatchFailure("the nest computes results of some loops from those of others")
            read = [element for element in inputs if element in reached]
        kinds = _iterator_types(band, [*read, *group], parallel)
        if isinstance(kinds, MatchFailure):
            return kinds
        parts.append(([*read, *group], kinds))
    return parts


def _elements(band: Band) -> list[_Element] | MatchFailure:
    """Return the elements that an iteration accesses, each once."""
    body = band.outermost.regions[0].blocks[0]
    loops, memory = [level.loop for level in band.levels], Memory()
    read = SizeReader()
    by_index: dict[tuple[ir.Value, tuple[Linear, ...]], _Element] = {}
    for op in band.ops:
        is_store = op.name == _STORE
        if not is_store and not is_load(op):
            if not is_pure(op):
                return MatchFailure(f"{op.name} in it does more than read, compute and write")
            continue
        buffer, *values = list(op.operands)[int(is_store) :]
        if is_defined_inside(buffer, body):
            return MatchFailure(
                "the body reads through views that it makes: run fold-memref-alias-ops first"
            )
        forms = [linear(read(value), loops, read) for value in values]
        indices = tuple(index for index in forms if index is not None)
        if len(indices) < len(forms):
            return MatchFailure("an index is more than a sum of multiples of induction variables")
        view = element_view(buffer, indices, band.levels, _dims(band))
        if isinstance(view, MatchFailure):
            return view
        by_index.setdefault((buffer, indices), _Element(view)).ops.append(op)
    elements = list(by_index.values())
    for first, second in itertools.permutations(elements, 2):
        if first.is_written and memory.may_share(first.ops[0], second.ops[0]):
            return MatchFailure("the nest may access its results at other places, too")
    return elements


def _iterator_types(
    band: Band, elements: Sequence[_Element], parallel: frozenset[str]
) -> tuple[str, ...] | MatchFailure:
    dims = _dims(band)
    indices = [index for element in elements for index in element.view.indices]
    indexed = {index.name for index in indices if isinstance(index, AffineDim)}
    for number, dim in enumerate(dims):
        if dim not in indexed:
            return MatchFailure(f"loop {number} is the size of no buffer")
    return tuple("parallel" if dim in parallel else "reduction" for dim in dims)


def _dims(band: Band) -> tuple[str, ...]:
    return tuple(f"d{number}" for number in range(len(band.levels)))


def _is_combined(output: _Element) -> bool:
    """Return whether an iteration combines an element with its former value associatively."""
    if len(output.ops) != 2 or not is_load(output.ops[0]):
        return False
    load, store = output.ops
    return combining_op(load.results[0], store.operands[0]) is not None


def _build(band: Band, elements: Sequence[_Element], kinds: Sequence[str]) -> None:
    values = [element.view.value() for element in elements]
    inputs = sum(not element.is_written for element in elements)
    generic = linalg.GenericOp(
        result_tensors=[],
        inputs=values[:inputs],
        outputs=values[inputs:],
        indexing_maps=maps_attribute([element.view.map(_dims(band)) for element in elements]),
        iterator_types=iterators_attribute(kinds),
    ).operation
    types = [ir.MemRefType(value.type).element_type for value in values]
    block = generic.regions[0].blocks.append(*types)
    with ir.InsertionPoint(block):
        linalg.YieldOp(_payload(band, elements, list(block.arguments)))


def _payload(
    band: Band, elements: Sequence[_Element], arguments: Sequence[ir.Value]
) -> list[ir.Value]:
    """Copy the ops of an iteration to the insertion point; return the new elements of outputs."""
    positions = {op: number for number, element in enumerate(elements) for op in element.ops}
    current = list(arguments)
    values: dict[ir.Value, ir.Value] = {}
    stored = [op.operands[0] for element in elements for op in element.stores]
    needed = {op for op in _needed(band, stored) if not is_load(op)}
    used = stored + read_values(needed)
    for number, level in enumerate(band.levels):
        iv = induction_variable(level.loop)
        if iv in used:
            index = Symbol(linalg.IndexOp(number).result, lower=0)
            values[iv] = value_of(level.lower + index * level.step)
    for op in band.ops:
        if op in positions and is_load(op):
            values[op.results[0]] = current[positions[op]]
        elif op in positions:
            current[positions[op]] = values.get(op.operands[0], op.operands[0])
        elif op in needed:
            copied(op, values)
    return [value for value, element in zip(current, elements, strict=True) if element.is_written]


def _needed(band: Band, values: Sequence[ir.Value]) -> set[ir.Operation]:
    return computed_from(values, set(band.ops), is_end=is_load)


@dataclass(frozen=True)
class ElementView:
    """A view, and at which of its elements an iteration looks.

    Attributes:
        buffer: the buffer that it views.
        placement: which part of it; None for all of it.
        indices: by the dimensions of the band.
    """

    buffer: ir.Value
    placement: Placement | None
    indices: tuple[AffineExpr, ...]

    def map(self, dims: Sequence[str]) -> AffineMap:
        """Return the indexing map."""
        return AffineMap(tuple(dims), (), self.indices)

    @property
    def dims(self) -> frozenset[str]:
        """The dimensions of the band by which it is indexed, of each index the first."""
        return frozenset(index.dims[0] for index in self.indices if index.dims)

    def value(self) -> ir.Value:
        """Return the view, at the insertion point."""
        return self.buffer if self.placement is None else subview(self.placement)


def element_view(
    buffer: ir.Value, indices: Sequence[Linear], levels: Sequence[Level], dims: Sequence[str]
) -> ElementView | MatchFailure:
    """Return the view of a buffer from the first iteration's element to the last one's.

    Args:
        buffer: a memref.
        indices: where an iteration looks, by the induction variables.
        levels: the loops.
        dims: a name for each.
    """
    if not is_view(buffer.type):
        return MatchFailure(f"a buffer of type {buffer.type} has no parts that are views")
    axes: list[_Axis] = []
    for index in indices:
        axis = _axis(index, levels, dims)
        if isinstance(axis, MatchFailure):
            return axis
        axes.append(axis)
    try:
        tile = Tile([a.offset for a in axes], [a.size for a in axes], [a.stride for a in axes])
        check_within(tile, sizes_of(buffer))
    except SubsetError:
        return MatchFailure("the access reaches beyond a buffer")
    kept_axes = tuple(number for number, axis in enumerate(axes) if axis.index is not None)
    exprs = tuple(axis.index for axis in axes if axis.index is not None)
    is_whole = len(kept_axes) == len(axes) and all(
        axis.offset == 0 and axis.stride == 1 and is_eq(axis.size, size) is True
        for axis, size in zip(axes, sizes_of(buffer), strict=True)
    )
    return ElementView(buffer, None if is_whole else Placement(buffer, tile, kept_axes), exprs)


@dataclass(frozen=True)
class _Axis:
    """One axis of a view; without an index where all iterations look at one place of it."""

    offset: Number
    size: Number = 1
    stride: int = 1
    index: AffineExpr | None = None


def _axis(index: Linear, levels: Sequence[Level], dims: Sequence[str]) -> _Axis | MatchFailure:
    first = index.rest + total(
        f * level.lower for f, level in zip(index.factors, levels, strict=True)
    )
    moving = [
        (factor * level.step, level.count, AffineDim(dim))
        for factor, level, dim in zip(index.factors, levels, dims, strict=True)
        if factor
    ]
    if not moving:
        return _Axis(first)
    if len(moving) == 1:
        ((by, count, dim),) = moving
        if by > 0:
            return _Axis(first, count, by, dim)
        if not isinstance(count, int):
            return MatchFailure("the index runs backwards over an unknown distance")
        return _Axis(first + by * (count - 1), count, -by, AffineConst(count - 1) - dim)
    if any(by < 0 for by, _, _ in moving):
        return MatchFailure("an index is a difference of induction variables")
    last = total(by * (count - 1) for by, count, _ in moving)
    expr: AffineExpr = AffineConst(0)
    for by, _, dim in moving:
        expr = expr + dim * by
    return _Axis(first, maximum(last + 1, 0), 1, expr)


class SizeReader(IndexReader):
    """Reads index values; two ops that ask for one size give one number."""

    def _read(self, value: ir.Value) -> Number:
        op = producer(value)
        if op is not None and op.name == "memref.dim":
            buffer, axis = op.operands
            number, type_ = self(axis), buffer.type
            rank = type_.rank if isinstance(type_, ir.MemRefType) else 0
            if isinstance(number, int) and 0 <= number < rank:
                return size_of(buffer, number)
        return super()._read(value)
