"""Assertions in the body of a structured op, asserted before the op: for all of its iterations.

linalg.generic: cf.assert %c, "m"       %all = linalg.generic: %all and %c, a reduction
                                        cf.assert %all, "m"
                                        linalg.generic
"""

from __future__ import annotations

from linalg_ext.bindings import arith, cf, ir, linalg, tensor
from linalg_ext.definition.affine import AffineMap
from linalg_ext.gml_st.rules.bodies import as_generic
from linalg_ext.structured.constants import integer_constant
from linalg_ext.structured.maps import indexing_maps
from linalg_ext.transforms.ir_utils.walking import operations

from ._facts import Loops

_ASSERT = "cf.assert"


def asserted_before(op: ir.Operation, loops: Loops) -> list[ir.Operation]:
    """Take the assertions out of a body; the reductions that say whether all of them hold.

    Nothing is changed if one of them cannot be checked before the op. That is so if it stands in a
    region in the body, or depends on the value of a reduction, or if the op is on buffers.
    """
    asserted = operations(op, {_ASSERT})
    if not asserted or not op.results:
        return []
    body = op.regions[0].blocks[0]
    written = list(body.arguments)[len(op.operands) - len(op.results) :]
    if any(each.operation.block != body for each in asserted):
        return []
    if loops.reductions and any(list(argument.uses) for argument in written):
        return []
    with op.location, ir.InsertionPoint(op):
        made = [_all_hold(op, number) for number in range(len(asserted))]
    for each in asserted:
        each.operation.erase()
    return made


def _all_hold(op: ir.Operation, number: int) -> ir.Operation:
    """Assert one of the conditions in the body of `op` for all iterations, before it."""
    byte = ir.IntegerType.get_signless(8)
    maps = indexing_maps(op)
    type_ = ir.RankedTensorType.get([], byte)
    splat = ir.DenseElementsAttr.get_splat(type_, ir.IntegerAttr.get(byte, 1))
    true = ir.Operation.create("arith.constant", [type_], attributes={"value": splat}).results[0]
    operands = [*op.operands, true]
    holds = as_generic(
        op,
        operands,
        [type_],
        [*maps, AffineMap(maps[0].dims, (), ())],
        ["reduction"] * len(maps[0].dims),
    )
    block = holds.regions[0].blocks[0]
    asserted = operations(holds, {_ASSERT})
    condition = asserted[number].operation.operands[0]
    message = ir.StringAttr(asserted[number].operation.attributes["msg"]).value
    for each in asserted:
        each.operation.erase()
    block.operations[len(block.operations) - 1].operation.erase()
    with ir.InsertionPoint(block):
        one = arith.ExtUIOp(byte, condition).result
        arguments = list(block.arguments)
        linalg.YieldOp([arith.AndIOp(arguments[len(arguments) - 1], one).result])
    _drop_unread(block)
    found = tensor.ExtractOp(holds.results[0], []).result
    is_true = arith.CmpIOp(arith.CmpIPredicate.ne, found, integer_constant(byte, 0)).result
    cf.AssertOp(is_true, message)
    return holds


def _drop_unread(block: ir.Block) -> None:
    """Erase what the yielded value does not rest on."""
    ops = [each.operation for each in block.operations]
    for each in reversed(ops[:-1]):
        if not any(list(result.uses) for result in each.results):
            each.erase()
