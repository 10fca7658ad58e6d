"""Fold the expansion of a collapsed tensor where its open sizes are those of before.

before:
    %c = tensor.collapse_shape %x [[0, 1], [2]] : tensor<?x?x6xf32> into tensor<?x6xf32>
    %r = tensor.expand_shape %c [[0, 1], [2, 3]] output_shape [%d0, %d1, 2, 3]
        : tensor<?x6xf32> into tensor<?x?x2x3xf32>
after:
    %r = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [%d0, %d1, 2, 3]
        : tensor<?x?x6xf32> into tensor<?x?x2x3xf32>

Here %d0 and %d1 are the sizes of %x. Upstream folds such a pair where at most one size of a group
is open, for then there is nothing to prove. Element-wise ops that a pair kept apart are fused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import ir, passmanager, tensor
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.indices.sizes import by_origin, size_of
from linalg_ext.structured.utils.reassociation import collapsed_tensor, groups_of
from linalg_ext.symbolic.integers import is_eq
from linalg_ext.transforms.ir_utils.replacing import replace_each
from linalg_ext.transforms.ir_utils.walking import operations, producer

NAME = "linalg-ext-fold-open-reshapes"
OP = "tensor.expand_shape"


@module_pass(NAME, on=(OP,))
def fold_open_reshapes(module: ir.Operation) -> Report:
    """Fold tensor.expand_shape of tensor.collapse_shape where sizes are equal."""
    report = replace_each(NAME, operations(module, {OP}), _folded)
    if report.changed:
        manager = passmanager.PassManager("any", module.context)
        manager.add("linalg-fuse-elementwise-ops")
        manager.run(module.operation)
    return report


def _folded(op: Any) -> Any:
    collapse = producer(op.operands[0])
    if collapse is None or collapse.name != "tensor.collapse_shape":
        return None
    source, result = collapse.operands[0], op.results[0]
    before, after = groups_of(collapse), groups_of(op)
    same = [
        len(group) > 1 and _is_same(source, group, result, new)
        for group, new in zip(before, after, strict=True)
    ]
    if not any(same):
        return None
    before, after = _split(before, same), _split(after, same)
    if len(before) < source.type.rank:
        type_ = collapsed_tensor(source.type, before)
        source = tensor.CollapseShapeOp(type_, source, before).result
    if len(after) == result.type.rank:
        return source if source.type == result.type else tensor.cast(result.type, source)
    shape = list(result.type.shape)
    return tensor.ExpandShapeOp(result.type, source, after, list(op.operands)[1:], shape).result


def _is_same(source: Any, group: Sequence[int], result: Any, new: Sequence[int]) -> bool:
    """Return whether the axes of a group have the sizes that they had before."""
    return len(group) == len(new) and all(
        is_eq(by_origin(size_of(source, old)), by_origin(size_of(result, axis)))
        for old, axis in zip(group, new, strict=True)
    )


def _split(groups: Sequence[Sequence[int]], same: Sequence[bool]) -> list[list[int]]:
    """The groups, those that stay the same axis by axis."""
    found: list[list[int]] = []
    for group, is_same in zip(groups, same, strict=True):
        found += [[axis] for axis in group] if is_same else [list(group)]
    return found
