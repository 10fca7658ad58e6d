"""`gml_st` as its documents write it, turned into MLIR that this build's parser reads, and back.

Ops that are defined from Python have no syntax of their own: MLIR reads and prints them in its
generic form, and that is the form of interchange. Here are a reader and a printer for the form of
the documents:

    %sum = gml_st.loop (%i, %j) = (%c0, %c0) to (%c80, %c60) step (%c4, %c4)
             ins (%in_ = %in: tensor<80x60xf32>) outs (%out_ = %out: tensor<80xf32>)
             iterators["parallel", "sequential"] {
      %tile = gml_st.tile %in_[%i, %j] [4, 4] [1, 1]
        : tensor<80x60xf32> to !gml_st.subset<4x4xf32>
      %part = gml_st.materialize %tile : !gml_st.subset<4x4xf32> to tensor<4x4xf32>
      ...
      gml_st.yield %r to %out_tile : tensor<4xf32> to !gml_st.subset<4xf32>
    }

Three sources write it, each in its way, and all are read:

    the document    gml_st.loop, tile, materialize without its source, yield ... to;
                    subset.full, tile, filter, point; the type !gml_st.subset<4x4xf32>
    its history     space, point, drop_dims, transpose_dims, offset, size, stride, for, parallel,
                    set_yield ... acc; materialize %x[%set]; the types !gml_st.tile<4x4> and point
    before it       linalg.tiled_loop

In MLIR an op and a type cannot share a name, so the types are `!gml_st.subset<"4x4xf32">`, which a
tile of the history is as well, and `!gml_st.element`, its point.
"""

from __future__ import annotations

from linalg_ext.dialects.gml_st.asm.printing import pretty
from linalg_ext.dialects.gml_st.asm.translation import changes

__all__ = ["changes", "pretty"]
