"""An operation computed in another type than that of its output: the compute type.

    C[m, n] += A[m, k] * B[k, n]          bf16 x f32 -> i8, compute type f32

is derived into the op with an accumulator of the compute type, whose result is cast once:

    C'[m, n] = f32(C[m, n])
    C'[m, n] += f32(A[m, k]) * B[k, n]
    C[m, n] = i8(C'[m, n])

Every input is cast to the compute type, the operation, accumulation included, is done in it, the
initial value is cast in as well, and the result is cast to the output type once. Without a compute
type the output type is computed in, as upstream's named ops do.

The fate of an op's own casts:

- One that stands on an input, and a chain of such that loses nothing, becomes one cast to the
  compute type; it reads integers with the sign that the innermost of the chain reads them with.
- The outermost one of an assignment, to the type of the output, is the cast of the result.
- One in the middle that loses something (a rounding to bf16 inside an op on f32) stays, and its
  result is cast to the compute type; one that loses nothing vanishes. Where the middle one wraps an
  integer around, or reads a computed one as unsigned, that has no counterpart in another type: an
  error says so.
- Integers that are computed and then cast to a float (a hash of the position, the difference to a
  zero point) stay integers under a float compute type, which could only lose something of them; and
  so do integers that are compared with one another.

Comparisons and conditions stay booleans, and an output that is one is computed as it stands.

Source: the wish list of the linalg dialect's users ("Explicit compute type").
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from linalg_ext.definition.functions import BINARY, TERNARY, TYPE, Function, FunctionKind
from linalg_ext.definition.model import (
    Assignment,
    OpDefinition,
    Operand,
    OperandKind,
    Reduction,
    accumulation,
    runs_with,
)
from linalg_ext.definition.numpy_functions import cast_values
from linalg_ext.definition.renaming import rewrite_expression, with_types_of, with_values
from linalg_ext.definition.scalar import (
    Access,
    Apply,
    Const,
    Index,
    ScalarExpr,
    ScalarOperand,
    Size,
    type_of,
)
from linalg_ext.definition.types import (
    BOOLEAN,
    PREDEFINED,
    PREDEFINED_ELEMENTS,
    TypeVar,
    family,
    has_function,
    holds,
    width,
)
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
        outputs: the type that each output of the definition is stored in.
        types: the element type of each type variable.
        answers: earlier answers about the form, shared by ops that are alike.
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
        types = {output.name: output.type_var for output in self.outputs}
        return replace(with_types_of(self.definition, types), assignments=tuple(assignments))

    def cast_in(self, output: StoredOutput) -> OpDefinition:
        """The element-wise op that makes an initial value one of the compute type."""
        value = Apply(_cast(output.unsigned), (Access("I", (), output.type_var),), self.type_var)
        return _elementwise(value, output.type_var, self.type_var)

    def cast_out(self, output: StoredOutput, *, saturate: bool = False) -> OpDefinition:
        """The element-wise op that turns an accumulator into the stored value."""
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
            init: the value of each output before the op, of the dtype that it is stored in.
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
        """The same op with some inputs in the compute type already: their uncast sources."""

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

        typed = with_types_of(self.definition, dict.fromkeys(names, self.type_var))
        return replace(self, definition=with_values(typed, uncast), answers={})

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
    typed = with_types_of(definition, {o.name: type_var for o in outputs if o.is_cast})
    derived_definition = replace(typed, assignments=tuple(assignments))
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
    """An assignment with another target and value, and the reduction that they make."""
    reduction = assignment.reduction
    if reduction is None or runs_with(assignment, definition.assignments):
        return Assignment(target, value, reduction)
    accumulated = accumulation(target, value, reduction.dims)
    return Assignment(target, value, accumulated or Reduction(None, reduction.dims))


def _check_type(definition: OpDefinition, types: Mapping[str, str], compute: str) -> None:
    kind = family(compute)
    if kind is None or kind == "index":
        raise DTypeError(
            f"{definition.name}: {compute} is not a compute type",
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
    """The type variable of an element type: an existing, a predefined or a new one."""
    for name, own in types.items():
        if own == element and name not in PREDEFINED:
            return TypeVar(name)
    predefined = element.upper()
    return TypeVar(predefined if predefined in PREDEFINED else "Compute")


def _cast(unsigned: bool) -> Function:
    return _UNSIGNED if unsigned else _SIGNED


def _elementwise(value: ScalarExpr, source: TypeVar, target: TypeVar) -> OpDefinition:
    """An element-wise op at any rank, from I to O."""
    operands = (
        Operand("I", OperandKind.INPUT_TENSOR, source),
        Operand("O", OperandKind.OUTPUT_TENSOR, target),
    )
    assignment = Assignment(Access("O", (), target), value)
    return OpDefinition("cast", "CastOp", "", operands, (), (assignment,))


_SIGNED, _UNSIGNED = TYPE["cast_signed"], TYPE["cast_unsigned"]
_LOGICAL = frozenset(
    ("and", "or", "xor", "not", "add", "mul", "max_signed", "min_signed", "select")
)
"""Functions that booleans are combined with: on them a sum is `or`, a product `and`."""


def element_table(types: Mapping[str, str]) -> dict[str, str]:
    """The element type of each type variable, the predefined ones included."""
    return {**PREDEFINED_ELEMENTS, **types}


def is_cast(expr: ScalarExpr) -> bool:
    """Return whether an expression is a cast."""
    return isinstance(expr, Apply) and expr.function.kind is FunctionKind.TYPE


def is_computed(expr: ScalarExpr) -> bool:
    """Return whether an expression is more than a (cast) operand, constant or position."""
    while is_cast(expr):
        (expr,) = expr.operands
    return isinstance(expr, Apply)


def is_unsigned(expr: ScalarExpr) -> bool:
    """Return whether an expression is a function of unsigned integers."""
    return isinstance(expr, Apply) and expr.function.name.endswith("_unsigned")


@dataclass(frozen=True)
class Retyper:
    """Rewrites the expressions of one definition to compute in a type.

    Attributes:
        definition: the op, as it is before.
        elements: the element type of each type variable, the compute type's included.
        compute: the type variable of the compute type.
        compute_element: the compute type, as MLIR spells it.
    """

    definition: OpDefinition
    elements: Mapping[str, str]
    compute: TypeVar
    compute_element: str

    @cached_property
    def conditions(self) -> frozenset[str]:
        """The outputs whose values are the answers of comparisons: they stay as they are."""
        return frozenset(
            a.target.operand
            for a in self.definition.assignments
            if self.elements[a.target.type_var.name] == "i1" and self.is_condition(a.value)
        )

    @cached_property
    def _accumulators(self) -> frozenset[str]:
        """The outputs that are of the compute type from now on."""
        return frozenset(o.name for o in self.definition.outputs) - self.conditions

    def number(self, expr: ScalarExpr, *, unsigned: bool) -> ScalarExpr:
        """An expression as a number of the compute type.

        Args:
            unsigned: whether integers that no cast reads are unsigned there.

        Raises:
            DTypeError: a function has no meaning for the compute type, or a cast no counterpart.
        """
        if self.is_condition(expr):
            return self._converted(self.condition(expr), _UNSIGNED)
        if not isinstance(expr, Apply):
            is_boolean = self._element(expr) == "i1"
            return self._leaf(expr, _UNSIGNED if unsigned or is_boolean else _SIGNED)
        if is_cast(expr):
            return self._cast(expr, unsigned=unsigned)
        function = self._function(expr.function)
        below = unsigned or is_unsigned(expr)
        if function.name == "select":
            condition, *values = expr.args
            args = (self.condition(condition), *(self.number(v, unsigned=below) for v in values))
        else:
            args = tuple(self.number(arg, unsigned=below) for arg in expr.args)
        return replace(expr, function=function, args=args)

    def condition(self, expr: ScalarExpr) -> ScalarExpr:
        """An expression as a condition: comparisons in the compute type, the rest as it stands.

        Integers and positions are compared as such under a float compute type, which may not hold
        them.

        Raises:
            DTypeError: as of `number`.
        """
        if isinstance(expr, Access) and expr.operand in self._accumulators:
            return Apply(_SIGNED, (replace(expr, type_var=self.compute),), BOOLEAN)
        if not isinstance(expr, Apply):
            return expr
        if expr.function.is_predicate:
            if self._is_of_integers(expr):
                return expr
            self._function(expr.function)
            args = tuple(self.number(arg, unsigned=False) for arg in expr.args)
            return replace(expr, args=args)
        if self._element(expr) != "i1":
            return self.number(expr, unsigned=False)
        if is_cast(expr):
            (arg,) = expr.args
            if is_computed(arg) and self._element(arg) != "i1":
                return replace(expr, args=(self.number(arg, unsigned=False),))
            return replace(expr, args=(self.condition(arg),))
        return replace(expr, args=tuple(self.condition(arg) for arg in expr.args))

    def without_cast_out(self, expr: ScalarExpr, element: str) -> tuple[ScalarExpr, bool]:
        """The value of an assignment without the cast to its output, and whether that is unsigned.

        Raises:
            DTypeError: the cast reads a computed integer as unsigned.
        """
        if not isinstance(expr, Apply) or not is_cast(expr) or self._element(expr) != element:
            return expr, False
        (inner,) = expr.args
        is_out_unsigned = expr.function == _UNSIGNED
        if not is_computed(inner):
            return expr, is_out_unsigned
        source = self._element(inner)
        if source == "i1" or (self._is_exact(inner) and family(element) == "float"):
            return expr, False
        self._refuse_reinterpretation(expr, source)
        return inner, is_out_unsigned

    def reads_unsigned(self, expr: ScalarExpr) -> bool:
        """Return whether a value is made only of operands that casts read as unsigned."""
        functions = {
            e.function
            for e in expr.walk()
            if isinstance(e, Apply)
            and is_cast(e)
            and isinstance(e.args[0], (Access, ScalarOperand))
            and family(self._element(e.args[0])) == "integer"
        }
        return functions == {_UNSIGNED}

    def is_condition(self, expr: ScalarExpr) -> bool:
        """Return whether an expression is the answer of a comparison, or made of such by logic."""
        if not isinstance(expr, Apply) or self._element(expr) != "i1":
            return False
        if expr.function.is_predicate:
            return True
        if is_cast(expr):
            return is_computed(expr.args[0])
        return expr.function.name in _LOGICAL and any(map(self.is_condition, expr.args))

    def _cast(self, expr: Apply, *, unsigned: bool) -> ScalarExpr:
        chain: list[Apply] = []
        inner: ScalarExpr = expr
        while isinstance(inner, Apply) and is_cast(inner):
            chain.append(inner)
            (inner,) = inner.args
        is_exact = self._is_exact(inner)
        if isinstance(inner, Apply) and not is_exact:
            return self._cast_of_computed(chain, inner, unsigned=unsigned)
        if isinstance(inner, Access) and inner.operand in self._accumulators:
            return self._leaf(inner, _SIGNED)
        is_input = is_exact or isinstance(inner, (Access, ScalarOperand))
        if not is_input or not self._loses(chain[1:], inner):
            return self._leaf(inner, chain[-1].function)
        # The input is rounded before it is read: only the last cast was to the op's own type.
        return self._converted(chain[1], chain[0].function)

    def _is_exact(self, expr: ScalarExpr) -> bool:
        """Return whether an expression computes with integers where floats would not give the same.

        A hash of the position, a difference to a zero point: no float does it better.
        """
        return (
            isinstance(expr, Apply)
            and family(self._element(expr)) in ("integer", "index")
            and family(self.compute_element) in ("float", "complex")
            and not any(
                isinstance(e, Access) and e.operand in self._accumulators for e in expr.walk()
            )
        )

    def _is_of_integers(self, comparison: Apply) -> bool:
        """Return whether a comparison is of integers while the compute type is a float."""
        if family(self.compute_element) not in ("float", "complex"):
            return False
        return not any(
            (isinstance(e, Access) and e.operand in self._accumulators)
            or family(self._element(e)) in ("float", "complex")
            for e in comparison.walk()
        )

    def _cast_of_computed(self, chain: list[Apply], inner: Apply, *, unsigned: bool) -> ScalarExpr:
        """Casts in the middle of an expression: roundings stay."""
        current = self._element(inner)
        value = self.number(inner, unsigned=unsigned)
        if self.is_condition(inner):
            value, current = self._converted(self.condition(inner), chain[-1].function), "i1"
        for cast in reversed(chain):
            target = self._element(cast)
            if current != "i1":
                self._refuse_reinterpretation(cast, current)
            if not holds(target, current) and not holds(target, self.compute_element):
                self._refuse_wrapping(cast, current, target)
                value = self._converted(replace(cast, args=(value,)), cast.function)
            current = target
        return value

    def _leaf(self, expr: ScalarExpr, function: Function) -> ScalarExpr:
        if isinstance(expr, Access) and expr.operand in self._accumulators:
            return replace(expr, type_var=self.compute)
        if isinstance(expr, Const):
            self._refuse_fraction(expr)
        if isinstance(expr, (Const, Index, Size)):
            return Apply(_SIGNED, (expr,), self.compute)
        return self._converted(expr, function)

    def _converted(self, expr: ScalarExpr, function: Function) -> ScalarExpr:
        if self._element(expr) == self.compute_element:
            return expr
        return Apply(function, (expr,), self.compute)

    def _loses(self, chain: list[Apply], inner: ScalarExpr) -> bool:
        """Return whether a chain of casts loses a part of its operand."""
        current = self._element(inner)
        for cast in reversed(chain):
            target = self._element(cast)
            if not holds(target, current):
                return True
            current = target
        return False

    def _function(self, function: Function) -> Function:
        if function.name == "div_unsigned" and family(self.compute_element) == "float":
            return BINARY["div"]
        if not has_function(self.compute_element, function.name):
            raise DTypeError(
                f"{self.definition.name} cannot be computed in {self.compute_element}: "
                f"{function.name} has no meaning for it",
                hint="give a compute type that has the function, or take the compute type away",
            )
        return function

    def _element(self, expr: ScalarExpr) -> str:
        """The element type of an expression as it was; empty for a bare constant or position."""
        type_var = type_of(expr)
        return "" if type_var is None else self.elements[type_var.name]

    def _refuse_fraction(self, expr: Const) -> None:
        is_whole = float(expr.value).is_integer()
        if family(self.compute_element) in ("integer", "boolean") and not is_whole:
            raise DTypeError(
                f"{self.definition.name} cannot be computed in {self.compute_element}: "
                f"the constant {expr.value} has no meaning for it",
                hint="give a float compute type",
            )

    def _refuse_reinterpretation(self, cast: Apply, source: str) -> None:
        if cast.function == _UNSIGNED and family(source) == "integer":
            raise DTypeError(
                f"{self.definition.name} has no compute type: it reads a computed {source} as "
                "unsigned, which depends on how that type wraps around",
                where=f"{cast}",
                hint="take the compute type away",
            )

    def _refuse_wrapping(self, cast: Apply, source: str, target: str) -> None:
        if family(source) == family(target) == "integer" != family(self.compute_element):
            raise DTypeError(
                f"{self.definition.name} cannot be computed in {self.compute_element}: it wraps a "
                f"computed {source} around to {target}",
                where=f"{cast}",
                hint="give an integer compute type",
            )


_LARGEST = {
    "f16": 65504.0,
    "bf16": 3.3895313892515355e38,
    "f32": 3.4028234663852886e38,
    "f8E5M2": 57344.0,
    "f8E4M3": 240.0,
    "f8E4M3FN": 448.0,
    "f8E5M2FNUZ": 57344.0,
    "f8E4M3FNUZ": 240.0,
    "f8E4M3B11FNUZ": 30.0,
    "f8E3M4": 15.5,
}
"""The largest finite number of each float format that another may exceed."""


def saturating_cast(
    value: ScalarExpr,
    source: tuple[TypeVar, str],
    target: tuple[TypeVar, str],
    *,
    unsigned: bool,
) -> ScalarExpr:
    """A cast that moves numbers beyond the target's range to its nearest end.

    A NaN becomes 0 in an integer and stays NaN in a float. An infinity becomes the largest finite
    number of a float type of smaller range. A cast to i1 asks for "not zero", and a complex number
    has no range: both are plain.

    Args:
        value: of the source type.
        source: the type variable of the value, and its element type as MLIR spells it.
        target: those of the result.
        unsigned: whether the integers involved are unsigned.
    """
    to, element = target
    plain = Apply(_cast(unsigned), (value,), to)
    kinds = family(source[1]), family(element)
    if holds(element, source[1]):
        return plain
    if kinds == ("float", "integer"):
        return _rounded_into_range(value, source[0], plain, element, unsigned=unsigned)
    if kinds == ("integer", "integer"):
        low, high = _range(element, unsigned=unsigned)
        # Read as unsigned, no integer is below the range.
        sign = "unsigned" if unsigned else "signed"
        limited = _binary(f"min_{sign}", value, _constant(high, source[0]))
        if not unsigned:
            limited = _binary("max_signed", limited, _constant(low, source[0]))
        return Apply(plain.function, (limited,), to)
    largest = _LARGEST.get(element, math.inf)
    if kinds == ("float", "float") and largest < _LARGEST.get(source[1], math.inf):
        # The source may not have the target's largest number, but then it has the next power of 2.
        is_above = _binary("ge", value, _constant(largest, source[0]))
        is_below = _binary("le", value, _constant(-largest, source[0]))
        inner = _select(is_below, _constant(-largest, to), plain)
        return _select(is_above, _constant(largest, to), inner)
    return plain


def _rounded_into_range(
    value: ScalarExpr, source: TypeVar, plain: Apply, element: str, *, unsigned: bool
) -> ScalarExpr:
    """A float as an integer: compared as a float, limited as an integer.

    The greatest integer may not be a float of the source: 2147483647 is none of f32.
    """
    low, high = _range(element, unsigned=unsigned)
    to = plain.type_var
    if to is None:
        return plain
    is_above = _binary("ge", value, _constant(float(high + 1), source))
    is_below = _binary("le", value, _constant(float(low), source))
    is_nan = _binary("ne", value, value)
    inner = _select(is_nan, _constant(0, to), plain)
    return _select(is_above, _constant(high, to), _select(is_below, _constant(low, to), inner))


def _range(element: str, *, unsigned: bool) -> tuple[int, int]:
    bits = width(element)
    return (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _constant(number: float, type_var: TypeVar) -> ScalarExpr:
    return Apply(_SIGNED, (Const(number),), type_var)


def _binary(name: str, x: ScalarExpr, y: ScalarExpr) -> Apply:
    return Apply(BINARY[name], (x, y))


def _select(condition: ScalarExpr, x: ScalarExpr, y: ScalarExpr) -> Apply:
    return Apply(TERNARY["select"], (condition, x, y))
