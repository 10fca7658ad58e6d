"""Loops over tensors that are carried along, index arithmetic for them, and regions copied in."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Sequence
from typing import Any

from linalg_ext.bindings import arith, cf, ir, linalg, tensor
from linalg_ext.structured.constants import index
from linalg_ext.structured.maps import iterators_attribute
from linalg_ext.structured.mixed import mixed_operands, type_shape

from .walking import copied


def as_index(value: Any) -> Any:
    """Return an integer of any type, read as signed, as an index."""
    if isinstance(value.type, ir.IndexType):
        return value
    return arith.index_cast(ir.IndexType.get(), value)


def _on_sizes(
    of_numbers: Callable[[int, int], int], build: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], Any]:
    """Return a function of two sizes that gives a number where both are, else builds an op."""

    def compute(left: Any, right: Any) -> Any:
        if isinstance(left, int) and isinstance(right, int):
            return of_numbers(left, right)
        return build(index(left), index(right))

    return compute


add = _on_sizes(operator.add, arith.addi)
sub = _on_sizes(operator.sub, arith.subi)
mul = _on_sizes(operator.mul, arith.muli)


def compare(predicate: str, left: Any, right: Any) -> Any:
    """Build an `arith.cmpi` of indices or values, by the name of its predicate."""
    return arith.cmpi(getattr(arith.CmpIPredicate, predicate), index(left), index(right))


def size_of(value: Any, axis: int) -> Any:
    """Return a size of a tensor: a number where it is static, else `tensor.dim`."""
    if value.type.is_dynamic_dim(axis):
        return tensor.dim(value, index(axis))
    return value.type.get_dim_size(axis)


def sizes_of(value: Any) -> list[Any]:
    """Return all sizes of a tensor; see `size_of`."""
    return [size_of(value, axis) for axis in range(ir.RankedTensorType(value.type).rank)]


def empty_like(type_: Any, sizes: Sequence[Any]) -> Any:
    """Return a tensor of sizes, with the elements of a type, that is to be written."""
    return tensor.empty(list(sizes), type_.element_type)


def parallel_generic(
    inputs: Sequence[Any],
    output: Any,
    maps: Sequence[Any],
    body: Callable[[Sequence[Any]], Any],
) -> Any:
    """Build a `linalg.generic` that writes each element of `output` once, by the inputs' maps."""
    generic = _generic(inputs, [output], maps, lambda *elements: [body(elements)])
    return generic.results[0]


def elementwise(
    inputs: Sequence[Any], outputs: Sequence[Any], body: Callable[..., Sequence[Any]]
) -> Any:
    """Build a `linalg.generic` that computes outputs element by element from all operands.

    The operands are tensors of one shape, or buffers of one.
    """
    identity = ir.AffineMap.get_identity(outputs[0].type.rank)
    return _generic(inputs, outputs, [identity] * len(inputs), body)


def _generic(
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    maps: Sequence[Any],
    body: Callable[..., Sequence[Any]],
) -> Any:
    operands, rank = [*inputs, *outputs], outputs[0].type.rank
    all_maps = [*maps, *[ir.AffineMap.get_identity(rank)] * len(outputs)]
    generic = linalg.GenericOp(
        [init.type for init in outputs if isinstance(init.type, ir.RankedTensorType)],
        list(inputs),
        list(outputs),
        ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in all_maps]),
        iterators_attribute(["parallel"] * rank),
    )
    block = generic.regions[0].blocks.append(*(operand.type.element_type for operand in operands))
    with ir.InsertionPoint(block):
        linalg.YieldOp(list(body(*block.arguments)))
    return generic.operation


def transposed(value: Any, init: Any, permutation: Sequence[int]) -> Any:
    """Return a tensor whose dimensions are in another order, in the place of `init`."""
    # As a generic: linalg.transpose refuses sizes of which one type tells less than the other.
    dims = [ir.AffineDimExpr.get(permutation.index(axis)) for axis in range(len(permutation))]
    map_ = ir.AffineMap.get(len(permutation), 0, dims)
    return parallel_generic([value], init, [map_], lambda arguments: arguments[0])


def inlined(block: Any, values: Sequence[Any]) -> list[Any]:
    """Copy the ops of a block to the insertion point with other arguments; return its yield."""
    replacements: dict[Any, Any] = dict(zip(block.arguments, values, strict=True))

    *ops, last = list(block.operations)
    for op in ops:
        copied(op.operation, replacements)
    return [replacements.get(value, value) for value in last.operation.operands]


class Demands:
    """Conditions on sizes that the program asserts when it runs, all at once."""

    def __init__(self, message: str) -> None:
        self._message = message
        self._held: list[Any] = []

    def equal(self, left: Any, right: Any) -> None:
        """Require that two sizes are equal, unless both are known and were checked before."""
        if not (isinstance(left, int) and isinstance(right, int)):
            self.holds(compare("eq", left, right))

    def at_least(self, left: Any, right: Any) -> None:
        """Require that a size is no less than another, unless both are known."""
        if not (isinstance(left, int) and isinstance(right, int)):
            self.holds(compare("sge", left, right))

    def holds(self, condition: Any) -> None:
        """Require a condition, of type i1."""
        self._held.append(condition)

    def emit(self) -> None:
        """Assert all of it, at the insertion point."""
        if not self._held:
            return
        cf.AssertOp(functools.reduce(arith.andi, self._held), self._message)


def extract_slice(
    source: Any, offsets: Sequence[Any], sizes: Sequence[Any], dropped: Collection[int] = ()
) -> Any:
    """Build a `tensor.extract_slice` of step 1 that drops some dimensions of size 1."""
    shape = type_shape([size for axis, size in enumerate(sizes) if axis not in dropped])
    type_ = ir.RankedTensorType.get(shape, source.type.element_type)
    geometry = mixed_operands(offsets, sizes, [1] * len(sizes))
    return tensor.ExtractSliceOp(type_, source, *geometry).result


def insert_slice(source: Any, into: Any, offsets: Sequence[Any], sizes: Sequence[Any]) -> Any:
    """Build a `tensor.insert_slice` of step 1; the source may lack dimensions of size 1."""
    geometry = mixed_operands(offsets, sizes, [1] * len(sizes))
    return tensor.InsertSliceOp(source, into, *geometry).result
