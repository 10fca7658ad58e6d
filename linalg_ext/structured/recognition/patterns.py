"""Patterns of the ops that each function emits in the body of a structured op.

Every function is emitted once for an element type; the emitted ops are its pattern. A function that
the payload learns to emit is therefore recognised without a change here.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from linalg_ext.bindings import func, ir
from linalg_ext.definition.functions import FUNCTIONS, Function, FunctionKind
from linalg_ext.definition.model import OpDefinition
from linalg_ext.definition.scalar import Apply, ScalarOperand
from linalg_ext.definition.types import TypeVar
from linalg_ext.errors import DTypeError
from linalg_ext.ir.context import new_context
from linalg_ext.structured.payload.expressions import PayloadScope, emit_expression
from linalg_ext.structured.utils.values import producer

_PERMISSIONS = frozenset({"fastmath", "overflowFlags"})
"""Attributes that allow a result to differ: without them an op means no less."""

_COMMUTATIVE = frozenset(
    (
        *("arith.addf", "arith.mulf", "arith.maximumf", "arith.minimumf"),
        *("arith.addi", "arith.muli", "arith.andi", "arith.ori", "arith.xori"),
        *("arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui"),
        *("complex.add", "complex.mul"),
    )
)


@dataclass(frozen=True)
class Node:
    """An op of a pattern.

    Attributes:
        op: its name.
        attributes: what it is told, but for permissions.
        operands: nodes, or positions of arguments.
    """

    op: str
    attributes: tuple[tuple[str, str], ...]
    operands: tuple[Node | int, ...]

    @property
    def size(self) -> int:
        """The number of ops."""
        return 1 + sum(o.size for o in self.operands if isinstance(o, Node))


@dataclass(frozen=True)
class Pattern:
    """A function and what it is emitted as."""

    function: Function
    root: Node


@functools.cache
def patterns(element: str) -> Mapping[str, tuple[Pattern, ...]]:
    """The patterns on an element type, by the op at their root, the largest first."""
    found: list[Pattern] = []
    with new_context(), ir.Location.unknown():
        for kind, table in FUNCTIONS.items():
            if kind is not FunctionKind.TYPE:
                found += [p for f in table.values() if (p := _pattern(f, element))]
    single = {pattern.root.op for pattern in found if pattern.root.size == 1}
    by_root: dict[str, list[Pattern]] = {}
    for pattern in sorted(found, key=lambda pattern: -pattern.root.size):
        if pattern.root.op in single and _is_composed(pattern.root):
            continue  # `clamp` is read as the minimum of a maximum, which it is emitted as
        by_root.setdefault(pattern.root.op, []).append(pattern)
    return {op: tuple(same) for op, same in by_root.items()}


@functools.cache
def has_meaning(kind: FunctionKind, name: str, element: str) -> bool:
    """Return whether a function can be computed on an element type, as MLIR spells it."""
    with new_context(), ir.Location.unknown():
        return _pattern(FUNCTIONS[kind][name], element) is not None


def match(node: Node | int, value: ir.Value, bound: dict[int, ir.Value]) -> bool:
    """Return whether a value is computed as a pattern says; fills in what the arguments are."""
    if isinstance(node, int):
        return bound.setdefault(node, value) == value
    op = producer(value)
    if op is None or op.name != node.op or attributes_of(op) != node.attributes:
        return False
    operands = list(op.operands)
    if len(operands) != len(node.operands):
        return False
    orders = [operands]
    if node.op in _COMMUTATIVE:
        orders.append(operands[::-1])
    for order in orders:
        attempt = dict(bound)
        if all(match(n, v, attempt) for n, v in zip(node.operands, order, strict=True)):
            bound.update(attempt)
            return True
    return False


def attributes_of(op: ir.Operation) -> tuple[tuple[str, str], ...]:
    """Return the attributes of an op as sorted text, except those that permit inexact results."""
    return tuple(
        sorted((name, str(a)) for name, a in op.attributes.items() if name not in _PERMISSIONS)
    )


def _is_composed(node: Node) -> bool:
    """Return whether a pattern is several functions, one inside the other, and no constant."""
    inner = [operand for operand in node.operands if isinstance(operand, Node)]
    has_constant = any(not operand.operands for operand in inner)
    return bool(inner) and not has_constant and all(map(_is_composed_or_single, inner))


def _is_composed_or_single(node: Node) -> bool:
    return _is_composed(node) or all(isinstance(operand, int) for operand in node.operands)


def _pattern(function: Function, element: str) -> Pattern | None:
    types = [ir.Type.parse(element)] * function.kind.arity
    if function.name == "select":
        types[0] = ir.IntegerType.get_signless(1)
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        block = func.FuncOp("pattern", (types, [])).add_entry_block()
    arguments = tuple(ScalarOperand(f"x{i}", TypeVar(f"T{i}")) for i in range(len(types)))
    scope = PayloadScope(
        definition=OpDefinition(function.name, "", "", (), (), ()),
        types={f"T{i}": type for i, type in enumerate(types)},
        unsigned=frozenset(),
        functions={},
        elements={},
        scalars={f"x{i}": value for i, value in enumerate(block.arguments)},
        sizes={},
    )
    with ir.InsertionPoint(block):
        try:
            value = emit_expression(Apply(function, arguments), scope)
        except DTypeError:
            return None  # no meaning for the type
        root = _node(value)
    return Pattern(function, root) if isinstance(root, Node) else None


def _node(value: ir.Value) -> Node | int:
    op = producer(value)
    if op is None:
        return ir.BlockArgument(value).arg_number
    return Node(op.name, attributes_of(op), tuple(_node(operand) for operand in op.operands))
