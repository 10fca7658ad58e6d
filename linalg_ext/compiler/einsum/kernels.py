"""The kernels of einsum, each found in this process or on disk, or compiled once it pays.

The loop nests of `algebra` are open in every size. A contraction that is called again and again is
compiled for just its sizes and strides. Its operands are then read in place, whatever the order of
their axes, and its result is written in the order that the caller wants. Of two narrow arrays that
are summed in a wider dtype no wide copies are made: the kernel reads narrow elements, and
multiplies them as they are where the machine can.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import partial

import ml_dtypes
import numpy as np

from linalg_ext.compiler.einsum.algebra import Algebra, Array, Form, tell_numpy_computes
from linalg_ext.compiler.einsum.request import Dtypes, Request
from linalg_ext.definition.functions import BINARY
from linalg_ext.executable import disk_cache
from linalg_ext.executable.kernel import Kernel
from linalg_ext.notations.einsum import Contraction, Semiring
from linalg_ext.runtime import kernel_cache
from linalg_ext.runtime.dtypes import DType
from linalg_ext.runtime.libraries import Libraries, in_force
from linalg_ext.runtime.poison import empty
from linalg_ext.target import Target, override
from linalg_ext.utils.locks import Lock
from linalg_ext.utils.recent import CallCache, Key

COMPILING_PAYS = 1 << 24
"""Products after which a nest is compiled: NumPy takes about as long for them as LLVM for it.

The rule of renting skis: rent until the rent has come to the price. Whatever follows, the time is
at most twice that of the best choice with knowledge of the future, and a small call that comes once
never pays for a compilation.
"""

SPECIALIZING_PAYS = 1 << 26
"""Products of one contraction after which it is compiled for itself."""

CALL = 1 << 20
"""The overhead of a call, in products: it makes frequent small contractions earn a kernel."""

_MOST_KERNELS = 512


class KernelsThatPay(CallCache[Key, Kernel]):
    """Kernels, each compiled once calls have cost about as much as compiling it does.

    Attributes:
        rent: the cost of the calls so far, in products, by their account.
    """

    def __init__(self) -> None:
        super().__init__(_MOST_KERNELS)
        self.rent: CallCache[Hashable, int] = CallCache(8 * _MOST_KERNELS)
        self._sought: CallCache[Key, None] = CallCache(8 * _MOST_KERNELS)
        self._lock = Lock()
        self._compiling = Lock()

    def earned(
        self,
        key: Key,
        cost: int,
        price: int,
        kept_key: Callable[[], str | None],
        compile: Callable[[str | None], Kernel],
        account: Hashable = None,
    ) -> Kernel | None:
        """Return the kernel of a key, or None where it does not pay yet.

        Args:
            key: of the kernel.
            cost: of the call at hand without it, in products.
            price: of the kernel.
            kept_key: returns the key of the kernel on disk.
            compile: makes it, to be kept under that.
            account: the key under which the cost of calls is counted; by default the key.
        """
        with self._lock:
            if (kernel := self.get(key)) is not None:
                return kernel
            # One that is kept costs nothing to speak of.
            if key not in self._sought:
                self._sought.remember(key, None)
                if (kernel := disk_cache.find(kept_key())) is not None:
                    return self.remember(key, kernel)
            account = key if account is None else account
            rent = self.rent.remember(account, self.rent.pop(account, 0) + cost)
            if rent < price:
                return None
        with self._compiling:
            return self.get(key) or self.remember(key, compile(kept_key()))

    def clear(self) -> None:
        """Forget all kernels, and the cost of calls so far."""
        super().clear()
        self.rent.clear()
        self._sought.clear()


_BYTES = Algebra(
    Semiring("max min", BINARY["max_signed"], BINARY["min_signed"]), np.dtype(np.uint8)
)
"""Or and And on bytes: vectors of bytes have a minimum and a maximum, those of bits do not."""

_NestKey = tuple[str, tuple[str, ...], str, DType, Target | None, Libraries]
"""The name and the strides of the form, the name of the semiring, the dtype and the target.

