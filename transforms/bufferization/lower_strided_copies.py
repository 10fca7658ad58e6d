"""Lower `memref.copy` between layouts that are not both the identity to a `linalg.generic`.

Upstream lowers such a copy to a call of `memrefCopy`, a function of a C runner library that the
bindings do not ship. As a generic it becomes loops like everything else; where the innermost
dimension is contiguous LLVM turns those back into block copies.

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

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import LoweringError
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.tensor_loops import elementwise
from linalg_ext.transforms.ir_utils.walking import operations, place

NAME = "linalg-ext-lower-strided-copies"


@module_pass(NAME, on="memref.copy")
def lower_strided_copies(module: ir.Operation) -> Report:
    """Lower copies between strided memrefs to linalg.generic.

    Raises:
        LoweringError: a copy of unranked memrefs, whose rank only a run would tell.
    """
    report = Report(NAME)
    for copy in operations(module, {"memref.copy"}):
        report.matched[copy.name] += 1
        if not _is_block_copy(copy):
            report.changed[copy.name] += 1
            replace_copy(copy)
    return report


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
