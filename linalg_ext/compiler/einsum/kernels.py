"""Kernels of einsum's loop nests: found in this process or on disk, or compiled where it pays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from linalg_ext.compiler.einsum.algebra import Algebra, Array, tell_numpy_computes
from linalg_ext.compiler.einsum.loop_nests import Form
from linalg_ext.definition.functions import BINARY
from linalg_ext.executable import disk_cache
from linalg_ext.executable.kernel import Kernel
from linalg_ext.notations.einsum import Semiring
from linalg_ext.runtime import kernel_cache
from linalg_ext.runtime.dtypes import DType
from linalg_ext.runtime.poison import empty
from linalg_ext.runtime.registered import Libraries, in_force
from linalg_ext.target import Target, override
from linalg_ext.utils.locks import Lock

COMPILING_PAYS = 1 << 24
"""Products after which a kernel is compiled: NumPy takes about as long for them as LLVM for it.

The rule of renting skis: rent until the rent has come to the price. Whatever follows, the time is
at most twice what knowing the future would have cost, and a small call that comes once never pays
for a compilation.
"""

_BYTES = Algebra(
    Semiring("max min", BINARY["max_signed"], BINARY["min_signed"]), np.dtype(np.uint8)
)
"""Or and And on bytes: vectors of bytes have a minimum and a maximum, those of bits do not."""

_Key = tuple[str, tuple[str, ...], str, DType, Target | None, Libraries]
"""The name and the strides of the form, the name of the semiring, the dtype and the target.

Quick to hash."""

_kernels: dict[_Key, Kernel] = {}
_sought: set[_Key] = set()
"""Those that were looked for on disk."""

_rent: dict[tuple[str, str, DType], int] = {}
_compiling = Lock()


def kernel_for(form: Form, algebra: Algebra, products: int) -> Callable[..., object] | None:
    """The kernel of a form, or None where NumPy shall do it this time.

    Args:
        form: the loop nest.
        algebra: the semiring and the dtype.
        products: the number of products that the caller is about to compute.

    Returns:
        What takes the inputs of the form and the array that it overwrites, contiguous.
    """
    if algebra.dtype == np.bool_:
        kernel = _compiled(form, _BYTES, products)
        return None if kernel is None else partial(_run_on_bytes, kernel)
    return _compiled(form, algebra, products)


def _run_on_bytes(kernel: Kernel, *arrays: Array) -> None:
    """Run a kernel for booleans; it gives a byte that is not 0 for what is true."""
    *inputs, out = arrays
    result = empty(out.shape, np.uint8)
    kernel(*(array.view(np.uint8) for array in inputs), result)
    np.not_equal(result, 0, out=out)


def _compiled(form: Form, algebra: Algebra, products: int) -> Kernel | None:
    key = form.name, form.nearest, algebra.kind.name, algebra.dtype, override(), in_force()
    kernel = _kernels.get(key)
    if kernel is not None:
        return kernel
    if key not in _sought:
        # One that is kept costs nothing to speak of.
        _sought.add(key)
        kernel = disk_cache.find(_kept_key(form, algebra))
        if kernel is not None:
            return _kernels.setdefault(key, kernel)
    # One rent for all layouts of a form: once it pays for one it is likely to for the next.
    family = form.name, algebra.kind.name, algebra.dtype
    rent = _rent[family] = _rent.get(family, 0) + products
    if rent < COMPILING_PAYS:
        tell_numpy_computes(
            "%d products of %s in the form %r: a kernel for them is compiled after %d more",
            *(products, algebra.dtype, form.name, COMPILING_PAYS - rent),
        )
        return None
    with _compiling:
        if key not in _kernels:
            # Only here what loads MLIR.
            from linalg_ext.compiler.einsum.kernel_building import compile_form

            _kernels[key] = compile_form(form, algebra, _kept_key(form, algebra))
    return _kernels[key]


def _kept_key(form: Form, algebra: Algebra) -> str | None:
    return kernel_cache.key_of(
        "einsum nest",
        (form.name, form.inputs, form.output, form.loops, form.nearest),
        kind_key(algebra.kind),
        algebra.dtype.str,
    )


def kind_key(kind: Semiring) -> tuple[str, str, str]:
    """A semiring as a part of a key."""
    return kind.name, kind.add.name, kind.multiply.name
