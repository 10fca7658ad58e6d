"""The operands of a kernel, and a contraction on memory: four groups of dimensions.

    C[b, m, n] += A[b, m, k] * B[b, k, n]

where b, m, n and k are groups of any number of dimensions, and each operand has a stride along
each. B is the operand whose elements come in vectors, and A the one whose elements are broadcast:
the two change places where the contiguous dimension of C is one of A.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from linalg_ext.bindings import ir
from linalg_ext.structured.operands import type_sizes
from linalg_ext.transforms.ir_utils.arithmetic import strides_of

from .machine import Dot


@dataclass(frozen=True)
class Argument:
    """An operand as an argument of a function.

    Attributes:
        type: its memref type.
        element: its element type.
        dimensions: the name of the dimension of each axis.
        sizes: the size of each axis; None for a dynamic one.
        strides: the stride of each axis; None for a dynamic one.
        cast: the op that its elements go through when they are read, if there is one.
        read_as: the type of its elements then.
    """

    type: str
    element: str
    dimensions: tuple[str, ...]
    sizes: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    cast: str | None = None
    read_as: str = ""


def bits_of(element: str) -> int:
    """Return the width of an element type, as MLIR spells it."""
    return int(element.lstrip("bfi"))


def product_of(sizes: Iterable[int | None]) -> int | None:
    """Return the product of sizes; None where one of them is dynamic."""
    total = 1
    for size in sizes:
        if size is None:
            return None
        total *= size
    return total


def size_text(size: int | None) -> str:
    """Return a size for tables: `?` if it is dynamic."""
    return "?" if size is None else str(size)


def argument_of(value: Any, dimensions: tuple[str, ...]) -> Argument | str:
    """Return a memref with named axes as an argument, or why it has no strides."""
    type_ = ir.MemRefType(value.type)
    if type_.memory_space is not None:
        return "the operand is in a memory space of its own"
    strides = strides_of(type_)
    if strides is None:
        return f"{type_} has no strides"
    return Argument(
        str(type_),
        str(type_.element_type),
        dimensions,
        tuple(type_sizes(type_)),
        tuple(None if type_.is_dynamic_stride_or_offset(stride) else stride for stride in strides),
    )


Operand = Literal["A", "B", "C"]


@dataclass(frozen=True)
class Dimension:
    """A dimension of the iteration space.

    Attributes:
        name: of the dimension.
        size: the number of its values; None where only the run tells.
        strides: for each operand that has it, the elements from one value to the next; None where
            only the run tells.
    """

    name: str
    size: int | None
    strides: Mapping[Operand, int | None]

    def __hash__(self) -> int:
        # Equal ones have equal strides, which alone cannot be hashed.
        return hash((self.name, self.size))


@dataclass(frozen=True)
class Segment:
    """Consecutive dimensions of a group along which one operand has one stride."""

    dimensions: tuple[Dimension, ...]
    stride: int | None

    @property
    def size(self) -> int | None:
        """The product of the sizes; None where one of them is open."""
        return _product(self.dimensions)

    @property
    def last(self) -> Dimension:
        """The dimension that has the stride of the segment."""
        return self.dimensions[-1]


@dataclass(frozen=True)
class Group:
    """Dimensions that are walked as one, the last of them fastest."""

    dimensions: tuple[Dimension, ...]

    @property
    def size(self) -> int | None:
        """The number of values; None where it is dynamic."""
        return _product(self.dimensions)

    def segments(self, operand: Operand) -> tuple[Segment, ...]:
        """Return the runs of dimensions that an operand has evenly spaced in memory."""
        segments: list[Segment] = []
        for dimension in self.dimensions:
            stride = dimension.strides[operand]
            outer = segments[-1].stride if segments else None
            evenly = None not in (outer, stride, dimension.size)
            if evenly and outer == (stride or 0) * (dimension.size or 0):
                segments[-1] = Segment((*segments[-1].dimensions, dimension), stride)
            else:
                segments.append(Segment((dimension,), stride))
        return tuple(segments)

    def run(self, operand: Operand) -> int | None:
        """Return the number of contiguous elements: 0 for none, None for a dynamic number."""
        segments = self.segments(operand)
        if not segments:
            return 1
        if segments[-1].stride != 1:
            return 0
        return segments[-1].size

    def of_argument(self, argument: Argument) -> Group:
        """Return the group with the strides of another operand, in the place of C."""
        strides = dict(zip(argument.dimensions, argument.strides, strict=True))
        return Group(
            tuple(replace(d, strides={"C": strides.get(d.name, 0)}) for d in self.dimensions)
        )

    def pieces(self, operand: Operand, lanes: int) -> int:
        """In how many pieces at most an aligned vector of the group lies in memory; 0 for none."""
        segments = self.segments(operand)
        run = self.run(operand)
        if lanes == 1:
            return 1
        if run == 0:
            return 0
        if len(segments) <= 1 or (run is not None and run % lanes == 0):
            return 1
        if run is None:
            return 0
        return 1 + -(-(lanes - 1) // run)


@dataclass(frozen=True)
class Problem:
    """A contraction, ready to be planned.

    Attributes:
        element: the type of the sums, as MLIR spells it, and of the operands but for `converted`
            ones and those of a dot product.
        batch: the dimensions of all three operands.
        rows: the dimensions of A and C.
        columns: the dimensions of B and C.
        depth: the dimensions of A and B, which are summed over.
        swapped: whether A is the second input of the op, and B the first.
        overwrites: whether C is written without being read.
        dot: the instruction that multiplies words of narrow elements, if there is one.
        converted: the operands whose elements are of another type in memory.
        zero_points: the operands from whose elements a number is subtracted; with a dot product
            alone.
        is_undivided: whether the whole depth is one block, as C is not of the type of the sums.
        computed: the operands whose elements are computed while they are packed.
    """

    element: str
    batch: tuple[Dimension, ...]
    rows: Group
    columns: Group
    depth: Group
    swapped: bool
    overwrites: bool
    dot: Dot | None = None
    converted: frozenset[Operand] = frozenset()
    zero_points: frozenset[Operand] = frozenset()
    is_undivided: bool = False
    computed: frozenset[Operand] = frozenset()

    @property
    def packed(self) -> str:
        """The type of packed elements, or words."""
        return self.element if self.dot is None else "i32"

    @property
    def word(self) -> int:
        """The number of elements along the depth that are packed as one word."""
        return 1 if self.dot is None else self.dot.count

    @property
    def words(self) -> int | None:
        """The number of words along the depth; None where it is dynamic."""
        return None if self.depth.size is None else -(-self.depth.size // self.word)

    @property
    def corrects_columns(self) -> bool:
        """True where each column adds a correction to the dot products."""
        return self.dot is not None and (self.dot.shift != 0 or "A" in self.zero_points)

    @property
    def is_static(self) -> bool:
        """True where all sizes are static."""
        groups = (self.rows, self.columns, self.depth, Group(self.batch))
        return all(group.size is not None for group in groups)

    @property
    def element_bytes(self) -> int:
        """The bytes of an element."""
        return bits_of(self.element) // 8


def sizes_of(arguments: Iterable[Argument]) -> dict[str, int | None]:
    """Return the sizes of the dimensions of operands; None where only the run tells."""
    sizes: dict[str, int | None] = {}
    for argument in arguments:
        for name, size in zip(argument.dimensions, argument.sizes, strict=True):
            if size is not None or name not in sizes:
                sizes[name] = size
    return sizes


def dimensions_of(operands: Mapping[Operand, Argument]) -> list[Dimension]:
    """Return the dimensions of a contraction, in the order in which its operands name them."""
    strides: dict[str, dict[Operand, int | None]] = {}
    for role, argument in operands.items():
        for name, stride in zip(argument.dimensions, argument.strides, strict=True):
            strides.setdefault(name, {})[role] = stride
    sizes = sizes_of(operands.values())
    return [Dimension(name, size, strides[name]) for name, size in sizes.items()]


def classify(element: str, dimensions: Sequence[Dimension], *, overwrites: bool) -> Problem | str:
    """Sort the dimensions of `C += A * B` into groups, or return why there are none."""
    kinds: dict[str, list[Dimension]] = {kind: [] for kind in ("ABC", "AC", "BC", "AB")}
    for dimension in dimensions:
        owners = "".join(sorted(dimension.strides))
        if owners not in kinds:
            return f"dimension {dimension.name} is in one operand alone"
        if dimension.size != 1:  # of one value: its stride does not matter
            kinds[owners].append(dimension)
    batch, rows, columns, depth = kinds.values()
    swapped = _nearest(rows, "C") < _nearest(columns, "C")
    if swapped:
        rows, columns = columns, rows
        rows, columns, depth, batch = map(_with_operands_swapped, (rows, columns, depth, batch))
    # Rows and depth are walked by packing alone, which follows the operand that it reads.
    vectors_of_b_run_along_depth = _nearest(depth, "B") < _nearest(columns, "B")
    follows_b = vectors_of_b_run_along_depth or _is_more(columns, rows, times=_MUCH)
    ordered = _sorted(columns, "C")
    if _nearest(columns, "B") == 1 and _is_more(depth, rows):
        # C and B are contiguous along different dimensions. The last one is that of the larger
        # operand, B; C is written one by one, its own next, so that lines are soon complete.
        nearest = _sorted(columns, "B")[-1]
        ordered = (*(d for d in ordered if d is not nearest), nearest)
    return Problem(
        element,
        tuple(_sorted(batch, "C")),
        Group(_sorted(rows, "A" if _nearest(rows, "A") == 1 and _is_more(depth, columns) else "C")),
        Group(ordered),
        Group(_sorted(depth, "B" if follows_b else "A")),
        swapped,
        overwrites,
    )


_MUCH = 8
"""The ratio of sizes from which one operand alone decides the order of the depth's dimensions."""

_FAR = 1 << 62
"""The distance of a dynamic stride: a type that has one says nothing of contiguous elements."""


def _distance(dimension: Dimension, operand: Operand) -> int:
    stride = dimension.strides[operand]
    return _FAR if stride is None else abs(stride)


def _nearest(dimensions: Iterable[Dimension], operand: Operand) -> int:
    return min((_distance(d, operand) for d in dimensions), default=_FAR + 1)


def _is_more(first: Sequence[Dimension], second: Sequence[Dimension], times: int = 1) -> bool:
    left, right = _product(first), _product(second)
    return left is not None and right is not None and left > times * right


def _sorted(dimensions: Iterable[Dimension], operand: Operand) -> tuple[Dimension, ...]:
    return tuple(sorted(dimensions, key=lambda d: -_distance(d, operand)))


def _with_operands_swapped(dimensions: list[Dimension]) -> list[Dimension]:
    names: dict[Operand, Operand] = {"A": "B", "B": "A", "C": "C"}
    return [
        replace(d, strides={names[operand]: s for operand, s in d.strides.items()})
        for d in dimensions
    ]


def _product(dimensions: Iterable[Dimension]) -> int | None:
    return product_of(dimension.size for dimension in dimensions)
