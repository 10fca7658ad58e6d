"""Lower `stablehlo.scatter` to loops over its windows.

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
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any

from linalg_ext.bindings import arith, ir, scf, tensor
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.arithmetic import index
from linalg_ext.transforms.ir_utils.tensor_loops import add, as_index, compare, nest, size_of, sub

from ._stablehlo import body, cast, is_unsigned, lower_each, signless

NAME = "linalg-ext-lower-stablehlo-scatter"

_OP = "stablehlo.scatter"


@module_pass(NAME, on=_OP)
def lower_stablehlo_scatter(module: ir.Operation) -> Report:
    """Lower stablehlo.scatter to loops."""
    return lower_each(NAME, module, {_OP: _lowered})


@dataclass(frozen=True)
class _Dimensions:
    """The op's own words for which dimension is what; the specification of StableHLO has them."""

    update_window_dims: tuple[int, ...] = ()
    inserted_window_dims: tuple[int, ...] = ()
    input_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()
    scatter_dims_to_operand_dims: tuple[int, ...] = ()
    index_vector_dim: tuple[int, ...] = (0,)

    @classmethod
    def of(cls, attribute: Any) -> _Dimensions:
        # The bindings have no class for it: its text is all that can be read.
        found = dict(re.findall(r"(\w+) = (\[[\d, ]*\]|\d+)", str(attribute)))
        known = {field.name for field in fields(cls)} & set(found)
        return cls(**{name: tuple(map(int, re.findall(r"\d+", found[name]))) for name in known})


def _lowered(op: Any) -> list[Any]:
    count = len(op.results)
    inputs, updates = (
        [cast(value, signless(value.type)) for value in values]
        for values in (op.operands[:count], op.operands[count + 1 :])
    )
    unsigned = is_unsigned(op.operands[count].type)
    indices = cast(op.operands[count], signless(op.operands[count].type))
    dims = _Dimensions.of(op.attributes["scatter_dimension_numbers"])
    combiner = op.regions[0].blocks[0]
    rank, windows = updates[0].type.rank, dims.update_window_dims
    taken = (*dims.inserted_window_dims, *dims.input_batching_dims)
    in_window = [dim for dim in range(inputs[0].type.rank) if dim not in taken]
    scattered = [dim for dim in range(rank) if dim not in windows]

    def window(at: list[Any], carried: list[Any]) -> list[Any]:
        starts = _starts(indices, at, dims, inputs[0].type.rank, unsigned)
        sizes = [
            size_of(updates[0], windows[in_window.index(dim)]) if dim in in_window else 1
            for dim in range(inputs[0].type.rank)
        ]
        is_inside = _is_inside(starts, sizes, inputs[0])

        def element(inside: list[Any], whole: list[Any]) -> list[Any]:
            of_update = _placed(
                rank,
                {
                    **dict(zip(scattered, at, strict=True)),
                    **dict(zip(windows, inside, strict=True)),
                },
            )
            offsets = dict(zip(in_window, inside, strict=True))
            places = [index(add(start, offsets.get(dim, 0))) for dim, start in enumerate(starts)]
            old = [tensor.extract(each, places) for each in whole]
            new = [tensor.extract(each, of_update) for each in updates]
            found = body(combiner, [*old, *new])
            pairs = zip(found, whole, strict=True)
            return [tensor.insert(value, each, places) for value, each in pairs]

        branch: Any = scf.IfOp(is_inside, [each.type for each in carried], has_else=True)
        with ir.InsertionPoint(branch.then_block):
            bounds = [size_of(updates[0], dim) for dim in windows]
            scf.YieldOp(nest(bounds, carried, element))
        with ir.InsertionPoint(branch.else_block):
            scf.YieldOp(carried)
        return list(branch.results)

    return nest([size_of(updates[0], dim) for dim in scattered], inputs, window)


def _starts(indices: Any, at: list[Any], dims: _Dimensions, rank: int, unsigned: bool) -> list[Any]:
    """Return the start of a window in each dimension of the tensor that is written to."""
    (vector_dim,) = dims.index_vector_dim
    starts: list[Any] = [0] * rank
    for number, dim in enumerate(dims.scatter_dims_to_operand_dims):
        places = list(at)
        if vector_dim < indices.type.rank:
            places.insert(vector_dim, index(number))
        found = tensor.extract(indices, places)
        is_wide = isinstance(found.type, ir.IndexType)
        starts[dim] = (
            arith.index_castui(ir.IndexType.get(), found)
            if unsigned and not is_wide
            else as_index(found)
        )
    pairs = zip(dims.input_batching_dims, dims.scatter_indices_batching_dims, strict=True)
    for dim, of_indices in pairs:
        starts[dim] = at[of_indices - (of_indices > vector_dim)]
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


def _placed(rank: int, places: dict[int, Any]) -> list[Any]:
    return [places[dim] for dim in range(rank)]
