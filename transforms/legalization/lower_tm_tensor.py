"""Lower the ops of torch-mlir's dialect `tm_tensor` in one walk: scan, scatter, sort and topk.

before:
    %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true)
        ins(%u, %i : tensor<3xf32>, tensor<3x1xi32>) outs(%o : tensor<8xf32>) {
    ^bb0(%new: f32, %old: f32):
      tm_tensor.yield %new : f32
    } -> tensor<8xf32>
after:
    %r = scf.for %k = %c0 to %c3 step %c1 iter_args(%all = %o) -> (tensor<8xf32>) {
      %n = tensor.extract %i[%k, %c0] : tensor<3x1xi32>
      %at = arith.index_cast %n : i32 to index
      %a = tensor.extract %u[%k] : tensor<3xf32>
      %next = tensor.insert %a into %all[%at] : tensor<8xf32>
      scf.yield %next : tensor<8xf32>
    }

Each op is lowered as the pass of its name says: `linalg-ext-lower-exported-scan` and so on, which
do one kind alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import arith, ir, tensor
from linalg_ext.dialects.linalg_ext import scan, sort
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.constants import index
from linalg_ext.structured.loops import counted, nest_over
from linalg_ext.transforms.ir_utils.arithmetic import constant
from linalg_ext.transforms.ir_utils.tensor_loops import (
    as_index,
    elementwise,
    extract_slice,
    inlined,
    size_of,
    sizes_of,
    sub,
)
from linalg_ext.transforms.ir_utils.walking import (
    builds_of,
    is_unused,
    lowering_pass,
    operations,
    replace_each,
)

_ROUNDING = {"arith.addf": (arith.addf, -0.0), "arith.mulf": (arith.mulf, 1.0)}
"""The functions whose steps round, by the op in the body, with the number that changes nothing."""


@lowering_pass("linalg-ext-lower-exported-scan", "tm_tensor.scan")
def lower_exported_scan(op: Any) -> list[Any]:
    """Write `tm_tensor.scan`, torch-mlir's cumulative sums and products, as `linalg_ext.scan`.

    before:
        %r, %last = tm_tensor.scan dimension(1) inclusive(true)
            ins(%x : tensor<4x9xi64>) outs(%y, %t : tensor<4x9xi64>, tensor<4xi64>) {
        ^bb0(%a: i64, %b: i64):
          %s = arith.addi %a, %b : i64
          tm_tensor.yield %s : i64
        } -> tensor<4x9xi64>, tensor<4xi64>
    after:
        %r = "linalg_ext.scan"(%x, %y) ({
        ^bb0(%a: i64, %b: i64):
          %s = arith.addi %a, %b : i64
          "linalg_ext.yield"(%s) : (i64) -> ()
        }) {dimension = 1 : i64, inclusive = true,
            operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 1, 0>,
            resultSegmentSizes = array<i32: 1, 0>}
            : (tensor<4x9xi64>, tensor<4x9xi64>) -> tensor<4x9xi64>

    An inclusive scan does not read the accumulator. Its second result is the last plane of the
    first.

    Sums and products of f32 are carried in f64, those of narrower floats in f32, as PyTorch on a
    CPU does: an element is rounded once, and not once for each before it.
    """
    source, output, accumulator = op.operands
    axis = ir.IntegerAttr(op.attributes["dimension"]).value
    is_inclusive = ir.BoolAttr(op.attributes["inclusive"]).value
    sizes = sizes_of(source)
    body = op.regions[0].blocks[0]
    element = output.type.element_type
    name = body.operations[0].operation.name
    wide = _wider(body, element)

    def combine(before: Any, new: Any) -> Any:
        if wide is None:
            return inlined(body, [before, new])[0]
        return _ROUNDING[name][0](before, arith.extf(wide, new))

    rest = [size for other, size in enumerate(sizes) if other != axis]
    initial = None if is_inclusive else accumulator
    if wide is not None:

        def first(*elements: Any) -> list[Any]:
            if is_inclusive:
                return [constant(wide, _ROUNDING[name][1])]
            return [arith.extf(wide, elements[0])]

        read = [] if is_inclusive else [accumulator]
        initial = elementwise(read, [tensor.empty(rest, wide)], first).results[0]
    result = scan(
        source,
        combine=combine,
        dimension=axis,
        initial=initial,
        inclusive=is_inclusive,
        outs=output,
    )[0]
    if is_unused(op.results[1]):
        return [result, accumulator]
    return [result, _plane(result, axis, sizes)]


def _plane(value: Any, axis: int, sizes: Sequence[Any]) -> Any:
    offsets: list[Any] = [0] * len(sizes)
    offsets[axis] = index(sub(sizes[axis], 1))
    of_plane = [1 if other == axis else size for other, size in enumerate(sizes)]
    return extract_slice(value, offsets, of_plane, dropped=[axis])


def _wider(body: Any, element: Any) -> Any:
    """Return the type in which elements are carried, if a wider one, as each step rounds."""
    first, *rest = (op.operation for op in body.operations)
    if first.name not in _ROUNDING or len(rest) != 1 or element.width > 32:
        return None
    if set(first.operands) != set(body.arguments) or rest[0].operands[0] != first.results[0]:
        return None
    return ir.F64Type.get() if element.width == 32 else ir.F32Type.get()


@lowering_pass("linalg-ext-lower-exported-scatter", "tm_tensor.scatter")
def lower_exported_scatter(op: Any) -> Any:
    """Lower `tm_tensor.scatter`, torch-mlir's writes at given indices, to loops.

    before:
        %r = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false)
            ins(%u, %i : tensor<3x7xf32>, tensor<3x1xi32>) outs(%x : tensor<5x7xf32>) {
        ^bb0(%new: f32, %old: f32):
          %s = arith.addf %old, %new : f32
          tm_tensor.yield %s : f32
        } -> tensor<5x7xf32>
    after:
        %r = scf.for %m = %c0 to %c3 step %c1 iter_args(%rows = %x) -> (tensor<5x7xf32>) {
          %row = scf.for %n = %c0 to %c7 step %c1 iter_args(%all = %rows) -> (tensor<5x7xf32>) {
            %c0_0 = arith.constant 0 : index
            %i0 = tensor.extract %i[%m, %c0_0] : tensor<3x1xi32>
            %at = arith.index_cast %i0 : i32 to index
            %new = tensor.extract %u[%m, %n] : tensor<3x7xf32>
            %old = tensor.extract %all[%at, %n] : tensor<5x7xf32>
            %s = arith.addf %old, %new : f32
            %next = tensor.insert %s into %all[%at, %n] : tensor<5x7xf32>
            scf.yield %next : tensor<5x7xf32>
          }
          scf.yield %row : tensor<5x7xf32>
        }

    An update stands in the last dimensions of the destination; indices are added to its place
    there. Where several updates meet, they are taken in their order.
    """
    updates, indices, original = op.operands
    body = op.regions[0].blocks[0]
    dims = list(ir.DenseI64ArrayAttr(op.attributes["dimension_map"]))
    rank = original.type.rank

    def put(update_index: list[Any], carried: list[Any]) -> list[Any]:
        (into,) = carried
        inside = update_index[1:]
        positions: list[Any] = [None] * (rank - len(inside)) + inside
        for number, dim in enumerate(dims):
            start = as_index(tensor.extract(indices, [update_index[0], index(number)]))
            positions[dim] = start if positions[dim] is None else arith.addi(start, positions[dim])
        elements = [tensor.extract(updates, update_index), tensor.extract(into, positions)]
        (new,) = inlined(body, elements)
        return [tensor.insert(new, into, positions)]

    return nest_over(sizes_of(updates), [original], put)[0]


_ORDERS = arith.CmpFPredicate
_MUST_BE_A_NUMBER = {_ORDERS.OLE: 0, _ORDERS.OLT: 0, _ORDERS.OGE: 1, _ORDERS.OGT: 1}
"""By how floats are compared: which of the two must be a number to stand before the other."""


@lowering_pass("linalg-ext-lower-exported-sort", "tm_tensor.sort")
def lower_exported_sort(op: Any) -> list[Any]:
    """Write `tm_tensor.sort`, which torch-mlir makes of sorts and of top-k, as our own sort.

    before:
        %r = tm_tensor.sort dimension(0) outs(%x : tensor<9xf32>) {
        ^bb0(%a: f32, %b: f32):
          %s = arith.cmpf ole, %a, %b : f32
          tm_tensor.yield %s : i1
        } -> tensor<9xf32>
    after:
        %e = tensor.empty() : tensor<9xf32>
        %r = "linalg_ext.sort"(%x, %e) ({
        ^bb0(%a: f32, %b: f32):
          %s = arith.cmpf ole, %b, %a : f32
          %true = arith.constant true
          %n = arith.xori %s, %true : i1
          %is_number = arith.cmpf ord, %a, %a : f32
          %before = arith.andi %n, %is_number : i1
          "linalg_ext.yield"(%before) : (i1) -> ()
        }) {dimension = 0 : i64, is_stable = true, operandSegmentSizes =
            array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>,
            resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
          : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xf32>

    Its body says whether one element may stand before another, ours whether it must: where the
    other may not stand before it. A comparison of floats is false where one is not a number: such
    come last, or first where larger ones do, as PyTorch has them.
    """
    axis = ir.IntegerAttr(op.attributes["dimension"]).value
    return sort(*op.operands, dimension=axis, comparator=_must_precede(op))


def _must_precede(op: Any) -> Any:
    body = op.regions[0].blocks[0]
    guarded = _must_be_a_number(body)

    def comparator(*elements: Any) -> Any:
        swapped = [
            element
            for a, b in zip(elements[::2], elements[1::2], strict=True)
            for element in (b, a)
        ]
        (may_follow,) = inlined(body, swapped)
        precedes = arith.xori(may_follow, constant(may_follow.type, 1))
        if guarded is None:
            return precedes
        number = elements[guarded]
        return arith.andi(precedes, arith.cmpf(arith.CmpFPredicate.ORD, number, number))

    return comparator


def _must_be_a_number(body: Any) -> int | None:
    """Return which of two floats must be a number to precede the other; None if no floats compare.

    It is the first one where smaller ones come first, for then NaN comes last.
    """
    (value, *_) = list(body.operations)[-1].operation.operands
    if isinstance(value.owner, ir.Block) or value.owner.name != "arith.cmpf":
        return None
    if list(value.owner.operands) != list(body.arguments)[:2]:
        return None
    predicate = ir.IntegerAttr(value.owner.attributes["predicate"]).value
    return _MUST_BE_A_NUMBER.get(arith.CmpFPredicate(predicate))


@lowering_pass("linalg-ext-lower-exported-top-k", "tm_tensor.topk")
def lower_exported_top_k(op: Any) -> list[Any]:
    """Lower `tm_tensor.topk` to loops: each element sinks into a short sorted row of those to keep.

    before:
        %r:2 = tm_tensor.topk dimension(1) ins(%x : tensor<4x9xf32>)
            outs(%v, %i : tensor<4x2xf32>, tensor<4x2xi32>) {
        ^bb0(%a: f32, %b: f32):
          %s = arith.cmpf ogt, %a, %b : f32
          tm_tensor.yield %s : i1
        } -> tensor<4x2xf32>, tensor<4x2xi32>
    after:
        %r:2 = scf.for %row = %c0 to %c4 step %c1 iter_args(%v0 = %v, %i0 = %i)
            -> (tensor<4x2xf32>, tensor<4x2xi32>) {
          %kept:2 = scf.for %at = %c0 to %c9 step %c1 iter_args(%v1 = %v0, %i1 = %i0)
              -> (tensor<4x2xf32>, tensor<4x2xi32>) {
            %element = tensor.extract %x[%row, %at] : tensor<4x9xf32>
            %number = arith.index_cast %at : index to i32
            %sunk:5 = scf.for %place = %c0 to %c2 step %c1
                iter_args(%found = %false, %e = %element, %n = %number, %v2 = %v1, %i2 = %i1)
                -> (i1, f32, i32, tensor<4x2xf32>, tensor<4x2xi32>) {
              %there = tensor.extract %v2[%row, %place] : tensor<4x2xf32>
              %its = tensor.extract %i2[%row, %place] : tensor<4x2xi32>
              %before = arith.cmpf ogt, %e, %there : f32
              %now = arith.ori %found, %before : i1
              %kept_e = arith.select %now, %e, %there : f32
              %kept_n = arith.select %now, %n, %its : i32
              %next_e = arith.select %now, %there, %e : f32
              %next_n = arith.select %now, %its, %n : i32
              %v3 = tensor.insert %kept_e into %v2[%row, %place] : tensor<4x2xf32>
              %i3 = tensor.insert %kept_n into %i2[%row, %place] : tensor<4x2xi32>
              scf.yield %now, %next_e, %next_n, %v3, %i3
                : i1, f32, i32, tensor<4x2xf32>, tensor<4x2xi32>
            }
            scf.yield %sunk#3, %sunk#4 : tensor<4x2xf32>, tensor<4x2xi32>
          }
          scf.yield %kept#0, %kept#1 : tensor<4x2xf32>, tensor<4x2xi32>
        }

    The body says whether an element comes before one that is kept. An element must exceed the
    values that the outputs hold at first. A second input has the indices that the second result
    gives; without it they are places along the dimension.
    """
    *inputs, values, indices = op.operands
    axis = ir.IntegerAttr(op.attributes["dimension"]).value
    sizes = sizes_of(inputs[0])
    few = size_of(values, axis)
    type_ = indices.type.element_type

    def row(outer_index: list[Any], carried: list[Any]) -> list[Any]:
        def position(along: Any) -> list[Any]:
            return [*outer_index[:axis], along, *outer_index[axis:]]

        def take(along: Any, sorted_row: list[Any]) -> list[Any]:
            value = tensor.extract(inputs[0], position(along))
            number = (
                tensor.extract(inputs[1], position(along))
                if len(inputs) == 2
                else arith.index_cast(type_, along)
            )

            def sink(rank: Any, state: list[Any]) -> list[Any]:
                is_in, new, into = state[0], state[1:3], state[3:]
                old = [tensor.extract(target, position(rank)) for target in into]
                (precedes,) = inlined(op.regions[0].blocks[0], [new[0], old[0]])
                # Behind the one that came in, all the others move by one place.
                is_first = arith.ori(is_in, precedes)
                stays = [arith.select(is_first, a, b) for a, b in zip(new, old, strict=True)]
                sinks = [arith.select(is_first, b, a) for a, b in zip(new, old, strict=True)]
                put = [
                    tensor.insert(element, target, position(rank))
                    for element, target in zip(stays, into, strict=True)
                ]
                return [is_first, *sinks, *put]

            none_yet = constant(ir.IntegerType.get_signless(1), 0)
            return counted(0, few, [none_yet, value, number, *sorted_row], sink)[3:]

        return counted(0, sizes[axis], carried, take)

    outer = [size for other, size in enumerate(sizes) if other != axis]
    return nest_over(outer, [values, indices], row)


_BUILDS = builds_of(
    lower_exported_scan, lower_exported_scatter, lower_exported_sort, lower_exported_top_k
)


@module_pass("linalg-ext-lower-tm-tensor", on=tuple(_BUILDS))
def lower_tm_tensor(module: ir.Operation) -> Report:
    """Lower tm_tensor's scan, scatter, sort and topk."""
    ops = operations(module, _BUILDS)
    return replace_each("linalg-ext-lower-tm-tensor", ops, lambda op: _BUILDS[op.name](op))
