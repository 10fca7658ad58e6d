"""The graph of a call: chunks that fit together, a kernel on each block, trees of partial sums."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.utils import parse_bytes

from linalg_ext.definition.functions import Function
from linalg_ext.definition.numpy_functions import apply_function
from linalg_ext.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError, kind_of
from linalg_ext.executable.arguments import as_array
from linalg_ext.runtime.dtypes import DType, by_dtype
from linalg_ext.runtime.threads import checked
from linalg_ext.target.text import bytes_text
from linalg_ext.tracing.values.containers import leaves_of
from linalg_ext.utils.hooks import is_dask

Array = np.ndarray[Any, DType]
AnyArray = Any
"""A dask array, or one of NumPy's: dask has no types that a checker could tell apart."""


def known_array(value: Any, name: str) -> AnyArray:
    """Return an operand as a dask array, or as one of NumPy's if it is in memory.

    Raises:
        ShapeError: the sizes of its chunks are not known.
        ArgumentTypeError: it is a collection of dask's other than an array.
        ArgumentError: it is not an array, or has elements of a type that MLIR lacks.
    """
    if not is_dask(value):
        return as_array(value, name)
    if not isinstance(value, da.Array):
        raise ArgumentTypeError(
            f"{name} is {kind_of(value)} of dask's",
            expected="a dask array",
            hint="of a delayed value: dask.array.from_delayed(value, shape, dtype); of a data "
            "frame: frame.to_dask_array(lengths=True)",
        )
    try:
        by_dtype(value.dtype)
    except DTypeError as error:
        error.what = f"{name}: {error.what}"
        raise
    if any(math.isnan(size) for sizes in value.chunks for size in sizes):
        raise ShapeError(
            f"{name} has chunks of unknown sizes, shape {value.shape}",
            expected="known sizes: they are checked against each other before anything runs",
            hint="x.compute_chunk_sizes() computes them",
        )
    return value


def refuse_out(name: str, out: Any, argument_kind: str = "an operand") -> None:
    """Raise if there is an `out=`: results of dask's graph are new."""
    if out is not None:
        raise ArgumentError(
            f"{name}: out= where {argument_kind} is a dask array",
            hint="leave it out; dask.array.store(result, target) writes it to memory or a file",
        )


def threads_of_blocks(threads: int | None) -> int:
    """Return the number of threads of a call on a block.

    The default is one, since dask runs several calls at a time.

    Raises:
        ArgumentError: not a number of threads.
    """
    return 1 if threads is None else checked(threads)


def empty_meta(rank: int, dtype: DType) -> Array:
    """Return an empty array from which dask reads the kind, the rank and the dtype of a result."""
    return np.empty((0,) * rank, dtype)


Chunks = tuple[int, ...]

PANEL_BYTES = 16 << 20
"""The size limit of a block that is merged along a reduced dimension.

A block that is multiplied with many others is read by as many tasks, and each of their products is
an array to add up. Longer blocks need fewer products. Beyond this limit a worker would have to hold
much of an operand.
"""


@dataclass(frozen=True)
class BlockedOperand:
    """An operand.

    Attributes:
        array: dask's, or one of NumPy's.
        dims: the dimension of each axis.
        name: its name in errors.
    """

    array: AnyArray
    dims: tuple[str, ...]
    name: str

    @property
    def is_chunked(self) -> bool:
        """Return whether it is dask's."""
        return isinstance(self.array, da.Array)


def fitting_chunks(
    inputs: Sequence[BlockedOperand], whole: Mapping[str, str], reduced: frozenset[str]
) -> dict[str, Chunks]:
    """Return the chunks of each dimension of the operands.

    If operands are cut differently, the largest of them decides: cutting at the borders of all
    would make blocks of many shapes, and each shape is a kernel.

    Args:
        whole: dimensions that must be in one chunk, and why.
        reduced: those whose blocks give partial results.

    Raises:
        ShapeError: whole dimensions would make a block too large.
    """
    chunks: dict[str, Chunks] = {}
    # Operands of one size stay in the order that the user wrote.
    by_size = sorted(inputs, key=lambda operand: (not operand.is_chunked, -operand.array.nbytes))
    for operand in by_size:
        own = operand.array.chunks if operand.is_chunked else _new_chunks(operand, chunks)
        for dim, sizes, size in zip(operand.dims, own, operand.array.shape, strict=True):
            cut = tuple(part for part in sizes if part) or (0,)
            chunks.setdefault(dim, (size,) if dim in whole else cut)
    for operand in inputs:
        _check_whole(operand, chunks, whole)
    return _with_panels(inputs, chunks, reduced - whole.keys())


