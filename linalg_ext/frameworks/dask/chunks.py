"""Chunks that fit together: one way to cut each dimension, whichever operands have it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import dask
import dask.array as da
from dask.utils import parse_bytes

from linalg_ext.errors import ShapeError, caller_location
from linalg_ext.frameworks.dask.operands import AnyArray
from linalg_ext.target.text import bytes_text

Chunks = tuple[int, ...]

PANEL_BYTES = 16 << 20
"""The size limit of a block that is merged along a reduced dimension.

A block that is multiplied with many others is read by as many tasks, and each of their products is
an array to add up. Longer blocks need fewer products. Beyond this limit a worker would have to hold
much of an operand.
"""


@dataclass(frozen=True)
class Given:
    """An operand.

    Attributes:
        array: dask's, or one that is here already.
        dims: the dimension of each axis.
        name: what errors call it.
    """

    array: AnyArray
    dims: tuple[str, ...]
    name: str

    @property
    def is_chunked(self) -> bool:
        """Return whether it is dask's."""
        return isinstance(self.array, da.Array)


def fitting_chunks(
    inputs: Sequence[Given], whole: Mapping[str, str], reduced: frozenset[str]
) -> dict[str, Chunks]:
    """The chunks of each dimension of the operands.

    Where operands are cut differently, the largest of them decides: cutting at everybody's borders
    would make blocks of many shapes, and each shape is a kernel.

    Args:
        inputs: the operands.
        whole: dimensions that must be in one chunk, and why.
        reduced: those whose blocks give partial results.

    Raises:
        ShapeError: whole dimensions would make a block too large.
    """
    chunks: dict[str, Chunks] = {}
    # Of equals the first: the order that the user wrote.
    by_size = sorted(inputs, key=lambda given: (not given.is_chunked, -given.array.nbytes))
    for given in by_size:
        own = given.array.chunks if given.is_chunked else _new_chunks(given, chunks)
        for dim, sizes, size in zip(given.dims, own, given.array.shape, strict=True):
            cut = tuple(part for part in sizes if part) or (0,)
            chunks.setdefault(dim, (size,) if dim in whole else cut)
    for given in inputs:
        _check_whole(given, chunks, whole)
    return _with_panels(inputs, chunks, reduced - whole.keys())


def in_chunks(given: Given, chunks: Mapping[str, Chunks]) -> AnyArray:
    """An operand as a dask array with these chunks."""
    wanted = tuple(chunks[dim] for dim in given.dims)
    if not given.is_chunked:
        return da.from_array(given.array, chunks=wanted, asarray=False)
    return given.array if given.array.chunks == wanted else given.array.rechunk(wanted)


def _new_chunks(given: Given, chunks: Mapping[str, Chunks]) -> tuple[Chunks, ...]:
    """For an array that is here already: as the dask arrays are, else as dask would choose."""
    wanted = tuple(chunks.get(dim, "auto") for dim in given.dims)
    found: tuple[Chunks, ...] = da.core.normalize_chunks(
        wanted, given.array.shape, dtype=given.array.dtype
    )
    return found


def _check_whole(given: Given, chunks: Mapping[str, Chunks], whole: Mapping[str, str]) -> None:
    """Raise where blocks would be merged into one that is too large."""
    if not given.is_chunked:
        return
    merged = [
        axis
        for axis, (dim, sizes) in enumerate(zip(given.dims, given.array.chunks, strict=True))
        if dim in whole and len(sizes) > 1
    ]
    size = block_bytes(given, chunks)
    limit = parse_bytes(dask.config.get("array.chunk-size", "128MiB"))
    if not merged or size <= limit:
        return
    reasons = dict.fromkeys(whole[given.dims[axis]] for axis in merged)
    free = [a for a, dim in enumerate(given.dims) if dim not in whole and max(chunks[dim]) > 1]
    hint = f"allow it: dask.config.set({{'array.chunk-size': '{-(-size >> 20)}MiB'}})"
    if free:
        hint = f"give it smaller chunks along axis {', '.join(map(str, free))}, or {hint}"
    raise ShapeError(
        f"{given.name} would be in blocks of {bytes_text(size)}: its axis "
        f"{', '.join(map(str, merged))} must be in one chunk",
        where=caller_location(),
        expected=f"blocks of {bytes_text(limit)} at most, dask's array.chunk-size",
        hint=hint,
        notes=list(reasons),
    )


def block_bytes(given: Given, chunks: Mapping[str, Chunks]) -> int:
    """Return the size of the largest block of an operand, in bytes."""
    elements = math.prod(max(chunks[dim]) for dim in dict.fromkeys(given.dims))
    return int(elements * given.array.dtype.itemsize)


def _with_panels(
    inputs: Sequence[Given], chunks: dict[str, Chunks], reduced: frozenset[str]
) -> dict[str, Chunks]:
    """Neighbours merged along reduced dimensions, where each block is read by many tasks."""
    dims = frozenset(chunks)

    def is_reused(given: Given) -> bool:
        return any(len(chunks[dim]) > 1 for dim in dims - set(given.dims))

    if not all(map(is_reused, inputs)):
        return chunks
    while True:
        cut = [dim for dim in sorted(reduced & dims) if len(chunks[dim]) > 1]
        if not cut:
            return chunks
        longest = max(cut, key=lambda dim: len(chunks[dim]))
        merged = {**chunks, longest: tuple(_in_pairs(chunks[longest]))}
        if any(block_bytes(given, merged) > PANEL_BYTES for given in inputs):
            return chunks
        chunks = merged


def _in_pairs(sizes: Chunks) -> Iterator[int]:
    for place in range(0, len(sizes), 2):
        yield sum(sizes[place : place + 2])
