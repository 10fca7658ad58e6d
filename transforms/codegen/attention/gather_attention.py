"""Have the ops of attention side by side, with results of their own, before they become buffers.

before, in short:
    %t = linalg.generic {...} ins(%s) outs(%e) ...          // %e is the destination of many ops
    ...                                                     // other ops
    %p = linalg.generic {...} ins(%t, %max) outs(%e) ...
after:
    ...
    %e0 = tensor.empty() : tensor<8x512x512xf32>
    %t = linalg.generic {...} ins(%s) outs(%e0) ...
    %e1 = tensor.empty() : tensor<8x512x512xf32>
    %p = linalg.generic {...} ins(%t, %max) outs(%e1) ...

The results of the ops stay the same. As each buffer is written by one op and has one reader,
`linalg-ext-fuse-attention` can read the ops as one. It cannot once tensors have become buffers, for
these are reused.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import arith, ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.analysis.fills import comes_of
from linalg_ext.transforms.codegen.base.machine import this_machine
from linalg_ext.transforms.ir_utils.generics import maps_of, output_of
from linalg_ext.transforms.ir_utils.walking import copied, is_unused, ops_of, producer, select

from ._attention import Attention, find_attention

NAME = "linalg-ext-gather-attention"


@module_pass(NAME)
def gather_attention(module: ir.Operation) -> Report:
    """Put the ops of attention on tensors side by side, each with a destination of its own."""
    report = Report(NAME)
    for op in contractions(module, ir.RankedTensorType):
        report.matched[op.name] += 1
        attention = find_attention(op)
        if isinstance(attention, str):
            report.leave("attention", attention)
        elif attention is not None and not this_machine().has_fma:
            report.leave("attention", "the machine has no FMA")
        elif attention is not None:
            report.changed["attention"] += 1
            _gather(attention)
    return report


def contractions(module: ir.Operation, kind: Any) -> list[Any]:
    """Return the ops that may end attention, on operands whose type is of a class."""

    def may_end_attention(op: Any) -> bool:
        if op.name not in ("linalg.generic", "linalg.contract") or len(op.operands) < 3:
            return False
        last = maps_of(op)[-1]
        return len(last.results) < last.n_dims and isinstance(op.operands[0].type, kind)

    return select(module, may_end_attention)


def _gather(attention: Attention) -> None:
    last = attention.op
    widened = _read_narrow(last)
    remaining = (last, *widened)
    old = [op for op in attention.ops if op not in remaining and op.name != "arith.constant"]
    new: dict[Any, Any] = {}
    with last.location, ir.InsertionPoint(last):
        for op in old:
            destination = output_of(op)
            clone = copied(op, new)
            is_shared = destination not in new and comes_of(destination, "tensor.empty")
            if "shape" not in op.name and is_shared:
                with ir.InsertionPoint(clone):
                    own = producer(destination).clone()
                clone.operands[len(op.operands) - 1] = own.results[0]
        for position, value in enumerate(list(last.operands)[:-1]):
            last.operands[position] = new.get(value, value)
    _bring_destination(last)
    for op in reversed([*widened, *old]):
        if is_unused(op.results[0]):
            op.erase()


def _read_narrow(op: Any) -> list[Any]:
    """Have a product read operands before they are widened, and widen their elements itself.

    Returns:
        The ops that widened.
    """
    widening_ops: list[Any] = []
    body = op.regions[0].blocks[0]
    for position, value in enumerate(list(op.operands)[:-1]):
        widening = producer(value)
        if widening is None or not _only_widens(widening):
            continue
        source, argument = widening.operands[0], body.arguments[position]
        wide = argument.type
        argument.set_type(source.type.element_type)
        with op.location, ir.InsertionPoint.at_block_begin(body):
            cast = arith.ExtFOp(wide, argument)
        argument.replace_all_uses_except(cast.result, cast.operation)
        op.operands[position] = source
        widening_ops.append(widening)
    return widening_ops


def _only_widens(op: Any) -> bool:
    if op.name != "linalg.generic" or len(op.operands) != 2:
        return False
    names = [inner.name for inner in ops_of(op.regions[0].blocks[0])]
    is_identity = all(map_ == ir.AffineMap.get_identity(map_.n_dims) for map_ in maps_of(op))
    return is_identity and names == ["arith.extf", "linalg.yield"]


def _bring_destination(op: Any) -> None:
    """Fill the destination of an op right before it."""
    place = len(op.operands) - 1
    fill = producer(op.operands[place])
    if fill is None or fill.name not in ("linalg.generic", "linalg.fill"):
        return
    with ir.InsertionPoint(op):
        op.operands[place] = fill.clone().results[0]
    if is_unused(fill.results[0]):
        fill.erase()