def in_chunks(operand: BlockedOperand, chunks: Mapping[str, Chunks]) -> AnyArray:
    """Return an operand as a dask array with these chunks."""
    chunks_of_axes = tuple(chunks[dim] for dim in operand.dims)
    if not operand.is_chunked:
        return da.from_array(operand.array, chunks=chunks_of_axes, asarray=False)
    return (
        operand.array
        if operand.array.chunks == chunks_of_axes
        else operand.array.rechunk(chunks_of_axes)
    )


def _new_chunks(operand: BlockedOperand, chunks: Mapping[str, Chunks]) -> tuple[Chunks, ...]:
    """Return chunks for an array of NumPy's: those of dask arrays, or else dask's choice."""
    requested = tuple(chunks.get(dim, "auto") for dim in operand.dims)
    normalized: tuple[Chunks, ...] = da.core.normalize_chunks(
        requested, operand.array.shape, dtype=operand.array.dtype
    )
    return normalized


def _check_whole(
    operand: BlockedOperand, chunks: Mapping[str, Chunks], whole: Mapping[str, str]
) -> None:
    """Raise where blocks would be merged into one that is too large."""
    if not operand.is_chunked:
        return
    merged = [
        axis
        for axis, (dim, sizes) in enumerate(zip(operand.dims, operand.array.chunks, strict=True))
        if dim in whole and len(sizes) > 1
    ]
    size = block_bytes(operand, chunks)
    limit = parse_bytes(dask.config.get("array.chunk-size", "128MiB"))
    if not merged or size <= limit:
        return
    reasons = dict.fromkeys(whole[operand.dims[axis]] for axis in merged)
    free = [a for a, dim in enumerate(operand.dims) if dim not in whole and max(chunks[dim]) > 1]
    hint = f"allow it: dask.config.set({{'array.chunk-size': '{-(-size >> 20)}MiB'}})"
    if free:
        hint = f"give it smaller chunks along axis {', '.join(map(str, free))}, or {hint}"
    raise ShapeError(
        f"{operand.name} would be in blocks of {bytes_text(size)}: its axis "
        f"{', '.join(map(str, merged))} must be in one chunk",
        expected=f"blocks of {bytes_text(limit)} at most, dask's array.chunk-size",
        hint=hint,
        notes=list(reasons),
    )


def block_bytes(operand: BlockedOperand, chunks: Mapping[str, Chunks]) -> int:
    """Return the size of the largest block of an operand, in bytes."""
    elements = math.prod(max(chunks[dim]) for dim in dict.fromkeys(operand.dims))
    return int(elements * operand.array.dtype.itemsize)


def _with_panels(
    inputs: Sequence[BlockedOperand], chunks: dict[str, Chunks], reduced: frozenset[str]
) -> dict[str, Chunks]:
    """Merge neighbours along reduced dimensions if each block is read by many tasks."""
    dims = frozenset(chunks)

    def is_reused(operand: BlockedOperand) -> bool:
        return any(len(chunks[dim]) > 1 for dim in dims - set(operand.dims))

    if not all(map(is_reused, inputs)):
        return chunks
    while True:
        cut = [dim for dim in sorted(reduced & dims) if len(chunks[dim]) > 1]
        if not cut:
            return chunks
        longest = max(cut, key=lambda dim: len(chunks[dim]))
        sizes = chunks[longest]
        pairs = tuple(sum(sizes[first : first + 2]) for first in range(0, len(sizes), 2))
        merged = {**chunks, longest: pairs}
        if any(block_bytes(operand, merged) > PANEL_BYTES for operand in inputs):
            return chunks
        chunks = merged


@dataclass(frozen=True)
class BlockedResult:
    """A result.

    Attributes:
        dims: the dimension of each axis, each once.
        shape: its shape.
        dtype: its dtype.
        combine: the function that reduces over dimensions that it lacks; None if there are none.
        init: an array that is combined with it in the end.
    """

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: DType
    combine: Function | None = None
    init: AnyArray | None = None


