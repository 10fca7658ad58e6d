"""Lower the ops of StableHLO that upstream's legalization to linalg leaves, in one walk.

`stablehlo.while`, `stablehlo.case` and `stablehlo.if` become loops and branches of scf.

before:
    %r = stablehlo.while(%i = %n) : tensor<i32>
    cond {
      %0 = stablehlo.compare LT, %i, %m, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %0 : tensor<i1>
    } do {
      %1 = stablehlo.add %i, %i : tensor<i32>
      stablehlo.return %1 : tensor<i32>
    }
after:
    %n0 = tensor.extract %n[] : tensor<i32>
    %r0 = scf.while (%i0 = %n0) : (i32) -> i32 {
      %i1 = tensor.from_elements %i0 : tensor<i32>
      %0 = stablehlo.compare LT, %i1, %m, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %more = tensor.extract %0[] : tensor<i1>
      scf.condition(%more) %i0 : i32
    } do {
    ^bb0(%i2: i32):
      %i3 = tensor.from_elements %i2 : tensor<i32>
      %1 = stablehlo.add %i3, %i3 : tensor<i32>
      %next = tensor.extract %1[] : tensor<i32>
      scf.yield %next : i32
    }
    %r = tensor.from_elements %r0 : tensor<i32>

Tensors of rank 0 are carried as scalars. An index of `stablehlo.case` that names no branch takes
the last one. Values go through `stablehlo.optimization_barrier` unchanged.

`stablehlo.sort` becomes our own sort.

before:
    %r = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %s : tensor<i1>
    }) : (tensor<9xf32>) -> tensor<9xf32>
after:
    %e = tensor.empty() : tensor<9xf32>
    %r = "linalg_ext.sort"(%x, %e) ({
    ^bb0(%a: f32, %b: f32):
      %a0 = tensor.from_elements %a : tensor<f32>
      %b0 = tensor.from_elements %b : tensor<f32>
      %s = stablehlo.compare LT, %a0, %b0 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %s0 = tensor.extract %s[] : tensor<i1>
      "linalg_ext.yield"(%s0) : (i1) -> ()
    }) {dimension = 0 : i64, is_stable = true, operandSegmentSizes =
        array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>,
        resultSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0>}
      : (tensor<9xf32>, tensor<9xf32>) -> tensor<9xf32>

`stablehlo.scatter` becomes loops over its windows.

before:
    %r = "stablehlo.scatter"(%x, %i, %u) <{
        scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
          inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%old: tensor<f32>, %new: tensor<f32>):
      stablehlo.return %new : tensor<f32>
    }) : (tensor<5x7xf32>, tensor<3x1xi32>, tensor<3x7xf32>) -> tensor<5x7xf32>
after:
    %r = scf.for %m = %c0 to %c3 step %c1 iter_args(%all = %x) -> (tensor<5x7xf32>) {
      ...                                            // %at = %i[%m, 0]; is 0 <= %at <= 5 - 1?
      %s = scf.if %is_inside -> (tensor<5x7xf32>) {
        %w = scf.for %n = %c0 to %c7 step %c1 iter_args(%row = %all) -> (tensor<5x7xf32>) {
          %new = tensor.extract %u[%m, %n] : tensor<3x7xf32>
          %next = tensor.insert %new into %row[%at, %n] : tensor<5x7xf32>
          scf.yield %next : tensor<5x7xf32>
        }
        scf.yield %w : tensor<5x7xf32>
      } else {
        scf.yield %all : tensor<5x7xf32>
      }
      scf.yield %s : tensor<5x7xf32>
    }

A window that does not lie inside is left out whole, as XLA does. Where windows meet, they are taken
in their order.

Reversals and broadcasts, which upstream lowers for known sizes alone, become ops of our own.

before:
    %r = stablehlo.reverse %x, dims = [0] : tensor<?x5xf32>
after:
    %zero = arith.constant 0 : index
    %size = tensor.dim %x, %zero : tensor<?x5xf32>
    %e = tensor.empty(%size) : tensor<?x5xf32>
    %r = "linalg_ext.reverse"(%x, %e) {dimensions = array<i64: 0>}
      : (tensor<?x5xf32>, tensor<?x5xf32>) -> tensor<?x5xf32>

before:
    %r = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [1]
      : (tensor<?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
after:
    %zero = arith.constant 0 : index
    %n0 = tensor.extract %n[%zero] : tensor<2xindex>
    %one = arith.constant 1 : index
    %n1 = tensor.extract %n[%one] : tensor<2xindex>
    %e = tensor.empty(%n0, %n1) : tensor<?x?xf32>
    %r = "linalg_ext.dynamic_broadcast_in_dim"(%x, %e) {broadcast_dimensions = array<i64: 1>}
      : (tensor<?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>

The bodies of StableHLO's ops compute on tensors without dimensions, and integers there may be
unsigned. Loops and comparators must compute on signless scalars. Casts between the two are
inserted, which `reconcile-unrealized-casts` and `canonicalize` remove.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from linalg_ext.bindings import arith, builtin, ir, scf, tensor
from linalg_ext.dialects.linalg_ext import dynamic_broadcast_in_dim, reverse, sort
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.constants import index
from linalg_ext.structured.loops import either, nest_over
from linalg_ext.transforms.ir_utils.tensor_loops import (
    Demands,
    add,
    as_index,
    compare,
    inlined,
    size_of,
    sub,
)
from linalg_ext.transforms.ir_utils.walking import operations, replace_each


@module_pass("linalg-ext-lower-stablehlo", on=lambda name: name in _LOWERINGS)
def lower_stablehlo(module: ir.Operation) -> Report:
    """Write loops, branches, sorts, scatters and ops of open sizes as scf and ops of linalg_ext."""

    def build(op: Any) -> list[Any]:
        pairs = zip(op.results, _LOWERINGS[op.name](op), strict=True)
        return [_wrapped(value, result.type) for result, value in pairs]

    # From the inside out: to copy a body is to copy its lowered ops.
    ops = reversed(operations(module, _LOWERINGS))
    return replace_each("linalg-ext-lower-stablehlo", ops, build)


def _signless(type_: Any) -> Any:
    """Return a tensor's type with integers that have no sign of their own."""
    element = type_.element_type
    if not isinstance(element, ir.IntegerType) or element.is_signless:
        return type_
    plain = ir.IntegerType.get_signless(element.width)
    return ir.RankedTensorType.get(type_.shape, plain, type_.encoding)


