"""Turn structured ops on buffers into loops over vectors, several ops in one loop if legal.

before:
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                    iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<4x64xf32>) outs(%b : memref<4x64xf32>) {
    ^bb0(%x: f32, %old: f32):
      %y = arith.addf %x, %x : f32
      linalg.yield %y : f32
    }
after:
    %av = memref.collapse_shape %a [[0, 1]] : memref<4x64xf32> into memref<256xf32>
    %bv = memref.collapse_shape %b [[0, 1]] : memref<4x64xf32> into memref<256xf32>
    scf.for %j = %c0 to %c256 step %c64 {
      %x = vector.load %av[%j] : memref<256xf32>, vector<64xf32>
      %y = arith.addf %x, %x : vector<64xf32>
      vector.store %y, %bv[%j] : memref<256xf32>, vector<64xf32>
    }

Element-wise ops and reductions whose innermost loop runs along memory in unit steps; of
element-wise ops, inputs may lie across, as in a transpose. Consecutive
ops over the same rows share the loop over these rows (a softmax reads its input from memory once,
and once more from the cache), and a buffer between them shrinks to one row. A reduction along the
innermost loop adds up in as many accumulators as the vectors have elements. The order depends on
the shape and the width of the vectors alone. A sum of short rows of a known length does the same,
with as many rows at a time as fill registers. Other rows are added up a few at a time. Long sums
are added up in blocks, whose sums are added with compensation. Sums of f16 and bf16 keep their
order: they round too much for another.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from linalg_ext.bindings import arith, ir
from linalg_ext.errors import ArgumentError
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.constants import index
from linalg_ext.structured.group import Unit, may_units_be_fused, unit_of
from linalg_ext.structured.loops import counted, nest_over
from linalg_ext.target.text import bytes_text
from linalg_ext.transforms.analysis.buffers import TOUCH_NOTHING
from linalg_ext.transforms.bufferization.lower_strided_copies import replace_copy
from linalg_ext.transforms.codegen.base.choices import choices
from linalg_ext.transforms.codegen.base.machine import this_machine
from linalg_ext.transforms.codegen.base.problem import size_text
from linalg_ext.transforms.ir_utils.generics import parallel_loops
from linalg_ext.transforms.ir_utils.walking import operations, ops_of

from ._complex_elements import in_vector_elements
from ._flat_reductions import flat_reduction
from ._nest_emitter import NestEmitter
from ._vector_loop import VectorLoop, fence
from ._vector_rows import Member, size_of
from .loop_nests import Collapser, Nest, lies_across, read_nest, widest_bits

NAME = "linalg-ext-vectorize-loops"

_BETWEEN = ("arith.", "affine.apply", "index.")
"""Prefixes of the names of ops that may stand between nests.

