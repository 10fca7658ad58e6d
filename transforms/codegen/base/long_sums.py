"""Long sums of floats: blocks added up one after another, and their sums with compensation.

    for block of BLOCK rounds:
        part = what the rounds of the block add up to, from nothing
        total, error = total + (part + error), and what that rounds away

Added up one after another, n numbers lose up to n / 2 units in the last place of their sum; so, no
more than those of a block do, whatever n is. What a block costs beyond its rounds is nine
operations for each of its sums. All that adds up floats is built on this: loops over vectors, rows
added to a row, inner products, contractions, running sums, and loops over scalars.

Source: W. Kahan, Further Remarks on Reducing Truncation Errors, Communications of the ACM 8 (1965);
D. E. Knuth, The Art of Computer Programming 2, 4.2.2, theorem B (what a sum of two rounds away is a
float, whichever of them is larger).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from linalg_ext.bindings import arith, complex, ir, memref
from linalg_ext.transforms.ir_utils.arithmetic import constant
from linalg_ext.transforms.ir_utils.tensor_loops import elementwise

from .writer import Writer

BLOCK = 64
"""Rounds that are added up one after another."""

FLOATS = ("f32", "f64")
"""Types that are added up in blocks. Narrower floats keep their order, as they round too much."""

ADDITIONS = ("arith.addf", "complex.add")
"""The ops that add them, and complex numbers of them."""

T = TypeVar("T")


def two_sum(a: T, b: T, add: Callable[[T, T], T], subtract: Callable[[T, T], T]) -> tuple[T, T]:
    """The sum of two floats, and what it rounded away: exactly, where nothing overflows."""
    total = add(a, b)
    second = subtract(total, a)
    first = subtract(total, second)
    return total, add(subtract(a, first), subtract(b, second))


def is_added_in_blocks(type_: Any) -> bool:
    """Return whether sums of such elements, real or complex, are added up in blocks."""
    element = ir.ComplexType(type_).element_type if isinstance(type_, ir.ComplexType) else type_
    return str(element) in FLOATS


def nothing(type_: Any) -> Any:
    """Return the start of a sum and of its error: -0.0, which leaves every number as it is."""
    if isinstance(type_, ir.ComplexType):
        part = constant(type_.element_type, -0.0)
        return complex.CreateOp(type_, part, part).result
    return constant(type_, -0.0)


def compensated(total: Any, error: Any, part: Any) -> tuple[Any, Any]:
    """A sum and its error, after one part more: floats, vectors, or complex numbers.

    The sum is rounded to nearest: the error is less than would change it.
    """
    if isinstance(total.type, ir.ComplexType):
        pairs = [
            compensated(*(take(each).result for each in (total, error, part)))
            for take in (complex.ReOp, complex.ImOp)
        ]
        (real, of_real), (imaginary, of_imaginary) = pairs
        whole: Any = complex.CreateOp(total.type, real, imaginary).result
        return whole, complex.CreateOp(total.type, of_real, of_imaginary).result
    new, lost = two_sum(total, arith.addf(part, error), arith.addf, arith.subf)
    # NaN where the sum is not finite: no more is lost then.
    has_lost = arith.cmpf(arith.CmpFPredicate.ONE, lost, constant(lost.type, 0))
    return new, arith.select(has_lost, lost, nothing(lost.type))


class PartialSums:
    """Buffers for the sums of a block, and for what the sums of all blocks have lost.

    Each method adds a structured op on buffers at the insertion point, and gives it.

    Attributes:
        totals: where the sums are, and are to be: a buffer, or a part of one.
        parts: those of a block.
        errors: what was lost, less than would change a sum.
    """

    def __init__(self, totals: Any, parts: Any, errors: Any) -> None:
        self.totals, self.parts, self.errors = totals, parts, errors

    def forget(self) -> Any:
        """Nothing is lost yet."""
        return elementwise([], [self.errors], lambda old: [nothing(old.type)])

    def begin(self, *, with_zeros: bool = False) -> Any:
        """Nothing is added up yet of a block.

        Args:
            with_zeros: for sums of floats that begin at 0, and then need not read it.
        """
        return elementwise(
            [],
            [self.parts],
            lambda old: [constant(old.type, 0) if with_zeros else nothing(old.type)],
        )

    def add(self) -> Any:
        """The sums of a block are added to those before."""
        return elementwise(
            [self.parts],
            [self.totals, self.errors],
            lambda part, total, error: compensated(total, error, part),
        )


def part_of(buffer: Any, offsets: Mapping[int, Any]) -> Any:
    """A buffer at some positions: without the axes that these are of, which may be none."""
    if not offsets:
        return buffer
    type_ = buffer.type
    strides, _ = type_.get_strides_and_offset()
    rank, open_size = type_.rank, ir.ShapedType.get_dynamic_size()
    left = [axis for axis in range(rank) if axis not in offsets]
    layout = ir.StridedLayoutAttr.get(
        ir.ShapedType.get_dynamic_stride_or_offset(), [strides[axis] for axis in left]
    )
    shape = [type_.shape[axis] for axis in left]
    result = ir.MemRefType.get(shape, type_.element_type, layout, type_.memory_space)
    sizes = [
        memref.dim(buffer, constant(ir.IndexType.get(), axis))
        for axis in left
        if type_.is_dynamic_dim(axis)
    ]
    return memref.SubViewOp(
        result,
        buffer,
        [offsets[axis] for axis in sorted(offsets)],
        sizes,
        [],
        [open_size if axis in offsets else 0 for axis in range(rank)],
        [1 if axis in offsets else type_.shape[axis] for axis in range(rank)],
        [1] * rank,
    ).result


def written_nothing(w: Writer, type_: str) -> str:
    """As `nothing`, written as text."""
    return w.constant("dense<-0.0>" if type_.startswith("vector") else "-0.0", type_)


def written_compensated(
    w: Writer, type_: str, total: str, error: str, part: str
) -> tuple[str, str]:
    """As `compensated`, written as text, of vectors."""

    def operation(name: str) -> Callable[[str, str], str]:
        return lambda a, b: w.op(f"arith.{name} {a}, {b} : {type_}")

    add, subtract = operation("addf"), operation("subf")
    new, lost = two_sum(total, add(part, error), add, subtract)
    has_lost = w.op(f"arith.cmpf one, {lost}, {w.constant('dense<0.0>', type_)} : {type_}")
    truth = type_[: type_.rindex("x") + 1] + "i1>"
    kept = w.op(f"arith.select {has_lost}, {lost}, {written_nothing(w, type_)} : {truth}, {type_}")
    return new, kept
