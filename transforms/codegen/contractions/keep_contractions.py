"""Contractions whose operands are computed are named, so that nothing is fused into them.

before:
    %r = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>,
                                          affine_map<(m, k) -> (m, k)>],
                         iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<8x9xf32>) outs(%e : tensor<8x9xf32>) {
    ^bb0(%x: f32, %o: f32):
      %y = arith.maximumf %x, %zero : f32
      linalg.yield %y : f32
    } -> tensor<8x9xf32>
    %s = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
                                          affine_map<(m, n, k) -> (k, n)>,
                                          affine_map<(m, n, k) -> (m, n)>],
                         iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%r, %b : tensor<8x9xf32>, tensor<9x7xf32>) outs(%c : tensor<8x7xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %p = arith.mulf %x, %y : f32
      %q = arith.addf %z, %p : f32
      linalg.yield %q : f32
    } -> tensor<8x7xf32>
after:
    %r = linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>,
                                          affine_map<(m, k) -> (m, k)>],
                         iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<8x9xf32>) outs(%e : tensor<8x9xf32>) {
    ^bb0(%x: f32, %o: f32):
      %y = arith.maximumf %x, %zero : f32
      linalg.yield %y : f32
    } -> tensor<8x9xf32>
    %s = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
                                          affine_map<(m, n, k) -> (k, n)>,
                                          affine_map<(m, n, k) -> (m, n)>]
        ins(%r, %b : tensor<8x9xf32>, tensor<9x7xf32>) outs(%c : tensor<8x7xf32>)
        -> tensor<8x7xf32>

Upstream fuses element-wise producers into whatever is a `linalg.generic`. In a contraction they
would be computed anew for every row or column of the result, and it would be a contraction no
more. A producer that only moves its operand, a transpose, still goes into the maps. So
is one that makes wider elements of narrow ones by a few steps, a cast or a dequantization, where
contractions are packed: it is done while packing, and the wide operand is never in memory.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir, linalg
from linalg_ext.errors import RecognitionError
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.recognition import recognize
from linalg_ext.structured.recognition.contraction_pairs import Contraction, contraction_of
from linalg_ext.transforms.analysis.fills import is_computed
from linalg_ext.transforms.codegen.base.machine import this_machine
from linalg_ext.transforms.codegen.base.payload import captured_scalars, read_payload
from linalg_ext.transforms.ir_utils.generics import maps_of
from linalg_ext.transforms.ir_utils.walking import producer

from ._products import SUMS

NAME = "linalg-ext-keep-contractions"


@module_pass(NAME, on="linalg.generic")
def keep_contractions(module: ir.Operation) -> Report:
    """Name the contractions of floats that an element-wise producer would be fused into."""
    report = Report(NAME)
    packs = this_machine().has_fma
    for op in _contraction_shaped(module):
        report.matched[op.name] += 1
        computed = [value for value in op.operands if is_computed(value)]
        if packs and all(map(_is_widened, computed)):
            continue
        contraction = _contraction_at(op) if computed else None
        if contraction is not None:
            report.changed[op.name] += 1
            _name(op, unsigned=contraction.unsigned)
    return report


def _contraction_shaped(module: ir.Operation) -> list[Any]:
    """Generics on tensors with two inputs, one result and a sum."""
    found: list[Any] = []

    def visit(op: Any) -> Any:
        if op.name == "linalg.generic" and len(op.operands) == 3 and len(op.results) == 1:
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _is_widened(value: Any) -> bool:
    """Return whether packing can compute a value from an operand of fewer bits.

    Every loop of the value's op must index that operand.
    """
    op = producer(value)
    inside = list(op.regions[0].blocks[0].arguments)[:-1]
    maps = maps_of(op)
    if len(op.results) != 1 or not all(map_.is_projected_permutation for map_ in maps):
        return False
    largest = max(maps[:-1], key=lambda map_: len(map_.results), default=None)
    if largest is None or len(largest.results) < maps[-1].n_dims:
        return False
    read = op.operands[maps.index(largest)].type
    if not isinstance(read, ir.ShapedType) or _bits(read) >= _bits(op.results[0].type):
        return False
    known = {value: number for number, value in enumerate([*inside, *captured_scalars(op)])}
    payload = read_payload(op, known, len(known))
    return not isinstance(payload, str) and not payload.is_long


def _bits(type_: Any) -> int:
    element = str(type_.element_type).lstrip("bfi")
    return int(element) if element.isdigit() else 64


def _contraction_at(op: Any) -> Contraction | None:
    if not all(isinstance(value.type, ir.ShapedType) for value in op.operands):
        return None  # a scalar is no operand of a matrix product
    if str(op.operands[2].type.element_type) not in SUMS:
        return None
    try:
        contraction = contraction_of(recognize(op))
    except RecognitionError:
        return None
    if contraction is None or not contraction.contracted or contraction.lone:
        return None
    return contraction


def _name(op: Any, *, unsigned: bool) -> None:
    *inputs, output = op.operands
    *read, written = maps_of(op)
    pairs = [_as_it_lies(value, map_) for value, map_ in zip(inputs, read, strict=True)]
    with op.location, ir.InsertionPoint(op):
        # Upstream's annotation says attributes; it takes maps.
        named: Any = linalg.contract
        result = named(
            *(value for value, _ in pairs),
            outs=[output],
            indexing_maps=[*(map_ for _, map_ in pairs), written],
            cast=linalg.TypeFn.cast_unsigned if unsigned else None,
        )
    op.results[0].replace_all_uses_with(result)
    op.erase()


def _as_it_lies(value: Any, map_: Any) -> tuple[Any, Any]:
    """An operand and its map before any transpose: no fusion reaches the maps of what is named."""
    op = producer(value)
    if op is None or op.name != "linalg.generic" or not _only_moves(op):
        return value, map_
    source, moved = maps_of(op)
    axes = [ir.AffineDimExpr(result).position for result in moved.results]
    results = [
        map_.results[axes.index(ir.AffineDimExpr(result).position)] for result in source.results
    ]
    return _as_it_lies(op.operands[0], ir.AffineMap.get(map_.n_dims, 0, results))


def _only_moves(op: Any) -> bool:
    """Return whether an op only permutes the axes of its one input."""
    maps = maps_of(op)
    if len(maps) != 2 or not all(map_.is_permutation for map_ in maps):
        return False
    body = op.regions[0].blocks[0]
    given = body.operations[0].operation.operands
    return len(body.operations) == 1 and given[0] == body.arguments[0]
