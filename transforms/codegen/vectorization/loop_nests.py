"""Nests: `linalg.generic` ops on buffers, as the generation of vector loops reads them.

A nest is a generic that can become loops over vectors: its operands are scalars and memrefs whose
every axis is indexed by one loop or by 0, and its body is arithmetic that vectors have too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from linalg_ext.bindings import ir, memref
from linalg_ext.structured.constants import index
from linalg_ext.structured.maps import collapsed_shape
from linalg_ext.transforms.analysis.buffers import Buffer, buffer_of, may_alias
from linalg_ext.transforms.codegen.base.payload import ELEMENTS, NARROW_FLOATS, obstacle_to_vectors
from linalg_ext.transforms.codegen.vector_math.expand_vector_math import EXPANSIONS
from linalg_ext.transforms.ir_utils.arithmetic import strides_of
from linalg_ext.transforms.ir_utils.generics import (
    input_count,
    inside,
    loop_of,
    maps_of,
    parallel_loops,
    yielded_by,
)
from linalg_ext.transforms.ir_utils.walking import is_unused, ops_of

from .reductions import FirstBest, Reduction, reduction_of

SHORTEST = 4
"""A loop that is known to be shorter is not worth vectors."""

BITS_WITH_MASKS = 512
"""Machines with such registers move parts of them as quickly as all of them."""

LOAD = "memref.load"
"""In a body it reads where the body says, not where a map does."""

ASSERT = "cf.assert"
"""On vectors it is one question for a whole row."""

_ANYWHERE = -1
"""Along an axis that no loop indexes alone."""


@dataclass(frozen=True, eq=False)
class Access:
    """The access of a nest to a memref, by reads or writes.

    Attributes:
        memref: the memref.
        dims: for each axis the loop that indexes it, None for index 0, -1 for any index.
        buffer: the memory that it is a view of.
    """

    memref: Any
    dims: tuple[int | None, ...]
    buffer: Buffer

    @property
    def key(self) -> tuple[Any, tuple[int | None, ...]]:
        """Equal where the same elements are meant, at equal positions of the loops."""
        return self.memref, self.dims

    def indices(self, places: Sequence[Any]) -> list[Any]:
        """Return the index along each axis, where the loops are at `places`."""
        return [index(0) if dim is None else places[dim] for dim in self.dims]

    def is_same_at(self, other: Access, dim: int) -> bool:
        """Return whether two accesses touch the same slice in each iteration of loop `dim`."""
        return self.memref == other.memref and any(
            mine == theirs == dim for mine, theirs in zip(self.dims, other.dims, strict=True)
        )


@dataclass(frozen=True, eq=False)
class Nest:
    """A generic that can become vector loops.

    Attributes:
        op: the `linalg.generic`.
        operands: for each operand its access, or the scalar that it is.
        inputs: the number of inputs.
        is_parallel: for each loop whether it is parallel; else it is a reduction.
        is_read: for each operand whether the body uses its element.
        reduction: how its innermost loop reduces; None if it is parallel.
        loads: the memory that the body loads from, at indices that it computes.
        is_crossed: whether an input lies across the rows of the innermost loop.
    """

    op: Any
    operands: tuple[Access | Any, ...]
    inputs: int
    is_parallel: tuple[bool, ...]
    is_read: tuple[bool, ...]
    reduction: Reduction | None
    loads: tuple[Access, ...] = ()
    is_crossed: bool = False

    @property
    def rank(self) -> int:
        """The number of loops."""
        return len(self.is_parallel)

    @property
    def body(self) -> Any:
        """The block that computes one element."""
        return self.op.regions[0].blocks[0]

    @property
    def yielded(self) -> list[Any]:
        """The values that the body yields for one element."""
        return list(yielded_by(self.body))

    @property
    def has_functions(self) -> bool:
        """True where the body computes an elementary function."""
        return any(op.operation.name in EXPANSIONS for op in self.body.operations)

    @property
    def reads(self) -> list[Access]:
        """The memory that is read: inputs, and outputs whose old elements are used."""
        pairs = zip(self.operands, self.is_read, strict=True)
        return [operand for operand, is_read in pairs if is_read and isinstance(operand, Access)]

    @property
    def writes(self) -> list[Access]:
        """The memory that is written."""
        return [operand for operand in self.operands[self.inputs :] if isinstance(operand, Access)]

    @property
    def accesses(self) -> list[Access]:
        """All of it."""
        return [operand for operand in self.operands if isinstance(operand, Access)]

    def extents(self, dim: int) -> Iterator[tuple[Any, int]]:
        """Yield the memrefs and axes that have the length of a loop."""
        for access in self.accesses:
            if dim in access.dims:
                yield access.memref, access.dims.index(dim)

    def static_extent(self, dim: int) -> int | None:
        """Return the length of a loop where a type tells it."""
        for source, axis in self.extents(dim):
            if not source.type.is_dynamic_dim(axis):
                return int(source.type.get_dim_size(axis))
        return None

    def with_accesses(self, accesses: dict[int, Access]) -> Nest:
        """Return the same body on other memory, given the changed accesses by their operands."""
        operands = tuple(accesses.get(at, operand) for at, operand in enumerate(self.operands))
        return replace(self, operands=operands)


def read_nest(op: Any) -> Nest | str:
    """Return a `linalg.generic` as a nest, or why it is not one."""
    if len(op.results):
        return "the operands are tensors, not buffers"
    operands: list[Access | Any] = []
    for value, map_ in zip(op.operands, maps_of(op), strict=True):
        operand = access_of(value, map_) if isinstance(value.type, ir.MemRefType) else value
        if isinstance(operand, str):
            return operand
        operands.append(operand)
    body = op.regions[0].blocks[0]
    loads = _loaded(body)
    if isinstance(loads, str):
        return loads
    inputs = input_count(op)
    if any(isinstance(value.type.element_type, ir.IndexType) for value in op.operands[inputs:]):
        return "elements of index are written"
    is_parallel = parallel_loops(op)
    is_read = tuple(not is_unused(argument) for argument in body.arguments)
    nest = Nest(op, tuple(operands), inputs, is_parallel, is_read, None, tuple(loads))
    if is_parallel and not is_parallel[-1]:
        outputs, inner = list(body.arguments)[inputs:], nest.rank - 1
        reduction = reduction_of(outputs, nest.yielded, inner, nest.static_extent(inner))
        nest = replace(nest, reduction=reduction)
    nest = replace(nest, is_crossed=_lies_across(nest))
    obstacle = None if nest.is_crossed else _innermost_obstacle(nest)
    return obstacle or _overlap(nest) or _single_questions(nest) or nest


def _lies_across(nest: Nest) -> bool:
    """Return whether inputs that lie across the vectors' rows are all that prevents vectors."""
    inner = nest.rank - 1
    if inner < 1 or not all(nest.is_parallel):
        return False
    extents = [nest.static_extent(inner)]
    across: set[int | None] = set()
    for number, access in enumerate(nest.operands):
        if not isinstance(access, Access):
            continue
        if lies_across(access, inner) and number < nest.inputs:
            across.add(access.dims[-1])
        elif inner not in access.dims and number < nest.inputs:
            continue
        elif access.dims[-1:] != (inner,):
            return False
        is_index = isinstance(access.memref.type.element_type, ir.IndexType)
        if is_index or not is_in_rows(access.memref.type):
            return False
    if len(across) != 1 or None in across:
        return False
    (other,) = across
    extents.append(None if other is None else nest.static_extent(other))
    return all(extent is None or extent >= SHORTEST for extent in extents)