def apply_to_blocks(
    function: Callable[..., Any],
    name: str,
    inputs: Sequence[BlockedOperand],
    outputs: Sequence[BlockedResult],
    whole: Mapping[str, str],
) -> tuple[AnyArray, ...]:
    """Return dask arrays of the results of a function on each block; nothing runs.

    Args:
        function: takes a block of each input and returns one result, or a tuple of them; it can be
            pickled.
        outputs: the results. A dimension that one lacks is reduced over.
        whole: dimensions that must be in one chunk, and why.

    Raises:
        ShapeError: whole dimensions would make a block too large.
    """
    common_dims = frozenset.intersection(*(frozenset(output.dims) for output in outputs))
    reduced = frozenset(dim for operand in inputs for dim in operand.dims) - common_dims
    chunks = fitting_chunks(inputs, whole, reduced)
    # Dimensions that no operand has, such as the positions of windows, are whole.
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
    name: str
    inputs: tuple[BlockedOperand, ...]
    chunks: Mapping[str, Chunks]

    @property
    def cut(self) -> tuple[str, ...]:
        """Return the dimensions that are in more than one chunk."""
        return tuple(dim for dim, sizes in self.chunks.items() if len(sizes) > 1)

    def partial(self, output: BlockedResult) -> tuple[str, ...]:
        """Return the dimensions that a result is in parts along, and has not itself."""
        return tuple(dim for dim in self.cut if dim not in output.dims)

    def blocks(self, function: Callable[..., Any], output: BlockedResult) -> AnyArray:
        """Return the only result: its dimensions, then one of a part each for reduced ones."""
        partial = self.partial(output)
        on_blocks = functools.partial(_on_blocks, function, len(partial))
        return self._blockwise(
            on_blocks, self.name, (*output.dims, *partial), partial, output.dtype
        )

    def packed(self, function: Callable[..., Any]) -> AnyArray:
        """Return all results of each block, as tuples."""
        on_blocks = functools.partial(_on_blocks, function, 0)
        return self._blockwise(on_blocks, self.name, self.cut, (), np.dtype(object))

    def part(self, packed: AnyArray, number: int, output: BlockedResult) -> AnyArray:
        """One of the results."""
        partial = self.partial(output)
        return _blockwise(
            functools.partial(_on_blocks, operator.itemgetter(number), len(partial)),
            f"{self.name}-{number}",
            (*output.dims, *partial),
            [(packed, self.cut)],
            {dim: self.chunks[dim][0] for dim in output.dims if dim not in self.cut},
            partial,
            output.dtype,
        )

    def finished(self, blocks: AnyArray, output: BlockedResult) -> AnyArray:
        """Return a result, its parts combined."""
        rank = len(output.dims)
        function = output.combine
        if function is None:
            return blocks
        if blocks.ndim > rank:
            blocks = combined(blocks, tuple(range(rank, blocks.ndim)), function, self.name)
        if output.init is None:
            return blocks
        init = in_chunks(BlockedOperand(output.init, output.dims, "init"), self.chunks)
        operands = [(init, output.dims), (blocks, output.dims)]
        name = f"{self.name}-init"
        folded = functools.partial(_folded, function)
        return _blockwise(folded, name, output.dims, operands, {}, (), output.dtype)

    def _blockwise(
        self,
        function: Callable[..., Any],
        name: str,
        dims: tuple[str, ...],
        partial: tuple[str, ...],
        dtype: DType,
    ) -> AnyArray:
        operands = [(in_chunks(operand, self.chunks), operand.dims) for operand in self.inputs]
        operand_dims = {dim for operand in self.inputs for dim in operand.dims}
        new = {dim: self.chunks[dim][0] for dim in dims if dim not in operand_dims}
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


def _on_blocks(function: Callable[..., Any], count: int, *blocks: Any) -> Any:
    """Return a function of blocks, with a number of last axes of length 1."""
    # Dask gives lists of blocks along dimensions that the result lacks: here of one each.
    return _with_axes(function(*map(_only, blocks)), count)


def _only(block: Any) -> Any:
    while isinstance(block, list):
        (block,) = block
    return block


def _with_axes(result: Any, count: int) -> Any:
    return result.reshape(result.shape + (1,) * count) if count else result


_IN_PLACE = {
    "add": np.add,
    "mul": np.multiply,
    "max_signed": np.maximum,
    "min_signed": np.minimum,
}


def _folded(function: Function, *arrays: Array) -> Array:
    """Return arrays of one shape and dtype, folded by an associative function from the left."""
    first, *rest = arrays
    if not rest:
        return first
    # Other tasks may read the operands: only new arrays are written.
    total = apply_function(function, (first, rest[0]))
    in_place = _IN_PLACE.get(function.name)
    with np.errstate(all="ignore"):
        for array in rest[1:]:
            if in_place is not None and total.ndim:
                in_place(total, array, out=total)
            else:
                total = apply_function(function, (total, array))
    return total


def _node(function: Function, blocks: Any, axis: tuple[int, ...], keepdims: bool) -> Array:
    """Return nested lists of blocks folded: a node of a tree of `dask.array.reduction`."""
    total = _folded(function, *leaves_of(blocks))
    return total if keepdims else total.reshape(np.delete(total.shape, axis))


def combined(partial: AnyArray, axes: tuple[int, ...], function: Function, name: str) -> AnyArray:
    """Combine partial results, of which each block has one, along axes that the result lacks."""
    node = functools.partial(_node, function)
    return da.reduction(
        partial,
        chunk=_as_it_is,
        combine=node,
        aggregate=node,
        axis=axes,
        concatenate=False,
        dtype=partial.dtype,
        meta=empty_meta(partial.ndim - len(axes), partial.dtype),
        name=f"{name}-{function.name}",
    )


def _as_it_is(block: Array, axis: tuple[int, ...], keepdims: bool) -> Array:
    return block
