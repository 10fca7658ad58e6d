"""Turn contractions on buffers into packed nests around a register-tiled micro-kernel.

before:
    linalg.matmul ins(%a, %b : memref<1000x500xf32>, memref<500x800xf32>)
                  outs(%c : memref<1000x800xf32>)
after:
    func.call @linalg_ext_contraction_0(%a, %b, %c)
      : (memref<1000x500xf32>, memref<500x800xf32>, memref<1000x800xf32>) -> ()

Whatever says `C[b, m, n] += A[b, m, k] * B[b, k, n]`, by any name and in any order of its
dimensions and strides: the function that it becomes packs strips of both operands, straight from
where they lie, into the order in which the micro-kernel reads them. One function does for all
contractions of one plan. Sums of floats are in another order than that of the loops, and each
product is added without being rounded. Integers are exact.

Element types are multiplied as they are, converted, or in dot products:

    f32, f64, i32, i64           as they are
    bf16, bf16 -> f32            dot products of words of two, where the machine has them
    s8, u8, s16 -> i32           dot products of words of four or two, likewise; zero points too
    whatever else is cast        converted while it is packed, then as its result
    computed, and floats then    likewise, by a prologue: a dequantization, say

Operands that are read once, a matrix times a vector, are converted where they lie. Dot products of
bf16 take subnormal numbers for zeros on x86.

Where the output was just filled with zeros, it is written without being read, and the fill is gone.
If its only reader is an element-wise op (a bias and an activation, for example), that op is
computed on the tile in registers. The result goes to the op's destination, in the type that it has
there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from linalg_ext.bindings import arith, ir, memref, scf
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.constants import index
from linalg_ext.target import current
from linalg_ext.transforms.analysis.buffers import buffer_of
from linalg_ext.transforms.analysis.fills import preceding_zeros
from linalg_ext.transforms.codegen.base.blocked_sums import (
    LONG,
    can_be_split,
    dynamic_length,
    split_sums,
)
from linalg_ext.transforms.codegen.base.epilogue import (
    EpilogueMatch,
    call_in_place,
    find_epilogue,
    move_before,
    reads_in_vectors,
)
from linalg_ext.transforms.codegen.base.machine import Machine, choose_dot, this_machine
from linalg_ext.transforms.codegen.base.payload import Elementwise
from linalg_ext.transforms.codegen.base.problem import (
    Argument,
    Operand,
    Problem,
    argument_of,
    classify,
    dimensions_of,
)
from linalg_ext.transforms.ir_utils.generics import maps_of, output_of, parallel_loops
from linalg_ext.transforms.ir_utils.module_functions import CONTRACTION, Functions
from linalg_ext.transforms.ir_utils.walking import replace_operands, select
from linalg_ext.transforms.parallel.share_work import threads_of

from ._contraction_nest import ContractionNest
from .contraction_plan import Plan, make_plan
from .packing import with_readable_prologues
from .plan_selection import PlannedContraction, chosen
from .products import LEAST_PRODUCTS, Factor, Product, cast_between, read_product
from .split_complex_products import split_complex_products

NAME = "linalg-ext-pack-contractions"

_MOST_WORDS = 1 << 14
"""A depth of more words than this is divided: a strip of A would not stay in L2."""

_BLOCK = 1 << 14
"""Products that are added up in a block of a long depth."""


@module_pass(NAME, on=lambda name: name.startswith("linalg."))
def pack_contractions(module: ir.Operation) -> Report:
    """Turn contractions on buffers into calls of packed nests; complex ones are split before."""
    report = Report(NAME)
    report.merge(split_complex_products.apply(module))
    functions = _Functions(module)
    pending = select(module, _may_contract)
    blocks: list[Any] = []
    while pending:
        op = pending.pop(0)
        is_block = op in blocks
        if is_block:
            blocks.remove(op)
        report.matched[op.name] += not is_block
        report.record(
            "linalg contraction", _rewrite(op, functions, pending, None if is_block else blocks)
        )
    report.decisions += functions.decisions
    return report


def _may_contract(op: Any) -> bool:
    """Return whether an op has buffers alone, scalars aside, and three of them as a product has.

    A sum may have more: those from which its factors are computed. An element-wise op is none.
    """
    if not op.name.startswith("linalg.") or len(op.results):
        return False
    shaped = [value for value in op.operands if isinstance(value.type, ir.ShapedType)]
    if not all(isinstance(value.type, ir.MemRefType) for value in shaped):
        return False
    if op.name != "linalg.generic":
        return len(shaped) == 3
    if not all(parallel_loops(op)):
        return len(shaped) >= 3
    return len(shaped) == 3 and not all(map_.is_permutation for map_ in maps_of(op))


def _rewrite(
    op: Any, functions: _Functions, pending: list[Any], blocks: list[Any] | None
) -> str | None:
    """Replace an op; return why it stays, or None. Ops that are erased with it leave `pending`.

    Args:
        blocks: a list for new pending ops that compute a block of the depth of this op; None if it
            is such a block itself.
    """
    if not functions.machine.has_fma:
        return "the machine has no FMA"
    product = read_product(op)
    if isinstance(product, str):
        return product
    factors = product.factors
    read = [value for factor in factors for value in (factor.value, *factor.extra_operands)]
    if any(buffer_of(value) == buffer_of(product.output) for value in read):
        return "the output is an input"
    zeros = preceding_zeros(op)
    match = find_epilogue(op, product.c, zeros) if zeros is not None else None
    planned = _planned(product, zeros, match, functions.machine)
    if match is not None and (isinstance(planned, str) or not _can_finish(planned[1], match)):
        match = None
        planned = _planned(product, zeros, None, functions.machine)
    if isinstance(planned, str):
        return planned
    arguments, plan = planned
    if _is_small(plan.problem):
        return "the product is small"
    if _uses_all_once(plan):
        return "the product is element by element: each value is used once"
    if blocks is not None and _is_long(plan, op):
        parts = _split(op, plan.problem, zeros, match)
        blocks += parts
        pending[:0] = parts
        return None
    epilogue = None if match is None else match.epilogue
    name = functions.named(plan, arguments, epilogue, [factor.prologue for factor in factors])
    operands = [factor.value for factor in factors]
    extra_operands = [factor.zero_point for factor in factors if factor.zero_point is not None]
    extra_operands += [value for factor in factors for value in factor.extra_operands]
    if match is not None:
        operands += [match.destination, *extra_operands, *match.values]
    else:
        operands += [product.output, *extra_operands]
    call_in_place(functions, name, operands, op, zeros, match, pending)
    return None


def _is_long(plan: Plan, op: Any) -> bool:
    """Return whether the depth may be so long that its sums lose too much precision."""
    depth = plan.problem.depth.size
    is_short = depth is not None and depth <= LONG
    return not plan.is_inner and not is_short and can_be_split(op)


def _split(op: Any, problem: Problem, zeros: Any, match: EpilogueMatch | None) -> list[Any]:
    """Cut a contraction with a long depth into blocks of it; return the ops to go on with.

    It is erased, or moved to where the run finds its depth to be short.
    """
    output = output_of(op)
    if problem.depth.size is not None:
        with op.location, ir.InsertionPoint(op):
            written = split_sums(op, _BLOCK, with_zeros=True)
        op.erase()
        return written
    steps: list[Any] = [step for step in (zeros, op) if step is not None]
    steps += [] if match is None else [match.op]
    if match is not None:
        move_before((match.destination, *match.values), op)
    with op.location, ir.InsertionPoint(op):
        length = dynamic_length(op)
        is_long = arith.cmpi(arith.CmpIPredicate.ugt, length, index(LONG))
        branch: Any = scf.IfOp(is_long, has_else=True)
        with ir.InsertionPoint(branch.then_block):
            # The other branch can do without a buffer between, and then no other op may use it.
            is_between = match is not None and match.destination != output
            own = output
            if is_between:
                own = memref.alloc(output.type, list(output.owner.operands), [], alignment=64)
            clones = [step.clone().operation for step in steps]
            for clone in clones:
                replace_operands(clone, {output: own})
            whole = clones[steps.index(op)]
            with ir.InsertionPoint(whole):
                written = split_sums(whole, _BLOCK, with_zeros=True)
            whole.erase()
            if is_between:
                memref.dealloc(own)
            scf.YieldOp([])
        with ir.InsertionPoint(branch.else_block):
            last = scf.YieldOp([]).operation
        for step in steps:
            step.move_before(last)
    return [op, *written]


def _planned(
    product: Product, zeros: Any, match: EpilogueMatch | None, machine: Machine
) -> tuple[list[Argument], Plan] | str:
    output = product.output if match is None else match.destination
    values = [(factor.value, factor.dims) for factor in product.factors]
    arguments = []
    for value, dims in (*values, (output, product.c)):
        argument = argument_of(value, dims)
        if isinstance(argument, str):
            return argument
        arguments.append(argument)
    roles: tuple[Operand, ...] = ("A", "B", "C")
    dimensions = dimensions_of(dict(zip(roles, arguments, strict=True)))
    dimensions.sort(key=lambda dimension: product.dims.index(dimension.name))
    problem = classify(product.element, dimensions, overwrites=zeros is not None)
    if isinstance(problem, str):
        return problem
    if arguments[2].element != problem.element:
        problem = replace(problem, is_undivided=True)
    return _plan_of_types(product, problem, arguments, machine)


def _can_finish(plan: Plan, match: EpilogueMatch) -> bool:
    words = plan.problem.words
    if plan.problem.is_undivided and (words is None or words > _MOST_WORDS):
        return False
    return plan.pieces_c > 0 and reads_in_vectors(
        plan.problem.columns, match.epilogue, plan.tile.lanes
    )


def _is_small(problem: Problem) -> bool:
    sizes = (problem.rows.size, problem.columns.size, problem.depth.size)
    return problem.is_static and math.prod(size or 0 for size in sizes) < LEAST_PRODUCTS


def _uses_all_once(plan: Plan) -> bool:
    """Return whether a sum has no rows and no columns: packing would copy elements read once."""
    problem = plan.problem
    if plan.is_inner or problem.rows.size != 1 or problem.columns.size != 1:
        return False
    along = (*problem.batch, *problem.depth.dimensions)
    are_vectors = any(set(dimension.strides.values()) == {1} for dimension in along)
    are_known = all(None not in dimension.strides.values() for dimension in along)
    return are_vectors or (are_known and problem.dot is None)


class _Functions(Functions):
    """The functions of a module's nests, one for each plan; `decisions` has the plans."""

    def __init__(self, module: ir.Operation) -> None:
        super().__init__(module, CONTRACTION)
        self.machine = this_machine().beside(threads_of(module))
        self.decisions: list[PlannedContraction] = []

    def named(
        self,
        plan: Plan,
        arguments: Sequence[Argument],
        epilogue: Elementwise | None,
        prologues: Sequence[Elementwise | None],
    ) -> str:
        problem = plan.problem
        key = (
            (problem.swapped, problem.overwrites, problem.dot, problem.zero_points),
            tuple(arguments),
            epilogue,
            tuple(prologues),
        )
        name = self.known(key)
        if name is None:
            selected = chosen(plan)
            nest = ContractionNest(selected, arguments, epilogue, prologues)
            name = self.add(key, selected, nest.function)
            self.decisions.append(PlannedContraction(name, plan, selected, epilogue, current()))
        return name


