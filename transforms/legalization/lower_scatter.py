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
        %new = tensor.extract_slice %u[%row, 0] [1, 5] [1, 1] : tensor<3x5xf32> to tensor<5xf32>
        %old = tensor.extract_slice %t[%place, 0] [1, 5] [1, 1] : tensor<4x5xf32> to tensor<5xf32>
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

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import arith, ir, scf, tensor
from linalg_ext.structured.destination_ops import Scatter
from linalg_ext.transforms.ir_utils.arithmetic import index
from linalg_ext.transforms.ir_utils.tensor_loops import (
    Demands,
    as_index,
    compare,
    counted,
    extract_slice,
    inlined,
    insert_slice,
    parallel_generic,
    size_of,
    sub,
)
from linalg_ext.transforms.ir_utils.walking import lowering_pass

NAME = "linalg-ext-lower-scatter"
OP = "linalg_ext.scatter"


@lowering_pass(NAME, OP)
def lower_scatter(op: ir.Operation) -> Any:
    """Lower linalg_ext.scatter to scf.for and tensor.insert_slice."""
    return _Lowering(Scatter.of(op)).build()


class _Lowering:
    """One scatter, as a loop over its windows."""

    def __init__(self, view: Scatter) -> None:
        self.view = view
        self.windows = view.windows
        self.stacked = [
            size_of(view.updates, axis) for axis in range(ir.ShapedType(view.updates.type).rank)
        ]
        self.sizes = [1 if at is None else self.stacked[at] for at in view.windows.dims]
        self.dropped = [dim for dim, at in enumerate(view.windows.dims) if at is None]

    def build(self) -> Any:
        rows = size_of(self.view.indices, 0)
        demands = Demands(f"{OP}: indices and updates have other numbers of rows")
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
        places: list[Any] = [0] * len(self.sizes)
        for column in range(self.windows.index_count):
            places[column] = as_index(tensor.extract(self.view.indices, [row, index(column)]))
        inside = self._is_inside(places)
        if inside is None:
            return [self._written(row, places, target)]
        choice: Any = scf.IfOp(inside, [target.type], has_else=True)
        with ir.InsertionPoint(choice.then_block):
            scf.YieldOp([self._written(row, places, target)])
        with ir.InsertionPoint(choice.else_block):
            scf.YieldOp([target])
        return list(choice.results)

    def _is_inside(self, places: list[Any]) -> Any:
        """Return whether a window lies in the destination whole; None where it always does."""
        held = []
        for place, last in zip(places, self.lasts, strict=True):
            if isinstance(place, int):
                # A window begins at 0 along what is not indexed.
                if not isinstance(last, int):
                    held.append(compare("sge", last, 0))
                continue
            held += [compare("sge", place, 0), compare("sle", place, last)]
        if not held:
            return None
        inside, *others = held
        for other in others:
            inside = arith.andi(inside, other)
        return inside

    def _written(self, row: Any, places: list[Any], target: Any) -> Any:
        """The destination with the window of a row in it."""
        first = [row, *[0] * (len(self.stacked) - 1)]
        window = extract_slice(self.view.updates, first, [1, *self.stacked[1:]], [0])
        combiner = self.view.combiner
        if combiner is not None:
            old = extract_slice(target, places, self.sizes, self.dropped)
            identity = ir.AffineMap.get_identity(old.type.rank)
            window = parallel_generic(
                [window], old, [identity], lambda elements: inlined(combiner, elements)[0]
            )
        return insert_slice(window, target, places, self.sizes)