def _is_unsigned(type_: Any) -> bool:
    element = type_.element_type
    return isinstance(element, ir.IntegerType) and element.is_unsigned


def _cast(value: Any, type_: Any) -> Any:
    """Return a tensor as one of the type, which differs in its sign at most."""
    if value.type == type_:
        return value
    return builtin.unrealized_conversion_cast([type_], [value])


def _as_signless(value: Any) -> Any:
    return _cast(value, _signless(value.type))


def _plain(value: Any) -> Any:
    """Return a tensor without sign; the element of one that has no dimensions."""
    value = _as_signless(value)
    return value if value.type.rank else tensor.extract(value, [])


def _wrapped(value: Any, type_: Any) -> Any:
    """Return the result of `_plain` as a tensor of the type again."""
    if not isinstance(value.type, ir.RankedTensorType):
        value = tensor.from_elements(ir.RankedTensorType.get([], value.type), [value])
    return _cast(value, type_)


def _result_types(op: Any) -> list[Any]:
    """Return the types that `_plain` makes of the results of an op."""
    signless = [_signless(result.type) for result in op.results]
    return [type_ if type_.rank else type_.element_type for type_ in signless]


def _body(block: Any, values: Sequence[Any]) -> list[Any]:
    """Return the results of a copy of a region's block here; the values are as of `_plain`."""
    types = [argument.type for argument in block.arguments]
    tensors = [_wrapped(value, type_) for value, type_ in zip(values, types, strict=True)]
    return [_plain(value) for value in inlined(block, tensors)]


