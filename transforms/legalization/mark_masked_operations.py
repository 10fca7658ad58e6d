"""Mark the operation in each `vector.mask`, so that it differs from every one outside of the mask.

Upstream's cse takes a masked operation for an equal one before the mask, which has none: a masked
sum becomes the sum of everything. Operations with different attributes are not equal.

before:
    %all = vector.reduction <add>, %x : vector<4xf32> into f32
    %some = vector.mask %k { vector.reduction <add>, %x : vector<4xf32> into f32 }
              : vector<4xi1> -> f32
after:
    %all = vector.reduction <add>, %x : vector<4xf32> into f32
    %some = vector.mask %k {
              vector.reduction <add>, %x {linalg_ext.masked} : vector<4xf32> into f32
            } : vector<4xi1> -> f32
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.walking import operations

NAME = "linalg-ext-mark-masked-operations"

MASKED = "linalg_ext.masked"
"""Unit attribute of an operation in a vector.mask."""


@module_pass(NAME, on="vector.mask")
def mark_masked_operations(module: ir.Operation) -> Report:
    """Mark the operation in each vector.mask."""
    report = Report(NAME)
    for mask in operations(module, {"vector.mask"}):
        for op in mask.regions[0].blocks[0].operations:
            if op.operation.name != "vector.yield" and MASKED not in op.operation.attributes:
                report.matched[op.operation.name] += 1
                report.changed[op.operation.name] += 1
                op.operation.attributes[MASKED] = ir.UnitAttr.get()
    return report
