"""One op as a loop over parts of its domain: the request, the ops that it means, the parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from linalg_ext.bindings import ir, linalg, tensor
from linalg_ext.dialects import gml_st
from linalg_ext.dialects.gml_st.ir.op_views import LoopView, operand_of
from linalg_ext.dialects.gml_st.ir.sets import subset_of
from linalg_ext.dialects.gml_st.rules import (
    PARALLEL,
    REDUCTION,
    Accumulation,
    Rule,
    Unserved,
    rule_of,
)
from linalg_ext.errors import ArgumentError
from linalg_ext.structured.constants import integer_constant
from linalg_ext.structured.operands import producer, static_sizes
from linalg_ext.structured.sizes import as_number, mixed_size, mixed_sizes, sizes_of, value_of
from linalg_ext.symbolic.index_sets import Filter, Point, Tile, full
from linalg_ext.symbolic.integers import Number, Symbol, is_eq, minimum
from linalg_ext.transforms.ir_utils.tensor_loops import elementwise
from linalg_ext.transforms.ir_utils.walking import select

from ._loops import cast


@dataclass(frozen=True)
class Cut:
    """The tiling of one op.

    Attributes:
        sizes: the size of a part along each dimension of the domain; 0 where it is not cut. A
            shorter list leaves the rest whole.
        form: `"parallel"`: a `gml_st.parallel` over the parallel dimensions, and a `gml_st.for`
            over the reductions in it; `"for"`: one sequential nest; `"loop"`: one `gml_st.loop`.
        points: True where results are given element by element; the sizes are 1 then.
        accumulate: True where reductions are cut in parallel too, and parts of sums accumulated.
        distribution: the hardware units of the parallel iterators, a note on the loop.
    """

    sizes: tuple[int, ...]
    form: str = "parallel"
    points: bool = False
    accumulate: bool = False
    distribution: tuple[str, ...] = ()


@dataclass
class Tiled:
    """The result of tiling: the loops, outermost first, and the op on a part (or None: scalars)."""

    loops: list[ir.Operation] = field(default_factory=list)
    inner: ir.Operation | None = None


def tile_op(op: ir.Operation, cut: Cut) -> Tiled:
    """Put loops over parts of its domain in the place of an op, which is erased.

    Raises:
        Unserved: no rule serves it so. Then nothing has changed.
    """
    rule = rule_of(op)
    dims = [dim for dim, size in enumerate(cut.sizes) if size]
    _check(rule, cut, dims)
    if cut.form == "parallel" and not cut.accumulate:
        outer = [dim for dim in dims if rule.domain.iterators[dim] == PARALLEL]
        inner = [dim for dim in dims if rule.domain.iterators[dim] == REDUCTION]
        if outer and inner:
            return _nested(op, rule, cut, outer, inner)
        if inner:
            cut = Cut(cut.sizes, "for", cut.points)
    with op.location, ir.InsertionPoint(op):
        return _Loop(op, rule, cut, dims).build()


def _nested(
    op: ir.Operation, rule: Rule, cut: Cut, outer: Sequence[int], inner: Sequence[int]
) -> Tiled:
    """Tile the parallel dimensions outside, and the reductions in their body."""

    def only(dims: Sequence[int]) -> tuple[int, ...]:
        return tuple(size if dim in dims else 0 for dim, size in enumerate(cut.sizes))

    first = tile_op(op, Cut(only(outer), cut.form, False, False, cut.distribution))
    if first.inner is None:
        raise TypeError(f"{op.name} has reductions and became scalars")
    second = tile_op(first.inner, Cut(only(inner), "for"))
    return Tiled(first.loops + second.loops, second.inner)


def _check(rule: Rule, cut: Cut, dims: Sequence[int]) -> None:
    domain, name = rule.domain, rule.op.name
    if len(cut.sizes) > domain.rank:
        raise Unserved(f"{len(cut.sizes)} sizes are given for {domain.rank} dimensions")
    if not dims:
        raise Unserved("the sizes cut no dimension")
    for dim in dims:
        size, whole = cut.sizes[dim], domain.sizes[dim]
        if dim in domain.whole and not (isinstance(whole, int) and size >= whole):
            raise Unserved(f"dimension {dim} of {name} cannot be cut")
    reductions = [dim for dim in dims if domain.iterators[dim] == REDUCTION]
    accumulates = cut.accumulate and bool(reductions)
    if accumulates and any(
        rule.accumulation(number) is None for number in range(len(rule.op.results))
    ):
        raise Unserved("the combination of partial results is not known")
    if cut.points and reductions:
        raise Unserved("an element of its result is more than one point of its domain")


class _Loop:
    """A loop under construction, before an op."""

    def __init__(self, op: ir.Operation, rule: Rule, cut: Cut, dims: Sequence[int]) -> None:
        self.op, self.rule, self.cut, self.dims = op, rule, cut, dims
        self.operands = list(op.operands)
        domain = rule.domain
        self.accumulates = cut.accumulate and any(domain.iterators[d] == REDUCTION for d in dims)
        # The sizes as values of this place, which the body uses too.
        self.uppers: dict[int, Number] = {}
        for dim in dims:
            size = domain.sizes[dim]
            self.uppers[dim] = size if isinstance(size, int) else as_number(value_of(size))
        self.steps = {dim: self._step(dim) for dim in dims}
        self.outs = [self._destination(number) for number in range(len(op.results))]
        self.parts = Parts()

    def _step(self, dim: int) -> int:
        """Return the step: no longer than the dimension, if its size is known."""
        size, upper = self.cut.sizes[dim], self.uppers[dim]
        return max(1, min(size, upper)) if isinstance(upper, int) else size

    def _destination(self, number: int) -> ir.Value:
        position = self.rule.destinations[number]
        if position is not None:
            return self.operands[position]
        type_ = self.op.results[number].type
        return cast(empty(self.rule.result_sizes(number), type_), type_)

    def build(self) -> Tiled:
        bounds = (
            [0] * len(self.dims),
            [mixed_size(self.uppers[dim]) for dim in self.dims],
            [self.steps[dim] for dim in self.dims],
        )
        match self.cut.form:
            case "parallel":
                with gml_st.parallel(*bounds, distribution=self.cut.distribution) as loop:
                    values, sets = self._body(loop.ivs, self.outs, {})
                    gml_st.set_yield(values, into=self.outs, at=sets, accumulate=self._accumulate())
            case "for":
                with gml_st.for_(*bounds, outs=self.outs) as loop:
                    values, sets = self._body(loop.ivs, loop.outs, {})
                    gml_st.set_yield(values, into=loop.outs, at=sets, accumulate=self._accumulate())
            case _:
                ins = self._inputs()
                with gml_st.loop(
                    *bounds,
                    ins=ins,
                    outs=self.outs,
                    iterators=self._iterators(),
                    distribution=self.cut.distribution,
                ) as loop:
                    values, sets = self._body(
                        loop.ivs, loop.outs, dict(zip(ins, loop.ins, strict=True))
                    )
                    gml_st.yield_(values, to=sets, accumulate=self._accumulate())
        for old, new in zip(self.op.results, loop.results, strict=True):
            old.replace_all_uses_with(new)
        inner = None if self.cut.points else producer(values[0])
        self.op.erase()
        return Tiled([ir.OpResult(loop.results[0]).owner.operation], inner)

    def _inputs(self) -> list[ir.Value]:
        written = [position for position in self.rule.destinations if position is not None]
        return list(
            dict.fromkeys(
                value
                for position, value in enumerate(self.operands)
                if position not in written and isinstance(value.type, ir.RankedTensorType)
            )
        )

    def _iterators(self) -> list[str]:
        if self.accumulates:
            return [PARALLEL] * len(self.dims)
        return [self.rule.domain.iterators[dim] for dim in self.dims]

    def _body(
        self,
        ivs: Sequence[ir.Value],
        outs: Sequence[ir.Value],
        ins: dict[ir.Value, ir.Value],
    ) -> tuple[list[ir.Value], list[ir.Value]]:
        """Build the op on a part; return its values, and the sets that they are for."""
        sources = {
            position: outs[number]
            for number, position in enumerate(self.rule.destinations)
            if position is not None
        }
        partial = set(sources) if self.accumulates else set()

        def source(position: int) -> ir.Value:
            value = self.operands[position]
            return sources.get(position, ins.get(value, value))

        def take(position: int, tile: Tile) -> ir.Value:
            if position in partial:
                return self._neutral(position, tile)
            return self.parts.take(source(position), tile)

        def take_element(position: int, point: Point) -> ir.Value:
            return self.parts.take(source(position), point)

        part = self._part(ivs)
        tiles = [self.rule.part_of_result(part, number) for number in range(len(outs))]
        values = None
        if self.cut.points:
            values = self.rule.build_element(Point(part.offsets), take_element)
            if values is None:
                values = [element_of(value) for value in self.rule.build(part, take)]
            where: list[Tile | Point] = [Point(tile.offsets) for tile in tiles]
        else:
            values, where = self.rule.build(part, take), list(tiles)
        sets = [self.parts.set(out, subset) for out, subset in zip(outs, where, strict=True)]
        return values, sets

    def _part(self, ivs: Sequence[ir.Value]) -> Tile:
        offsets: list[Number] = [0] * self.rule.domain.rank
        sizes = list(self.rule.domain.sizes)
        for dim, iv in zip(self.dims, ivs, strict=True):
            upper, step = self.uppers[dim], self.steps[dim]
            # The symbol is the one that `as_number` reads from the loop once it is built.
            offset = Symbol(iv, lower=0, upper=upper - 1, step=step).number
            offsets[dim] = offset
            sizes[dim] = minimum(step, upper - offset)
        return Tile(offsets, sizes)

    def _neutral(self, position: int, tile: Tile) -> ir.Value:
        """Return a destination that partial sums start from."""
        accumulation = self._accumulations()[self.rule.destinations.index(position)]
        start = empty(tile.sizes, self.operands[position].type)
        filled: ir.Value = linalg.fill(accumulation.neutral(), outs=[start])
        return filled

    def _accumulations(self) -> list[Accumulation]:
        accumulations = [self.rule.accumulation(number) for number in range(len(self.outs))]
        return [accumulation for accumulation in accumulations if accumulation is not None]

    def _accumulate(self) -> list[Callable[[ir.Value, ir.Value], ir.Value] | None] | None:
        if not self.accumulates:
            return None
        return [_combination(accumulation) for accumulation in self._accumulations()]


def _combination(accumulation: Accumulation) -> Callable[[ir.Value, ir.Value], ir.Value]:
    """Return the function that combines two parts of sums, element by element for tensors."""

    def combine(new: ir.Value, old: ir.Value) -> ir.Value:
        if not isinstance(new.type, ir.RankedTensorType):
            return accumulation.combine(old, new)
        generic = elementwise([new], [old], lambda a, b: [accumulation.combine(b, a)])
        result: ir.Value = generic.results[0]
        return result

    return combine


FORMS = ("parallel", "for", "loop")

_VIEWS = frozenset(
    ("tensor.cast", "tensor.collapse_shape", "tensor.expand_shape", "tensor.extract_slice")
)
"""Ops that show the elements of another in another way: it is that which is tiled."""


@dataclass(frozen=True)
class Request:
    """A checked request.

    Attributes:
        tile_sizes: for each loop nest, outermost first, the sizes of its parts; empty: they are
            chosen for the target.
        op: the name or the label of the ops that are tiled; empty: those that give the results.
        last: the tiling of the last level, but for its sizes.
    """

    tile_sizes: tuple[tuple[int, ...], ...]
    op: str
    last: Cut

    @classmethod
    def of(
        cls,
        tile_sizes: Sequence[int] | Sequence[Sequence[int]] | None,
        op: str,
        form: str,
        points: bool,
        accumulate: bool,
        distribution: Sequence[str],
    ) -> Request:
        """Check the arguments of a user.

        Raises:
            ArgumentError: a size is not a number or negative, there is no such form, or the options
                contradict each other.
        """
        if form not in FORMS:
            raise ArgumentError(f"form={form!r}", expected="one of " + ", ".join(FORMS))
        if not isinstance(op, str):
            raise ArgumentError(f"op={op!r}", expected="the name of an op, or its label")
        sizes = _nest(tile_sizes)
        if points and sizes and any(size > 1 for size in sizes[-1]):
            raise ArgumentError(
                f"points=True with tile_sizes={list(sizes[-1])}",
                expected="sizes of 1, or 0 where nothing is cut",
            )
        last = Cut((), form, bool(points), bool(accumulate), tuple(distribution))
        return cls(sizes, op, last)

    def cut(self, sizes: Sequence[int], *, is_last: bool) -> Cut:
        """Return the tiling of an op at one level of the nest.

        Points and parallel sums are for the last level.
        """
        if is_last:
            return replace(self.last, sizes=tuple(sizes))
        return Cut(tuple(sizes), self.last.form, distribution=self.last.distribution)


def _nest(tile_sizes: object) -> tuple[tuple[int, ...], ...]:
    """Return tile sizes as a list for each level."""
    if tile_sizes is None:
        return ()
    if isinstance(tile_sizes, str) or not isinstance(tile_sizes, Iterable):
        raise ArgumentError(
            f"tile_sizes={tile_sizes!r}",
            expected="a list of integers, or one for each nest of loops",
        )
    items = list(tile_sizes)
    if not items:
        return ()
    if any(isinstance(item, Iterable) for item in items):
        return tuple(_sizes(item) for item in items)
    return (_sizes(items),)


def _sizes(level_sizes: object) -> tuple[int, ...]:
    if isinstance(level_sizes, str) or not isinstance(level_sizes, Iterable):
        raise ArgumentError(
            f"tile_sizes hold {level_sizes!r} beside lists",
            expected="a list for each nest of loops",
        )
    sizes: list[int] = []
    for number, size in enumerate(level_sizes):
        if not hasattr(size, "__index__") or isinstance(size, bool):
            raise ArgumentError(f"tile size {number} is {size!r}", expected="an integer")
        if int(size) < 0:
            raise ArgumentError(
                f"tile size {number} is {int(size)}",
                expected="a positive size, or 0 for a dimension that is not cut",
            )
        sizes.append(int(size))
    return tuple(sizes)


def requested_ops(root: ir.Operation, request: Request) -> list[ir.Operation]:
    """Return the ops that are requested, in the order of the program.

    Raises:
        ArgumentError: it names one, and there is none of that name or label.
    """
    if not request.op:
        return select(root, _gives_a_result)
    named = select(root, lambda op: is_named(op, (request.op,)))
    if named:
        return named
    names = sorted({op.name for op in select(root, _is_tileable)})
    labels = sorted({label_of(op) for op in select(root, lambda op: bool(label_of(op)))})
    listed = ", ".join((*names, *labels)) or "none that can be tiled"
    near = get_close_matches(request.op, (*names, *labels), n=1)
    raise ArgumentError(
        f"{request.op!r} is the name or label of no op here",
        expected=f"one of {listed}",
        hint=f"did you mean {near[0]}?" if near else None,
    )


def _is_tileable(op: ir.Operation) -> bool:
    """Return whether a rule serves an op, which computes something of tensors."""
    if op.name in _VIEWS or op.name.startswith(("arith.", "gml_st.")):
        return False
    try:
        rule = rule_of(op)
        parts = rule.operand_parts(rule.domain.all)
    except Unserved:
        return False
    return any(
        part is not None for position, part in enumerate(parts) if position not in rule.destinations
    )


def _gives_a_result(op: ir.Operation) -> bool:
    """Return whether no other op computes with the results of an op that can be tiled."""
    return _is_tileable(op) and not any(
        _is_computed_with(use.owner.operation) for result in op.results for use in result.uses
    )


def _is_computed_with(user: ir.Operation) -> bool:
    if user.name in _VIEWS:
        return any(
            _is_computed_with(use.owner.operation) for result in user.results for use in result.uses
        )
    if user.name == "tensor.dim":
        return False
    return len(user.results) > 0


class Parts:
    """Takes parts of tensors at the insertion point; the same part of the same tensor once.

    One lives as long as the body that it builds.

    Args:
        materializes: gets the ops that take parts, in their order.
    """

    def __init__(self, materializes: list[ir.Operation] | None = None) -> None:
        self._materializes = materializes
        self._sets: dict[tuple[ir.Value, Tile | Point], ir.Value] = {}

    def set(self, source: ir.Value, part: Tile | Point) -> ir.Value:
        """Return the set that names a part of a tensor."""
        key = (source, part)
        if key not in self._sets:
            self._sets[key] = _set(source, part)
        return self._sets[key]

    def take(self, source: ir.Value, part: Tile | Point) -> ir.Value:
        """Return a part of a tensor, as a tensor of its own or as a scalar."""
        value = gml_st.materialize(source, self.set(source, part))
        if self._materializes is not None:
            self._materializes.append(ir.OpResult(value).owner.operation)
        return value


def _set(source: ir.Value, part: Tile | Point) -> ir.Value:
    if isinstance(part, Point):
        return gml_st.point(source, mixed_sizes(part.indices))
    shape = [size if isinstance(size, int) else None for size in part.sizes]
    if is_whole(source, part) and shape == static_sizes(source):
        return gml_st.full(source)
    return gml_st.tile(source, *map(mixed_sizes, (part.offsets, part.sizes, part.strides)))


def is_whole(source: ir.Value, part: Tile) -> bool:
    """Return whether a tile is known to be all of a tensor."""
    return all(
        is_eq(offset, 0) is True and is_eq(stride, 1) is True and is_eq(size, whole) is True
        for offset, size, stride, whole in zip(
            part.offsets, part.sizes, part.strides, sizes_of(source), strict=True
        )
    )


def part_of(set_: ir.Value) -> Tile | Point:
    """Return the part of its root that a set names; sizes may be read at the insertion point.

    Raises:
        Unserved: it is not a rectangle, or it is not known how it was made.
    """
    op = producer(set_)
    if op is not None and op.name == "gml_st.full":
        return full(sizes_of(operand_of(op, 0)))
    try:
        part = subset_of(set_, as_number)
    except ArgumentError as error:
        raise Unserved(error.what) from None
    if isinstance(part, Filter):
        raise Unserved("the elements of a filter are known at run time only")
    return part


def element_of(value: ir.Value) -> ir.Value:
    """Return the one element of a tensor that has no more, at the insertion point."""
    zero = integer_constant(ir.IndexType.get(), 0)
    return tensor.ExtractOp(value, [zero] * ir.ShapedType(value.type).rank).result


def empty(sizes: Sequence[Number], like: ir.Type) -> ir.Value:
    """Build a `tensor.empty` of some sizes at the insertion point."""
    return tensor.EmptyOp(mixed_sizes(sizes), ir.ShapedType(like).element_type).result


LABEL = "linalg_ext.label"
"""A text on an op by which the options of passes name it."""


@dataclass(frozen=True)
class Choice:
    """The choice of the producers to fuse.

    Attributes:
        producers: names or labels of ops.
        arguments: inputs of `gml_st.loop`, by the name of the argument in its body where its
            location has one, or by position: `in0`, `in1`, ...

    Without either, the choice is all producers that are worth it, and their producers in turn.
    """

    producers: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()

    @property
    def is_greedy(self) -> bool:
        """Return whether the pass chooses the producers."""
        return not self.producers and not self.arguments

    def includes(self, producer: ir.Operation) -> bool:
        """Return whether a producer is chosen by its name or label, or all of them are."""
        return self.is_greedy or is_named(producer, self.producers)

    def named_inputs(self, loop: LoopView) -> list[ir.Value]:
        """Return the values of a loop's inputs whose arguments are named."""
        return [
            value
            for number, (value, argument) in enumerate(zip(loop.ins, loop.region_ins, strict=True))
            if {f"in{number}", _name(argument)} & set(self.arguments)
        ]


def is_named(op: ir.Operation, names: tuple[str, ...]) -> bool:
    """Return whether an op is one of those that are named, by its name or by its label."""
    return op.name in names or label_of(op) in names


def label_of(op: ir.Operation) -> str:
    """Return the label of an op; empty where it has none."""
    if LABEL not in op.attributes:
        return ""
    attribute = op.attributes[LABEL]
    return attribute.value if isinstance(attribute, ir.StringAttr) else ""


def name_of(op: ir.Operation) -> str:
    """Return the label of an op, or else its name."""
    return label_of(op) or op.name


def _name(argument: ir.Value) -> str:
    """Return the name in the location of a block's argument: `loc("in_")`."""
    match = re.match(r'loc\("([^"]+)"(?:\(|\)|$)', str(argument.location))
    return match[1].removeprefix("%") if match else ""
