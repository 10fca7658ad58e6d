# Written by `make stubs`; do not edit.

from collections.abc import Sequence
from typing import Self

class StepMethods:
    def allocate(self, memory: str = 'heap', memory_space: int = 0) -> Self:
        """Allocate a buffer for the result of an op; the op itself stays on tensors."""

    def bufferize(self, in_place: bool = False) -> Self:
        """Replace every tensor by a buffer; an op writes in place where no other use can see it."""

    def call_library(self) -> Self:
        """Replace an op by a call of the library in force."""

    def decompose(self) -> Self:
        """Replace an op by simpler ones: softmax, a window of one row, a pack or an unpack."""

    def finer(self, sizes: int | Sequence[int], name: str = '', library_call: str = '') -> Self:
        """Compute an op by iterations over small ones of one shape, such as a register tile's."""

    def fold_unit_extents(self) -> Self:
        """Drop loops that run once, and the dimensions that go with them."""

    def fuse(self, sizes: int | Sequence[int], interchange: int | Sequence[int] = (), parallel: bool = False) -> Self:
        """Tile an op, and compute its producers, and theirs, tile by tile inside the loops."""

    def fuse_elementwise(self) -> Self:
        """Fuse element-wise ops on tensors with those that read them."""

    def generalize(self) -> Self:
        """Write an op as `linalg.generic`."""

    def hoist(self, loop: int = 0) -> Self:
        """Hoist loop-invariant ops, and slices that a loop carries, out of the loop."""

    def hoist_pads(self, operand: int = 0, loops: int = 1) -> Self:
        """Pad all tiles of an operand before the loops, into one packed buffer."""

    def interchange(self, order: int | Sequence[int]) -> Self:
        """Reorder the iteration space; a named op becomes a `linalg.generic` first."""

    def lower_subsets(self) -> Self:
        """Put `scf.forall`, `scf.for` and slices in the place of all of `gml_st`."""

    def lower_to_loops(self, kind: str = 'scf') -> Self:
        """Put loops, loads, the op's scalar body and stores in its place."""

    def lower_vectors(self, contraction: str = 'outerproduct') -> Self:
        """Lower `vector.contract`, `vector.multi_reduction` and `vector.transpose`."""

    def pack(self, sizes: int | Sequence[int]) -> Self:
        """Compute an op on blocks that lie next to each other in memory."""

    def pad(self, multiples: int | Sequence[int], value: float = 0.0) -> Self:
        """Compute an op on operands that are padded, and cut its result out."""

    def parallelize(self, sizes: int | Sequence[int] = (), threads: int | Sequence[int] = (), mapping: str | Sequence[str] = ()) -> Self:
        """Put an op into one `scf.forall`, whose iterations may run at the same time."""

    def peel(self, loop: int = 0, front: bool = False) -> Self:
        """Give the last iteration of a loop a place of its own, so that all others are whole tiles."""

    def promote(self, operands: int | Sequence[int] = (), memory_space: int = 0, stack: bool = False) -> Self:
        """Copy operands of an op into buffers of their own, which the op then uses."""

    def propagate_packs(self) -> Self:
        """Move `linalg.pack` and `linalg.unpack` across element-wise ops, so that they meet and go."""

    def raise_loops(self) -> Self:
        """Raise loops of scf and affine, on buffers or tensors, to `linalg.generic` where they are one."""

    def simplify(self) -> Self:
        """Fold constants, and remove unused and repeated operations."""

    def specialize(self) -> Self:
        """Write a `linalg.generic` as the most specific named op that means the same."""

    def split_reduction(self, factor: int, dimension: int = 0, inner_parallel: bool = False) -> Self:
        """Make `factor` partial results side by side, then one of them all."""

    def tile(self, sizes: int | Sequence[int], interchange: int | Sequence[int] = ()) -> Self:
        """Put an op into `scf.for` loops over tiles of its iteration space."""

    def tile_continuously(self, loop: int, size: int) -> Self:
        """Split a loop into parts that tiles of `size`, then of smaller powers of two, divide."""

    def tile_evenly(self, loop: int, size: int, divisor: int = 1) -> Self:
        """Split a loop in two parts, each tiled by a size that divides it."""

    def tile_reduction(self, sizes: int | Sequence[int], parallel: bool = False) -> Self:
        """Tile reductions so that the tiles do not wait for each other."""

    def tile_subsets(self, sizes: int | Sequence[int], form: str = 'parallel', fuse: bool = True, producers: str | Sequence[str] = ()) -> Self:
        """Put an op into a `gml_st` loop over parts of its result."""

    def unroll(self, factor: int, loop: int = 0) -> Self:
        """Repeat the body of a loop; the remainder has a loop of its own."""

    def unroll_and_jam(self, factor: int, loop: int = 1) -> Self:
        """Repeat the innermost body for several iterations of an outer loop."""

    def unroll_windows(self) -> Self:
        """Compute a convolution or a pooling by one op for each place in its window."""

    def vectorize(self, sizes: int | Sequence[int] = ()) -> Self:
        """Compute an op with vectors of its whole iteration space; tile it first."""