def _plan_of_types(
    product: Product, problem: Problem, arguments: Sequence[Argument], machine: Machine
) -> tuple[list[Argument], Plan] | str:
    """Return the operands with their casts, and the plan; or why there is none.

    The problem has its dimensions sorted, all of one type; the arguments are A, B and C of the op.
    """
    roles: tuple[Operand, Operand] = ("B", "A") if problem.swapped else ("A", "B")
    factors: dict[Operand, Factor] = dict(zip(roles, product.factors, strict=True))
    converted = frozenset(role for role, factor in factors.items() if factor.cast is not None)
    zero_points = frozenset(r for r, factor in factors.items() if factor.zero_point is not None)
    prologues = {r: factor.prologue for r, factor in factors.items() if factor.prologue is not None}
    if prologues:
        if zero_points:
            return "zero points and a prologue on one operand"
        computed = frozenset(prologues)
        problem = replace(problem, converted=converted | computed, computed=computed)
        plan = with_readable_prologues(make_plan(problem, machine), prologues)
        return _read_as(problem.element, product, arguments), plan
    plan = make_plan(replace(problem, converted=converted), machine)
    dot = choose_dot(machine.dots, factors["A"].sign, factors["B"].sign, problem.element)
    if dot is not None and (zero_points or not plan.is_inner):
        plan = make_plan(replace(problem, dot=dot, zero_points=zero_points), machine)
        return _read_as(dot.element, product, arguments), plan
    if zero_points:
        return "zero points, and no dot products"
    return _read_as(problem.element, product, arguments), plan


def _read_as(element: str, product: Product, arguments: Sequence[Argument]) -> list[Argument]:
    """Return the operands with the casts of their elements."""
    *inputs, output = arguments
    read = [
        replace(
            argument,
            cast=cast_between(factor.source, element, unsigned=factor.is_unsigned),
            read_as=element,
        )
        if factor.source != element and factor.prologue is None
        else argument
        for argument, factor in zip(inputs, product.factors, strict=True)
    ]
    return [*read, output]
