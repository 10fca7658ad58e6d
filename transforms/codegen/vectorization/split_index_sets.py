"""Split loops where the indices of operands jump, so that each part reads along memory.

before:
    linalg.generic {indexing_maps = [affine_map<(i) -> ((i - 3) mod 9)>, affine_map<(i) -> (i)>],
                    iterator_types = ["parallel"]}
        ins(%x : memref<9xf32>) outs(%y : memref<9xf32>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }
after:
    %end = memref.subview %x[6] [3] [1] : memref<9xf32> to memref<3xf32, strided<[1], offset: 6>>
    %first = memref.subview %y[0] [3] [1] : memref<9xf32> to memref<3xf32, strided<[1]>>
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                    iterator_types = ["parallel"]}
        ins(%end : memref<3xf32, strided<[1], offset: 6>>)
        outs(%first : memref<3xf32, strided<[1]>>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }
    %begin = memref.subview %x[0] [6] [1] : memref<9xf32> to memref<6xf32, strided<[1]>>
    %last = memref.subview %y[3] [6] [1] : memref<9xf32> to memref<6xf32, strided<[1], offset: 3>>
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                    iterator_types = ["parallel"]}
        ins(%begin : memref<6xf32, strided<[1]>>)
        outs(%last : memref<6xf32, strided<[1], offset: 3>>) {
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }

Conditions on the position are decided in each part, and a tensor that is not read there is no
operand of it: of two vectors one after the other, each part copies one. Source: index-set
splitting; R. Allen and K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, 5.7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from linalg_ext.bindings import arith, ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.constants import index
from linalg_ext.structured.maps import INDEXING_MAPS, indexing_maps, maps_attribute, split_operands
from linalg_ext.symbolic.affine import AffineConst, AffineDim, AffineExpr, AffineMap, linear_terms
from linalg_ext.symbolic.piecewise import MOST_PIECES, NotInPieces, Pieces
from linalg_ext.transforms.codegen.base.index_conditions import evaluate, loops_of
from linalg_ext.transforms.ir_utils.arithmetic import fold_known, part_along, strides_of
from linalg_ext.transforms.ir_utils.generics import extents_of, loop_of, parallel_loops
from linalg_ext.transforms.ir_utils.walking import is_unused, operations, ops_of, select

NAME = "linalg-ext-split-index-sets"

_OP = "linalg.generic"

_NO_PARTS = "the loops do not split into a few parts on which all indices are linear"


@module_pass(NAME, on=_OP)
def split_index_sets(module: ir.Operation) -> Report:
    """Split loops of generics on buffers where an index of an input stops growing evenly."""
    report = Report(NAME)
    for op in select(module, _jumps):
        report.matched[_OP] += 1
        report.record(_OP, None if _split(op) else _NO_PARTS)
    return report


def _jumps(op: Any) -> bool:
    """Return whether an op is a generic on buffers with an index that is not linear in loops."""
    if op.name != _OP or len(op.results):
        return False
    return any(not _is_linear(expr) for map_ in indexing_maps(op) for expr in map_.results)


def _is_linear(expr: AffineExpr) -> bool:
    return linear_terms(expr) is not None


@dataclass(frozen=True)
class _Cut:
    """A split of a loop into parts.

    Attributes:
        loop: the number of the loop.
        starts: the starts of its parts, and the end of the last.
        answers: the results of comparisons of the body, by their number among its operations.
    """

    loop: int
    starts: tuple[int, ...]
    answers: Mapping[int, Pieces]


def _split(op: Any) -> bool:
    """Replace an op by ops over parts of its loops, if any loop is to be split."""
    cut = next(_cuts(op), None)
    if cut is None:
        return False
    for start, end in pairwise(cut.starts):
        _split(_part(op, cut, start, end))
    op.erase()
    return True


def _cuts(op: Any) -> Iterator[_Cut]:
    """Yield splits of loops: where the body asks about the position, else where maps jump."""
    maps, extents = indexing_maps(op), extents_of(op)
    inputs, outputs = split_operands(op)
    types: list[Any] = [output.type for output in outputs]
    are_strided = all(
        type_.memory_space is None and strides_of(type_) is not None for type_ in types
    )
    if any(value in outputs for value in inputs) or not are_strided:
        return
    body = op.regions[0].blocks[0]
    read = [
        map_.results
        for map_, argument in zip(maps, body.arguments, strict=True)
        if not is_unused(argument)
    ]
    for loop, is_parallel in enumerate(parallel_loops(op)):
        dim, size = maps[0].dims[loop], extents.get(loop)
        jumping = [
            expr for exprs in read for expr in exprs if dim in expr.dims and not _is_linear(expr)
        ]
        is_alone = all(expr.dims == (dim,) and not expr.symbols for expr in jumping)
        if not (jumping and is_parallel and size and is_alone):
            continue
        if not all(AffineDim(dim) in map_.results for map_ in maps[len(inputs) :]):
            continue
        answers = _answers(body, loop, size)
        try:
            values = list(answers.values()) or [_values(expr, dim, size) for expr in jumping]
        except NotInPieces:
            continue
        starts = sorted({start for value in values for start in value.starts})
        if len(starts) <= MOST_PIECES:
            yield _Cut(loop, (*starts, size), answers)


def _values(expr: AffineExpr, dim: str, size: int) -> Pieces:
    positions: Mapping[AffineExpr, Pieces] = {AffineDim(dim): Pieces.positions(size)}
    value = expr.evaluate(positions)
    return Pieces.positions(size) * 0 + value if isinstance(value, int) else value


def _answers(body: Any, loop: int, size: int) -> dict[int, Pieces]:
    """Return the results of the comparisons that depend on one loop's position alone."""
    answers: dict[int, Pieces] = {}
    positions: dict[int, Any] = {loop: Pieces.positions(size)}
    for number, op in enumerate(body.operations):
        if op.operation.name != "arith.cmpi" or loops_of(op.operation.results[0]) != {loop}:
            continue
        try:
            answer = evaluate(op.operation.results[0], positions)
        except (NotInPieces, TypeError):  # TypeError: a function of NumPy's
            continue
        if answer is not None:
            answers[number] = answer
    return answers


