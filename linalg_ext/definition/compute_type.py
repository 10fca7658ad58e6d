"""An operation computed in another type than that of its output: the compute type.

    C[m, n] += A[m, k] * B[k, n]          bf16 x f32 -> i8, compute type f32

is derived into the op with an accumulator of the compute type, whose result is cast once:

    C'[m, n] = f32(C[m, n])
    C'[m, n] += f32(A[m, k]) * B[k, n]
    C[m, n] = i8(C'[m, n])

Every input is cast to the compute type, the operation, accumulation included, is done in it, the
initial value is cast in as well, and the result is cast to the output type once. Without a compute
type the output type is computed in, as upstream's named ops do.

What an op's own casts become:

- One that stands on an input, and a chain of such that loses nothing, becomes one cast to the
  compute type; it reads integers with the sign that the innermost of the chain reads them with.
- The outermost one of an assignment, to the type of the output, is the cast of the result.
- One in the middle that loses something (a rounding to bf16 inside an op on f32) stays, and what it
  gives is cast to the compute type; one that loses nothing vanishes. Where the middle one wraps an
  integer around, or reads a computed one as unsigned, that has no counterpart in another type: an
  error says so.
- Integers that are computed and then cast to a float (a hash of the position, the difference to a
  zero point) stay integers under a float compute type, which could only lose something of them; and
  so do integers that are compared with one another.

Comparisons and conditions stay booleans, and an output that is one is computed as it stands.

Source: the wish list of the linalg dialect's users ("Explicit compute type").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from linalg_ext.definition.accumulation import accumulation
from linalg_ext.definition.element_types import family
from linalg_ext.definition.functions import TYPE
from linalg_ext.definition.model import (
    Assignment,
    OpDefinition,
    Operand,
    OperandKind,
    Reduction,
    runs_with,
)
from linalg_ext.definition.numpy_functions import cast_values
from linalg_ext.definition.renaming import rewrite_expression
from linalg_ext.definition.retyping import Retyper, element_table, is_unsigned
from linalg_ext.definition.saturation import saturating_cast
from linalg_ext.definition.scalar import Access, Apply, ScalarExpr
from linalg_ext.definition.types import PREDEFINED, TypeVar
from linalg_ext.errors import DefinitionError, DTypeError


@dataclass(frozen=True)
class StoredOutput:
    """The stored form of an output of an op that is computed in another type.

    Attributes:
        name: the operand.
        type_var: its type variable, of the type that it is stored in.
        element: that type, as MLIR spells it.
        unsigned: True where the casts in and out read integers as unsigned.
        is_cast: True where the output is cast. An output that has the compute type, or that is a
            condition, is not.
    """

    name: str
    type_var: TypeVar
    element: str
    unsigned: bool
    is_cast: bool


@dataclass(frozen=True)
class ComputeForm:
    """An operation in a compute type.

    Attributes:
        definition: the op on accumulators: its outputs are of the compute type.
        type_var: the type variable of the compute type.
        element: the compute type, as MLIR spells it.
        outputs: what each output of the definition is stored as.
        types: the element type of each type variable.
        answers: what was found out about the form before: it is shared by ops that are alike.
    """

    definition: OpDefinition
    type_var: TypeVar
    element: str
    outputs: tuple[StoredOutput, ...]
    types: Mapping[str, str]
    answers: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def accumulates(self) -> bool:
        """Return whether the op accumulates: one point adds to the value that another left.

        An accumulator must hold that value in the meantime.
        """
        return any(a.reduction is not None for a in self.definition.assignments)

    def at_every_point(self, *, saturate: bool = False) -> OpDefinition:
        """The op on its stored outputs, cast in and out at every point of the iteration space.

        For an op that accumulates this is another operation, which rounds at every step; for any
        other it is the op itself.

        Args:
            saturate: whether the casts out keep to the range of the stored type.
        """
        stored = {output.name: output for output in self.outputs}

        def cast_in(expr: ScalarExpr) -> ScalarExpr:
            if not isinstance(expr, Access) or expr.operand not in stored:
                return expr
            output = stored[expr.operand]
            if not output.is_cast:
                return expr
            before = replace(expr, type_var=output.type_var)
            return Apply(_cast(output.unsigned), (before,), self.type_var)

        assignments = []
        for assignment in self.definition.assignments:
            output = stored[assignment.target.operand]
            value = rewrite_expression(assignment.value, cast_in)
            if output.is_cast:
                value = self._cast_out(value, output, saturate=saturate)
            target = replace(assignment.target, type_var=output.type_var)
            assignments.append(_changed(assignment, target, value, self.definition))
        operands = tuple(
            replace(o, type_var=stored[o.name].type_var) if o.name in stored else o
            for o in self.definition.operands
        )
        return replace(self.definition, operands=operands, assignments=tuple(assignments))

    def cast_in(self, output: StoredOutput) -> OpDefinition:
        """The element-wise op that makes an initial value one of the compute type."""
        value = Apply(_cast(output.unsigned), (Access("I", (), output.type_var),), self.type_var)
        return _elementwise(value, output.type_var, self.type_var)

    def cast_out(self, output: StoredOutput, *, saturate: bool = False) -> OpDefinition:
        """The element-wise op that makes an accumulator what is stored."""
        value = self._cast_out(Access("I", (), self.type_var), output, saturate=saturate)
        return _elementwise(value, self.type_var, output.type_var)

    def reference(
        self,
        *operands: Any,
        init: tuple[Any, ...],
        compute_dtype: np.dtype[Any],
        saturate: bool = False,
    ) -> tuple[np.ndarray[Any, Any], ...]:
        """The oracle: the op on arrays by NumPy alone.

        Args:
            operands: the inputs, in order.
            init: what each output is before the op, of the dtype that it is stored in.
            compute_dtype: the dtype of the compute type.
            saturate: whether the casts out keep to the range of the stored type.

        Returns:
            The stored outputs.
        """
        before = tuple(
            cast_values(np.asarray(array), compute_dtype, _cast(output.unsigned).name)
            if output.is_cast
            else np.asarray(array)
            for array, output in zip(init, self.outputs, strict=True)
        )
        computed = self.definition.reference(*operands, init=before)
        results = computed if isinstance(computed, tuple) else (computed,)
        return tuple(
            np.asarray(
                self.cast_out(output, saturate=saturate).reference(
                    result, init=np.zeros(result.shape, np.asarray(array).dtype)
                )
            )
            if output.is_cast
            else result
            for result, array, output in zip(results, init, self.outputs, strict=True)
        )

    def with_inputs_of_compute_type(self, names: frozenset[str]) -> ComputeForm:
        """The same op where some inputs come in the compute type: what stood for them, uncast."""

        def uncast(expr: ScalarExpr) -> ScalarExpr:
            if isinstance(expr, Access) and expr.operand in names:
                return replace(expr, type_var=self.type_var)
            if (
                isinstance(expr, Apply)
                and expr.type_var == self.type_var
                and isinstance(expr.args[0], Access)
                and expr.args[0].operand in names
            ):
                return expr.args[0]
            return expr

        operands = tuple(
            replace(o, type_var=self.type_var) if o.name in names else o
            for o in self.definition.operands
        )
        assignments = tuple(
            replace(a, value=rewrite_expression(a.value, uncast))
            for a in self.definition.assignments
        )
        definition = replace(self.definition, operands=operands, assignments=assignments)
        return replace(self, definition=definition, answers={})

    def _cast_out(self, value: ScalarExpr, output: StoredOutput, *, saturate: bool) -> ScalarExpr:
        if not saturate:
            return Apply(_cast(output.unsigned), (value,), output.type_var)
        return saturating_cast(
            value,
            (self.type_var, self.element),
            (output.type_var, output.element),
            unsigned=output.unsigned,
        )


def in_compute_type(
    definition: OpDefinition,
    types: Mapping[str, str],
    compute: str,
    *,
    unsigned: bool = False,
) -> ComputeForm:
    """Derive the op that computes in a compute type.

    Args:
        definition: an op at known element types and attributes, as `specialize` makes it and
            `recognize` reads it.
        types: the element type of each type variable, as MLIR spells it: `"f32"`, `"i8"`.
        compute: the compute type: a float, integer or complex type.
        unsigned: whether integers that no cast reads are unsigned.

    Raises:
        DTypeError: the compute type is none, or cannot hold the operation; names the function.
        DefinitionError: the definition still has attributes that choose functions.
    """
    if definition.attributes:
        raise DefinitionError(
            f"{definition.name} leaves {definition.attributes[0].name} open",
            expected="a definition without attributes",
            hint="specialize(definition, types, attributes) has it without",
        )
    _check_type(definition, types, compute)
    elements = element_table(types)
    type_var = _type_var(types, compute)
    elements[type_var.name] = compute
    retyper = Retyper(definition, elements, type_var, compute)
    assignments, outputs = [], []
    for output in definition.outputs:
        assignment = definition.assignment_to(output.name)
        derived, stored = _derive(assignment, output, retyper, unsigned=unsigned)
        assignments.append(derived)
        outputs.append(stored)
    cast = {output.name for output in outputs if output.is_cast}
    operands = tuple(
        replace(o, type_var=type_var) if o.name in cast else o for o in definition.operands
    )
    derived_definition = replace(definition, operands=operands, assignments=tuple(assignments))
    return ComputeForm(derived_definition, type_var, compute, tuple(outputs), elements)


def _derive(
    assignment: Assignment, output: Operand, retyper: Retyper, *, unsigned: bool
) -> tuple[Assignment, StoredOutput]:
    target = assignment.target
    element = retyper.elements[target.type_var.name]
    if output.name in retyper.conditions:
        value = retyper.condition(assignment.value)
        stored = StoredOutput(output.name, target.type_var, element, True, False)
        return Assignment(target, value, assignment.reduction), stored
    value, out_unsigned = retyper.without_cast_out(assignment.value, element)
    in_unsigned = unsigned or is_unsigned(value)
    all_unsigned = in_unsigned or out_unsigned or retyper.reads_unsigned(value)
    new_target = replace(target, type_var=retyper.compute)
    number = retyper.number(value, unsigned=in_unsigned)
    derived = _changed(assignment, new_target, number, retyper.definition)
    is_cast = element != retyper.compute_element
    return derived, StoredOutput(output.name, target.type_var, element, all_unsigned, is_cast)


def _changed(
    assignment: Assignment, target: Access, value: ScalarExpr, definition: OpDefinition
) -> Assignment:
    """An assignment of a changed value, with the reduction that it is now."""
    reduction = assignment.reduction
    if reduction is None or runs_with(assignment, definition.assignments):
        return Assignment(target, value, reduction)
    found = accumulation(target, value, reduction.dims)
    return Assignment(target, value, found or Reduction(None, reduction.dims))


def _check_type(definition: OpDefinition, types: Mapping[str, str], compute: str) -> None:
    kind = family(compute)
    if kind is None or kind == "index":
        raise DTypeError(
            f"{definition.name}: {compute} is no compute type",
            expected="a float, integer or complex type, such as f32 or i32",
        )
    if compute == "f8E8M0FNU":
        raise DTypeError(
            f"{definition.name} cannot be computed in {compute}, which has no zero and no sign",
            hint="f32 holds every float of 8 bits",
        )
    elements = element_table(types)
    operands = (elements[o.type_var.name] for o in definition.operands if o.type_var is not None)
    part = next((e for e in operands if family(e) == "complex"), None)
    if part is not None and kind != "complex":
        raise DTypeError(
            f"{definition.name} cannot be computed in {compute}: it is an op on {part}",
            expected="a complex type",
        )


def _type_var(types: Mapping[str, str], element: str) -> TypeVar:
    """The type variable of an element type: one that has it, a predefined one, or a new one."""
    for name, own in types.items():
        if own == element and name not in PREDEFINED:
            return TypeVar(name)
    predefined = element.upper()
    return TypeVar(predefined if predefined in PREDEFINED else "Compute")


def _cast(unsigned: bool) -> Any:
    return TYPE["cast_unsigned" if unsigned else "cast_signed"]


def _elementwise(value: ScalarExpr, source: TypeVar, target: TypeVar) -> OpDefinition:
    """An element-wise op at any rank, from I to O."""
    operands = (
        Operand("I", OperandKind.INPUT_TENSOR, source),
        Operand("O", OperandKind.OUTPUT_TENSOR, target),
    )
    assignment = Assignment(Access("O", (), target), value)
    return OpDefinition("cast", "CastOp", "", operands, (), (assignment,))
