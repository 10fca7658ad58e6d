"""Einsum of two narrow arrays that is summed in a wider dtype: no wide copies of them are made.

A contraction that comes again and again is compiled for just its shapes and dtypes: the kernel
reads narrow elements, and multiplies them as they are where the machine can.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

import ml_dtypes
import numpy as np

from linalg_ext.bindings import func, ir
from linalg_ext.calling.kernel import Kernel
from linalg_ext.compiler.compilation import compile
from linalg_ext.compiler.einsum.algebra import Array
from linalg_ext.compiler.einsum.dtypes import Dtypes
from linalg_ext.compiler.einsum.record import Request, on_values
from linalg_ext.compiler.einsum.specialized import CALL, SPECIALIZING_PAYS
from linalg_ext.context import new_context
from linalg_ext.module import Module
from linalg_ext.notations.einsum import Contraction
from linalg_ext.runtime.dtypes import DType, by_dtype
from linalg_ext.target import Target, override

_NARROW = {
    np.dtype(np.float32): (np.dtype(ml_dtypes.bfloat16), np.dtype(np.float16)),
    np.dtype(np.int32): (np.dtype(np.int8), np.dtype(np.int16)),
}
"""By the dtype of the sums, what is read as it is. MLIR has no signed integers."""

_MOST_KERNELS = 512

_Key = tuple[str, tuple[tuple[tuple[int, ...], DType], ...], Dtypes, Target | None]

_kernels: OrderedDict[_Key, Kernel] = OrderedDict()
_rent: OrderedDict[_Key, int] = OrderedDict()
_lock = threading.RLock()


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
    key = request.subscripts.text, described, dtypes, override()
    with _lock:
        if (kernel := _kernels.get(key)) is not None:
            return kernel
        products = math.prod(contraction.sizes.values())
        rent = _rent[key] = _rent.pop(key, 0) + products + CALL
        if len(_rent) > 8 * _MOST_KERNELS:
            _rent.popitem(last=False)
        if rent < SPECIALIZING_PAYS:
            return None
        kernel = _kernels[key] = _compile(request, arrays, dtypes)
        if len(_kernels) > _MOST_KERNELS:
            _kernels.popitem(last=False)
        return kernel


def _is_plain(array: Array) -> bool:
    return array.flags.c_contiguous and array.flags.aligned


def _compile(request: Request, arrays: Sequence[Array], dtypes: Dtypes) -> Kernel:
    # That the casts are allowed was seen before.
    asked = replace(request, dtype=dtypes.result, compute_type=dtypes.compute, casting="unsafe")
    with new_context(), ir.Location.name("einsum"):
        module = ir.Module.create()
        types = [
            ir.RankedTensorType.get(array.shape, ir.Type.parse(by_dtype(array.dtype).mlir))
            for array in arrays
        ]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("einsum", (types, []))
            with ir.InsertionPoint(function.add_entry_block()):
                result = on_values(asked, list(function.arguments), None)
                func.ReturnOp([result])
            signature = ir.FunctionType.get(types, [result.type])
            function.attributes["function_type"] = ir.TypeAttr.get(signature)
        return compile(Module.of(module), "einsum", trusted=True, checked=False)