def lies_across(access: Access, inner: int) -> bool:
    """Return whether an access moves along the innermost loop, but not to adjacent elements."""
    return inner in access.dims and access.dims[-1] != inner


def is_in_rows(type_: Any) -> bool:
    """Return whether vectors along the last axis of a memref can be loaded and stored.

    Upstream's loads refuse memory in which some other axis is known to have a negative stride.
    """
    strides = type_.get_strides_and_offset()[0]
    backwards = any(s < 0 for s in strides if not type_.is_dynamic_stride_or_offset(s))
    return bool(strides[-1] == 1) and not backwards


def access_of(value: Any, map_: Any) -> Access | str:
    """Return the access of an operand by an indexing map, or why vectors cannot make it."""
    reason = memory_obstacle(value.type)
    if reason is not None:
        return reason
    dims: list[int | None] = []
    for result in map_.results:
        if isinstance(result, ir.AffineDimExpr):
            dims.append(result.position)
        elif isinstance(result, ir.AffineConstantExpr) and result.value == 0:
            dims.append(None)
        else:
            return "an index is neither a loop nor 0"
    used = [dim for dim in dims if dim is not None]
    if len(set(used)) != len(used):
        return "a diagonal"
    return Access(value, tuple(dims), buffer_of(value))


def memory_obstacle(type_: Any) -> str | None:
    """Return why the elements of a memref cannot be in vectors; None where they can."""
    if str(type_.element_type) not in ELEMENTS | {"index"}:
        return f"elements of {type_.element_type} in memory"
    return "a layout without strides" if strides_of(type_) is None else None


