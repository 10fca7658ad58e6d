"""Let ops that read rows where indices say read each row as an operand, which vectors can load.

before:
    linalg.generic {indexing_maps = [affine_map<(r, d) -> (r)>, affine_map<(r, d) -> (r, d)>],
                    iterator_types = ["parallel", "parallel"]}
        ins(%i : memref<3xindex>) outs(%o : memref<3x40xf32>) {
    ^bb0(%row: index, %out: f32):
      %d = linalg.index 1 : index
      %v = memref.load %a[%row, %d] : memref<4x40xf32>
      linalg.yield %v : f32
    }
after:
    scf.for %r = %c0 to %c3 step %c1 {
      %row = memref.load %i[%r] : memref<3xindex>
      %source = memref.subview %a[%row, 0] [1, 40] [1, 1]
                : memref<4x40xf32> to memref<40xf32, strided<[1], offset: ?>>
      %target = memref.subview %o[%r, 0] [1, 40] [1, 1]
                : memref<3x40xf32> to memref<40xf32, strided<[1], offset: ?>>
      linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>],
                      iterator_types = ["parallel"]}
          ins(%source : memref<40xf32, strided<[1], offset: ?>>)
          outs(%target : memref<40xf32, strided<[1], offset: ?>>) {
      ^bb0(%v: f32, %out: f32):
        linalg.yield %v : f32
      }
    }

What else the body computes of an element stays with it: element-wise ops that were fused with a
gather are on vectors too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir, linalg, memref, scf
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.lowering._elementwise import index
from linalg_ext.transforms.lowering._generic import (
    computed_anew,
    input_count,
    inside,
    iterators,
    maps_of,
)
from linalg_ext.transforms.lowering._walk import operations

from ._roots import root_of

NAME = "linalg-ext-view-indexed-rows"

Dims = Sequence[int | None] | None
"""For each axis of a memref the loop that indexes it, None for index 0; None for a scalar."""

SHORTEST = 16
"""Rows of fewer elements are read one by one: a view of each would cost more."""


@module_pass(NAME, on="linalg.generic")
def view_indexed_rows(module: ir.Operation) -> Report:
    """Let linalg.generic on buffers read the rows that it loads as operands."""
    report = Report(NAME)
    for op in operations(module, {"linalg.generic"}):
        loads = operations(op, {"memref.load"})
        if len(op.results) or not loads:
            continue
        report.matched[op.name] += 1
        rows = _read(op, loads)
        if isinstance(rows, str):
            report.leave(op.name, rows)
            continue
        report.changed[op.name] += 1
        with op.location, ir.InsertionPoint(op):
            rows.emit()
        op.erase()
    return report


@dataclass(frozen=True)
class _Rows:
    """A generic whose body loads rows.

    Attributes:
        op: the generic.
        loads: its loads, the last index of each along the innermost loop.
        dims: how each operand is indexed.
        outer: the operands that tell which rows.
    """

    op: Any
    loads: Sequence[Any]
    dims: Sequence[Dims]
    outer: frozenset[int]

    @property
    def body(self) -> Any:
        return self.op.regions[0].blocks[0]

    @property
    def rank(self) -> int:
        return len(ir.ArrayAttr(self.op.attributes["iterator_types"]))

    def size(self, dim: int) -> Any:
        """The length of a loop: a number where a type tells."""
        length = _static_length(self.op, self.dims, dim)
        if length is not None:
            return length
        operand, axis = next(
            (operand, own.index(dim))
            for operand, own in zip(self.op.operands, self.dims, strict=True)
            if own is not None and dim in own
        )
        return memref.dim(operand, index(axis))

    def emit(self, ivs: tuple[Any, ...] = ()) -> None:
        """Emit the loops around the rows at the insertion point."""
        if len(ivs) == self.rank - 1:
            self._emit_row(ivs)
            return
        size = self.size(len(ivs))
        loop = scf.ForOp(index(0), index(size) if isinstance(size, int) else size, index(1))
        with ir.InsertionPoint(loop.body):
            self.emit((*ivs, loop.induction_variable))
            scf.YieldOp([])

    def _emit_row(self, ivs: tuple[Any, ...]) -> None:
        inner, arguments = self.rank - 1, list(self.body.arguments)
        known: dict[Any, Any] = {}
        for op in operations(self.op, {"linalg.index"}):
            dim = ir.IntegerAttr(op.attributes["dim"]).value
            if dim < inner:
                known[op.results[0]] = ivs[dim]
        for at in self.outer:
            operand, own = self.op.operands[at], self.dims[at]
            if own is not None:
                where = [index(0) if dim is None else ivs[dim] for dim in own]
                operand = memref.load(operand, where)
            known[arguments[at]] = operand
        length = self.size(inner)
        rows = []
        for load in self.loads:
            source, *places = load.operands
            where = [computed_anew(each, self.body, known) for each in places[:-1]]
            rows.append(_row(source, [*where, 0], [None] * (len(places) - 1) + [length]))
        count = input_count(self.op)
        kept = [at for at in range(count) if at not in self.outer]
        views = {at: self._view(at, ivs, length) for at in (*kept, *range(count, len(arguments)))}
        inputs = [views[at] for at in kept]
        outputs = [views[at] for at in range(count, len(arguments))]
        given = [*inputs, *rows, *outputs]
        generic = linalg.GenericOp(
            [],
            [*inputs, *rows],
            outputs,
            ir.ArrayAttr.get([_map(each) for each in given]),
            iterators([_kind(self.op, inner)]),
        )
        block = generic.regions[0].blocks.append(*(_element(each) for each in given))
        new = list(block.arguments)
        known.update(zip([arguments[at] for at in kept], new, strict=False))
        known.update(zip([each.results[0] for each in self.loads], new[len(kept) :], strict=False))
        known.update(zip(arguments[count:], new[len(kept) + len(rows) :], strict=True))
        last = list(self.body.operations)[-1].operation
        with ir.InsertionPoint(block):
            for op in operations(self.op, {"linalg.index"}):
                if op.results[0] not in known:
                    known[op.results[0]] = linalg.IndexOp(0).result
            linalg.YieldOp([computed_anew(each, self.body, known) for each in last.operands])

    def _view(self, at: int, ivs: tuple[Any, ...], length: Any) -> Any:
        operand, dims = self.op.operands[at], self.dims[at]
        if dims is None:
            return operand
        where = [0 if dim in (None, self.rank - 1) else ivs[dim] for dim in dims]
        return _row(operand, where, [length if dim == self.rank - 1 else None for dim in dims])


def _read(op: Any, loads: Sequence[Any]) -> _Rows | str:
    """A generic that loads rows, or why it is none."""
    dims: list[Dims] = []
    for operand, map_ in zip(op.operands, maps_of(op), strict=True):
        own = _dims(map_) if isinstance(operand.type, ir.MemRefType) else None
        if isinstance(operand.type, ir.MemRefType) and (own is None or not _is_strided(operand)):
            return "an operand is not indexed by its loops"
        dims.append(own)
    rank = len(ir.ArrayAttr(op.attributes["iterator_types"]))
    body = op.regions[0].blocks[0]
    outputs = list(op.operands)[input_count(op) :]
    outer: set[int] = set()
    for load in loads:
        source, *places = load.operands
        if load.block != body or inside(source, body) is not None or not places:
            return "it loads what it makes itself"
        if not _is_strided(source) or source.type.get_strides_and_offset()[0][-1] != 1:
            return "the memory that it loads of does not lie in rows"
        if _loop_of(places[-1], body) != rank - 1:
            return "the innermost loop does not run along the rows that it loads"
        used = _arguments(places[:-1], body, rank - 1)
        if used is None:
            return "which row it loads changes along the row"
        outer |= used
    if any(rank - 1 in (dims[at] or ()) for at in outer):
        return "which row it loads changes along the row"
    read = [each.operands[0] for each in loads] + [op.operands[at] for at in outer]
    if any(root_of(each).may_alias(root_of(output)) for each in read for output in outputs):
        return "it may write to what it loads"
    known = [each for each in dims if each is not None]
    if not all(any(dim in each for each in known) for dim in range(rank)):
        return "a loop without a length"
    length = _static_length(op, dims, rank - 1)
    if length is not None and length < SHORTEST:
        return "the rows are short"
    return _Rows(op, loads, dims, frozenset(outer))


def _static_length(op: Any, dims: Sequence[Dims], loop: int) -> int | None:
    """The length of a loop where a type tells it."""
    for operand, own in zip(op.operands, dims, strict=True):
        if own is not None and loop in own and not operand.type.is_dynamic_dim(own.index(loop)):
            return int(operand.type.get_dim_size(own.index(loop)))
    return None


def _arguments(values: Sequence[Any], body: Any, inner: int) -> set[int] | None:
    """The arguments of a body that values are computed of; None where the innermost loop is too."""
    arguments = list(body.arguments)
    found: set[int] = set()
    open_ = list(values)
    while open_:
        value = open_.pop()
        if value in arguments:
            found.add(arguments.index(value))
            continue
        op = inside(value, body)
        if op is None:
            continue
        if op.name == "memref.load" or len(op.regions) or _loop_of(value, body) == inner:
            return None
        open_ += list(op.operands)
    return found


def _loop_of(value: Any, body: Any) -> int | None:
    """The loop whose index a value of a body is."""
    op = inside(value, body)
    if op is None or op.name != "linalg.index":
        return None
    return int(ir.IntegerAttr(op.attributes["dim"]).value)


def _dims(map_: Any) -> list[int | None] | None:
    dims: list[int | None] = []
    for each in map_.results:
        if isinstance(each, ir.AffineDimExpr) and each.position not in dims:
            dims.append(each.position)
        elif isinstance(each, ir.AffineConstantExpr) and each.value == 0:
            dims.append(None)
        else:
            return None
    return dims


def _is_strided(value: Any) -> bool:
    try:
        value.type.get_strides_and_offset()
    except (ir.MLIRError, ValueError, RuntimeError):
        return False
    return True


def _row(source: Any, where: Sequence[Any], sizes: Sequence[Any | None]) -> Any:
    """A view of one row, or of one element where no size is given."""
    gap = ir.ShapedType.get_dynamic_size()
    open_ = ir.ShapedType.get_dynamic_stride_or_offset()
    strides, offset = source.type.get_strides_and_offset()
    if any(not isinstance(each, int) for each in where):
        offset = open_  # else it begins where the source does: the numbers are zeros
    kept = [(axis, size) for axis, size in enumerate(sizes) if size is not None]
    full = [1 if size is None else size for size in sizes]
    type_ = ir.MemRefType.get(
        [size if isinstance(size, int) else gap for _, size in kept],
        source.type.element_type,
        ir.StridedLayoutAttr.get(offset, [strides[axis] for axis, _ in kept]),
        source.type.memory_space,
    )
    groups = [list(where), full, [1] * len(full)]
    dynamic = [[each for each in group if not isinstance(each, int)] for group in groups]
    static = [
        ir.DenseI64ArrayAttr.get([each if isinstance(each, int) else gap for each in group])
        for group in groups
    ]
    return memref.SubViewOp(type_, source, *dynamic, *static).result


def _map(value: Any) -> Any:
    is_row = isinstance(value.type, ir.MemRefType) and value.type.rank == 1
    return ir.AffineMapAttr.get(
        ir.AffineMap.get(1, 0, [ir.AffineExpr.get_dim(0)] if is_row else [])
    )


def _element(value: Any) -> Any:
    return value.type.element_type if isinstance(value.type, ir.MemRefType) else value.type


def _kind(op: Any, dim: int) -> str:
    given = str(list(ir.ArrayAttr(op.attributes["iterator_types"]))[dim])
    return "parallel" if "parallel" in given else "reduction"
