"""A contraction of any number of operands built as ops of upstream, step by step of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from linalg_ext import opdsl_defs as ops
from linalg_ext.bindings import ir, linalg, tensor
from linalg_ext.definition.affine import AffineDim, AffineMap
from linalg_ext.definition.attributes import resolve_attributes
from linalg_ext.definition.functions import TYPE, Function
from linalg_ext.definition.initial import neutral_element
from linalg_ext.definition.model import OpDefinition
from linalg_ext.definition.specialization import specialize
from linalg_ext.errors import DTypeError
from linalg_ext.notations.einsum.contraction import Contraction
from linalg_ext.notations.einsum.plan import (
    FLOPS_PER_BYTE,
    ContractionPlan,
    Labels,
    Step,
    contract_along,
    plan_contraction,
)
from linalg_ext.notations.einsum.semiring import Semiring
from linalg_ext.runtime.dtypes import by_mlir
from linalg_ext.structured.extension.attributes import (
    COMPUTE_TYPE,
    OVERWRITE,
    cast_function,
    contract_kind,
    indexing_maps,
)
from linalg_ext.structured.extension.definitions import contract_definition
from linalg_ext.structured.forms.calls import build
from linalg_ext.structured.forms.most_specific import build_most_specific, build_plain
from linalg_ext.structured.recognition import RecognizedOp
from linalg_ext.structured.utils.constants import is_bool, number_constant
from linalg_ext.structured.utils.operands import bind
from linalg_ext.structured.utils.outputs import size_at

USUAL_SIZE = 64
"""The size that stands for a dynamic one where a contraction order is chosen."""


@dataclass(frozen=True)
class ContractionCall:
    """A contraction of values.

    Attributes:
        inputs: tensors and scalars.
        destination: the tensor that it adds to, or overwrites.
        labels: the dimensions of each input.
        output: those of the destination.
        kind: the semiring.
        cast: how inputs become what is computed in.
        overwrites: whether what the destination holds does not matter.
        compute: the element type that is computed in.
    """

    inputs: tuple[ir.Value, ...]
    destination: ir.Value
    labels: tuple[Labels, ...]
    output: Labels
    kind: Semiring
    cast: Function
    overwrites: bool
    compute: ir.Type

    @classmethod
    def of(cls, op: ir.Operation) -> ContractionCall:
        """Read `linalg_ext.contract`.

        Raises:
            ArgumentError: its attributes are not what they must be.
        """
        *inputs, destination = op.operands
        labels = [tuple(map(str, map_.results)) for map_ in indexing_maps(op)]
        compute = _element(destination)
        if COMPUTE_TYPE in op.attributes:
            compute = ir.TypeAttr(op.attributes[COMPUTE_TYPE]).value
        return cls(
            tuple(inputs),
            destination,
            tuple(labels[:-1]),
            labels[-1],
            contract_kind(op),
            cast_function(op),
            OVERWRITE in op.attributes,
            compute,
        )

    @property
    def distributes(self) -> bool:
        """True where operands may be summed before they are multiplied."""
        return not self.kind.needs_non_negative or is_bool(self.compute)

    def plan(self, path: str = "auto", flops_per_byte: float = FLOPS_PER_BYTE) -> ContractionPlan:
        """The steps along a path; see `plan_contraction`."""
        sizes: dict[str, int] = {}
        for value, labels in zip(
            (*self.inputs, self.destination), (*self.labels, self.output), strict=True
        ):
            for axis, label in enumerate(labels):
                shape = ir.ShapedType(value.type)
                if not shape.is_dynamic_dim(axis):
                    sizes[label] = shape.get_dim_size(axis)
                sizes.setdefault(label, USUAL_SIZE)
        known = by_mlir(str(self.compute))
        return plan_contraction(
            Contraction(self.labels, self.output, sizes),
            path,
            distributes=self.distributes,
            flops_per_byte=flops_per_byte,
            bytes_per_element=1 if known is None else known.storage,
        )


@dataclass
class ContractionBuilder:
    """Builds a contraction at the current insertion point.

    Attributes:
        call: the contraction.
        plan: its steps.
        named: whether to build the most specific op of upstream; else generics.
        built: the op of each step; more than those of the plan are built where types differ.
    """

    call: ContractionCall
    plan: ContractionPlan
    named: bool = True
    built: list[ir.Operation] = field(default_factory=list)

    def build(self) -> ir.Value:
        """Build all of it.

        Returns:
            What takes the place of the destination.

        Raises:
            DTypeError: the semiring has no neutral element for the type that is computed in.
        """
        steps = self.plan.steps

        def apply(inputs: list[ir.Value], step: Step) -> ir.Value:
            return self._last(inputs, step) if step is steps[-1] else self._middle(inputs, step)

        return contract_along(steps, self.call.inputs, apply)

    def _middle(self, inputs: list[ir.Value], step: Step) -> ir.Value:
        # What is only read along a diagonal needs no cast yet: it is cast when it is computed with.
        only_moved = len(inputs) == 1 and not step.summed
        element = _element(inputs[0]) if only_moved else self.call.compute
        sizes = [self._size(label) for label in step.output]
        destination = self._new(sizes, element, neutral=bool(step.summed))
        return self._op(step, inputs, destination, overwrites=not step.summed)

    def _last(self, inputs: list[ir.Value], step: Step) -> ir.Value:
        call = self.call
        destination, stored = call.destination, _element(call.destination)
        overwrites = call.overwrites and not step.summed
        if stored == call.compute:
            if call.overwrites and step.summed:
                destination = self._filled(destination)
            return self._op(step, inputs, destination, overwrites=overwrites)
        if call.overwrites:
            sizes = [self._size(label) for label in step.output]
            accumulator = self._new(sizes, call.compute, neutral=bool(step.summed))
        else:
            accumulator = self._accumulator(destination)
        result = self._op(step, inputs, accumulator, overwrites=overwrites)
        return self._copied(result, _unfilled(destination))

    def _op(
        self, step: Step, inputs: list[ir.Value], destination: ir.Value, *, overwrites: bool
    ) -> ir.Value:
        recognized = _contraction_of(
            inputs,
            step.inputs,
            destination,
            step.output,
            self.call.kind,
            self.call.cast,
            overwrites,
        )
        op = build_most_specific(recognized) if self.named else build_plain(recognized)
        self.built.append(op)
        result: ir.Value = op.results[0]
        return result

    def _accumulator(self, destination: ir.Value) -> ir.Value:
        """The destination in the type that is computed in."""
        sizes = [self._size(label) for label in self.call.output]
        number = fill_number(destination)
        if number is not None and _holds(self.call.compute, number, self.call.cast):
            empty = tensor.EmptyOp(_dynamic(sizes), self.call.compute).result
            filled: ir.Value = linalg.fill(number_constant(number, self.call.compute), outs=[empty])
            return filled
        return self._copied(destination, self._new(sizes, self.call.compute, neutral=False))

    def _copied(self, value: ir.Value, destination: ir.Value) -> ir.Value:
        """A cast of every element."""
        definition = ops.copy.definition
        attributes = resolve_attributes(definition, {"cast": self.call.cast})
        copied = build(bind(definition, [value], [destination], attributes))
        if not isinstance(copied, ir.Value):
            raise DTypeError(f"{value.type} is no tensor to cast")
        return copied

    def _new(self, sizes: Sequence[ir.Value | int], element: ir.Type, *, neutral: bool) -> ir.Value:
        empty: ir.Value = tensor.EmptyOp(_dynamic(sizes), element).result
        return self._filled(empty) if neutral else empty

    def _filled(self, destination: ir.Value) -> ir.Value:
        """The destination with the neutral element of the sum everywhere."""
        element = _element(destination)
        known = by_mlir(str(element))
        if known is None:
            raise DTypeError(f"the neutral element of a sum of {element} is not known")
        number = neutral_element(self.call.kind.add.name, known.dtype).item()
        filled: ir.Value = linalg.fill(
            number_constant(number, element), outs=[_unfilled(destination)]
        )
        return filled

    def _size(self, label: str) -> ir.Value | int:
        """Return the size of a label: a number, or a value made at the current insertion point."""
        values = (*self.call.inputs, self.call.destination)
        size = size_at(
            (value, axis)
            for value, labels in zip(values, (*self.call.labels, self.call.output), strict=True)
            for axis, own in enumerate(labels)
            if own == label
        )
        if size is None:
            raise KeyError(label)
        return size


def _contraction_of(
    inputs: Sequence[ir.Value],
    labels: Sequence[Labels],
    destination: ir.Value,
    output: Labels,
    kind: Semiring,
    cast: Function,
    overwrites: bool,
) -> RecognizedOp:
    elements = tuple(str(_element(value)) for value in (*inputs, destination))
    scalars = tuple(i for i, v in enumerate(inputs) if not isinstance(v.type, ir.ShapedType))
    definition, types = _definition(
        tuple(labels), output, kind, cast, overwrites, elements, scalars
    )
    return RecognizedOp(definition, tuple(inputs), (destination,), types)


@lru_cache(maxsize=4096)
def _definition(
    labels: tuple[Labels, ...],
    output: Labels,
    kind: Semiring,
    cast: Function,
    overwrites: bool,
    elements: tuple[str, ...],
    scalars: tuple[int, ...],
) -> tuple[OpDefinition, dict[str, str]]:
    """A contraction at element types, those of the inputs first."""
    dims = tuple(dict.fromkeys(label for own in (output, *labels) for label in own))
    maps = [AffineMap(dims, (), tuple(map(AffineDim, own))) for own in (*labels, output)]
    definition = contract_definition(maps, kind, cast=cast, overwrite=overwrites, scalars=scalars)
    types = {
        str(operand.type_var): element
        for operand, element in zip(definition.operands, elements, strict=True)
    }
    usual = specialize(definition, types)
    return usual, {
        str(new.type_var): types[str(old.type_var)]
        for old, new in zip(definition.operands, usual.operands, strict=True)
    }


def _element(value: ir.Value) -> ir.Type:
    kind = value.type
    return ir.ShapedType(kind).element_type if isinstance(kind, ir.ShapedType) else kind


def _dynamic(sizes: Sequence[ir.Value | int]) -> list[ir.Value | int]:
    return list(sizes)


def _fill(value: ir.Value) -> ir.Operation | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "linalg.fill":
        return None
    return owner.operation


def _unfilled(value: ir.Value) -> ir.Value:
    """Return the tensor that was filled; the value itself where it is no fill.

    The contents of the fill are not read any more.
    """
    fill = _fill(value)
    return value if fill is None else fill.operands[1]


def fill_number(value: ir.Value) -> float | None:
    """The number that a tensor is filled with, as its own type has it."""
    fill = _fill(value)
    if fill is None or fill.operands[0].type != _element(value):
        return None
    owner = fill.operands[0].owner
    if isinstance(owner, ir.Block) or owner.operation.name != "arith.constant":
        return None
    attribute = owner.operation.attributes["value"]
    if isinstance(attribute, ir.BoolAttr) or not isinstance(
        attribute, (ir.IntegerAttr, ir.FloatAttr)
    ):
        return None
    number: float = attribute.value
    return number


def _holds(element: ir.Type, number: float, cast: Function) -> bool:
    """Return whether a number keeps its value when it is cast to an element type."""
    known = by_mlir(str(element))
    if known is None or known.kind not in ("float", "integer"):
        return False
    if cast == TYPE["cast_unsigned"] and number < 0:
        return False
    with np.errstate(all="ignore"):
        rounded = np.asarray(number).astype(known.dtype)
        return bool(complex(rounded[()]) == complex(number))
