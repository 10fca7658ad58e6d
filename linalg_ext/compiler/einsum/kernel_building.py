"""The kernels of einsum, built and compiled: what needs MLIR, apart from who asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linalg_ext.bindings import func, ir, linalg
from linalg_ext.compiler.einsum.algebra import Algebra, Array
from linalg_ext.compiler.einsum.dtypes import Dtypes
from linalg_ext.compiler.einsum.loop_nests import Form
from linalg_ext.compiler.einsum.path_emission import on_values
from linalg_ext.compiler.einsum.request import Request
from linalg_ext.compiler.module_compilation import compile_copy, compile_in_place
from linalg_ext.definition.attributes import resolve_attributes
from linalg_ext.executable.kernel import Kernel
from linalg_ext.ir.context import borrowed_context, new_context
from linalg_ext.module import Module
from linalg_ext.notations.einsum import definition_of
from linalg_ext.runtime.dtypes import by_dtype
from linalg_ext.structured.constants import number_constant
from linalg_ext.structured.operands import bind
from linalg_ext.structured.payload import build_generic


def compile_form(form: Form, algebra: Algebra, key: str | None) -> Kernel:
    """The kernel of a loop nest that is open in every size; `key` is what it is kept under."""
    name = f"einsum_{form.name}"
    with borrowed_context() as loan:
        with loan.context, ir.Location.name(name):
            module = ir.Module.create()
            with ir.InsertionPoint(module.body):
                _build_form(name, form, algebra)
        return compile_in_place(Module(module), name, loan=loan, opt_level=3, key=key)


def _build_form(name: str, form: Form, algebra: Algebra) -> None:
    """A function on memrefs that overwrites its last argument, which is contiguous."""
    element = ir.Type.parse(by_dtype(algebra.dtype).mlir)
    inner = form.loops[-1]
    nearest = form.nearest or [inner if labels[-1] == inner else "" for labels in form.inputs]
    inputs = [_open_memref(*each, element) for each in zip(form.inputs, nearest, strict=True)]
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


def _open_memref(labels: str, nearest: str, element: ir.Type) -> ir.Type:
    open_size = ir.ShapedType.get_dynamic_size()
    open_stride = ir.ShapedType.get_dynamic_stride_or_offset()
    strides = [1 if label == nearest else open_stride for label in labels]
    layout = ir.StridedLayoutAttr.get(open_stride, strides)
    return ir.MemRefType.get([open_size] * len(labels), element, layout)


def compile_for(
    a: tuple[Array, tuple[str, ...]],
    b: tuple[Array, tuple[str, ...]],
    output: tuple[str, ...],
    algebra: Algebra,
    key: str | None,
) -> Kernel:
    """The kernel of a contraction of arrays like these; `key` is what it is kept under."""
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
        return compile_in_place(Module(module), "einsum", loan=loan, key=key)


def _memref(array: Array, element: ir.Type) -> ir.Type:
    if array.flags.c_contiguous:  # whose calls have a short way
        return ir.MemRefType.get(list(array.shape), element)
    strides = [stride // array.itemsize for stride in array.strides]
    return ir.MemRefType.get(list(array.shape), element, ir.StridedLayoutAttr.get(0, strides))


def compile_narrow(
    request: Request, arrays: Sequence[Array], dtypes: Dtypes, key: str | None
) -> Kernel:
    """The kernel of a contraction of narrow arrays; `key` is what it is kept under."""
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
        return compile_copy(
            Module.of(module),
            "einsum",
            trusted=True,
            checked=False,
            opt_level=None,
            libraries=(),
            result_dtypes=None,
            key=key,
        )
