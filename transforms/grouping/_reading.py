"""From a module to its light graph, and to its ops with all groups inlined."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, LinalgExtError
from linalg_ext.module import ModuleLike, as_module
from linalg_ext.structured.group import GROUPS, ISOLATED, annotations_of, side_effect
from linalg_ext.structured.maps import indexing_maps

from ._graph import ARGUMENTS, GivenGroup, Graph, Node, Result, Value
from ._reading_work import work_of
from .inline_groups import inline_group

_FREE = frozenset({"arith.constant", "tensor.empty", "tensor.splat", "tensor.dim"})
"""Ops without loops that cost next to nothing."""

_ANYWHERE = frozenset({"arith.constant", "tensor.empty"})
"""Ops that may stand before an op with side effects though they came after it: nothing that it
checks, a size for one, makes them safe."""


def read_graph(module: ModuleLike, function: str | None = None) -> Graph:
    """The light graph of a function, with the groups that it has already.

    Args:
        module: it is not changed.
        function: its name; may be left out where the module has one function with a body.

    Raises:
        ArgumentError: there is no such function, or it has several blocks.
    """
    clone = as_module(module).clone()
    root = clone.ir.operation
    with root.context, root.location:
        found = find_function(root, function)
        flat = flatten(found)
        numbers = {op: number for number, op in enumerate(flat.ops)}
        # Before ops are looked into: some note their maps then, and have another hash.
        groups, order = _given_groups(flat, numbers), _numbered(flat.order, numbers)
        values: dict[Any, Value] = {
            argument: Value(ARGUMENTS, number) for number, argument in enumerate(flat.arguments)
        }
        attributes: dict[Any, int] = {}
        nodes: list[Node] = []
        last_effect: int | None = None
        for number, op in enumerate(flat.ops):
            node = _node(op, number, values, last_effect, attributes)
            last_effect = number if node.effect else last_effect
            nodes.append(node)
            for at, result in enumerate(op.results):
                values[result] = Value(number, at)
        return Graph(
            ir.StringAttr(found.attributes["sym_name"]).value,
            tuple(nodes),
            frozenset(values[inner.operands[at]] for inner, at in outer_operands(flat.end)),
            groups,
            order,
        )


def find_function(root: Any, name: str | None) -> Any:
    """The function of that name, of one block; without a name the only one that has a body.

    Raises:
        ArgumentError: there is no such function.
    """
    functions = {
        ir.StringAttr(op.operation.attributes["sym_name"]).value: op.operation
        for op in root.regions[0].blocks[0].operations
        if op.operation.name == "func.func" and len(op.operation.regions[0].blocks)
    }
    listed = ", ".join(f"@{each}" for each in functions) or "none"
    if name is None and len(functions) != 1:
        raise ArgumentError(
            f"the module has {len(functions)} functions with a body: {listed}",
            expected="one, or the name of the function that is meant",
        )
    if name is not None and name not in functions:
        raise ArgumentError(f"the module has no function @{name} with a body; it has {listed}")
    found = functions[name] if name is not None else next(iter(functions.values()))
    if len(found.regions[0].blocks) != 1:
        raise ArgumentError(
            f"@{name or next(iter(functions))} has {len(found.regions[0].blocks)} blocks",
            expected="a function of one block",
            hint="run func.func(lift-cf-to-scf) before",
        )
    return found


@dataclass(frozen=True)
class FlatGroup:
    """A group that was inlined: its members, each an op or the number of an inlined group."""

    members: tuple[Any, ...]
    annotations: tuple[tuple[str, str], ...]
    is_isolated: bool


@dataclass(frozen=True)
class Flat:
    """A function without groups, and what its groups were.

    Attributes:
        ops: all but the terminator.
        end: the terminator.
        arguments: of the function.
        groups: those that were inlined.
        order: what stood outside all groups: ops, and numbers of inlined groups.
    """

    ops: tuple[Any, ...]
    end: Any
    arguments: tuple[Any, ...]
    groups: tuple[FlatGroup, ...]
    order: tuple[Any, ...]


def flatten(function: Any) -> Flat:
    """Inline all groups of a function, in place."""
    block = function.regions[0].blocks[0]
    groups: list[FlatGroup] = []

    def opened(ops: list[Any]) -> list[Any]:
        members: list[Any] = []
        for op in ops:
            if op.name not in GROUPS:
                members.append(op)
                continue
            notes = tuple(sorted((k, str(v)) for k, v in annotations_of(op).items()))
            is_isolated = op.name == ISOLATED
            inner = opened(inline_group(op))
            groups.append(FlatGroup(tuple(inner), notes, is_isolated))
            members.append(len(groups) - 1)
        return members

    *_, end = (op.operation for op in block.operations)
    order = opened([op.operation for op in block.operations][:-1])
    ops = [op.operation for op in block.operations][:-1]
    # A destination that only a group had is gone with it, also where that stood in another.
    alive = set(ops)

    def left(members: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(each for each in members if isinstance(each, int) or each in alive)

    groups = [replace(group, members=left(group.members)) for group in groups]
    return Flat(tuple(ops), end, tuple(block.arguments), tuple(groups), left(order))


def outer_operands(op: Any) -> list[tuple[Any, int]]:
    """The operands of an op, and those of the ops inside it that are defined outside it."""
    found = [(op, at) for at in range(len(op.operands))]
    if len(op.regions):
        inside: set[Any] = set()
        inner: list[Any] = []
        for region in op.regions:
            for block in region.blocks:
                _walk(block, inside, inner)
        found += [
            (each, at)
            for each in inner
            for at, value in enumerate(each.operands)
            if value not in inside
        ]
    return found


def _walk(block: Any, inside: set[Any], ops: list[Any]) -> None:
    inside.update(block.arguments)
    for op in block.operations:
        ops.append(op.operation)
        inside.update(op.operation.results)
        for region in op.operation.regions:
            for inner in region.blocks:
                _walk(inner, inside, ops)


def _given_groups(flat: Flat, numbers: dict[Any, int]) -> tuple[GivenGroup, ...]:
    return tuple(
        GivenGroup(
            len(numbers) + at,
            _numbered(group.members, numbers),
            group.annotations,
            group.is_isolated,
        )
        for at, group in enumerate(flat.groups)
    )


def _numbered(members: Iterable[Any], numbers: dict[Any, int]) -> tuple[int, ...]:
    """Ops by their numbers, groups by theirs, which follow those of all ops."""
    return tuple(len(numbers) + m if isinstance(m, int) else numbers[m] for m in members)


def _node(
    op: Any,
    number: int,
    values: dict[Any, Value],
    last_effect: int | None,
    attributes: dict[Any, int],
) -> Node:
    outer = outer_operands(op)
    effect = side_effect(op)
    is_cheap = not effect and _is_cheap(op)
    return Node(
        number,
        op.name,
        tuple(values[inner.operands[at]] for inner, at in outer),
        tuple(_results(op)),
        effect,
        is_cheap,
        () if last_effect is None or op.name in _ANYWHERE else (last_effect,),
        _meaning(op, attributes) if is_cheap else None,
        work_of(op),
    )


def _results(op: Any) -> Iterator[Result]:
    for at, result in enumerate(op.results):
        is_tensor = isinstance(result.type, ir.RankedTensorType)
        is_static = is_tensor and result.type.has_static_shape
        yield Result(str(result.type), is_tensor, is_static, destination_of(op, at))


def destination_of(op: Any, result: int) -> int | None:
    """The operand of an op that a result is computed in; None where it has none."""
    dialect = op.name.partition(".")[0]
    if dialect in ("linalg", "linalg_ext"):
        at = len(op.operands) - len(op.results) + result
    elif op.name in ("tensor.insert_slice", "tensor.insert"):
        at = 1
    else:
        return None
    fits = 0 <= at < len(op.operands) and op.operands[at].type == op.results[result].type
    return at if fits else None


def _is_cheap(op: Any) -> bool:
    if op.name in _FREE or (op.name.startswith("arith.") and not _has_tensors(op)):
        return True
    if not op.name.startswith("linalg."):
        return False
    try:
        maps = indexing_maps(op)
    except LinalgExtError:
        return False
    return bool(maps) and {d for index in maps[-1].results for d in index.dims} == set(
        maps[-1].dims
    )


def _has_tensors(op: Any) -> bool:
    return any(isinstance(value.type, ir.ShapedType) for value in (*op.operands, *op.results))


def _meaning(op: Any, attributes: dict[Any, int]) -> Hashable:
    """Return a key of an op, without the values that it reads from outside: equal for copies of it.

    Attributes are numbered, not printed: one may be the weights of a model.
    """
    values: dict[Any, int] = {}

    def said(each: Any) -> Hashable:
        notes = tuple(
            (name, attributes.setdefault(value, len(attributes)))
            for name, value in each.attributes.items()
        )
        reads = tuple(values.get(value, -1) for value in each.operands)
        regions = tuple(block_said(b) for region in each.regions for b in region.blocks)
        for result in each.results:
            values[result] = len(values)
        return each.name, notes, reads, regions, tuple(str(r.type) for r in each.results)

    def block_said(block: Any) -> Hashable:
        for argument in block.arguments:
            values[argument] = len(values)
        types = tuple(str(argument.type) for argument in block.arguments)
        return types, tuple(said(each.operation) for each in block.operations)

    return said(op)
