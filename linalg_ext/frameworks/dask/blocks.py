"""The graph of a call: a kernel on each block, and trees of what blocks give in part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np

from linalg_ext.definition.functions import Function
from linalg_ext.frameworks.dask.chunks import Chunks, Given, fitting_chunks, in_chunks
from linalg_ext.frameworks.dask.operands import AnyArray, empty_meta
from linalg_ext.frameworks.dask.trees import Combine, combined
from linalg_ext.runtime.dtypes import DType


@dataclass(frozen=True)
class Wanted:
    """A result.

    Attributes:
        dims: the dimension of each axis, each once.
        shape: its shape.
        dtype: its dtype.
        combine: the function by which dimensions that it lacks are reduced over; None for none.
        init: what is combined with it at last.
    """

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: DType
    combine: Function | None = None
    init: AnyArray | None = None


def in_blocks(
    function: Callable[..., Any],
    name: str,
    inputs: Sequence[Given],
    outputs: Sequence[Wanted],
    whole: Mapping[str, str],
) -> tuple[AnyArray, ...]:
    """Dask arrays of what a function gives for each block; nothing runs.

    Args:
        function: takes a block of each input and gives one result, or a tuple of them; it can be
            pickled.
        name: what the tasks are called.
        inputs: the operands.
        outputs: the results. A dimension that one lacks is reduced over.
        whole: dimensions that must be in one chunk, and why.

    Raises:
        ShapeError: whole dimensions would make a block too large.
    """
    kept = frozenset.intersection(*(frozenset(output.dims) for output in outputs))
    reduced = frozenset(dim for given in inputs for dim in given.dims) - kept
    chunks = fitting_chunks(inputs, whole, reduced)
    # Sizes that no operand has, as that of the windows' positions, are whole.
    for output in outputs:
        for dim, size in zip(output.dims, output.shape, strict=True):
            chunks.setdefault(dim, (size,))
    grid = _Grid(name, tuple(inputs), chunks)
    if len(outputs) == 1:
        return (grid.finished(grid.blocks(function, outputs[0]), outputs[0]),)
    packed = grid.packed(function)
    return tuple(
        grid.finished(grid.part(packed, number, output), output)
        for number, output in enumerate(outputs)
    )


@dataclass(frozen=True)
class _Grid:
    """The blocks of the iteration space."""

    name: str
    inputs: tuple[Given, ...]
    chunks: Mapping[str, Chunks]

    @property
    def cut(self) -> tuple[str, ...]:
        """The dimensions that are in more than one chunk."""
        return tuple(dim for dim, sizes in self.chunks.items() if len(sizes) > 1)

    def partial(self, output: Wanted) -> tuple[str, ...]:
        """The dimensions that a result is in parts along, and has not itself."""
        return tuple(dim for dim in self.cut if dim not in output.dims)

    def blocks(self, function: Callable[..., Any], output: Wanted) -> AnyArray:
        """The only result: its dimensions, then one of a part each for those reduced over."""
        partial = self.partial(output)
        made = _OnBlocks(function, len(partial))
        return self._blockwise(made, self.name, (*output.dims, *partial), partial, output.dtype)

    def packed(self, function: Callable[..., Any]) -> AnyArray:
        """All results of each block, as tuples."""
        made = _OnBlocks(function, 0)
        return self._blockwise(made, self.name, self.cut, (), np.dtype(object))

    def part(self, packed: AnyArray, number: int, output: Wanted) -> AnyArray:
        """One of the results."""
        partial = self.partial(output)
        return _blockwise(
            _Part(number, len(partial)),
            f"{self.name}-{number}",
            (*output.dims, *partial),
            [(packed, self.cut)],
            {dim: self.chunks[dim][0] for dim in output.dims if dim not in self.cut},
            partial,
            output.dtype,
        )

    def finished(self, blocks: AnyArray, output: Wanted) -> AnyArray:
        """A result, its parts combined."""
        rank = len(output.dims)
        function = output.combine
        if function is None:
            return blocks
        if blocks.ndim > rank:
            blocks = combined(blocks, tuple(range(rank, blocks.ndim)), function, self.name)
        if output.init is None:
            return blocks
        init = in_chunks(Given(output.init, output.dims, "init"), self.chunks)
        operands = [(init, output.dims), (blocks, output.dims)]
        name = f"{self.name}-init"
        return _blockwise(Combine(function), name, output.dims, operands, {}, (), output.dtype)

    def _blockwise(
        self,
        function: Callable[..., Any],
        name: str,
        dims: tuple[str, ...],
        partial: tuple[str, ...],
        dtype: DType,
    ) -> AnyArray:
        operands = [(in_chunks(given, self.chunks), given.dims) for given in self.inputs]
        had = {dim for given in self.inputs for dim in given.dims}
        new = {dim: self.chunks[dim][0] for dim in dims if dim not in had}
        return _blockwise(function, name, dims, operands, new, partial, dtype)


def _blockwise(
    function: Callable[..., Any],
    name: str,
    dims: tuple[str, ...],
    operands: Sequence[tuple[AnyArray, tuple[str, ...]]],
    new: Mapping[str, int],
    partial: tuple[str, ...],
    dtype: DType,
) -> AnyArray:
    return da.blockwise(
        function,
        dims,
        *(item for pair in operands for item in pair),
        new_axes=dict(new),
        adjust_chunks=dict.fromkeys(partial, 1),
        align_arrays=False,  # they are
        token=name,
        dtype=dtype,
        meta=empty_meta(len(dims), dtype),
    )


@dataclass(frozen=True)
class _OnBlocks:
    """A function of blocks, as dask calls it.

    Attributes:
        function: of arrays.
        partial: how many axes of length 1 its result gets, last.
    """

    function: Callable[..., Any]
    partial: int

    def __call__(self, *blocks: Any) -> Any:
        # Where a dimension is not in the result, dask gives lists of blocks: here of one each.
        arrays = [_only(block) for block in blocks]
        return _with_axes(self.function(*arrays), self.partial)


@dataclass(frozen=True)
class _Part:
    """One of several results."""

    number: int
    partial: int

    def __call__(self, results: Any) -> Any:
        return _with_axes(_only(results)[self.number], self.partial)


def _only(block: Any) -> Any:
    while isinstance(block, list):
        (block,) = block
    return block


def _with_axes(result: Any, count: int) -> Any:
    return result.reshape(result.shape + (1,) * count) if count else result
