"""Einsum of two narrow arrays that is summed in a wider dtype: no wide copies of them are made.

A contraction that comes again and again is compiled for just its shapes and dtypes: the kernel
reads narrow elements, and multiplies them as they are where the machine can.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import ml_dtypes
import numpy as np

from linalg_ext.compiler.einsum.algebra import Array
from linalg_ext.compiler.einsum.dtypes import Dtypes
from linalg_ext.compiler.einsum.request import Request
from linalg_ext.compiler.einsum.specialized import KernelsThatPay
from linalg_ext.executable.kernel import Kernel
from linalg_ext.notations.einsum import Contraction
from linalg_ext.runtime import kernel_cache
from linalg_ext.runtime.dtypes import DType
from linalg_ext.runtime.registered import Libraries, in_force
from linalg_ext.target import Target, override

_NARROW = {
    np.dtype(np.float32): (np.dtype(ml_dtypes.bfloat16), np.dtype(np.float16)),
    np.dtype(np.int32): (np.dtype(np.int8), np.dtype(np.int16)),
}
"""By the dtype of the sums, what is read as it is. MLIR has no signed integers."""

_Key = tuple[str, tuple[tuple[tuple[int, ...], DType], ...], Dtypes, Target | None, Libraries]

_kernels: KernelsThatPay[_Key] = KernelsThatPay()


def narrow_kernel(
    request: Request, contraction: Contraction, arrays: Sequence[Array], dtypes: Dtypes
) -> Kernel | None:
    """The kernel of an einsum of arrays like these; None where it is none of these, or not yet.

    Args:
        request: what is asked.
        contraction: the same, bound to the shapes.
        arrays: the operands as they were given.
        dtypes: what they count as.

    Returns:
        What takes the operands and gives the result, of the result's dtype.
    """
    if len(arrays) != 2 or request.kind.name != "+*" or 0 in contraction.sizes.values():
        return None
    known = _NARROW.get(dtypes.compute, ())
    if any(array.dtype not in known or not _is_plain(array) for array in arrays):
        return None
    described = tuple((array.shape, array.dtype) for array in arrays)
    key = request.subscripts.text, described, dtypes, override(), in_force()

    def compiled(kept: str | None) -> Kernel:
        # Only here what loads MLIR.
        from linalg_ext.compiler.einsum.kernel_building import compile_narrow

        return compile_narrow(request, arrays, dtypes, kept)

    products = math.prod(contraction.sizes.values())
    return _kernels.earned(key, products, lambda: _kept_key(request, arrays, dtypes), compiled)


def _is_plain(array: Array) -> bool:
    return array.flags.c_contiguous and array.flags.aligned


def _kept_key(request: Request, arrays: Sequence[Array], dtypes: Dtypes) -> str | None:
    described = [(array.shape, array.dtype.str, array.dtype.name) for array in arrays]
    counted = [dtypes.operands.name, dtypes.compute.name, dtypes.result.name]
    return kernel_cache.key_of("narrow einsum", request.subscripts.text, described, counted)
