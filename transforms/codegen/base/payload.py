"""Payloads of structured ops: read as steps on scalars, and written as steps on vectors.

    ^bb0(%x: f32, %bias: f32, %old: f32):          inputs 0, 1 and 2
      %s = arith.addf %x, %bias : f32              3
      %r = math.tanh %s : f32                      4, the result
      linalg.yield %r : f32

One table has the ops that have a form on vectors, for all that writes them there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.transforms.analysis.fills import comes_of
from linalg_ext.transforms.codegen.vector_math.expand_vector_math import EXPANSIONS
from linalg_ext.transforms.ir_utils.float_formats import WIDE
from linalg_ext.transforms.ir_utils.generics import inside, yielded_by
from linalg_ext.transforms.ir_utils.walking import ops_of, producer

from .problem import Argument, bits_of
from .writer import Writer

ELEMENTS = frozenset(["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "i1"])
"""The types of the elements of vectors."""

NARROW_FLOATS = ("f16", "bf16")
"""Element types whose arithmetic is done in f32, and rounded."""

_NATIVE_MATH = frozenset(
    f"math.{name}"
    for name in (
        *("absf", "absi", "ceil", "clampf", "copysign", "floor", "fma", "isfinite", "isinf"),
        *("isnan", "isnormal", "roundeven", "rsqrt", "sqrt", "trunc"),
    )
)
"""Functions that few instructions on vectors compute; `EXPANSIONS` has the others."""

_SCALAR_ARITH = frozenset({"arith.scaling_extf", "arith.scaling_truncf"})


def has_vector_form(name: str, element: str) -> bool:
    """Return whether an op of a payload can be written on vectors, by the type of its result."""
    if name.startswith("arith."):
        return name not in _SCALAR_ARITH
    return name in _NATIVE_MATH or (name in EXPANSIONS and element in (*WIDE, *NARROW_FLOATS))


def obstacle_to_vectors(op: Any) -> str | None:
    """Return why an op of a payload has no form on vectors; None if it has one."""
    if op.name in ("linalg.yield", "linalg.index"):
        return None
    for value in (*op.operands, *op.results):
        if not isinstance(value.type, ir.IndexType) and str(value.type) not in ELEMENTS:
            return f"{op.name} on {value.type}"
    element = str(op.results[0].type) if len(op.results) else ""
    return None if has_vector_form(op.name, element) else f"{op.name} has no form on vectors"


_FEW_STEPS = 6
"""The most steps that are written out for each vector of a tile; more are put in a loop."""

_FMA = "vector.fma"

_SCALARIZED = frozenset(
    f"arith.{name}{sign}" for name in ("div", "rem", "ceildiv", "floordiv") for sign in ("si", "ui")
)
"""No machine divides vectors of integers: each lane is divided by itself."""


@dataclass(frozen=True)
class Step:
    """One op of a payload, on scalars; its attributes are as MLIR writes them.

    Its operands are the numbers of values, or the text of a constant.
    """

    name: str
    attributes: str
    operands: tuple[int | str, ...]
    types: tuple[str, ...]
    element: str


@dataclass(frozen=True)
class Payload:
    """A computation of one element.

    Attributes:
        inputs: the number of values that it reads.
        steps: its ops in order; their results are the values after the inputs.
        result: the number of the value that it yields.
    """

    inputs: int
    steps: tuple[Step, ...]
    result: int

    def reads(self, value: int) -> bool:
        """Return whether the payload depends on an input."""
        return self.result == value or any(value in step.operands for step in self.steps)

    @property
    def bits(self) -> int:
        """The bits of the widest number that it computes with."""
        types = {type_ for step in self.steps for type_ in (*step.types, step.element)}
        return max(map(bits_of, types), default=8)

    @property
    def is_long(self) -> bool:
        """Return whether it is much code: many steps, or one that is expanded into many."""
        expanded = EXPANSIONS.keys() | _SCALARIZED
        return len(self.steps) > _FEW_STEPS or any(step.name in expanded for step in self.steps)

    @property
    def summary(self) -> str:
        """The names of the steps, for tables."""
        return " ".join(step.name.partition(".")[2] for step in self.steps)

    def contracted(self) -> Payload:
        """Return the payload with each sum of a product as one op that rounds once.

        A product that is read elsewhere too stays.
        """
        uses = [operand for step in self.steps for operand in step.operands] + [self.result]
        steps = list(self.steps)
        for number, step in enumerate(steps):
            if step.name != "arith.addf" or step.element not in ("f32", "f64"):
                continue
            for at, operand in enumerate(step.operands):
                if not isinstance(operand, int) or operand < self.inputs:
                    continue
                product = steps[operand - self.inputs]
                if product.name == "arith.mulf" and uses.count(operand) == 1:
                    operands = (*product.operands, step.operands[1 - at])
                    types = (step.element,) * 3
                    steps[number] = Step(_FMA, "", operands, types, step.element)
                    break
        return replace(self, steps=tuple(steps))._without_dead_steps()

    def _without_dead_steps(self) -> Payload:
        needed, pending = set[int](), [self.result]
        while pending:
            at = pending.pop()
            if at >= self.inputs and at not in needed:
                needed.add(at)
                pending += [o for o in self.steps[at - self.inputs].operands if isinstance(o, int)]
        numbers = {number: number for number in range(self.inputs)}
        used_steps: list[Step] = []
        for at, step in enumerate(self.steps, start=self.inputs):
            if at in needed:
                operands = tuple(numbers[o] if isinstance(o, int) else o for o in step.operands)
                numbers[at] = self.inputs + len(used_steps)
                used_steps.append(replace(step, operands=operands))
        return Payload(self.inputs, tuple(used_steps), numbers[self.result])

    def write(self, w: Writer, inputs: Sequence[str | None], lanes: int) -> str:
        """Write the payload on vectors; inputs that are not read may be None."""
        values = list(inputs)

        def named(operand: int | str) -> str:
            if isinstance(operand, str):
                return write_constant(w, operand, lanes)
            value = values[operand]
            if value is None:
                raise AssertionError("a value is read that was not given")
            return value

        for step in self.steps:
            operands = list(zip(map(named, step.operands), step.types, strict=True))
            values.append(
                write_on_vectors(w, step.name, step.attributes, operands, step.element, lanes)
            )
        return named(self.result)


@dataclass(frozen=True)
class Elementwise:
    """A payload on the elements of an operand.

    Attributes:
        arguments: the other operands that it reads.
        scalars: the types of the scalars that it reads.
        payload: its inputs are an element, those of the other operands, and the scalars.
    """

    arguments: tuple[Argument, ...]
    scalars: tuple[str, ...]
    payload: Payload

    def broadcast_scalars(self, w: Writer, names: Sequence[str], lanes: int) -> list[str]:
        """Write the scalars, which are given by name, as vectors."""
        return [
            w.broadcast(name, type_, f"vector<{lanes}x{type_}>")
            for name, type_ in zip(names, self.scalars, strict=True)
        ]


def read_payload(
    op: Any, known: Mapping[Any, int], inputs: int, yielded: Any = None
) -> Payload | str:
    """Read the payload of a structured op, or return why it has no form on vectors.

    Args:
        op: a `linalg.generic`.
        known: the number of each argument of the block, and of each scalar from outside.
        inputs: the number of values that the payload reads.
        yielded: the value that is computed; by default the one that the body yields.
    """
    values: dict[Any, int | str] = dict(known)
    steps: list[Step] = []
    *body, end = ops_of(op.regions[0].blocks[0])
    if yielded is None:
        if len(end.operands) != 1:
            return "the op has several results"
        (yielded,) = end.operands
    needed = needed_for(yielded)
    for inner in body:
        if inner.name == "arith.constant" or inner not in needed:
            continue
        obstacle = obstacle_to_vectors(inner)
        if obstacle is not None:
            return obstacle
        if len(inner.results) != 1:
            return f"{inner.name} has several results"
        if any(isinstance(value.type, ir.IndexType) for value in (*inner.operands, *inner.results)):
            return f"{inner.name} on positions has no form on vectors"
        operands = [values.get(value, constant_text(value)) for value in inner.operands]
        known_operands = tuple(operand for operand in operands if operand is not None)
        if len(known_operands) < len(operands):
            return f"{inner.name} reads a value from outside"
        types = tuple(str(value.type) for value in inner.operands)
        element = str(inner.results[0].type)
        steps.append(Step(inner.name, attributes_text(inner), known_operands, types, element))
        values[inner.results[0]] = inputs + len(steps) - 1
    result = values.get(yielded)
    if not isinstance(result, int):
        return "the body yields a constant"
    return Payload(inputs, tuple(steps), result)


def read_elementwise(
    op: Any,
    elements: Iterable[Any],
    read_operands: Sequence[tuple[Any, Argument]],
    scalars: Sequence[Any],
    yielded: Any = None,
) -> Elementwise | None:
    """Read the computation of a `linalg.generic` on an element; None if it has no form on vectors.

    Args:
        op: the op.
        elements: the arguments of its block that are the element.
        read_operands: the arguments that are elements of other operands, and these operands.
        scalars: the scalars that it reads, as `captured_scalars` returns them.
        yielded: the value that is computed; by default the one that the body yields.
    """
    known = dict.fromkeys(elements, 0)
    known.update((inner, number) for number, (inner, _) in enumerate(read_operands, start=1))
    arguments = op.regions[0].blocks[0].arguments
    for number, scalar in enumerate(scalars, start=1 + len(read_operands)):
        pairs = zip(op.operands, arguments, strict=True)
        known[scalar] = number
        known.update((inner, number) for operand, inner in pairs if operand == scalar)
    types = tuple(str(scalar.type) for scalar in scalars)
    payload = read_payload(op, known, 1 + len(read_operands) + len(scalars), yielded)
    if isinstance(payload, str) or "index" in types:
        return None
    return Elementwise(tuple(argument for _, argument in read_operands), types, payload)


def combination_of(op: Any, number: int = 0) -> tuple[Any, Any] | None:
    """Return the op that combines the old element of an output with a value, and the value.

    None where the body does not read the old element once, in the binary op that it yields.
    """
    body = op.regions[0].blocks[0]
    yielded = yielded_by(body)
    old = body.arguments[len(body.arguments) - len(yielded) + number]
    combiner = inside(yielded[number], body)
    if combiner is None or len(combiner.operands) != 2 or sum(1 for _ in old.uses) != 1:
        return None
    left, right = combiner.operands
    return None if old not in (left, right) else (combiner, right if left == old else left)


def captured_scalars(op: Any) -> list[Any]:
    """Return the scalars that a payload reads, but for constants: operands first."""
    body = op.regions[0].blocks[0]
    scalars = [value for value in op.operands if not isinstance(value.type, ir.ShapedType)]
    for inner in body.operations:
        for value in inner.operation.operands:
            owner = producer(value)
            is_inside = value.owner == body if owner is None else owner.block == body
            if not is_inside and constant_text(value) is None and value not in scalars:
                scalars.append(value)
    return scalars


def needed_for(value: Any) -> set[Any]:
    """Return the ops of a block that a value is computed by."""
    ops: set[Any] = set()
    pending = [producer(value)]
    block = None if pending[0] is None else pending[0].block
    while pending:
        op = pending.pop()
        if op is not None and op.block == block and op not in ops:
            ops.add(op)
            pending += [producer(operand) for operand in op.operands]
    return ops


def attributes_text(op: Any, without: Sequence[str] = ()) -> str:
    """Return the attributes of an op as MLIR writes them, in the order of their names."""
    names = sorted(name for name in op.attributes if name not in without)
    return ", ".join(f"{name} = {op.attributes[name]}" for name in names)


def constant_text(value: Any) -> str | None:
    """Return the text of a scalar constant, with its type; None for any other value."""
    if not comes_of(value, "arith.constant"):
        return None
    number = str(producer(value).attributes["value"])
    if number in ("true", "false"):
        return f"{number} : i1"
    return number if " : " in number and "dense" not in number else None


def write_constant(w: Writer, text: str, lanes: int) -> str:
    """Write a constant on vectors, given the text of the scalar with its type."""
    number, _, element = text.rpartition(" : ")
    return w.constant(f"dense<{number}>", f"vector<{lanes}x{element}>")


def write_on_vectors(
    w: Writer, name: str, attributes: str, operands: Sequence[tuple[str, str]], element: str,
    lanes: int,
) -> str:  # fmt: skip
    """Write an op on scalars as one on vectors, given by their names and element types.

    Attributes are as MLIR writes them; `element` is the type of an element of the result.
    """
    names = ", ".join(operand for operand, _ in operands)
    types = ", ".join(f"vector<{lanes}x{type_}>" for _, type_ in operands)
    return w.op(f'"{name}"({names}) {{{attributes}}} : ({types}) -> vector<{lanes}x{element}>')
