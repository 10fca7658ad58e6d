"""The cleanup after ops have moved: dead ops, sizes of erased values, parts that are the whole."""

from __future__ import annotations

from collections.abc import Callable

from linalg_ext.bindings import ir
from linalg_ext.dialects.gml_st.ir.op_views import LOOPS, MaterializeView
from linalg_ext.dialects.gml_st.rules import has_rule
from linalg_ext.runtime.passes import pass_manager
from linalg_ext.structured.operands import producer
from linalg_ext.structured.payload import reaches_outside_memory
from linalg_ext.structured.sizes import SizeOf, size_of, value_of
from linalg_ext.symbolic.integers import symbols_of
from linalg_ext.transforms.ir_utils.arithmetic import known_index
from linalg_ext.transforms.ir_utils.walking import is_unused, operations, replace_op, select

_PURE = frozenset(("tensor.dim", "tensor.extract", "gml_st.materialize", *LOOPS))
_SETS = frozenset(
    f"gml_st.{name}"
    for name in (
        *("space", "full", "tile", "filter", "point", "drop_dims", "transpose_dims"),
        *("offset", "size", "stride", "intersection", "convex_union", "contains", "is_empty"),
    )
)


def erase_dead(op: ir.Operation, forget: Callable[[ir.Operation], None] = lambda op: None) -> None:
    """Erase an op without uses and other effects, and the producers that it alone used.

    Args:
        op: the op.
        forget: is told of each op before it goes.
    """
    waiting = [op]
    while waiting:
        current = waiting.pop()
        if not all(map(is_unused, current.results)) or not _may_go(current):
            continue
        producers = [owner for value in current.operands if (owner := producer(value)) is not None]
        forget(current)
        current.erase()
        # Each op is queued once: an erased one must not be visited.
        waiting += [owner for owner in dict.fromkeys(producers) if owner not in waiting]


def erase_materialize(op: ir.Operation) -> None:
    """Erase a materialize without uses, and its set; their operands stay."""
    set_ = producer(op.operands[1])
    op.erase()
    if set_ is not None and all(map(is_unused, set_.results)):
        set_.erase()


def erase_all_dead(root: ir.Operation) -> None:
    """Erase every dead op below an op."""
    for op in reversed(select(root, _may_go)):
        if all(map(is_unused, op.results)):
            op.erase()


def _may_go(op: ir.Operation) -> bool:
    if not len(op.results):
        return False
    if any(isinstance(result.type, ir.MemRefType) for result in op.results):
        return False
    if reaches_outside_memory(op):
        return False
    if op.name in _PURE or op.name in _SETS:
        return not any(isinstance(value.type, ir.MemRefType) for value in op.operands)
    return op.name.startswith(("arith.", "affine.")) or has_rule(op)


def resolve_dims(root: ir.Operation) -> None:
    """Put the tensor's source in the place of `tensor.dim` of it, which kept it alive."""
    for dim in operations(root, ["tensor.dim"]):
        source, axis = dim.operands
        axis_number = known_index(axis)
        if axis_number is None or not isinstance(source.type, ir.RankedTensorType):
            continue
        if not 0 <= axis_number < ir.ShapedType(source.type).rank:
            continue
        size = size_of(source, axis_number)
        if any(symbol.key == SizeOf(source, axis_number) for symbol in symbols_of(size)):
            continue
        with dim.location, ir.InsertionPoint(dim):
            dim.results[0].replace_all_uses_with(value_of(size))
        dim.erase()


def tidy(root: ir.Operation) -> None:
    """Erase dead ops and common subexpressions; handles into `root` become invalid."""
    fold_whole_parts(root)
    erase_all_dead(root)
    pass_manager("any", root.context, "cse").run(root)


def fold_whole_parts(root: ir.Operation) -> None:
    """Replace materializes of whole tensors by the tensors."""
    for op in operations(root, ["gml_st.materialize"]):
        view = MaterializeView.of(op)
        set_ = producer(view.set)
        is_whole = set_ is not None and set_.name == "gml_st.full"
        if is_whole and view.source.type == op.results[0].type:
            replace_op(op, view.source)
