"""Contractions on buffers become packed nests around a register-tiled micro-kernel.

before:
    linalg.matmul ins(%a, %b : memref<1000x500xf32>, memref<500x800xf32>)
                  outs(%c : memref<1000x800xf32>)
after:
    func.call @linalg_ext_contraction_0(%a, %b, %c)
      : (memref<1000x500xf32>, memref<500x800xf32>, memref<1000x800xf32>) -> ()

Whatever says `C[b, m, n] += A[b, m, k] * B[b, k, n]` on floats, by any name and in any order of its
dimensions and strides: the function that it becomes packs strips of both operands, straight from
where they lie, into the order in which the micro-kernel reads them. One function does for all
contractions of one plan. Sums are in another order than that of the loops, and each product is
added without being rounded.

Where the output was just filled with zeros, it is written without being read, and the fill is gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import func, ir
from linalg_ext.errors import RecognitionError
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.contractions import Contraction, contraction_of
from linalg_ext.structured.recognition import RecognizedOp, recognize

from ._blocking import make_plan
from ._fills import preceding_zeros, root
from ._machine import Machine, this_machine
from ._nest import Argument, contraction_function
from ._problem import Dimension, Operand, Problem, classify

NAME = "linalg-ext-pack-contractions"

PLAN = "linalg_ext.plan"
"""The attribute of a function that holds its plan as a table."""

ELEMENTS = ("f32", "f64")

LEAST_PRODUCTS = 512
"""A contraction of fewer products than this is done before a nest has begun."""

@module_pass(NAME)
def pack_contractions(module: ir.Operation) -> Report:
    """Turn contractions of floats on buffers into calls of packed nests."""
    report = Report(NAME)
    functions = _Functions(module)
    for op in _structured_ops(module):
        report.matched[op.name] += 1
        reason = _rewrite(op, functions)
        if reason is None:
            report.changed["linalg contraction"] += 1
        else:
            report.leave("linalg contraction", reason)
    return report


def _structured_ops(module: ir.Operation) -> list[Any]:
    """Ops with two inputs and an output on buffers: whatever may contract."""
    found: list[Any] = []

    def visit(op: Any) -> Any:
        if (
            op.name.startswith("linalg.")
            and len(op.operands) == 3
            and not len(op.results)
            and all(isinstance(value.type, ir.MemRefType) for value in op.operands)
        ):
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _rewrite(op: Any, functions: _Functions) -> str | None:
    """Replace an op; None, or the reason why it stays."""
    elements = {str(value.type.element_type) for value in op.operands}
    if len(elements) > 1 or not elements <= set(ELEMENTS):
        return f"element types {', '.join(sorted(elements))}"
    try:
        recognized = recognize(op)
    except RecognitionError as error:
        return error.what
    contraction = contraction_of(recognized)
    if contraction is None:
        return "it is no contraction of two operands"
    *inputs, output = op.operands
    if any(root(value) == root(output) for value in inputs):
        return "the output is an input"
    arguments = _arguments(recognized, contraction)
    if isinstance(arguments, str):
        return arguments
    zeros = preceding_zeros(op)
    problem = _problem(elements.pop(), contraction, arguments, overwrites=zeros is not None)
    if isinstance(problem, str):
        return problem
    if _is_small(problem):
        return "it is small"
    name = functions.named(problem, arguments)
    with op.location, ir.InsertionPoint(op):
        func.CallOp([], ir.FlatSymbolRefAttr.get(name), list(op.operands))
    if zeros is not None:
        zeros.erase()
    op.erase()
    return None


def _arguments(recognized: RecognizedOp, contraction: Contraction) -> list[Argument] | str:
    """The operands with what their types tell, or why they cannot be taken."""
    arguments = []
    values = (*recognized.inputs, *recognized.outputs)
    for value, dims in zip(values, (contraction.a, contraction.b, contraction.c), strict=True):
        type_ = ir.MemRefType(value.type)
        if type_.memory_space is not None:
            return "it is in a memory space of its own"
        try:
            strides = type_.get_strides_and_offset()[0]
        except (ir.MLIRError, ValueError, RuntimeError):
            return f"{type_} has no strides"
        arguments.append(
            Argument(
                str(type_),
                dims,
                tuple(
                    None if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
                    for axis in range(type_.rank)
                ),
                tuple(
                    None if type_.is_dynamic_stride_or_offset(stride) else stride
                    for stride in strides
                ),
            )
        )
    return arguments


def _problem(
    element: str, contraction: Contraction, arguments: Sequence[Argument], *, overwrites: bool
) -> Problem | str:
    sizes: dict[str, int | None] = {}
    strides: dict[str, dict[Operand, int | None]] = {dim: {} for dim in contraction.dims}
    roles: tuple[Operand, ...] = ("A", "B", "C")
    for role, argument in zip(roles, arguments, strict=True):
        for axis, dimension in enumerate(argument.dimensions):
            size = argument.sizes[axis]
            if size is not None or dimension not in sizes:
                sizes[dimension] = size
            strides[dimension][role] = argument.strides[axis]
    dimensions = [Dimension(dim, sizes[dim], strides[dim]) for dim in contraction.dims]
    return classify(element, dimensions, overwrites=overwrites)


def _is_small(problem: Problem) -> bool:
    sizes = [group.size for group in (problem.rows, problem.columns, problem.depth)]
    if not problem.is_static:
        return False
    products = 1
    for size in sizes:
        products *= size or 0
    return products < LEAST_PRODUCTS


class _Functions:
    """The functions of a module's nests: one for each plan."""

    def __init__(self, module: ir.Operation, machine: Machine | None = None) -> None:
        self._module = module
        self._machine = machine or this_machine()
        self._names: dict[tuple[str, tuple[Argument, ...]], str] = {}
        self._taken = _symbols(module)

    def named(self, problem: Problem, arguments: Sequence[Argument]) -> str:
        """The name of the function for a contraction."""
        key = repr(problem), tuple(arguments)
        if key not in self._names:
            self._names[key] = self._write(problem, arguments)
        return self._names[key]

    def _write(self, problem: Problem, arguments: Sequence[Argument]) -> str:
        number = len(self._names)
        while (name := f"linalg_ext_contraction_{number}") in self._taken:
            number += 1
        plan = make_plan(problem, self._machine)
        parsed = ir.Module.parse(contraction_function(name, plan, arguments))
        function = parsed.body.operations[0]
        function.attributes[PLAN] = ir.StringAttr.get(repr(plan))
        function.operation.clone(ir.InsertionPoint(self._module.regions[0].blocks[0]))
        self._taken.add(name)
        return name


def _symbols(module: ir.Operation) -> set[str]:
    ops = (op.operation for op in module.regions[0].blocks[0].operations)
    return {
        ir.StringAttr(op.attributes["sym_name"]).value for op in ops if "sym_name" in op.attributes
    }
