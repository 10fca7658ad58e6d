"""Ops of our own dialect that say where elements go: concatenate, gather, scan, sort, ...

Each has a frozen view of its operands and attributes, whose `of` checks its rules. A broken rule of
an op is an ArgumentError.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.definition.functions import TYPE, Function
from linalg_ext.errors import ArgumentError, ArityError, DTypeError, ShapeError, counted
from linalg_ext.ir.context import ensure_dialects
from linalg_ext.notations.einsum.definitions import Semiring
from linalg_ext.structured.constants import is_float, is_integer
from linalg_ext.structured.extension import (
    CAST,
    CONTRACT,
    KIND,
    LETTERS,
    MAPS,
    OVERWRITE,
    SEGMENTS,
    integers,
    segments,
)
from linalg_ext.structured.maps import maps_attribute
from linalg_ext.structured.operands import (
    as_values,
    differ,
    erased_on_error,
    grouped,
    shapes_differ,
    static_sizes,
)
from linalg_ext.symbolic.affine import AffineDim, AffineMap

YIELD = "linalg_ext.yield"


def segments_of(op: ir.Operation, slots: Sequence[int]) -> list[list[ir.Value]]:
    """The operands of an op by the groups of its slots: `(25, 1)` is 25 inputs and a destination.

    Raises:
        ArgumentError: the attribute that counts them is missing or wrong.
    """
    counts = op.attributes.get(SEGMENTS)
    if not isinstance(counts, ir.DenseI32ArrayAttr):
        raise ArgumentError(f"{SEGMENTS} is missing", expected=f"{sum(slots)} numbers, each 0 or 1")
    flags = list(counts)
    if len(flags) != sum(slots) or any(count not in (0, 1) for count in flags):
        raise ArgumentError(
            f"{SEGMENTS} = {flags}", expected=f"{sum(slots)} numbers, each of them 0 or 1"
        )
    if sum(flags) != len(op.operands):
        raise ArityError(
            f"{SEGMENTS} counts {sum(flags)} operands, but there are {len(op.operands)}"
        )
    counted = iter(flags)
    return grouped(list(op.operands), [sum(itertools.islice(counted, slot)) for slot in slots])


def ranked_tensor(value: ir.Value, name: str) -> ir.RankedTensorType:
    """The type of an operand, which must be a ranked tensor."""
    if not isinstance(value.type, ir.RankedTensorType):
        raise ArgumentError(f"{name} is of type {value.type}", expected="a ranked tensor")
    return value.type


def check_results(op: ir.Operation, destinations: Sequence[ir.Value]) -> None:
    """Each result is of the type of its destination."""
    if len(op.results) != len(destinations):
        raise ArityError(
            f"{op.name} gives {counted(len(op.results), 'result')} for "
            f"{counted(len(destinations), 'destination')}"
        )
    for result, destination in zip(op.results, destinations, strict=True):
        if result.type != destination.type:
            raise ArgumentError(
                f"{op.name} gives {result.type}",
                expected=f"the type of its destination: {destination.type}",
            )


def check_elements(value: ir.Value, name: str, destination: ir.Value) -> None:
    """An operand has the element type of the destination."""
    element, expected = (ir.ShapedType(v.type).element_type for v in (value, destination))
    if element != expected:
        raise DTypeError(
            f"{name} has elements of type {element}, the destination of type {expected}",
            expected="the same element type",
        )


def check_same_shape(value: ir.Value, name: str, other: ir.Value, other_name: str) -> None:
    """Two operands have one shape, by their types."""
    if shapes_differ(static_sizes(value), static_sizes(other)):
        raise ShapeError(
            f"{name} is of type {value.type}, {other_name} of type {other.type}",
            expected="the same shape",
        )


def dimension_of(op: ir.Operation, rank: int) -> int:
    """The attribute `dimension`, from 0 to the rank."""
    attribute = op.attributes.get("dimension")
    if attribute is None:
        raise ArgumentError("dimension is missing", expected="dimension = 0 : i64, or another")
    if not isinstance(attribute, ir.IntegerAttr):
        raise ArgumentError(f"dimension = {attribute}", expected="an integer")
    dimension = attribute.value
    if not 0 <= dimension < rank:
        raise ShapeError(
            f"dimension = {dimension}", expected=f"a dimension of a tensor of rank {rank}"
        )
    return dimension


def dimensions_of(
    op: ir.Operation, name: str, rank: int, *, required: bool = True
) -> tuple[int, ...]:
    """A list of dimensions among the attributes: from 0 to the rank, none twice.

    Where it is missing and need not be there, it is empty.
    """
    if name not in op.attributes:
        if not required:
            return ()
        raise ArgumentError(f"{name} is missing", expected=f"{name} = array<i64: 0>, or others")
    dimensions = integers(op.attributes[name], name)
    for dimension in dimensions:
        if not 0 <= dimension < rank:
            raise ShapeError(
                f"{name} = {list(dimensions)} names dimension {dimension}",
                expected=f"dimensions of a tensor of rank {rank}",
            )
    if len(set(dimensions)) != len(dimensions):
        raise ArgumentError(f"{name} = {list(dimensions)} names a dimension twice")
    return dimensions


def flag_of(op: ir.Operation, name: str, *, default: bool = False) -> bool:
    """A truth among the attributes: a boolean, or its bare name for true."""
    if name not in op.attributes:
        return default
    attribute = op.attributes[name]
    if isinstance(attribute, ir.UnitAttr):
        return True
    if not isinstance(attribute, ir.BoolAttr):
        raise ArgumentError(f"{name} = {attribute}", expected="true or false")
    return bool(attribute.value)


def body_of(op: ir.Operation) -> ir.Block | None:
    """The block of the one region of an op; None where the region is empty."""
    blocks: Sequence[Any] = list(op.regions[0].blocks)
    if len(blocks) > 1:
        raise ArgumentError(f"the region of {op.name} has {len(blocks)} blocks", expected="one")
    return blocks[0] if blocks else None


def check_body(
    block: ir.Block, arguments: Sequence[ir.Type], result: ir.Type, subject: str
) -> None:
    """A region of an op takes scalars of these types and yields one of that type.

    Args:
        subject: the name of the region in errors, and the meaning of its arguments.
    """
    argument_types = [argument.type for argument in block.arguments]
    if argument_types != list(arguments):
        raise ArgumentError(
            f"{subject} takes ({listed(argument_types)})",
            expected=f"arguments ({listed(arguments)})",
        )
    last = list(block.operations)[-1].operation if len(list(block.operations)) else None
    if last is None or last.name != YIELD:
        raise ArgumentError(f"{subject} ends without {YIELD}", expected=f"{YIELD} of one {result}")
    yielded = [value.type for value in last.operands]
    if yielded != [result]:
        raise ArgumentError(f"{subject} yields ({listed(yielded)})", expected=f"one {result}")


def listed(types: Sequence[ir.Type]) -> str:
    """`tensor<4xf32>, index`."""
    return ", ".join(map(str, types))


@dataclass(frozen=True)
class Windows:
    """Windows of a tensor that rows of indices place: gather reads them, scatter writes them.

    `indices` is n x k: row r places a window in the first k dimensions of a whole of rank d; it
    begins at 0 in the others. The windows stand one behind another in a tensor of n x sizes:

        n x w0 x ... x w(d-1)    windows of any sizes: one is whole[i0 : i0 + w0, ..., 0 : wk, ...]
        n x wk x ... x w(d-1)    windows of size 1 along indexed dimensions, without these

    Attributes:
        indices: n x k integers.
        index_count: k, the number of leading dimensions of the tensor that are indexed.
        dims: for each dimension of the tensor, the dimension of the stacked windows that runs along
            it; None where the windows have size 1 and lack the dimension.
    """

    indices: ir.Value
    index_count: int
    dims: tuple[int | None, ...]


def windows_of(
    indices: ir.Value, whole: ir.Value, stacked: ir.Value, names: tuple[str, str]
) -> Windows:
    """Read how windows stand in a whole.

    Args:
        indices: n x k integers.
        whole: the tensor that the windows are part of.
        names: the names of these two in errors.

    Raises:
        ArgumentError: they do not fit together.
    """
    type_ = ranked_tensor(indices, "indices")
    if type_.rank != 2:
        raise ShapeError(
            f"indices is of type {type_}",
            expected="rank 2: a row for each window, a column for each indexed dimension",
        )
    if not is_integer(type_.element_type):
        raise DTypeError(f"indices is of type {type_}", expected="elements of type index, i64, ...")
    rows, count = static_sizes(indices)
    rank = ranked_tensor(whole, names[0]).rank
    if count is None:
        raise ShapeError(
            f"indices is of type {type_}: how many dimensions it indexes is not known",
            expected="a static second dimension",
        )
    if count > rank:
        raise ShapeError(
            f"indices has {count} columns",
            expected=f"{rank} at most: {names[0]} is of type {whole.type}",
        )
    stacked_rank = ranked_tensor(stacked, names[1]).rank
    if stacked_rank not in (1 + rank, 1 + rank - count):
        raise ShapeError(
            f"{names[1]} is of rank {stacked_rank}: {stacked.type}",
            expected=f"rank {1 + rank - count}, or {1 + rank} with the indexed dimensions kept",
        )
    if differ(rows, static_sizes(stacked)[0]):
        raise ShapeError(
            f"indices has {rows} rows, {names[1]} has {static_sizes(stacked)[0]} windows",
            expected="a row for each window",
        )
    is_whole = stacked_rank == 1 + rank
    dims = tuple(
        1 + dim if is_whole else (1 + dim - count if dim >= count else None) for dim in range(rank)
    )
    return Windows(indices, count, dims)


MOST_INPUTS = len(LETTERS)


@dataclass(frozen=True)
class Concatenate:
    """`linalg_ext.concatenate`: tensors one after another along a dimension.

        result[..., offset(k) + i, ...] = input_k[..., i, ...],    offset(k) = the sizes before k,
        added

    Inputs of size 0 add nothing. All inputs have the shape of the destination but for `dimension`,
    where their sizes add up to its size. Sizes that are dynamic are checked when the program runs.

    Attributes:
        inputs: the operands in order, `MOST_INPUTS` at most.
        init: the destination.
        dimension: the dimension along which the inputs follow each other.
    """

    inputs: tuple[ir.Value, ...]
    init: ir.Value
    dimension: int

    @classmethod
    def of(cls, op: ir.Operation) -> Concatenate:
        """Read an op; an ArgumentError where it breaks a rule."""
        inputs, inits = segments_of(op, (MOST_INPUTS, 1))
        if not inputs or not inits:
            raise ArityError("concatenate of nothing", expected="inputs, and a destination")
        (init,) = inits
        rank = ranked_tensor(init, "the destination").rank
        dimension = dimension_of(op, rank)
        for number, value in enumerate(inputs):
            name = f"input {number}"
            if ranked_tensor(value, name).rank != rank:
                raise ShapeError(
                    f"{name} is of type {value.type}", expected=f"rank {rank}, as of {init.type}"
                )
            check_elements(value, name, init)
        _check_sizes(inputs, init, dimension)
        check_results(op, inits)
        return cls(tuple(inputs), init, dimension)


def _check_sizes(inputs: list[ir.Value], init: ir.Value, dimension: int) -> None:
    init_sizes = static_sizes(init)
    expected_sizes: list[tuple[int | None, str]] = [
        (size, "the destination") for size in init_sizes
    ]
    total: int | None = 0
    at_least = 0
    for number, value in enumerate(inputs):
        for axis, size in enumerate(static_sizes(value)):
            if axis == dimension:
                total = None if size is None or total is None else total + size
                at_least += size or 0
                continue
            other, whose = expected_sizes[axis]
            if differ(size, other):
                raise ShapeError(
                    f"input {number} has size {size} in dimension {axis}, {whose} has {other}",
                    expected=f"equal sizes but in dimension {dimension}",
                )
            if other is None:
                expected_sizes[axis] = size, f"input {number}"
    size = init_sizes[dimension]
    if size is not None and (differ(total, size) or at_least > size):
        total_text = total if total is not None else f"{at_least} or more"
        raise ShapeError(
            f"the inputs have size {total_text} together in dimension {dimension}, "
            f"the destination has {size}",
            expected="sizes that add up",
        )


Labels = tuple[str, ...]


def build_contract_op(
    inputs: Sequence[ir.Value],
    destination: ir.Value,
    labels: Sequence[Labels],
    dims: Sequence[str],
    *,
    kind: Semiring,
    cast: Function = TYPE["cast_signed"],
    overwrite: bool = False,
    attributes: Mapping[str, ir.Attribute] | None = None,
) -> ir.Operation:
    """Build the op at the current insertion point.

    Args:
        inputs: tensors and scalars, `MOST_INPUTS` at most.
        labels: the dimensions of each operand, the destination's last.
        dims: the iteration space, outermost first.
        cast: how inputs are cast to the compute type.
        overwrite: whether the old elements of the destination are ignored.
        attributes: discardable ones.
    """
    ensure_dialects(destination.context)
    maps = [AffineMap(tuple(dims), (), tuple(map(AffineDim, own))) for own in labels]
    inherent: dict[str, ir.Attribute] = {
        **(attributes or {}),
        MAPS: maps_attribute(maps),
        SEGMENTS: segments(len(inputs)),
    }
    if kind.name != "+*":
        inherent[KIND] = ir.StringAttr.get(kind.name)
    if cast != TYPE["cast_signed"]:
        inherent[CAST] = ir.Attribute.parse(f"#linalg.type_fn<{cast.name}>")
    if overwrite:
        inherent[OVERWRITE] = ir.UnitAttr.get()
    return ir.Operation.create(
        CONTRACT, results=[destination.type], operands=[*inputs, destination], attributes=inherent
    )


@dataclass(frozen=True)
class DynamicBroadcast:
    """`linalg_ext.dynamic_broadcast_in_dim`: a tensor repeated along dimensions that the run tells.

        result[i0, i1, ...] = operand[j0, j1, ...]
        jk = 0 where dimension k of the operand expands, else i(broadcast_dimensions[k])

    A dimension expands where its size is 1 and that of the result is another. `known_expanding` and
    `known_nonexpanding` list dimensions of the operand of which that is known beforehand.

    Attributes:
        operand: the tensor that is repeated.
        init: the destination.
        broadcast_dimensions: the dimension of the result for each dimension of the operand.
        known_expanding, known_nonexpanding: dimensions of the operand.
    """

    operand: ir.Value
    init: ir.Value
    broadcast_dimensions: tuple[int, ...]
    known_expanding: frozenset[int]
    known_nonexpanding: frozenset[int]

    @classmethod
    def of(cls, op: ir.Operation) -> DynamicBroadcast:
        """Read an op; an ArgumentError where it breaks a rule."""
        operand, init = op.operands
        rank = ranked_tensor(operand, "the operand").rank
        result_rank = ranked_tensor(init, "the destination").rank
        check_elements(operand, "the operand", init)
        dims = dimensions_of(op, "broadcast_dimensions", result_rank)
        if len(dims) != rank:
            raise ArgumentError(
                f"broadcast_dimensions = {list(dims)} for an operand of type {operand.type}",
                expected=f"{rank} of them, one for each of its dimensions",
            )
        expanding, not_expanding = (
            frozenset(dimensions_of(op, name, rank, required=False))
            for name in ("known_expanding", "known_nonexpanding")
        )
        if both := expanding & not_expanding:
            raise ArgumentError(f"dimension {min(both)} is known to expand, and known not to")
        view = cls(operand, init, dims, expanding, not_expanding)
        view._check_sizes()
        check_results(op, [init])
        return view

    def expands(self, dimension: int) -> bool | None:
        """Return whether the operand is read at 0 all along a dimension; None if not known."""
        size = static_sizes(self.operand)[dimension]
        if size == 1 or dimension in self.known_expanding:
            return True
        return False if size is not None or dimension in self.known_nonexpanding else None

    def _check_sizes(self) -> None:
        sizes, results = static_sizes(self.operand), static_sizes(self.init)
        for dimension, axis in enumerate(self.broadcast_dimensions):
            size, result = sizes[dimension], results[axis]
            shown = f"dimension {dimension} of the operand has size {size}"
            if dimension in self.known_expanding and differ(size, 1):
                raise ShapeError(f"{shown}, and is said to expand", expected="size 1")
            may_expand = size == 1 and dimension not in self.known_nonexpanding
            if differ(size, result) and not may_expand:
                raise ShapeError(
                    f"{shown}, dimension {axis} of the destination has {result}",
                    expected="equal sizes"
                    if dimension in self.known_nonexpanding
                    else "equal sizes, or size 1 in the operand",
                )


@dataclass(frozen=True)
class Gather:
    """`linalg_ext.gather`: windows of a tensor, at the places that rows of indices name.

        result[r, ...] = operand[p0 + ..., p1 + ..., ...]
        pd = clamp(indices[r, d], 0, size d of the operand - size d of a window)

    The destination tells the sizes of the windows (`Windows` tells how they stand in it). An index
    out of range is moved to the nearest where the window lies inside: no read is ever out of
    bounds.

    Attributes:
        operand: the tensor that is read.
        indices: n x k integers.
        init: the destination: n windows.
        windows: the layout of the windows in the operand.
    """

    operand: ir.Value
    indices: ir.Value
    init: ir.Value
    windows: Windows

    @classmethod
    def of(cls, op: ir.Operation) -> Gather:
        """Read an op; an ArgumentError where it breaks a rule."""
        operand, indices, init = op.operands
        windows = windows_of(indices, operand, init, ("the operand", "the destination"))
        check_elements(operand, "the operand", init)
        check_results(op, [init])
        view = cls(operand, indices, init, windows)
        view._check_windows()
        return view

    def _check_windows(self) -> None:
        sizes, init_sizes = static_sizes(self.operand), static_sizes(self.init)
        if not init_sizes[0]:
            return  # there may be no window at all
        for dim, axis in enumerate(self.windows.dims):
            window, size = 1 if axis is None else init_sizes[axis], sizes[dim]
            if window is not None and size is not None and window > size:
                raise ShapeError(
                    f"a window has size {window} in dimension {dim}, the operand has {size}",
                    expected="windows that are no larger",
                )


@dataclass(frozen=True)
class Reverse:
    """`linalg_ext.reverse`: a tensor with some dimensions backwards.

    result[..., i, ...] = operand[..., size - 1 - i, ...]    in each of `dimensions`

    Attributes:
        operand: the tensor that is reversed.
        init: the destination, of the operand's shape.
        dimensions: the dimensions that run backwards.
    """

    operand: ir.Value
    init: ir.Value
    dimensions: tuple[int, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> Reverse:
        """Read an op; an ArgumentError where it breaks a rule."""
        operand, init = op.operands
        rank = ranked_tensor(operand, "the operand").rank
        ranked_tensor(init, "the destination")
        check_same_shape(operand, "the operand", init, "the destination")
        check_elements(operand, "the operand", init)
        check_results(op, [init])
        return cls(operand, init, dimensions_of(op, "dimensions", rank))


MOST_SCANNED = 8


@dataclass(frozen=True)
class Scan:
    """`linalg_ext.scan`: along a dimension, each element combined with all before it.

        carried = f(carried, input_0[..., k, ...], input_1[..., k, ...], ...)      k = 0, 1, ...
        result[..., k, ...] = carried                    before that step where the scan is
        exclusive

    The region is `f`. `initial` is the value that is carried first, and the second result the one
    that is carried at last; both lack the dimension. Elements may be carried in a wider float than
    the result has, and are rounded where they are written. Without `initial` the one input gives
    its first element as it is, and there is no second result. `reverse` runs from the last index to
    the first.

    Running sums and products, cumulative extrema and recurrences (`f = a * carried + x`) are such.
    Source: IREE's `iree_linalg_ext.scan`, torch-mlir's `tm_tensor.scan`.

    Attributes:
        inputs: tensors of one shape, `MOST_SCANNED` at most.
        init: the destination, of that shape.
        initial: the value that is carried first, without the dimension; None where the input
            begins.
        dimension: the dimension along which it runs.
        body: a block of (carried, an element of each input) that yields the next carried value.
        is_inclusive: True where an element counts for its own place.
        is_reverse: True where it runs backwards.
    """

    inputs: tuple[ir.Value, ...]
    init: ir.Value
    initial: ir.Value | None
    dimension: int
    body: ir.Block
    is_inclusive: bool
    is_reverse: bool

    @classmethod
    def of(cls, op: ir.Operation) -> Scan:
        """Read an op; an ArgumentError where it breaks a rule."""
        inputs, inits, initials = segments_of(op, (MOST_SCANNED, 1, 1))
        if not inputs or not inits:
            raise ArityError("scan of nothing", expected="inputs, and a destination")
        (init,) = inits
        rank = ranked_tensor(inputs[0], "input 0").rank
        for number, value in enumerate((*inputs[1:], init), start=1):
            name = f"input {number}" if number < len(inputs) else "the destination"
            ranked_tensor(value, name)
            check_same_shape(value, name, inputs[0], "input 0")
        body = body_of(op)
        if body is None:
            raise ArgumentError(
                "scan has no body", expected="a region of the carried value, and of the elements"
            )
        view = cls(
            tuple(inputs),
            init,
            initials[0] if initials else None,
            dimension_of(op, rank),
            body,
            flag_of(op, "inclusive", default=True),
            flag_of(op, "reverse"),
        )
        view._check_carried()
        elements = [ir.ShapedType(value.type).element_type for value in inputs]
        check_body(body, [view.carried, *elements], view.carried, "the body")
        check_results(op, [init, *initials])
        return view

    @property
    def carried(self) -> ir.Type:
        """The type of the carried value."""
        return ir.ShapedType(
            (self.init if self.initial is None else self.initial).type
        ).element_type

    def _check_carried(self) -> None:
        if self.initial is None:
            if len(self.inputs) != 1 or not self.is_inclusive:
                raise ArityError(
                    "scan has no initial value",
                    expected="one, where it is exclusive or has several inputs",
                )
            check_elements(self.inputs[0], "input 0", self.init)
            return
        ranked_tensor(self.initial, "the initial value")
        sizes = list(static_sizes(self.inputs[0]))
        del sizes[self.dimension]
        initial_sizes = static_sizes(self.initial)
        if shapes_differ(initial_sizes, sizes):
            raise ShapeError(
                f"the initial value is of type {self.initial.type}, "
                f"input 0 of type {self.inputs[0].type}",
                expected=f"the shape of input 0 without dimension {self.dimension}",
            )
        element = ir.ShapedType(self.init.type).element_type
        if element != self.carried and not _is_wider(self.carried, element):
            raise DTypeError(
                f"{self.carried} is carried, the destination has elements of type {element}",
                expected="the same type, or a narrower float",
            )


def _is_wider(type_: ir.Type, than: ir.Type) -> bool:
    return (
        isinstance(type_, ir.FloatType)
        and isinstance(than, ir.FloatType)
        and is_float(type_)
        and type_.width > than.width
    )


@dataclass(frozen=True)
class Scatter:
    """`linalg_ext.scatter`: windows written into a tensor, at the places that rows of indices name.

        for r = 0, 1, ..., n - 1:
            result[i0 + ..., i1 + ..., ...] = combined(updates[r, ...], result[i0 + ..., ...])

    One row after another: where windows overlap, they are combined in their order. A window that
    does not lie in the destination whole is left out whole. The region combines two elements, the
    new one and the old one; where it is empty the new one takes the place of the old one.

    Attributes:
        indices: n x k integers.
        updates: n windows.
        init: the destination, which keeps its elements where no window covers them.
        windows: the layout of the windows in the destination.
        combiner: a block of (new, old) that yields the value to write; None writes the new value.
    """

    indices: ir.Value
    updates: ir.Value
    init: ir.Value
    windows: Windows
    combiner: ir.Block | None

    @classmethod
    def of(cls, op: ir.Operation) -> Scatter:
        """Read an op; an ArgumentError where it breaks a rule."""
        indices, updates, init = op.operands
        windows = windows_of(indices, init, updates, ("the destination", "updates"))
        check_elements(updates, "updates", init)
        combiner = body_of(op)
        if combiner is not None:
            element = ir.ShapedType(init.type).element_type
            check_body(combiner, [element] * 2, element, "the combiner")
        check_results(op, [init])
        return cls(indices, updates, init, windows, combiner)


MOST_SORTED = 8


@dataclass(frozen=True)
class Sort:
    """`linalg_ext.sort`: the elements of tensors in order along a dimension, by one comparator.

    The region takes two elements of each input, (a0, b0, a1, b1, ...), and tells whether a comes
    before b. All inputs are moved alike: keys with the tensors that belong to them. The sort is
    stable, whether or not `is_stable` asks for it: elements that the comparator puts neither way
    keep their order.

    The comparator must be a strict weak order: never true of equal ones. One that is not leaves the
    elements in some order: none is lost.

    Attributes:
        inputs: tensors of one shape, `MOST_SORTED` at most.
        inits: a destination for each input.
        dimension: the dimension along which they are sorted.
        comparator: a block of (a0, b0, a1, b1, ...) that yields an i1: a before b.
        is_stable: True where equal elements must keep their order.
    """

    inputs: tuple[ir.Value, ...]
    inits: tuple[ir.Value, ...]
    dimension: int
    comparator: ir.Block
    is_stable: bool

    @classmethod
    def of(cls, op: ir.Operation) -> Sort:
        """Read an op; an ArgumentError where it breaks a rule."""
        inputs, inits = segments_of(op, (MOST_SORTED, MOST_SORTED))
        if not inputs or len(inputs) != len(inits):
            raise ArityError(
                f"sort has {counted(len(inputs), 'input')} and "
                f"{counted(len(inits), 'destination')}",
                expected="one destination for each input",
            )
        rank = ranked_tensor(inputs[0], "input 0").rank
        for number, (value, init) in enumerate(zip(inputs, inits, strict=True)):
            ranked_tensor(value, f"input {number}")
            ranked_tensor(init, f"destination {number}")
            check_same_shape(value, f"input {number}", inputs[0], "input 0")
            check_same_shape(init, f"destination {number}", inputs[0], "input 0")
            check_elements(value, f"input {number}", init)
        dimension = dimension_of(op, rank)
        comparator = body_of(op)
        if comparator is None:
            raise ArgumentError(
                "sort has no comparator", expected="a region of two elements of each input"
            )
        elements = [ir.ShapedType(value.type).element_type for value in inputs for _ in range(2)]
        check_body(
            comparator, elements, ir.IntegerType.get_signless(1, op.context), "the comparator"
        )
        check_results(op, inits)
        return cls(tuple(inputs), tuple(inits), dimension, comparator, flag_of(op, "is_stable"))


VIEWS: Mapping[str, Callable[[ir.Operation], object]] = {
    "linalg_ext.concatenate": Concatenate.of,
    "linalg_ext.dynamic_broadcast_in_dim": DynamicBroadcast.of,
    "linalg_ext.gather": Gather.of,
    "linalg_ext.reverse": Reverse.of,
    "linalg_ext.scan": Scan.of,
    "linalg_ext.scatter": Scatter.of,
    "linalg_ext.sort": Sort.of,
}
"""The function that reads an op as a view, by the name of the op."""


def check_destination_style_op(op: ir.Operation) -> None:
    """Check an op against its rules; an ArgumentError of the kind of the mistake."""
    VIEWS[op.name](op)


Body = Callable[..., ir.Value | ir.OpView]
"""Builds the values that a region yields from the arguments of its block, at the current insertion
point.
"""


def build_op(
    name: str,
    operands: Sequence[ir.Value],
    destinations: Sequence[ir.Value],
    attributes: dict[str, ir.Attribute],
    body: tuple[Body, Sequence[ir.Type]] | None = None,
    *,
    regions: int = 0,
) -> list[ir.Value]:
    """Build an op at the current insertion point, and check it.

    Args:
        operands: all of them, the destinations last.
        destinations: its results are of their types.
        body: the builder of its region, and the types of the arguments of its block.

    Raises:
        ArgumentError: it breaks a rule; nothing is left behind.
    """
    ensure_dialects(destinations[0].context)
    op = ir.Operation.create(
        name,
        results=[value.type for value in destinations],
        operands=list(operands),
        attributes=attributes,
        regions=regions,
    )
    with erased_on_error(op, name.partition(".")[2]):
        if body is not None:
            make, types = body
            block = op.regions[0].blocks.append(*types)
            with ir.InsertionPoint(block):
                yielded = as_values(name, [make(*block.arguments)])
                ir.Operation.create(YIELD, operands=yielded)
        check_destination_style_op(op)
    return list(op.results)


def build_scan(
    inputs: Sequence[ir.Value],
    init: ir.Value,
    initial: ir.Value | None,
    combine: Body,
    *,
    dimension: int,
    inclusive: bool = True,
    reverse: bool = False,
) -> list[ir.Value]:
    """Build `linalg_ext.scan`; see the op.

    Args:
        initial: the value that is carried first; None where the one input begins.
        combine: builds the next carried value from the carried value and an element of each input.
        inclusive: whether an element counts for its own place.
        reverse: whether it runs from the last index to the first.
    """
    initials = [] if initial is None else [initial]
    carried = ir.ShapedType((initials or inputs)[0].type).element_type
    counts = [len(inputs), 1, len(initials)]
    slots = [MOST_SCANNED, 1, 1]
    attributes: dict[str, ir.Attribute] = {
        "dimension": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dimension),
        "inclusive": ir.BoolAttr.get(inclusive),
        SEGMENTS: ir.DenseI32ArrayAttr.get(
            [int(n < count) for count, most in zip(counts, slots, strict=True) for n in range(most)]
        ),
        "resultSegmentSizes": ir.DenseI32ArrayAttr.get([1, len(initials)]),
    }
    if reverse:
        attributes["reverse"] = ir.UnitAttr.get()
    types = [carried, *(ir.ShapedType(value.type).element_type for value in inputs)]
    inits = [init, *initials]
    return build_op(
        "linalg_ext.scan", [*inputs, *inits], inits, attributes, (combine, types), regions=1
    )


def build_scatter(
    indices: ir.Value, updates: ir.Value, init: ir.Value, combine: Body | None
) -> ir.Value:
    """Build `linalg_ext.scatter`; see the op.

    Args:
        combine: builds the written element from the new one and the old one; None writes the new.
    """
    element = ir.ShapedType(init.type).element_type
    body = None if combine is None else (combine, [element, element])
    return build_op("linalg_ext.scatter", [indices, updates, init], [init], {}, body, regions=1)[0]
