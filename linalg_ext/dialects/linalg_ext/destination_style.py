"""Ops of the dialect `linalg_ext` that say where elements go: concatenate, gather, scan, sort."""

# No `from __future__ import annotations`: the bindings read the annotations of these classes.

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import arith, ext, ir
from linalg_ext.dialects.linalg_ext.dialect import (
    LinalgExt,
    Outs,
    destination,
    is_verified,
    listed,
    tensors,
)
from linalg_ext.errors import ArgumentError, ArityError, DTypeError, ShapeError
from linalg_ext.structured.constants import is_float, is_integer
from linalg_ext.structured.destination_ops import MOST_INPUTS as MOST_CONCATENATED
from linalg_ext.structured.destination_ops import MOST_SCANNED as MOST_SCANNED
from linalg_ext.structured.destination_ops import MOST_SORTED as MOST_SORTED
from linalg_ext.structured.destination_ops import (
    Body,
    build_op,
    build_scan,
    build_scatter,
    check_destination_style_op,
)
from linalg_ext.structured.extension import LETTERS, SEGMENTS, segments
from linalg_ext.structured.operands import static_sizes
from linalg_ext.structured.outputs import empty_tensor
from linalg_ext.structured.sizes import sizes_of
from linalg_ext.symbolic.integers import Number, total


class _DestinationStyleOp(LinalgExt.Operation, traits=[ext.Pure]):
    """An op that keeps the rules of `linalg_ext.structured.destination_ops`."""

    def verify_invariants(self) -> bool:
        """Return whether the op keeps its rules."""
        return is_verified(self, check_destination_style_op)


class ConcatenateOp(_DestinationStyleOp, name="concatenate"):
    """Tensors one after another along a dimension; each input is an optional operand."""

    __annotations__ = dict.fromkeys(LETTERS, ext.Operand[Any] | None)
    vars().update(dict.fromkeys(LETTERS))
    __annotations__.update({"init": ext.Operand[Any], "result": ext.Result[Any]})
    init = ext.operand(kw_only=True)
    result = ext.result(kw_only=True)


class _MovingOp(_DestinationStyleOp):
    operand: ext.Operand[Any]
    init: ext.Operand[Any]
    result: ext.Result[Any] = ext.result(kw_only=True)


class ReverseOp(_MovingOp, name="reverse"):
    """A tensor with some dimensions backwards."""


class DynamicBroadcastInDimOp(_MovingOp, name="dynamic_broadcast_in_dim"):
    """A tensor repeated along dimensions, which of them the run tells."""


def concatenate(
    *inputs: ir.Value | ir.OpView, dimension: int = 0, outs: Outs | None = None
) -> ir.Value:
    """Build `linalg_ext.concatenate` at the current insertion point.

        >>> concatenate(a, b, dimension=1)

    Args:
        inputs: tensors of one element type and, but for `dimension`, of one shape; 25 at most.
        dimension: along which they follow each other; from the last one back where negative.
        outs: the destination; where it is left out, a new tensor.

    Raises:
        ArgumentError: they do not fit together; names operands and sizes.
    """
    values = tensors("concatenate", inputs)
    if not 1 <= len(values) <= MOST_CONCATENATED:
        raise ArityError(
            f"concatenate of {len(values)} tensors",
            expected=f"1 to {MOST_CONCATENATED}",
            hint="concatenate some of them first" if values else None,
        )
    rank = ir.ShapedType(values[0].type).rank
    along = dimension + rank if dimension < 0 else dimension
    if outs is None:
        if not 0 <= along < rank or any(ir.ShapedType(v.type).rank != rank for v in values):
            shown = ", ".join(str(value.type) for value in values)
            raise ShapeError(
                f"concatenate: dimension {dimension} of {shown}",
                expected="a dimension of tensors of one rank",
            )
        init = _concatenated(values, along)
    else:
        init = destination("concatenate", outs)
    attributes = {"dimension": _integer(along), SEGMENTS: segments(len(values))}
    return build_op("linalg_ext.concatenate", [*values, init], [init], attributes)[0]


