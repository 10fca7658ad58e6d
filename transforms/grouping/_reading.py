"""From a module to its light graph, and to its ops with all groups inlined."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, LinalgExtError, TargetError
from linalg_ext.module import ModuleLike, as_module
from linalg_ext.structured import extension as extension_ops
from linalg_ext.structured.group import GROUPS, ISOLATED, annotations_of, side_effect
from linalg_ext.structured.maps import has_payload, indexing_maps, split_operands
from linalg_ext.symbolic.affine import AffineDim, AffineMap
from linalg_ext.target.model import element_bits
from linalg_ext.transforms.analysis.operation_kinds import operation_kind
from linalg_ext.transforms.ir_utils.walking import functions, is_unused, producer, select

from ._graph import (
    ARGUMENTS,
    CONTRACTION,
    FREE,
    LOOPS,
    MOVE,
    NOTHING,
    WINDOW,
    Access,
    ExistingGroup,
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
    """Return the light graph of a function, with the groups that it has already.

    Args:
        module: it is not changed.
        function: its name; may be left out where the module has one function with a body.

    Raises:
        ArgumentError: there is no such function, or it has several blocks.
    """
    clone = as_module(module).clone()
    root = clone.ir.operation
    with root.context, root.location:
        body = find_function(root, function)
        flat = flatten(body)
        values: dict[Any, Value] = {
            argument: Value(ARGUMENTS, number) for number, argument in enumerate(flat.arguments)
        }
        attributes: dict[Any, int] = {}
        nodes: list[Node] = []
        last_effect: tuple[int, ...] = ()
        for number, op in enumerate(flat.ops):
            effect = side_effect(op)
            is_cheap = not effect and _is_cheap(op)
            nodes.append(
                Node(
                    number,
                    op.name,
                    tuple(
                        values[inner.operands[position]] for inner, position in outer_operands(op)
                    ),
                    tuple(_result(op, number) for number in range(len(op.results))),
                    effect,
                    is_cheap,
                    () if op.name in _ANYWHERE else last_effect,
                    _meaning(op, attributes) if is_cheap else None,
                    work_of(op),
                )
            )
            if effect:
                last_effect = (number,)
            for position, result in enumerate(op.results):
                values[result] = Value(number, position)
        returned = frozenset(
            values[inner.operands[position]] for inner, position in outer_operands(flat.end)
        )
        name = ir.StringAttr(body.attributes["sym_name"]).value
        return Graph(name, tuple(nodes), returned, flat.groups, flat.order)


def find_function(root: Any, name: str | None) -> Any:
    """Return the function of that name, of one block; without a name the only one that has a body.

    Raises:
        ArgumentError: there is no such function.
    """
    bodies = {ir.StringAttr(op.attributes["sym_name"]).value: op for op in functions(root)}
    listed = ", ".join(f"@{other}" for other in bodies) or "none"
    if name is None:
        if len(bodies) != 1:
            raise ArgumentError(
                f"the module has {len(bodies)} functions with a body: {listed}",
                expected="one, or the name of the function that is meant",
            )
        (name,) = bodies
    if name not in bodies:
        raise ArgumentError(f"the module has no function @{name} with a body; it has {listed}")
    blocks = len(bodies[name].regions[0].blocks)
    if blocks != 1:
        raise ArgumentError(
            f"@{name} has {blocks} blocks",
            expected="a function of one block",
            hint="run func.func(lift-cf-to-scf) before",
        )
    return bodies[name]


class Flat(NamedTuple):
    """A function without groups, and its former groups.

    Attributes:
        ops: all but the terminator.
        end: the terminator.
        arguments: of the function.
        groups: those that were inlined.
        order: the numbers of the ops and groups that stood outside all groups.
    """

    ops: tuple[Any, ...]
    end: Any
    arguments: tuple[Any, ...]
    groups: tuple[ExistingGroup, ...]
    order: tuple[int, ...]


def flatten(function: Any) -> Flat:
    """Inline all groups of a function, in place."""
    block = function.regions[0].blocks[0]
    # Members are ops, and the places of inlined groups in this list.
    opened: list[tuple[list[Any], tuple[tuple[str, str], ...], bool]] = []

    def inlined(ops: list[Any]) -> list[Any]:
        members: list[Any] = []
        for op in ops:
            if op.name not in GROUPS:
                members.append(op)
                continue
            notes = tuple(sorted((k, str(v)) for k, v in annotations_of(op).items()))
            is_isolated = op.name == ISOLATED
            opened.append((inlined(inline_group(op)), notes, is_isolated))
            members.append(len(opened) - 1)
        return members

    outer = inlined([op.operation for op in block.operations][:-1])
    *ops, end = (op.operation for op in block.operations)
    numbers = {op: number for number, op in enumerate(ops)}

    def numbered(members: list[Any]) -> tuple[int, ...]:
        # A destination that only a group had is gone with it, also where that stood in another.
        alive = (member for member in members if isinstance(member, int) or member in numbers)
        return tuple(len(ops) + m if isinstance(m, int) else numbers[m] for m in alive)

    groups = tuple(
        ExistingGroup(len(ops) + number, numbered(members), notes, is_isolated)
        for number, (members, notes, is_isolated) in enumerate(opened)
    )
    return Flat(tuple(ops), end, tuple(block.arguments), groups, numbered(outer))


def outer_operands(op: Any) -> list[tuple[Any, int]]:
    """Return the operands of an op, and those of the ops inside it that are defined outside it."""
    operands = [(op, position) for position in range(len(op.operands))]
    if not len(op.regions):
        return operands
    _, *inner = select(op, lambda _: True)
    inside = {result for nested in inner for result in nested.results}
    for nested in (op, *inner):
        inside.update(a for region in nested.regions for block in region for a in block.arguments)
    operands += [
        (nested, position)
        for nested in inner
        for position, value in enumerate(nested.operands)
        if value not in inside
    ]
    return operands


def _result(op: Any, number: int) -> Result:
    type_ = op.results[number].type
    is_tensor = isinstance(type_, ir.RankedTensorType)
    is_static = is_tensor and type_.has_static_shape
    return Result(str(type_), is_tensor, is_static, destination_of(op, number))


def destination_of(op: Any, result: int) -> int | None:
    """Return the operand of an op that a result is computed in; None where it has none."""
    dialect = op.name.partition(".")[0]
    if dialect in ("linalg", "linalg_ext"):
        position = len(op.operands) - len(op.results) + result
    elif op.name in ("tensor.insert_slice", "tensor.insert"):
        position = 1
    else:
        return None
    fits = (
        0 <= position < len(op.operands) and op.operands[position].type == op.results[result].type
    )
    return position if fits else None


def _is_cheap(op: Any) -> bool:
    if op.name in _FREE:
        return True
    if op.name.startswith("arith."):
        return not any(isinstance(v.type, ir.ShapedType) for v in (*op.operands, *op.results))
    if not op.name.startswith("linalg."):
        return False
    try:
        maps = indexing_maps(op)
    except LinalgExtError:
        return False
    return bool(maps) and {d for index in maps[-1].results for d in index.dims} == set(
        maps[-1].dims
    )


def _meaning(op: Any, attributes: dict[Any, int]) -> Hashable:
    """Return a key of an op, without the values that it reads from outside: equal for copies of it.

    Attributes are numbered, not printed: one may be the weights of a model.
    """
    values: dict[Any, int] = {}

    def key_of(inner: Any) -> Hashable:
        notes = tuple(
            (name, attributes.setdefault(value, len(attributes)))
            for name, value in inner.attributes.items()
        )
        reads = tuple(values.get(value, -1) for value in inner.operands)
        regions = tuple(key_of_block(b) for region in inner.regions for b in region.blocks)
        for result in inner.results:
            values[result] = len(values)
        return inner.name, notes, reads, regions, tuple(str(r.type) for r in inner.results)

    def key_of_block(block: Any) -> Hashable:
        for argument in block.arguments:
            values[argument] = len(values)
        types = tuple(str(argument.type) for argument in block.arguments)
        return types, tuple(key_of(inner.operation) for inner in block.operations)

    return key_of(op)


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
    types = [result.type for result in op.results]
    gives_tensors = any(isinstance(type_, ir.ShapedType) for type_ in types)
    if op.name in _SCALAR_OPS or (op.name.startswith(_FREE_DIALECTS) and not gives_tensors):
        return NOTHING
    if op.name in _VIEWS:
        return Work(FREE, is_view=True)
    if not types or not all(isinstance(type_, ir.RankedTensorType) for type_ in types):
        return NOTHING
    if has_payload(op) or op.name in extension_ops.NAMES:
        try:
            if maps := indexing_maps(op):
                return _structured(op, maps)
        except LinalgExtError:
            pass
    return _moved(op)


def _structured(op: Any, maps: list[AffineMap]) -> Work:
    names = maps[0].dims
    values = [*op.operands]
    inputs, outputs = split_operands(op)
    axes = [
        tuple(tuple(sorted(map(names.index, index.dims))) for index in map_.results)
        for map_ in maps
    ]
    sizes = [UNKNOWN_SIZE] * len(names)
    for map_, value in zip(maps, values, strict=True):
        for axis, index in enumerate(map_.results):
            if isinstance(index, AffineDim):
                sizes[names.index(index.name)] = _shape(value)[axis]
    loops = tuple(sizes)
    written = {loop for axis in axes[len(inputs) :] for part in axis for loop in part}
    reduced = frozenset(range(len(loops))) - written
    body = _body_of(op)
    reads = [
        _access(position, axes[position], loops, values[position])
        for position in range(len(inputs))
        if isinstance(values[position].type, ir.RankedTensorType)
    ]
    reads += [
        _access(position, axes[position], loops, values[position])
        for position in range(len(inputs), len(values))
        if not reduced and position not in body.unused
    ]
    writes = [
        _access(position, axes[len(inputs) + position], loops, value)
        for position, value in enumerate(outputs)
    ]
    kind = LOOPS
    if reduced and any(len(axis) > 1 for operand in axes for axis in operand):
        kind = WINDOW
    elif reduced and body.is_multiply_add and len(maps) >= 3:
        kind = CONTRACTION
    operations = body.operations
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


def _access(
    position: int, axes: tuple[tuple[int, ...], ...], loops: tuple[int, ...], value: Any
) -> Access:
    element, size = _bytes(str(value.type))
    is_window = any(len(axis) > 1 for axis in axes)
    steps = steps_of(axes, loops, _shape(value)) if is_window else ()
    return Access(position, axes, element, size, steps)


class _Body(NamedTuple):
    """The operations of one iteration of an op, and the operands whose elements it does not use."""

    operations: Mapping[str, float]
    is_multiply_add: bool
    is_scalar: bool = False
    uses_index: bool = False
    unused: frozenset[int] = frozenset()


def _body_of(op: Any) -> _Body:
    """Read the body of a linalg op; an op of `linalg_ext` counts as one simple operation."""
    if op.name in extension_ops.NAMES:
        return _Body({"simple": 1.0}, op.name.endswith("contract"))
    block = op.regions[0].blocks[0]
    ops = [op_view.operation for op_view in block.operations]
    kinds = Counter(operation_kind(inner.name) for inner in ops)
    return _Body(
        {kind: count for kind, count in kinds.items() if kind is not None},
        _is_multiply_add(ops, block),
        any(inner.name in _SCALAR or len(inner.regions) for inner in ops),
        any(inner.name == "linalg.index" for inner in ops),
        frozenset(position for position, value in enumerate(block.arguments) if is_unused(value)),
    )


def _is_multiply_add(ops: list[Any], block: Any) -> bool:
    """Return whether the body adds a product to the old element; its factors may be converted."""
    if len(ops[-1].operands) != 1 or len(block.arguments) < 3:
        return False
    added = producer(ops[-1].operands[0])
    if added is None or added.name not in ("arith.addf", "arith.addi"):
        return False
    old = block.arguments[len(block.arguments) - 1]
    factors = [producer(value) for value in added.operands if value != old]
    return (
        len(factors) == 1
        and factors[0] is not None
        and factors[0].name in ("arith.mulf", "arith.muli")
    )


def _moved(op: Any) -> Work:
    """Return the work of an op of which only the tensors are known: each is moved once."""
    results = list(op.results)
    loops = _shape(results[0])
    own = tuple((loop,) for loop in range(len(loops)))
    reads = tuple(
        Access(position, (), size, size)
        for position, value in enumerate(op.operands)
        if isinstance(value.type, ir.RankedTensorType)
        for _, size in [_bytes(str(value.type))]
    )
    writes = tuple(
        _access(position, () if position else own, loops, value)
        for position, value in enumerate(results)
    )
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


def _shape(value: Any) -> tuple[int, ...]:
    type_ = ir.RankedTensorType(value.type)
    return tuple(
        UNKNOWN_SIZE if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
        for axis in range(type_.rank)
    )


@functools.lru_cache(maxsize=4096)
def _bytes(type_text: str) -> tuple[float, float]:
    """Return the bytes of an element of a tensor, and of all of it, from the text of its type."""
    match = _TENSOR.fullmatch(type_text)
    sizes, element = match.groups() if match else ("", "")
    try:
        width = max(1.0, element_bits(element) / 8)
    except TargetError:
        width = _OTHER_BYTES
    count = math.prod(
        UNKNOWN_SIZE if size == "?" else int(size) for size in sizes.split("x") if size
    )
    return width, width * count
