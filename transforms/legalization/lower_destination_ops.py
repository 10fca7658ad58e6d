"""Lower the ops in destination style that have no body: softmax, gather, scan, concatenate, ...

before:
    %r = "linalg_ext.reverse"(%a, %o) {dimensions = array<i64: 0>}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %b = tensor.bitcast %r : tensor<4xf32> to tensor<4xi32>
after:
    %r = linalg.generic {indexing_maps = [affine_map<(i) -> (3 - i)>, affine_map<(i) -> (i)>],
                         iterator_types = ["parallel"]}
        ins(%a : tensor<4xf32>) outs(%o : tensor<4xf32>) {
    ^bb0(%x: f32, %y: f32):
      linalg.yield %x : f32
    } -> tensor<4xf32>
    %b = arith.bitcast %r : tensor<4xf32> to tensor<4xi32>

Those of `linalg_ext` that say where elements go, and their kin of `tensor`, are lowered in one
walk, each as the pass of its name says: `linalg-ext-lower-concatenate` and so on, which do one kind
alone. Those of linalg become generics first, as `linalg-ext-decompose-structured-ops` has it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import arith, ir, linalg, tensor
from linalg_ext.errors import LoweringError
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.constants import index
from linalg_ext.structured.destination_ops import (
    Concatenate,
    DynamicBroadcast,
    Gather,
    Reverse,
    Scatter,
)
from linalg_ext.structured.loops import counted, either, nest_over
from linalg_ext.transforms.ir_utils.tensor_loops import (
    Demands,
    add,
    as_index,
    compare,
    elementwise,
    empty_like,
    extract_slice,
    inlined,
    insert_slice,
    parallel_generic,
    size_of,
    sizes_of,
    sub,
)
from linalg_ext.transforms.ir_utils.walking import (
    builds_of,
    element_type,
    lowering_pass,
    operations,
    place,
    replace_each,
)
from linalg_ext.transforms.sorting.lower_sort import lower_sort

from .decompose_structured_ops import DECOMPOSED, decompose
from .lower_scan import lower_scan
from .slice_producers import slice_producers


@lowering_pass("linalg-ext-lower-concatenate", "linalg_ext.concatenate")
def lower_concatenate(op: ir.Operation) -> Any:
    """Lower `linalg_ext.concatenate` to slices that are inserted one after another.

    before:
        %r = "linalg_ext.concatenate"(%a, %b, %o) {dimension = 0 : i64, operandSegmentSizes =
               array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
               1>} : (tensor<4x5xf32>, tensor<3x5xf32>, tensor<7x5xf32>) -> tensor<7x5xf32>
    after:
        %s = tensor.insert_slice %a into %o[0, 0] [4, 5] [1, 1]
               : tensor<4x5xf32> into tensor<7x5xf32>
        %r = tensor.insert_slice %b into %s[4, 0] [3, 5] [1, 1]
               : tensor<3x5xf32> into tensor<7x5xf32>

    Bufferization lets the producer of an input write straight into its place. Sizes that are
    dynamic are asserted to fit: a slice that is too large would be written beyond the destination.
    """
    view = Concatenate.of(op)
    along, sizes = view.dimension, sizes_of(view.init)
    rank, shapes = len(sizes), [sizes_of(value) for value in view.inputs]
    demands = Demands("linalg_ext.concatenate: the sizes of the inputs do not fit the destination")
    offsets: list[Any] = []
    total: Any = 0
    for shape in shapes:
        offsets.append(total)
        total = add(total, shape[along])
        for axis in range(rank):
            if axis != along:
                demands.equal(shape[axis], sizes[axis])
    demands.equal(total, sizes[along])
    demands.emit()
    result: Any = view.init
    for value, shape, offset in zip(view.inputs, shapes, offsets, strict=True):
        if 0 in shape or 0 in sizes:
            continue  # upstream refuses a slice that begins at the end
        starts = [offset if axis == along else 0 for axis in range(rank)]
        result = insert_slice(value, result, starts, shape)
    return result


@lowering_pass("linalg-ext-lower-dynamic-broadcast", "linalg_ext.dynamic_broadcast_in_dim")
def lower_dynamic_broadcast(op: ir.Operation) -> Any:
    """Lower `linalg_ext.dynamic_broadcast_in_dim` to a generic.

    before:
        %r = "linalg_ext.dynamic_broadcast_in_dim"(%a, %o) {broadcast_dimensions = array<i64: 0, 2>}
               : (tensor<1x5xf32>, tensor<4x3x5xf32>) -> tensor<4x3x5xf32>
    after:
        %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (0, k)>,
                                              affine_map<(i, j, k) -> (i, j, k)>],
                             iterator_types = ["parallel", "parallel", "parallel"]}
               ins(%a : tensor<1x5xf32>) outs(%o : tensor<4x3x5xf32>) {
        ^bb0(%in: f32, %out: f32):
          linalg.yield %in : f32
        } -> tensor<4x3x5xf32>

    Where it is known only at run time if a dimension expands, the body uses `tensor.extract`. It
    reads the operand at 0 where its size is 1.
    """
    view = DynamicBroadcast.of(op)
    operand, positions = view.operand, view.broadcast_dimensions
    rank = ir.ShapedType(view.init.type).rank
    demands = Demands(
        "linalg_ext.dynamic_broadcast_in_dim: the operand does not broadcast to the destination"
    )
    is_one: dict[int, Any] = {}
    for axis, position in enumerate(positions):
        size, result_size = size_of(operand, axis), size_of(view.init, position)
        expands = view.expands(axis)
        if expands:
            demands.equal(size, 1)
        elif expands is False:
            demands.equal(size, result_size)
        else:
            is_one[axis] = compare("eq", size, 1)
            demands.holds(arith.ori(is_one[axis], compare("eq", size, result_size)))
    demands.emit()
    if not is_one:
        zero = ir.AffineConstantExpr.get(0)
        dims = [
            zero if view.expands(axis) else ir.AffineDimExpr.get(position)
            for axis, position in enumerate(positions)
        ]
        map_ = ir.AffineMap.get(rank, 0, dims)
        return parallel_generic([operand], view.init, [map_], lambda arguments: arguments[0])

    def body(_: Any) -> Any:
        zero = index(0)
        indices = []
        for axis, position in enumerate(positions):
            if view.expands(axis):
                indices.append(zero)
                continue
            loop_index = linalg.IndexOp(position).result
            indices.append(
                arith.select(is_one[axis], zero, loop_index) if axis in is_one else loop_index
            )
        return tensor.extract(operand, indices)

    return parallel_generic([], view.init, [], body)


@lowering_pass("linalg-ext-lower-gather", "linalg_ext.gather")
def lower_gather(op: ir.Operation) -> Any:
    """Lower `linalg_ext.gather` to a generic that reads where the indices say.

    before:
        %r = "linalg_ext.gather"(%a, %i, %o)
               : (tensor<4x5xf32>, tensor<3x1xindex>, tensor<3x5xf32>) -> tensor<3x5xf32>
    after:
        %r = linalg.generic {indexing_maps = [affine_map<(r, d) -> (r, 0)>,
                                              affine_map<(r, d) -> (r, d)>],
                             iterator_types = ["parallel", "parallel"]}
               ins(%i : tensor<3x1xindex>) outs(%o : tensor<3x5xf32>) {
        ^bb0(%row: index, %out: f32):
          %low = arith.minsi %row, %c3 : index
          %place = arith.maxsi %low, %c0 : index
          %d = linalg.index 1 : index
          %v = tensor.extract %a[%place, %d] : tensor<4x5xf32>
          linalg.yield %v : f32
        } -> tensor<3x5xf32>
    """
    view = Gather.of(op)
    count = view.windows.index_count
    rank = ir.ShapedType(view.init.type).rank
    lasts = _last_positions(view)
    row = ir.AffineDimExpr.get(0)
    maps = [
        ir.AffineMap.get(rank, 0, [row, ir.AffineConstantExpr.get(column)])
        for column in range(count)
    ]

    def body(arguments: Any) -> Any:
        where: list[Any] = []
        for dim, position in enumerate(view.windows.dims):
            inside = None if position is None else linalg.IndexOp(position).result
            if dim >= count:
                where.append(inside)
                continue
            capped = arith.minsi(as_index(arguments[dim]), index(lasts[dim]))
            first = arith.maxsi(capped, index(0))
            where.append(first if inside is None else add(first, inside))
        return tensor.extract(view.operand, where)

    return parallel_generic([view.indices] * count, view.init, maps, body)


def _last_positions(view: Gather) -> list[Any]:
    """Return the last position of a window along each dimension, and assert that it exists."""
    demands = Demands(
        "linalg_ext.gather: a window is larger than the operand, or the sizes do not fit"
    )
    rows = size_of(view.init, 0)
    demands.equal(size_of(view.indices, 0), rows)
    has_none = None if isinstance(rows, int) else compare("eq", rows, 0)
    lasts = []
    for dim, position in enumerate(view.windows.dims):
        window = 1 if position is None else size_of(view.init, position)
        size = size_of(view.operand, dim)
        lasts.append(sub(size, window))
        if rows == 0 or (isinstance(size, int) and isinstance(window, int) and window <= size):
            continue
        fits = compare("sge", size, window)
        demands.holds(fits if has_none is None else arith.ori(has_none, fits))
    demands.emit()
    return lasts


@lowering_pass("linalg-ext-lower-gather-scatter", "tensor.gather", "tensor.scatter")
def lower_gather_scatter(op: Any) -> Any:
    """Lower `tensor.gather` and `tensor.scatter`, which upstream cannot bufferize.

    before:
        %r = tensor.gather %a[%i] gather_dims([0])
               : (tensor<4x5xf32>, tensor<3x1xindex>) -> tensor<3x5xf32>
    after:
        %e = tensor.empty() : tensor<3x5xf32>
        %r = linalg.generic {indexing_maps = [affine_map<(b, d) -> (b, d)>],
                             iterator_types = ["parallel", "parallel"]}
               outs(%e : tensor<3x5xf32>) {
        ^bb0(%out: f32):
          %b = linalg.index 0 : index
          %d = linalg.index 1 : index
          %c = tensor.extract %i[%b, %c0] : tensor<3x1xindex>
          %v = tensor.extract %a[%c, %d] : tensor<4x5xf32>
          linalg.yield %v : f32
        } -> tensor<3x5xf32>

    A scatter becomes loops (scf.for) over the elements of its source that insert one each: the rows
    that the coordinates name are disjoint (`unique`), but nothing says so to a structured op.
    """
    return (_gather if op.name == "tensor.gather" else _scatter)(op)


def _gather(op: Any) -> Any:
    source, indices = op.operands
    type_ = op.results[0].type
    dims = list(ir.DenseI64ArrayAttr(op.attributes["gather_dims"]))
    batch = indices.type.rank - 1
    slice_dims = _slice_positions(source.type.rank, dims, type_.rank - batch)
    sizes = list(type_.shape)
    for axis in filter(type_.is_dynamic_dim, range(type_.rank)):
        sizes[axis] = (
            tensor.dim(indices, index(axis))
            if axis < batch
            else tensor.dim(source, index(slice_dims[axis - batch]))
        )
    empty = empty_like(type_, sizes)

    def body(_: Any) -> Any:
        loop_indices = [linalg.IndexOp(dim).result for dim in range(type_.rank)]
        return tensor.extract(
            source, _coordinates(indices, dims, slice_dims, loop_indices, source.type.rank)
        )

    return parallel_generic([], empty, [], body)


def _scatter(op: Any) -> Any:
    source, target, indices = op.operands
    dims = list(ir.DenseI64ArrayAttr(op.attributes["scatter_dims"]))
    batch = indices.type.rank - 1
    rank = target.type.rank
    slice_dims = _slice_positions(rank, dims, source.type.rank - batch)

    def insert(loop_indices: Sequence[Any], into: Sequence[Any]) -> list[Any]:
        where = _coordinates(indices, dims, slice_dims, loop_indices, rank)
        return [tensor.insert(tensor.extract(source, loop_indices), into[0], where)]

    bounds = [tensor.dim(source, index(axis)) for axis in range(source.type.rank)]
    return nest_over(bounds, [target], insert)[0]


def _slice_positions(rank: int, dims: Sequence[int], slice_rank: int) -> list[int]:
    if slice_rank == rank:
        return list(range(rank))  # the indexed dimensions stay, with size 1
    return [dim for dim in range(rank) if dim not in dims]


def _coordinates(
    indices: Any,
    dims: Sequence[int],
    slice_dims: Sequence[int],
    loop_indices: Sequence[Any],
    rank: int,
) -> list[Any]:
    """Return the index in the whole of an element of the gathered or scattered tensor."""
    batch = list(loop_indices[: indices.type.rank - 1])
    where: list[Any] = [None] * rank
    for dim, coordinate in zip(slice_dims, loop_indices[len(batch) :], strict=True):
        where[dim] = coordinate
    for position, dim in enumerate(dims):
        where[dim] = as_index(tensor.extract(indices, [*batch, index(position)]))
    return where


@lowering_pass("linalg-ext-lower-reverse", "linalg_ext.reverse")
def lower_reverse(op: ir.Operation) -> Any:
    """Lower `linalg_ext.reverse` to a generic that reads backwards.

    before:
        %r = "linalg_ext.reverse"(%a, %o) {dimensions = array<i64: 1>}
               : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
    after:
        %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, -j + 4)>,
                                              affine_map<(i, j) -> (i, j)>],
                             iterator_types = ["parallel", "parallel"]}
               ins(%a : tensor<4x5xf32>) outs(%o : tensor<4x5xf32>) {
        ^bb0(%in: f32, %out: f32):
          linalg.yield %in : f32
        } -> tensor<4x5xf32>

    A map has no place for a size that is known only at run time. Where one is dynamic, the body
    reads the operand by `tensor.extract`.
    """
    view = Reverse.of(op)
    operand, sizes = view.operand, sizes_of(view.operand)
    rank = len(sizes)
    demands = Demands("linalg_ext.reverse: the operand and the destination are of other shapes")
    for axis, size in enumerate(sizes):
        demands.equal(size, size_of(view.init, axis))
    demands.emit()
    if all(isinstance(sizes[axis], int) for axis in view.dimensions):
        dims: list[Any] = [ir.AffineDimExpr.get(axis) for axis in range(rank)]
        for axis in view.dimensions:
            dims[axis] = sizes[axis] - 1 - dims[axis]
        map_ = ir.AffineMap.get(rank, 0, dims)
        return parallel_generic([operand], view.init, [map_], lambda arguments: arguments[0])

    def body(_: Any) -> Any:
        indices = [linalg.IndexOp(axis).result for axis in range(rank)]
        for axis in view.dimensions:
            indices[axis] = sub(sub(sizes[axis], 1), indices[axis])
        return tensor.extract(operand, indices)

    return parallel_generic([], view.init, [], body)


@lowering_pass("linalg-ext-lower-scatter", "linalg_ext.scatter")
def lower_scatter(op: ir.Operation) -> Any:
    """Lower `linalg_ext.scatter` to a loop that writes one window after another.

    before:
        %r = "linalg_ext.scatter"(%i, %u, %o) ({
             ^bb0(%new: f32, %old: f32):
               %sum = arith.addf %new, %old : f32
               "linalg_ext.yield"(%sum) : (f32) -> ()
             }) : (tensor<3x1xindex>, tensor<3x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
    after:
        %r = scf.for %row = %c0 to %c3 step %c1 iter_args(%t = %o) -> (tensor<4x5xf32>) {
          %place = tensor.extract %i[%row, %c0] : tensor<3x1xindex>
          %from = arith.cmpi sge, %place, %c0 : index
          %to = arith.cmpi sle, %place, %c3 : index
          %inside = arith.andi %from, %to : i1
          %next = scf.if %inside -> (tensor<4x5xf32>) {
            %new = tensor.extract_slice %u[%row, 0] [1, 5] [1, 1]
                     : tensor<3x5xf32> to tensor<5xf32>
            %old = tensor.extract_slice %t[%place, 0] [1, 5] [1, 1]
                     : tensor<4x5xf32> to tensor<5xf32>
            %sum = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                                   iterator_types = ["parallel"]}
                     ins(%new : tensor<5xf32>) outs(%old : tensor<5xf32>) {
            ^bb0(%n: f32, %p: f32):
              %s = arith.addf %n, %p : f32
              linalg.yield %s : f32
            } -> tensor<5xf32>
            %w = tensor.insert_slice %sum into %t[%place, 0] [1, 5] [1, 1]
                   : tensor<5xf32> into tensor<4x5xf32>
            scf.yield %w : tensor<4x5xf32>
          } else {
            scf.yield %t : tensor<4x5xf32>
          }
          scf.yield %next : tensor<4x5xf32>
        }

    Windows may overlap, and then their order matters: the loop over them is not parallel.
    """
    return _ScatterLowering(Scatter.of(op)).build()


class _ScatterLowering:
    def __init__(self, view: Scatter) -> None:
        self.view = view
        self.windows = view.windows
        self.stacked = sizes_of(view.updates)
        self.sizes = [1 if axis is None else self.stacked[axis] for axis in view.windows.dims]
        self.dropped = [dim for dim, axis in enumerate(view.windows.dims) if axis is None]

    def build(self) -> Any:
        rows = size_of(self.view.indices, 0)
        demands = Demands("linalg_ext.scatter: indices and updates have other numbers of rows")
        demands.equal(rows, self.stacked[0])
        demands.emit()
        whole = [size_of(self.view.init, dim) for dim in range(len(self.sizes))]
        if 0 in (*whole, *self.stacked):
            return self.view.init  # upstream refuses a slice that begins at the end
        self.lasts = [sub(*both) for both in zip(whole, self.sizes, strict=True)]
        if any(isinstance(last, int) and last < 0 for last in self.lasts):
            return self.view.init  # no window lies inside
        (result,) = counted(0, rows, [self.view.init], self._row)
        return result

    def _row(self, row: Any, carried: list[Any]) -> list[Any]:
        (target,) = carried
        starts: list[Any] = [0] * len(self.sizes)
        for column in range(self.windows.index_count):
            starts[column] = as_index(tensor.extract(self.view.indices, [row, index(column)]))
        inside = self._is_inside(starts)
        if inside is None:
            return [self._written(row, starts, target)]
        return either(
            inside, lambda: [self._written(row, starts, target)], lambda: carried, carried
        )

    def _is_inside(self, starts: list[Any]) -> Any:
        """Return whether a window lies in the destination whole; None where it always does."""
        conditions = []
        for position, last in zip(starts, self.lasts, strict=True):
            if isinstance(position, int):
                # A window begins at 0 along dimensions that are not indexed.
                if not isinstance(last, int):
                    conditions.append(compare("sge", last, 0))
                continue
            conditions += [compare("sge", position, 0), compare("sle", position, last)]
        return functools.reduce(arith.andi, conditions) if conditions else None

    def _written(self, row: Any, starts: list[Any], target: Any) -> Any:
        first = [row, *[0] * (len(self.stacked) - 1)]
        window = extract_slice(self.view.updates, first, [1, *self.stacked[1:]], [0])
        combiner = self.view.combiner
        if combiner is not None:
            old = extract_slice(target, starts, self.sizes, self.dropped)
            combined = elementwise([window], [old], lambda *pair: inlined(combiner, pair))
            window = combined.results[0]
        return insert_slice(window, target, starts, self.sizes)


@lowering_pass("linalg-ext-lower-tensor-bitcast", "tensor.bitcast")
def lower_tensor_bitcast(op: Any) -> Any:
    """Lower `tensor.bitcast`, which upstream cannot bufferize, to `arith.bitcast` on tensors.

    before:
        %r = tensor.bitcast %a : tensor<4xf32> to tensor<4xi32>
    after:
        %r = arith.bitcast %a : tensor<4xf32> to tensor<4xi32>

    Raises:
        LoweringError: an integer of it has a sign in its type, which arithmetic does not take.
    """
    source, target = op.operands[0], op.results[0].type
    for type_ in (source.type, target):
        element = element_type(type_)
        if isinstance(element, ir.IntegerType) and not element.is_signless:
            raise LoweringError(
                f"tensor.bitcast on {element} cannot be lowered",
                where=place(op),
                hint=f"write i{element.width}: integers have no sign in their type",
            )
    return arith.bitcast(target, source)


_BUILDS = builds_of(
    lower_concatenate,
    lower_dynamic_broadcast,
    lower_gather,
    lower_gather_scatter,
    lower_reverse,
    lower_scan,
    lower_scatter,
    lower_sort,
    lower_tensor_bitcast,
)


@module_pass("linalg-ext-lower-destination-ops", on=(*DECOMPOSED, *_BUILDS))
def lower_destination_ops(module: ir.Operation) -> Report:
    """Lower softmax, packs, concatenate, reverse, gather, scatter, scan, sort, ..."""
    report = Report("linalg-ext-lower-destination-ops")
    # A sort of which few elements are read finds these alone.
    report.merge(slice_producers.apply(module))
    decompose(module, operations(module, DECOMPOSED), report)
    # Upstream's decomposition also erases dead ops: ops from before it may be gone.
    moving = operations(module, _BUILDS)
    report.merge(replace_each(report.pass_name, moving, lambda op: _BUILDS[op.name](op)))
    return report
