"""Convolutions and poolings of what is computed are named, so that nothing is fused into them.

before:
    %r = linalg.generic {indexing_maps = [affine_map<(n, w, c) -> (n, w, c)>,
                                          affine_map<(n, w, c) -> (n, w, c)>],
                         iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%a : tensor<2x9x8xf32>) outs(%e : tensor<2x9x8xf32>) {
    ^bb0(%x: f32, %o: f32):
      %y = arith.maximumf %x, %zero : f32
      linalg.yield %y : f32
    } -> tensor<2x9x8xf32>
    %s = linalg.generic {indexing_maps = [affine_map<(n, w, f, k, c) -> (n, w + k, c)>,
                                          affine_map<(n, w, f, k, c) -> (k, c, f)>,
                                          affine_map<(n, w, f, k, c) -> (n, w, f)>],
                         iterator_types = ["parallel", "parallel", "parallel",
                                           "reduction", "reduction"]}
        ins(%r, %b : tensor<2x9x8xf32>, tensor<3x8x16xf32>) outs(%c : tensor<2x7x16xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32):
      %p = arith.mulf %x, %y : f32
      %q = arith.addf %z, %p : f32
      linalg.yield %q : f32
    } -> tensor<2x7x16xf32>
after:
    %r = linalg.generic {indexing_maps = [affine_map<(n, w, c) -> (n, w, c)>,
                                          affine_map<(n, w, c) -> (n, w, c)>],
                         iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%a : tensor<2x9x8xf32>) outs(%e : tensor<2x9x8xf32>) {
    ^bb0(%x: f32, %o: f32):
      %y = arith.maximumf %x, %zero : f32
      linalg.yield %y : f32
    } -> tensor<2x9x8xf32>
    %s = linalg.conv_1d_nwc_wcf
        ins(%r, %b : tensor<2x9x8xf32>, tensor<3x8x16xf32>) outs(%c : tensor<2x7x16xf32>)
        -> tensor<2x7x16xf32>

Upstream fuses element-wise producers into any `linalg.generic`. Windows overlap: a producer that is
fused into an op on them is recomputed in each. An op that upstream has no name for stays.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.definition.affine import AffineConst, AffineDim
from linalg_ext.errors import DTypeError, RecognitionError
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.forms.most_specific import build_most_specific
from linalg_ext.structured.recognition import recognize
from linalg_ext.structured.utils.maps import indexing_maps, split_operands
from linalg_ext.transforms.analysis.fills import is_computed
from linalg_ext.transforms.ir_utils.walking import select

NAME = "linalg-ext-keep-windows"


@module_pass(NAME, on="linalg.generic")
def keep_windows(module: ir.Operation) -> Report:
    """Name the ops on windows that an element-wise producer would be fused into."""
    report = Report(NAME)
    for op in select(module, _reads_computed_windows):
        name = op.name
        report.matched[name] += 1
        if _name(op):
            report.changed[name] += 1
        else:
            report.leave(name, "it has no name upstream")
    return report


def _reads_computed_windows(op: Any) -> bool:
    """Return whether an op is a generic on tensors that reads windows of a computed input."""
    if op.name != "linalg.generic" or len(op.results) != 1:
        return False
    inputs, _ = split_operands(op)
    if not any(map(is_computed, inputs)):
        return False
    return any(
        isinstance(value.type, ir.ShapedType) and not _is_plain(map_)
        for value, map_ in zip(inputs, indexing_maps(op), strict=False)
    )


def _is_plain(map_: Any) -> bool:
    """Return whether a map picks elements by single dimensions, or by none for an axis of one."""
    return all(isinstance(expr, AffineDim | AffineConst) for expr in map_.results)


def _name(op: Any) -> bool:
    """Replace a generic by the named op that says the same, if there is one."""
    try:
        with op.location, ir.InsertionPoint(op):
            built = build_most_specific(recognize(op))
    except (RecognitionError, DTypeError):
        return False
    if built.name == op.name:
        built.erase()
        return False
    op.results[0].replace_all_uses_with(built.results[0])
    op.erase()
    return True
