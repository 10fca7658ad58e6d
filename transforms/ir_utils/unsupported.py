"""Operations without a lowering to LLVM, and the cures for them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

CURES: Mapping[str, str] = MappingProxyType(
    {
        "async": "kernels run on the thread that calls them: drop the asynchrony",
        "complex.bitcast": "take the number apart with complex.re and complex.im",
        "gpu": "device code is not supported: keep to linalg, scf, vector and memref",
        "memref.dma_start": "copy with memref.copy",
        "memref.dma_wait": "copy with memref.copy",
        "memref.generic_atomic_rmw": "use memref.atomic_rmw, or memref.load and memref.store",
        "omp": "write the loop as scf.for or scf.forall",
        "quant": "write the quantization as arith operations in a linalg.generic",
        "shape": "use tensor.dim and index arithmetic, or run convert-shape-to-std first",
        "sparse_tensor": "run sparsifier first",
        "stablehlo": "give its text to lx.parse, which brings it to linalg",
        "tm_tensor.attention": "have the exporter decompose scaled_dot_product_attention first",
        "torch": "give its text to lx.parse, which brings it to linalg",
        "tosa": "give its text to lx.parse, which brings it to linalg",
        "transform": "apply the schedule first; a payload module holds no transform operations",
        "vector.print": "give the value back as a result, and print that",
        "vector.type_cast": "use vector.transfer_read and vector.transfer_write",
        "vector.vscale": "use vectors of a fixed size",
    }
)
"""The hint for an operation, or else for all of a dialect."""

EXPORTED_CURES: Mapping[str, str] = MappingProxyType(
    {
        "stablehlo.custom_call": "the call is to the exporter's runtime: compute it with "
        "other functions, or outside of what is compiled",
        "stablehlo.fft": "transform outside of what is compiled, or by a product with the "
        "matrix of the transform",
    }
)
"""The hint for an op of an exporter's dialect that has no lowering to linalg."""


def cure_of(name: str) -> str | None:
    """Return the hint for the operation `name`, if it is known to have no lowering; else None."""
    return CURES.get(name) or CURES.get(name.partition(".")[0])
