"""What several passes ask of an op with indexing maps, and how they build one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from linalg_ext.bindings import ir, linalg

from .walking import producer


def maps_of(op: Any) -> list[Any]:
    """The indexing map of each operand, those of the outputs last."""
    return [ir.AffineMapAttr(one).value for one in ir.ArrayAttr(op.attributes["indexing_maps"])]


def parallel_loops(op: Any) -> tuple[bool, ...]:
    """Of each loop of a `linalg.generic`, outermost first, whether it is parallel."""
    return tuple("parallel" in str(one) for one in ir.ArrayAttr(op.attributes["iterator_types"]))


def extents_of(op: Any) -> dict[int, int | None]:
    """How many rounds each loop of an op has; None where only the run tells."""
    found: dict[int, int | None] = {}
    for value, map_ in zip(op.operands, maps_of(op), strict=True):
        if not isinstance(value.type, ir.ShapedType):
            continue
        shape = ir.ShapedType(value.type)
        for axis, result in enumerate(map_.results):
            if isinstance(result, ir.AffineDimExpr):
                size = None if shape.is_dynamic_dim(axis) else shape.get_dim_size(axis)
                if found.get(result.position) is None:
                    found[result.position] = size
    return found


def input_count(op: Any) -> int:
    """How many operands of a structured op are inputs, the outputs coming after them.

    None are of an op that does not tell.
    """
    if "operandSegmentSizes" in op.attributes:
        return int(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])[0])
    if op.name == "linalg.map":
        return len(op.operands) - 1
    if op.name == "linalg.reduce":
        return len(op.operands) // 2
    return int(op.name in ("linalg.broadcast", "linalg.softmax", "linalg.transpose"))


def iterators(kinds: Iterable[str]) -> ir.ArrayAttr:
    """The attribute that says what each loop is: "parallel" or "reduction"."""
    return ir.ArrayAttr.get(
        [ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in kinds]
    )


def generic_on_tensors(
    inputs: Sequence[Any], output: Any, maps: ir.ArrayAttr, kinds: Iterable[str]
) -> Any:
    """A `linalg.generic` with one result, whose body is still to be made."""
    return linalg.GenericOp([output.type], list(inputs), [output], maps, iterators(kinds))


def loop_of(position: Any) -> int:
    """The loop whose position a `linalg.index` is."""
    return int(ir.IntegerAttr(position.attributes["dim"]).value)


def inside(value: Any, body: Any) -> Any:
    """The op of a body that a value comes of; None for what comes from elsewhere."""
    op = producer(value)
    return op if op is not None and op.block == body else None


def computed_anew(value: Any, body: Any, known: dict[Any, Any]) -> Any:
    """A value of a body, computed once more at the insertion point.

    Args:
        value: of the body, or from outside of it, which stays as it is.
        body: the block.
        known: what values of the body are here; what is computed is added to it.
    """
    if value in known:
        return known[value]
    op = inside(value, body)
    if op is None:
        return value
    operands = [computed_anew(operand, body, known) for operand in op.operands]
    clone = op.clone()
    for place, operand in enumerate(operands):
        clone.operands[place] = operand
    known.update(zip(op.results, clone.results, strict=True))
    return known[value]
