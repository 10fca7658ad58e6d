"""Fuse producers into loops over subsets.

before:
    %e = linalg.exp ins(%x : tensor<80x60xf32>) outs(%i : tensor<80x60xf32>) -> tensor<80x60xf32>
    %r = "gml_st.parallel"(...) ({
    ^bb0(%row: index):
      %t = "gml_st.tile"(%e, %row) ... : (tensor<80x60xf32>, index) -> !gml_st.subset<"4x60xf32">
      %p = "gml_st.materialize"(%e, %t) ... -> tensor<4x60xf32>
      ...
after:
    %r = "gml_st.parallel"(...) ({
    ^bb0(%row: index):
      %t = "gml_st.tile"(%x, %row) ... : (tensor<80x60xf32>, index) -> !gml_st.subset<"4x60xf32">
      %q = "gml_st.materialize"(%x, %t) ... -> tensor<4x60xf32>
      %p = linalg.exp ins(%q : tensor<4x60xf32>) outs(...) -> tensor<4x60xf32>
      ...
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.dialects.gml_st.ir.op_views import LOOPS
from linalg_ext.rewriting import Report, module_pass

from .cleanup import resolve_dims, tidy
from .op_tiling import Choice
from .producer_fusion import Fusion, loops_in

NAME = "linalg-ext-fuse-into-subset-loops"


@module_pass(NAME, on=LOOPS)
def fuse_into_subset_loops(
    module: ir.Operation, *, producers: tuple[str, ...] = (), arguments: tuple[str, ...] = ()
) -> Report:
    """Fuse producers into the loops over subsets that read parts of their results.

    Where nothing is chosen, all are fused that are worth it, and theirs in turn: cheap ops, though
    they may be computed several times; sums where each is computed once. The report says why the
    others were left.

    Args:
        module: a module, or another op with regions.
        producers: names of ops (`linalg.exp`) or their labels, of the attribute
            `linalg_ext.label`: these alone are fused, whatever it costs.
        arguments: inputs of `gml_st.loop`, whose producers are fused: by the name of the argument
            in its body, where its location says one, or `in0`, `in1`, ...
    """
    report = Report(NAME)
    resolve_dims(module)
    fuse_all(module, Choice(producers, arguments), report)
    tidy(module)
    return report


def fuse_all(root: ir.Operation, choice: Choice, report: Report) -> None:
    """Fuse into the loops in an op, outer ones first."""
    for loop in loops_in(root):
        fusion = Fusion(loop, choice, report)
        fusion.run()
        fuse_all(fusion.loop, choice, report)
