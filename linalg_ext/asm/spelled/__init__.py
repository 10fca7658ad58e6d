"""Structured ops as people spell them, turned into MLIR that this build's parser reads.

The "Linalg Dialect Wish list" (Renato Golin, 2024) writes broadcasts, transposes and compute types
of operands beside an op of linalg; older and newer versions of MLIR spell some ops otherwise than
the one at hand. Here such text is read, op by op, and all other text is left as it is:

    %s = linalg.add ins(%x : tensor<16xf32>, %y : tensor<16x64xf32>)
                    outs(%o : tensor<16x64xf32>) broadcast_a = [1] : tensor<16x64xf32>

What such an op means is not known here: `translate` puts `linalg_ext.spelled` in its place, an op
that MLIR reads and that `linalg_ext.asm` resolves.
"""

from __future__ import annotations

from linalg_ext.asm.spelled.syntax import Clause, SpelledOp, SpelledOperand
from linalg_ext.asm.spelled.translation import Translation, translate

__all__ = ["Clause", "SpelledOp", "SpelledOperand", "Translation", "translate"]
