"""The kernels of einsum: three loop nests for each semiring and dtype, open in every size.

    contract    C[b, m, n]    += A[b, m, k]    * B[b, k, n]       n innermost
    inner       C[b, m, n, l] += A[b, m, k, l] * B[b, n, k, l]    l innermost
    reduce      C[m, l]       += A[m, k, l]                       l innermost

All einsums of all shapes come down to these by views. Sums of products of floats become packed
nests, one for each way in which their operands may have unit stride. Of the others the innermost
dimension is a parallel one, so that LLVM can vectorize without reordering a sum; for an inner
product the contracted dimension is cut into lanes l, and the lanes are summed last.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from linalg_ext.compiler.einsum.algebra import Algebra, Array, tell_numpy_computes
from linalg_ext.definition.functions import BINARY
from linalg_ext.definition.model import OpDefinition
from linalg_ext.executable import disk_cache
from linalg_ext.executable.kernel import Kernel
from linalg_ext.notations.einsum import Semiring, definition_of
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


@dataclass(frozen=True)
class Form:
    """A loop nest.

    Attributes:
        name: of the form.
        inputs: the labels of each input.
        output: the labels of the output.
        loops: the labels of the loops, from the outside in.
        nearest: the label of each input along which it has unit stride, or nothing; where it is not
            given, the innermost loop if it is the last label.
    """

    name: str
    inputs: tuple[str, ...]
    output: str
    loops: str
    nearest: tuple[str, ...] = ()

    def definition(self, algebra: Algebra) -> OpDefinition:
        """The form in a semiring, as an op on operands of one type."""
        return definition_of(
            self.inputs,
            self.output,
            kind=algebra.kind,
            name=f"einsum_{self.name}",
            dims=self.loops,
            types=["U"] * len(self.inputs),
        )


CONTRACT = Form("contract", ("bmk", "bkn"), "bmn", "bmkn")
INNER = Form("inner", ("bmkl", "bnkl"), "bmnl", "bmnkl")
REDUCE = Form("reduce", ("mkl",), "ml", "mkl")


@cache
def contract_form(nearest_a: str, nearest_b: str) -> Form:
    """`CONTRACT` for operands with unit stride along the labels given, or along none."""
    return replace(CONTRACT, nearest=(nearest_a, nearest_b))


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
        products: how many products the caller is about to compute.

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
