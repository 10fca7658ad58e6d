"""`tensor.concat` and `tensor.gather`: parts of several operands, and rows by their indices."""

from __future__ import annotations

from functools import cached_property

from linalg_ext.bindings import ir, tensor
from linalg_ext.gml_st.rules.concatenation import met_parts, picked_element
from linalg_ext.gml_st.rules.protocol import (
    PARALLEL,
    Domain,
    Rule,
    Take,
    TakeElement,
    Unserved,
    require_unit_strides,
)
from linalg_ext.structured.extension import integers
from linalg_ext.structured.sizes import size_of, sizes_of, tensor_type
from linalg_ext.symbolic.index_sets import Point, Tile
from linalg_ext.symbolic.integers import Number


class ConcatRule(Rule):
    """Each operand gives what of it the part meets, and that may be nothing."""

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self._dim = ir.IntegerAttr(op.attributes["dim"]).value

    @cached_property
    def domain(self) -> Domain:
        """The indices of the result."""
        sizes = list(sizes_of(self.op.operands[0]))
        sizes[self._dim] = sum(self._lengths, start=0)
        return Domain(tuple(sizes), (PARALLEL,) * len(sizes))

    def operand_parts(self, part: Tile) -> tuple[Tile | None, ...]:
        """Return the part of each operand that a part of the domain needs."""
        require_unit_strides(self.op, part)
        return tuple(met_parts(part, self._dim, self._lengths))

    @property
    def _lengths(self) -> list[Number]:
        return [size_of(each, self._dim) for each in self.op.operands]

    def build(self, part: Tile, take: Take) -> list[ir.Value]:
        """The op on a part."""
        parts = [each for each in self.operand_parts(part) if each is not None]
        # An operand that no such part meets is left out.
        met = [at for at, each in enumerate(parts) if each.size(self._dim) != 0] or [0]
        values = [take(at, parts[at]) for at in met]
        if len(values) == 1:
            return values
        shape = [ir.ShapedType(value.type) for value in values]
        axis = [
            ir.ShapedType.get_dynamic_size()
            if any(each.is_dynamic_dim(self._dim) for each in shape)
            else sum(each.get_dim_size(self._dim) for each in shape)
        ]
        type_ = tensor_type(part.sizes, self.op.results[0].type)
        sizes = [ir.ShapedType(type_).get_dim_size(at) for at in range(part.rank)]
        sizes[self._dim] = axis[0]
        inferred = ir.RankedTensorType.get(sizes, ir.ShapedType(type_).element_type)
        made: ir.Value = tensor.ConcatOp(inferred, self._dim, values).result
        return [made if made.type == type_ else tensor.CastOp(type_, made).result]

    def build_element(self, point: Point, take: TakeElement) -> list[ir.Value] | None:
        """The op at one point, on scalars."""
        type_ = ir.ShapedType(self.op.results[0].type).element_type
        return [picked_element(point, self._dim, self._lengths, take, type_)]


class GatherRule(Rule):
    """`tensor.gather`: the indices are cut along their rows, the source along what stays whole."""

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        self._gathered = integers(op.attributes["gather_dims"], "gather_dims")
        source = ir.ShapedType(op.operands[0].type).rank
        self._batch = ir.ShapedType(op.operands[1].type).rank - 1
        axes = list(range(source))
        rank = ir.ShapedType(op.results[0].type).rank - self._batch
        self._is_reduced = rank != source
        self._axes = [axis for axis in axes if not (self._is_reduced and axis in self._gathered)]
        if len(self._axes) != rank:
            raise Unserved("tensor.gather with a result of this rank")

    @cached_property
    def domain(self) -> Domain:
        """The indices of the result."""
        rows = sizes_of(self.op.operands[1])[: self._batch]
        sizes = [
            1 if axis in self._gathered else size_of(self.op.operands[0], axis)
            for axis in self._axes
        ]
        return Domain((*rows, *sizes), (PARALLEL,) * (len(rows) + len(sizes)))

    def operand_parts(self, part: Tile) -> tuple[Tile | None, ...]:
        """Return the part of each operand that a part of the domain needs."""
        require_unit_strides(self.op, part)
        offsets: list[Number] = [0] * ir.ShapedType(self.op.operands[0].type).rank
        sizes = list(sizes_of(self.op.operands[0]))
        for at, axis in enumerate(self._axes, start=self._batch):
            if axis not in self._gathered:
                offsets[axis], sizes[axis] = part.offset(at), part.size(at)
        count = size_of(self.op.operands[1], self._batch)
        rows = Tile((*part.offsets[: self._batch], 0), (*part.sizes[: self._batch], count))
        return Tile(offsets, sizes), rows

    def build(self, part: Tile, take: Take) -> list[ir.Value]:
        """The op on a part."""
        source, rows = self.operand_parts(part)
        if source is None or rows is None:
            raise Unserved("tensor.gather without operands")
        new = self.op.clone().operation
        point = ir.InsertionPoint(new)
        with point:
            new.operands[0], new.operands[1] = take(0, source), take(1, rows)
        new.results[0].set_type(tensor_type(part.sizes, self.op.results[0].type))
        return list(new.results)
