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
Where its only reader is an element-wise op, a bias and an activation say, that is done on the tile
in registers, and the result goes where the op would have put it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import func, ir
from linalg_ext.errors import RecognitionError
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.contractions import Contraction, contraction_of
from linalg_ext.structured.recognition import RecognizedOp, recognize

from ._argument import Argument, argument_of
from ._blocking import Plan, make_plan
from ._epilogue import Epilogue, FoundEpilogue, find_epilogue, fits, move_before
from ._fills import preceding_zeros, root
from ._machine import Machine, this_machine
from ._nest import contraction_function
from ._problem import Dimension, Operand, Problem, classify

NAME = "linalg-ext-pack-contractions"

PLAN = "linalg_ext.plan"
"""The attribute of a function that holds its plan as a table."""

ELEMENTS = ("f32", "f64")

LEAST_PRODUCTS = 512
"""A contraction of fewer products than this is done before a nest has begun."""


@module_pass(NAME, on=lambda name: name.startswith("linalg."))
def pack_contractions(module: ir.Operation) -> Report:
    """Turn contractions of floats on buffers into calls of packed nests."""
    report = Report(NAME)
    functions = _Functions(module)
    pending = _structured_ops(module)
    while pending:
        op = pending.pop(0)
        report.matched[op.name] += 1
        reason = _rewrite(op, functions, pending)
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


def _rewrite(op: Any, functions: _Functions, pending: list[Any]) -> str | None:
    """Replace an op; None, or the reason why it stays. What is erased with it pends no more."""
    if not functions.machine.has_fma:
        return "this machine has no FMA"
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
    zeros = preceding_zeros(op)
    found = find_epilogue(op, contraction.c, zeros) if zeros is not None else None
    made = _planned(recognized, contraction, zeros, found, functions.machine)
    if found is not None and (isinstance(made, str) or not _can_finish(made[1], found)):
        found = None
        made = _planned(recognized, contraction, zeros, None, functions.machine)
    if isinstance(made, str):
        return made
    arguments, plan = made
    if _is_small(plan.problem):
        return "it is small"
    name = functions.named(plan, arguments, found.epilogue if found is not None else None)
    operands = list(op.operands)
    if found is not None:
        move_before(found, op)
        operands[2:] = [found.destination, *found.values]
    with op.location, ir.InsertionPoint(op):
        func.CallOp([], ir.FlatSymbolRefAttr.get(name), operands)
    if zeros is not None:
        zeros.erase()
    output = op.operands[2]
    op.erase()
    if found is not None:
        _erase_epilogue(found, output, pending)
    return None


def _erase_epilogue(found: FoundEpilogue, output: Any, pending: list[Any]) -> None:
    """Erase what a nest does now, and the buffer between where nobody has it any more."""
    buffer = None if found.destination == output else output
    if found.op in pending:
        pending.remove(found.op)
    found.op.erase()
    if buffer is not None:
        for use in list(buffer.uses):
            use.owner.erase()
        buffer.owner.erase()


def _planned(
    recognized: RecognizedOp,
    contraction: Contraction,
    zeros: Any,
    found: FoundEpilogue | None,
    machine: Machine,
) -> tuple[list[Argument], Plan] | str:
    """The operands with what their types tell, and the plan; or why there is none."""
    arguments = []
    output = recognized.outputs[0] if found is None else found.destination
    values = (*recognized.inputs, output)
    for value, dims in zip(values, (contraction.a, contraction.b, contraction.c), strict=True):
        argument = argument_of(value, dims)
        if isinstance(argument, str):
            return argument
        arguments.append(argument)
    problem = _problem(contraction, arguments, overwrites=zeros is not None)
    return problem if isinstance(problem, str) else (arguments, make_plan(problem, machine))


def _can_finish(plan: Plan, found: FoundEpilogue) -> bool:
    return plan.pieces_c > 0 and fits(plan.problem, found.epilogue, plan.tile.lanes)


def _problem(
    contraction: Contraction, arguments: Sequence[Argument], *, overwrites: bool
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
    return classify(arguments[2].element, dimensions, overwrites=overwrites)


def _is_small(problem: Problem) -> bool:
    sizes = [group.size for group in (problem.rows, problem.columns, problem.depth)]
    if not problem.is_static:
        return False
    products = 1
    for size in sizes:
        products *= size or 0
    return products < LEAST_PRODUCTS


class _Functions:
    """The functions of a module's nests: one for each plan.

    Attributes:
        machine: that they are made for.
    """

    def __init__(self, module: ir.Operation) -> None:
        self.machine = this_machine()
        self._module = module
        self._names: dict[tuple[object, ...], str] = {}
        self._taken = _symbols(module)

    def named(self, plan: Plan, arguments: Sequence[Argument], epilogue: Epilogue | None) -> str:
        """The name of the function for a contraction and its epilogue."""
        key = plan.problem.swapped, plan.problem.overwrites, tuple(arguments), epilogue
        if key not in self._names:
            self._names[key] = self._write(plan, arguments, epilogue)
        return self._names[key]

    def _write(self, plan: Plan, arguments: Sequence[Argument], epilogue: Epilogue | None) -> str:
        number = len(self._names)
        while (name := f"linalg_ext_contraction_{number}") in self._taken:
            number += 1
        parsed = ir.Module.parse(contraction_function(name, plan, arguments, epilogue))
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
