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
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase

from linalg_ext.bindings import func, ir
from linalg_ext.definition.affine import AffineDim, AffineExpr
from linalg_ext.definition.functions import TYPE, Function
from linalg_ext.definition.model import OpDefinition
from linalg_ext.errors import ArgumentError, ShapeError
from linalg_ext.ir.context import new_context
from linalg_ext.notations.einsum import parse, semiring, to_einsum
from linalg_ext.notations.einsum.definitions import Semiring
from linalg_ext.notations.einsum.plan import FLOPS_PER_BYTE, ContractionPlan, Step
from linalg_ext.notations.einsum.subscripts import LETTERS
from linalg_ext.runtime.dtypes import by_mlir
from linalg_ext.structured.contraction.steps import (
    ContractionBuilder,
    ContractionCall,
)
from linalg_ext.structured.extension.attributes import CONTRACT
from linalg_ext.structured.recognition import recognize
from linalg_ext.structured.recognition.contraction_form import find_contraction
from linalg_ext.utils.hooks import Shown

Labels = tuple[str, ...]


@dataclass(frozen=True, repr=False)
class ContractionExplanation(Shown, shown_as="contraction"):
    """The steps of a contraction; its `repr` is a table of them.

    Attributes:
        plan: the steps, and what they cost.
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
        known = by_mlir(self.element)
        return _size(self.plan.elements(step) * (1 if known is None else known.storage))

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
    what: ir.Operation | ir.OpView | OpDefinition | str,
    shapes: Sequence[Sequence[int]] | None = None,
    *,
    element: str = "f32",
    kind: str | Semiring = "+*",
    path: str = "auto",
    flops_per_byte: float = FLOPS_PER_BYTE,
) -> ContractionExplanation:
    """Say how `linalg-ext-lower-contract` lowers a contraction; nothing is changed.

    Args:
        what: a live op that is a contraction of tensors, whatever it is called; a definition; or
            an einsum string.
        shapes: of the inputs, where `what` is no op.
        element: the element type of all operands, where `what` is no op, as MLIR spells it.
        kind: the semiring, where `what` is no op.
        path, flops_per_byte: the options of the pass.

    Raises:
        ArgumentError: it is no contraction (says why), or shapes are missing or do not fit.
    """
    if isinstance(what, (ir.Operation, ir.OpView)):
        with what.operation.context, ir.Location.unknown():
            return _explained(_call_of(what.operation), path, flops_per_byte)
    text = to_einsum(what, kind=kind) if isinstance(what, OpDefinition) else what
    if not isinstance(text, str):
        raise ArgumentError(
            f"{what!r} is no contraction", expected="a live op, a definition or an einsum string"
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
        return _explained(scratch, path, flops_per_byte)


@dataclass(frozen=True)
class _Scratch:
    """A call on the arguments of a function, in a module that no other code sees.

    Attributes:
        module: it owns them, and dies with this.
        call: the contraction.
    """

    module: ir.Module
    call: ContractionCall


def _explained(scratch: _Scratch, path: str, flops_per_byte: float) -> ContractionExplanation:
    """Lower a call on arguments of a scratch function, and see what was built."""
    call = scratch.call
    plan = call.plan(path, flops_per_byte)
    builder = ContractionBuilder(call, plan)
    with ir.InsertionPoint(call.destination.owner):
        builder.build()
    return ContractionExplanation(
        plan,
        tuple(op.name for op in builder.built),
        tuple(_short(value.type) for value in (*call.inputs, call.destination)),
        path,
        str(call.compute),
    )


def _call_of(op: ir.Operation) -> _Scratch:
    """A contraction in live IR, on arguments of a scratch function."""
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
        raise ArgumentError(f"{op.name} is no contraction: {form}")
    values = dict(
        zip((o.name for o in recognized.definition.inputs), recognized.inputs, strict=True)
    )
    (destination,) = recognized.outputs
    labels = [_plain(op, factor.indices) for factor in form.factors]
    if any(factor.difference is not None for factor in form.factors):
        raise ArgumentError(
            f"{op.name} subtracts zero points",
            hint="explain what linalg-ext-raise-to-contract gives",
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
                hint="explain what linalg-ext-raise-to-contract gives",
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
    call = ContractionCall(
        tuple(inputs), destination, tuple(labels), output, kind, cast, overwrites, compute
    )
    return _Scratch(module, call)


def _subscripts(inputs: Sequence[Labels], output: Labels, names: Mapping[str, str]) -> str:
    terms = ["".join(names[label] for label in own) for own in (*inputs, output)]
    return f"{','.join(terms[:-1])}->{terms[-1]}"


def _operand(number: int, count: int) -> str:
    return ascii_uppercase[number] if number < count else f"t{number - count}"


def _short(kind: ir.Type) -> str:
    """`f32[2,30]`."""
    if not isinstance(kind, ir.ShapedType):
        return str(kind)
    shape = ir.ShapedType(kind)
    sizes = (
        "?" if shape.is_dynamic_dim(axis) else str(shape.get_dim_size(axis))
        for axis in range(shape.rank)
    )
    return f"{shape.element_type}[{','.join(sizes)}]"


def _count(number: int) -> str:
    for factor, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= factor:
            return f"{number / factor:.4g} {unit}"
    return str(number)


def _size(number: int) -> str:
    text = _count(number)
    return f"{text}B" if text[-1].isalpha() else f"{text} B"
