"""Lower `memref.copy` between layouts that are not both the identity to a `linalg.generic`.

Upstream lowers such a copy to a call of `memrefCopy`, a function of a C runner library that the
bindings do not ship. As a generic it becomes loops like everything else; where the innermost
dimension is contiguous LLVM turns those back into block copies. Copies that interleave, such as
those of `numpy.stack` along the last axis, become one.

before:
    memref.copy %a, %b : memref<4xf32, strided<[2]>> to memref<4xf32>
after:
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                    iterator_types = ["parallel"]}
        ins(%a : memref<4xf32, strided<[2]>>) outs(%b : memref<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import LoweringError
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.views import tile_view
from linalg_ext.transforms.analysis.buffers import TOUCH_NOTHING, buffer_of, may_alias
from linalg_ext.transforms.ir_utils.arithmetic import size_of, strides_of
from linalg_ext.transforms.ir_utils.tensor_loops import elementwise
from linalg_ext.transforms.ir_utils.walking import operations, ops_of, place

NAME = "linalg-ext-lower-strided-copies"

_MOST_PARTS = 8
"""The most elements of a row whose copies are made together."""


@module_pass(NAME, on="memref.copy")
def lower_strided_copies(module: ir.Operation) -> Report:
    """Lower copies between strided memrefs to linalg.generic.

    Raises:
        LoweringError: a copy of unranked memrefs, whose rank only a run would tell.
    """
    report = Report(NAME)
    for copies in _interleaved(module):
        report.matched["memref.copy"] += len(copies)
        report.changed["memref.copy"] += len(copies)
        _replace_together(copies)
    for copy in operations(module, {"memref.copy"}):
        report.matched[copy.name] += 1
        if not _is_block_copy(copy):
            report.changed[copy.name] += 1
            replace_copy(copy)
    return report


def _interleaved(module: ir.Operation) -> list[list[Any]]:
    """Return the runs of copies into parts of one buffer that lie side by side, element by element.

    Each would go over the whole buffer, and touch an element of every few.
    """
    runs: list[list[Any]] = []
    blocks = dict.fromkeys(copy.block for copy in operations(module, {"memref.copy"}))
    for block in blocks:
        run: list[Any] = []
        for op in ops_of(block):
            if op.name == "memref.copy" and _is_interleaved(op):
                if run and not _are_together(run[0], op):
                    runs.append(run)
                    run = []
                run.append(op)
            elif op.name not in TOUCH_NOTHING and not op.name.startswith("arith."):
                runs.append(run)
                run = []
        runs.append(run)
    return [run for run in runs if len(run) > 1]


def _is_interleaved(copy: Any) -> bool:
    """Return whether a copy writes one element of each row, and reads elements side by side."""
    source, target = (operand.type for operand in copy.operands)
    if not (isinstance(source, ir.MemRefType) and isinstance(target, ir.MemRefType)):
        return False
    strides, to_strides = strides_of(source), strides_of(target)
    return (
        target.rank > 1
        and target.has_static_shape  # of two open sizes nothing tells that they are one
        and strides is not None
        and to_strides is not None
        and (source.shape[-1], target.shape[-1], strides[-2]) == (1, 1, 1)
        and 1 < to_strides[-2] <= _MOST_PARTS
    )


def _are_together(first: Any, copy: Any) -> bool:
    """Return whether two such copies write a buffer that neither reads."""
    buffer = buffer_of(first.operands[1])
    return (
        buffer_of(copy.operands[1]) == buffer
        and first.operands[1].type.shape == copy.operands[1].type.shape
        and not any(may_alias(buffer_of(op.operands[0]), buffer) for op in (first, copy))
    )


def _replace_together(copies: Sequence[Any]) -> None:
    """Put one linalg.generic in the place of copies; the axis of one element is left out."""

    def row(value: Any) -> Any:
        axes = range(value.type.rank - 1)
        sizes = [*(size_of(value, axis) for axis in axes), 1]
        return tile_view(value, [0] * len(sizes), sizes, None, axes)

    last = copies[-1]
    with last.location, ir.InsertionPoint(last):
        sources, targets = ([row(copy.operands[side]) for copy in copies] for side in range(2))
        elementwise(sources, targets, lambda *elements: elements[: len(copies)])
    for copy in copies:
        copy.erase()


def _is_block_copy(copy: Any) -> bool:
    """Return whether both sides are contiguous by type: upstream's block copy is then quick."""
    for operand in copy.operands:
        if not isinstance(operand.type, ir.MemRefType):
            raise LoweringError(
                "a memref.copy of unranked memrefs cannot be lowered",
                where=place(copy),
                hint="cast both sides to ranked memrefs (memref.cast) before copying",
            )
    with copy.location:
        return all(_has_identity_layout(operand.type) for operand in copy.operands)


def _has_identity_layout(type_: ir.MemRefType) -> bool:
    plain = ir.MemRefType.get(type_.shape, type_.element_type, None, type_.memory_space)
    return bool(plain == type_)


def replace_copy(copy: Any) -> None:
    """Put a linalg.generic in the place of a copy."""
    source, target = copy.operands
    with copy.location, ir.InsertionPoint(copy):
        elementwise([source], [target], lambda element, _: [element])
    copy.erase()
