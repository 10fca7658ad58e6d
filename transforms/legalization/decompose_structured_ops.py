"""Decompose the structured ops that are not generics into ones that are.

linalg.softmax, linalg.pack, linalg.unpack and the Winograd transforms have neither a generic form
nor, as buffers, a lowering to loops. Upstream decomposes them on tensors, through the transform
dialect.

A softmax becomes four generics: the maximum over a row, exp of the difference to it, the sum of
these, the quotient. Packing becomes reshapes and a transpose:

before:
    %r = linalg.pack %a inner_dims_pos = [0, 1] inner_tiles = [2, 3] into %e
           : tensor<4x6xf32> -> tensor<2x2x2x3xf32>
after:
    %p = tensor.pad %a low[0, 0] high[0, 0] {       // of nothing here: it folds away
    ^bb0(%i: index, %j: index):
      tensor.yield %zero : f32
    } : tensor<4x6xf32> to tensor<4x6xf32>
    %s = tensor.expand_shape %p [[0, 1], [2, 3]] output_shape [2, 2, 2, 3]
           : tensor<4x6xf32> into tensor<2x2x2x3xf32>
    %r = linalg.transpose ins(%s : tensor<2x2x2x3xf32>) outs(%e : tensor<2x2x2x3xf32>)
           permutation = [0, 2, 1, 3]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import LoweringError
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.transforms.ir_utils.transform_scripts import apply_script
from linalg_ext.transforms.ir_utils.walking import operations, place

NAME = "linalg-ext-decompose-structured-ops"

_LOWER_PACK = """
      %0 = transform.structured.match ops{["linalg.pack"]} in %root
        : (!transform.any_op) -> !transform.op<"linalg.pack">
      transform.structured.lower_pack %0 : (!transform.op<"linalg.pack">)
        -> (!transform.op<"tensor.pad">, !transform.op<"tensor.expand_shape">,
            !transform.op<"linalg.transpose">)
"""
_LOWER_UNPACK = """
      %0 = transform.structured.match ops{["linalg.unpack"]} in %root
        : (!transform.any_op) -> !transform.op<"linalg.unpack">
      transform.structured.lower_unpack %0 : (!transform.op<"linalg.unpack">)
        -> (!transform.op<"tensor.empty">, !transform.op<"linalg.transpose">,
            !transform.op<"tensor.collapse_shape">, !transform.op<"tensor.extract_slice">,
            !transform.op<"linalg.copy">)
"""
_WINOGRAD = (
    "linalg.winograd_filter_transform",
    "linalg.winograd_input_transform",
    "linalg.winograd_output_transform",
)


def _decompose(name: str, transform: str) -> str:
    return f"""
      %0 = transform.structured.match ops{{["{name}"]}} in %root
        : (!transform.any_op) -> !transform.any_op
      %1 = transform.structured.{transform} %0 : (!transform.any_op) -> !transform.any_op
"""


_SCRIPTS: Mapping[str, str] = {
    "linalg.softmax": _decompose("linalg.softmax", "decompose_interface"),
    "linalg.pack": _LOWER_PACK,
    "linalg.unpack": _LOWER_UNPACK,
    **{name: _decompose(name, "decompose_winograd_op") for name in _WINOGRAD},
}
"""The transform script for each op."""

DECOMPOSED = frozenset(_SCRIPTS)
"""The names of these ops. They have no way down once they are on buffers."""


@module_pass(NAME, on=DECOMPOSED)
def decompose_structured_ops(module: ir.Operation) -> Report:
    """Decompose linalg.softmax, pack, unpack and the Winograd transforms into generics.

    Raises:
        LoweringError: one is on buffers, or of a form that upstream cannot decompose.
    """
    return decompose(module, operations(module, DECOMPOSED), Report(NAME))


def decompose(module: ir.Operation, ops: Sequence[ir.Operation], report: Report) -> Report:
    """Decompose the ops of a module that are in `DECOMPOSED`, and add them to a report.

    Raises:
        LoweringError: as of `decompose_structured_ops`.
    """
    for op in ops:
        _require_tensors(op)
        report.matched[op.name] += 1
    for name, count in Counter(op.name for op in ops).items():
        _apply(module, name)
        report.changed[name] += count
    return report


def _apply(module: ir.Operation, name: str) -> None:
    try:
        apply_script(module, _SCRIPTS[name])
    except (ir.MLIRError, ValueError, RuntimeError) as error:
        failed = operations(module, {name})
        raise LoweringError(
            f"upstream cannot decompose this form of {name}",
            where=place(failed[0]) if failed else None,
            hint="write it as linalg.generic, tensor.pad and reshapes",
            diagnostics=[str(error)],
        ) from None


def _require_tensors(op: Any) -> None:
    if not any(isinstance(operand.type, ir.MemRefType) for operand in op.operands):
        return
    raise LoweringError(
        f"{op.name} on buffers cannot be lowered",
        where=place(op),
        expected="tensors",
        hint="read the buffers with bufferization.to_tensor, "
        "and write with bufferization.materialize_in_destination",
    )
