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

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.group import may_be_fused
from linalg_ext.transforms.analysis.buffers import TOUCH_NOTHING
from linalg_ext.transforms.bufferization.lower_strided_copies import replace_copy
from linalg_ext.transforms.codegen.base.choices import choices
from linalg_ext.transforms.codegen.base.machine import this_machine
from linalg_ext.transforms.codegen.vectorization.planned_loops import summary_of
from linalg_ext.transforms.ir_utils.generics import parallel_loops
from linalg_ext.transforms.ir_utils.walking import operations

from ._nest_emitter import NestEmitter
from ._positions import spell_out_positions
from ._transposition_nests import emit_crossed
from .loop_nests import Nest, read_nest

NAME = "linalg-ext-vectorize-loops"

_BETWEEN = ("arith.", "affine.apply", "index.")
"""Prefixes of the names of ops that may stand between nests.

Ops on buffers that touch no element may, too.
"""


@module_pass(NAME, on=("linalg.generic", "memref.copy"))
def vectorize_loops(module: ir.Operation, *, vector_bits: int = 0) -> Report:
    """Lower element-wise ops and reductions on buffers to loops over vectors.

    Args:
        vector_bits: of a register, a power of two from 64 on; 0 for what this machine has.

    Raises:
        ArgumentError: no such registers.
    """
    if vector_bits and (vector_bits < 64 or vector_bits & (vector_bits - 1)):
        raise ArgumentError(
            f"{NAME} cannot fill registers of {vector_bits} bits",
            expected="a power of two from 64 on, or 0 for what this machine has",
        )
    report = Report(NAME)
    for copy in operations(module, {"memref.copy"}):
        if _is_among_rows(copy):
            replace_copy(copy)
    generics = operations(module, {"linalg.generic"})
    blocks = list(dict.fromkeys(op.block for op in generics))
    for block in blocks:
        for run in list(_runs(block, report)):
            bits = vector_bits or choices().vector_bits or 8 * this_machine().vector_bytes
            summary = summary_of(run, bits)
            if run[0].is_crossed:
                emit_crossed(run[0], bits)
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
    """Consecutive nests of a block and of a group, nothing between them that touches memory."""
    run: list[Nest] = []
    for op in block.operations:
        operation = op.operation
        if operation.name == "linalg.generic":
            report.matched[operation.name] += 1
            if not all(parallel_loops(operation)):
                spell_out_positions(operation.regions[0].blocks[0])
            nest = read_nest(operation)
            if isinstance(nest, Nest) and not nest.is_crossed:
                if not may_be_fused(operation, *(each.op for each in run)):
                    yield run
                    run = []
                run.append(nest)
                continue
            if isinstance(nest, Nest):
                if run:
                    yield run
                run = []
                yield [nest]
                continue
            report.leave(operation.name, nest.reason)
        elif operation.name.startswith(_BETWEEN) or operation.name in TOUCH_NOTHING:
            continue
        if run:
            yield run
        run = []
    if run:
        yield run
