"""The lowering of a contraction: the order of its operands, the op of each step, and the cost.

>>> explain_contraction("ij,jk,kl->il", [(2, 30), (30, 40), (40, 5)])
contraction ij,jk,kl->il   f32[2,30] . f32[30,40] . f32[40,5] -> f32[2,5]   path auto
  step  operands  subscripts  op             flops  intermediate
  t0    A B       ij,jk->ik   linalg.matmul  4.8 k         320 B
  t1    C t0      kl,ik->il   linalg.matmul    800
  total 5.6 k flops, 6.43 times less than the 36 k of one loop nest
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase

from linalg_ext import opdsl_defs as ops
from linalg_ext.bindings import func, ir, linalg, tensor
from linalg_ext.definition.attributes import resolve_attributes
from linalg_ext.definition.functions import TYPE, Function
from linalg_ext.definition.initial import neutral_element
from linalg_ext.definition.model import OpDefinition
from linalg_ext.definition.specialization import specialized
from linalg_ext.errors import ArgumentError, DTypeError, ShapeError
from linalg_ext.ir.context import new_context
from linalg_ext.notations.einsum import parse, semiring, to_einsum
from linalg_ext.notations.einsum.definitions import Semiring
from linalg_ext.notations.einsum.plan import (
    FLOPS_PER_BYTE,
    ContractionPlan,
    Labels,
    Step,
    contract_along,
    plan_contraction,
)
from linalg_ext.notations.einsum.subscripts import LETTERS, Contraction
from linalg_ext.runtime.dtypes import by_mlir
from linalg_ext.structured.category_forms import build_most_specific, build_plain
from linalg_ext.structured.constants import is_bool, keeps_value, number_constant, number_of
from linalg_ext.structured.contraction_form import find_contraction
from linalg_ext.structured.extension import (
    COMPUTE_TYPE,
    CONTRACT,
    OVERWRITE,
    cast_function,
    contract_definition,
    contract_kind,
    indexing_maps,
    scalar_positions,
)
from linalg_ext.structured.op_builders import build
from linalg_ext.structured.operands import bind, element_of, producer, type_sizes
from linalg_ext.structured.recognition import RecognizedOp, recognize
from linalg_ext.structured.sizes import size_at
from linalg_ext.symbolic.affine import AffineDim, AffineExpr, AffineMap
from linalg_ext.utils.hooks import Shown

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
        cast: how inputs are cast to the compute type.
        overwrites: whether the old elements of the destination are ignored.
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
        """Read `linalg_ext.contract`; an ArgumentError where its attributes have wrong values."""
        *inputs, destination = op.operands
        labels = [tuple(map(str, map_.results)) for map_ in indexing_maps(op)]
        compute = element_of(destination)
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
        dtype = by_mlir(str(self.compute))
        return plan_contraction(
            Contraction(self.labels, self.output, sizes),
            path,
            distributes=self.distributes,
            flops_per_byte=flops_per_byte,
            bytes_per_element=1 if dtype is None else dtype.storage,
        )


@dataclass
class ContractionBuilder:
    """Builds a contraction at the current insertion point.

    Attributes:
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
            The value that takes the place of the destination.

        Raises:
            DTypeError: the semiring has no neutral element for the type that is computed in.
        """
        steps = self.plan.steps

        def apply(inputs: list[ir.Value], step: Step) -> ir.Value:
            return self._last(inputs, step) if step is steps[-1] else self._middle(inputs, step)

        return contract_along(steps, self.call.inputs, apply)

    def _middle(self, inputs: list[ir.Value], step: Step) -> ir.Value:
        # A tensor that is only read along a diagonal is cast later, by the step that computes.
        only_moved = len(inputs) == 1 and not step.summed
        element = element_of(inputs[0]) if only_moved else self.call.compute
        sizes = [self._size(label) for label in step.output]
        destination = self._new(sizes, element, neutral=bool(step.summed))
        return self._op(step, inputs, destination, overwrites=not step.summed)

    def _last(self, inputs: list[ir.Value], step: Step) -> ir.Value:
        call = self.call
        destination, stored = call.destination, element_of(call.destination)
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
        return self._copy_into(result, _unfilled(destination))

    def _op(
        self, step: Step, inputs: list[ir.Value], destination: ir.Value, *, overwrites: bool
    ) -> ir.Value:
        call = self.call
        elements = tuple(str(element_of(value)) for value in (*inputs, destination))
        scalars = tuple(scalar_positions(inputs))
        definition, types = _definition(
            step.inputs, step.output, call.kind, call.cast, overwrites, elements, scalars
        )
        recognized = RecognizedOp(definition, tuple(inputs), (destination,), types)
        op = build_most_specific(recognized) if self.named else build_plain(recognized)
        self.built.append(op)
        result: ir.Value = op.results[0]
        return result

    def _accumulator(self, destination: ir.Value) -> ir.Value:
        sizes = [self._size(label) for label in self.call.output]
        number = fill_number(destination)
        is_unsigned = self.call.cast == TYPE["cast_unsigned"]
        if number is not None and keeps_value(number, self.call.compute, unsigned=is_unsigned):
            empty = tensor.EmptyOp(sizes, self.call.compute).result
            filled: ir.Value = linalg.fill(number_constant(number, self.call.compute), outs=[empty])
            return filled
        return self._copy_into(destination, self._new(sizes, self.call.compute, neutral=False))

    def _copy_into(self, value: ir.Value, destination: ir.Value) -> ir.Value:
        definition = ops.copy.definition
        attributes = resolve_attributes(definition, {"cast": self.call.cast})
        copied = build(bind(definition, [value], [destination], attributes))
        if not isinstance(copied, ir.Value):
            raise DTypeError(f"{value.type} is not a tensor to cast")
        return copied

    def _new(self, sizes: Sequence[ir.Value | int], element: ir.Type, *, neutral: bool) -> ir.Value:
        empty: ir.Value = tensor.EmptyOp(sizes, element).result
        return self._filled(empty) if neutral else empty

    def _filled(self, destination: ir.Value) -> ir.Value:
        element = element_of(destination)
        dtype = by_mlir(str(element))
        if dtype is None:
            raise DTypeError(f"the neutral element of a sum of {element} is not known")
        number = neutral_element(self.call.kind.add.name, dtype.dtype).item()
        filled: ir.Value = linalg.fill(
            number_constant(number, element), outs=[_unfilled(destination)]
        )
        return filled

    def _size(self, label: str) -> ir.Value | int:
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
    dims = tuple(dict.fromkeys(label for own in (output, *labels) for label in own))
    maps = [AffineMap(dims, (), tuple(map(AffineDim, own))) for own in (*labels, output)]
    definition = contract_definition(maps, kind, cast=cast, overwrite=overwrites, scalars=scalars)
    types = {
        str(operand.type_var): element
        for operand, element in zip(definition.operands, elements, strict=True)
    }
    return specialized(definition, types)


def _fill(value: ir.Value) -> ir.Operation | None:
    op = producer(value)
    return op if op is not None and op.name == "linalg.fill" else None


def _unfilled(value: ir.Value) -> ir.Value:
    """Return the tensor that was filled, since nothing reads the fill; else the value itself."""
    fill = _fill(value)
    return value if fill is None else fill.operands[1]


def fill_number(value: ir.Value) -> float | None:
    """The number that a tensor is filled with, as its own type has it."""
    fill = _fill(value)
    if fill is None or fill.operands[0].type != element_of(value):
        return None
    return None if is_bool(element_of(value)) else number_of(fill.operands[0])


@dataclass(frozen=True, repr=False)
class ContractionExplanation(Shown, shown_as="contraction"):
    """The steps of a contraction; its `repr` is a table of them.

    Attributes:
        plan: the steps, and their cost.
        ops: the name of the op that each becomes.
        types: the types of the operands, the result last.
        path: how the order was found.
        element: the element type that is computed in.
    """

    plan: ContractionPlan
    ops: tuple[str, ...]
    types: tuple[str, ...]
    path: str
    element: str

    @property
    def speed_up(self) -> float:
        """The ratio of the operations of one loop nest over all operands to those of the plan."""
        return self.plan.naive_flops / max(1, self.plan.total_flops)

    def __repr__(self) -> str:
        contraction = self.plan.contraction
        names = self._letters()
        whole = _subscripts(contraction.inputs, contraction.output, names)
        *inputs, result = self.types
        head = f"contraction {whole}   {' . '.join(inputs)} -> {result}   path {self.path}"
        rows = [("step", "operands", "subscripts", "op", "flops", "intermediate")]
        count = len(contraction.inputs)
        for number, (step, op) in enumerate(zip(self.plan.steps, self.ops, strict=True)):
            is_last = number == len(self.plan.steps) - 1
            rows.append(
                (
                    f"t{number}",
                    " ".join(_operand(i, count) for i in step.operands),
                    _subscripts(step.inputs, step.output, names),
                    op,
                    _count(self.plan.flops(step)),
                    "" if is_last else self._bytes(step),
                )
            )
        widths = [max(len(row[column]) for row in rows) for column in range(6)]
        lines = [
            "  ".join(
                cell.ljust(width) if column < 4 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        total = (
            f"total {_count(self.plan.total_flops)} flops, {self.speed_up:.3g} times less than the "
            f"{_count(self.plan.naive_flops)} of one loop nest"
        )
        return "\n".join([head, *(f"  {line}" for line in (*lines, total))])

    __str__ = __repr__

    def _bytes(self, step: Step) -> str:
        dtype = by_mlir(self.element)
        return _size(self.plan.elements(step) * (1 if dtype is None else dtype.storage))

    def _letters(self) -> dict[str, str]:
        """A letter for each dimension, its own name if it is one letter."""
        labels = list(self.plan.contraction.sizes)
        if all(label in LETTERS for label in labels):
            return {label: label for label in labels}
        letters = ascii_lowercase[8:] + ascii_lowercase[:8] + ascii_uppercase
        return {
            label: letters[position] if position < len(letters) else f"<{label}>"
            for position, label in enumerate(labels)
        }


def explain_contraction(
    source: ir.Operation | ir.OpView | OpDefinition | str,
    shapes: Sequence[Sequence[int]] | None = None,
    *,
    element: str = "f32",
    kind: str | Semiring = "+*",
    path: str = "auto",
    flops_per_byte: float = FLOPS_PER_BYTE,
) -> ContractionExplanation:
    """Say how `linalg-ext-lower-contract` lowers a contraction; nothing is changed.

    Args:
        source: a live op that is a contraction of tensors, whatever it is called; a definition; or
            an einsum string.
        shapes: of the inputs, where `source` is not an op.
        element: the element type of all operands, where `source` is not an op, as MLIR spells it.
        kind: the semiring, where `source` is not an op.
        path, flops_per_byte: the options of the pass.

    Raises:
        ArgumentError: it is not a contraction (says why), or shapes are missing or do not fit.
    """
    if isinstance(source, (ir.Operation, ir.OpView)):
        with source.operation.context, ir.Location.unknown():
            return _explained(*_call_of(source.operation), path, flops_per_byte)
    text = to_einsum(source, kind=kind) if isinstance(source, OpDefinition) else source
    if not isinstance(text, str):
        raise ArgumentError(
            f"{source!r} is not a contraction",
            expected="a live op, a definition or an einsum string",
        )
    if shapes is None:
        raise ArgumentError(
            f"the shapes of '{text}' are not known", hint="give one for each input: shapes=[...]"
        )
    contraction = parse(text).bind([tuple(shape) for shape in shapes])
    for labels, shape in zip(contraction.inputs, shapes, strict=True):
        for label, size in zip(labels, shape, strict=True):
            if contraction.sizes[label] != size:
                raise ShapeError(
                    f"'{text}' broadcasts {label} from {size} to {contraction.sizes[label]}",
                    expected="one size for each label: an op broadcasts by leaving the label out",
                )
    with new_context(), ir.Location.unknown():
        scalar = ir.Type.parse(element)
        types = [ir.RankedTensorType.get(shape, scalar) for shape in (*shapes, contraction.shape)]
        scratch = _on_arguments(
            types, contraction.inputs, contraction.output, semiring(kind), compute=scalar
        )
        return _explained(*scratch, path, flops_per_byte)


_Scratch = tuple[ir.Module, ContractionCall]
"""A module that no other code sees, and a call on the arguments of a function in it."""


def _explained(
    module: ir.Module, call: ContractionCall, path: str, flops_per_byte: float
) -> ContractionExplanation:
    """Lower a call on arguments of a module, which it holds, and return the ops that were built."""
    plan = call.plan(path, flops_per_byte)
    builder = ContractionBuilder(call, plan)
    with ir.InsertionPoint(call.destination.owner):
        builder.build()
    return ContractionExplanation(
        plan,
        tuple(op.name for op in builder.built),
        tuple(_short_type(value.type) for value in (*call.inputs, call.destination)),
        path,
        str(call.compute),
    )


def _call_of(op: ir.Operation) -> _Scratch:
    if op.name == CONTRACT:
        call = ContractionCall.of(op)
        types = [value.type for value in (*call.inputs, call.destination)]
        return _on_arguments(
            types,
            call.labels,
            call.output,
            call.kind,
            compute=call.compute,
            cast=call.cast,
            overwrites=call.overwrites,
        )
    recognized = recognize(op)
    form = find_contraction(recognized.definition, recognized.types)
    if isinstance(form, str):
        raise ArgumentError(f"{op.name} is not a contraction: {form}")
    values = dict(
        zip((o.name for o in recognized.definition.inputs), recognized.inputs, strict=True)
    )
    (destination,) = recognized.outputs
    labels = [_plain(op, factor.indices) for factor in form.factors]
    if any(factor.difference is not None for factor in form.factors):
        raise ArgumentError(
            f"{op.name} subtracts zero points",
            hint="explain the result of linalg-ext-raise-to-contract",
        )
    return _on_arguments(
        [*(values[factor.operand].type for factor in form.factors), destination.type],
        labels,
        _plain(op, form.output),
        form.kind,
        compute=ir.ShapedType(destination.type).element_type,
        cast=form.cast,
        overwrites=not form.accumulates,
    )


def _plain(op: ir.Operation, indices: Sequence[AffineExpr]) -> Labels:
    for index in indices:
        if not isinstance(index, AffineDim):
            raise ArgumentError(
                f"{op.name} has the index {index}",
                expected="plain dimensions",
                hint="explain the result of linalg-ext-raise-to-contract",
            )
    return tuple(map(str, indices))


def _on_arguments(
    types: Sequence[ir.Type],
    labels: Sequence[Labels],
    output: Labels,
    kind: Semiring,
    *,
    compute: ir.Type,
    cast: Function = TYPE["cast_signed"],
    overwrites: bool = False,
) -> _Scratch:
    if not isinstance(types[-1], ir.RankedTensorType):
        raise ArgumentError(f"a contraction into {types[-1]} is one op", expected="a tensor")
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        block = func.FuncOp("scratch", (list(types), [])).add_entry_block()
    *inputs, destination = block.arguments
    return module, ContractionCall(
        tuple(inputs), destination, tuple(labels), output, kind, cast, overwrites, compute
    )


def _subscripts(inputs: Sequence[Labels], output: Labels, names: Mapping[str, str]) -> str:
    terms = ["".join(names[label] for label in own) for own in (*inputs, output)]
    return f"{','.join(terms[:-1])}->{terms[-1]}"


def _operand(number: int, count: int) -> str:
    return ascii_uppercase[number] if number < count else f"t{number - count}"


def _short_type(type_: ir.Type) -> str:
    """`f32[2,30]`."""
    if not isinstance(type_, ir.ShapedType):
        return str(type_)
    sizes = ("?" if size is None else str(size) for size in type_sizes(type_))
    return f"{type_.element_type}[{','.join(sizes)}]"


def _count(number: int) -> str:
    for factor, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= factor:
            return f"{number / factor:.4g} {unit}"
    return str(number)


def _size(number: int) -> str:
    text = _count(number)
    return f"{text}B" if text[-1].isalpha() else f"{text} B"
