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

from linalg_ext.bindings import arith, cf, ir, linalg, tensor
from linalg_ext.dialects.gml_st.rules.bodies import as_generic
from linalg_ext.structured.constants import integer_constant
from linalg_ext.structured.maps import indexing_maps
from linalg_ext.symbolic.affine import AffineConst, AffineMap
from linalg_ext.transforms.ir_utils.walking import element_type, operations, producer, select

from ._checks import (
    DYNAMIC,
    Loops,
    check_not_empty,
    check_sizes,
    has_maps,
    refusal,
    structured_loops,
)
from ._run_alone import run_alone
from .step import ANY, Doubt, Parts, Script, integers, line, schedule_step
from .windows import MOST_POSITIONS, check_layouts, choose_unrolling, is_plain, unrolled

# LLVM needs minutes for more, or all its stack: above all for odd and transposed shapes.
_MOST = 1 << 14
"""Points of the iteration space of one vector op."""

_MOST_OF_A_LOOP = 1 << 9
"""Rounds of one loop in it: the elements of a vector along one dimension."""

_MOST_OF_AN_OPERAND = 1 << 12
"""Elements of an operand in it."""

_MOST_TURNED = 1 << 11
"""Elements of an operand in it whose last dimension is another loop than the last of its loops."""

_WINDOWS_OF_UPSTREAM = frozenset(
    (
        *("linalg.conv_1d_nwc_wcf", "linalg.conv_1d_ncw_fcw", "linalg.depthwise_conv_1d_nwc_wc"),
        *("linalg.pooling_nwc_sum", "linalg.pooling_nwc_max", "linalg.pooling_ncw_sum"),
        "linalg.pooling_ncw_max",
    )
)
"""Those that upstream's own vectors are for, where no loop is masked."""

_WITH_VECTORS = ("arith", "math", "linalg")

_LOOPS = "leave it out: match(..., where=...); lower_to_loops() makes loops of it"


@schedule_step("linalg-ext-vectorize")
def vectorize(op: ir.Operation, *, sizes: tuple[int, ...] = ()) -> Script | Parts:
    """Compute an op with vectors of its whole iteration space; tile it first.

    A window is taken apart into its places, as `unroll_windows` does, with vectors for each.

    Args:
        op: a structured op.
        sizes: of the vectors along each loop, where they are larger than the loops or those are not
            known: lanes beyond them are masked.

    Raises:
        ScheduleError: a loop's range is not known and no size is given; or it is larger than its
            size; or the vectors would be enormous; or elements are not whole bytes, or upstream has
            no vector form of the op.
    """
    loops = structured_loops(op, "vectorize")
    check_not_empty(op, loops)
    _check_elements(op)
    original, op = op, _with_plain_positions(op)
    if sizes:
        check_sizes(op, "sizes", sizes, loops, whole=True, zeros=False)
        for loop, (size, extent) in enumerate(zip(sizes, loops.ranges, strict=True)):
            if extent > size:
                raise refusal(
                    op,
                    f"sizes[{loop}] is {size}; loop {loop} runs {extent} times",
                    expected=f"{extent} or more",
                    hint="tile it to the sizes first",
                )
    elif DYNAMIC in loops.ranges:
        raise refusal(
            op,
            f"the trip count of loop {loops.ranges.index(DYNAMIC)} is not known",
            expected=f"sizes for {loops}",
            hint="tile it first and give sizes=[...], of the tile: the rest is masked",
        )
    before = asserted_before(op, loops) if has_maps(op) else []
    asserted = tuple(
        (reduction, _script(reduction, sizes, None))
        for reduction in before
        if _is_read_plainly(reduction)
    )
    if _is_split(op, loops, sizes):
        return Parts((*asserted, *_parts(op, loops, sizes)))
    maps = indexing_maps(op) if has_maps(op) else ()
    _check_amount(op, range(loops.count), sizes or loops.ranges, maps)
    script = _script(op, sizes, _doubt(op, loops))
    return script if op is original and not before else Parts((*asserted, (op, script)))


def _is_read_plainly(op: ir.Operation) -> bool:
    return all(is_plain(map_) for map_ in indexing_maps(op))