def _loaded(body: Any) -> list[Access] | str:
    """Return the memory that a body loads from, or why it has no form on vectors."""
    loads: list[Access] = []
    for op in ops_of(body):
        if op.name == ASSERT:
            continue
        if op.name != LOAD:
            reason = obstacle_to_vectors(op)
        elif inside(op.operands[0], body) is not None:
            reason = "the body loads from a buffer that it makes"
        else:
            reason = memory_obstacle(op.operands[0].type)
        if reason is not None:
            return reason
        if op.name == LOAD:
            memory = op.operands[0]
            loads.append(Access(memory, (_ANYWHERE,) * memory.type.rank, buffer_of(memory)))
    return loads


def _innermost_obstacle(nest: Nest) -> str | None:
    """Return why the innermost loop cannot be over vectors."""
    if not nest.rank:
        return None
    inner = nest.rank - 1
    extent = nest.static_extent(inner)
    if not any(True for _ in nest.extents(inner)):
        return "a loop without a length"
    is_short = extent is not None and extent < SHORTEST and nest.rank > 1
    if is_short and not nest.is_parallel[inner] and not _is_gathered(nest):
        return "the innermost loop is short"
    for access in nest.accesses:
        if inner not in access.dims:
            continue
        if access.dims[-1] != inner or not is_in_rows(access.memref.type):
            return "the innermost loop does not run along memory"
    if not nest.is_parallel[inner]:
        if any(inner in access.dims for access in nest.writes):
            return "an output is indexed by the loop that reduces another"
        return _why_no_reduction(nest) if nest.reduction is None else None
    if any(inner not in access.dims for access in nest.writes):
        return "several rounds write one element"
    return None


def _why_no_reduction(nest: Nest) -> str:
    elements = {str(access.memref.type.element_type) for access in nest.writes}
    if narrow := sorted(elements.intersection(NARROW_FLOATS)):
        return (
            f"a reduction that is rounded to {narrow[0]} in every round; "
            "with the compute_type f32, vectors can do it"
        )
    return "a reduction that vectors cannot do"


def _overlap(nest: Nest) -> str | None:
    """Return why the order of the rounds may matter."""
    for number, written in enumerate(nest.writes, start=nest.inputs):
        for other, access in enumerate(nest.operands):
            if other == number or not isinstance(access, Access):
                continue
            if access.buffer == written.buffer and access.key != written.key:
                return "an input may overlap the output"
        if any(may_alias(load.buffer, written.buffer) for load in nest.loads):
            return "the op may write to memory that it loads"
    return None


