"""Pads that cut: the slices that they leave, padded.

    torch.aten.constant_pad_nd %x, [-1, 1], %value

takes the first element away and adds one behind the last. In linalg that is a `tensor.pad` whose
result has the type of its source, and upstream takes it for one that does nothing.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.frameworks.torch_dialect.own_tensors import own_type
from linalg_ext.frameworks.torch_dialect.reshaping import constant_of
from linalg_ext.structured.operands import producer
from linalg_ext.transforms.ir_utils.walking import operations

_PAD = "torch.aten.constant_pad_nd"
_LAST = (1 << 63) - 1


def write_cutting_pads(module: ir.Module) -> None:
    """Have each pad by known amounts, some of them less than 0, cut by slices."""
    for op in operations(module.operation, {_PAD}):
        listed = producer(op.operands[1])
        amounts = [] if listed is None else [constant_of(each) for each in listed.operands]
        known = [amount for amount in amounts if amount is not None]
        if len(known) == len(amounts) and any(amount < 0 for amount in known):
            with op.location, ir.InsertionPoint(op):
                _write(op, known)


def _write(op: Any, amounts: list[int]) -> None:
    """Slice what an op pads, and have it pad that by what is left of its amounts."""
    value = op.operands[0]
    sizes = list(own_type(value.type).shape)
    for back, (before, after) in enumerate(zip(amounts[::2], amounts[1::2], strict=True), 1):
        first, last = max(-before, 0), max(-after, 0)
        if not first and not last:
            continue
        axis = len(sizes) - back
        if sizes[axis] >= 0:
            sizes[axis] -= first + last
        bounds = axis, first, -last if last else _LAST, 1
        type_ = _with_sizes(value.type, sizes)
        operands = [value, *map(_constant, bounds)]
        value = ir.Operation.create("torch.aten.slice.Tensor", [type_], operands).results[0]
    left = [_constant(max(amount, 0)) for amount in amounts]
    type_ = ir.Type.parse("!torch.list<int>")
    op.operands[1] = ir.Operation.create("torch.prim.ListConstruct", [type_], left).results[0]
    op.operands[0] = value


def _constant(number: int) -> ir.Value:
    attributes: dict[str, ir.Attribute] = {
        "value": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
    }
    type_ = ir.Type.parse("!torch.int")
    return ir.Operation.create("torch.constant.int", [type_], attributes=attributes).results[0]


def _with_sizes(type_: ir.Type, sizes: list[int]) -> ir.Type:
    """A type of torch's tensors with other sizes; those that are open are less than 0."""
    _, _, element = str(type_).partition("],")
    shown = ",".join("?" if size < 0 else str(size) for size in sizes)
    return ir.Type.parse(f"!torch.vtensor<[{shown}],{element}")
