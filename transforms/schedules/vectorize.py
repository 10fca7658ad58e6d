"""Rewrite a structured op in vector form.

before:
    %r = linalg.abs ins(%a : tensor<8xf32>) outs(%c : tensor<8xf32>) -> tensor<8xf32>
after `match("abs").vectorize().simplify()`:
    %c0 = arith.constant 0 : index
    %0 = ub.poison : f32
    %1 = vector.transfer_read %a[%c0], %0 {in_bounds = [true]} : tensor<8xf32>, vector<8xf32>
    %2 = math.absf %1 : vector<8xf32>
    %r = vector.transfer_write %2, %c[%c0] {in_bounds = [true]} : vector<8xf32>, tensor<8xf32>

Source: "Vectorization: Rewrite in Vector Form" of MLIR's linalg document;
`transform.structured.vectorize`.
"""

from __future__ import annotations

import math

from linalg_ext.bindings import ir
from linalg_ext.transforms.lowering._walk import element_type

from ._checks import check_not_empty, check_sizes, refusal, structured_loops
from ._facts import DYNAMIC
from ._script import ANY, Script, integers, line
from ._step import schedule_step

_MOST = 1 << 14
"""Points of an iteration space that fit one vector op: more take LLVM minutes, or all its stack."""


@schedule_step("linalg-ext-vectorize")
def vectorize(op: ir.Operation, *, sizes: tuple[int, ...] = ()) -> Script:
    """Compute an op with vectors of its whole iteration space; tile it first.

    Args:
        op: a structured op.
        sizes: of the vectors along each loop, where they are larger than the loops or those are not
            known: what is too much is masked.

    Raises:
        ScheduleError: a loop's range is not known and no size is given, or it is larger than its
            size, or the vectors would be enormous, or elements are not whole bytes.
    """
    loops = structured_loops(op, "vectorize")
    check_not_empty(op, loops)
    _check_elements(op)
    if sizes:
        check_sizes(op, "sizes", sizes, loops, whole=True, zeros=False)
        for loop, (size, extent) in enumerate(zip(sizes, loops.ranges, strict=True)):
            if extent > size:
                raise refusal(
                    op,
                    f"sizes[{loop}] is {size}; loop {loop} runs {extent} times",
                    expected=f"{extent} or more",
                    cure="tile it to the sizes first",
                )
    elif DYNAMIC in loops.ranges:
        raise refusal(
            op,
            f"loop {loops.ranges.index(DYNAMIC)} runs a number of times that is not known here",
            expected=f"sizes for {loops}",
            cure="tile it first and give sizes=[...], of the tile: the rest is masked",
        )
    points = math.prod(sizes or loops.ranges)
    if points > _MOST:
        raise refusal(
            op,
            f"vectorize would make vectors for {points} iterations at once",
            expected=f"at most {_MOST}",
            cure="tile(...) it first",
        )
    given = f" vector_sizes {integers(sizes)}" if sizes else ""
    return Script(
        (
            line("%around", "get_parent_op %target"),
            f"transform.structured.vectorize %target{given} : {ANY}",
        ),
        "%around",
    )


def _check_elements(op: ir.Operation) -> None:
    """Refuse elements smaller than a byte: vectors of them are packed, tensors of them are not."""
    for operand in op.operands:
        element = element_type(operand.type)
        if isinstance(element, ir.IntegerType) and element.width % 8:
            raise refusal(
                op,
                f"vectorize would load {element} as packed bits, which memory does not hold",
                expected="elements of whole bytes, such as i8",
            )
