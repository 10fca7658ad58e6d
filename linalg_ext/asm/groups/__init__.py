"""Groups as people write them, turned into MLIR that this build's parser reads, and back.

    %r = linalg_ext.group "softmax" tiling [8, 0] preserve
           ins(%a = %x: tensor<4x4xf32>) outs(%o = %e: tensor<4x4xf32>) {
      %s = linalg.softmax dimension(1) ins(%a : tensor<4x4xf32>)
                                       outs(%o : tensor<4x4xf32>) -> tensor<4x4xf32>
      linalg_ext.group_yield %s : tensor<4x4xf32>
    }

What stands before the equals sign in `ins` and `outs` is the argument of the block. All clauses may
be left out: the label, the tiling, `preserve`, further `attributes {name = value}`, `ins`, `outs`,
and `: tensor<4x4xf32>` behind the body, which says the results once more: they are of the types of
`outs`. `linalg_ext.isolated_group` is written alike.
"""

from __future__ import annotations

from linalg_ext.asm.groups.parsing import changes
from linalg_ext.asm.groups.printing import pretty

__all__ = ["changes", "pretty"]
