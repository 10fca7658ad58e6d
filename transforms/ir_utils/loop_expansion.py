"""Generics on tensors whose loops become several, as their operands are expanded.

before:
    %c = tensor.collapse_shape %x [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
    %r = linalg.generic {...} ins(%c, %y : tensor<6xf32>, tensor<6xf32>) ... -> tensor<6xf32>
after:
    %z = tensor.expand_shape %y [[0, 1]] output_shape [2, 3] : tensor<6xf32> into tensor<2x3xf32>
    %s = linalg.generic {...} ins(%x, %z : tensor<2x3xf32>, tensor<2x3xf32>) ... -> tensor<2x3xf32>

The iteration space of an op is expanded where all its maps pick loops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

from linalg_ext.bindings import affine, ir, linalg, tensor
from linalg_ext.structured.sizes import mixed_sizes, size_of, tensor_type
from linalg_ext.symbolic.integers import Number, product

from .generics import input_count, loop_of, maps_of
from .walking import operations, producer, replace_op

Groups: TypeAlias = Sequence[Sequence[int]]


@dataclass(frozen=True)
class LoopExpansion:
    """Loops of a generic that become several.

    Attributes:
        op: the generic.
        sizes: for each loop, the sizes of those that it becomes; empty where it stays.
    """

    op: Any
    sizes: tuple[tuple[Number, ...], ...]

    @classmethod
    def of(
        cls, op: Any, operand: int, groups: Groups, sizes: Sequence[Number]
    ) -> LoopExpansion | None:
        """Return the expansion that gives an operand other sizes; None where it cannot be done."""
        maps = maps_of(op)
        if not maps[operand].results or not all(map_.is_projected_permutation for map_ in maps):
            return None
        loops: list[tuple[Number, ...]] = [()] * maps[operand].n_dims
        for index, group in zip(maps[operand].results, groups, strict=True):
            if len(group) > 1:
                loops[ir.AffineDimExpr(index).position] = tuple(sizes[axis] for axis in group)
        expansion = cls(op, tuple(loops))
        is_possible = expansion._has_plain_positions() and all(
            expansion._fits(value, map_) for value, map_ in zip(op.operands, maps, strict=True)
        )
        return expansion if is_possible else None

    def _fits(self, value: Any, map_: Any) -> bool:
        """Return whether the sizes of an operand are those that its type says, open or not."""
        for axis, loop in enumerate(_loops(map_)):
            if self.sizes[loop]:
                size = product(self.sizes[loop])
                is_open = value.type.is_dynamic_dim(axis)
                if is_open == isinstance(size, int) or not (
                    is_open or size == value.type.shape[axis]
                ):
                    return False
        return True

    def _has_plain_positions(self) -> bool:
        """Return whether positions along the expanded loops, if asked for, are linear."""
        return all(
            all(isinstance(size, int) for size in self.sizes[loop_of(position)])
            for position in operations(self.op, {"linalg.index"})
        )

    def groups(self, map_: Any) -> list[list[int]]:
        """Return the axes that each axis of an operand becomes."""
        counts = [max(1, len(self.sizes[loop])) for loop in _loops(map_)]
        return [
            list(range(end - count, end))
            for count, end in zip(counts, accumulate(counts), strict=True)
        ]

    def build(
        self, expanded: Mapping[int, Any], note: Callable[[Any], Any] = lambda value: value
    ) -> Any:
        """Build the op on expanded operands, with the body of the old one.

        Args:
            expanded: operands that are there already, by their numbers.
            note: takes note of the expansions of the others, and gives them back.
        """
        op, maps = self.op, maps_of(self.op)
        first = [0, *accumulate(max(1, len(sizes)) for sizes in self.sizes)]
        dims = [range(*ends) for ends in pairwise(first)]
        operands = [
            expanded[number] if number in expanded else self._expanded(value, map_, note)
            for number, (value, map_) in enumerate(zip(op.operands, maps, strict=True))
        ]
        new_maps = [
            ir.AffineMap.get(
                first[-1],
                0,
                [ir.AffineDimExpr.get(dim) for loop in _loops(map_) for dim in dims[loop]],
            )
            for map_ in maps
        ]
        kinds = list(ir.ArrayAttr(op.attributes["iterator_types"]))
        attributes = dict(op.attributes.items())
        attributes["indexing_maps"] = ir.ArrayAttr.get(list(map(ir.AffineMapAttr.get, new_maps)))
        attributes["iterator_types"] = ir.ArrayAttr.get(
            [kind for kind, loops in zip(kinds, dims, strict=True) for _ in loops]
        )
        new = ir.Operation.create(
            op.name,
            results=[value.type for value in operands[input_count(op) :]],
            operands=operands,
            attributes=attributes,
            regions=1,
            loc=op.location,
        )
        for position in operations(op, {"linalg.index"}):
            self._move_position(position, dims[loop_of(position)])
        op.regions[0].blocks[0].append_to(new.regions[0])
        return new

    def _expanded(self, value: Any, map_: Any, note: Callable[[Any], Any]) -> Any:
        if not any(self.sizes[loop] for loop in _loops(map_)):
            return value
        sizes: list[Number] = []
        for axis, loop in enumerate(_loops(map_)):
            sizes += self.sizes[loop] or (size_of(value, axis),)
        type_: Any = tensor_type(sizes, value.type)
        origin = producer(value)
        if origin is not None and origin.name == "tensor.empty":
            return tensor.EmptyOp(mixed_sizes(sizes), type_.element_type).result
        return note(expand(value, type_, self.groups(map_), sizes))

    def _move_position(self, index: Any, dims: Sequence[int]) -> None:
        sizes = self.sizes[loop_of(index)]
        if not sizes:
            index.attributes["dim"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dims[0])
            return
        linear: Any = ir.AffineConstantExpr.get(0)
        for dim, size in enumerate(sizes):
            linear = linear * size + ir.AffineDimExpr.get(dim)
        with index.location, ir.InsertionPoint(index):
            positions = [linalg.IndexOp(dim).result for dim in dims]
            map_ = ir.AffineMap.get(len(dims), 0, [linear])
            moved = affine.AffineApplyOp(map_, positions).result
        replace_op(index, moved)


def _loops(map_: Any) -> list[int]:
    return [ir.AffineDimExpr(index).position for index in map_.results]


def expand(value: Any, type_: Any, groups: Groups, sizes: Sequence[Number]) -> Any:
    """Build the expansion of a tensor to a type, given the sizes."""
    mixed = mixed_sizes(sizes)
    open_ = [size for size in mixed if not isinstance(size, int)]
    return tensor.ExpandShapeOp(type_, value, groups, open_, list(type_.shape)).result