def _concatenated(values: Sequence[ir.Value], along: int) -> ir.Value:
    """An empty tensor of the concatenated shape; sizes are static where an input's are."""
    shape: list[Number] = []
    for dim, sizes in enumerate(zip(*map(sizes_of, values), strict=True)):
        size = next((size for size in sizes if isinstance(size, int)), sizes[0])
        shape.append(total(sizes) if dim == along else size)
    return empty_tensor(shape, ir.ShapedType(values[0].type).element_type)


def reverse(
    operand: ir.Value | ir.OpView, *, dimensions: Sequence[int] | int, outs: Outs | None = None
) -> ir.Value:
    """Build `linalg_ext.reverse` at the current insertion point.

        >>> reverse(a, dimensions=[0, 1])

    Args:
        operand: a tensor.
        dimensions: those that run backwards.
        outs: the destination; where it is left out, a new tensor.

    Raises:
        ArgumentError: a dimension is not there, or is named twice.
    """
    (value,) = tensors("reverse", [operand])
    type_ = ir.ShapedType(value.type)
    init = (
        empty_tensor(sizes_of(value), type_.element_type)
        if outs is None
        else destination("reverse", outs)
    )
    listed = [dimensions] if isinstance(dimensions, int) else list(dimensions)
    dims = [dim + type_.rank if dim < 0 else dim for dim in listed]
    return build_op("linalg_ext.reverse", [value, init], [init], {"dimensions": _integers(dims)})[0]


def dynamic_broadcast_in_dim(
    operand: ir.Value | ir.OpView,
    outs: Outs,
    *,
    broadcast_dimensions: Sequence[int],
    known_expanding: Sequence[int] = (),
    known_nonexpanding: Sequence[int] = (),
) -> ir.Value:
    """Build `linalg_ext.dynamic_broadcast_in_dim` at the current insertion point.

        >>> dynamic_broadcast_in_dim(a, init, broadcast_dimensions=[0, 2])

    Args:
        operand: a tensor.
        outs: the destination, which tells the shape.
        broadcast_dimensions: for each dimension of the operand the one of the result.
        known_expanding: dimensions of the operand of size 1, whatever that of the result is.
        known_nonexpanding: dimensions of the operand of the size that the result has.

    Raises:
        ArgumentError: they do not fit together; names dimensions and sizes.
    """
    (value,) = tensors("dynamic_broadcast_in_dim", [operand])
    init = destination("dynamic_broadcast_in_dim", outs)
    attributes = {"broadcast_dimensions": _integers(broadcast_dimensions)}
    if known_expanding:
        attributes["known_expanding"] = _integers(known_expanding)
    if known_nonexpanding:
        attributes["known_nonexpanding"] = _integers(known_nonexpanding)
    return build_op("linalg_ext.dynamic_broadcast_in_dim", [value, init], [init], attributes)[0]


