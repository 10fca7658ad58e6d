"""Lower `tm_tensor.scan`, what torch-mlir makes of cumulative sums and products, to loops.

before:
    %r, %last = tm_tensor.scan dimension(1) inclusive(true)
        ins(%x : tensor<4x9xf32>) outs(%y, %t : tensor<4x9xf32>, tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      tm_tensor.yield %s : f32
    } -> tensor<4x9xf32>, tensor<4xf32>
after:
    %r = scf.for %m = %c0 to %c4 step %c1 iter_args(%all = %y) -> (tensor<4x9xf32>) {
      %start = tensor.extract %t[%m] : tensor<4xf32>
      %one = arith.minui %c9, %c1 : index
      %first:2 = scf.for %n = %c0 to %one step %c1 iter_args(%sum = %start, %row = %all)
          -> (f32, tensor<4x9xf32>) {
        %a = tensor.extract %x[%m, %n] : tensor<4x9xf32>
        %next = tensor.insert %a into %row[%m, %n] : tensor<4x9xf32>
        scf.yield %a, %next : f32, tensor<4x9xf32>
      }
      %rest:2 = scf.for %n = %c1 to %c9 step %c1 iter_args(%sum = %first#0, %row = %first#1)
          -> (f32, tensor<4x9xf32>) {
        %a = tensor.extract %x[%m, %n] : tensor<4x9xf32>
        %s = arith.addf %sum, %a : f32
        %next = tensor.insert %s into %row[%m, %n] : tensor<4x9xf32>
        scf.yield %s, %next : f32, tensor<4x9xf32>
      }
      scf.yield %rest#1 : tensor<4x9xf32>
    }

Along another dimension than the last one, a step is made for a whole plane at a time: a
`linalg.generic` on slices, whose elements lie side by side. An exclusive scan writes what is
carried before it takes the next element in; it begins with the accumulator. The second result is
the last plane of the first one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, ir, tensor
from linalg_ext.rewriting import Report, module_pass

from ._elementwise import index
from ._replacing import replace_each
from ._slicing import extract_slice, insert_slice
from ._tensor_loops import counted, empty_like, inlined, nest, parallel_generic, size_of, sub
from ._walk import operations

NAME = "linalg-ext-lower-exported-scan"

_OP = "tm_tensor.scan"


@module_pass(NAME, on=_OP)
def lower_exported_scan(module: ir.Operation) -> Report:
    """Lower tm_tensor.scan to loops that carry an element, or a plane of them."""
    return replace_each(NAME, operations(module, {_OP}), _scanned)


def _scanned(op: Any) -> list[Any]:
    scan = _Scan.of(op)
    result = scan.rows() if scan.axis == len(scan.sizes) - 1 else scan.planes()
    if not any(True for _ in op.results[1].uses):
        return [result, scan.accumulator]
    return [result, scan.plane(result, index(sub(scan.sizes[scan.axis], 1)))]


@dataclass(frozen=True)
class _Scan:
    """What a scan says.

    Attributes:
        body: a block of (before, new) that yields what both make.
        source: what is scanned.
        output: the destination.
        accumulator: what it begins with, without the dimension.
        axis: the dimension.
        sizes: of the source: numbers, or values that the run gives.
        is_inclusive: whether each element counts for its own place.
    """

    body: Any
    source: Any
    output: Any
    accumulator: Any
    axis: int
    sizes: list[Any]
    is_inclusive: bool

    @classmethod
    def of(cls, op: Any) -> _Scan:
        source, output, accumulator = op.operands
        return cls(
            op.regions[0].blocks[0],
            source,
            output,
            accumulator,
            ir.IntegerAttr(op.attributes["dimension"]).value,
            [size_of(source, at) for at in range(source.type.rank)],
            ir.BoolAttr(op.attributes["inclusive"]).value,
        )

    def rows(self) -> Any:
        """Along the last dimension: element by element, what is carried in a register."""

        def row(places: list[Any], carried: list[Any]) -> list[Any]:
            (target,) = carried
            return self._along(
                tensor.extract(self.accumulator, places),
                target,
                take=lambda at: tensor.extract(self.source, [*places, at]),
                join=lambda before, new: inlined(self.body, [before, new])[0],
                put=lambda new, at, into: tensor.insert(new, into, [*places, at]),
            )

        return nest(self.sizes[:-1], [self.output], row)[0]

    def planes(self) -> Any:
        """Along another dimension: plane by plane."""
        rest = [size for at, size in enumerate(self.sizes) if at != self.axis]
        identity = ir.AffineMap.get_identity(len(rest))

        def join(before: Any, new: Any) -> Any:
            made = empty_like(self.accumulator.type, rest)
            return parallel_generic(
                [before, new],
                made,
                [identity] * 2,
                lambda elements: inlined(self.body, elements[:2])[0],
            )

        return self._along(
            self.accumulator,
            self.output,
            take=lambda at: self.plane(self.source, at),
            join=join,
            put=lambda new, at, into: insert_slice(new, into, *self._bounds(at)),
        )[0]

    def plane(self, value: Any, at: Any) -> Any:
        """The plane of a tensor at a place of the dimension, which it does not have any more."""
        return extract_slice(value, *self._bounds(at), dropped=[self.axis])

    def _bounds(self, at: Any) -> tuple[list[Any], list[Any]]:
        """The offsets and the sizes of a plane."""
        offsets: list[Any] = [0] * len(self.sizes)
        offsets[self.axis] = at
        sizes = [1 if dim == self.axis else size for dim, size in enumerate(self.sizes)]
        return offsets, sizes

    def _along(
        self,
        start: Any,
        target: Any,
        *,
        take: Callable[[Any], Any],
        join: Callable[[Any, Any], Any],
        put: Callable[[Any, Any, Any], Any],
    ) -> list[Any]:
        """The target after the scan; what is taken, joined and put is an element or a plane."""
        count = self.sizes[self.axis]

        def exclusive(at: Any, carried: list[Any]) -> list[Any]:
            before, into = carried
            return [join(before, take(at)), put(before, at, into)]

        if not self.is_inclusive:
            return counted(0, count, [start, target], exclusive)[1:]

        def first(at: Any, carried: list[Any]) -> list[Any]:
            new = take(at)
            return [new, put(new, at, carried[1])]

        def step(at: Any, carried: list[Any]) -> list[Any]:
            new = join(carried[0], take(at))
            return [new, put(new, at, carried[1])]

        # A loop of one step, for there may be no element at all.
        begun = counted(0, arith.minui(index(count), index(1)), [start, target], first)
        return counted(1, count, begun, step)[1:]
