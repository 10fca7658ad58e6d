"""Kernels of einsum for one contraction at one size and one layout: nothing about them is open.

A contraction that comes again and again is compiled for just its sizes and strides: its operands
are then read from where they lie, whatever the order of their axes, and its result is written as it
is wanted. Others share the kernels that are open in every size.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from linalg_ext.bindings import func, ir, linalg
from linalg_ext.calling.kernel import Kernel
from linalg_ext.compiler.compilation import compile_in_place
from linalg_ext.compiler.einsum.algebra import Algebra, Array
from linalg_ext.context import borrowed_context
from linalg_ext.definition.attributes import resolve_attributes
from linalg_ext.module import Module
from linalg_ext.notations.einsum import definition_of
from linalg_ext.runtime.dtypes import by_dtype
from linalg_ext.structured.constants import number_constant
from linalg_ext.structured.generic import build_generic
from linalg_ext.structured.operands import bind
from linalg_ext.target import Target, override

SPECIALIZING_PAYS = 1 << 26
"""Products of one contraction after which it is compiled for itself."""

CALL = 1 << 20
"""What a call costs beside its products, in products: small contractions come often."""

_MOST_KERNELS = 512

_Operand = tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...]]
"""Labels, sizes and strides in bytes."""

_Key = tuple[_Operand, _Operand, tuple[str, ...], str, Target | None]

_kernels: OrderedDict[_Key, Kernel] = OrderedDict()
_rent: OrderedDict[_Key, int] = OrderedDict()
_lock = threading.RLock()


def is_packed(algebra: Algebra) -> bool:
    """Whether contractions in an algebra become packed nests."""
    return algebra.kind.name == "+*" and algebra.dtype in (np.float32, np.float64)


def specialized_kernel(
    a: tuple[Array, tuple[str, ...]],
    b: tuple[Array, tuple[str, ...]],
    output: tuple[str, ...],
    algebra: Algebra,
    products: int,
) -> Kernel | None:
    """The kernel of a contraction on arrays like these, or None where it does not pay yet.

    Args:
        a: an operand and the labels of its axes.
        b: another.
        output: the labels of the result.
        algebra: the semiring and the dtype.
        products: how many products the caller is about to compute.

    Returns:
        What takes both operands and the array that it overwrites, contiguous.
    """
    if not is_packed(algebra):
        return None
    key = _described(*a), _described(*b), output, algebra.dtype.char, override()
    kernel = _kernels.get(key)
    if kernel is not None:
        return kernel
    if not (_is_plain(a[0]) and _is_plain(b[0])):
        return None
    with _lock:
        rent = _rent[key] = _rent.pop(key, 0) + products + CALL
        if len(_rent) > 8 * _MOST_KERNELS:
            _rent.popitem(last=False)
        if rent < SPECIALIZING_PAYS:
            return None
        if key not in _kernels:
            _kernels[key] = _compile(a, b, output, algebra)
            if len(_kernels) > _MOST_KERNELS:
                _kernels.popitem(last=False)
        return _kernels[key]


def compiled_for(
    a: tuple[Array, tuple[str, ...]], b: tuple[Array, tuple[str, ...]], output: tuple[str, ...]
) -> Kernel | None:
    """The kernel for arrays like these where there is one."""
    if a[0].dtype != b[0].dtype:
        return None
    return _kernels.get((_described(*a), _described(*b), output, a[0].dtype.char, override()))


def _described(array: Array, labels: tuple[str, ...]) -> _Operand:
    return labels, array.shape, array.strides


def _is_plain(array: Array) -> bool:
    """Whether a memref type can say how an array lies in memory."""
    return array.flags.aligned and all(
        stride > 0 and stride % array.itemsize == 0 for stride in array.strides
    )


def _compile(
    a: tuple[Array, tuple[str, ...]],
    b: tuple[Array, tuple[str, ...]],
    output: tuple[str, ...],
    algebra: Algebra,
) -> Kernel:
    sizes: dict[str, int] = {}
    for array, labels in (a, b):
        sizes.update(zip(labels, array.shape, strict=True))
    definition = definition_of(
        (a[1], b[1]), output, kind=algebra.kind, name="einsum", types=["U", "U"]
    )
    with borrowed_context() as loan:
        with loan.context, ir.Location.name("einsum"):
            module = ir.Module.create()
            element = ir.Type.parse(by_dtype(algebra.dtype).mlir)
            types: Sequence[ir.Type] = [
                *(_memref(array, element) for array, _ in (a, b)),
                ir.MemRefType.get([sizes[label] for label in output], element),
            ]
            with ir.InsertionPoint(module.body):
                function = func.FuncOp("einsum", (list(types), []))
            with ir.InsertionPoint(function.add_entry_block()):
                *operands, result = function.arguments
                linalg.fill(number_constant(algebra.zero.item(), element), outs=[result])
                attributes = resolve_attributes(definition, {})
                build_generic(bind(definition, operands, [result], attributes))
                func.ReturnOp([])
        return compile_in_place(Module(module), "einsum", loan=loan)


def _memref(array: Array, element: ir.Type) -> ir.Type:
    if array.flags.c_contiguous:  # whose calls have a short way
        return ir.MemRefType.get(list(array.shape), element)
    strides = [stride // array.itemsize for stride in array.strides]
    return ir.MemRefType.get(list(array.shape), element, ir.StridedLayoutAttr.get(0, strides))
