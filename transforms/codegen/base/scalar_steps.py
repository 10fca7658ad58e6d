"""Bodies of element-wise ops, read as steps on scalars and written as steps on vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.transforms.codegen.base.vectorizable import unfit
from linalg_ext.transforms.codegen.vector_math.expand_vector_math import EXPANSIONS
from linalg_ext.transforms.ir_utils.walking import producer

from .operand_types import Argument
from .steps import Step, constant_text, step_of, write_on_vectors
from .writer import Writer

_FEW_STEPS = 6
"""So many steps are written out for each vector of a tile; more of them in a loop."""

_NOT_ON_VECTORS = {"linalg.index"} | {
    f"arith.{name}{sign}" for name in ("div", "rem", "ceildiv", "floordiv") for sign in ("si", "ui")
}
"""What a vector has no place for, or what may fault in lanes that are beyond an edge."""


@dataclass(frozen=True)
class Steps:
    """What a body computes.

    Attributes:
        steps: the ops, in order.
        result: the position of what is yielded.
    """

    steps: tuple[Step, ...]
    result: int

    @property
    def is_long(self) -> bool:
        """Whether it is much code: many steps, or one that is expanded into many."""
        is_expanded = any(step.name in EXPANSIONS["f32"] for step in self.steps)
        return is_expanded or len(self.steps) > _FEW_STEPS


@dataclass(frozen=True)
class Elementwise:
    """What is computed of each element of an operand.

    Attributes:
        arguments: the other operands that it reads.
        scalars: the types of the scalars that it reads, after them.
        steps: what is computed of an element (0), those of the others, and the scalars.
    """

    arguments: tuple[Argument, ...]
    scalars: tuple[str, ...]
    steps: Steps


def scalars_of(op: Any) -> list[Any]:
    """The scalars from outside that a body uses, but for constants: operands first."""
    body = op.regions[0].blocks[0]
    found = [value for value in op.operands if not isinstance(value.type, ir.ShapedType)]
    for inner in body.operations:
        for value in inner.operation.operands:
            owner = producer(value)
            is_inside = value.owner == body if owner is None else owner.block == body
            if not is_inside and constant_text(value) is None and value not in found:
                found.append(value)
    return found


def read_steps(op: Any, known: Mapping[Any, int], first: int, wanted: Any = None) -> Steps | None:
    """The body of an op with one result; None where it has something that vectors cannot do.

    Args:
        op: a `linalg.generic`.
        known: the position of each argument of the body, and of each scalar from outside.
        first: the position of the first step.
        wanted: the value that is computed; what is yielded by default.
    """
    positions: dict[Any, int | str] = dict(known)
    steps: list[Step] = []
    *body, end = (each.operation for each in op.regions[0].blocks[0].operations)
    if wanted is None:
        (wanted,) = end.operands if len(end.operands) == 1 else [None]
    needed = needed_for(wanted)
    for inner in body:
        if inner.name == "arith.constant" or inner not in needed:
            continue
        operands = [positions.get(value, constant_text(value)) for value in inner.operands]
        given = tuple(operand for operand in operands if operand is not None)
        is_vectorizable = unfit(inner) is None and inner.name not in _NOT_ON_VECTORS
        if len(inner.results) != 1 or not is_vectorizable or len(given) < len(operands):
            return None
        if any(isinstance(value.type, ir.IndexType) for value in (*inner.operands, *inner.results)):
            return None
        steps.append(step_of(inner, given))
        positions[inner.results[0]] = first + len(steps) - 1
    result = positions.get(wanted)
    return Steps(tuple(steps), result) if isinstance(result, int) else None


def needed_for(value: Any) -> set[Any]:
    """The ops of a body that a value is computed by."""
    found: set[Any] = set()
    pending = [producer(value)]
    block = None if pending[0] is None else pending[0].block
    while pending:
        op = pending.pop()
        if op is not None and op.block == block and op not in found:
            found.add(op)
            pending += [producer(operand) for operand in op.operands]
    return found


def write_steps(w: Writer, steps: Steps, given: Sequence[str], lanes: int) -> str:
    """Write a body for vectors, and name its result.

    Args:
        w: where the code is written.
        steps: the body.
        given: the vectors that come before the steps.
        lanes: of a vector.
    """
    return write_on_vectors(w, steps.steps, given, lanes, steps.result)
