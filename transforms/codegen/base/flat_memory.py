"""Operands as flat memory: an element has one index, whatever the shape of its memref.

Elements of another type in memory are cast. Truth values are such: a byte each in memory, a bit
each in a vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

from .problem import Argument, Dimension, Group, Operand, Segment, bits_of
from .writer import Index, Writer

Piece: TypeAlias = "tuple[Index, str | None]"
"""A part of a vector: the index of lane 0, and the mask of the lanes that lie there."""


@dataclass(frozen=True)
class Memory:
    """A memref of rank 1 with unit stride, and the number of elements of a vector of it."""

    writer: Writer
    name: str
    type: str
    element: str
    lanes: int

    @property
    def vector(self) -> str:
        """The type of a vector."""
        return f"vector<{self.lanes}x{self.element}>"

    @property
    def mask(self) -> str:
        """The type of a mask."""
        return f"vector<{self.lanes}xi1>"

    def _at(self, index: Index) -> str:
        return f"{self.name}[{self.writer.value(index)}]"

    def load(self, index: Index) -> str:
        """Load an element."""
        return self.writer.op(f"memref.load {self._at(index)} : {self.type}")

    def store(self, value: str, index: Index) -> None:
        """Write an element."""
        self.writer.line(f"memref.store {value}, {self._at(index)} : {self.type}")

    def load_vector(self, index: Index, mask: str | None = None, rest: str | None = None) -> str:
        """Load a vector; where the mask is off, nothing is read and the lane is that of `rest`."""
        if mask is None:
            return self.writer.op(f"vector.load {self._at(index)} : {self.type}, {self.vector}")
        rest = rest or zero_vector(self.writer, self.element, self.lanes)
        return self.writer.op(
            f"vector.maskedload {self._at(index)}, {mask}, {rest} : "
            f"{self.type}, {self.mask}, {self.vector} into {self.vector}"
        )

    def prefetch(self, index: Index, *, writes: bool = False) -> None:
        """Prefetch a line; an address outside of the memory does no harm."""
        # Lines that are read are packed before they are used: L2 is near enough.
        kind = "write, locality<3>" if writes else "read, locality<2>"
        self.writer.line(f"memref.prefetch {self._at(index)}, {kind}, data : {self.type}")

    def store_vector(self, value: str, index: Index, mask: str | None = None) -> None:
        """Write a vector, where the mask is on."""
        if mask is None:
            self.writer.line(
                f"vector.store {value}, {self._at(index)} : {self.type}, {self.vector}"
            )
            return
        self.writer.line(
            f"vector.maskedstore {self._at(index)}, {mask}, {value} : "
            f"{self.type}, {self.mask}, {self.vector}"
        )

    def stream_vector(self, value: str, index: Index) -> None:
        """Write a vector past the caches; it is aligned to its own size."""
        size = self.lanes * bits_of(self.element) // 8
        self.writer.line(
            f"vector.store {value}, {self._at(index)} "
            f"{{nontemporal = true, alignment = {size} : i64}} : {self.type}, {self.vector}"
        )

    def load_pieces(self, pieces: Iterable[Piece]) -> str:
        """Load a vector from its pieces; lanes of no piece are 0."""
        value = None
        for index, mask in pieces:
            value = self.load_vector(index, mask, value)
        if value is None:
            raise AssertionError("a vector without pieces")
        return value

    def store_pieces(self, value: str, pieces: Iterable[Piece]) -> None:
        """Write a vector to its pieces."""
        for index, mask in pieces:
            self.store_vector(value, index, mask)

    # Masks.

    def below(self, count: Index) -> str:
        """Return a mask of the first `count` lanes: all if it is larger, none if it is negative."""
        w = self.writer
        # Upstream compares 32 bits of the count: a large one must not wrap around.
        clamped = w.min(count, self.lanes)
        return w.op(f"vector.create_mask {w.value(clamped)} : {self.mask}")

    def both(self, left: str, right: str | None) -> str:
        """Return the lanes that are on in two masks; None is a mask of all lanes."""
        if right is None:
            return left
        return self.writer.op(f"arith.andi {left}, {right} : {self.mask}")

    def without(self, mask: str, other: str) -> str:
        """Return the lanes that are on in a mask, and off in another."""
        all_true = self.writer.constant("dense<true>", self.mask)
        return self.both(mask, self.writer.op(f"arith.xori {other}, {all_true} : {self.mask}"))

    def in_rows(self, column: Index, period: Index, valid: Index, count: int) -> list[str]:
        """Return masks of the lanes of a vector in each of the rows that it reaches into.

        Args:
            column: the index of the first lane in its row.
            period: elements from one row to the next.
            valid: the number of elements of a row; those from there to the next row are off.
            count: the most rows that a vector may reach into.
        """
        w = self.writer
        masks = []
        for row in range(count):
            before = w.mul(row, period)
            mask = self.below(w.sub(w.add(before, valid), column))
            if row:
                mask = self.without(mask, self.below(w.sub(before, column)))
            masks.append(mask)
        return masks


def zero_vector(writer: Writer, element: str, lanes: int) -> str:
    """Return a vector of zeros."""
    zero = "0.0" if element.startswith(("f", "bf")) else "0"
    return writer.constant(f"dense<{zero}>", f"vector<{lanes}x{element}>")


def multiply_add(w: Writer, vector: str, left: str, right: str, total: str) -> str:
    """Write `total + left * right` on vectors: rounded once, or modulo a power of two."""
    if not _is_integer(vector):
        return w.op(f"vector.fma {left}, {right}, {total} : {vector}")
    product = w.op(f"arith.muli {left}, {right} : {vector}")
    return add(w, total, product, vector)


def add(w: Writer, left: str, right: str, type_: str) -> str:
    """Write the sum of two numbers or vectors of a type."""
    return w.op(f"arith.add{'i' if _is_integer(type_) else 'f'} {left}, {right} : {type_}")


def _is_integer(type_: str) -> bool:
    return type_.rpartition("x")[2].startswith("i")


@dataclass(frozen=True)
class FlatOperand:
    """An operand as flat memory.

    Attributes:
        memory: the memory.
        base: the index of the element at the current positions of the loops.
        strides: elements from one value of each of its dimensions to the next.
    """

    memory: Memory
    base: Index
    strides: Mapping[str, Index]

    def with_lanes(self, lanes: int) -> Self:
        """Return the operand for vectors of another length."""
        return replace(self, memory=replace(self.memory, lanes=lanes))

    def moved(self, dimension: str, index: Index) -> Self:
        """Return the operand with the base moved along a dimension, which it need not have."""
        return replace(self, base=self.index_at({dimension: index}))

    def index_at(self, position: Mapping[str, Index]) -> Index:
        """Return the index of the element at a position, relative to the base."""
        w = self.memory.writer
        steps = (w.mul(index, self.strides.get(name, 0)) for name, index in position.items())
        return w.add(self.base, *steps)

    def grouped(self, operand: Operand, sizes: Mapping[str, Index]) -> Strided:
        """Return the operand as one of a problem whose dimensions are in groups."""
        return Strided(self.memory, self.base, self.strides, operand, sizes)


@dataclass(frozen=True)
class Strided(FlatOperand):
    """An operand of a problem, whose dimensions are in groups.

    Attributes:
        operand: its name in the problem.
        sizes: of each dimension by its name.
    """

    operand: Operand
    sizes: Mapping[str, Index]

    def offset(self, group: Group, index: Index) -> Index:
        """Return the offset from the base of the elements at an index of a group."""
        w = self.memory.writer
        segments = group.segments(self.operand)
        rest, terms = index, list[Index]()
        for segment in reversed(segments):
            segment_index = rest
            if segment is not segments[0]:
                size = self.size(segment)
                segment_index, rest = w.rem(rest, size), w.div(rest, size)
            terms.append(w.mul(segment_index, self.stride(segment)))
        return w.add(*terms)

    def offsets(self, group: Group, first: Index, count: int) -> list[Index]:
        """Return the offsets of consecutive indices, the first of them a multiple of `count`."""
        w, segments = self.memory.writer, group.segments(self.operand)
        last = segments[-1].size if segments else 1
        if len(segments) > 1 and (last is None or last % count):
            return [self.offset(group, w.add(first, number)) for number in range(count)]
        # All are in one row of the last segment: one division does for all of them.
        start = self.offset(group, first)
        step = self.stride(segments[-1]) if segments else 0
        return [w.add(start, w.mul(step, number)) for number in range(count)]

    def stride(self, segment: Segment) -> Index:
        """The elements from one value of a segment to the next."""
        return self.stride_of(segment.last)

    def stride_of(self, dimension: Dimension) -> Index:
        """The elements from one value of a dimension to the next."""
        return self.strides.get(dimension.name, 0)

    def size(self, segment: Segment) -> Index:
        """The size of a segment."""
        w = self.memory.writer
        total: Index = 1
        for dimension in segment.dimensions:
            total = w.mul(total, self.sizes[dimension.name])
        return total

    def pieces(self, group: Group, index: Index, count: int, limit: Index | None) -> list[Piece]:
        """Return the offset from the base and the mask of each piece of a vector along a group.

        Args:
            group: the group; its last segment has unit stride.
            index: the index of the first lane.
            count: the most pieces that a vector falls into.
            limit: the end of the valid indices; None if all lanes are valid.
        """
        memory, w = self.memory, self.memory.writer
        whole = None if limit is None else memory.below(w.sub(limit, index))
        first = self.offset(group, index)
        if count == 1:
            return [(first, whole)]
        length = self.size(group.segments(self.operand)[-1])
        column = w.rem(index, length)
        pieces: list[Piece] = []
        for row, mask in enumerate(memory.in_rows(column, length, length, count)):
            offset = first
            if row:
                start = w.sub(w.mul(row, length), column)
                # The address of lane 0, which is not itself in the piece. The line of a piece
                # without lanes is fetched, too: its address is then that of the first piece.
                beyond = w.sub(self.offset(group, w.add(index, start)), start)
                offset = w.select(w.compare("slt", start, memory.lanes), beyond, first)
            pieces.append((offset, memory.both(mask, whole)))
        return pieces

    def tile_pieces(
        self, group: Group, first: Index, width: int, count: int, limit: Index | None
    ) -> list[list[Piece]]:
        """Return the pieces of each vector of a tile, at a multiple of its width: see `pieces`."""
        memory, w, lanes = self.memory, self.memory.writer, self.memory.lanes
        run = group.run(self.operand)
        starts = range(0, width, lanes)
        if count == 1 or not run or max(run, width) % min(run, width):
            return [self.pieces(group, w.add(first, at), count, limit) for at in starts]
        # All tiles are cut into lines at the same columns, which are known here.
        begins = [(at, self.offset(group, w.add(first, at))) for at in range(0, width, run)]
        vectors: list[list[Piece]] = []
        for at in starts:
            inside = None if limit is None else memory.below(w.sub(limit, w.add(first, at)))
            vectors.append([
                (w.add(offset, at - begin), memory.both(mask, inside) if mask else inside)
                for begin, offset in begins
                if begin < at + lanes and at < begin + run
                for mask in (self._between(begin - at, begin + run - at),)
            ])  # fmt: skip
        return vectors

    def _between(self, first: int, end: int) -> str | None:
        """Return a mask of the lanes from `first` to `end`; None for all of them."""
        lanes = [first <= lane < end for lane in range(self.memory.lanes)]
        if all(lanes):
            return None
        text = ", ".join(str(lane).lower() for lane in lanes)
        return self.memory.writer.constant(f"dense<[{text}]>", self.memory.mask)

    def load_pieces(self, pieces: Sequence[Piece], offset: Index) -> str:
        """Load a vector whose pieces are `offset` from the base; lanes of no piece are 0."""
        add = self.memory.writer.add
        return self.memory.load_pieces((add(self.base, at, offset), mask) for at, mask in pieces)

    def store_pieces(self, value: str, pieces: Sequence[Piece], offset: Index) -> None:
        """Write a vector to its pieces, which are `offset` from the base."""
        # Stores to a row of a tile share the first sum, loads of a column of vectors theirs.
        add = self.memory.writer.add
        moved = ((add(self.base, offset, at), mask) for at, mask in pieces)
        self.memory.store_pieces(value, moved)

    def pieces_if(self, mask: str, pieces: Sequence[Piece]) -> list[Piece]:
        """Return the pieces without the lanes that are off in a mask."""
        return [(index, self.memory.both(mask, lanes)) for index, lanes in pieces]


def flattened(
    w: Writer, name: str, argument: Argument, lanes: int, sizes: dict[str, Index]
) -> FlatOperand:
    """Return an argument as flat memory from its first element on.

    The sizes of its dimensions are added to `sizes`; a static size replaces a dynamic one.
    """
    element, rank = argument.element, len(argument.dimensions)
    parts = [f"%{name}_base", f"%{name}_offset"]
    parts += [f"%{name}_sizes:{rank}", f"%{name}_strides:{rank}"] if rank else []
    w.line(
        f"{', '.join(parts)} = memref.extract_strided_metadata %{name} : {argument.type} -> "
        + ", ".join([f"memref<{element}>", *["index"] * (1 + 2 * rank)])
    )
    strides: dict[str, Index] = {}
    for axis, dimension in enumerate(argument.dimensions):
        size, stride = argument.sizes[axis], argument.strides[axis]
        if size is not None or dimension not in sizes:
            sizes[dimension] = f"%{name}_sizes#{axis}" if size is None else size
        strides[dimension] = f"%{name}_strides#{axis}" if stride is None else stride
    type_ = _flat(element)
    # More than any memory holds: nothing asks for the size, and nothing is folded by it.
    flat = w.op(
        f"memref.reinterpret_cast %{name}_base to offset: [%{name}_offset], "
        f"sizes: [{w.value(1 << 62)}], strides: [1] : memref<{element}> to {type_}"
    )
    if element == "i1":
        # The descriptors of both are one: the cast is gone when both are LLVM's.
        byte_type = _flat("i8")
        flat = w.op(f"builtin.unrealized_conversion_cast {flat} : {type_} to {byte_type}")
        casts = "arith.trunci", "arith.extui"
        memory: Memory = ConvertedMemory(w, flat, byte_type, element, lanes, "i8", *casts)
    elif argument.cast is not None:
        read_as = argument.read_as
        memory = ConvertedMemory(w, flat, type_, read_as, lanes, element, argument.cast)
    else:
        memory = Memory(w, flat, type_, element, lanes)
    return FlatOperand(memory, 0, strides)


def _flat(element: str) -> str:
    return f"memref<?x{element}, strided<[1], offset: ?>>"


@dataclass(frozen=True)
class ConvertedMemory(Memory):
    """A memory whose elements are cast when they are loaded, and when they are stored.

    Attributes:
        source: the type of the elements that lie there.
        cast: the op that makes values of type `element` of them.
        back: the op of the opposite cast; empty if elements are only read.
    """

    source: str = ""
    cast: str = ""
    back: str = ""

    def load(self, index: Index) -> str:
        """Load an element, cast."""
        raw = self.raw.load(index)
        return self.writer.op(f"{self.cast} {raw} : {self.source} to {self.element}")

    def load_vector(self, index: Index, mask: str | None = None, rest: str | None = None) -> str:
        """Load a vector, cast; where the mask is off, the lane is that of `rest`, or 0."""
        raw = self.raw
        vector = self.writer.op(
            f"{self.cast} {raw.load_vector(index, mask)} : {raw.vector} to {self.vector}"
        )
        if mask is None or rest is None:
            return vector
        return self.writer.op(f"arith.select {mask}, {vector}, {rest} : {self.mask}, {self.vector}")

    def store(self, value: str, index: Index) -> None:
        """Write an element, cast."""
        self.raw.store(self._cast_back(value, self.element, self.source), index)

    def store_vector(self, value: str, index: Index, mask: str | None = None) -> None:
        """Write a vector, cast, where the mask is on."""
        self.raw.store_vector(self._cast_back(value, self.vector, self.raw.vector), index, mask)

    def stream_vector(self, value: str, index: Index) -> None:
        """Write a vector, cast, past the caches."""
        self.raw.stream_vector(self._cast_back(value, self.vector, self.raw.vector), index)

    @property
    def raw(self) -> Memory:
        """The memory with the elements as they are stored, without casts."""
        return Memory(self.writer, self.name, self.type, self.source, self.lanes)

    def _cast_back(self, value: str, type_: str, stored: str) -> str:
        return self.writer.op(f"{self.back} {value} : {type_} to {stored}")
