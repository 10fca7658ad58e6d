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
      %begin = tensor.extract %t[%m] : tensor<4xf32>
      %start = arith.extf %begin : f32 to f64
      %one = arith.minsi %c9, %c1 : index
      %first:2 = scf.for %n = %c0 to %one step %c1 iter_args(%sum = %start, %row = %all)
          -> (f64, tensor<4x9xf32>) {
        %a = tensor.extract %x[%m, %n] : tensor<4x9xf32>
        %wide = arith.extf %a : f32 to f64
        %all_of_it = arith.truncf %wide : f64 to f32
        %next = tensor.insert %all_of_it into %row[%m, %n] : tensor<4x9xf32>
        scf.yield %wide, %next : f64, tensor<4x9xf32>
      }
      %rest:2 = scf.for %n = %c1 to %c9 step %c1 iter_args(%sum = %first#0, %row = %first#1)
          -> (f64, tensor<4x9xf32>) {
        %a = tensor.extract %x[%m, %n] : tensor<4x9xf32>
        %wide = arith.extf %a : f32 to f64
        %s = arith.addf %sum, %wide : f64
        %rounded = arith.truncf %s : f64 to f32
        %next = tensor.insert %rounded into %row[%m, %n] : tensor<4x9xf32>
        scf.yield %s, %next : f64, tensor<4x9xf32>
      }
      scf.yield %rest#1 : tensor<4x9xf32>
    }

Along another dimension than the last one, a step is made for a whole plane at a time: a
`linalg.generic` on slices, whose elements lie side by side. An exclusive scan writes what is
carried before it takes the next element in; it begins with the accumulator. The second result is
the last plane of the first one.

Sums and products of f32 are carried in f64, those of narrower floats in f32, as PyTorch on a CPU
does: an element is rounded once, and not once for each before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import arith, ir, tensor
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.arithmetic import index
from linalg_ext.transforms.ir_utils.replacing import replace_each
from linalg_ext.transforms.ir_utils.tensor_loops import (
    counted,
    inlined,
    nest,
    parallel_generic,
    size_of,
    sub,
)
from linalg_ext.transforms.ir_utils.tensor_slices import extract_slice, insert_slice
from linalg_ext.transforms.ir_utils.walking import operations

NAME = "linalg-ext-lower-exported-scan"

_OP = "tm_tensor.scan"

_ROUNDING = {"arith.addf": arith.addf, "arith.mulf": arith.mulf}
"""The ops for values carried in a wider type, by the name of the op in the body."""


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
    """The properties of a scan.

    Attributes:
        body: a block of (before, new) that yields what both make.
        source: the tensor that is scanned.
        output: the destination.
        accumulator: the initial values, without the dimension.
        axis: the dimension.
        sizes: of the source: numbers, or values that are known when it runs.
        is_inclusive: True where each element counts for its own place.
        carried: the type of the elements that are carried.
    """

    body: Any
    source: Any
    output: Any
    accumulator: Any
    axis: int
    sizes: list[Any]
    is_inclusive: bool
    carried: Any

    @classmethod
    def of(cls, op: Any) -> _Scan:
        source, output, accumulator = op.operands
        body = op.regions[0].blocks[0]
        return cls(
            body,
            source,
            output,
            accumulator,
            ir.IntegerAttr(op.attributes["dimension"]).value,
            [size_of(source, at) for at in range(source.type.rank)],
            ir.BoolAttr(op.attributes["inclusive"]).value,
            _carried(body, output.type.element_type),
        )

    def rows(self) -> Any:
        """Along the last dimension: element by element, what is carried in a register."""

        def row(places: list[Any], carried: list[Any]) -> list[Any]:
            (target,) = carried
            return self._along(
                self._widened(tensor.extract(self.accumulator, places)),
                target,
                take=lambda at: self._widened(tensor.extract(self.source, [*places, at])),
                join=self._joined,
                put=lambda new, at, into: tensor.insert(self._rounded(new), into, [*places, at]),
            )

        return nest(self.sizes[:-1], [self.output], row)[0]

    def planes(self) -> Any:
        """Along another dimension: plane by plane."""
        rest = [size for at, size in enumerate(self.sizes) if at != self.axis]
        identity = ir.AffineMap.get_identity(len(rest))

        def each(function: Callable[..., Any], element: Any, *planes: Any) -> Any:
            """A function of the elements of planes, which gives those of a type."""
            return parallel_generic(
                planes,
                tensor.empty(rest, element),
                [identity] * len(planes),
                lambda elements: function(*elements[:-1]),
            )

        def widened(plane: Any) -> Any:
            return each(self._widened, self.carried, plane) if self._is_wider else plane

        def put(new: Any, at: Any, into: Any) -> Any:
            plane = each(self._rounded, self._given, new) if self._is_wider else new
            return insert_slice(plane, into, *self._bounds(at))

        return self._along(
            widened(self.accumulator),
            self.output,
            take=lambda at: widened(self.plane(self.source, at)),
            join=lambda before, new: each(self._joined, self.carried, before, new),
            put=put,
        )[0]

    def plane(self, value: Any, at: Any) -> Any:
        """The plane of a tensor at a place of the dimension, which it does not have any more."""
        return extract_slice(value, *self._bounds(at), dropped=[self.axis])

    @property
    def _given(self) -> Any:
        """The type of the elements of the result."""
        return self.output.type.element_type

    @property
    def _is_wider(self) -> bool:
        """Return whether what is carried has another type than what is given."""
        return bool(self.carried != self._given)

    def _widened(self, element: Any) -> Any:
        return arith.extf(self.carried, element) if self._is_wider else element

    def _rounded(self, total: Any) -> Any:
        return arith.truncf(self._given, total) if self._is_wider else total

    def _joined(self, before: Any, new: Any) -> Any:
        """Combine an element with the carried one, in the type that is carried."""
        if not self._is_wider:
            return inlined(self.body, [before, new])[0]
        return _ROUNDING[self.body.operations[0].operation.name](before, new)

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
        begun = counted(0, arith.minsi(index(count), index(1)), [start, target], first)
        return counted(1, count, begun, step)[1:]


def _carried(body: Any, element: Any) -> Any:
    """The type in which elements are carried: a wider one where each step rounds."""
    first, *others = (each.operation for each in body.operations)
    if first.name not in _ROUNDING or len(others) != 1:
        return element
    if set(first.operands) != set(body.arguments) or others[0].operands[0] != first.results[0]:
        return element
    if element.width >= 32:
        return ir.F64Type.get() if element.width == 32 else element
    return ir.F32Type.get()
