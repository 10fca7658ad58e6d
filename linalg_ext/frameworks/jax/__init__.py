"""Functions of JAX, compiled by this library. `pip install 'linalg-ext[jax]'`.

    layer = lx.from_jax(fn, x, params)      # compiled for arguments like these; trees of arrays
    y = layer(x, params)                    # arrays in, arrays out

JAX traces the function and writes it as StableHLO; from there on it is linalg on tensors, by
upstream's legalization and, where that leaves off, by lowerings of this library.

requirements  JAX, or the error that says what to install
lowering      a function as a module of linalg on tensors
arrays        arrays of JAX as arrays of NumPy, and back
function      `lx.from_jax`
"""
