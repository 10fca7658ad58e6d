"""Pack the invariant operand of products in a loop before the loop.

before:
    %r = scf.for %i = %c0 to %c4096 step %c128 iter_args(%o = %c) -> (tensor<4096x640xf32>) {
      %x = tensor.extract_slice %a[%i, 0] [128, 320] [1, 1]
        : tensor<4096x320xf32> to tensor<128x320xf32>
      %y = tensor.extract_slice %o[%i, 0] [128, 640] [1, 1]
        : tensor<4096x640xf32> to tensor<128x640xf32>
      %p = linalg.matmul ins(%x, %w : tensor<128x320xf32>, tensor<320x640xf32>)
                         outs(%y : tensor<128x640xf32>) -> tensor<128x640xf32>
      %n = tensor.insert_slice %p into %o[%i, 0] [128, 640] [1, 1]
        : tensor<128x640xf32> into tensor<4096x640xf32>
      scf.yield %n : tensor<4096x640xf32>
    }
after:
    %v = tensor.expand_shape %w [[0], [1, 2]] output_shape [320, 40, 16]
      : tensor<320x640xf32> into tensor<320x40x16xf32>
    %d = tensor.empty() : tensor<40x320x16xf32>
    %s = linalg.transpose ins(%v : tensor<320x40x16xf32>) outs(%d : tensor<40x320x16xf32>)
                          permutation = [1, 0, 2]
    %r = scf.for %i = %c0 to %c4096 step %c128 iter_args(%o = %c) -> (tensor<4096x640xf32>) {
      %x = tensor.extract_slice %a[%i, 0] [128, 320] [1, 1]
        : tensor<4096x320xf32> to tensor<128x320xf32>
      %y = tensor.extract_slice %o[%i, 0] [128, 640] [1, 1]
        : tensor<4096x640xf32> to tensor<128x640xf32>
      %z = tensor.expand_shape %y [[0], [1, 2]] output_shape [128, 40, 16]
        : tensor<128x640xf32> into tensor<128x40x16xf32>
      %q = linalg.generic {indexing_maps = [affine_map<(m, n, j, k) -> (m, k)>,
                                            affine_map<(m, n, j, k) -> (n, k, j)>,
                                            affine_map<(m, n, j, k) -> (m, n, j)>],
                           iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
          ins(%x, %s : tensor<128x320xf32>, tensor<40x320x16xf32>)
          outs(%z : tensor<128x40x16xf32>) {
      ^bb0(%f: f32, %g: f32, %h: f32):
        %l = arith.mulf %f, %g : f32
        %m = arith.addf %h, %l : f32
        linalg.yield %m : f32
      } -> tensor<128x40x16xf32>
      %p = tensor.collapse_shape %q [[0], [1, 2]] : tensor<128x40x16xf32> into tensor<128x640xf32>
      %n = tensor.insert_slice %p into %o[%i, 0] [128, 640] [1, 1]
        : tensor<128x640xf32> into tensor<4096x640xf32>
      scf.yield %n : tensor<4096x640xf32>
    }

The example is for AVX2, whose tiles have 16 columns. Tiles of rows of a product, as groups have
them, would each pack the same operand again. Products of f32 and f64 of known sizes are changed,
whose innermost columns are those of that operand alone, if reading strips is faster than packing in
each round. An element-wise op that alone reads the result goes before its reshape, so that it can
still be fused with the product.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir, linalg, tensor
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.contraction_form import Contraction
from linalg_ext.structured.maps import groups_of
from linalg_ext.structured.sizes import sizes_of
from linalg_ext.transforms.codegen.base.machine import Machine, this_machine
from linalg_ext.transforms.ir_utils.generics import maps_of, parallel_loops
from linalg_ext.transforms.ir_utils.loop_expansion import LoopExpansion
from linalg_ext.transforms.ir_utils.walking import producer, replace_op, select

from ._strip_products import (
    LEAST_GAIN,
    StripReader,
    is_plain,
    product_of_strips,
    quickest_strips,
    seconds_in_place,
)
from .products import contraction_in

NAME = "linalg-ext-pack-before-loops"

_LOOPS = frozenset({"scf.for", "scf.forall"})


@module_pass(NAME, on=_LOOPS)
def pack_before_loops(module: ir.Operation) -> Report:
    """Have products in loops read their invariant operand in packed strips."""
    report = Report(NAME)
    machine = this_machine()
    strips: dict[tuple[Any, ...], Any] = {}
    for op in select(module, _may_be_product):
        loops = _loops_from(op.parent)
        if not loops:
            continue
        report.matched[op.name] += 1
        strips_of_op = _strips_of(op, loops, machine)
        if isinstance(strips_of_op, str):
            report.leave(op.name, strips_of_op)
            continue
        reader, loop, width = strips_of_op
        operand = op.operands[reader.number]
        axes = tuple(reader.own.index(dim) for dim in reader.dims)
        key = loop, operand, axes, width
        if key not in strips:
            with op.location, ir.InsertionPoint(loop):
                strips[key] = _strips(operand, axes, width)
        with op.location, ir.InsertionPoint(op):
            result = product_of_strips(reader, strips[key], width)
        report.changed[op.name] += 1
        replace_op(op, result)
        _expand_only_reader(result)
    return report


def _may_be_product(op: Any) -> bool:
    return op.name.startswith("linalg.") and len(op.operands) == 3 and len(op.results) == 1


def _loops_from(op: Any) -> list[Any]:
    """Return the loops from an op outwards, the outermost first."""
    loops: list[Any] = []
    while op is not None:
        op = op.operation
        if op.name in _LOOPS:
            loops.insert(0, op)
        op = op.parent
    return loops


def _strips_of(
    op: Any, loops: Sequence[Any], machine: Machine
) -> tuple[StripReader, Any, int] | str:
    """Return the product, the loop before which its operand is packed, and the width of a strip.

    A reason is returned for an operand that is not packed.
    """
    if not machine.has_fma or not is_plain(op):
        return "the operands are not of f32 or f64 with known sizes, or the machine has no FMA"
    contraction = contraction_in(op)
    if contraction is None:
        return "the op is not a contraction of two operands"
    reader = _reader(op, contraction)
    if reader is None:
        return "the innermost columns belong to no operand alone"
    operand = op.operands[reader.number]
    owner = operand.owner
    block = owner if isinstance(owner, ir.Block) else owner.operation.block
    inside = _loops_from(block.owner)
    steady = [loop for loop in loops if loop not in inside]
    if not steady:
        return "the operand with the columns changes in the loop"
    columns = operand.type.shape[reader.own.index(reader.dims[0])]
    width, seconds = quickest_strips([reader], columns, machine)
    if not width or seconds >= LEAST_GAIN * seconds_in_place(reader, machine):
        return "the operand is best read in place"
    return reader, steady[0], width


def _reader(op: Any, contraction: Contraction) -> StripReader | None:
    """Return a product with the columns of an operand first, and then its summed dimensions."""
    columns = contraction.c[-1:]
    number = 1 if columns and columns[0] in contraction.b else 0
    own, other = (contraction.b, contraction.a)[:: 1 if number else -1]
    summed = tuple(dim for dim in own if dim not in columns)
    if contraction.lone or not columns or columns[0] in other or columns[0] not in own:
        return None
    if any(dim in contraction.c or dim not in other for dim in summed):
        return None
    return StripReader(op, number, contraction, (*columns, *summed))


def _strips(operand: Any, axes: Sequence[int], width: int) -> Any:
    """Return an operand in strips of `width` columns, which lie along the first of `axes`."""
    type_ = operand.type
    column = axes[0]
    shape = list(type_.shape)
    split = [*shape[:column], shape[column] // width, width, *shape[column + 1 :]]
    groups, place = [], 0
    for axis in range(type_.rank):
        groups.append([place, place + 1] if axis == column else [place])
        place += len(groups[-1])
    apart = ir.RankedTensorType.get(split, type_.element_type)
    expanded = tensor.expand_shape(apart, operand, groups, [], split)
    order = [*(groups[axis][0] for axis in axes), groups[column][1]]
    init = tensor.empty([split[axis] for axis in order], type_.element_type)
    transposed = linalg.TransposeOp([init.type], expanded, init, order).operation
    linalg.fill_builtin_region(transposed)
    return transposed.results[0]


def _expand_only_reader(collapsed: Any) -> None:
    """Move the only reader of a collapsed tensor, an element-wise op, before the reshape."""
    uses = list(collapsed.uses)
    reader = uses[0].owner.operation if len(uses) == 1 else None
    if reader is None or not _is_elementwise(reader, collapsed):
        return
    collapse, at = producer(collapsed), uses[0].operand_number
    source = collapse.operands[0]
    expansion = LoopExpansion.of(reader, at, groups_of(collapse), sizes_of(source))
    if expansion is None:
        return
    with reader.location, ir.InsertionPoint(reader):
        new = expansion.build({at: source})
        groups = expansion.groups(maps_of(reader)[-1])
        result = tensor.collapse_shape(reader.results[0].type, new.results[0], groups)
    replace_op(reader, result)


def _is_elementwise(op: Any, read: Any) -> bool:
    """Return whether an op computes one element for each element that it reads."""
    if op.name != "linalg.generic" or len(op.results) != 1 or not all(parallel_loops(op)):
        return False
    rank, maps = read.type.rank, maps_of(op)
    identity = ir.AffineMap.get_identity(rank)
    if maps[-1] != identity or not all(map_.is_projected_permutation for map_ in maps):
        return False
    if op.results[0].type.shape != read.type.shape or op.operands[len(maps) - 1] == read:
        return False
    if any(m != identity for v, m in zip(op.operands, maps, strict=True) if v == read):
        return False
    body = op.regions[0].blocks[0].operations
    return all(inner.operation.name.startswith(("arith.", "math.")) for inner in list(body)[:-1])
