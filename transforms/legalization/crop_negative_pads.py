"""Write a `tensor.pad` by negative amounts as a slice of its source, and a pad of the rest.

before:
    %r = tensor.pad %a low[-1] high[2] {
    ^bb0(%i: index):
      tensor.yield %zero : f32
    } : tensor<8xf32> to tensor<9xf32>
after:
    %s = tensor.extract_slice %a[1] [7] [1] : tensor<8xf32> to tensor<7xf32>
    %r = tensor.pad %s low[0] high[2] {
    ^bb0(%i: index):
      tensor.yield %zero : f32
    } : tensor<7xf32> to tensor<9xf32>

Upstream's op takes negative amounts (they remove elements) and its bufferization does not: it
writes the source at a negative offset. Where nothing of the source is left, `tensor.generate`
makes the result. Amounts that are known only at run time are taken as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.tensor_loops import extract_slice, size_of, sub
from linalg_ext.transforms.ir_utils.walking import operations, replace_each

NAME = "linalg-ext-crop-negative-pads"
OP = "tensor.pad"


@module_pass(NAME, on=(OP,))
def crop_negative_pads(module: ir.Operation) -> Report:
    """Write tensor.pad by negative amounts as tensor.extract_slice and tensor.pad."""
    pads = [op for op in operations(module, {OP}) if _removed(op)]
    return replace_each(NAME, pads, _cropped)


def _removed(op: Any) -> dict[int, tuple[int, int]]:
    """Return the elements removed before and after, by axis, for the axes that lose some."""
    low, high = (list(op.attributes[name]) for name in ("static_low", "static_high"))
    open_ = ir.ShapedType.get_dynamic_size()
    pairs = (
        tuple(max(0, -amount) if amount != open_ else 0 for amount in pair)
        for pair in zip(low, high, strict=True)
    )
    return {axis: (first, last) for axis, (first, last) in enumerate(pairs) if first or last}


def _cropped(op: Any) -> Any:
    source, result, removed = op.operands[0], op.results[0], _removed(op)
    axes = range(result.type.rank)
    cropped = [removed.get(axis, (0, 0)) for axis in axes]
    sizes = [sub(size_of(source, axis), sum(cropped[axis])) for axis in axes]
    if any(isinstance(size, int) and size <= 0 for size in sizes):
        if not result.type.has_static_shape:
            return (
                "the source is cropped away, and the size of the result is known at run time only"
            )
        return _with_body_of(op, "tensor.generate", [], {})
    part = extract_slice(source, [first for first, _ in cropped], sizes)
    amounts = {
        name: ir.DenseI64ArrayAttr.get(_without_negative(op.attributes[name]))
        for name in ("static_low", "static_high")
    }
    return _with_body_of(op, OP, [part, *list(op.operands)[1:]], amounts)


def _without_negative(amounts: Any) -> list[int]:
    open_ = ir.ShapedType.get_dynamic_size()
    return [amount if amount == open_ else max(0, amount) for amount in amounts]


def _with_body_of(
    op: ir.Operation, name: str, operands: Sequence[Any], changed: Mapping[str, ir.Attribute]
) -> Any:
    inherited = {key: op.attributes[key] for key in op.attributes} if changed else {}
    replacement = ir.Operation.create(
        name,
        results=[result.type for result in op.results],
        operands=operands,
        attributes={**inherited, **changed},
        regions=1,
    )
    op.regions[0].blocks[0].append_to(replacement.regions[0])
    return replacement.result