def _single_questions(nest: Nest) -> str | None:
    """Return why an assertion of the body differs between the elements of a row."""
    questions = [op for op in ops_of(nest.body) if op.name == ASSERT]
    if not questions:
        return None
    varying = {value for values in _on_vectors(nest) for value in values}
    if varying.isdisjoint(question.operands[0] for question in questions):
        return None
    return "the assertion differs from element to element"


def widest_bits(nests: Sequence[Nest]) -> int:
    """Return the bits of the widest number in vectors of the nests.

    Numbers that are the same for a whole row fill no lanes.
    """
    widths = [8]
    for nest in nests:
        read, computed = (_without_places(nest, values) for values in _on_vectors(nest))
        widths.append(bits_in_vectors(read, computed))
        if isinstance(nest.reduction, FirstBest):
            widths.append(nest.reduction.position_type.width)
    return min(64, max(widths))


def bits_in_vectors(read: Sequence[Any], computed: Sequence[Any]) -> int:
    """Return the bits of the widest of some numbers; f16 is computed in f32."""
    types = [value.type for value in (*read, *computed)]
    widths = [type_.width for type_ in types if isinstance(type_, ir.IntegerType | ir.FloatType)]
    is_narrow = any(str(value.type) in NARROW_FLOATS for value in computed)
    return max([8, *widths, *([32] if is_narrow else [])])


def _without_places(nest: Nest, values: Sequence[Any]) -> list[Any]:
    """Return values without the positions of a reduction, which have their own type."""
    places = nest.reduction.choice.places if isinstance(nest.reduction, FirstBest) else ()
    return [value for value in values if value not in places]


def _on_vectors(nest: Nest) -> tuple[list[Any], list[Any]]:
    """Return the elements of rows that a body reads or reduces, and the values computed of them."""
    inner = nest.rank - 1
    read = [
        argument
        for at, (argument, operand) in enumerate(
            zip(nest.body.arguments, nest.operands, strict=True)
        )
        if isinstance(operand, Access) and (at >= nest.inputs or inner in operand.dims)
    ]
    varying, computed = set(read), []
    for op in ops_of(nest.body):
        is_position = op.name == "linalg.index" and loop_of(op) >= inner
        if is_position or not varying.isdisjoint(op.operands):
            varying.update(op.results)
            computed += op.results
    return read, computed


# LLVM unrolls loops of a few rounds, and puts the rounds of the loop around them into the lanes of
# vectors. Elements with a small stride from round to round it loads as a whole, and takes apart;
# those with a larger stride it gathers one by one.

_UNROLLED = 64
"""Rounds of inner loops together that are unrolled."""

_FARTHEST = 8
"""Elements from round to round up to which whole vectors are loaded."""

_GATHERED_BITS = 32
"""The width of the narrowest elements that x86 gathers."""


def _is_gathered(nest: Nest) -> bool:
    """Return whether LLVM would gather the reads of a nest whose innermost loops are short."""
    unrolled: list[int] = []
    for dim in reversed(range(nest.rank)):
        extent = nest.static_extent(dim)
        if extent is None or extent * _rounds(nest, unrolled) > _UNROLLED:
            return any(
                dim in access.dims
                and _rounds(nest, unrolled, access.dims) > _FARTHEST
                and _bits(access.memref.type.element_type) >= _GATHERED_BITS
                for access in nest.reads
            )
        unrolled.append(dim)
    return False


def _bits(element: Any) -> int:
    return 0 if isinstance(element, ir.IndexType) else int(element.width)


def _rounds(nest: Nest, dims: list[int], among: tuple[int | None, ...] | None = None) -> int:
    """Return the product of the trip counts of loops, or of those of them in `among`."""
    return math.prod(nest.static_extent(dim) or 0 for dim in dims if among is None or dim in among)


