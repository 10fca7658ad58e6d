"""`einsum` in IR: each step of its path is an op on MLIR values; kernels are made of such ops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from linalg_ext import opdsl_defs as ops
from linalg_ext.bindings import func, ir, linalg
from linalg_ext.compiler.einsum.algebra import Algebra, Array, Form
from linalg_ext.compiler.einsum.request import Dtypes, Request
from linalg_ext.compiler.module_compilation import compile_built, compile_copy
from linalg_ext.compiler.op_dtypes import unsigned_type_vars
from linalg_ext.definition.attributes import resolve_attributes
from linalg_ext.definition.model import OpDefinition
from linalg_ext.errors import ArgumentError, ArityError, DTypeError
from linalg_ext.executable.kernel import CompilerOptions, Kernel
from linalg_ext.ir.context import new_context
from linalg_ext.module import Module
from linalg_ext.notations.einsum import BROADCAST, Semiring, definition_of
from linalg_ext.notations.einsum.plan import Labels, Step, contract_along, find_path, steps_along
from linalg_ext.runtime.dtypes import DType, by_dtype
from linalg_ext.structured.constants import number_constant
from linalg_ext.structured.op_builders import as_value, build, require_insertion_point
from linalg_ext.structured.operands import bind, static_sizes
from linalg_ext.structured.outputs import all_or_nothing, make_outputs
from linalg_ext.structured.payload import build_generic
from linalg_ext.transforms.ir_utils.walking import set_function_type


def on_values(request: Request, operands: Sequence[Any], outs: Any) -> Any:
    """Build an einsum of tensors, or of memrefs as one op; `outs` is accumulated into.

    Raises:
        ArgumentError: a memref without `outs`.
        DTypeError: the operands differ in element type, and no argument states that of the result.
    """
    kind = request.kind
    numbered = [tuple(f"d{n}_{axis}" for axis in range(9)) for n in range(len(operands))]
    blank = definition_of([labels[:1] for labels in numbered] or [()], (), kind=kind)
    require_insertion_point(blank)
    values = [as_value(blank, f"operand {n}", value) for n, value in enumerate(operands)]
    target = None if outs is None else _single(blank, outs)
    for number, value in enumerate([*values, *([] if target is None else [target])]):
        if not isinstance(value.type, ir.RankedTensorType | ir.MemRefType):
            raise DTypeError(
                f"einsum: operand {number} is of type {value.type}",
                expected="a ranked tensor or memref",
            )
    shapes = [tuple(static_sizes(value)) for value in values]
    contraction = request.subscripts.bind(
        [tuple(1 if size is None else size for size in shape) for shape in shapes]
    )
    path = find_path(contraction, request.optimize)
    labels = with_broadcasts(contraction.inputs, shapes)
    element, result_element = _elements(request, values, target)
    cast_type = request.compute_type or request.dtype
    unsigned = _unsigned(cast_type)
    on_memrefs = any(isinstance(value.type, ir.MemRefType) for value in values)
    if on_memrefs:
        if target is None:
            raise ArgumentError(
                "einsum on memrefs without outs=", hint="give the memref that it accumulates into"
            )
        steps: Sequence[Step] = (Step.of_all(labels, contraction.output),)
    else:
        distributes = not kind.needs_non_negative
        steps = steps_along(
            path,
            tuple(labels),
            contraction.output,
            distributes=distributes,
            reads_diagonals=True,
        )

    def apply(group: list[ir.Value], step: Step) -> Any:
        definition = definition_for(step.inputs, step.output, kind)
        attributes = resolve_attributes(definition, {})
        if step is steps[-1] and target is not None:
            outputs = [target]
        else:
            outputs = make_outputs(definition, group, attributes, {"U": element})
        return build(bind(definition, group, outputs, attributes, unsigned))

    with all_or_nothing():
        result: Any = contract_along(steps, values, apply)
        if result_element != element:
            copy = ops.copy.definition
            attributes = resolve_attributes(copy, {})
            outputs = make_outputs(copy, [result], attributes, {"U": result_element})
            result = build(bind(copy, [result], outputs, attributes))
    return result


def definition_for(inputs: Sequence[Labels], output: Labels, kind: Semiring) -> OpDefinition:
    """Return the op for labels that need not be names: those of an ellipsis are numbered."""
    names = {label: label.replace(".", "e") for own in (*inputs, output) for label in own}
    renamed = [[names[label] for label in labels] for labels in inputs]
    return definition_of(renamed, [names[label] for label in output], kind=kind)


def _single(definition: OpDefinition, outs: Any) -> ir.Value:
    values = list(outs) if isinstance(outs, list | tuple | ir.OpResultList) else [outs]
    if len(values) != 1:
        raise ArityError(f"einsum: outs= has {len(values)} values", expected="1")
    return as_value(definition, "outs", values[0])


def with_broadcasts(
    inputs: Sequence[Labels], shapes: Sequence[tuple[int | None, ...]]
) -> list[Labels]:
    """Return the labels, with BROADCAST for a size 1 where another operand may have more."""
    stretched = {
        label
        for labels, shape in zip(inputs, shapes, strict=True)
        for label, size in zip(labels, shape, strict=True)
        if size != 1
    }
    return [
        tuple(
            BROADCAST if size == 1 and label in stretched else label
            for label, size in zip(labels, shape, strict=True)
        )
        for labels, shape in zip(inputs, shapes, strict=True)
    ]


def _elements(
    request: Request, values: Sequence[ir.Value], target: ir.Value | None
) -> tuple[ir.Type, ir.Type]:
    """Return the element types of the computation and of the result."""
    cast_type = request.compute_type or request.dtype
    if target is not None:
        element = ir.ShapedType(target.type).element_type
        if cast_type is not None and _element_type(cast_type) != element:
            raise DTypeError(
                f"einsum: outs= is of {element}, but it is to be computed in {cast_type}",
                hint="leave outs= away, or compute in its type",
            )
        return element, element
    if request.dtype is not None:
        result = _element_type(request.dtype)
    elif request.kind.is_boolean:
        result = ir.IntegerType.get_signless(1)
    else:
        elements = {str(ir.ShapedType(value.type).element_type) for value in values}
        if len(elements) > 1:
            raise DTypeError(
                f"einsum: operands of {' and '.join(sorted(elements))}",
                hint="give dtype=, or outs= of the type of the result",
            )
        result = ir.ShapedType(values[0].type).element_type
    if request.kind.is_boolean:
        return ir.IntegerType.get_signless(1), result
    return (result if cast_type is None else _element_type(cast_type)), result


def _element_type(dtype: DType) -> ir.Type:
    return ir.Type.parse(by_dtype(dtype).mlir)


def compile_form(form: Form, algebra: Algebra, key: str | None) -> Kernel:
    """Return the kernel of a loop nest that is open in every size, kept under `key`."""
    name = f"einsum_{form.name}"
    inner = form.loops[-1]
    nearest = form.nearest or [inner if labels[-1] == inner else "" for labels in form.inputs]

    def build() -> None:
        element = _element_type(algebra.dtype)
        inputs = [_open_memref(*own, element) for own in zip(form.inputs, nearest, strict=True)]
        sizes = [ir.ShapedType.get_dynamic_size()] * len(form.output)
        _build_sum(name, form.definition(algebra), inputs, sizes, algebra)

    return compile_built(name, build, CompilerOptions(opt_level=3), key=key)


def _build_sum(
    name: str,
    definition: OpDefinition,
    inputs: Sequence[ir.Type],
    sizes: Sequence[int],
    algebra: Algebra,
) -> None:
    """Build a function of an op on memrefs that overwrites its last argument, a contiguous one."""
    element = _element_type(algebra.dtype)
    function = func.FuncOp(name, ([*inputs, ir.MemRefType.get(list(sizes), element)], []))
    with ir.InsertionPoint(function.add_entry_block()):
        *operands, result = function.arguments
        linalg.fill(number_constant(algebra.zero.item(), element), outs=[result])
        attributes, unsigned = resolve_attributes(definition, {}), _unsigned(algebra.dtype)
        build_generic(bind(definition, operands, [result], attributes, unsigned))
        func.ReturnOp([])


def _unsigned(dtype: DType | None) -> frozenset[str]:
    """Return `U` where operands of this dtype are unsigned: the type variable of all of them."""
    return frozenset() if dtype is None else unsigned_type_vars({"U": dtype})


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
    """Return the kernel of a contraction of arrays like these; `key` is its key in the cache."""
    sizes: dict[str, int] = {}
    for array, labels in (a, b):
        sizes.update(zip(labels, array.shape, strict=True))
    definition = definition_of(
        (a[1], b[1]), output, kind=algebra.kind, name="einsum", types=["U", "U"]
    )

    def build() -> None:
        inputs = [_memref(array, _element_type(algebra.dtype)) for array, _ in (a, b)]
        _build_sum("einsum", definition, inputs, [sizes[label] for label in output], algebra)

    return compile_built("einsum", build, key=key)


def _memref(array: Array, element: ir.Type) -> ir.Type:
    if array.flags.c_contiguous:  # whose calls have a short way
        return ir.MemRefType.get(list(array.shape), element)
    strides = [stride // array.itemsize for stride in array.strides]
    return ir.MemRefType.get(list(array.shape), element, ir.StridedLayoutAttr.get(0, strides))


def compile_narrow(
    request: Request, arrays: Sequence[Array], dtypes: Dtypes, key: str | None
) -> Kernel:
    """Return the kernel of a contraction of narrow arrays; `key` is its key in the cache."""
    # That the casts are allowed was seen before.
    unsafe_request = replace(
        request, dtype=dtypes.result, compute_type=dtypes.compute, casting="unsafe"
    )
    with new_context(), ir.Location.name("einsum"):
        module = ir.Module.create()
        types = [
            ir.RankedTensorType.get(array.shape, _element_type(array.dtype)) for array in arrays
        ]
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("einsum", (types, []))
            with ir.InsertionPoint(function.add_entry_block()):
                result = on_values(unsafe_request, list(function.arguments), None)
                func.ReturnOp([result])
            set_function_type(function, types, [result.type])
        return compile_copy(Module.of(module), "einsum", trusted=True, key=key)
