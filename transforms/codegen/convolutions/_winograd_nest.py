"""The loops of a convolution by Winograd's algorithm.

factors   U[strip, point, channel, filter of the strip], all of them, once for a call
inputs    V[point, channel, tile] of a block; V[point, tile, channel] where channels are in lanes
sums      M[point, filter, tile] of a block and some strips; M[point, tile, filter]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from linalg_ext.transforms.codegen.base.flat_memory import FlatOperand, Memory

from ._nest import OperandsNest
from ._winograd_filters import Factors, prepared_factors
from ._winograd_inputs import Inputs
from ._winograd_part import Block, Points, plane_of, shape_of_inputs, shape_of_sums
from ._winograd_plan import WinogradPlan
from ._winograd_products import Products
from ._winograd_results import Results
from ._winograd_transforms import POINTS


class WinogradNest(OperandsNest):
    """Writes the nest of one plan.

    The last operand is the memory of filters and factors where the plan has the factors from there.
    """

    def __init__(self, plan: WinogradPlan, types: Sequence[str]) -> None:
        super().__init__(plan.problem, types, plan.tile.lanes)
        self._plan = plan
        self._last = f"A{len(types) - 1}", types[-1]

    def _write(self) -> None:
        w, plan, c = self._w, self._plan, self._plan.convolution
        operands = self._operands
        inputs, sums = (self._points(shape(plan)) for shape in (shape_of_inputs, shape_of_sums))
        factors = self._factors(operands[c.filters])
        self._inputs = Inputs(w, plan, inputs)
        self._products = Products(w, plan, factors, inputs, sums)
        self._results = Results(w, plan, sums, self._epilogue_scalars())
        rows, columns = c.tiles(c.rows), c.tiles(c.columns)
        with ExitStack() as images:
            for name in c.batch:
                at = images.enter_context(w.loop(0, self._sizes[name]))
                operands = {place: each.moved(name, at) for place, each in operands.items()}
            with w.loop(0, rows, plan.rows) as row, w.loop(0, columns, plan.columns) as column:
                height = w.min(plan.rows, w.sub(rows, row))
                width = w.min(plan.columns, w.sub(columns, column))
                self._write_block(operands, Block(row, column, height, width))

    def _write_block(self, operands: Mapping[int, FlatOperand], block: Block) -> None:
        w, plan = self._w, self._plan
        self._inputs.write(operands[plan.convolution.window], block)
        with w.loop(0, plan.all_strips, plan.strips) as first:
            strips = w.min(plan.strips, w.sub(plan.all_strips, first))
            with w.loop(0, POINTS) as point:
                self._products.write(point, first, strips, w.mul(block.height, plan.columns))
            self._results.write(operands, block, w.mul(first, plan.strip))

    def _factors(self, filters: FlatOperand) -> Memory:
        if self._plan.is_prepared:
            return prepared_factors(self._w, self._plan, *self._last)
        factors = self._allocated(self._plan.filter_elements, "f32")
        Factors(self._w, self._plan, factors).write(filters)
        return factors

    def _points(self, shape: tuple[int, int]) -> Points:
        plane = plane_of(*shape)
        return Points(self._allocated(POINTS * plane, "f32"), plane, shape[1])
