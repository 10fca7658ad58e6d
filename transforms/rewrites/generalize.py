"""Generalize named and category ops to `linalg.generic`.

Upstream's `linalg-generalize-named-ops` does it; here it has a report, and leaves nothing on the
ops but the attributes of their users. Discardable attributes stay: with `linalg_ext.compute_type`
the generic has the meaning that the op had with it. Ops without a body of their own, such as
`linalg.softmax` and `linalg.pack`, are left: `linalg-ext-decompose-structured-ops` is for them.

before:
    %r = linalg.exp ins(%a : tensor<8x5xf32>) outs(%c : tensor<8x5xf32>) -> tensor<8x5xf32>
after:
    %r = linalg.generic {
      indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]
    } ins(%a : tensor<8x5xf32>) outs(%c : tensor<8x5xf32>) {
    ^bb0(%x: f32, %out: f32):
      %e = math.exp %x : f32
      linalg.yield %e : f32
    } -> tensor<8x5xf32>
"""

from __future__ import annotations

from collections import Counter

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.runtime.passes import pass_manager
from linalg_ext.structured.extension import forget_memoized_maps
from linalg_ext.transforms.ir_utils.walking import operations, select

NAME = "linalg-ext-generalize"

_OF_BODIES = frozenset(("linalg.generic", "linalg.index", "linalg.yield"))


@module_pass(NAME)
def generalize(module: ir.Operation) -> Report:
    """Replace every named and category op of linalg by `linalg.generic`."""
    report = Report(NAME)
    report.matched.update(_named(module))
    pass_manager("any", module.context, "linalg-generalize-named-ops").run(module)
    remaining = _named(module)
    report.changed.update(report.matched - remaining)
    for name in remaining:
        report.leave(name, "the op has no body: run linalg-ext-decompose-structured-ops")
    for generic in operations(module, {"linalg.generic"}):
        forget_memoized_maps(generic)
    return report


def _named(module: ir.Operation) -> Counter[str]:
    ops = select(module, lambda op: op.name.startswith("linalg.") and op.name not in _OF_BODIES)
    return Counter(op.name for op in ops)