Quick to hash."""

_nests: KernelsThatPay[_NestKey] = KernelsThatPay()


def kernel_for(form: Form, algebra: Algebra, products: int) -> Callable[..., object] | None:
    """Return the kernel of a form, or None where NumPy shall compute the `products` this time.

    It takes the inputs of the form and the array that it overwrites, contiguous.
    """
    if algebra.dtype == np.bool_:
        kernel = _compiled_nest(form, _BYTES, products)
        return None if kernel is None else partial(_run_on_bytes, kernel)
    return _compiled_nest(form, algebra, products)


def _run_on_bytes(kernel: Kernel, *arrays: Array) -> None:
    """Run a kernel for booleans; it gives a nonzero byte for a true element."""
    *inputs, out = arrays
    result = empty(out.shape, np.uint8)
    kernel(*(array.view(np.uint8) for array in inputs), result)
    np.not_equal(result, 0, out=out)


def _compiled_nest(form: Form, algebra: Algebra, products: int) -> Kernel | None:
    key = form.name, form.nearest, algebra.kind.name, algebra.dtype, override(), in_force()
    if (kernel := _nests.get(key)) is not None:
        return kernel

    def compiled(cache_key: str | None) -> Kernel:
        # Imported only here, for it loads MLIR.
        from linalg_ext.compiler.einsum.emission import compile_form

        return compile_form(form, algebra, cache_key)

    # One rent for all layouts of a form: once it pays for one it is likely to for the next.
    family = form.name, algebra.kind.name, algebra.dtype
    key_on_disk = partial(_kept_nest_key, form, algebra)
    kernel = _nests.earned(key, products, COMPILING_PAYS, key_on_disk, compiled, family)
    if kernel is None:
        tell_numpy_computes(
            "%d products of %s in the form %r: a kernel for them is compiled after %d more",
            *(products, algebra.dtype, form.name, COMPILING_PAYS - _nests.rent.get(family, 0)),
        )
    return kernel


def _kept_nest_key(form: Form, algebra: Algebra) -> str | None:
    kind = algebra.kind
    return kernel_cache.key_of(
        "einsum nest",
        (form.name, form.inputs, form.output, form.loops, form.nearest),
        (kind.name, kind.add.name, kind.multiply.name),
        algebra.dtype.str,
    )


_Operand = tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...]]
"""Labels, sizes and strides in bytes."""

_Labelled = tuple[Array, tuple[str, ...]]
"""An operand and the labels of its axes."""

_SpecializedKey = tuple[_Operand, _Operand, tuple[str, ...], str, Target | None, Libraries]

_specialized: KernelsThatPay[_SpecializedKey] = KernelsThatPay()


def is_packed(algebra: Algebra) -> bool:
    """Return whether contractions in an algebra become packed nests."""
    return algebra.kind.name == "+*" and algebra.dtype in (np.float32, np.float64)


def specialized_kernel(
    a: _Labelled,
    b: _Labelled,
    output: tuple[str, ...],
    algebra: Algebra,
    products: int,
) -> Kernel | None:
    """Return the kernel of a contraction on arrays like these, or None where it does not pay yet.

    It takes both operands and the array that it overwrites, contiguous, with the labels `output`.
    """
    key = _described(*a), _described(*b), output, algebra.dtype.char, override(), in_force()
    if (kernel := _specialized.get(key)) is not None:
        return kernel
    if not (_has_memref_layout(a[0]) and _has_memref_layout(b[0])):
        return None

    def compiled(cache_key: str | None) -> Kernel:
        # Imported only here, for it loads MLIR.
        from linalg_ext.compiler.einsum.emission import compile_for

        return compile_for(a, b, output, algebra, cache_key)

    key_on_disk = partial(kept_key, a, b, output, algebra.dtype)
    return _specialized.earned(key, products + CALL, SPECIALIZING_PAYS, key_on_disk, compiled)


def compiled_for(a: _Labelled, b: _Labelled, output: tuple[str, ...]) -> Kernel | None:
    """Return the kernel for arrays like these where there is one."""
    if a[0].dtype != b[0].dtype:
        return None
    return _specialized.get(
        (_described(*a), _described(*b), output, a[0].dtype.char, override(), in_force())
    )


def _described(array: Array, labels: tuple[str, ...]) -> _Operand:
    return labels, array.shape, array.strides


def _has_memref_layout(array: Array) -> bool:
    """Return whether a memref type can describe the layout of an array."""
    return array.flags.aligned and all(
        stride > 0 and stride % array.itemsize == 0 for stride in array.strides
    )


def kept_key(
    a: _Labelled,
    b: _Labelled,
    output: tuple[str, ...],
    dtype: DType,
) -> str | None:
    """Return the disk cache's key of the kernel for arrays like these; None if absent."""
    return kernel_cache.key_of("einsum", _described(*a), _described(*b), output, dtype.str)


_NARROW = {
    np.dtype(np.float32): (np.dtype(ml_dtypes.bfloat16), np.dtype(np.float16)),
    np.dtype(np.int32): (np.dtype(np.int8), np.dtype(np.int16)),
}
"""By the dtype of the sums, the dtypes that are read without a cast. MLIR has no signed
integers.
"""

_NarrowKey = tuple[str, tuple[tuple[tuple[int, ...], DType], ...], Dtypes, Target | None, Libraries]

_narrow: KernelsThatPay[_NarrowKey] = KernelsThatPay()


def narrow_kernel(
    request: Request, contraction: Contraction, arrays: Sequence[Array], dtypes: Dtypes
) -> Kernel | None:
    """Return the kernel of an einsum of such arrays; None where it does not apply, or not yet pay.

    It takes the operands as they were given, and gives the result, of the result's dtype.
    """
    if len(arrays) != 2 or request.kind.name != "+*" or 0 in contraction.sizes.values():
        return None
    narrow_types = _NARROW.get(dtypes.compute, ())
    if any(array.dtype not in narrow_types or not _is_contiguous(array) for array in arrays):
        return None
    described = tuple((array.shape, array.dtype) for array in arrays)
    key = request.subscripts.text, described, dtypes, override(), in_force()

    def compiled(cache_key: str | None) -> Kernel:
        # Imported only here, for it loads MLIR.
        from linalg_ext.compiler.einsum.emission import compile_narrow

        return compile_narrow(request, arrays, dtypes, cache_key)

    cost = math.prod(contraction.sizes.values()) + CALL
    key_on_disk = partial(_kept_narrow_key, request, arrays, dtypes)
    return _narrow.earned(key, cost, SPECIALIZING_PAYS, key_on_disk, compiled)


def _is_contiguous(array: Array) -> bool:
    return array.flags.c_contiguous and array.flags.aligned


def _kept_narrow_key(request: Request, arrays: Sequence[Array], dtypes: Dtypes) -> str | None:
    described = [(array.shape, array.dtype.str, array.dtype.name) for array in arrays]
    counted = [dtypes.operands.name, dtypes.compute.name, dtypes.result.name]
    return kernel_cache.key_of("narrow einsum", request.subscripts.text, described, counted)
