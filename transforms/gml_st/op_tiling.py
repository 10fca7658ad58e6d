"""One op as a loop over parts of its domain: the request, the ops that it means, the parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from linalg_ext.bindings import ir, linalg, tensor
from linalg_ext.definition.affine import AffineDim, AffineMap
from linalg_ext.dialects import gml_st
from linalg_ext.dialects.gml_st.ir.op_views import FullView, LoopView
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
from linalg_ext.structured.maps import maps_attribute
from linalg_ext.structured.operands import producer, static_sizes
from linalg_ext.structured.sizes import as_number, index, mixed_sizes, sizes_of, value_of
from linalg_ext.symbolic.index_sets import Filter, Point, Tile, full
from linalg_ext.symbolic.integers import Number, Symbol, is_eq, minimum
from linalg_ext.transforms.ir_utils.walking import select


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
    """The parallel dimensions outside, the reductions in their body."""

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
    if accumulates and any(rule.accumulation(at) is None for at in range(len(rule.op.results))):
        raise Unserved("the combination of partial results is not known")
    if cut.points and reductions:
        raise Unserved("an element of its result is more than one point of its domain")


class _Loop:
    """One loop under construction, before an op."""

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
        """The step: no longer than the dimension, if its size is known."""
        size, upper = self.cut.sizes[dim], self.uppers[dim]
        return max(1, min(size, upper)) if isinstance(upper, int) else size

    def _destination(self, number: int) -> ir.Value:
        position = self.rule.destinations[number]
        if position is not None:
            return self.operands[position]
        type_ = self.op.results[number].type
        return in_type(empty(self.rule.result_sizes(number), type_), type_)

    def build(self) -> Tiled:
        bounds = (
            [0] * len(self.dims),
            [index(self.uppers[dim]) for dim in self.dims],
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
        return Tiled([_owner(loop.results[0])], inner)

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
        """The op on a part: its values, and the sets of the results that they are for."""
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
        places = [self.rule.part_of_result(part, number) for number in range(len(outs))]
        values = None
        if self.cut.points:
            values = self.rule.build_element(Point(part.offsets), take_element)
            if values is None:
                values = [element_of(value) for value in self.rule.build(part, take)]
            where: list[Tile | Point] = [Point(place.offsets) for place in places]
        else:
            values, where = self.rule.build(part, take), list(places)
        sets = [self.parts.set(out, place) for out, place in zip(outs, where, strict=True)]
        return values, sets

    def _part(self, ivs: Sequence[ir.Value]) -> Tile:
        offsets: list[Number] = [0] * self.rule.domain.rank
        sizes = list(self.rule.domain.sizes)
        for dim, iv in zip(self.dims, ivs, strict=True):
            upper, step = self.uppers[dim], self.steps[dim]
            # What `as_number` reads from the loop once it stands.
            place = Symbol(iv, lower=0, upper=upper - 1, step=step).number
            offsets[dim] = place
            sizes[dim] = minimum(step, upper - place)
        return Tile(offsets, sizes)

    def _neutral(self, position: int, tile: Tile) -> ir.Value:
        """A destination that partial sums start from."""
        accumulation = self._accumulations()[self.rule.destinations.index(position)]
        start = empty(tile.sizes, self.operands[position].type)
        filled: ir.Value = linalg.fill(accumulation.neutral(), outs=[start])
        return filled

    def _accumulations(self) -> list[Accumulation]:
        found = [self.rule.accumulation(number) for number in range(len(self.outs))]
        return [each for each in found if each is not None]

    def _accumulate(self) -> list[Callable[[ir.Value, ir.Value], ir.Value] | None] | None:
        if not self.accumulates:
            return None
        return [_combination(each) for each in self._accumulations()]


def _combination(accumulation: Accumulation) -> Callable[[ir.Value, ir.Value], ir.Value]:
    """Return the function that combines two parts of sums, element by element for tensors."""

    def combine(new: ir.Value, old: ir.Value) -> ir.Value:
        if not isinstance(new.type, ir.RankedTensorType):
            return accumulation.combine(old, new)
        rank = ir.ShapedType(new.type).rank
        dims = tuple(f"d{at}" for at in range(rank))
        own = AffineMap(dims, (), tuple(map(AffineDim, dims)))
        generic = linalg.GenericOp(
            result_tensors=[old.type],
            inputs=[new],
            outputs=[old],
            indexing_maps=maps_attribute([own, own]),
            iterator_types=ir.ArrayAttr.get(
                [ir.Attribute.parse("#linalg.iterator_type<parallel>")] * rank
            ),
        )
        element = ir.ShapedType(new.type).element_type
        block = generic.regions[0].blocks.append(element, element)
        with ir.InsertionPoint(block):
            linalg.YieldOp([accumulation.combine(block.arguments[1], block.arguments[0])])
        return generic.results[0]

    return combine


def _owner(value: ir.Value) -> ir.Operation:
    owner = producer(value)
    if owner is None:
        raise TypeError("the result of a loop is an argument")
    return owner


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
        """Check what a user gave.

        Raises:
            ArgumentError: a size is no number or negative, there is no such form, or the options
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