class Collapser:
    """Makes the collapsed views, each once; `views` are the ops that it made."""

    def __init__(self, before: Any) -> None:
        """Create a collapser whose views go before an operation."""
        self._before = before
        self.views: list[Any] = []
        self._made: dict[tuple[Any, int], Any] = {}

    def collapsed(self, nests: Sequence[Nest], dim: int) -> list[Nest] | None:
        """Return the nests with loops `dim` and `dim + 1` as one; None where that cannot be."""
        for nest in nests:
            if nest.rank <= dim + 1 or nest.is_parallel[dim] != nest.is_parallel[dim + 1]:
                return None
            if not all(is_collapsible(access, dim) for access in nest.accesses):
                return None
            if any(op.operation.name == "linalg.index" for op in nest.body.operations):
                return None
        if len({nest.is_parallel[dim] for nest in nests}) > 1:
            return None
        return [self._collapsed(nest, dim) for nest in nests]

    def flattened(self, access: Access, dim: int) -> Any | None:
        """Return the memory of an access with loops `dim` and `dim + 1` as one axis, or None."""
        if dim not in access.dims or not is_collapsible(access, dim):
            return None
        return self._view(access.memref, access.dims.index(dim))

    def erase_unused_views(self) -> None:
        """Erase the views that no op uses, the last ones first: they may be of others."""
        for view in reversed(self.views):
            erase_unused(view)

    def _collapsed(self, nest: Nest, dim: int) -> Nest:
        accesses = {
            number: self.joined(access, dim)
            for number, access in enumerate(nest.operands)
            if isinstance(access, Access)
        }
        is_parallel = (*nest.is_parallel[:dim], *nest.is_parallel[dim + 1 :])
        return replace(nest.with_accesses(accesses), is_parallel=is_parallel)

    def joined(self, access: Access, dim: int) -> Access:
        """Return an access by loops of which `dim` and `dim + 1` are one."""
        dims = [loop - 1 if loop is not None and loop > dim else loop for loop in access.dims]
        if dim not in access.dims:
            return Access(access.memref, tuple(dims), access.buffer)
        axis = access.dims.index(dim)
        del dims[axis + 1]
        return Access(self._view(access.memref, axis), tuple(dims), access.buffer)

    def _view(self, source: Any, axis: int) -> Any:
        if (source, axis) not in self._made:
            type_ = source.type
            groups = [[number] for number in range(type_.rank)]
            groups[axis : axis + 2] = [[axis, axis + 1]]
            with ir.InsertionPoint(self._before):
                view = memref.CollapseShapeOp(_collapsed_type(type_, groups), source, groups)
            self.views.append(view.operation)
            self._made[source, axis] = view.result
        return self._made[source, axis]


def is_collapsible(access: Access, dim: int) -> bool:
    """Return whether loops `dim` and `dim + 1` step through an access as one loop would."""
    if dim not in access.dims and dim + 1 not in access.dims:
        return True
    if dim not in access.dims or dim + 1 not in access.dims:
        return False
    axis = access.dims.index(dim)
    if access.dims[axis + 1 : axis + 2] != (dim + 1,):
        return False
    type_ = access.memref.type
    if is_row_major(type_):
        return True
    strides, _ = type_.get_strides_and_offset()
    is_dynamic = any(map(type_.is_dynamic_stride_or_offset, strides[axis : axis + 2]))
    if is_dynamic or type_.is_dynamic_dim(axis + 1):
        return False
    return bool(strides[axis] == strides[axis + 1] * type_.get_dim_size(axis + 1))


def erase_unused(op: Any) -> None:
    """Erase an op whose results have no uses."""
    if not any(True for result in op.results for _ in result.uses):
        op.erase()


def is_row_major(type_: Any) -> bool:
    """Return whether a memref has the default, row-major layout."""
    plain = ir.MemRefType.get(type_.shape, type_.element_type, None, type_.memory_space)
    return bool(plain == type_)


def _collapsed_type(type_: Any, groups: Sequence[Sequence[int]]) -> Any:
    layout = None
    if not is_row_major(type_):
        strides, offset = type_.get_strides_and_offset()
        layout = ir.StridedLayoutAttr.get(offset, [strides[group[-1]] for group in groups])
    return ir.MemRefType.get(
        collapsed_shape(type_, groups), type_.element_type, layout, type_.memory_space
    )
