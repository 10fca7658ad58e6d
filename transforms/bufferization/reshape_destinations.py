"""Write a result in the shape that it is computed in, to memory that is seen in that shape.

before:
    func.func @f(%x: tensor<4x6xf32>, %m: memref<24xf32>) {
      %c = tensor.collapse_shape %x [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>
      bufferization.materialize_in_destination %c in restrict writable %m
        : (tensor<24xf32>, memref<24xf32>) -> ()
      return
    }
after:
    func.func @f(%x: tensor<4x6xf32>, %m: memref<24xf32>) {
      %e = memref.expand_shape %m [[0, 1]] output_shape [4, 6] : memref<24xf32> into memref<4x6xf32>
      bufferization.materialize_in_destination %x in restrict writable %e
        : (tensor<4x6xf32>, memref<4x6xf32>) -> ()
      return
    }

Upstream finds the place of a result through slices, not through reshapes: what ends in one would be
computed in memory of its own, and copied.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir, memref
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.walking import operations, producer

NAME = "linalg-ext-reshape-destinations"

_STORE = "bufferization.materialize_in_destination"
_RESHAPES = ("tensor.collapse_shape", "tensor.expand_shape")


@module_pass(NAME, on=_STORE)
def reshape_destinations(module: ir.Operation) -> Report:
    """Move reshapes of results to the memory that the results are written to."""
    report = Report(NAME)
    for store in operations(module, {_STORE}):
        while (reshape := _reshape_of(store)) is not None:
            report.matched[reshape.name] += 1
            report.changed[reshape.name] += 1
            memory = store.operands[1]
            with store.location, _where_it_is_known(memory):
                store.operands[1] = _seen_before(reshape, memory)
            store.operands[0] = reshape.operands[0]
            if not any(True for _ in reshape.results[0].uses):
                reshape.erase()
    return report


def _reshape_of(store: Any) -> Any:
    """The reshape that gives what is stored, where memory can be seen in the shape before it."""
    value, memory = store.operands
    reshape = producer(value)
    if reshape is None or reshape.name not in _RESHAPES:
        return None
    before = reshape.operands[0].type
    is_plain = isinstance(memory.type, ir.MemRefType) and memory.type.affine_map == (
        ir.AffineMap.get_identity(memory.type.rank)
    )
    types = (before, value.type, memory.type)
    return reshape if is_plain and all(type_.has_static_shape for type_ in types) else None


def _where_it_is_known(memory: Any) -> ir.InsertionPoint:
    """Before all that may write to `memory`: the result may have to be put there from the start."""
    if isinstance(memory.owner, ir.Block):
        return ir.InsertionPoint.at_block_begin(memory.owner)
    return ir.InsertionPoint.after(memory.owner)


def _seen_before(reshape: Any, memory: Any) -> Any:
    """`memory`, of the shape that a reshape gives, in the shape that the reshape takes."""
    before = reshape.operands[0].type
    type_ = ir.MemRefType.get(
        before.shape, before.element_type, memory_space=memory.type.memory_space
    )
    groups = reshape.attributes["reassociation"]
    if reshape.name == "tensor.collapse_shape":
        return memref.ExpandShapeOp(type_, memory, groups, [], before.shape).result
    return memref.CollapseShapeOp(type_, memory, groups).result