def _loop(op: Any) -> list[Any]:
    types = _result_types(op)
    loop = scf.WhileOp(types, [_plain(value) for value in op.operands])
    condition, step = (region.blocks[0] for region in op.regions)
    before = loop.before.blocks.append(*types)
    with ir.InsertionPoint(before):
        (goes_on,) = _body(condition, before.arguments)
        scf.ConditionOp(goes_on, before.arguments)
    after = loop.after.blocks.append(*types)
    with ir.InsertionPoint(after):
        scf.YieldOp(_body(step, after.arguments))
    return list(loop.results)


def _case(op: Any) -> list[Any]:
    chosen = _plain(op.operands[0])
    return _branches(op, chosen, [region.blocks[0] for region in op.regions], 0)


def _branches(op: Any, chosen: Any, blocks: Sequence[Any], number: int) -> list[Any]:
    first, *rest = blocks
    if not rest:
        return _body(first, [])
    is_first = arith.cmpi(arith.CmpIPredicate.eq, chosen, arith.constant(chosen.type, number))
    otherwise = partial(_branches, op, chosen, rest, number + 1)
    return _chosen(op, is_first, partial(_body, first, []), otherwise)


def _if(op: Any) -> list[Any]:
    bodies = (partial(_body, region.blocks[0], []) for region in op.regions)
    return _chosen(op, _plain(op.operands[0]), *bodies)


def _chosen(op: Any, condition: Any, *branches: Callable[[], list[Any]]) -> list[Any]:
    choice: Any = scf.IfOp(condition, _result_types(op), has_else=True)
    for block, build in zip((choice.then_block, choice.else_block), branches, strict=True):
        with ir.InsertionPoint(block):
            scf.YieldOp(build())
    return list(choice.results)


def _barrier(op: Any) -> list[Any]:
    return [_plain(value) for value in op.operands]


def _sorted(op: Any) -> list[Any]:
    block = op.regions[0].blocks[0]

    def comparator(*elements: Any) -> Any:
        (precedes,) = _body(block, elements)
        return precedes

    return sort(
        *map(_as_signless, op.operands),
        dimension=ir.IntegerAttr(op.attributes["dimension"]).value,
        comparator=comparator,
        is_stable=ir.BoolAttr(op.attributes["is_stable"]).value,
    )


@dataclass(frozen=True)
class _Dimensions:
    """The op's own names for the roles of dimensions; the specification of StableHLO has them."""

    update_window_dims: tuple[int, ...] = ()
    inserted_window_dims: tuple[int, ...] = ()
    input_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()
    scatter_dims_to_operand_dims: tuple[int, ...] = ()
    index_vector_dim: tuple[int, ...] = (0,)

    @classmethod
    def of(cls, attribute: Any) -> _Dimensions:
        # The bindings have no class for it: its text is all that can be read.
        texts = dict(re.findall(r"(\w+) = (\[[\d, ]*\]|\d+)", str(attribute)))
        names = {field.name for field in fields(cls)} & set(texts)
        return cls(**{name: tuple(map(int, re.findall(r"\d+", texts[name]))) for name in names})


def _scatter(op: Any) -> list[Any]:
    count = len(op.results)
    inputs, updates = (
        [_as_signless(value) for value in values]
        for values in (op.operands[:count], op.operands[count + 1 :])
    )
    indices = op.operands[count]
    dims = _Dimensions.of(op.attributes["scatter_dimension_numbers"])
    combiner = op.regions[0].blocks[0]
    rank, windows = updates[0].type.rank, dims.update_window_dims
    outside_window = (*dims.inserted_window_dims, *dims.input_batching_dims)
    in_window = [dim for dim in range(inputs[0].type.rank) if dim not in outside_window]
    scattered = [dim for dim in range(rank) if dim not in windows]

    def window(scatter_indices: list[Any], carried: list[Any]) -> list[Any]:
        starts = _starts(indices, scatter_indices, dims, inputs[0].type.rank)
        sizes = [
            size_of(updates[0], windows[in_window.index(dim)]) if dim in in_window else 1
            for dim in range(inputs[0].type.rank)
        ]
        is_inside = _is_inside(starts, sizes, inputs[0])

        def element(inside: list[Any], whole: list[Any]) -> list[Any]:
            by_dim = dict(zip((*scattered, *windows), (*scatter_indices, *inside), strict=True))
            of_update = [by_dim[dim] for dim in range(rank)]
            offsets = dict(zip(in_window, inside, strict=True))
            positions = [index(add(start, offsets.get(dim, 0))) for dim, start in enumerate(starts)]
            old = [tensor.extract(target, positions) for target in whole]
            new = [tensor.extract(update, of_update) for update in updates]
            combined = _body(combiner, [*old, *new])
            pairs = zip(combined, whole, strict=True)
            return [tensor.insert(value, target, positions) for value, target in pairs]

        def elements() -> list[Any]:
            return nest_over([size_of(updates[0], dim) for dim in windows], carried, element)

        return either(is_inside, elements, lambda: carried, carried)

    return nest_over([size_of(updates[0], dim) for dim in scattered], inputs, window)


