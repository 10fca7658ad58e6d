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

That is how AVX2 wants it, whose tiles have 16 columns. Tiles of rows of a product, as groups have
them, would each pack the same operand again. It is done for products of f32 and f64 of known sizes,
whose innermost columns are those of that operand alone, where reading strips is faster than packing
in each round. An element-wise op that alone reads the result goes before its reshape, so that it
can still be done with the product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir, linalg, tensor
from linalg_ext.errors import RecognitionError
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.contraction_form import Contraction, contraction_of
from linalg_ext.structured.recognition import recognize
from linalg_ext.transforms.codegen.base.machine import Machine, this_machine
from linalg_ext.transforms.ir_utils.walking import replace_op, select

from ._expanding import expand_only_reader
from ._packed_layout import lying_seconds, product_of_strips, ready_seconds, widths
from ._parameter_readers import Reader

NAME = "linalg-ext-pack-before-loops"

_LOOPS = frozenset({"scf.for", "scf.forall"})

_ELEMENTS = ("f32", "f64")


@module_pass(NAME, on=_LOOPS)
def pack_before_loops(module: ir.Operation) -> Report:
    """Have products in loops read their invariant operand in packed strips."""
    report = Report(NAME)
    machine = this_machine()
    strips: dict[tuple[Any, ...], Any] = {}
    for op in select(module, _may_be_product):
        loops = _loops_around(op)
        if not loops:
            continue
        report.matched[op.name] += 1
        found = _found(op, loops, machine)
        if isinstance(found, str):
            report.leave(op.name, found)
            continue
        operand, axes = found.operand, found.axes
        key = found.loop, operand, axes, found.width
        if key not in strips:
            with op.location, ir.InsertionPoint(found.loop):
                strips[key] = _strips(operand, axes, found.width)
        with op.location, ir.InsertionPoint(op):
            result = product_of_strips(found.reader, strips[key], found.width)
        report.changed[op.name] += 1
        replace_op(op, result)
        expand_only_reader(result)
    return report


def _may_be_product(op: Any) -> bool:
    return op.name.startswith("linalg.") and len(op.operands) == 3 and len(op.results) == 1


def _loops_around(op: Any) -> list[Any]:
    """The loops that an op stands in, the outermost first."""
    found: list[Any] = []
    above = op.parent
    while above is not None:
        if above.name in _LOOPS:
            found.insert(0, above.operation)
        above = above.operation.parent
    return found


@dataclass(frozen=True)
class _Found:
    """A product whose operand is packed before a loop.

    Attributes:
        reader: how it reads the operand.
        operand: it.
        axes: the axis of the operand that each axis before strips is, that of the columns first.
        loop: the outermost in which the operand stays as it is.
        width: columns of a strip.
    """

    reader: Reader
    operand: Any
    axes: tuple[int, ...]
    loop: Any
    width: int


def _found(op: Any, loops: Sequence[Any], machine: Machine) -> _Found | str:
    """Return the product with the operand to pack before loops, or why nothing is packed."""
    if not machine.has_fma or not all(_is_plain(v, op.results[0].type) for v in op.operands):
        return "the operands are not of f32 or f64 with known sizes, or the machine has no FMA"
    try:
        contraction = contraction_of(recognize(op))
    except RecognitionError:
        contraction = None
    if contraction is None:
        return "the op is not a contraction of two operands"
    reader = _reader(op, contraction)
    if reader is None:
        return "the innermost columns belong to no operand alone"
    operand = op.operands[reader.number]
    steady = [loop for loop in loops if _is_before(operand, loop)]
    if not steady:
        return "the operand with the columns changes in the loop"
    width = _width(reader, operand.type, machine)
    if not width:
        return "the operand is best read in place"
    axes = tuple(reader.own.index(dim) for dim in reader.dims)
    return _Found(reader, operand, axes, steady[0], width)


def _width(reader: Reader, type_: Any, machine: Machine) -> int:
    """Return the columns of a strip where reading strips is faster; else 0."""
    columns = type_.shape[reader.own.index(reader.dims[0])]
    times = {
        width: ready_seconds(reader, width, machine)
        for width in widths(columns, type_.element_type, machine)
    }
    best = min(times, key=lambda width: times[width], default=0)
    plain = lying_seconds(reader, reader.own, type_.shape, machine)
    return best if best and times[best] < _LEAST_GAIN * plain else 0


_LEAST_GAIN = 0.99
"""The limit on the time with strips, as a share of the time without.

Strips take memory besides the operand."""


def _is_plain(value: Any, result: Any) -> bool:
    type_ = value.type
    return (
        isinstance(type_, ir.RankedTensorType)
        and type_.has_static_shape
        and type_.element_type == result.element_type
        and str(type_.element_type) in _ELEMENTS
    )


def _is_before(value: Any, loop: Any) -> bool:
    """Return whether a value is there before a loop begins."""
    block = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
    above = block.owner.operation
    while above is not None:
        if above == loop:
            return False
        above = above.parent.operation if above.parent is not None else None
    return True


def _reader(op: Any, contraction: Contraction) -> Reader | None:
    """A product with the columns of an operand first, and then what is summed over."""
    columns = contraction.c[-1:]
    number = 1 if columns and columns[0] in contraction.b else 0
    own, other = (contraction.b, contraction.a)[:: 1 if number else -1]
    summed = tuple(dim for dim in own if dim not in columns)
    if contraction.lone or not columns or columns[0] in other or columns[0] not in own:
        return None
    if any(dim in contraction.c or dim not in other for dim in summed):
        return None
    return Reader(op, number, contraction, (*columns, *summed), ())


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
    made = linalg.TransposeOp([init.type], expanded, init, order).operation
    linalg.fill_builtin_region(made)
    return made.results[0]
