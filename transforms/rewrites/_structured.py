"""Structured ops: read as definitions, rebuilt with other maps, and replaced.

Ops that carry maps keep their name when they get others. A named element-wise op becomes
`linalg.elementwise`, where that has its function and does not cast, else `linalg_ext.elementwise`:
recognized by its definition, not by its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linalg_ext.bindings import ir
from linalg_ext.definition.functions import TYPE, Function, FunctionKind
from linalg_ext.definition.scalar import Access, Apply, ScalarOperand
from linalg_ext.dialects.linalg_ext import elementwise
from linalg_ext.errors import ArgumentError, LinalgExtError, RecognitionError
from linalg_ext.rewriting import MatchFailure, Rewriter
from linalg_ext.structured import extension as extension_ops
from linalg_ext.structured.category_forms import build_elementwise
from linalg_ext.structured.contraction_form import Contraction, contraction_of
from linalg_ext.structured.extension import carry_over, discardable_attributes, forget_memoized_maps
from linalg_ext.structured.maps import holds_maps, rebuilt, refusal
from linalg_ext.structured.operands import producer
from linalg_ext.structured.recognition import RecognizedOp, recognize
from linalg_ext.symbolic.affine import AffineMap

LIBRARY_CALL = MatchFailure("the op names the library function that it calls")


def read(op: ir.Operation) -> RecognizedOp | MatchFailure:
    if "library_call" in op.attributes:
        return LIBRARY_CALL
    try:
        return recognize(op)
    except RecognitionError as error:
        return MatchFailure(error.reason)
    except ArgumentError as error:
        return MatchFailure(error.what)


def read_product(op: ir.Operation) -> tuple[RecognizedOp, Contraction] | MatchFailure:
    """Return a structured op as a sum of products of two operands, or why it is not one."""
    recognized = read(op)
    if isinstance(recognized, MatchFailure):
        return recognized
    contraction = contraction_of(recognized)
    if contraction is None:
        return MatchFailure(
            "the op is not a sum of products of two operands, cast to the type of the result"
        )
    return recognized, contraction


def put_in_place(op: ir.Operation, new: ir.Operation, rewriter: Rewriter) -> bool:
    """Replace a structured op by one that was built for it, which gets its discardable attributes.

    True, as a pattern answers.
    """
    carry_over(op, new)
    if len(op.results):
        rewriter.replace_op(op, new)
    else:
        rewriter.erase_op(op)  # it wrote to memrefs and has no results to replace
    return True


_WITH_BODIES = ("linalg.map", "linalg.reduce")
_NO_TARGETS = frozenset(
    f"linalg.{name}"
    for name in (
        *("broadcast", "fill", "fill_rng_2d", "index", "pack"),
        *("softmax", "transpose", "unpack", "yield"),
    )
)


def may_take_maps(op_name: str) -> bool:
    """Return whether ops of this name are looked at: structured ones that compute."""
    dialect = op_name.partition(".")[0]
    return holds_maps(op_name) or (dialect == "linalg" and op_name not in _NO_TARGETS)


def has_body(op: ir.Operation) -> bool:
    """Return whether an op has a body that computes one point, or is one of ours."""
    if op.name in extension_ops.NAMES:
        return True
    return len(op.regions) == 1 and len(op.regions[0].blocks) == 1


def why_not(op: ir.Operation, maps: Sequence[AffineMap]) -> str | None:
    """Return the reason that an op cannot take the maps; None where it seems that it can."""
    if holds_maps(op.name):
        return refusal(op.name, maps)
    if _elementwise(op) is None:
        return f"{op.name} has no maps of its own"
    if not all(map.is_projected_permutation for map in maps):
        return "the maps of linalg.elementwise list dimensions, each once"
    return None


def with_maps(
    op: ir.Operation,
    inputs: Sequence[ir.Value],
    outputs: Sequence[ir.Value],
    maps: Sequence[AffineMap],
) -> ir.Operation | None:
    """Build the op on other operands with other maps at the insertion point; None if impossible.

    Discardable attributes stay. The old op is left as it is.
    """
    if holds_maps(op.name):
        kinds: dict[str, ir.Attribute] = {}
        if op.name == "linalg.generic":
            kinds["iterator_types"] = _iterator_types(op, len(maps[0].dims))
        return rebuilt(op, inputs, outputs, maps, kinds)
    applied = _elementwise(op)
    if applied is None:
        return None
    inputs = [inputs[position] for position in applied.order]
    maps = [*(maps[position] for position in applied.order), maps[-1]]
    new = None
    if applied.cast is None:
        more = discardable_attributes(op)
        new = build_elementwise(applied.function, inputs, outputs[0], maps, more)
    return new or _ours(op, applied, inputs, outputs[0], maps)


def _ours(
    op: ir.Operation,
    applied: _Elementwise,
    inputs: Sequence[ir.Value],
    output: ir.Value,
    maps: Sequence[AffineMap],
) -> ir.Operation | None:
    name = (applied.cast or TYPE["cast_signed"]).name
    try:
        result = elementwise(applied.function, *inputs, outs=output, maps=list(maps), cast=name)
    except LinalgExtError:
        return None
    new = producer(result)
    if new is not None:
        carry_over(op, new)
    return new


def _iterator_types(op: ir.Operation, rank: int) -> ir.Attribute:
    """Return the iterator types of an op; added dimensions are parallel."""
    kinds = list(ir.ArrayAttr(op.attributes["iterator_types"]))
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    return ir.ArrayAttr.get([*kinds, *[parallel] * (rank - len(kinds))])


@dataclass(frozen=True)
class _Elementwise:
    """The function of an element-wise op.

    Attributes:
        function: the function.
        cast: the cast of its inputs; None if absent.
        order: for each input of the function, the number of the op's input.
    """

    function: Function
    cast: Function | None
    order: tuple[int, ...]


_FUNCTIONS: dict[tuple[str, ...], _Elementwise | None] = {}


def _elementwise(op: ir.Operation) -> _Elementwise | None:
    """Return the function that an op applies element by element; None where it does not."""
    if op.name in _WITH_BODIES:
        return _read_elementwise(op)
    key = meaning_key(op)
    if key not in _FUNCTIONS:
        _FUNCTIONS[key] = _read_elementwise(op)
    return _FUNCTIONS[key]


def meaning_key(op: ir.Operation) -> tuple[str, ...]:
    """Return a key of the function of a structured op without a body: equal for equal ops."""
    inherent = {*op.attributes} - {*discardable_attributes(op)}
    return (
        op.name,
        *(f"{name} = {op.attributes[name]}" for name in sorted(inherent)),
        *(_element_and_rank(value.type) for value in op.operands),
    )


def _element_and_rank(type: ir.Type) -> str:
    if not isinstance(type, ir.ShapedType):
        return str(type)
    shaped = ir.ShapedType(type)
    return f"{shaped.rank} x {shaped.element_type}"


def _read_elementwise(op: ir.Operation) -> _Elementwise | None:
    try:
        recognized = recognize(op)
    except (ArgumentError, RecognitionError):
        return None
    finally:
        forget_memoized_maps(op)
    definition = recognized.definition
    if len(definition.outputs) != 1 or definition.reduction_dims:
        return None
    (assignment,) = definition.assignments
    value = assignment.value
    if assignment.reads_target or not isinstance(value, Apply):
        return None
    if value.function.kind is FunctionKind.TYPE or value.attribute is not None:
        return None
    names = [operand.name for operand in definition.inputs]
    casts: set[Function] = set()
    order: list[int] = []
    is_select = value.function.name == "select"
    for position, arg in enumerate(value.args):
        if isinstance(arg, Apply) and arg.function.kind is FunctionKind.TYPE:
            if arg.type_var != assignment.target.type_var or (is_select and position == 0):
                return None
            casts.add(arg.function)
            arg = arg.args[0]
        if not isinstance(arg, (Access, ScalarOperand)):
            return None
        order.append(names.index(arg.operand))
    if (
        len(casts) > 1
        or len(recognized.inputs) != len(names)
        or set(order) != set(range(len(names)))
    ):
        return None
    return _Elementwise(value.function, next(iter(casts), None), tuple(order))
