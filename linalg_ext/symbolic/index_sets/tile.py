"""Tiles, points and filters: subsets of an index space, checked against it and composed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, final

from linalg_ext.errors import ArgumentTypeError, SubsetError, caller_location
from linalg_ext.symbolic.integers import Number, Operand, as_number, is_le, substitute


@final
@dataclass(frozen=True, init=False, repr=False)
class Tile:
    """A rectangular subset: in dimension d the indices `offset + k*stride`, k from 0 to below size.

    Args:
        offsets: the first index in each dimension, relative to the root; never negative.
        sizes: how many indices in each dimension; 0 makes the whole tile empty.
        strides: the distance of two neighbours in each dimension; 1 if not given. A stride of 0
            names one index `size` times.

    A tile of rank 0 holds one element. Numbers that are not known are taken to keep these rules.

    Raises:
        SubsetError: the three do not have one length, or a known number is negative.
    """

    offsets: tuple[Number, ...]
    sizes: tuple[Number, ...]
    strides: tuple[Number, ...]

    def __init__(
        self,
        offsets: Sequence[Operand],
        sizes: Sequence[Operand],
        strides: Sequence[Operand] | None = None,
    ) -> None:
        object.__setattr__(self, "offsets", _as_numbers("offsets", offsets))
        object.__setattr__(self, "sizes", _as_numbers("sizes", sizes))
        strides = (1,) * self.rank if strides is None else _as_numbers("strides", strides)
        object.__setattr__(self, "strides", strides)
        if not len(self.offsets) == len(self.sizes) == len(self.strides):
            raise SubsetError(
                f"a tile of {len(self.offsets)} offsets, {len(self.sizes)} sizes and "
                f"{len(self.strides)} strides",
                where=caller_location(),
                expected="one of each for every dimension",
            )
        for name in ("offset", "size", "stride"):
            _check_none_negative(name, getattr(self, f"{name}s"))

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.sizes)

    def offset(self, dim: int) -> Number:
        """The first index in a dimension, relative to the root."""
        return self.offsets[checked_dimension(dim, self.rank)]

    def size(self, dim: int) -> Number:
        """The number of indices in a dimension."""
        return self.sizes[checked_dimension(dim, self.rank)]

    def stride(self, dim: int) -> Number:
        """The distance of neighbours in a dimension, relative to the root."""
        return self.strides[checked_dimension(dim, self.rank)]

    def last(self, dim: int) -> Number:
        """The last index in a dimension; below the offset where the size is 0."""
        return self.offset(dim) + (self.size(dim) - 1) * self.stride(dim)

    def __str__(self) -> str:
        parts = (self.offsets, self.sizes, self.strides)
        return "Tile" + "".join(f"[{', '.join(map(str, part))}]" for part in parts)

    __repr__ = __str__


@final
@dataclass(frozen=True, init=False, repr=False)
class Point:
    """A single element, by its index in each dimension of the root.

    Raises:
        SubsetError: a known index is negative.
    """

    indices: tuple[Number, ...]

    def __init__(self, indices: Sequence[Operand]) -> None:
        object.__setattr__(self, "indices", _as_numbers("indices", indices))
        _check_none_negative("index", self.indices)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.indices)

    def offset(self, dim: int) -> Number:
        """The index in a dimension."""
        return self.indices[checked_dimension(dim, self.rank)]

    def size(self, dim: int) -> Number:
        """The number of indices in a dimension: one."""
        checked_dimension(dim, self.rank)
        return 1

    stride = size

    def __str__(self) -> str:
        return f"Point[{', '.join(map(str, self.indices))}]"

    __repr__ = __str__


@final
@dataclass(frozen=True)
class Filter:
    """The elements of a whole space at indices that only the run tells.

    Args:
        sizes: the shape of the space. The materialized part has this shape, zero elsewhere.
        indices: the value that holds the indices, which tells this selection from others.
    """

    sizes: tuple[Number, ...]
    indices: Hashable

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.sizes)


Subset = Tile | Point | Filter


def full(shape: Sequence[Operand]) -> Tile:
    """All of a space of the given sizes."""
    sizes = _as_numbers("sizes", shape)
    return Tile((0,) * len(sizes), sizes)


def as_tile(subset: Subset) -> Tile:
    """The smallest tile that holds a subset: of a point its size is 1, of a filter it is all."""
    if isinstance(subset, Tile):
        return subset
    if isinstance(subset, Point):
        return Tile(subset.indices, (1,) * subset.rank)
    return full(subset.sizes)


def indices(subset: Tile | Point) -> Iterator[tuple[int, ...]]:
    """The index vectors of a subset whose numbers are all known, the last dimension fastest.

    Raises:
        SubsetError: a number is not known.
    """
    tile = as_tile(subset)
    ranges = []
    for offset, size, stride in zip(tile.offsets, tile.sizes, tile.strides, strict=True):
        if not isinstance(offset, int) or not isinstance(size, int) or not isinstance(stride, int):
            raise SubsetError(
                f"the elements of {subset} are not known",
                where=caller_location(),
                hint="put values in for its symbols with `replaced`",
            )
        ranges.append([offset + k * stride for k in range(size)])
    return itertools.product(*ranges)


def checked_dimension(dim: int, rank: int) -> int:
    """The dimension itself; a SubsetError where a subset of that rank has no such dimension."""
    if not 0 <= dim < rank:
        raise SubsetError(
            f"dimension {dim} of a subset of rank {rank}",
            where=caller_location(),
            expected=f"a dimension from 0 to {rank - 1}" if rank else "none: it has no dimension",
        )
    return dim


def _as_numbers(name: str, numbers: Sequence[Operand]) -> tuple[Number, ...]:
    if not isinstance(numbers, Sequence) or isinstance(numbers, str):
        raise ArgumentTypeError(
            f"{name} are {numbers!r}",
            where=caller_location(),
            expected="a list or tuple with a number for each dimension",
        )
    return tuple(as_number(number) for number in numbers)


def _check_none_negative(name: str, numbers: Sequence[Number]) -> None:
    for dim, number in enumerate(numbers):
        if is_le(0, number) is False:
            raise SubsetError(
                f"expected {name} = {number} to be non-negative, in dimension {dim}",
                where=caller_location(),
                hint="sets are counted from the start of their root: give 0 or more",
            )


def check_within(subset: Subset, shape: Sequence[Operand]) -> None:
    """Raise if a subset is known to leave a space; a condition that depends on the run is accepted.

    An empty tile may begin just behind the last index.

    Raises:
        SubsetError: the ranks differ, or an element lies outside; the message says which.
    """
    sizes = [as_number(size) for size in shape]
    if subset.rank != len(sizes):
        raise SubsetError(
            f"a subset of rank {subset.rank} of a superset of rank {len(sizes)}",
            where=caller_location(),
            expected="equal ranks",
            hint="drop_dims takes dimensions away from a subset",
        )
    if isinstance(subset, Filter):
        return
    for dim, available in enumerate(sizes):
        if isinstance(subset, Point):
            _check_index(subset.offset(dim), available, dim)
        else:
            _check_range(subset, available, dim)


def _check_index(index: Number, available: Number, dim: int) -> None:
    if is_le(index, available - 1) is False:
        raise SubsetError(
            f"expected index = {index} to be between 0 and {available - 1}, in dimension {dim}",
            where=caller_location(),
            hint=f"take an index below {available}",
        )


def _check_range(tile: Tile, available: Number, dim: int) -> None:
    offset, size, stride = tile.offset(dim), tile.size(dim), tile.stride(dim)
    is_never_empty = is_le(1, size) is True
    if is_le(offset, available - 1 if is_never_empty else available) is False:
        raise SubsetError(
            f"offset = {offset} is out of bounds in dimension {dim} of size {available}",
            where=caller_location(),
            hint=f"take an offset below {available}",
        )
    if is_never_empty and is_le(tile.last(dim), available - 1) is False:
        raise SubsetError(
            f"offset = {offset} size = {size} stride = {stride} causes access out of bounds "
            f"at {tile.last(dim)} in dimension {dim} of size {available}",
            where=caller_location(),
            hint="take a smaller offset, size or stride: the last element is at offset + "
            f"(size - 1) * stride, and must be below {available}",
        )


T = TypeVar("T", Tile, Point)


def compose(inner: T, outer: Tile) -> T:
    """A subset of a tile, as a subset of the root.

    Args:
        inner: a tile or a point, relative to `outer`.
        outer: a tile, relative to the root.

    Raises:
        SubsetError: the ranks differ, or `inner` is known to leave `outer`.
    """
    if not isinstance(inner, (Tile, Point)) or not isinstance(outer, Tile):
        raise SubsetError(
            f"a {type(inner).__name__} of a {type(outer).__name__} is not a subset of the root",
            where=caller_location(),
            expected="a tile or a point of a tile",
        )
    check_within(inner, outer.sizes)
    starts = inner.offsets if isinstance(inner, Tile) else inner.indices
    offsets = [
        offset + stride * start
        for offset, stride, start in zip(outer.offsets, outer.strides, starts, strict=True)
    ]
    if isinstance(inner, Point):
        return Point(offsets)
    strides = [
        outer_stride * stride
        for outer_stride, stride in zip(outer.strides, inner.strides, strict=True)
    ]
    return Tile(offsets, inner.sizes, strides)


def drop_dims(subset: T, remaining: Sequence[int]) -> T:
    """A subset of the space of some dimensions alone: those that remain, in ascending order.

    Raises:
        SubsetError: a dimension is not there, or the list does not ascend.
    """
    if any(a >= b for a, b in itertools.pairwise(remaining)):
        raise SubsetError(
            f"remaining dimensions {list(remaining)} do not ascend",
            where=caller_location(),
            expected="each dimension once, the smallest first",
            hint="change their order with transpose_dims",
        )
    dims = [checked_dimension(dim, subset.rank) for dim in remaining]
    return _map_numbers(subset, lambda numbers: [numbers[dim] for dim in dims])


def transpose_dims(subset: T, permutation: Sequence[int]) -> T:
    """A subset with its dimensions in another order: dimension d is the former `permutation[d]`
    was.

    Raises:
        SubsetError: the list is not a permutation of the dimensions.
    """
    if sorted(permutation) != list(range(subset.rank)):
        raise SubsetError(
            f"{list(permutation)} is not a permutation of {subset.rank} dimensions",
            where=caller_location(),
            expected=f"each of {list(range(subset.rank))} once",
        )
    return _map_numbers(subset, lambda numbers: [numbers[dim] for dim in permutation])


def replaced(subset: T, values: Mapping[Any, Operand]) -> T:
    """A subset with numbers put in for some of its symbols, by key.

    Raises:
        SubsetError: the result is not a tile: a size is negative, for example.
    """
    return _map_numbers(subset, lambda numbers: [substitute(number, values) for number in numbers])


def _map_numbers(subset: T, pick: Callable[[tuple[Number, ...]], list[Number]]) -> T:
    if isinstance(subset, Point):
        return Point(pick(subset.indices))
    return Tile(pick(subset.offsets), pick(subset.sizes), pick(subset.strides))
