"""The work of an op, read from its indexing maps and its body."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.definition.affine import AffineDim, AffineMap
from linalg_ext.errors import LinalgExtError, TargetError
from linalg_ext.structured import extension as extension_ops
from linalg_ext.structured.maps import has_payload, indexing_maps, split_operands
from linalg_ext.target.model import element_bits
from linalg_ext.transforms.analysis.operation_kinds import operation_kind

from ._work import CONTRACTION, FREE, LOOPS, MOVE, NOTHING, WINDOW, Access, Work, steps_of

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
_FREE = frozenset(
    {"arith.constant", "tensor.empty", "tensor.dim", "tensor.extract", "tensor.from_elements"}
)
_SCALAR = frozenset({"tensor.extract", "memref.load", "arith.remsi", "arith.divsi"})
_SOFTMAX = (("simple", 4.0), ("exp", 1.0), ("divide", 1.0))


def work_of(op: Any) -> Work:
    """Return the work of an op; for an unstructured op, the bytes of its operands and results."""
    if op.name in _FREE or (op.name.startswith(_FREE_DIALECTS) and not _gives_tensors(op)):
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