def _nest(given: object) -> tuple[tuple[int, ...], ...]:
    """Tile sizes as a list for each level, whatever they were given as."""
    if given is None:
        return ()
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ArgumentError(
            f"tile_sizes={given!r}", expected="a list of integers, or one for each nest of loops"
        )
    items = list(given)
    if not items:
        return ()
    if any(isinstance(each, Iterable) for each in items):
        return tuple(_sizes(each) for each in items)
    return (_sizes(items),)


def _sizes(given: object) -> tuple[int, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ArgumentError(
            f"tile_sizes hold {given!r} beside lists", expected="a list for each nest of loops"
        )
    sizes: list[int] = []
    for at, size in enumerate(given):
        if not hasattr(size, "__index__") or isinstance(size, bool):
            raise ArgumentError(f"tile size {at} is {size!r}", expected="an integer")
        if int(size) < 0:
            raise ArgumentError(
                f"tile size {at} is {int(size)}",
                expected="a positive size, or 0 for a dimension that is not cut",
            )
        sizes.append(int(size))
    return tuple(sizes)


def meant_ops(root: ir.Operation, request: Request) -> list[ir.Operation]:
    """The ops that a request means, in the order of the program.

    Raises:
        ArgumentError: it names one, and there is none of that name or label.
    """
    if not request.op:
        return select(root, _gives_a_result)
    found = select(root, lambda op: is_meant(op, (request.op,)))
    if found:
        return found
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
    return any(part is not None for at, part in enumerate(parts) if at not in rule.destinations)


def _gives_a_result(op: ir.Operation) -> bool:
    """Return whether an op computes what no other op computes with: it is shown, or handed back."""
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
        taken: gets the ops that take parts, in their order.
    """

    def __init__(self, taken: list[ir.Operation] | None = None) -> None:
        self._taken = taken
        self._sets: dict[tuple[ir.Value, Tile | Point], ir.Value] = {}

    def set(self, source: ir.Value, part: Tile | Point) -> ir.Value:
        """The set that names a part of a tensor."""
        key = (source, part)
        if key not in self._sets:
            self._sets[key] = _set(source, part)
        return self._sets[key]

    def take(self, source: ir.Value, part: Tile | Point) -> ir.Value:
        """A part of a tensor, as a tensor of its own or as a scalar."""
        value = gml_st.materialize(source, self.set(source, part))
        if self._taken is not None:
            self._taken.append(ir.OpResult(value).owner.operation)
        return value


def _set(source: ir.Value, part: Tile | Point) -> ir.Value:
    if isinstance(part, Point):
        return gml_st.point(source, mixed_sizes(part.indices))
    known = [size if isinstance(size, int) else None for size in part.sizes]
    if is_whole(source, part) and known == static_sizes(source):
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
    """The part of its root that a set names; sizes may be read at the insertion point.

    Raises:
        Unserved: it is no rectangle, or it is not known how it was made.
    """
    op = producer(set_)
    if op is not None and op.name == "gml_st.full":
        return full(sizes_of(FullView.of(op).source))
    try:
        part = subset_of(set_, as_number)
    except ArgumentError as error:
        raise Unserved(error.what) from None
    if isinstance(part, Filter):
        raise Unserved("the elements of a filter are known at run time only")
    return part


def in_type(value: ir.Value, type_: ir.Type) -> ir.Value:
    """A tensor with its sizes known as well as a type knows them, at the insertion point."""
    return value if value.type == type_ else tensor.CastOp(type_, value).result


def element_of(value: ir.Value) -> ir.Value:
    """The one element of a tensor that has no more, at the insertion point."""
    zero = integer_constant(ir.IndexType.get(), 0)
    return tensor.ExtractOp(value, [zero] * ir.ShapedType(value.type).rank).result


def empty(sizes: Sequence[Number], like: ir.Type) -> ir.Value:
    """`tensor.empty` of some sizes, at the insertion point."""
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
        """Return whether it is left to the pass what is worth it."""
        return not self.producers and not self.arguments

    def wants(self, producer: ir.Operation) -> bool:
        """Return whether a producer is meant by itself."""
        return self.is_greedy or is_meant(producer, self.producers)

    def named_inputs(self, loop: LoopView) -> list[ir.Value]:
        """The values of a loop's inputs whose arguments are named."""
        return [
            value
            for at, (value, argument) in enumerate(zip(loop.ins, loop.region_ins, strict=True))
            if {f"in{at}", _name(argument)} & set(self.arguments)
        ]


def is_meant(op: ir.Operation, names: tuple[str, ...]) -> bool:
    """Return whether an op is one of those that are named, by its name or by its label."""
    return op.name in names or label_of(op) in names


def label_of(op: ir.Operation) -> str:
    """The label of an op; empty where it has none."""
    if LABEL not in op.attributes:
        return ""
    attribute = op.attributes[LABEL]
    return attribute.value if isinstance(attribute, ir.StringAttr) else ""


def name_of(op: ir.Operation) -> str:
    """Return the label of an op, or else its name."""
    return label_of(op) or op.name


def _name(argument: ir.Value) -> str:
    """The name in the location of a block's argument: `loc("in_")`."""
    found = re.match(r'loc\("([^"]+)"(?:\(|\)|$)', str(argument.location))
    return found[1].removeprefix("%") if found else ""