def _integer(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def _integers(values: Sequence[int]) -> ir.Attribute:
    dims = list(values)
    if not all(isinstance(value, int) for value in dims):
        raise ArgumentError(f"dimensions {dims}", expected="integers")
    return ir.DenseI64ArrayAttr.get(dims)


class GatherOp(_DestinationStyleOp, name="gather"):
    """Windows of a tensor, at places that indices name."""

    operand: ext.Operand[Any]
    indices: ext.Operand[Any]
    init: ext.Operand[Any]
    result: ext.Result[Any] = ext.result(kw_only=True)


class ScatterOp(_DestinationStyleOp, name="scatter"):
    """Windows combined into a tensor, at places that indices name."""

    indices: ext.Operand[Any]
    updates: ext.Operand[Any]
    init: ext.Operand[Any]
    result: ext.Result[Any] = ext.result(kw_only=True)
    combiner: ext.Region


def gather(
    operand: ir.Value | ir.OpView, indices: ir.Value | ir.OpView, *, outs: Outs | None = None
) -> ir.Value:
    """Build `linalg_ext.gather` at the current insertion point.

        >>> gather(table, indices)      # table[indices[r, 0], ..., indices[r, k - 1], ...]

    Args:
        operand: the tensor or memref that is read.
        indices: n x k integers: a row for each window, a column for each of the first k dimensions
            of the operand. One out of range is moved to the nearest in range.
        outs: the destination, which tells the sizes of the windows; where it is left out, a new
            tensor of n x the sizes of the dimensions that are not indexed.

    Raises:
        ArgumentError: they do not fit together; names operands and sizes.
    """
    value, rows = tensors("gather", [operand, indices])
    if outs is not None:
        init = destination("gather", outs)
    else:
        sizes = static_sizes(rows)
        if len(sizes) != 2 or sizes[1] is None:
            raise ShapeError(
                f"gather: indices is of type {rows.type}",
                expected="a row for each window, and a static number of columns",
            )
        shape = [sizes_of(rows)[0], *sizes_of(value)[sizes[1] :]]
        init = empty_tensor(shape, ir.ShapedType(value.type).element_type)
    return build_op("linalg_ext.gather", [value, rows, init], [init], {})[0]


def scatter(
    indices: ir.Value | ir.OpView,
    updates: ir.Value | ir.OpView,
    outs: Outs,
    *,
    combine: Body | None = None,
) -> ir.Value:
    """Build `linalg_ext.scatter` at the current insertion point.

        >>> scatter(indices, updates, table, combine=arith.addf)

    Args:
        indices: n x k integers: a row for each window, a column for each of the first k dimensions
            of the destination. A window that does not lie inside is left out whole.
        updates: n windows.
        outs: the destination.
        combine: builds the written element from the new one and the old one; where it is left out,
            the new one is.

    Raises:
        ArgumentError: they do not fit together; names operands and sizes.
    """
    rows, windows = tensors("scatter", [indices, updates])
    init = destination("scatter", outs)
    return build_scatter(rows, windows, init, combine)


_SCANNED = LETTERS[:MOST_SCANNED]


class ScanOp(_DestinationStyleOp, name="scan"):
    """Tensors gone through along a dimension with a value that is carried on.

    Each input is an optional operand: those of one variadic group would all be of one type.
    """

    __annotations__ = {
        **dict.fromkeys(_SCANNED, ext.Operand[Any] | None),
        **dict.fromkeys(("init", "initial"), ext.Operand[Any] | None),
        **dict.fromkeys(("result", "last"), ext.Result[Any] | None),
        "body": ext.Region,
    }
    vars().update(dict.fromkeys((*_SCANNED, "init", "initial")))
    result = ext.result(kw_only=True, default_factory=None)
    last = ext.result(kw_only=True, default_factory=None)


def scan(
    *inputs: ir.Value | ir.OpView,
    combine: Body,
    dimension: int = -1,
    initial: ir.Value | ir.OpView | None = None,
    inclusive: bool = True,
    reverse: bool = False,
    outs: Outs | None = None,
) -> list[ir.Value]:
    """Build `linalg_ext.scan` at the current insertion point.

        >>> (sums,) = scan(x, combine=lambda so_far, new: arith.addf(so_far, new))
        >>> states, last = scan(a, x, initial=h, combine=lambda h, a, x: addf(mulf(a, h), x))

    Args:
        inputs: tensors of one shape, 8 at most.
        combine: builds the next carried value from the carried value and an element of each input.
        dimension: along which it runs; from the last one back where negative.
        initial: a tensor without the dimension: the value that is carried first. Where it is left
            out, the one input gives its first element as it is.
        inclusive: whether an element counts for its own place.
        reverse: whether it runs from the last index to the first.
        outs: the destination, of elements that are carried or of a narrower float; where it is
            left out, a new tensor.

    Returns:
        The result, and with `initial` the value that is carried at last.

    Raises:
        ArgumentError: they do not fit together; names operands and types.
    """
    values = tensors("scan", inputs)
    if not 1 <= len(values) <= MOST_SCANNED:
        raise ArityError(f"scan of {len(values)} tensors", expected=f"1 to {MOST_SCANNED}")
    initials = [] if initial is None else tensors("scan", [initial])
    carried = ir.ShapedType((initials or values)[0].type).element_type
    init = empty_tensor(sizes_of(values[0]), carried) if outs is None else destination("scan", outs)
    rank = ir.ShapedType(values[0].type).rank
    along = dimension + rank if dimension < 0 else dimension
    start = initials[0] if initials else None
    return build_scan(
        values, init, start, combine, dimension=along, inclusive=inclusive, reverse=reverse
    )


_SORTED = LETTERS[:MOST_SORTED]


class SortOp(_DestinationStyleOp, name="sort"):
    """Tensors put in order along a dimension, all by one comparator.

    Each input, destination and result is optional: those of one variadic group would all have to be
    of one type.
    """

    __annotations__ = {
        **dict.fromkeys(_SORTED, ext.Operand[Any] | None),
        **dict.fromkeys((f"init_{letter}" for letter in _SORTED), ext.Operand[Any] | None),
        **dict.fromkeys((f"result_{letter}" for letter in _SORTED), ext.Result[Any] | None),
        "comparator": ext.Region,
    }
    vars().update(dict.fromkeys((*_SORTED, *(f"init_{letter}" for letter in _SORTED))))
    vars().update(
        {f"result_{letter}": ext.result(kw_only=True, default_factory=None) for letter in _SORTED}
    )


def sort(
    *inputs: ir.Value | ir.OpView,
    dimension: int = -1,
    comparator: Body | None = None,
    is_stable: bool = True,
    outs: Outs | None = None,
) -> list[ir.Value]:
    """Build `linalg_ext.sort` at the current insertion point.

        >>> keys, values = sort(keys, values)
        >>> (descending,) = sort(x, comparator=lambda a, b: arith.cmpf(OGT, a, b))

    Args:
        inputs: tensors of one shape, 8 at most: the keys, and the tensors that are moved along.
        dimension: along which they are sorted; from the last one back where negative.
        comparator: builds, from two elements (a, b) of each input in turn, whether a comes before
            b; where it is left out, the first input ascends: floats with NaN last, integers as
            signed ones.
        is_stable: whether equal ones must keep their order.
        outs: a destination for each input; where they are left out, new tensors.

    Returns:
        The sorted tensors, one for each input.

    Raises:
        ArgumentError: they do not fit together; names operands and types.
    """
    values = tensors("sort", inputs)
    if not 1 <= len(values) <= MOST_SORTED:
        raise ArityError(f"sort of {len(values)} tensors", expected=f"1 to {MOST_SORTED}")
    if outs is None:
        inits = [empty_tensor(sizes_of(v), ir.ShapedType(v.type).element_type) for v in values]
    else:
        inits = tensors("sort", listed(outs))
    elements = [ir.ShapedType(value.type).element_type for value in values]
    rank = ir.ShapedType(values[0].type).rank
    along = dimension + rank if dimension < 0 else dimension
    attributes: dict[str, ir.Attribute] = {
        "dimension": _integer(along),
        "is_stable": ir.BoolAttr.get(is_stable),
        SEGMENTS: ir.DenseI32ArrayAttr.get([*_counts(len(values)), *_counts(len(inits))]),
        "resultSegmentSizes": ir.DenseI32ArrayAttr.get(_counts(len(inits))),
    }
    body = comparator or _ascending(elements[0])
    types = [element for element in elements for _ in range(2)]
    return build_op(
        "linalg_ext.sort", [*values, *inits], inits, attributes, (body, types), regions=1
    )


def _counts(count: int) -> list[int]:
    if count > MOST_SORTED:
        raise ArityError(f"sort has {count} destinations", expected=f"{MOST_SORTED} at most")
    return [1] * count + [0] * (MOST_SORTED - count)


def _ascending(element: ir.Type) -> Body:
    if not is_float(element) and not is_integer(element):
        raise DTypeError(
            f"sort: elements of type {element} have no order of their own",
            hint="give comparator=, which builds whether a comes before b",
        )

    def before(a: ir.Value, b: ir.Value, *_: ir.Value) -> ir.Value:
        if is_integer(element):
            return _value(arith.cmpi(arith.CmpIPredicate.slt, a, b))
        # Anything comes before NaN, but NaN itself.
        is_less = arith.cmpf(arith.CmpFPredicate.ULT, a, b)
        is_number = arith.cmpf(arith.CmpFPredicate.ORD, a, a)
        return _value(arith.andi(is_less, is_number))

    return before


def _value(built: Any) -> ir.Value:
    result: ir.Value = built
    return result
