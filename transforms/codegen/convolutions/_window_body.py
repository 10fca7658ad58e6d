"""The body of a structured op, read so that it can be written again for vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from linalg_ext.transforms.codegen.base.steps import Step, constant_text, step_of, write_on_vectors
from linalg_ext.transforms.codegen.base.writer import Writer
from linalg_ext.transforms.codegen.vector_math.expand_vector_math import EXPANSIONS

ELEMENTS = frozenset(["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8"])
"""What memory may hold."""

_IN_REGISTERS = ELEMENTS | {"i1"}
_SCALAR_ONLY = frozenset({"arith.scaling_extf", "arith.scaling_truncf"})
_MATH = frozenset({"math.absf", "math.absi", "math.fma", "math.sqrt"})
_FMA = "vector.fma"


@dataclass(frozen=True)
class Body:
    """What a body computes of one element of each operand.

    Attributes:
        operands: how many operands it has, those from outside of the op included.
        steps: its ops in order.
        result: what it yields: a position among the operands and the steps.
    """

    operands: int
    steps: tuple[Step, ...]
    result: int

    def reads(self, operand: int) -> bool:
        """Whether an operand matters."""
        return self.result == operand or any(operand in step.operands for step in self.steps)

    @property
    def bits(self) -> int:
        """Those of the widest number that it computes with."""
        types = {type_ for step in self.steps for type_ in (*step.types, step.element)}
        return max((_bits(type_) for type_ in types), default=8)

    def write(self, w: Writer, given: Sequence[str | None], lanes: int) -> str:
        """Write the body for vectors; gives the name of the result.

        Args:
            given: for each operand the name of its vector; None for what is not read.
        """
        return write_on_vectors(w, self.steps, given, lanes, self.result)


def read_body(op: Any, *, fuses: bool) -> tuple[Body, list[Any]] | str:
    """The body of a generic with one output, and the scalars that it takes from outside.

    Args:
        op: the generic.
        fuses: whether a product and a sum of it become one op, without rounding between.

    Returns:
        The scalars are the last operands of the body. Or why it cannot be on vectors.
    """
    block = op.regions[0].blocks[0]
    inner = [each.operation for each in block.operations]
    outside: list[Any] = []
    inside = {result for each in inner for result in each.results} | set(block.arguments)
    for each in inner:
        for value in each.operands:
            if value not in inside and constant_text(value) is None and value not in outside:
                outside.append(value)
    known: dict[Any, int | str] = {
        value: place for place, value in enumerate((*block.arguments, *outside))
    }
    count = len(known)
    steps: list[Step] = []
    for each in inner:
        operands = [known.get(value, constant_text(value)) for value in each.operands]
        given = tuple(operand for operand in operands if operand is not None)
        if each.name == "linalg.yield":
            (result,) = given
            if isinstance(result, str):
                return "it yields a constant"
            body = Body(count, tuple(steps), result)
            return (_fused(body) if fuses else body), outside
        if each.name == "arith.constant":
            continue
        values = (*each.operands, *each.results)
        if not _has_vectors(each) or any(str(v.type) not in _IN_REGISTERS for v in values):
            return f"{each.name} has no form on vectors"
        steps.append(step_of(each, given))
        known[each.results[0]] = count + len(steps) - 1
    return "its body does not end"


def _has_vectors(op: Any) -> bool:
    if len(op.results) != 1 or len(op.regions):
        return False
    if op.name.startswith("arith."):
        return op.name not in _SCALAR_ONLY
    return op.name in _MATH or op.name in EXPANSIONS.get(str(op.results[0].type), {})


def _bits(element: str) -> int:
    return int(element.lstrip("bfi"))


def _fused(body: Body) -> Body:
    """The body with sums of a product in one op, where nobody else needs the product."""
    uses = [operand for step in body.steps for operand in step.operands] + [body.result]
    steps = list(body.steps)
    for number, step in enumerate(steps):
        if step.name != "arith.addf" or step.element not in ("f32", "f64"):
            continue
        for at, operand in enumerate(step.operands):
            if not isinstance(operand, int) or operand < body.operands:
                continue
            product = steps[operand - body.operands]
            if product.name == "arith.mulf" and uses.count(operand) == 1:
                operands = (*product.operands, step.operands[1 - at])
                types = (step.element,) * 3
                steps[number] = replace(
                    step, name=_FMA, attributes="", operands=operands, types=types
                )
                break
    needed = _needed(body.result, steps, body.operands)
    places = {place: place for place in range(body.operands)}
    kept: list[Step] = []
    for number, step in enumerate(steps):
        if number + body.operands in needed:
            moved = tuple(places[o] if isinstance(o, int) else o for o in step.operands)
            places[number + body.operands] = body.operands + len(kept)
            kept.append(replace(step, operands=moved))
    return Body(body.operands, tuple(kept), places[body.result])


def _needed(result: int, steps: Sequence[Step], operands: int) -> set[int]:
    """The positions that a result comes of."""
    found, pending = set[int](), [result]
    while pending:
        at = pending.pop()
        if at in found:
            continue
        found.add(at)
        if at >= operands:
            pending += [o for o in steps[at - operands].operands if isinstance(o, int)]
    return found
