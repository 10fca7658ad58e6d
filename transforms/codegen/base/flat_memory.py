"""Operands as flat memory: an element is at a number, whatever the shape of its memref."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .problem import Dimension, Group, Operand, Segment
from .writer import Index, Writer


@dataclass(frozen=True)
class Memory:
    """A memref of rank 1 with unit stride.

    Attributes:
        writer: where accesses are written.
        name: of the memref.
        type: of the memref.
        element: the type of an element.
        lanes: the number of elements of a vector.
    """

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
        """An element."""
        return self.writer.op(f"memref.load {self._at(index)} : {self.type}")

    def store(self, value: str, index: Index) -> None:
        """Write an element."""
        self.writer.line(f"memref.store {value}, {self._at(index)} : {self.type}")

    def load_vector(self, index: Index, mask: str | None = None, rest: str | None = None) -> str:
        """A vector; where the mask is off, nothing is read and the lane is that of `rest`."""
        if mask is None:
            return self.writer.op(f"vector.load {self._at(index)} : {self.type}, {self.vector}")
        rest = rest or zero_vector(self.writer, self.element, self.lanes)
        return self.writer.op(
            f"vector.maskedload {self._at(index)}, {mask}, {rest} : "
            f"{self.type}, {self.mask}, {self.vector} into {self.vector}"
        )

    def prefetch(self, index: Index, *, writes: bool = False) -> None:
        """Have a line on its way; an address that is not there does no harm."""
        # What is read is packed before it is used: L2 is near enough.
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
        size = self.lanes * int(self.element.lstrip("bfi")) // 8
        self.writer.line(
            f"vector.store {value}, {self._at(index)} "
            f"{{nontemporal = true, alignment = {size} : i64}} : {self.type}, {self.vector}"
        )


def zero_vector(writer: Writer, element: str, lanes: int) -> str:
    """A vector of zeros."""
    zero = "0.0" if element.startswith(("f", "bf")) else "0"
    return writer.constant(f"dense<{zero}>", f"vector<{lanes}x{element}>")


def multiply_add(w: Writer, vector: str, left: str, right: str, total: str) -> str:
    """`total + left * right`, of vectors of a type: rounded once, or modulo a power of two."""
    if not _is_integer(vector):
        return w.op(f"vector.fma {left}, {right}, {total} : {vector}")
    product = w.op(f"arith.muli {left}, {right} : {vector}")
    return add(w, total, product, vector)


def add(w: Writer, left: str, right: str, type_: str) -> str:
    """The sum of two numbers or vectors of a type."""
    return w.op(f"arith.add{'i' if _is_integer(type_) else 'f'} {left}, {right} : {type_}")


def _is_integer(type_: str) -> bool:
    return type_.rpartition("x")[2].startswith("i")


class Strided:
    """An operand: a memory, and where in it the elements of a contraction are.

    Attributes:
        memory: the memory.
        operand: which operand of the problem it is.
        base: where the element of the current batch is whose indices are all 0.
    """

    def __init__(
        self,
        memory: Memory,
        operand: Operand,
        base: Index,
        sizes: dict[str, Index],
        strides: dict[str, Index],
    ) -> None:
        """
        Args:
            sizes: of each dimension by its name.
            strides: of this operand along each of its dimensions.
        """
        self.memory = memory
        self.operand = operand
        self.base = base
        self._sizes = sizes
        self._strides = strides
        self._writer = memory.writer

    def with_lanes(self, lanes: int) -> Strided:
        """The operand read in vectors of another length."""
        memory = replace(self.memory, lanes=lanes)
        return Strided(memory, self.operand, self.base, self._sizes, self._strides)

    def moved(self, dimension: str, index: Index) -> Strided:
        """The operand with the base moved along a dimension."""
        base = self._writer.add(self.base, self._writer.mul(index, self._strides[dimension]))
        return Strided(self.memory, self.operand, base, self._sizes, self._strides)

    def offset(self, group: Group, index: Index) -> Index:
        """How far from the base the elements of the index of a group are."""
        w = self._writer
        segments = group.segments(self.operand)
        rest, terms = index, list[Index]()
        for position in range(len(segments) - 1, -1, -1):
            segment = segments[position]
            here = rest
            if position:
                size = self.size(segment)
                here, rest = w.rem(rest, size), w.div(rest, size)
            terms.append(w.mul(here, self.stride(segment)))
        return w.add(*terms)

    def offsets(self, group: Group, first: Index, count: int) -> list[Index]:
        """The offsets of consecutive indices, the first of them a multiple of `count`."""
        w, segments = self._writer, group.segments(self.operand)
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
        return self._strides.get(dimension.name, 0)

    def size(self, segment: Segment) -> Index:
        """The size of a segment."""
        w = self._writer
        total: Index = 1
        for dimension in segment.dimensions:
            total = w.mul(total, self._sizes[dimension.name])
        return total

    def pieces(
        self, group: Group, index: Index, count: int, limit: Index | None
    ) -> list[tuple[Index, str | None]]:
        """Where the pieces of a vector along a group are, from the base, and the mask of each.

        Args:
            group: the group; its last segment has unit stride.
            index: the index of the first lane.
            count: into how many pieces a vector may fall.
            limit: only indices below it are wanted; None where all lanes are.
        """
        w = self._writer
        whole = None if limit is None else self.below(w.sub(limit, index))
        if count == 1:
            return [(self.offset(group, index), whole)]
        length = self.size(group.segments(self.operand)[-1])
        first = w.sub(length, w.rem(index, length))
        found: list[tuple[Index, str | None]] = [
            (self.offset(group, index), self.both(self.below(first), whole))
        ]
        for piece in range(1, count):
            start = w.add(first, w.mul(length, piece - 1))
            end = self.below(w.add(start, length))
            lanes = self.both(self._without(end, self.below(start)), whole)
            # The address of lane 0, which is not itself in the piece. A piece without lanes would
            # still have its line fetched: it is looked for where the first one is.
            where = w.sub(self.offset(group, w.add(index, start)), start)
            is_there = w.compare("slt", start, self.memory.lanes)
            found.append((w.select(is_there, where, found[0][0]), lanes))
        return found

    def tile_pieces(
        self, group: Group, first: Index, width: int, count: int, limit: Index | None
    ) -> list[list[tuple[Index, str | None]]]:
        """The pieces of each vector of a tile that begins at a multiple of its width.

        Args:
            group: as for `pieces`.
            first: the index of the first lane of the first vector.
            width: of the tile, whole vectors.
            count: as for `pieces`, of one vector.
            limit: as for `pieces`.
        """
        w, lanes = self._writer, self.memory.lanes
        run = group.run(self.operand)
        starts = range(0, width, lanes)
        if count == 1 or not run or max(run, width) % min(run, width):
            return [self.pieces(group, w.add(first, at), count, limit) for at in starts]
        # Where a tile's lines are cut is the same for all tiles, and known here.
        begins = [(at, self.offset(group, w.add(first, at))) for at in range(0, width, run)]
        vectors: list[list[tuple[Index, str | None]]] = []
        for at in starts:
            inside = None if limit is None else self.below(w.sub(limit, w.add(first, at)))
            vectors.append([
                (w.add(offset, at - begin), self.both(mask, inside) if mask else inside)
                for begin, offset in begins
                if begin < at + lanes and at < begin + run
                for mask in (self._between(begin - at, begin + run - at),)
            ])  # fmt: skip
        return vectors

    def _between(self, first: int, end: int) -> str | None:
        """A mask of some lanes; None for all of them."""
        lanes = [first <= lane < end for lane in range(self.memory.lanes)]
        if all(lanes):
            return None
        text = ", ".join(str(lane).lower() for lane in lanes)
        return self._writer.constant(f"dense<[{text}]>", self.memory.mask)

    def load_pieces(self, pieces: Sequence[tuple[Index, str | None]], offset: Index) -> str:
        """A vector, put together from its pieces; lanes of no piece are 0."""
        value = None
        for where, mask in pieces:
            index = self._writer.add(self.base, where, offset)
            value = self.memory.load_vector(index, mask, value)
        if value is None:
            raise AssertionError("a vector without pieces")
        return value

    def store_pieces(
        self, value: str, pieces: Sequence[tuple[Index, str | None]], offset: Index
    ) -> None:
        """Write a vector to its pieces."""
        for where, mask in pieces:
            self.memory.store_vector(value, self._writer.add(self.base, offset, where), mask)

    def pieces_if(
        self, mask: str, pieces: Sequence[tuple[Index, str | None]]
    ) -> list[tuple[Index, str | None]]:
        """The pieces, without the lanes that are off in a mask."""
        return [(where, self.both(mask, lanes)) for where, lanes in pieces]

    def below(self, count: Index) -> str:
        """A mask of the first lanes; of all where there are more than that."""
        w = self._writer
        # Upstream compares 32 bits of the count: a large one must not wrap around.
        clamped = w.min(count, self.memory.lanes)
        return w.op(f"vector.create_mask {w.value(clamped)} : {self.memory.mask}")

    def both(self, left: str, right: str | None) -> str:
        """The lanes that are on in two masks."""
        if right is None:
            return left
        return self._writer.op(f"arith.andi {left}, {right} : {self.memory.mask}")

    def _without(self, mask: str, other: str) -> str:
        return self._writer.op(f"arith.andi {mask}, {self._flipped(other)} : {self.memory.mask}")

    def _flipped(self, mask: str) -> str:
        ones = self._writer.constant("dense<true>", self.memory.mask)
        return self._writer.op(f"arith.xori {mask}, {ones} : {self.memory.mask}")
