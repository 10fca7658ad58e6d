"""Reshapes move out of the way of fusion: expansions before the producer, collapses after the
consumer.

before:
    %c = tensor.collapse_shape %x [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
    %r = linalg.generic {...} ins(%c, %y : tensor<6xf32>, tensor<6xf32>) ... -> tensor<6xf32>
after:
    %z = tensor.expand_shape %y [[0, 1]] output_shape [2, 3] : tensor<6xf32> into tensor<2x3xf32>
    %s = linalg.generic {...} ins(%x, %z : tensor<2x3xf32>, tensor<2x3xf32>) ... -> tensor<2x3xf32>
    %r = tensor.collapse_shape %s [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>

The iteration space of an op is expanded where all its maps pick loops. An expansion of a collapsed
tensor is undone axis by axis, where sizes say that axes are those of before.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

from linalg_ext.bindings import ir, tensor
from linalg_ext.structured.maps import groups_of
from linalg_ext.structured.sizes import by_origin, mixed_sizes, sizes_of, tensor_type
from linalg_ext.symbolic.integers import Number, is_eq, product
from linalg_ext.transforms.analysis.fills import filled, filled_with
from linalg_ext.transforms.ir_utils.generics import input_count, is_on_tensors, maps_of
from linalg_ext.transforms.ir_utils.loop_expansion import LoopExpansion, expand
from linalg_ext.transforms.ir_utils.walking import is_unused, operations, producer

COLLAPSE, EXPAND = RESHAPES = ("tensor.collapse_shape", "tensor.expand_shape")


def move_reshapes(module: Any, nests: Collection[Any]) -> bool:
    """Move reshapes through ops on tensors, fold those that meet; return whether any did.

    The ops that give `nests` stay as they are.
    """
    waiting = _Waiting(operations(module, RESHAPES), nests)
    changed = False
    while (op := waiting.next()) is not None:
        with op.location, ir.InsertionPoint(op):
            is_moved = _move(op, waiting)
        changed |= is_moved
    return changed


class _Waiting:
    """The reshapes that are still to be looked at.

    Their results identify them: the hash of an op changes with its operands.
    """

    def __init__(self, reshapes: Iterable[Any], nests: Collection[Any]) -> None:
        self.nests = nests
        self._results = dict.fromkeys(op.results[0] for op in reshapes)

    def next(self) -> Any:
        """Remove a reshape and return it; None if absent."""
        result = next(iter(self._results), None)
        self._results.pop(result, None)
        return None if result is None else producer(result)

    def add(self, value: Any) -> Any:
        """Add the reshape that makes a value, if one does, and return the value."""
        if (op := producer(value)) is not None and op.name in RESHAPES:
            self._results[op.results[0]] = None
        return value

    def replace(self, old: Any, new: Any) -> None:
        """Put a value in the place of another; the reshapes that read it wait."""
        old.replace_all_uses_with(new)
        for use in new.uses:
            for result in use.owner.operation.results:
                self.add(result)

    def erase(self, op: Any) -> None:
        """Erase a reshape that is not read."""
        self._results.pop(op.results[0], None)
        op.erase()


def _move(op: Any, waiting: _Waiting) -> bool:
    """Move a reshape or fold it, at the insertion point, and return whether that was done."""
    source, type_ = producer(op.operands[0]), op.results[0].type
    if is_unused(op.results[0]):
        waiting.erase(op)
        return True
    if source is not None and source.name in RESHAPES:
        return _fold(source, op, waiting)
    if source is not None and source.name == "linalg.generic":
        if (number := filled_with(source)) is not None:
            sizes = mixed_sizes(sizes_of(op.results[0]))
            waiting.replace(op.results[0], filled(type_, sizes, number))
            waiting.erase(op)
            if is_unused(source.results[0]):
                source.erase()
            return True
        if op.name == EXPAND and is_on_tensors(source) and source.block == op.block:
            return _expand_producer(source, op, waiting)
    return op.name == COLLAPSE and _expand_reader(op, waiting)


def _expand_producer(source: Any, op: Any, waiting: _Waiting) -> bool:
    """Have an op compute the expansion of its result, which an op that it may join reads alone."""
    if sum(1 for result in source.results for _ in result.uses) > 1:
        return False
    if not any(_may_join(use.owner.operation, waiting) for use in op.results[0].uses):
        return False
    number = ir.OpResult(op.operands[0]).result_number
    at = input_count(source) + number
    if source.results[0] in waiting.nests:
        return False
    expansion = LoopExpansion.of(source, at, groups_of(op), sizes_of(op.results[0]))
    if expansion is None:
        return False
    new = expansion.build({}, waiting.add)
    waiting.replace(op.results[0], new.results[number])
    waiting.erase(op)
    source.erase()
    return True


def _may_join(reader: Any, waiting: _Waiting) -> bool:
    return reader.name == "linalg.generic" and reader.results[0] not in waiting.nests


def _expand_reader(op: Any, waiting: _Waiting) -> bool:
    """Have the only op that reads a collapsed tensor read it as it was before."""
    before, collapsed = op.operands[0], op.results[0]
    uses = list(collapsed.uses)
    reader = uses[0].owner.operation
    if reader.name != "linalg.generic" or not is_on_tensors(reader):
        return False
    if reader.results[0] in waiting.nests:
        return False
    places = [use.operand_number for use in uses]
    if any(use.owner.operation != reader for use in uses) or max(places) >= input_count(reader):
        return False
    maps = maps_of(reader)
    if any(maps[at] != maps[places[0]] for at in places):
        return False
    expansion = LoopExpansion.of(reader, places[0], groups_of(op), sizes_of(before))
    if expansion is None:
        return False
    with reader.location, ir.InsertionPoint(reader):
        new = expansion.build(dict.fromkeys(places, before), waiting.add)
        for old, value in zip(list(reader.results), new.results, strict=True):
            result = value
            if old.type != value.type:
                groups = expansion.groups(
                    maps[input_count(reader) + ir.OpResult(old).result_number]
                )
                result = waiting.add(tensor.CollapseShapeOp(old.type, value, groups).result)
            waiting.replace(old, result)
    reader.erase()
    waiting.erase(op)
    return True


@dataclass(frozen=True)
class _Segment:
    """Neighbouring axes of a tensor, and those that they become, of as many elements.

    Attributes:
        before: the sizes of the axes.
        after: the sizes of those that they become.
    """

    before: tuple[Number, ...]
    after: tuple[Number, ...]

    @property
    def is_mixed(self) -> bool:
        """True where several axes become several others."""
        return len(self.before) > 1 and len(self.after) > 1


Sizes: TypeAlias = Sequence[tuple[Number, ...]]
"""The sizes of a tensor, segment by segment."""


def _fold(inner: Any, outer: Any, waiting: _Waiting) -> bool:
    """Make two reshapes an expansion and a collapse of the result, or only one of these.

    Several axes that become several others are collapsed and then expanded, as before.
    """
    segments = _segments(inner, outer)
    grow = [len(segment.after) > 1 and not segment.is_mixed for segment in segments]
    shrink = [len(segment.before) > 1 for segment in segments]
    is_mixed = any(segment.is_mixed for segment in segments)
    if inner.name == EXPAND and (is_mixed or (any(grow) and any(shrink))):
        return False
    if (
        is_mixed
        and not any(grow)
        and sum(shrink) == sum(len(axes) > 1 for axes in groups_of(inner))
    ):
        return False
    stages: list[Sizes] = [
        [part.before for part in segments],
        [part.after if grows else part.before for part, grows in zip(segments, grow, strict=True)],
        [(product(part.before),) if part.is_mixed else part.after for part in segments],
        [part.after for part in segments],
    ]
    value = inner.operands[0]
    for now, then in pairwise(stages):
        value = waiting.add(_reshaped(value, now, then))
    if value.type != outer.results[0].type:
        value = tensor.cast(outer.results[0].type, value)
    waiting.replace(outer.results[0], value)
    waiting.erase(outer)
    if is_unused(inner.results[0]):
        waiting.erase(inner)
    return True


def _reshaped(value: Any, now: Sizes, then: Sizes) -> Any:
    """Return a tensor with each segment of its sizes collapsed, or each expanded."""
    longest = [max(pair, key=len) for pair in zip(now, then, strict=True)]
    if all(len(before) == len(after) for before, after in zip(now, then, strict=True)):
        return value
    groups: list[list[int]] = []
    for before, after, sizes in zip(now, then, longest, strict=True):
        end = groups[-1][-1] + 1 if groups else 0
        axes = list(range(end, end + len(sizes)))
        groups += [axes] if len(before) != len(after) else [[axis] for axis in axes]
    sizes_before, sizes_after = ([n for segment in sizes for n in segment] for sizes in (now, then))
    if not sizes_before or not sizes_after:
        groups = []  # of a tensor of rank 0
    type_ = tensor_type(sizes_after, value.type)
    if len(sizes_after) < len(sizes_before):
        return tensor.CollapseShapeOp(type_, value, groups).result
    return expand(value, type_, groups, sizes_after)


def _segments(inner: Any, outer: Any) -> list[_Segment]:
    """Return the axes before two reshapes with those after them, in the shortest segments."""
    old, new = sizes_of(inner.operands[0]), sizes_of(outer.results[0])
    before = {middle: axis for axis, middle in _ends(inner)}
    after = dict(_ends(outer))
    common = sorted(before.keys() & after.keys())
    return [
        segment
        for start, end in pairwise(common)
        for segment in _refined(old[before[start] : before[end]], new[after[start] : after[end]])
    ]


def _ends(reshape: Any) -> list[tuple[int, int]]:
    """Return the places between axes that a reshape keeps: before it, and after it."""
    groups = groups_of(reshape)
    ends = [0, *accumulate(map(len, groups))]
    pairs = list(zip(ends, range(len(ends)), strict=True))
    if not groups:  # one side has rank 0
        sides = (reshape.operands[0], reshape.results[0])
        pairs.append((max(ir.ShapedType(side.type).rank for side in sides), 0))
    return [pair if reshape.name == COLLAPSE else pair[::-1] for pair in pairs]


def _refined(before: tuple[Number, ...], after: tuple[Number, ...]) -> Iterator[_Segment]:
    if len(before) == 1 or len(after) == 1:
        yield _Segment(before, after)
    elif all(isinstance(size, int) and size > 0 for size in (*before, *after)):
        yield from _of_equal_products(before, after)
    elif len(before) == len(after) and all(map(_is_same, before, after)):
        yield from (_Segment((old,), (new,)) for old, new in zip(before, after, strict=True))
    else:
        yield _Segment(before, after)


def _of_equal_products(before: tuple[Any, ...], after: tuple[Any, ...]) -> Iterator[_Segment]:
    """Cut static sizes wherever as many elements are before the place as after the reshapes."""
    old, new = ([1, *accumulate(sizes, operator.mul)] for sizes in (before, after))
    cuts = [(0, 0)]
    for at, elements in enumerate(old[1:-1], 1):
        if elements in new[cuts[-1][1] + 1 : -1]:
            cuts.append((at, new.index(elements, cuts[-1][1] + 1)))
    for start, end in pairwise([*cuts, (len(before), len(after))]):
        yield _Segment(before[start[0] : end[0]], after[start[1] : end[1]])


def _is_same(old: Number, new: Number) -> bool:
    return is_eq(by_origin(old), by_origin(new)) is True
