"""Lower `linalg_ext.scan` to loops that carry an element, or a plane of them.

before:
    %r, %last = "linalg_ext.scan"(%x, %y, %t) ({
    ^bb0(%sum: f32, %new: f32):
      %s = arith.addf %sum, %new : f32
      "linalg_ext.yield"(%s) : (f32) -> ()
    }) {dimension = 1 : i64, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0, 0, 0, 0, 1, 1>,
        resultSegmentSizes = array<i32: 1, 1>}
        : (tensor<4x9xf32>, tensor<4x9xf32>, tensor<4xf32>) -> (tensor<4x9xf32>, tensor<4xf32>)
after:
    %r = scf.for %m = %c0 to %c4 step %c1 iter_args(%all = %y) -> (tensor<4x9xf32>) {
      %start = tensor.extract %t[%m] : tensor<4xf32>
      %rest:2 = scf.for %n = %c0 to %c9 step %c1 iter_args(%sum = %start, %row = %all)
          -> (f32, tensor<4x9xf32>) {
        %a = tensor.extract %x[%m, %n] : tensor<4x9xf32>
        %s = arith.addf %sum, %a : f32
        %next = tensor.insert %s into %row[%m, %n] : tensor<4x9xf32>
        scf.yield %s, %next : f32, tensor<4x9xf32>
      }
      scf.yield %rest#1 : tensor<4x9xf32>
    }

Along another dimension than the last one, a step is made for a whole plane at a time: a
`linalg.generic` on slices, whose elements lie side by side. Sums of floats that are carried in
their own type are carried with their rounding error, as `codegen/base/blocked_sums.py` says; loops
over rows are the vectorizer's, which does so itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from linalg_ext.bindings import arith, complex, ir, tensor
from linalg_ext.structured.constants import index
from linalg_ext.structured.destination_ops import Scan
from linalg_ext.structured.loops import counted, nest_over
from linalg_ext.transforms.codegen.base.blocked_sums import (
    ADDITIONS,
    add_compensated,
    is_added_in_blocks,
    negative_zero,
)
from linalg_ext.transforms.ir_utils.arithmetic import constant
from linalg_ext.transforms.ir_utils.tensor_loops import (
    Demands,
    elementwise,
    extract_slice,
    inlined,
    insert_slice,
    size_of,
    sizes_of,
    sub,
)
from linalg_ext.transforms.ir_utils.walking import is_unused, lowering_pass

NAME = "linalg-ext-lower-scan"

_OP = "linalg_ext.scan"


@lowering_pass(NAME, _OP)
def lower_scan(op: Any) -> list[Any]:
    """Lower linalg_ext.scan to loops that carry an element, or a plane of them."""
    scan: Any = Scan.of(op)
    sizes = sizes_of(scan.inputs[0])
    demands = Demands(f"{_OP}: the inputs, the destination or the initial value are of other sizes")
    for value in (*scan.inputs[1:], scan.init):
        for axis, size in enumerate(sizes):
            demands.equal(size_of(value, axis), size)
    if scan.initial is not None:
        rest = [size for axis, size in enumerate(sizes) if axis != scan.dimension]
        for axis, size in enumerate(rest):
            demands.equal(size_of(scan.initial, axis), size)
    demands.emit()
    if 0 in sizes:
        return [scan.init, scan.initial][: len(op.results)]
    is_wanted = len(op.results) > 1 and not is_unused(op.results[1])
    kind = _Rows if scan.dimension == len(sizes) - 1 else _Planes
    result, last = kind(scan, sizes).results(is_wanted)
    return [result, last or scan.initial][: len(op.results)]


class _Steps:
    """The steps of a scan along its dimension; a subclass says which values are carried.

    Attributes:
        scan: the op.
        sizes: of its inputs: numbers, or values that are known when it runs.
        element, carried: the types of the elements that are written, and that are carried.
    """

    def __init__(self, scan: Scan, sizes: Sequence[Any]) -> None:
        self.scan, self.sizes = scan, list(sizes)
        self.element: Any = ir.ShapedType(scan.init.type).element_type
        self.carried: Any = scan.carried

    def along(
        self,
        start: list[Any],
        target: Any,
        *,
        take: Callable[[Any], list[Any]],
        join: Callable[[list[Any], list[Any]], list[Any]],
        put: Callable[[Any, Any, Any], Any],
    ) -> list[Any]:
        """Return the value that is carried at last, and the target.

        Args:
            start: the value that is carried first; where the scan has no initial value, anything
                like it.
            target: the tensor that is written.
            take: gives the elements, or planes, at a position.
            join: gives the value that is carried on; its first value is the one that is written.
            put: writes a value at a position of a target, and gives that.
        """
        count = self.sizes[self.scan.dimension]

        def position_of(step: Any) -> Any:
            if not self.scan.is_reverse:
                return step
            return arith.subi(index(sub(count, 1)), step)

        def step(number: Any, carried: list[Any]) -> list[Any]:
            *values, into = carried
            position = position_of(number)
            if not self.scan.is_inclusive:
                into = put(values[0], position, into)
            values = join(values, take(position))
            if self.scan.is_inclusive:
                into = put(values[0], position, into)
            return [*values, into]

        def first(number: Any, carried: list[Any]) -> list[Any]:
            position = position_of(number)
            (new,) = take(position)
            return [new, *carried[1:-1], put(new, position, carried[-1])]

        if self.scan.initial is not None:
            return counted(0, count, [*start, target], step)
        # A loop of one step, for there may be no element at all.
        begun = counted(0, arith.minsi(index(count), index(1)), [*start, target], first)
        return counted(1, count, begun, step)

    def joined(self, before: Any, new: Sequence[Any]) -> Any:
        """Combine the carried element with new ones."""
        return inlined(self.scan.body, [before, *new])[0]

    def rounded(self, total: Any) -> Any:
        """Return a carried element as it is written."""
        return total if self.carried == self.element else arith.truncf(self.element, total)

    def anything(self) -> Any:
        """Return an element to begin with that nothing depends on."""
        if isinstance(self.carried, ir.ComplexType):
            part = constant(self.carried.element_type, 0)
            return complex.CreateOp(self.carried, part, part).result
        return constant(self.carried, 0)


class _Rows(_Steps):
    """Along the last dimension: element by element, the carried value in a register."""

    def results(self, is_wanted: bool) -> list[Any]:
        """Return the result, and on request the last carried value."""
        scan = self.scan

        def row(indices: list[Any], carried: list[Any]) -> list[Any]:
            target, *last = carried
            start = (
                self.anything() if scan.initial is None else tensor.extract(scan.initial, indices)
            )
            total, target = self.along(
                [start],
                target,
                take=lambda position: [
                    tensor.extract(source, [*indices, position]) for source in scan.inputs
                ],
                join=lambda before, new: [self.joined(before[0], new)],
                put=lambda new, position, into: tensor.insert(
                    self.rounded(new), into, [*indices, position]
                ),
            )
            return [target, *(tensor.insert(total, totals, indices) for totals in last)]

        carried = [scan.init, *([scan.initial] if is_wanted else [])]
        target, *last = nest_over(self.sizes[:-1], carried, row)
        return [target, last[0] if last else None]


class _Planes(_Steps):
    """Along another dimension: plane by plane."""

    def results(self, is_wanted: bool) -> list[Any]:
        """Return the result, and the value that is carried at last."""
        scan, carried = self.scan, self.carried
        rest = [size for axis, size in enumerate(self.sizes) if axis != scan.dimension]
        added = self._added()

        def join(before: list[Any], new: list[Any]) -> list[Any]:
            def step(*elements: Any) -> Sequence[Any]:
                new_elements, total, *error = elements[: len(new)], *elements[len(new) :]
                if added is not None:
                    return add_compensated(total, error[0], new_elements[added])
                return [self.joined(total, new_elements)]

            return list(elementwise(new, before, step).results)

        def put(new: Any, position: Any, into: Any) -> Any:
            if carried != self.element:
                narrow = [tensor.empty(rest, self.element)]
                new = elementwise([new], narrow, lambda old, _: [self.rounded(old)]).results[0]
            return insert_slice(new, into, *self._bounds(position))

        start = [tensor.empty(rest, carried) if scan.initial is None else scan.initial]
        if added is not None:
            errors = [tensor.empty(rest, carried)]
            start += elementwise([], errors, lambda _: [negative_zero(carried)]).results
        total, *_, target = self.along(start, scan.init, take=self._planes, join=join, put=put)
        return [target, total]

    def _added(self) -> int | None:
        """Return the input that is added to the carried value, each step rounding; None if absent.

        Floats that were widened before they are added are exact enough.
        """
        before, *new = list[Any](self.scan.body.arguments)
        ops = [op.operation for op in self.scan.body.operations]
        if not is_added_in_blocks(self.carried) or len(ops) != 2 or ops[0].name not in ADDITIONS:
            return None
        numbers = [new.index(operand) for operand in ops[0].operands if operand in new]
        return numbers[0] if before in list(ops[0].operands) and len(numbers) == 1 else None

    def _planes(self, position: Any) -> list[Any]:
        """Return the planes of the inputs at a position of the dimension, which they drop."""
        bounds = self._bounds(position)
        return [
            extract_slice(value, *bounds, dropped=[self.scan.dimension])
            for value in self.scan.inputs
        ]

    def _bounds(self, position: Any) -> tuple[list[Any], list[Any]]:
        offsets: list[Any] = [0] * len(self.sizes)
        offsets[self.scan.dimension] = position
        sizes = [1 if dim == self.scan.dimension else size for dim, size in enumerate(self.sizes)]
        return offsets, sizes
