"""The kernels of einsum: three loop nests for each semiring and dtype, open in every size.

    contract    C[b, m, n]    += A[b, m, k]    * B[b, k, n]       n innermost
    inner       C[b, m, n, l] += A[b, m, k, l] * B[b, n, k, l]    l innermost
    reduce      C[m, l]       += A[m, k, l]                       l innermost

All einsums of all shapes come down to these by views. The innermost dimension is a parallel one in
each, so that LLVM can vectorize without reordering a sum; for an inner product the contracted
dimension is cut into lanes l, and the lanes are summed last.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from linalg_ext.bindings import func, ir, linalg
from linalg_ext.compiler.compilation import compile
from linalg_ext.compiler.einsum.algebra import Algebra, Array
from linalg_ext.compiler.kernel import Kernel
from linalg_ext.context import new_context
from linalg_ext.definition.attributes import resolve_attributes
from linalg_ext.definition.functions import BINARY
from linalg_ext.definition.model import OpDefinition
from linalg_ext.module import Module
from linalg_ext.notations.einsum import Semiring, definition_of
from linalg_ext.runtime.dtypes import DType, by_dtype
from linalg_ext.structured.constants import number_constant
from linalg_ext.structured.generic import build_generic
from linalg_ext.structured.operands import bind
from linalg_ext.target import Target, override

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
    """A loop nest: the labels of its operands, and of its loops from the outside in."""

    name: str
    inputs: tuple[str, ...]
    output: str
    loops: str

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

_Key = tuple[str, str, DType, Target | None]
"""The names of the form and of the semiring, the dtype and the target: quick to hash."""

_kernels: dict[_Key, Kernel] = {}
_rent: dict[_Key, int] = {}
_compiling = threading.RLock()


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
    result = np.empty(out.shape, np.uint8)
    kernel(*(array.view(np.uint8) for array in inputs), result)
    np.not_equal(result, 0, out=out)


def _compiled(form: Form, algebra: Algebra, products: int) -> Kernel | None:
    key = form.name, algebra.kind.name, algebra.dtype, override()
    kernel = _kernels.get(key)
    if kernel is not None:
        return kernel
    rent = _rent[key] = _rent.get(key, 0) + products
    if rent < COMPILING_PAYS:
        return None
    with _compiling:
        if key not in _kernels:
            _kernels[key] = _compile(form, algebra)
    return _kernels[key]


def _compile(form: Form, algebra: Algebra) -> Kernel:
    name = f"einsum_{form.name}"
    with new_context(), ir.Location.name(name):
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            _build(name, form, algebra)
        return compile(Module.of(module), name, trusted=True, checked=False, opt_level=3)


def _build(name: str, form: Form, algebra: Algebra) -> None:
    """A function on memrefs that overwrites its last argument, which is contiguous."""
    element = ir.Type.parse(by_dtype(algebra.dtype).mlir)
    inner = form.loops[-1]
    inputs = [_memref(labels, element, unit_stride=labels[-1] == inner) for labels in form.inputs]
    sizes = [ir.ShapedType.get_dynamic_size()] * len(form.output)
    output = ir.MemRefType.get(sizes, element)
    definition = form.definition(algebra)
    function = func.FuncOp(name, ([*inputs, output], []))
    unsigned = by_dtype(algebra.dtype)
    signless = unsigned.kind == "bool" or unsigned.unsigned == algebra.dtype
    with ir.InsertionPoint(function.add_entry_block()):
        *operands, result = function.arguments
        linalg.fill(number_constant(algebra.zero.item(), element), outs=[result])
        build_generic(
            bind(
                definition,
                operands,
                [result],
                resolve_attributes(definition, {}),
                frozenset({"U"}) if signless else frozenset(),
            )
        )
        func.ReturnOp([])


def _memref(labels: str, element: ir.Type, *, unit_stride: bool) -> ir.Type:
    open_size = ir.ShapedType.get_dynamic_size()
    open_stride = ir.ShapedType.get_dynamic_stride_or_offset()
    strides = [open_stride] * len(labels)
    if unit_stride:
        strides[-1] = 1
    layout = ir.StridedLayoutAttr.get(open_stride, strides)
    return ir.MemRefType.get([open_size] * len(labels), element, layout)
