"""The loops of a convolution by Winograd's algorithm, as a function on memrefs.

factors   U[strip, point, channel, filter of the strip], all of them, once for a call
inputs    V[point, channel, tile] of a block; V[point, tile, channel] where channels are in lanes
sums      M[point, filter, tile] of a block and some strips; M[point, tile, filter]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from linalg_ext.transforms.codegen.base.flat_memory import Memory
from linalg_ext.transforms.codegen.base.flattening import flattened
from linalg_ext.transforms.codegen.base.writer import Index, Writer
from linalg_ext.transforms.codegen.convolutions._window_reader import Operand

from ._winograd_filters import Factors, prepared_factors
from ._winograd_inputs import Inputs
from ._winograd_part import Block, Points, plane_of, shape_of_inputs, shape_of_sums
from ._winograd_plan import WinogradPlan
from ._winograd_products import Products
from ._winograd_results import Results
from ._winograd_transforms import POINTS


def winograd_function(name: str, plan: WinogradPlan, operands: Sequence[str]) -> str:
    """A function that does a convolution, as text.

    Args:
        name: of the function.
        plan: how.
        operands: the types of the operands of the body: memrefs, or scalars. The last one is the
            memory of filters and factors where the plan has the factors from there.
    """
    w = Writer()
    _Nest(w, plan, operands).write()
    signature = ", ".join(f"%A{place}: {type_}" for place, type_ in enumerate(operands))
    return w.function(name, signature)


class _Nest:
    """Writes the nest of one plan."""

    def __init__(self, w: Writer, plan: WinogradPlan, types: Sequence[str]) -> None:
        self._w = w
        self._plan = plan
        self._types = types
        self._scratch: list[Memory] = []

    def write(self) -> None:
        """Write the nest."""
        w, plan = self._w, self._plan
        sizes: dict[str, Index] = {}
        operands = {place: self._flat(place, sizes) for place in plan.problem.arguments}
        sizes |= {each.name: each.size for each in plan.problem.loops if each.size is not None}
        self._write_images(operands, sizes)
        for memory in self._scratch:
            w.line(f"memref.dealloc {memory.name} : {memory.type}")

    def _flat(self, place: int, sizes: dict[str, Index]) -> Operand:
        argument, lanes = self._plan.problem.arguments[place], self._plan.tile.lanes
        memory, strides = flattened(self._w, f"A{place}", argument, lanes, sizes)
        return Operand(memory, 0, strides)

    def _write_images(self, operands: dict[int, Operand], sizes: Mapping[str, Index]) -> None:
        w, plan, c = self._w, self._plan, self._plan.convolution
        count = len(self._types) - plan.is_prepared
        inputs, sums = (self._points(shape(plan)) for shape in (shape_of_inputs, shape_of_sums))
        factors = self._factors(operands[c.filters])
        self._inputs = Inputs(w, plan, inputs)
        self._products = Products(w, plan, factors, inputs, sums)
        self._results = Results(w, plan, sums, self._types[:count])
        rows, columns = c.tiles(c.rows), c.tiles(c.columns)
        with ExitStack() as images:
            for name in c.batch:
                at = images.enter_context(w.loop(0, sizes[name]))
                operands = {place: each.moved(name, at) for place, each in operands.items()}
            with w.loop(0, rows, plan.rows) as row, w.loop(0, columns, plan.columns) as column:
                height = w.min(plan.rows, w.sub(rows, row))
                width = w.min(plan.columns, w.sub(columns, column))
                self._write_block(operands, Block(row, column, height, width))

    def _write_block(self, operands: Mapping[int, Operand], block: Block) -> None:
        w, plan = self._w, self._plan
        self._inputs.write(operands[plan.convolution.window], block)
        with w.loop(0, plan.all_strips, plan.strips) as first:
            strips = w.min(plan.strips, w.sub(plan.all_strips, first))
            with w.loop(0, POINTS) as point:
                self._products.write(point, first, strips, w.mul(block.height, plan.columns))
            self._results.write(operands, block, w.mul(first, plan.strip))

    def _factors(self, filters: Operand) -> Memory:
        if self._plan.is_prepared:
            name = f"A{len(self._types) - 1}"
            return prepared_factors(self._w, self._plan, name, self._types[-1])
        factors = self._allocated(self._plan.filter_elements)
        Factors(self._w, self._plan, factors).write(filters)
        return factors

    def _points(self, shape: tuple[int, int]) -> Points:
        plane = plane_of(*shape)
        return Points(self._allocated(POINTS * plane), plane, shape[1])

    def _allocated(self, size: int) -> Memory:
        type_ = f"memref<{size}xf32>"
        name = self._w.op(f"memref.alloc() {{alignment = 64}} : {type_}")
        self._scratch.append(Memory(self._w, name, type_, "f32", self._plan.tile.lanes))
        return self._scratch[-1]