def _starts(indices: Any, scatter_indices: list[Any], dims: _Dimensions, rank: int) -> list[Any]:
    (vector_dim,) = dims.index_vector_dim
    starts: list[Any] = [0] * rank
    for number, dim in enumerate(dims.scatter_dims_to_operand_dims):
        positions = list(scatter_indices)
        if vector_dim < indices.type.rank:
            positions.insert(vector_dim, index(number))
        starts[dim] = _index_at(indices, positions)
    pairs = zip(dims.input_batching_dims, dims.scatter_indices_batching_dims, strict=True)
    for dim, of_indices in pairs:
        starts[dim] = scatter_indices[of_indices - (of_indices > vector_dim)]
    return starts


def _is_inside(starts: list[Any], sizes: list[Any], whole: Any) -> Any:
    holds = arith.constant(ir.IntegerType.get_signless(1), 1)
    for dim, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        if isinstance(start, int):
            continue
        last = sub(size_of(whole, dim), size)
        for condition in (compare("sge", start, 0), compare("sle", start, last)):
            holds = arith.andi(holds, condition)
    return holds


def _reversed(op: Any) -> list[Any]:
    return [reverse(_as_signless(op.operands[0]), dimensions=list(op.attributes["dimensions"]))]


def _broadcast(op: Any) -> list[Any]:
    operand, shape = op.operands
    type_ = _signless(op.results[0].type)
    demands = Demands(
        "stablehlo.dynamic_broadcast_in_dim: the shape that is asked for is not that of its type"
    )
    sizes: list[Any] = []
    for axis in range(type_.rank):
        size = _index_at(shape, [index(axis)])
        if type_.is_dynamic_dim(axis):
            sizes.append(size)
        else:
            sizes.append(type_.get_dim_size(axis))
            demands.equal(size, sizes[-1])
    demands.emit()
    return [
        dynamic_broadcast_in_dim(
            _as_signless(operand),
            tensor.EmptyOp(sizes, type_.element_type).result,
            **{
                name: list(op.attributes[attribute])
                for name, attribute in _ATTRIBUTES.items()
                if attribute in op.attributes
            },
        )
    ]


_ATTRIBUTES = {
    "broadcast_dimensions": "broadcast_dimensions",
    "known_expanding": "known_expanding_dimensions",
    "known_nonexpanding": "known_nonexpanding_dimensions",
}
"""The attributes of StableHLO's op, by the name of our op's argument."""


def _index_at(values: Any, positions: Sequence[Any]) -> Any:
    """Return an element of a tensor, of any integer type, as an index."""
    element = tensor.extract(_as_signless(values), positions)
    if _is_unsigned(values.type):
        return arith.index_castui(ir.IndexType.get(), element)
    return as_index(element)


_LOWERINGS: Mapping[str, Callable[[Any], Sequence[Any]]] = {
    "stablehlo.case": _case,
    "stablehlo.dynamic_broadcast_in_dim": _broadcast,
    "stablehlo.if": _if,
    "stablehlo.optimization_barrier": _barrier,
    "stablehlo.reverse": _reversed,
    "stablehlo.scatter": _scatter,
    "stablehlo.sort": _sorted,
    "stablehlo.while": _loop,
}
"""Builders of the results of each op, `_plain`."""
