"""Ops on scalars, as steps that are written again on vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.transforms.analysis.fills import comes_of
from linalg_ext.transforms.ir_utils.walking import producer

from .writer import Writer


@dataclass(frozen=True)
class Step:
    """One op of a body.

    Attributes:
        name: of the op.
        attributes: as MLIR writes them.
        operands: positions among the values given and the steps after them; or the text of a
            constant.
        types: the types of the operands, as scalars.
        element: the type of the result.
    """

    name: str
    attributes: str
    operands: tuple[int | str, ...]
    types: tuple[str, ...]
    element: str


def step_of(op: Any, operands: tuple[int | str, ...]) -> Step:
    """An op with one result as a step."""
    attributes = ", ".join(f"{name} = {op.attributes[name]}" for name in op.attributes)
    types = tuple(str(value.type) for value in op.operands)
    return Step(op.name, attributes, operands, types, str(op.results[0].type))


def constant_text(value: Any) -> str | None:
    """The text of a scalar constant, with its type; None for any other value."""
    if not comes_of(value, "arith.constant"):
        return None
    number = str(producer(value).attributes["value"])
    if number in ("true", "false"):
        return f"{number} : i1"
    return number if " : " in number and "dense" not in number else None


def write_on_vectors(
    w: Writer, steps: Iterable[Step], given: Sequence[str | None], lanes: int, result: int
) -> str:
    """Write steps on vectors, and name a result.

    Args:
        w: where the code is written.
        steps: in order.
        given: the vectors that come before the steps; None for one that nobody reads.
        lanes: of a vector.
        result: the position of what is wanted.
    """
    values = list(given)
    for step in steps:
        operands = ", ".join(_operand(w, values, operand, lanes) for operand in step.operands)
        types = ", ".join(f"vector<{lanes}x{type_}>" for type_ in step.types)
        values.append(
            w.op(
                f'"{step.name}"({operands}) {{{step.attributes}}} : '
                f"({types}) -> vector<{lanes}x{step.element}>"
            )
        )
    return _operand(w, values, result, lanes)


def _operand(w: Writer, values: Sequence[str | None], operand: int | str, lanes: int) -> str:
    if isinstance(operand, str):
        number, _, element = operand.rpartition(" : ")
        return w.constant(f"dense<{number}>", f"vector<{lanes}x{element}>")
    value = values[operand]
    if value is None:
        raise AssertionError("a value is read that was not given")
    return value
