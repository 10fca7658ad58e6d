"""From a module to its light graph, and to its ops with all groups inlined."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.definition.affine import AffineDim, AffineMap
from linalg_ext.errors import ArgumentError, LinalgExtError, TargetError
from linalg_ext.module import ModuleLike, as_module
from linalg_ext.structured.destination_ops.group import GROUPS, ISOLATED, annotations_of
from linalg_ext.structured.extension import attributes as extension_ops
from linalg_ext.structured.utils.maps import has_payload, indexing_maps, split_operands
from linalg_ext.structured.utils.side_effects import side_effect
from linalg_ext.target.model import element_bits
from linalg_ext.transforms.analysis.operation_kinds import operation_kind

from ._graph import (
    ARGUMENTS,
    CONTRACTION,
    FREE,
    LOOPS,
    MOVE,
    NOTHING,
    WINDOW,
    Access,
    GivenGroup,
    Graph,
    Node,
    Result,
    Value,
    Work,
    steps_of,
)
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


_TENSOR = re.compile(r"tensor<((?:(?:\d+|\?)x)*)([^,]+)(?:, .*)?>")
_OTHER_BYTES = 8.0
"""Bytes assumed for an element that is not a plain number, such as a complex one."""

UNKNOWN_SIZE = 128
"""The size assumed where it is dynamic, or where no plain index gives it."""

_VIEWS = frozenset(
    {
        "tensor.expand_shape",
        "tensor.collapse_shape",
        "tensor.cast",
        "tensor.reshape",
        "tensor.extract_slice",
    }
)
_FREE_DIALECTS = ("arith.", "index.", "shape.", "cf.", "ub.")
_SCALAR_OPS = frozenset(
    {"arith.constant", "tensor.empty", "tensor.dim", "tensor.extract", "tensor.from_elements"}
)
_SCALAR = frozenset({"tensor.extract", "memref.load", "arith.remsi", "arith.divsi"})
_SOFTMAX = (("simple", 4.0), ("exp", 1.0), ("divide", 1.0))


def work_of(op: Any) -> Work:
    """Return the work of an op; for an unstructured op, the bytes of its operands and results."""
    if op.name in _SCALAR_OPS or (op.name.startswith(_FREE_DIALECTS) and not _gives_tensors(op)):
        return NOTHING
    if op.name in _VIEWS:
        return Work(FREE, is_view=True)
    if not all(isinstance(each.type, ir.RankedTensorType) for each in op.results):
        return NOTHING
    if op.results and (has_payload(op) or op.name in extension_ops.NAMES):
        try:
            return _structured(op)
        except LinalgExtError:
            pass
    return _moved(op)


def _structured(op: Any) -> Work:
    maps = indexing_maps(op)
    if not maps or not len(op.results):
        return _moved(op)
    dims = {name: at for at, name in enumerate(maps[0].dims)}
    values = [*op.operands]
    inputs, outputs = split_operands(op)
    axes = [_axes(map, dims) for map in maps]
    loops = _loops(len(dims), maps, values)
    written = {loop for axis in axes[len(inputs) :] for part in axis for loop in part}
    reduced = frozenset(range(len(loops))) - written
    body = _Body.of(op)
    reads = [
        _access(at, axes[at], loops, values[at])
        for at in range(len(inputs))
        if isinstance(values[at].type, ir.RankedTensorType)
    ]
    reads += [
        _access(at, axes[at], loops, values[at])
        for at in range(len(inputs), len(values))
        if not reduced and body.uses_old(at)
    ]
    writes = [_access(at, axes[len(inputs) + at], loops, value) for at, value in enumerate(outputs)]
    kind = _kind(maps, reduced, body)
    operations = dict(body.operations)
    if kind in (CONTRACTION, WINDOW) and body.is_multiply_add:
        operations = {"multiply_add": 1.0}
    return Work(
        kind,
        loops,
        reduced,
        tuple(reads),
        tuple(writes),
        tuple(operations.items()),
        str(ir.ShapedType(outputs[0].type).element_type),
        is_scalar=body.is_scalar,
        is_constant=not reads and not reduced and not body.uses_index,
    )


def _kind(maps: list[AffineMap], reduced: frozenset[int], body: _Body) -> str:
    if reduced and any(len(index.dims) > 1 for map in maps for index in map.results):
        return WINDOW
    if reduced and body.is_multiply_add and len(maps) >= 3:
        return CONTRACTION
    return LOOPS


def _loops(count: int, maps: list[AffineMap], values: list[Any]) -> tuple[int, ...]:
    sizes = [UNKNOWN_SIZE] * count
    for map, value in zip(maps, values, strict=True):
        for axis, index in enumerate(map.results):
            if isinstance(index, AffineDim):
                sizes[map.dims.index(index.name)] = _shape(value)[axis]
    return tuple(sizes)


def _axes(map: AffineMap, dims: dict[str, int]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(sorted(dims[name] for name in index.dims)) for index in map.results)


def _access(
    position: int, axes: tuple[tuple[int, ...], ...], loops: tuple[int, ...], value: Any
) -> Access:
    element, size = _bytes(str(value.type))
    is_window = any(len(axis) > 1 for axis in axes)
    steps = steps_of(axes, loops, _shape(value)) if is_window else ()
    return Access(position, axes, element, size, steps)


class _Body:
    """The operations of one iteration of an op."""

    def __init__(self, operations: dict[str, float], is_multiply_add: bool) -> None:
        self.operations = operations
        self.is_multiply_add = is_multiply_add
        self.is_scalar = self.uses_index = False
        self._unused: set[int] = set()

    def uses_old(self, position: int) -> bool:
        """Return whether the body uses the old element of an operand; True without a body."""
        return position not in self._unused

    @classmethod
    def of(cls, op: Any) -> _Body:
        """Read the body of a linalg op; an op of `linalg_ext` counts as one simple operation."""
        if op.name in extension_ops.NAMES:
            return cls({"simple": 1.0}, op.name.endswith("contract"))
        block = op.regions[0].blocks[0]
        ops = [each.operation for each in block.operations]
        counted: Counter[str] = Counter()
        for each in ops:
            if (kind := operation_kind(each.name)) is not None:
                counted[kind] += 1
        body = cls(dict(counted), _is_multiply_add(ops, block))
        body.is_scalar = any(each.name in _SCALAR or len(each.regions) for each in ops)
        body.uses_index = any(each.name == "linalg.index" for each in ops)
        arguments = enumerate(block.arguments)
        body._unused = {at for at, value in arguments if not any(True for _ in value.uses)}
        return body


def _is_multiply_add(ops: list[Any], block: Any) -> bool:
    """Return whether the body adds a product to the old element; its factors may be converted."""
    end = ops[-1].operands
    if len(end) != 1 or isinstance(end[0].owner, ir.Block):
        return False
    added = end[0].owner.operation
    if added.name not in ("arith.addf", "arith.addi") or len(block.arguments) < 3:
        return False
    old = block.arguments[len(block.arguments) - 1]
    others = [value for value in added.operands if value != old]
    if len(others) != 1 or isinstance(others[0].owner, ir.Block):
        return False
    return others[0].owner.operation.name in ("arith.mulf", "arith.muli")


def _moved(op: Any) -> Work:
    """Return the work of an op of which only the tensors are known: each is moved once."""
    results = [each for each in op.results if isinstance(each.type, ir.RankedTensorType)]
    if not results:
        return NOTHING
    loops = _shape(results[0])
    own = tuple((at,) for at in range(len(loops)))
    reads = tuple(
        Access(at, (), size, size)
        for at, value in enumerate(op.operands)
        if isinstance(value.type, ir.RankedTensorType)
        for _, size in [_bytes(str(value.type))]
    )
    writes = tuple(_access(at, () if at else own, loops, value) for at, value in enumerate(results))
    is_softmax = op.name == "linalg.softmax"
    return Work(
        LOOPS if is_softmax else MOVE,
        loops,
        frozenset(),
        reads,
        writes,
        _SOFTMAX if is_softmax else (("simple", 1.0),),
        str(results[0].type.element_type),
        is_scalar=op.name.startswith("linalg_ext."),
    )


def _gives_tensors(op: Any) -> bool:
    return any(isinstance(each.type, ir.ShapedType) for each in op.results)


def _shape(value: Any) -> tuple[int, ...]:
    type_ = ir.RankedTensorType(value.type)
    return tuple(
        UNKNOWN_SIZE if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
        for axis in range(type_.rank)
    )


@functools.lru_cache(maxsize=4096)
def _bytes(type_text: str) -> tuple[float, float]:
    """Return the bytes of an element of a tensor, and of all of it, from the text of its type."""
    found = _TENSOR.fullmatch(type_text)
    sizes, element = found.groups() if found else ("", "")
    try:
        width = max(1.0, element_bits(element) / 8)
    except TargetError:
        width = _OTHER_BYTES
    count = math.prod(
        UNKNOWN_SIZE if size == "?" else int(size) for size in sizes.split("x") if size
    )
    return width, width * count
