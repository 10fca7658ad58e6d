"""Let a compute type spread through element-wise chains, whose intermediate results keep it.

First, element-wise ops that carry no compute type get that of the op before or behind them. The
tensor between the two must be of the compute type's family (floats, or integers) and no wider than
it. An op that only rounds (a cast to a narrower type) does so on purpose and gets none, nor does
one whose functions the type does not have. Then, wherever the result of an op with a compute type
is an input of another with the same one, that tensor becomes one of the compute type: the cast out
of the first and the cast into the second vanish. The ops on such a tensor are plain linalg
afterwards; those that accumulate get an accumulator, as by linalg-ext-materialize-compute-type.

before:
    %x = linalg.exp {linalg_ext.compute_type = f32}
           ins(%a : tensor<8xbf16>) outs(%e : tensor<8xbf16>) -> tensor<8xbf16>
    %r = linalg.tanh ins(%x : tensor<8xbf16>) outs(%e : tensor<8xbf16>) -> tensor<8xbf16>
after:
    %w = tensor.empty() : tensor<8xf32>
    %x = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                         iterator_types = ["parallel"]}
           ins(%a : tensor<8xbf16>) outs(%w : tensor<8xf32>) {
    ^bb0(%in: bf16, %out: f32):
      %0 = arith.extf %in : bf16 to f32
      %1 = math.exp %0 : f32
      linalg.yield %1 : f32
    } -> tensor<8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                         iterator_types = ["parallel"]}
           ins(%x : tensor<8xf32>) outs(%e : tensor<8xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %2 = math.tanh %in : f32
      %3 = arith.truncf %2 : f32 to bf16
      linalg.yield %3 : bf16
    } -> tensor<8xbf16>

Rounding alone changes: %x is no longer rounded to bf16 before the tanh. Tensors of another family
than the compute type, such as the quantized integers at both ends of a float chain, stay as they
are; so do those that others use, for whom they are cast out. On memrefs nothing spreads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from linalg_ext.bindings import ir
from linalg_ext.definition.functions import FunctionKind
from linalg_ext.definition.scalar import Apply
from linalg_ext.definition.types import family, holds
from linalg_ext.errors import ArgumentError, DTypeError, RecognitionError
from linalg_ext.rewriting import Report, module_pass
from linalg_ext.structured.compute_type import (
    NAME,
    OpInComputeType,
    check_compute_type,
    compute_type_of,
    form_of,
    ops_with_compute_type,
)
from linalg_ext.structured.recognition import RecognizedOp, recognize

from .infer_compute_type import element_types_of

PASS = "linalg-ext-propagate-compute-type"


@module_pass(PASS)
def propagate_compute_type(root: ir.Operation) -> Report:
    """Spread compute types through element-wise chains, whose intermediates stay in them.

    Raises:
        VerificationError: a compute type is not a type, or cannot hold the operation.
    """
    report = Report(PASS)
    _spread(root, report)
    ops = [op for op in ops_with_compute_type(root) if len(op.results) and _is_readable(op)]
    chain = _Chain(report, {op.results[0]: str(compute_type_of(op)) for op in ops})
    for op in ops:
        chain.rebuild(OpInComputeType.of(op))  # its operands may have been replaced meanwhile
    chain.erase_replaced()
    return report


def _is_readable(op: ir.Operation) -> bool:
    try:
        recognize(op)
    except RecognitionError:
        return False
    return True


def _spread(root: ir.Operation, report: Report) -> None:
    """Give element-wise ops the compute type of their neighbours."""
    waiting = ops_with_compute_type(root)
    for op in waiting:
        check_compute_type(op)
        report.matched[str(op.name)] += 1
    while waiting:
        op = waiting.pop(0)
        element = str(compute_type_of(op))
        for neighbour in _neighbours(op, element):
            before = compute_type_of(neighbour)
            if before is None:
                refusal = _accept(neighbour, element)
            else:
                refusal = "" if str(before) == element else "the op has another compute type"
            if refusal:
                report.leave(str(neighbour.name), refusal)
            elif before is None and compute_type_of(neighbour) is not None:
                report.changed[str(neighbour.name)] += 1
                waiting.append(neighbour)


def _accept(op: ir.Operation, element: str) -> str:
    """Give an element-wise op a compute type; else say why not, with no word on other ops."""
    try:
        recognized = recognize(op)
    except RecognitionError as error:
        return error.reason
    except ArgumentError:
        return ""  # no structured op
    if recognized.definition.reduction_dims:
        return "the op accumulates: give it a compute type to accumulate in"
    if _only_rounds(recognized):
        return "the op only rounds"
    try:
        form_of(op, recognized, ir.Type.parse(element))
    except DTypeError as error:
        return error.what
    op.attributes[NAME] = ir.TypeAttr.get(ir.Type.parse(element))
    return ""


def _only_rounds(recognized: RecognizedOp) -> bool:
    """Return whether an op is a cast that loses something."""
    expressions = recognized.definition.expressions()
    functions = {e.function.kind for e in expressions if isinstance(e, Apply)}
    inputs, outputs = element_types_of(recognized)
    loses = any(not holds(wide, narrow) for wide in outputs for narrow in inputs)
    return functions == {FunctionKind.TYPE} and loses


def _neighbours(op: ir.Operation, element: str) -> Iterator[ir.Operation]:
    """Return the producers and users whose shared values are of the family and no wider."""
    for value in list(op.operands)[: len(op.operands) - len(op.results)]:
        if not isinstance(value.owner, ir.Block) and _fits(value, element):
            yield value.owner.operation
    for result in op.results:
        if _fits(result, element):
            yield from (use.owner.operation for use in result.uses if _is_read(use))


def _fits(value: ir.Value, element: str) -> bool:
    if not isinstance(value.type, ir.RankedTensorType):
        return False
    own = str(value.type.element_type)
    return family(own) == family(element) and holds(element, own)


def _is_read(use: ir.OpOperand) -> bool:
    """Return whether a use is an input of a structured op on tensors, not its destination."""
    user = use.owner.operation
    is_structured = user.name.startswith(("linalg.", "linalg_ext.")) and len(user.results) > 0
    return is_structured and use.operand_number < len(user.operands) - len(user.results)


@dataclass
class _Chain:
    """Rebuilds the ops with compute types, in the order of the text.

    Attributes:
        report: of the pass.
        compute: the compute type of each op, by its first result.
        wide: for each result that is of the compute type from now on, the new value.
    """

    report: Report
    compute: dict[ir.Value, str]
    wide: dict[ir.Value, ir.Value] = field(default_factory=dict)
    _replaced: list[ir.Operation] = field(default_factory=list)

    def rebuild(self, stated: OpInComputeType) -> None:
        """Rebuild an op if it reads, or leaves to others, a tensor of the compute type."""
        form, op = stated.form, stated.op
        element = form.element
        originals = stated.recognized.inputs
        inputs = [self._widened(value, element) for value in originals]
        names = frozenset(
            operand.name
            for operand, before, now in zip(form.definition.inputs, originals, inputs, strict=True)
            if before != now
        )
        crossing = [
            output.is_cast and self._crosses(result, element)
            for output, result in zip(form.outputs, op.results, strict=True)
        ]
        if not names and not any(crossing):
            return
        self.report.changed[str(op.name)] += 1
        self._replaced.append(op)
        if names not in form.answers:
            form.answers[names] = form.with_inputs_of_compute_type(names)
        changed = replace(stated, form=form.answers[names])
        with ir.InsertionPoint(op), op.location:
            if not form.accumulates and not any(crossing):
                new = changed.build_at_every_point(inputs)
                for old, value in zip(op.results, new.results, strict=True):
                    old.replace_all_uses_with(value)
                return
            self._build_wide(changed, inputs, crossing)

    def erase_replaced(self) -> None:
        for op in reversed(self._replaced):
            op.erase()

    def _build_wide(
        self, stated: OpInComputeType, inputs: list[ir.Value], crossing: list[bool]
    ) -> None:
        outputs = list(zip(stated.form.outputs, stated.recognized.outputs, strict=True))
        accumulators = [stated.accumulator(o, v) if o.is_cast else v for o, v in outputs]
        new = stated.build_on_accumulators(accumulators, inputs)
        element = stated.form.element
        for (output, value), old, new_result, is_wide in zip(
            outputs, stated.op.results, new.results, crossing, strict=True
        ):
            if not output.is_cast:
                old.replace_all_uses_with(new_result)
                continue
            narrow_uses = [u for u in old.uses if not (is_wide and self._stays(u, element))]
            if is_wide:
                self.wide[old] = new_result
            if narrow_uses:
                narrow = stated.cast_out(output, new_result, value).results[0]
                for use in narrow_uses:
                    use.owner.operation.operands[use.operand_number] = narrow

    def _widened(self, value: ir.Value, element: str) -> ir.Value:
        widened = self.wide.get(value)
        if widened is None or str(ir.ShapedType(widened.type).element_type) != element:
            return value
        return widened

    def _crosses(self, result: ir.Value, element: str) -> bool:
        """Return whether another op with the compute type reads a result."""
        # A wider tensor is read in the compute type all the same.
        own = str(ir.ShapedType(result.type).element_type)
        return family(own) == family(element) and any(
            self._stays(use, element) for use in result.uses
        )

    def _stays(self, use: ir.OpOperand, element: str) -> bool:
        """Return whether a use is an input of an op with the compute type."""
        return _is_read(use) and self.compute.get(use.owner.operation.results[0]) == element