def _script(
    op: ir.Operation, sizes: Sequence[int], doubt: Doubt | None, *, depth: int = 0
) -> Script:
    options = f" vector_sizes {integers(sizes)}" if sizes else ""
    if select(op, lambda inner: inner.name == "tensor.extract"):
        options += " {vectorize_nd_extract}"
    nth = f" {{nth_parent = {depth + 1} : i64}}" if depth else ""
    return Script(
        line("%around", f"get_parent_op %target{nth}"),
        f"transform.structured.vectorize %target{options} : {ANY}",
        focus="%around",
        doubt=doubt,
    )


def _is_split(op: ir.Operation, loops: Loops, sizes: tuple[int, ...]) -> bool:
    """Return whether an op is vectorized by parts: places of a window, or terms of a reduction."""
    if not has_maps(op):
        return False
    maps = indexing_maps(op)
    if not _is_read_plainly(op):
        return bool(sizes) or op.name not in _WINDOWS_OF_UPSTREAM
    # Upstream masks results with a constant between dimensions wrongly.
    written = maps[len(op.operands) - len(op.results) :]
    is_masked = bool(sizes) and sizes != loops.ranges
    if is_masked and any(_has_constant_between(map_) for map_ in written):
        return True
    return bool(loops.reductions) and not _reduces_by_one_op(op)


def _has_constant_between(map_: AffineMap) -> bool:
    spelled = ["0" if isinstance(index, AffineConst) else "d" for index in map_.results]
    return "0" in "".join(spelled).strip("0")


def _parts(
    op: ir.Operation, loops: Loops, sizes: tuple[int, ...]
) -> Sequence[tuple[ir.Operation, Script]]:
    """Unroll the positions of a window and the terms of reductions; return a script for each."""
    most = tuple(
        extent if extent != DYNAMIC else size
        for size, extent in zip(sizes or loops.ranges, loops.ranges, strict=True)
    )
    maps = indexing_maps(op)
    check_layouts(op, "vectorize")
    looped = () if _reduces_by_one_op(op) else [maps[0].dims[loop] for loop in loops.reductions]
    unrolling = choose_unrolling(maps, loops, most, limit=MOST_POSITIONS, looped=looped)
    unrolling = unrolling or choose_unrolling(maps, loops, most, limit=None, looped=looped)
    if unrolling is None:
        raise refusal(
            op,
            f"vectorize finds no loops without which this {op.name} would read slices",
            hint="lower_to_loops() makes loops of it",
        )
    remaining = [maps[0].dims.index(dim) for dim in unrolling.kept_dims]
    inner = tuple((sizes or most)[loop] for loop in remaining)
    _check_count(op, "iterations", len(unrolling) * math.prod(inner), _MOST)
    _check_amount(op, remaining, inner, [unrolling.remaining_map(map_) for map_ in maps])
    masked = inner if inner != tuple(loops.ranges[loop] for loop in remaining) else ()
    doubt = _doubt_of_body(op, has_reductions=bool({*loops.reductions} & {*remaining}))
    pieces = unrolled(op, loops, unrolling)
    return [(piece.op, _script(piece.op, masked, doubt, depth=piece.depth)) for piece in pieces]


def _check_amount(
    op: ir.Operation, numbers: Sequence[int], sizes: Sequence[int], maps: Sequence[AffineMap]
) -> None:
    """Refuse vectors of these sizes, along loops by number, that LLVM would take minutes for."""
    _check_count(op, "iterations", math.prod(sizes), _MOST)
    for number, size in zip(numbers, sizes, strict=True):
        _check_count(op, f"rounds of loop {number}", size, _MOST_OF_A_LOOP)
    for number, map_ in enumerate(maps):
        order = [dim for index in map_.results for dim in index.dims]
        used = [(dim, size) for dim, size in zip(map_.dims, sizes, strict=True) if dim in order]
        # Elements are moved one by one where neighbours do not stay neighbours.
        is_turned = bool(used) and order[-1] != used[-1][0]
        most = _MOST_TURNED if is_turned else _MOST_OF_AN_OPERAND
        count = math.prod(size for _, size in used)
        _check_count(op, f"{'turned ' * is_turned}elements of operand {number}", count, most)


