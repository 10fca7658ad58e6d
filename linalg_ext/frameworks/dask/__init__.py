"""Ops, einsums, kernels and jitted functions on dask arrays. `pip install 'linalg-ext[dask]'`.

    x = dask.array.random.random((100_000, 4_000), chunks=(5_000, 1_000))
    gram = lx.einsum("ni,nj->ij", x, x)         # a dask array: nothing has run
    scaled = layer(x, w, b)                     # of @lx.jit, or a kernel, or an op of lx.ops
    gram.compute()

The definition of an op tells how it is split: along a dimension of its iteration space that indexes
the operands as it is, each block is computed by itself (`dask.array.blockwise`); where the
dimension is reduced, blocks give partial results, which a tree combines. A dimension that must be
whole, as that of a window, is made whole where the blocks stay small, and else refused
(`blocks.whole`).

The kernels are compiled where the blocks are, once in each process for each shape of a block: equal
chunks are few kernels. A call of one uses one thread unless `threads=` says otherwise, for dask
has several blocks computed at once.

ops         ops of `lx.ops` and of the user, and which of their dimensions can be split
einsums     `lx.einsum` and `lx.contract`
functions   jitted functions and kernels
axes        which axes of a module's function can be split
blocks      the graph: chunks that fit together, calls on blocks, trees
"""
