"""The boundaries of fusion: producers that are not fused into an op that reads them, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.structured.group import may_be_fused
from linalg_ext.transforms.codegen.contractions.products import (
    is_contraction,
    is_packed,
    is_widened,
)
from linalg_ext.transforms.ir_utils.generics import (
    extents_of,
    input_count,
    maps_of,
    parallel_loops,
)
from linalg_ext.transforms.ir_utils.walking import producer, select

_LONGEST = 1024
"""More operations than any body that is written by hand, and few enough to be copied."""

_COMPUTE = ("arith.", "math.", "complex.", "linalg.yield")
"""Operations that only compute begin so, and have no regions."""


@dataclass(frozen=True)
class Body:
    """The properties of a body that matter to fusion.

    Attributes:
        length: its operations, the last one included.
        effect: the effect that it has besides its results; empty without one.
        is_parallel: True where no loop reduces.
        looks_up: True where it reads tensors at indices that it computes.
        has_positions: True where it reads the positions of loops.
    """

    length: int
    effect: str
    is_parallel: bool
    looks_up: bool
    has_positions: bool

    @classmethod
    def of(cls, op: Any) -> Body:
        """Read the body of an op."""
        block = op.regions[0].blocks[0]
        length, reaches_memory = 0, False
        names: set[str] = set()
        for view in block.operations:
            length += 1
            if not view.operation.name.startswith(_COMPUTE):
                inside = select(view, bool)
                names.update(inner.name for inner in inside)
                reaches_memory |= any(map(_reads_memory, inside))
        effect = "asserts" if "cf.assert" in names else ""
        return cls(
            length,
            "reaches memory outside" if reaches_memory else effect,
            all(parallel_loops(op)),
            "tensor.extract" in names,
            "linalg.index" in names,
        )

    @classmethod
    def joined(cls, bodies: Iterable[Body]) -> Body:
        """Return the properties of a body that does the work of several, of the first one last."""
        last, *before = bodies
        return cls(
            last.length + sum(body.length - 1 for body in before),
            next(filter(None, (body.effect for body in (last, *before))), ""),
            last.is_parallel,
            any(body.looks_up for body in (last, *before)),
            any(body.has_positions for body in (last, *before)),
        )

    @property
    def moves_only(self) -> bool:
        """True where it yields its arguments as they are."""
        return self.length == 1


def boundary(op: Any, reader: Any, at: int, bodies: Mapping[Any, Body]) -> str | None:
    """Return why a producer is not fused into an op that reads it; None where it may be fused.

    Args:
        op, reader: generics on tensors.
        at: the input of the reader that the producer gives.
        bodies: the properties of all generics so far.
    """
    body = bodies[op.results[0]]
    if op.block == reader.block and _permutes(op, body) and has_own_nest(reader, bodies):
        return None  # an operand may be packed from any order
    if (reason := _may_not_move(op, reader, body)) is not None:
        return reason
    if body.length + bodies[reader.results[0]].length > _LONGEST:
        return f"the body would have more than {_LONGEST} operations"
    if body.looks_up and _repeats(reader, at):
        return "a reader that repeats its iterations would look up each element again"
    if _permutes(reader, bodies[reader.results[0]]) and _is_for_contraction(reader):
        return "a contraction packs its operand from the order before the reader"
    if bodies[reader.results[0]].is_parallel:
        return None
    if _has_windows(reader) and any(_is_computed(value, bodies) for value in reader.operands):
        return "windows overlap: each would compute its elements again"
    if has_own_nest(reader, bodies):
        return "each row or column of a contraction would compute its operand again"
    return None


def has_own_nest(op: Any, bodies: Mapping[Any, Body]) -> bool:
    """Return whether a generic is a contraction of computed operands, which are read as they are.

    One that packing can compute is no such operand.
    """
    if len(op.operands) != 3 or bodies[op.results[0]].is_parallel:
        return False
    computed = [value for value in op.operands if _is_computed(value, bodies)]
    return bool(computed) and is_packed(op) and not all(map(is_widened, computed))


def _is_computed(value: Any, bodies: Mapping[Any, Body]) -> bool:
    op = producer(value)
    body = None if op is None else bodies.get(op.results[0])
    return body is not None and body.is_parallel and not body.moves_only


def _reads_memory(op: Any) -> bool:
    memory = (ir.MemRefType, ir.UnrankedMemRefType)
    return any(isinstance(value.type, memory) for value in op.operands)


def _may_not_move(op: Any, reader: Any, body: Body) -> str | None:
    if sum(1 for result in op.results for _ in result.uses) > 1:
        return "several ops read the result"
    if not body.is_parallel:
        return "the producer reduces"
    if op.block != reader.block:
        return "the reader is in another region, which may run more or less often"
    if not may_be_fused(op, reader):
        return "the ops are of different groups"
    if body.effect:
        return f"the body of the producer {body.effect}"
    written = maps_of(op)[input_count(op) :]
    if not all(map_.is_permutation for map_ in written):
        return "the producer does not write each element once"
    return None


def _repeats(op: Any, at: int) -> bool:
    """Return whether an op has a loop whose iterations read the same elements of an operand."""
    indices = maps_of(op)[at].results
    along = {index.position for index in indices if isinstance(index, ir.AffineDimExpr)}
    return any(rounds != 1 for dim, rounds in extents_of(op).items() if dim not in along)


def _has_windows(op: Any) -> bool:
    plain = (ir.AffineDimExpr, ir.AffineConstantExpr)
    return any(
        not isinstance(index, plain)
        for map_ in maps_of(op)[: input_count(op)]
        for index in map_.results
    )


def _permutes(op: Any, body: Body) -> bool:
    """Return whether an op permutes the axes of its one operand, and does nothing else."""
    is_mover = body.moves_only and len(op.operands) == 2
    return is_mover and all(map_.is_permutation for map_ in maps_of(op))


def _is_for_contraction(op: Any) -> bool:
    readers = [use.owner.operation for use in op.results[0].uses]
    return all(reader.name == "linalg.generic" and is_contraction(reader) for reader in readers)
