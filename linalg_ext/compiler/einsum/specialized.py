"""Kernels of einsum for one contraction at one size and one layout: nothing about them is open.

A contraction that is called again and again is compiled for just its sizes and strides. Its
operands are then read in place, whatever the order of their axes, and its result is written in the
order that the caller wants. Others share the kernels that are open in every size.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linalg_ext.compiler.einsum.algebra import Algebra, Array
from linalg_ext.executable import disk_cache
from linalg_ext.executable.call_cache import CallCache, Key
from linalg_ext.executable.kernel import Kernel
from linalg_ext.runtime import kernel_cache
from linalg_ext.runtime.dtypes import DType
from linalg_ext.runtime.registered import Libraries, in_force
from linalg_ext.target import Target, override
from linalg_ext.utils.locks import Lock

SPECIALIZING_PAYS = 1 << 26
"""Products of one contraction after which it is compiled for itself."""

CALL = 1 << 20
"""The overhead of a call, in products: it makes frequent small contractions earn a kernel."""

_MOST_KERNELS = 512

_Operand = tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...]]
"""Labels, sizes and strides in bytes."""

_Key = tuple[_Operand, _Operand, tuple[str, ...], str, Target | None, Libraries]


class KernelsThatPay(CallCache[Key, Kernel]):
    """Kernels, each compiled once calls have cost about as much as compiling it does."""

    def __init__(self) -> None:
        super().__init__(_MOST_KERNELS)
        self._rent: CallCache[Key, int] = CallCache(8 * _MOST_KERNELS)
        self._lock = Lock()

    def earned(
        self,
        key: Key,
        products: int,
        kept_key: Callable[[], str | None],
        compile: Callable[[str | None], Kernel],
    ) -> Kernel | None:
        """Return the kernel of a key, or None where it does not pay yet.

        Args:
            key: of the kernel.
            products: how many products the caller is about to compute.
            kept_key: gives what the kernel is kept under on disk.
            compile: makes it, to be kept under that.
        """
        with self._lock:
            if (kernel := self.get(key)) is not None:
                return kernel
            # One that is kept costs nothing to speak of.
            if key not in self._rent and (kernel := disk_cache.find(kept_key())) is not None:
                return self.remember(key, kernel)
            rent = self._rent.remember(key, self._rent.pop(key, 0) + products + CALL)
            if rent < SPECIALIZING_PAYS:
                return None
            return self.remember(key, compile(kept_key()))


_kernels: KernelsThatPay[_Key] = KernelsThatPay()


def is_packed(algebra: Algebra) -> bool:
    """Return whether contractions in an algebra become packed nests."""
    return algebra.kind.name == "+*" and algebra.dtype in (np.float32, np.float64)


def specialized_kernel(
    a: tuple[Array, tuple[str, ...]],
    b: tuple[Array, tuple[str, ...]],
    output: tuple[str, ...],
    algebra: Algebra,
    products: int,
) -> Kernel | None:
    """Return the kernel of a contraction on arrays like these, or None where it does not pay yet.

    Args:
        a: an operand and the labels of its axes.
        b: another.
        output: the labels of the result.
        algebra: the semiring and the dtype.
        products: how many products the caller is about to compute.

    Returns:
        What takes both operands and the array that it overwrites, contiguous.
    """
    key = _described(*a), _described(*b), output, algebra.dtype.char, override(), in_force()
    kernel = _kernels.get(key)
    if kernel is not None:
        return kernel
    if not (_is_plain(a[0]) and _is_plain(b[0])):
        return None

    def compiled(kept: str | None) -> Kernel:
        # Only here what loads MLIR.
        from linalg_ext.compiler.einsum.kernel_building import compile_for

        return compile_for(a, b, output, algebra, kept)

    return _kernels.earned(key, products, lambda: kept_key(a, b, output, algebra.dtype), compiled)


def compiled_for(
    a: tuple[Array, tuple[str, ...]], b: tuple[Array, tuple[str, ...]], output: tuple[str, ...]
) -> Kernel | None:
    """The kernel for arrays like these where there is one."""
    if a[0].dtype != b[0].dtype:
        return None
    return _kernels.get(
        (_described(*a), _described(*b), output, a[0].dtype.char, override(), in_force())
    )


def _described(array: Array, labels: tuple[str, ...]) -> _Operand:
    return labels, array.shape, array.strides


def _is_plain(array: Array) -> bool:
    """Return whether a memref type can describe the layout of an array."""
    return array.flags.aligned and all(
        stride > 0 and stride % array.itemsize == 0 for stride in array.strides
    )


def kept_key(
    a: tuple[Array, tuple[str, ...]],
    b: tuple[Array, tuple[str, ...]],
    output: tuple[str, ...],
    dtype: DType,
) -> str | None:
    """Return the disk cache's key of the kernel for arrays like these; None if absent."""
    return kernel_cache.key_of("einsum", _described(*a), _described(*b), output, dtype.str)
