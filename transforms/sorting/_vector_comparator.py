"""A comparator of scalars applied to vectors, and vectors of rows of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir, vector
from linalg_ext.transforms.ir_utils.arithmetic import constant
from linalg_ext.transforms.ir_utils.walking import producer


def is_on_vectors(block: Any) -> bool:
    """Return whether all that a block does to scalars may be done to vectors."""
    *ops, last = (op.operation for op in block.operations)
    made = producer(last.operands[0])
    if made not in ops or made.name == "arith.constant":
        return False
    return all(op.name.startswith(("arith.", "math.")) and len(op.results) == 1 for op in ops)


def width_in_vectors(type_: Any) -> int | None:
    """Bits of an element that vectors hold as memory does; None of another one."""
    if isinstance(type_, ir.IntegerType):
        return type_.width if type_.width in (8, 16, 32, 64) else None
    return {"f32": 32, "f64": 64, "index": 64}.get(str(type_))


def read_vector(source: Any, place: Sequence[Any], lanes: int) -> Any:
    """Return `lanes` elements of a row of a tensor, all in bounds."""
    type_ = ir.VectorType.get([lanes], source.type.element_type)
    along = ir.AffineMapAttr.get(ir.AffineMap.get_minor_identity(len(place), 1))
    none = constant(source.type.element_type, 0)
    return vector.TransferReadOp(type_, source, place, along, none, in_bounds=[True]).result


def write_vectors(values: Sequence[Any], into: Sequence[Any], place: Sequence[Any]) -> list[Any]:
    """Vectors put into rows of tensors, one each, at one place."""
    along = ir.AffineMapAttr.get(ir.AffineMap.get_minor_identity(len(place), 1))
    return [
        vector.TransferWriteOp(each.type, value, each, place, along, in_bounds=[True]).result
        for value, each in zip(values, into, strict=True)
    ]


def on_vectors(block: Any, values: Sequence[Any], lanes: int) -> Any:
    """Return the yield of a block of operations on scalars, computed on vectors instead.

    A value may be None where the block does not read it.
    """
    known: dict[Any, Any] = dict(zip(block.arguments, values, strict=True))

    def row(value: Any) -> Any:
        value = known.get(value, value)
        if isinstance(value.type, ir.VectorType):
            return value
        return vector.broadcast(ir.VectorType.get([lanes], value.type), value)

    *ops, last = (op.operation for op in block.operations)
    for op in ops:
        if op.name == "arith.constant":
            known[op.results[0]] = op.clone().results[0]
            continue
        made = ir.Operation.create(
            op.name,
            results=[ir.VectorType.get([lanes], op.results[0].type)],
            operands=[row(value) for value in op.operands],
            attributes={name: op.attributes[name] for name in op.attributes},
        )
        known[op.results[0]] = made.results[0]
    return known[last.operands[0]]
