"""Element types of a contraction: multiplied as they are, converted, or in dot products.

    f32, f64, i32, i64           as they are
    bf16, bf16 -> f32            dot products of words of two, where the machine has them
    s8, u8, s16 -> i32           dot products of words of four or of two, likewise; zero points too
    whatever else is cast        converted while it is packed, then as its result
    computed, and floats then    likewise, by a prologue

Operands that are read once, a matrix times a vector, are converted where they lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linalg_ext.transforms.codegen.base.dot_products import choose_dot
from linalg_ext.transforms.codegen.base.machine import Machine
from linalg_ext.transforms.codegen.base.operand_types import Argument
from linalg_ext.transforms.codegen.base.problem import Operand, Problem

from ._conversion import cast_between
from ._products import Factor, Product
from ._prologue import with_readable_prologues
from .cache_blocking import make_plan
from .contraction_plan import Plan


def plan_of_types(
    product: Product, problem: Problem, arguments: Sequence[Argument], machine: Machine
) -> tuple[list[Argument], Plan] | str:
    """The operands as they are read, and the plan; or why there is none.

    Args:
        product: what is multiplied.
        problem: the same with its dimensions sorted, all of one type.
        arguments: A, B and C of the op.
        machine: that it is planned for.
    """
    first, second = product.factors
    a, b = (second, first) if problem.swapped else (first, second)
    has_zero_points = any(factor.zero_point is not None for factor in product.factors)
    operands: tuple[tuple[Operand, Factor], ...] = (("A", a), ("B", b))
    converted = replace(
        problem,
        converted=frozenset(operand for operand, factor in operands if factor.cast is not None),
    )
    prologues = {
        operand: factor.prologue for operand, factor in operands if factor.prologue is not None
    }
    if prologues:
        if has_zero_points:
            return "zero points and a prologue on one operand"
        computed = replace(
            converted,
            converted=converted.converted | frozenset(prologues),
            computed=frozenset(prologues),
        )
        plan = with_readable_prologues(make_plan(computed, machine), prologues)
        return _read_as([problem.element] * 2, product, arguments), plan
    plan = make_plan(converted, machine)
    dot = choose_dot(machine.dots, a.sign, b.sign, problem.element)
    if dot is not None and (has_zero_points or not plan.is_inner):
        zero_points = (operand for operand, factor in operands if factor.zero_point is not None)
        words = replace(problem, dot=dot, zero_points=frozenset(zero_points))
        return _read_as([dot.element] * 2, product, arguments), make_plan(words, machine)
    if has_zero_points:
        return "zero points, and no dot products"
    return _read_as([problem.element] * 2, product, arguments), plan


def _read_as(
    elements: Sequence[str], product: Product, arguments: Sequence[Argument]
) -> list[Argument]:
    """The operands with what becomes of their elements when they are read."""
    *inputs, output = arguments
    read = [
        replace(
            argument,
            cast=cast_between(factor.source, element, unsigned=factor.is_unsigned),
            read_as=element,
        )
        if factor.source != element and factor.prologue is None
        else argument
        for argument, factor, element in zip(inputs, product.factors, elements, strict=True)
    ]
    return [*read, output]
