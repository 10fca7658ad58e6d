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
from collections.abc import Sequence

from linalg_ext.bindings import ir
from linalg_ext.definition.affine import AffineConst, AffineDim
from linalg_ext.structured.maps import indexing_maps
from linalg_ext.transforms.lowering._walk import element_type, select

from ._checks import check_not_empty, check_sizes, refusal, structured_loops
from ._facts import DYNAMIC, Loops, has_maps
from ._script import ANY, Doubt, Script, integers, line
from ._step import schedule_step

# More takes LLVM minutes, or all its stack: of odd numbers, and of what is transposed, above all.
_MOST = 1 << 14
"""Points of the iteration space of one vector op."""

_MOST_OF_A_LOOP = 1 << 9
"""Rounds of one loop in it: the elements of a vector along one dimension."""

_MOST_OF_AN_OPERAND = 1 << 12
"""Elements of an operand in it."""

_MOST_TURNED = 1 << 11
"""Elements of an operand in it whose last dimension is another loop than the last of its loops."""

_WITH_VECTORS = ("arith", "math", "linalg")

_LOOPS = "leave it out: match(..., where=...); lower_to_loops() makes loops of it"


@schedule_step("linalg-ext-vectorize")
def vectorize(op: ir.Operation, *, sizes: tuple[int, ...] = ()) -> Script:
    """Compute an op with vectors of its whole iteration space; tile it first.

    Args:
        op: a structured op.
        sizes: of the vectors along each loop, where they are larger than the loops or those are not
            known: what is too much is masked.

    Raises:
        ScheduleError: a loop's range is not known and no size is given, or it is larger than its
            size, or the vectors would be enormous, or elements are not whole bytes, or upstream
            has no vector form of the op.
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
    _check_amount(op, sizes or loops.ranges)
    if sizes and sizes != loops.ranges:
        _check_masked_results(op)
    given = f" vector_sizes {integers(sizes)}" if sizes else ""
    return Script(
        (
            line("%around", "get_parent_op %target"),
            f"transform.structured.vectorize %target{given} : {ANY}",
        ),
        "%around",
        doubt=_doubt(op, loops),
    )


def _check_amount(op: ir.Operation, sizes: Sequence[int]) -> None:
    """Refuse vectors that LLVM would take minutes for."""
    kinds = [("iterations", math.prod(sizes), _MOST)]
    kinds += [(f"rounds of loop {n}", size, _MOST_OF_A_LOOP) for n, size in enumerate(sizes)]
    for number, map_ in enumerate(indexing_maps(op) if has_maps(op) else ()):
        order = [dim for index in map_.results for dim in index.dims]
        used = [(dim, size) for dim, size in zip(map_.dims, sizes, strict=True) if dim in order]
        # Elements are moved one by one where neighbours do not stay neighbours.
        is_turned = bool(used) and order[-1] != used[-1][0]
        most = _MOST_TURNED if is_turned else _MOST_OF_AN_OPERAND
        count = math.prod(size for _, size in used)
        kinds.append((f"{'turned ' * is_turned}elements of operand {number}", count, most))
    for what, count, most in kinds:
        if count > most:
            raise refusal(
                op,
                f"vectorize would make vectors for {count} {what} at once",
                expected=f"at most {most}",
                cure="tile(...) it first",
            )


def _check_masked_results(op: ir.Operation) -> None:
    """Refuse results with a constant among their indices: upstream masks them wrongly."""
    if not has_maps(op):
        return
    for map_ in indexing_maps(op)[len(op.operands) - len(op.results) :]:
        spelled = ["0" if isinstance(index, AffineConst) else "d" for index in map_.results]
        if "0" in "".join(spelled).strip("0"):
            raise refusal(
                op,
                f"vectorize cannot mask a result at {map_}, with a constant between dimensions",
                expected="the sizes of the loops, which need no mask",
                cure="fold_unit_extents() takes constants out of maps",
            )


def _doubt(op: ir.Operation, loops: Loops) -> Doubt | None:
    """What upstream's vectorizer may say no to."""
    if not has_maps(op):
        return Doubt(
            f"upstream has no vector form of {op.name}",
            "decompose() may turn it into ops that have",
        )
    for number, map_ in enumerate(indexing_maps(op)):
        for index in map_.results:
            if not isinstance(index, AffineDim | AffineConst):
                return Doubt(
                    f"upstream has vectors for windows along one dimension; operand {number} of "
                    f"this {op.name} is indexed by {index}",
                    "tile(...) the other dimensions of the window and of the result to 1, and "
                    "decompose() it",
                )
    if select(op, lambda each: each.name == "tensor.extract"):
        return Doubt(
            f"the body of this {op.name} reads at places that it computes, which upstream has no "
            "vectors for here",
            _LOOPS,
        )
    others = select(op, lambda each: each.name.partition(".")[0] not in _WITH_VECTORS)
    if others:
        return Doubt(
            f"{others[0].operation.name} in the body of this {op.name} has no vector form", _LOOPS
        )
    if loops.reductions:
        return Doubt(
            f"upstream has vectors for a reduction by one op, such as a sum; the body of this "
            f"{op.name} combines its results otherwise",
            _LOOPS,
        )
    return None


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