def _part(op: Any, cut: _Cut, start: int, end: int) -> Any:
    inputs, outputs = split_operands(op)
    maps = indexing_maps(op)
    dim, size = maps[0].dims[cut.loop], end - start
    with op.location, ir.InsertionPoint(op):
        clone = op.clone()
        body = clone.regions[0].blocks[0]
        ops = ops_of(body)
        fold_known({ops[at]: bool(answer.over(start).offset) for at, answer in cut.answers.items()})
        _begin_at(body, cut.loop, start)
        used_inputs = [at for at in range(len(inputs)) if not is_unused(body.arguments[at])]
        for at in reversed(range(len(inputs))):
            if at not in used_inputs:
                body.erase_argument(at)
        operands = [(inputs[at], maps[at]) for at in used_inputs]
        operands += zip(outputs, maps[len(inputs) :], strict=True)
        parts = [_operand_of_part(*operand, dim, start, size) for operand in operands]
        part = _rebuilt(clone, parts, len(used_inputs))
        clone.erase()
    return part


def _operand_of_part(
    value: Any, map_: AffineMap, dim: str, start: int, size: int
) -> tuple[Any, AffineMap]:
    """Return the view of an operand that a part of a loop reads or writes, and its indexing map."""
    results = []
    for axis, expr in enumerate(map_.results):
        at = _of_part(expr, dim, start, size)
        first = at - AffineDim(dim)
        if dim in expr.dims and isinstance(first, AffineConst):
            value, at = part_along(value, axis, first.value, size), AffineDim(dim)
        results.append(at)
    return value, AffineMap(map_.dims, map_.symbols, tuple(results))


def _of_part(expr: AffineExpr, dim: str, start: int, size: int) -> AffineExpr:
    """Return an index in the part of a loop that begins at `start`, linear if possible."""
    if dim not in expr.dims:
        return expr
    moved = expr.substitute({AffineDim(dim): AffineDim(dim) + start})
    if _is_linear(moved):
        return moved
    try:
        first, *later_pieces = _values(moved, dim, size).pieces
    except NotInPieces:
        return moved
    return moved if later_pieces else AffineDim(dim) * first.slope + first.offset


def _begin_at(body: Any, loop: int, start: int) -> None:
    for op in operations(body.owner, {"linalg.index"}):
        if start and loop_of(op) == loop:
            (position,) = op.results
            with op.location, ir.InsertionPoint.after(op):
                offset = index(start)
                moved = arith.addi(position, offset)
            position.replace_all_uses_except(moved, moved.owner.operation)


def _rebuilt(op: Any, operands: Sequence[tuple[Any, AffineMap]], inputs: int) -> Any:
    """Return an op with other operands and their maps, and the body of the old one."""
    attributes = {name: op.attributes[name] for name in op.attributes}
    attributes[INDEXING_MAPS] = maps_attribute([map_ for _, map_ in operands])
    segments = [inputs, len(operands) - inputs]
    attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(segments)
    values = [value for value, _ in operands]
    new = ir.Operation.create(op.name, operands=values, attributes=attributes, regions=1)
    op.regions[0].blocks[0].append_to(new.regions[0])
    return new
