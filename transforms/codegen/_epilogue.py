"""Epilogues: element-wise work on the result of a contraction, done while it is in registers.

A bias, an activation, a residual: one `linalg.generic` that reads each element of C at its place,
and other operands at the place of its row, its column or its batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linalg_ext.bindings import ir

from ._argument import Argument, argument_of
from ._fills import comes_of, leaves_alone, producer, root
from ._memory import Strided
from ._problem import Dimension, Group, Problem
from ._writer import Index, Writer

_ARITHMETIC = (
    "addf", "subf", "mulf", "divf", "negf", "maximumf", "minimumf", "maxnumf", "minnumf", "cmpf",
    "select",
)  # fmt: skip
_VECTOR_OPS = {f"arith.{name}" for name in _ARITHMETIC} | {"math.absf", "math.fma", "math.sqrt"}
"""Ops that on vectors do, lane by lane, what they do on scalars, and as quickly."""

_MOVABLE = ("memref.alloc", "memref.get_global")

_MOST_PIECES = 3


@dataclass(frozen=True)
class Step:
    """One op of the epilogue.

    Attributes:
        name: of the op.
        attributes: as MLIR writes them.
        operands: positions among C (0), the other operands (1, ...) and the steps after them; or
            the text of a constant.
        element: the type of the result.
    """

    name: str
    attributes: str
    operands: tuple[int | str, ...]
    element: str


@dataclass(frozen=True)
class Epilogue:
    """What is done to each element of C.

    Attributes:
        arguments: the other operands that it reads.
        steps: the ops, in order.
        result: the position of what is written.
    """

    arguments: tuple[Argument, ...]
    steps: tuple[Step, ...]
    result: int


@dataclass(frozen=True)
class FoundEpilogue:
    """An epilogue in IR.

    Attributes:
        epilogue: what it does.
        op: the op that does it.
        destination: where its result goes.
        values: the other operands.
    """

    epilogue: Epilogue
    op: Any
    destination: Any
    values: tuple[Any, ...]


def find_epilogue(op: Any, dims: Sequence[str], zeros: Any) -> FoundEpilogue | None:
    """The op after a contraction that may be done with it; None where there is none.

    Args:
        op: the contraction; its result goes to a buffer that nobody else needs, or is overwritten.
        dims: the dimension of each axis of its result.
        zeros: what fills the result before.
    """
    output = op.operands[2]
    after = _next(op, output)
    if after is None or after.name != "linalg.generic" or len(after.results):
        return None
    destination = after.operands[len(after.operands) - 1]
    if destination.type.element_type != output.type.element_type:
        return None
    if destination != output and not _dies(output, {op, after, zeros}):
        return None
    maps = [ir.AffineMapAttr(one).value for one in ir.ArrayAttr(after.attributes["indexing_maps"])]
    names = _names(maps[-1], dims)
    if names is None or maps[0].n_dims != len(dims):
        return None
    places: list[int | None] = []
    values, arguments = [], []
    for operand, map_ in zip(after.operands, maps, strict=True):
        if operand == output:
            if map_ != maps[-1]:
                return None
            places.append(0)
        elif operand == destination:
            places.append(None)  # what it held before: whoever reads that is no epilogue
        else:
            argument = _extra(operand, map_, names)
            if argument is None or argument.element != str(output.type.element_type):
                return None
            values.append(operand)
            arguments.append(argument)
            places.append(len(values))
    if not all(_comes_before(value, op) for value in (destination, *values)):
        return None
    touched = [*list(op.operands)[:2], *values]
    if any(root(value) == root(destination) for value in touched):
        return None
    read = _read_body(after, places, len(values))
    if read is None:
        return None
    steps, result = read
    return FoundEpilogue(
        Epilogue(tuple(arguments), steps, result), after, destination, tuple(values)
    )


def _next(op: Any, output: Any) -> Any:
    """The next op that is not indifferent to the result."""
    siblings = [other.operation for other in op.block.operations]
    for other in siblings[siblings.index(op) + 1 :]:
        if not leaves_alone(other, output):
            return other
        if other.name not in ("arith.constant", *_MOVABLE):
            return None  # what the epilogue writes early, others might read
    return None


def _comes_before(value: Any, op: Any) -> bool:
    """Whether a value is there when an op runs, or can be made so."""
    owner = producer(value)
    if owner is None or owner.block != op.block or owner.is_before_in_block(op):
        return True
    return owner.name in _MOVABLE and not len(owner.operands)


def move_before(found: FoundEpilogue, op: Any) -> None:
    """Have the operands of an epilogue there when an op runs."""
    for value in (found.destination, *found.values):
        owner = producer(value)
        if owner is not None and owner.block == op.block and op.is_before_in_block(owner):
            owner.move_before(op)


def _dies(output: Any, users: set[Any]) -> bool:
    """Whether a buffer is made for an op and its epilogue alone."""
    if not comes_of(output, "memref.alloc"):
        return False
    owners = [use.owner.operation for use in output.uses]
    return all(owner in users or owner.name == "memref.dealloc" for owner in owners)


def _names(map_: Any, dims: Sequence[str]) -> dict[int, str] | None:
    """The names of the dimensions of an element-wise op, by the map of its result."""
    if not map_.is_permutation or len(map_.results) != len(dims):
        return None
    positions = [ir.AffineDimExpr(result).position for result in map_.results]
    return dict(zip(positions, dims, strict=True))


def _extra(value: Any, map_: Any, names: Mapping[int, str]) -> Argument | None:
    if not isinstance(value.type, ir.MemRefType):
        return None
    if not all(isinstance(result, ir.AffineDimExpr) for result in map_.results):
        return None
    found = argument_of(value, tuple(names[result.position] for result in map_.results))
    return None if isinstance(found, str) else found


def _read_body(
    op: Any, places: Sequence[int | None], extras: int
) -> tuple[tuple[Step, ...], int] | None:
    block = op.regions[0].blocks[0]
    known: dict[Any, int | str] = {}
    for argument, place in zip(block.arguments, places, strict=True):
        if place is not None:
            known[argument] = place
    steps: list[Step] = []
    for inner in (each.operation for each in block.operations):
        operands = [known.get(value, _constant(value)) for value in inner.operands]
        if inner.name == "linalg.yield":
            (result,) = operands
            return (tuple(steps), result) if isinstance(result, int) else None
        if inner.name == "arith.constant":
            continue
        if inner.name not in _VECTOR_OPS or any(operand is None for operand in operands):
            return None
        attributes = ", ".join(f"{each} = {inner.attributes[each]}" for each in inner.attributes)
        given = tuple(operand for operand in operands if operand is not None)
        steps.append(Step(inner.name, attributes, given, str(inner.results[0].type)))
        known[inner.results[0]] = extras + len(steps)
    return None


def _constant(value: Any) -> str | None:
    if not comes_of(value, "arith.constant"):
        return None
    number = str(producer(value).attributes["value"])
    return number if number.endswith((" : f32", " : f64")) else None


class Finisher:
    """Writes an epilogue for the vectors of a tile."""

    def __init__(
        self,
        w: Writer,
        problem: Problem,
        epilogue: Epilogue,
        operands: Sequence[Strided],
        lanes: int,
    ) -> None:
        """
        Args:
            w: where the code is written.
            problem: the contraction.
            epilogue: what is done.
            operands: the other operands, each in the place of C.
            lanes: of a vector.
        """
        self._w = w
        self._element = problem.element
        self._epilogue = epilogue
        self._operands = tuple(operands)
        self._lanes = lanes
        self._rows = [_seen(problem.rows, each) for each in epilogue.arguments]
        self._columns = [_seen(problem.columns, each) for each in epilogue.arguments]

    def moved(self, dimension: str, index: Index) -> Finisher:
        """The same at an index of a batch dimension."""
        moved = object.__new__(Finisher)
        moved.__dict__.update(self.__dict__)
        moved._operands = tuple(
            operand.moved(dimension, index) if dimension in argument.dimensions else operand
            for operand, argument in zip(self._operands, self._epilogue.arguments, strict=True)
        )
        return moved

    def __call__(self, value: str, row: Index, column: Index, limit: Index | None) -> str:
        """What becomes of a vector of C whose first lane is at a row and column."""
        w = self._w
        values = [value]
        for number, operand in enumerate(self._operands):
            offset = operand.offset(self._rows[number], row)
            values.append(self._loaded(operand, self._columns[number], offset, column, limit))
        for step in self._epilogue.steps:
            vector = f"vector<{self._lanes}x{step.element}>"
            operands = [self._operand(values, each) for each in step.operands]
            types = ", ".join(self._types(step))
            values.append(
                w.op(
                    f'"{step.name}"({", ".join(operands)}) {{{step.attributes}}} : '
                    f"({types}) -> {vector}"
                )
            )
        return values[self._epilogue.result]

    def _operand(self, values: Sequence[str], operand: int | str) -> str:
        if isinstance(operand, int):
            return values[operand]
        number, _, element = operand.rpartition(" : ")
        return self._w.constant(f"dense<{number}>", f"vector<{self._lanes}x{element}>")

    def _types(self, step: Step) -> list[str]:
        """The types of a step's operands: all are floats but for the condition of a select."""
        types = [f"vector<{self._lanes}x{self._element}>"] * len(step.operands)
        if step.name == "arith.select":
            types[0] = f"vector<{self._lanes}xi1>"
        return types

    def _loaded(
        self, operand: Strided, columns: Group, offset: Index, column: Index, limit: Index | None
    ) -> str:
        w, memory = self._w, operand.memory
        if all(segment.stride == 0 for segment in columns.segments("C")):
            scalar = memory.load(w.add(operand.base, offset))
            return w.op(f"vector.broadcast {scalar} : {memory.element} to {memory.vector}")
        count = columns.pieces("C", self._lanes)
        return operand.load_pieces(operand.pieces(columns, column, count, limit), offset)


def fits(problem: Problem, epilogue: Epilogue, lanes: int) -> bool:
    """Whether the other operands can be read in vectors, or are the same for all columns."""
    for argument in epilogue.arguments:
        columns = _seen(problem.columns, argument)
        is_constant = all(segment.stride == 0 for segment in columns.segments("C"))
        if not is_constant and not 0 < columns.pieces("C", lanes) <= _MOST_PIECES:
            return False
    return True


def _seen(group: Group, argument: Argument) -> Group:
    """A group as another operand walks over it, in the place of C."""
    strides = dict(zip(argument.dimensions, argument.strides, strict=True))
    return Group(
        tuple(Dimension(d.name, d.size, {"C": strides.get(d.name, 0)}) for d in group.dimensions)
    )
