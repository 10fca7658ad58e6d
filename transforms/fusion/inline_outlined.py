"""Put the ops of groups, and of layers that are alike, back in the place of the calls.

before:
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = func.call @linalg_ext_layer_0(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %b = func.call @linalg_ext_layer_0(%a) : (tensor<4xf32>) -> tensor<4xf32>
      return %b : tensor<4xf32>
    }
    func.func private @linalg_ext_layer_0(%x: tensor<4xf32>) -> tensor<4xf32>
        attributes {linalg_ext.layer, no_inline} {
      %r = linalg.exp ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }
after:
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = linalg.exp ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
      %b = linalg.exp ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>
      return %b : tensor<4xf32>
    }

Buffers are then chosen for all ops together: there is no copy between layers. Groups are put back
as `linalg-ext-inline-outlined-groups` says, which marks their ops.
"""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.runtime.passes import pass_manager
from linalg_ext.transforms.grouping.inline_outlined_groups import inline_outlined_groups
from linalg_ext.transforms.ir_utils.walking import functions
from linalg_ext.transforms.legalization.outline_repeated_layers import LAYER, NO_INLINE

NAME = "linalg-ext-inline-outlined"


@module_pass(NAME, on="func.call")
def inline_outlined(module: ir.Operation) -> Report:
    """Inline the functions that groups and repeated layers were made."""
    report = Report(NAME)
    report.merge(inline_outlined_groups.apply(module))
    layers = [function for function in functions(module) if LAYER in function.attributes]
    for function in layers:
        report.changed[function.name] += 1
        for name in (LAYER, NO_INLINE):
            del function.attributes[name]
    if layers:
        pass_manager(module.name, module.context, "inline").run(module)
    return report
