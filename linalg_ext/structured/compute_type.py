"""The compute type of an op on live IR: the attribute `linalg_ext.compute_type`.

    %r = linalg.matmul {linalg_ext.compute_type = f32}
           ins(%a, %b : tensor<16x64xbf16>, tensor<64x32xf32>) outs(%c : tensor<16x32xi8>)
           -> tensor<16x32xi8>

Any structured op may carry it. Its meaning is in `definition.compute_type`; it is a discardable
attribute, which upstream neither checks nor lowers: `Module.verify` checks it, and the pass
`linalg-ext-materialize-compute-type` turns it into plain linalg.

The op in its compute type is built at the current insertion point: its accumulators, the op on
them, and the casts in and out.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linalg_ext.bindings import ir, linalg, memref
from linalg_ext.definition.attributes import CallAttributes
from linalg_ext.definition.compute_type import ComputeForm, StoredOutput, in_compute_type
from linalg_ext.definition.model import OpDefinition
from linalg_ext.definition.specialization import specialize
from linalg_ext.definition.types import family
from linalg_ext.errors import (
    ArgumentError,
    DefinitionError,
    DTypeError,
    RecognitionError,
    VerificationError,
)
from linalg_ext.ir.diagnostics import Diagnostic
from linalg_ext.runtime.dtypes import mlir_text
from linalg_ext.structured.constants import is_bool, keeps_value, number_constant, number_of
from linalg_ext.structured.extension import COMPUTE_TYPE, carry_over, discardable_attributes
from linalg_ext.structured.named_forms import parsed_on_arguments, scratch_op, text_on_arguments
from linalg_ext.structured.operands import BoundOp, bind_types, ops_where, producer
from linalg_ext.structured.outputs import empty_tensor
from linalg_ext.structured.payload import Scalar, build_generic, cast
from linalg_ext.structured.recognition import WITH_OWN_BODY, RecognizedOp, recognize
from linalg_ext.structured.sizes import sizes_of, split_sizes

NAME = COMPUTE_TYPE
"""The attribute; its value is a type: `f32`."""

_EXPECTED = "a float, integer or complex type, such as f32 or i32"


def as_compute_type(value: Any, op_name: str = "") -> ir.Type:
    """A compute type from a caller's argument, in the current context.

    Args:
        value: an IR type, its spelling in MLIR, or a dtype. Where a text is both, it is MLIR's:
            `"i8"` has 8 bits, as in the attribute.
        op_name: the op that it is given for, to name in the error.

    Raises:
        DTypeError: it is none of these, or no float, integer or complex type.
    """
    subject = f"{op_name}: " if op_name else ""
    if isinstance(value, ir.Type):
        element = value
    else:
        spelling = value if isinstance(value, str) and family(value) else None
        try:
            element = ir.Type.parse(spelling or mlir_text(np.dtype(value)))
        except (TypeError, ir.MLIRError) as error:
            raise DTypeError(
                f"{subject}{value!r} is not a compute type", expected=_EXPECTED, notes=[str(error)]
            ) from None
    if not _is_scalar(element):
        raise DTypeError(f"{subject}{element} is not a compute type", expected=_EXPECTED)
    return element


def compute_type_of(op: ir.Operation | ir.OpView) -> ir.Type | None:
    """The compute type that an op carries; None where it carries none.

    Raises:
        VerificationError: the attribute is of another kind, or its type is not a scalar one.
    """
    attributes = op.operation.attributes
    if NAME not in attributes:
        return None
    attribute = attributes[NAME]
    if not isinstance(attribute, ir.TypeAttr):
        raise _broken(op, f"{NAME} is {attribute}", expected=f"a type: {NAME} = f32")
    element = attribute.value
    if not _is_scalar(element):
        raise _broken(op, f"{NAME} is {element}", expected=_EXPECTED)
    return element


def set_compute_type(op: ir.Operation | ir.OpView, value: Any) -> None:
    """Have an op compute in a type; see `as_compute_type` for the forms of its name. None takes it
    away.

    Raises:
        DTypeError: it is not a compute type, or one that cannot hold the operation.
        ArgumentError: this is not a structured op.
    """
    operation = op.operation
    if value is None:
        clear_compute_type(operation)
        return
    with operation.context:
        element = as_compute_type(value)
        _check_form(operation, element)
        operation.attributes[NAME] = ir.TypeAttr.get(element)


def clear_compute_type(op: ir.Operation | ir.OpView) -> None:
    """Take the compute type of an op away."""
    attributes = op.operation.attributes
    if NAME in attributes:
        del attributes[NAME]


def form_of(
    op: ir.Operation | ir.OpView, recognized: RecognizedOp, element: ir.Type
) -> ComputeForm:
    """Return the form of an op in a compute type; ops that are alike share one.

    Raises:
        DTypeError: the compute type cannot hold the operation.
    """
    attributes = op.operation.attributes
    # The attribute holds even if all operands are of one type and the body has no cast.
    unsigned = "cast" in attributes and "cast_unsigned" in str(attributes["cast"])
    types = tuple(recognized.types.items())
    return _derived(recognized.definition, types, str(element), unsigned)


@functools.lru_cache(maxsize=4096)
def _derived(
    definition: OpDefinition, types: tuple[tuple[str, str], ...], compute: str, unsigned: bool
) -> ComputeForm:
    return in_compute_type(definition, dict(types), compute, unsigned=unsigned)


def check_compute_type(op: ir.Operation | ir.OpView) -> None:
    """Check the compute type of one op, if it carries one.

    Raises:
        VerificationError: the attribute is of the wrong kind, stands on an op that computes
            nothing, or names a type that cannot hold the operation; names the place.
    """
    element = compute_type_of(op)
    if element is None:
        return
    try:
        _check_form(op.operation, element)
    except ArgumentError as error:
        fault, expected = error.what, error.expected
        if not isinstance(error, DTypeError):
            fault = f"carries {NAME}, but has no body that computes one element"
            expected = "the attribute on a structured op, such as linalg.matmul or linalg.generic"
        raise _broken(op, fault, expected=expected, hint=error.hint) from None


def check_compute_types(
    root: ir.Operation | ir.OpView, *, text: str = "", filename: str = "-"
) -> None:
    """Check the compute types of all ops that `root` holds, itself included.

    Args:
        root: an op, a module's for example.
        text: the text that it was parsed from, to show the line of an error.
        filename: the name of that text in errors.

    Raises:
        VerificationError: as of `check_compute_type`, for the first that is wrong.
    """
    for op in ops_with_compute_type(root):
        try:
            check_compute_type(op)
        except VerificationError as error:
            if text:
                error.where = Diagnostic.at(op.location, error.what).pointed(text, filename)
            raise


def ops_with_compute_type(root: ir.Operation | ir.OpView) -> list[ir.Operation]:
    """The ops that carry one, of those that `root` holds and itself, in the order of the text."""
    return ops_where(root.operation, lambda op: NAME in op.attributes, pre_order=True)


def _check_form(op: ir.Operation, element: ir.Type) -> None:
    """Raise if a compute type cannot be set on an op; ops without a definition are not checked."""
    with contextlib.suppress(RecognitionError, DefinitionError):
        form_of(op, recognize(op), element)


def _is_scalar(element: ir.Type) -> bool:
    if isinstance(element, ir.IntegerType) and not element.is_signless:
        return False
    return family(str(element)) not in (None, "index")


def _broken(
    op: ir.Operation | ir.OpView, fault: str, *, expected: str | None, hint: str | None = None
) -> VerificationError:
    message = f"'{op.operation.name}' op {fault}"
    diagnostic = Diagnostic.at(op.operation.location, message)
    head = str(op.operation).splitlines()[0].strip()
    return VerificationError(
        message, where=f"{diagnostic.place('-')}:   {head}", expected=expected, hint=hint
    )


@dataclass(frozen=True)
class OpInComputeType:
    """A structured op of live IR, the same recognized, and its form in a compute type."""

    op: ir.Operation
    recognized: RecognizedOp
    form: ComputeForm

    @classmethod
    def of(cls, op: ir.Operation) -> OpInComputeType:
        """An op in the compute type that it carries.

        Raises:
            DTypeError: the type cannot hold the operation.
            ArgumentError: this is not a structured op, or carries no compute type.
            RecognitionError: no definition describes the op.
        """
        element = compute_type_of(op)
        if element is None:
            raise ArgumentError(f"{op.name} carries no compute type")
        recognized = recognize(op)
        return cls(op, recognized, form_of(op, recognized, element))

    @property
    def is_on_tensors(self) -> bool:
        """Return whether it has results; else it writes to memrefs."""
        return len(self.op.results) > 0

    @property
    def is_so_already(self) -> bool:
        """Return whether the op computes so without being told."""
        if any(output.is_cast for output in self.form.outputs) and self.form.accumulates:
            return False
        answers = self.form.answers
        if "so already" not in answers:
            definition = self.form.at_every_point()
            answers["so already"] = same(definition, self.form.types, self.recognized)
        return bool(answers["so already"])

    def build_at_every_point(
        self,
        inputs: Sequence[ir.Value] | None = None,
        *,
        saturate: bool = False,
    ) -> ir.Operation:
        """A generic on the stored outputs, with casts in its body.

        Args:
            inputs: other inputs than those of the op.
            saturate: whether the casts out keep to the range of the stored type.
        """
        new_inputs = self.recognized.inputs if inputs is None else inputs
        definition = self._cached(
            ("point", saturate), lambda: self.form.at_every_point(saturate=saturate)
        )
        new = build_definition(definition, self.form.types, new_inputs, self.recognized.outputs)
        self._copy_attributes(new)
        return new

    def build_on_accumulators(
        self, accumulators: Sequence[ir.Value], inputs: Sequence[ir.Value] | None = None
    ) -> ir.Operation:
        """The op on outputs of the compute type: the named op where it means that, or a generic.

        Args:
            inputs: other inputs than those of the op.
        """
        new_inputs = self.recognized.inputs if inputs is None else inputs
        new = self.rebuilt(new_inputs, accumulators, self.form.definition)
        if new is None:
            new = build_definition(self.form.definition, self.form.types, new_inputs, accumulators)
        self._copy_attributes(new)
        return new

    def rebuilt(
        self, inputs: Sequence[ir.Value], outputs: Sequence[ir.Value], definition: OpDefinition
    ) -> ir.Operation | None:
        """The same named op on other operands; None where it would not compute a definition."""
        is_named = self.op.name.startswith("linalg.") and self.op.name not in WITH_OWN_BODY
        if not is_named or not self.form.accumulates:
            return None
        results = [v.type for v in outputs if isinstance(v.type, ir.RankedTensorType)]
        if not self._means(definition, inputs, outputs, results):
            return None
        new = ir.Operation.create(
            self.op.name,
            results=results,
            operands=[*inputs, *outputs],
            attributes=self._inherent(),
            regions=1,
        )
        linalg.fill_builtin_region(new)
        return new

    def _means(
        self,
        definition: OpDefinition,
        inputs: Sequence[ir.Value],
        outputs: Sequence[ir.Value],
        results: Sequence[ir.Type],
    ) -> bool:
        text = text_on_arguments(self.op.name, inputs, outputs, results, self._inherent())
        answers = self.form.answers
        if text not in answers:
            module, answers[text] = parsed_on_arguments(text), False
            if module is not None:
                with contextlib.suppress(RecognitionError):
                    parsed = recognize(scratch_op(module))
                    answers[text] = same(definition, self.form.types, parsed)
        return bool(answers[text])

    def _inherent(self) -> dict[str, ir.Attribute]:
        discardable = discardable_attributes(self.op)
        return {
            name: attribute
            for name, attribute in self.op.attributes.items()
            if name not in discardable and not name.startswith("linalg.")
        }

    def accumulator(self, output: StoredOutput, value: ir.Value) -> ir.Value:
        """A new output of the compute type, with the initial value in it where the op reads it.

        Args:
            value: the tensor or memref that it is stored in.
        """
        element = ir.Type.parse(self.form.element)
        reads = self.form.definition.assignment_to(output.name).reads_target
        if isinstance(value.type, ir.MemRefType):
            shape, dynamic = split_sizes(sizes_of(value))
            buffer: ir.Value = memref.AllocOp(ir.MemRefType.get(shape, element), dynamic, []).memref
            if reads:
                self._cast_in(output, value, buffer)
            return buffer
        empty = empty_like(value, element)
        if not reads:
            return empty
        number = _filled_with(value)
        if number is None:
            return self._cast_in(output, value, empty).results[0]
        scalar = _converted(number, element, unsigned=output.unsigned)
        filled: ir.Value = linalg.fill(scalar, outs=[empty])
        return filled

    def cast_out(
        self, output: StoredOutput, computed: ir.Value, value: ir.Value, *, saturate: bool = False
    ) -> ir.Operation:
        """An element-wise generic from the compute type to the stored type.

        Args:
            value: the op's value for this output; a memref is written to.
            saturate: whether to keep to the range of the stored type.
        """
        definition = self._cached(
            ("out", output.name, saturate), lambda: self.form.cast_out(output, saturate=saturate)
        )
        return build_definition(definition, self.form.types, [computed], [_destination(value)])

    def _cast_in(self, output: StoredOutput, value: ir.Value, target: ir.Value) -> ir.Operation:
        return build_definition(self.form.cast_in(output), self.form.types, [value], [target])

    def _cached(self, key: object, make: Callable[[], OpDefinition]) -> OpDefinition:
        """A definition that follows from the form, made once."""
        answers = self.form.answers
        if key not in answers:
            answers[key] = make()
        definition: OpDefinition = answers[key]
        return definition

    def _copy_attributes(self, new: ir.Operation) -> None:
        """Copy the discardable attributes to the new op, without the compute type."""
        carry_over(self.op, new)
        clear_compute_type(new)


def build_definition(
    definition: OpDefinition,
    types: Mapping[str, str],
    inputs: Sequence[ir.Value],
    outputs: Sequence[ir.Value],
) -> ir.Operation:
    """A definition as `linalg.generic`.

    Args:
        definition: the op, without attributes.
        types: the element type of each type variable, those that only a cast names included.
    """
    bound_types = bind_types(definition, definition.arguments, (*inputs, *outputs))
    more = {name: ir.Type.parse(types[name]) for name in types if name not in bound_types}
    # Not `bind`, which checks the shapes once more: they are those of an op that was verified.
    attributes = CallAttributes()
    bound = BoundOp(definition, tuple(inputs), tuple(outputs), attributes, {**bound_types, **more})
    return build_generic(bound)


def same(definition: OpDefinition, types: Mapping[str, str], recognized: RecognizedOp) -> bool:
    """Return whether an op computes a definition at element types."""
    return specialize(definition, types).equivalent(recognized.definition)


def empty_like(value: ir.Value, element: ir.Type) -> ir.Value:
    """`tensor.empty` of the sizes of a tensor and another element type."""
    return empty_tensor(sizes_of(value), element)


def _filled_with(value: ir.Value) -> ir.Value | None:
    """The scalar that fills a tensor; None if there is none."""
    op = producer(value)
    if op is None:
        return None
    if op.name == "linalg.fill":
        element = ir.ShapedType(value.type).element_type
        return op.operands[0] if op.operands[0].type == element else None
    if op.name != "arith.constant":
        return None
    attribute = op.attributes["value"]
    if not isinstance(attribute, ir.DenseElementsAttr) or not attribute.is_splat:
        return None
    number = attribute.get_splat_value()
    element = ir.ShapedType(value.type).element_type
    constant = ir.Operation.create("arith.constant", [element], attributes={"value": number})
    return constant.results[0]


def _converted(scalar: ir.Value, element: ir.Type, *, unsigned: bool) -> ir.Value:
    """A scalar in the compute type; a constant that it holds exactly becomes another constant."""
    number = None if is_bool(scalar.type) else number_of(scalar)
    if number is not None and keeps_value(number, element, unsigned=unsigned):
        return number_constant(number, element)
    return cast(Scalar(scalar), element, to_unsigned=False, read_unsigned=unsigned).value


def _destination(value: ir.Value) -> ir.Value:
    """Return the destination of a cast result: the value, unless a fill or a constant made it.

    For a fill it is the fill's own destination, since the fill would be unused. For a constant it
    is a new empty tensor.
    """
    op = producer(value)
    if op is not None and op.name == "linalg.fill" and len(op.results):
        return op.operands[1]
    if op is not None and op.name == "arith.constant":
        return empty_like(value, ir.ShapedType(value.type).element_type)
    return value