Ops on buffers that touch no element may, too.
"""


@module_pass(NAME, on=("linalg.generic", "memref.copy"))
def vectorize_loops(module: ir.Operation, *, vector_bits: int = 0) -> Report:
    """Lower element-wise ops and reductions on buffers to loops over vectors.

    Args:
        vector_bits: the width of a register, a power of two from 64 on; 0 for that of the target.

    Raises:
        ArgumentError: no such registers.
    """
    if vector_bits and (vector_bits < 64 or vector_bits & (vector_bits - 1)):
        raise ArgumentError(
            f"{NAME} cannot fill registers of {vector_bits} bits",
            expected="a power of two from 64 on, or 0 for this machine's",
        )
    report = Report(NAME)
    for copy in operations(module, {"memref.copy"}):
        if _is_among_rows(copy):
            replace_copy(copy)
    generics = [
        flat_reduction(in_vector_elements(op)) for op in operations(module, {"linalg.generic"})
    ]
    blocks = list(dict.fromkeys(op.block for op in generics))
    for block in blocks:
        for run in list(_runs(block, report)):
            bits = vector_bits or choices().vector_bits or 8 * this_machine().vector_bytes
            summary = _summary_of(run, bits)
            if run[0].is_crossed:
                _emit_crossed(run[0], bits)
            else:
                emitter = NestEmitter(run, bits)
                emitter.emit()
                summary = replace(summary, streams=emitter.streams)
            report.decisions.append(summary)
            report.changed["linalg.generic"] += len(run)
    return report


def _is_among_rows(copy: Any) -> bool:
    """Return whether a copy is among generics on memrefs of higher rank, such as sums of rows.

    Such a copy would separate ops that may share a loop; a large one is best left to `memcpy`.
    """
    rank = copy.operands[0].type.rank
    return any(
        isinstance(value.type, ir.MemRefType) and value.type.rank > rank
        for op in copy.block.operations
        if op.operation.name == "linalg.generic"
        for value in op.operation.operands
    )


def _runs(block: Any, report: Report) -> Iterator[list[Nest]]:
    """Yield consecutive nests of a block and of a group without accesses to memory between them."""
    run: list[Nest] = []
    units: set[Unit] = set()
    for op in ops_of(block):
        if op.name.startswith(_BETWEEN) or op.name in TOUCH_NOTHING:
            continue
        nest = _nest(op, report)
        is_crossed = nest is not None and nest.is_crossed
        unit = unit_of(op)
        if run and (nest is None or is_crossed or not may_units_be_fused({*units, unit})):
            yield run
            run, units = [], set()
        if nest is not None and is_crossed:
            yield [nest]
        elif nest is not None:
            run.append(nest)
            units.add(unit)
    if run:
        yield run


def _nest(op: Any, report: Report) -> Nest | None:
    if op.name != "linalg.generic":
        return None
    report.matched[op.name] += 1
    if not all(parallel_loops(op)):
        _spell_out_positions(op.regions[0].blocks[0])
    nest = read_nest(op)
    if isinstance(nest, str):
        report.leave(op.name, nest)
        return None
    return nest


def _spell_out_positions(body: Any) -> None:
    """Write the sums and products of `affine.apply` in a body as `arith` does."""
    for apply in operations(body.owner, {"affine.apply"}):
        map_ = ir.AffineMapAttr(apply.attributes["map"]).value
        if not _is_of_sums(map_.results[0]):
            continue
        with ir.InsertionPoint(apply):
            value = _spelled(map_.results[0], map_.n_dims, list(apply.operands))
        apply.results[0].replace_all_uses_with(value)
        apply.erase()


def _is_of_sums(expression: Any) -> bool:
    if isinstance(expression, ir.AffineAddExpr | ir.AffineMulExpr):
        return _is_of_sums(expression.lhs) and _is_of_sums(expression.rhs)
    kinds = ir.AffineConstantExpr | ir.AffineDimExpr | ir.AffineSymbolExpr
    return isinstance(expression, kinds)


def _spelled(expression: Any, dims: int, operands: Sequence[Any]) -> Any:
    if isinstance(expression, ir.AffineConstantExpr):
        return index(expression.value)
    if isinstance(expression, ir.AffineDimExpr):
        return operands[expression.position]
    if isinstance(expression, ir.AffineSymbolExpr):
        return operands[dims + expression.position]
    left, right = (_spelled(side, dims, operands) for side in (expression.lhs, expression.rhs))
    combine = arith.addi if isinstance(expression, ir.AffineAddExpr) else arith.muli
    return combine(left, right)


@dataclass(frozen=True)
class PlannedLoops:
    """Loops over vectors that do the work of one or several ops: a table for `kernel.explain()`.

    Attributes:
        domain: the loops of the first nest: lengths, `?` where open, `+` after those that reduce.
        bodies: for each nest, the ops of its body.
        vector_bits: of the registers.
        lanes: elements of one.
        streams: whether results go past the caches.
        moved: bytes of inputs and results, each once, without buffers between the ops; None if
            sizes are dynamic.
    """

    domain: str
    bodies: tuple[str, ...]
    vector_bits: int
    lanes: int
    streams: bool
    moved: int | None

    @property
    def title(self) -> str:
        """Title of the table."""
        count = len(self.bodies)
        return f"loops over vectors, {count} {'ops' if count > 1 else 'op'} in one pass"

    def rows(self) -> Sequence[tuple[str, str]]:
        """Return the loops, their computations, the registers and the stores."""
        moved = "open sizes" if self.moved is None else bytes_text(self.moved)
        last = bytes_text(this_machine().l3_bytes)
        stores = f"past the caches: the result is larger than {last}" if self.streams else "cached"
        return [
            ("loops", self.domain),
            *(("computes", body) for body in self.bodies),
            ("vectors", f"{self.lanes} elements in {self.vector_bits} bits"),
            ("stores", stores),
            ("memory", moved),
        ]


def _summary_of(nests: Sequence[Nest], vector_bits: int) -> PlannedLoops:
    """Summarize nests before they become loops; `streams` is set later."""
    nest = max(nests, key=lambda nest: nest.rank)
    sizes = [nest.static_extent(dim) for dim in range(nest.rank)]
    domain = " x ".join(
        size_text(size) + "+" * (not is_parallel)
        for size, is_parallel in zip(sizes, nest.is_parallel, strict=True)
    )
    inner = sizes[-1] if sizes else 1
    lanes = max(1, vector_bits // widest_bits(nests))
    if inner is not None:
        lanes = min(lanes, 1 << max(0, inner - 1).bit_length())
    memory = {
        access.buffer.value: access.memref.type
        for member in nests
        for access in member.accesses
        if access.buffer.kind != "allocation"
    }
    known = all(type_.has_static_shape for type_ in memory.values())
    return PlannedLoops(
        domain=domain or "one element",
        bodies=tuple(_body(member) for member in nests),
        vector_bits=vector_bits,
        lanes=lanes,
        streams=False,
        moved=sum(map(_bytes, memory.values())) if known else None,
    )


def _body(nest: Nest) -> str:
    names = [op.operation.name for op in nest.body.operations]
    short = [name.partition(".")[2] for name in names if not name.startswith("linalg.")]
    return " ".join(short) or "copy"


def _bytes(type_: Any) -> int:
    element = type_.element_type
    width = element.width if isinstance(element, ir.IntegerType | ir.FloatType) else 64
    return int(math.prod(type_.shape) * width // 8)


_MOST_LANES = 16
"""The most lanes of a vector of a square; bytes have room for more, in longer code."""


def _emit_crossed(nest: Nest, vector_bits: int) -> None:
    """Replace a nest with an operand across the rows of the result, such as a transpose.

    Of such an operand not the elements along the innermost loop are neighbours in memory, but those
    along another one. A square of both loops is loaded as it lies, and transposed in registers:

        for i in blocks of R rows:
            for j in vectors of L elements:
                L vectors of R elements, from [j, i], ..., [j + L - 1, i]
                transposed: R vectors of L elements, for the rows i, ..., i + R - 1
    """
    with nest.op.location, ir.InsertionPoint(nest.op):
        collapser = Collapser(index(0).owner.operation)
        _emit_squares(_collapsed(nest, collapser), vector_bits)
    nest.op.erase()
    collapser.erase_unused_views()


def _collapsed(nest: Nest, collapser: Collapser) -> Nest:
    """Return the nest with as many loops collapsed as possible."""
    dim = 0
    while dim + 1 < nest.rank:
        collapsed = collapser.collapsed([nest], dim)
        if collapsed is None:
            dim += 1
        else:
            (nest,) = collapsed
    return nest


def _emit_squares(nest: Nest, vector_bits: int) -> None:
    """Emit the loops of a nest at the insertion point, those outside of the squares first."""
    inner, streams = nest.rank - 1, False
    crossed = (access for access in nest.reads if lies_across(access, inner))
    across: int = next(dim for access in crossed if (dim := access.dims[-1]) is not None)
    outer_dims = [dim for dim in range(inner) if dim != across]
    lanes, row = min(_MOST_LANES, vector_bits // widest_bits([nest])), nest.static_extent(inner)
    lanes = lanes if row is None else min(lanes, _power_below(max(1, row)))

    def blocks(ivs: dict[int, Any], low: Any, high: Any, rows: int) -> None:
        def square(first: Any, _: list[Any]) -> list[Any]:
            nonlocal streams
            places = [first, *(arith.addi(first, index(row)) for row in range(1, rows))]
            at = [{**ivs, across: place} for place in places]
            members = [Member(nest, tuple(own[dim] for dim in range(inner))) for own in at]
            loop = VectorLoop(members, inner, vector_bits=vector_bits, most_lanes=lanes)
            loop.emit()
            streams |= loop.streams
            return []

        counted(low, high, [], square, rows)

    def squares(outer: list[Any], _: list[Any]) -> list[Any]:
        ivs, extent = dict(zip(outer_dims, outer, strict=True)), nest.static_extent(across)
        if extent is not None and extent > 0 and not any(nest.is_read[nest.inputs :]):
            # The last rows once more rather than fewer at a time: no nest reads the results.
            rows = min(lanes, _power_below(extent))
            blocks(ivs, index(0), index(extent - extent % rows), rows)
            if extent % rows:
                blocks(ivs, index(extent - rows), index(extent), rows)
            return []
        size = size_of(nest, across)
        whole = arith.subi(size, arith.remui(size, index(lanes)))
        blocks(ivs, index(0), whole, lanes)
        blocks(ivs, whole, size, 1)
        return []

    nest_over([size_of(nest, dim) for dim in outer_dims], [], squares)
    if streams:
        fence()


def _power_below(number: int) -> int:
    """Return the largest power of two that is no larger."""
    return 1 << (number.bit_length() - 1)
