"""What the body of a structured op does: whether it reduces by one op, and without affine ops."""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.transforms.ir_utils.walking import producer, select

from ._apart import run_apart

_COMBINERS = frozenset(
    (
        *("arith.addf", "arith.addi", "arith.mulf", "arith.muli"),
        *("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"),
        *("arith.maxsi", "arith.maxui", "arith.minsi", "arith.minui"),
        *("arith.andi", "arith.ori", "arith.xori"),
    )
)
"""The ops that a vector is reduced by."""


def reduces_by_one_op(op: ir.Operation) -> bool:
    """Whether each result of a reduction is what it was before, combined by one op."""
    body = op.regions[0].blocks[0]
    ops = [each.operation for each in body.operations]
    yielded = list(ops[-1].operands)
    before = list(body.arguments)[len(op.operands) - len(yielded) :]
    if len(before) != len(yielded):
        return True  # linalg.map and the like, which reduce nothing
    for value, argument in zip(yielded, before, strict=True):
        combiner = producer(value)
        uses = [use.owner.operation for use in argument.uses]
        if combiner is None or combiner.operation.name not in _COMBINERS:
            return False
        if uses != [combiner.operation]:
            return False
    return True


def with_plain_positions(op: ir.Operation) -> ir.Operation:
    """The op without `affine.apply` in its body, where tiling leaves it: sums and products."""
    if not select(op, lambda each: each.name.startswith("affine.")):
        return op
    name = op.name
    made = run_apart(op, "func.func(lower-affine)")
    return next(each for each in made if each.name == name)