def _check_count(op: ir.Operation, unit: str, count: int, most: int) -> None:
    if count > most:
        raise refusal(
            op,
            f"vectorize would make vectors for {count} {unit} at once",
            expected=f"at most {most}",
            hint="tile(...) it first",
        )


def _doubt(op: ir.Operation, loops: Loops) -> Doubt | None:
    """Return the reason for which upstream's vectorizer may refuse an op; None if absent."""
    if not has_maps(op):
        return Doubt(
            f"upstream has no vector form of {op.name}",
            "decompose() may turn it into ops that have",
        )
    return _doubt_of_body(op, has_reductions=bool(loops.reductions))


def _doubt_of_body(op: ir.Operation, *, has_reductions: bool) -> Doubt | None:
    if select(op, lambda inner: inner.name == "tensor.extract"):
        return Doubt(
            f"the body of this {op.name} reads at places that it computes, which upstream has no "
            "vectors for here",
            _LOOPS,
        )
    foreign = select(op, lambda inner: inner.name.partition(".")[0] not in _WITH_VECTORS)
    if foreign:
        return Doubt(
            f"{foreign[0].operation.name} in the body of this {op.name} has no vector form", _LOOPS
        )
    if has_reductions:
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
                hint="fuse_elementwise() keeps conditions in the bodies that read them",
            )


_COMBINERS = frozenset(
    (
        *("arith.addf", "arith.addi", "arith.mulf", "arith.muli"),
        *("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"),
        *("arith.maxsi", "arith.maxui", "arith.minsi", "arith.minui"),
        *("arith.andi", "arith.ori", "arith.xori"),
    )
)
"""The ops that a vector is reduced by."""


def _reduces_by_one_op(op: ir.Operation) -> bool:
    """Return whether a reduction combines each result with its old value by one op."""
    body = op.regions[0].blocks[0]
    ops = [op_view.operation for op_view in body.operations]
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


def _with_plain_positions(op: ir.Operation) -> ir.Operation:
    """Return the op with `affine.apply`, which tiling leaves in bodies, lowered."""
    if not select(op, lambda new: new.name.startswith("affine.")):
        return op
    name = op.name
    replacement = run_alone(op, "func.func(lower-affine)")
    return next(new for new in replacement if new.name == name)


_ASSERT = "cf.assert"


def asserted_before(op: ir.Operation, loops: Loops) -> list[ir.Operation]:
    """Take the assertions out of a body; the reductions that say whether all of them hold.

        linalg.generic: cf.assert %c, "m"       %all = linalg.generic: %all and %c, a reduction
                                                cf.assert %all, "m"
                                                linalg.generic

    Nothing is changed if one of them cannot be checked before the op. That is so if it stands in a
    region in the body, or depends on the value of a reduction, or if the op is on buffers.
    """
    asserted = operations(op, {_ASSERT})
    if not asserted or not op.results:
        return []
    body = op.regions[0].blocks[0]
    written = list(body.arguments)[len(op.operands) - len(op.results) :]
    if any(assertion.operation.block != body for assertion in asserted):
        return []
    if loops.reductions and any(list(argument.uses) for argument in written):
        return []
    with op.location, ir.InsertionPoint(op):
        reductions = [_all_hold(op, number) for number in range(len(asserted))]
    for assertion in asserted:
        assertion.operation.erase()
    return reductions


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
    for assertion in asserted:
        assertion.operation.erase()
    block.operations[len(block.operations) - 1].operation.erase()
    with ir.InsertionPoint(block):
        widened = arith.ExtUIOp(byte, condition).result
        arguments = list(block.arguments)
        linalg.YieldOp([arith.AndIOp(arguments[len(arguments) - 1], widened).result])
    _drop_unread(block)
    element = tensor.ExtractOp(holds.results[0], []).result
    is_true = arith.CmpIOp(arith.CmpIPredicate.ne, element, integer_constant(byte, 0)).result
    cf.AssertOp(is_true, message)
    return holds


def _drop_unread(block: ir.Block) -> None:
    """Erase the ops that the yielded value does not need."""
    ops = [op_view.operation for op_view in block.operations]
    for op in reversed(ops[:-1]):
        if not any(list(result.uses) for result in op.results):
            op.erase()
