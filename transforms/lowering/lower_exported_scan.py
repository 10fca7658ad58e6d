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

from collections.abc import Callable, Sequence
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
    source, output, accumulator = op.operands
    axis = ir.IntegerAttr(op.attributes["dimension"]).value
    is_inclusive = ir.BoolAttr(op.attributes["inclusive"]).value
    body = op.regions[0].blocks[0]
    sizes = [size_of(source, at) for at in range(source.type.rank)]
    scan = _rows if axis == source.type.rank - 1 else _planes
    result = scan(body, source, output, accumulator, axis, sizes, is_inclusive)
    if not any(True for _ in op.results[1].uses):
        return [result, accumulator]
    return [result, _plane(result, axis, index(sub(sizes[axis], 1)), sizes)]


def _rows(
    body: Any,
    source: Any,
    output: Any,
    accumulator: Any,
    axis: int,
    sizes: Sequence[Any],
    is_inclusive: bool,
) -> Any:
    """Along the last dimension: element by element, what is carried in a register."""

    def row(places: list[Any], carried: list[Any]) -> list[Any]:
        (target,) = carried
        start = tensor.extract(accumulator, places)
        return _along(
            sizes[axis],
            start,
            target,
            take=lambda at: tensor.extract(source, [*places, at]),
            join=lambda before, new: inlined(body, [before, new])[0],
            put=lambda new, at, into: tensor.insert(new, into, [*places, at]),
            is_inclusive=is_inclusive,
        )

    return nest(sizes[:-1], [output], row)[0]


def _planes(
    body: Any,
    source: Any,
    output: Any,
    accumulator: Any,
    axis: int,
    sizes: Sequence[Any],
    is_inclusive: bool,
) -> Any:
    """Along another dimension: plane by plane."""
    rest = [size for at, size in enumerate(sizes) if at != axis]
    identity = ir.AffineMap.get_identity(len(rest))

    def join(before: Any, new: Any) -> Any:
        made = empty_like(accumulator.type, rest)
        return parallel_generic(
            [before, new], made, [identity] * 2, lambda elements: inlined(body, elements[:2])[0]
        )

    return _along(
        sizes[axis],
        accumulator,
        output,
        take=lambda at: _plane(source, axis, at, sizes),
        join=join,
        put=lambda new, at, into: _with_plane(into, axis, at, sizes, new),
        is_inclusive=is_inclusive,
    )[0]


def _along(
    count: Any,
    start: Any,
    target: Any,
    *,
    take: Callable[[Any], Any],
    join: Callable[[Any, Any], Any],
    put: Callable[[Any, Any, Any], Any],
    is_inclusive: bool,
) -> list[Any]:
    """The target after the scan; what is taken, joined and put is an element or a plane."""

    def exclusive(at: Any, carried: list[Any]) -> list[Any]:
        before, into = carried
        return [join(before, take(at)), put(before, at, into)]

    if not is_inclusive:
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


def _plane(value: Any, axis: int, at: Any, sizes: Sequence[Any]) -> Any:
    """The plane of a tensor at a place of a dimension, which it does not have any more."""
    return extract_slice(value, *_bounds(axis, at, sizes), dropped=[axis])


def _with_plane(into: Any, axis: int, at: Any, sizes: Sequence[Any], plane: Any) -> Any:
    return insert_slice(plane, into, *_bounds(axis, at, sizes))


def _bounds(axis: int, at: Any, sizes: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The offsets and the sizes of a plane."""
    offsets: list[Any] = [0] * len(sizes)
    offsets[axis] = at
    return offsets, [1 if dim == axis else size for dim, size in enumerate(sizes)]
