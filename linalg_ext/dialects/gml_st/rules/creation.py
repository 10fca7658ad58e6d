"""Ops that make a tensor of nothing: `tensor.empty`, `splat`, `generate`, constants of one number.

The domain is the indices of the result, and there is no operand that a part would be taken of.
"""

from __future__ import annotations

from collections.abc import Sequence

from linalg_ext.bindings import ir, tensor
from linalg_ext.dialects.gml_st.rules.bodies import given_positions
from linalg_ext.dialects.gml_st.rules.protocol import Rule, Take, TakeElement, Unserved
from linalg_ext.structured.mixed import mixed_operands
from linalg_ext.structured.sizes import mixed_sizes, tensor_type
from linalg_ext.symbolic.index_sets import Point, Tile
from linalg_ext.symbolic.integers import Number


class _CreationRule(Rule):
    """An op whose result has no source."""

    def _parts(self, part: Tile) -> Sequence[None]:
        return [None] * len(self.op.operands)

    def _type(self, part: Tile) -> ir.Type:
        return tensor_type(part.sizes, self.op.results[0].type)


class EmptyRule(_CreationRule):
    """`tensor.empty`: a part is an empty tensor of its shape."""

    def _build(self, part: Tile, parts: Sequence[Tile | None], take: Take) -> list[ir.Value]:
        type_ = ir.RankedTensorType(self.op.results[0].type)
        sizes = mixed_sizes(part.sizes)
        return [tensor.EmptyOp(sizes, type_.element_type, encoding=type_.encoding).result]


class SplatRule(_CreationRule):
    """`tensor.splat`: one scalar everywhere."""

    def _build(self, part: Tile, parts: Sequence[Tile | None], take: Take) -> list[ir.Value]:
        return [_splat(self.op.operands[0], self._type(part), part.sizes)]

    def _element(self, point: Point, take: TakeElement) -> list[ir.Value]:
        return [self.op.operands[0]]


class ConstantRule(_CreationRule):
    """`arith.constant` of one number everywhere; a table of numbers is read where it lies."""

    def __init__(self, op: ir.Operation) -> None:
        super().__init__(op)
        value = op.attributes["value"]
        if not isinstance(value, ir.DenseElementsAttr) or not value.is_splat:
            raise Unserved("a constant of several numbers is read where it lies")
        self._number = value.get_splat_value()

    def _build(self, part: Tile, parts: Sequence[Tile | None], take: Take) -> list[ir.Value]:
        type_ = self._type(part)
        if all(isinstance(size, int) for size in part.sizes):
            return [_constant(ir.DenseElementsAttr.get_splat(type_, self._number))]
        return [_splat(self._scalar(), type_, part.sizes)]

    def _element(self, point: Point, take: TakeElement) -> list[ir.Value]:
        return [self._scalar()]

    def _scalar(self) -> ir.Value:
        return _constant(self._number)


class GenerateRule(_CreationRule):
    """`tensor.generate`: a body that computes an element of its indices."""

    def _build(self, part: Tile, parts: Sequence[Tile | None], take: Take) -> list[ir.Value]:
        dynamic, _ = mixed_operands(mixed_sizes(part.sizes))
        new = ir.Operation.create(
            "tensor.generate", results=[self._type(part)], operands=dynamic, regions=1
        )
        given_positions(self.op, new, part)
        return list(new.results)


def _constant(value: ir.Attribute) -> ir.Value:
    op = ir.Operation.create("arith.constant", results=[value.type], attributes={"value": value})
    return op.results[0]


def _splat(scalar: ir.Value, type_: ir.Type, sizes: tuple[Number, ...]) -> ir.Value:
    dynamic, _ = mixed_operands(mixed_sizes(sizes))
    return tensor.SplatOp(type_, scalar, dynamic).result
