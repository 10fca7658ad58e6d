"""Ops with indexing maps: helpers that read them and build them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from linalg_ext.bindings import ir, linalg
from linalg_ext.structured.maps import iterators_attribute
from linalg_ext.structured.operands import static_sizes

from .walking import copied, producer


def maps_of(op: Any) -> list[Any]:
    """Return the indexing map of each operand, those of the outputs last."""
    return [ir.AffineMapAttr(map_).value for map_ in ir.ArrayAttr(op.attributes["indexing_maps"])]


def parallel_loops(op: Any) -> tuple[bool, ...]:
    """Return for each loop of a `linalg.generic`, outermost first, whether it is parallel."""
    return _are_parallel(str(op.attributes["iterator_types"]))


@cache
def _are_parallel(kinds: str) -> tuple[bool, ...]:
    """Return which kinds of a list are parallel, by the text of the attribute: there are few."""
    return tuple(kind == "parallel" for kind in re.findall(r"<(\w+)>", kinds))


def extents_of(op: Any) -> dict[int, int | None]:
    """Return the trip count of each loop of an op; None where it is dynamic.

    A loop that no operand has as a plain index is left out.
    """
    extents: dict[int, int | None] = {}
    for value, map_ in zip(op.operands, maps_of(op), strict=True):
        if not isinstance(value.type, ir.ShapedType):
            continue
        for result, size in zip(map_.results, static_sizes(value), strict=True):
            if isinstance(result, ir.AffineDimExpr) and extents.get(result.position) is None:
                extents[result.position] = size
    return extents


def input_count(op: Any) -> int:
    """Return the number of inputs of a structured op; its outputs follow them.

    The number is 0 for an op whose inputs are not known.
    """
    if "operandSegmentSizes" in op.attributes:
        return int(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])[0])
    if op.name == "linalg.map":
        return len(op.operands) - 1
    if op.name == "linalg.reduce":
        return len(op.operands) // 2
    return int(op.name in ("linalg.broadcast", "linalg.softmax", "linalg.transpose"))


def output_of(op: Any) -> Any:
    """Return the last operand of an op: the output of a structured op with one result."""
    return op.operands[len(op.operands) - 1]


def yielded_by(body: Any) -> Any:
    """Return the operands of the terminator of a body."""
    return body.operations[len(body.operations) - 1].operation.operands


def is_contraction(op: Any) -> bool:
    """Return whether an op sums over products, or takes windows: it has loops of its own."""
    if op.name == "linalg.generic":
        return input_count(op) > 1 and not all(parallel_loops(op))
    return op.name.startswith("linalg.") and any(name in op.name for name in _CONTRACTIONS)


_CONTRACTIONS = ("matmul", "contract", "conv", "dot", "matvec", "vecmat", "pooling", "mmt4d")
"""Parts of the names of such ops."""


def is_on_tensors(op: Any) -> bool:
    """Return whether a `linalg.generic` reads and writes no memref: a result for each output."""
    return len(op.results) > 0 and not any(
        isinstance(value.type, ir.MemRefType) for value in op.operands
    )


def generic_on_tensors(
    inputs: Sequence[Any], output: Any, maps: ir.ArrayAttr, kinds: Iterable[str]
) -> Any:
    """Build a `linalg.generic` with one result; the caller builds its body."""
    return linalg.GenericOp([output.type], list(inputs), [output], maps, iterators_attribute(kinds))


def with_other_loops(
    op: Any, operands: Sequence[Any], maps: Sequence[Any], are_parallel: Iterable[bool]
) -> Any:
    """Build a generic like another at the insertion point, on other operands, without a body."""
    kinds = ("parallel" if is_parallel else "reduction" for is_parallel in are_parallel)
    return ir.Operation.create(
        op.name,
        operands=operands,
        attributes={
            **{name: op.attributes[name] for name in op.attributes},
            "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps]),
            "iterator_types": iterators_attribute(kinds),
        },
        regions=1,
    )


def loop_of(position: Any) -> int:
    """Return the number of the loop whose position a `linalg.index` is."""
    return int(ir.IntegerAttr(position.attributes["dim"]).value)


def inside(value: Any, body: Any) -> Any:
    """Return the op of a body that computes a value; None for a value from elsewhere."""
    op = producer(value)
    return op if op is not None and op.block == body else None


def computed_anew(value: Any, body: Any, replacements: dict[Any, Any]) -> Any:
    """Compute a value of a body once more at the insertion point, and return it.

    Args:
        value: a value of the body; one from outside is returned as it is.
        body: the block.
        replacements: the values of those of the body; each new one is added.
    """
    if value in replacements:
        return replacements[value]
    op = inside(value, body)
    if op is None:
        return value
    for operand in op.operands:
        computed_anew(operand, body, replacements)
    copied(op, replacements)
    return replacements[value]
