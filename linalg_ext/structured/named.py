"""A definition as upstream's named op, where upstream has one that means the same.

A name alone proves nothing: a user may call an op `matmul` that is another op, and upstream changes
its ops. So the named op is built once for each combination of definition, element types and
attributes beside the generic form, and its indexing maps, iterator types and body are compared.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

from linalg_ext.bindings import func, ir, linalg
from linalg_ext.definition.functions import UNARY
from linalg_ext.definition.model import OperandKind
from linalg_ext.definition.scalar import Apply
from linalg_ext.structured.generic import build_generic
from linalg_ext.structured.operands import BoundOp, bind

_verdicts: dict[tuple[object, ...], bool] = {}


def build_named(bound: BoundOp) -> ir.Operation | None:
    """Build upstream's named op at the current insertion point; None where there is none.

    Raises:
        DTypeError: the op has no meaning for its element types.
    """
    op_class = getattr(linalg, bound.definition.cpp_class_name, None)
    name = f"linalg.{bound.definition.name}"
    if op_class is None or getattr(op_class, "OPERATION_NAME", None) != name or bound.unsigned:
        return None
    key = (bound.definition, _signature(bound), bound.attributes.key)
    if key not in _verdicts:
        _verdicts[key] = _means_the_same(bound, op_class)
    return _build(bound, op_class) if _verdicts[key] else None


def _signature(bound: BoundOp) -> tuple[str, ...]:
    """Element types, and ranks where they decide the maps."""
    rank = (str(bound.rank),) if bound.definition.is_rank_polymorphic else ()
    types = tuple(f"{name}={element}" for name, element in bound.types.items())
    return (*types, *rank, *(type(value.type).__name__ for value in bound.outputs))


def _means_the_same(bound: BoundOp, op_class: Any) -> bool:
    """Whether upstream's op has the maps and the body of the generic form."""
    scratch = ir.Module.create(ir.Location.unknown())
    with ir.InsertionPoint(scratch.body):
        block, copies = _on_scratch_block(bound)
    with ir.InsertionPoint(block):
        generic = build_generic(copies)
        if any(len(accesses) > 1 for accesses in bound.definition.accesses.values()):
            return False
        if not _upstream_can_build(bound, generic):
            return False
        try:
            named = _build(copies, op_class)
            if not named.verify():
                return False
        except (ir.MLIRError, TypeError, ValueError, RuntimeError):
            return False
        return _fingerprint(generic) == _fingerprint(named)


def _upstream_can_build(bound: BoundOp, generic: ir.Operation) -> bool:
    """Whether upstream's body builder has an answer for every type: where it has none, it aborts.

    It knows floats for every function, integers for arithmetic, complex numbers for the four
    operations, booleans for sums and products.
    """
    functions = {e.function.name for e in bound.definition.expressions() if isinstance(e, Apply)}
    functions |= {function.name for function in bound.attributes.functions.values()}
    computing = functions - {"cast_signed", "cast_unsigned"}
    types = [argument.type for argument in generic.regions[0].blocks[0].arguments]
    for element in types:
        allowed: Set[str] = frozenset()
        if isinstance(element, ir.FloatType):
            allowed = computing - _ON_INTEGERS_ALONE
        elif isinstance(element, ir.ComplexType):
            allowed = _ON_COMPLEX
        elif isinstance(element, ir.IntegerType):
            allowed = _ON_BOOLEANS if element.width == 1 else computing - _ON_FLOATS_ALONE
        if not computing <= allowed and not (element == types[0] and "select" in computing):
            return False
    return True


_ON_FLOATS_ALONE = frozenset(UNARY) | {"powf"}
_ON_INTEGERS_ALONE = frozenset({"div_unsigned", "max_unsigned", "min_unsigned"})
_ON_COMPLEX = frozenset({"add", "sub", "mul", "div"})
_ON_BOOLEANS = frozenset({"add", "mul"})


def _on_scratch_block(bound: BoundOp) -> tuple[ir.Block, BoundOp]:
    """A block of a scratch function, and the same op on the block's arguments."""
    types = [value.type for value in (*bound.inputs, *bound.outputs)]
    block = func.FuncOp("scratch", (types, [])).add_entry_block()
    values = list(block.arguments)
    count = len(bound.inputs)
    copies = bind(
        bound.definition, values[:count], values[count:], bound.attributes, bound.unsigned
    )
    return block, copies


def _build(bound: BoundOp, op_class: Any) -> ir.Operation:
    op = op_class(bound.result_types, list(bound.inputs), list(bound.outputs))
    for name, values in bound.attributes.given.items():
        op.operation.attributes[name] = _index_vector(values)
    for operand in bound.definition.attributes:
        if operand.kind is OperandKind.INDEX_ATTR:
            continue
        function = bound.attributes.functions[operand.name]
        kind = operand.kind.value.removesuffix("_attr")
        op.operation.attributes[operand.name] = ir.Attribute.parse(
            f"#linalg.{kind}<{function.name}>"
        )
    linalg.fill_builtin_region(op.operation)
    return op.operation  # type: ignore[no-any-return]


def _index_vector(values: Sequence[int]) -> ir.Attribute:
    integer = ir.IntegerType.get_signless(64)
    vector = ir.RankedTensorType.get([len(values)], integer)
    return ir.DenseElementsAttr.get([ir.IntegerAttr.get(integer, v) for v in values], vector)


def _fingerprint(op: ir.Operation) -> tuple[str, str]:
    """The indexing maps and the body; which dimensions are reductions follows from the maps."""
    block = op.regions[0].blocks[0]
    numbers: dict[ir.Value, str] = {a: f"a{i}" for i, a in enumerate(block.arguments)}
    body = []
    for position, inner in enumerate(block.operations):
        operands = [numbers.get(operand, "?") for operand in inner.operands]
        attributes = {name: str(value) for name, value in inner.attributes.items()}
        types = [str(result.type) for result in inner.results]
        body.append((inner.operation.name, operands, types, attributes))
        numbers.update((result, f"v{position}") for result in inner.results)
    return str(linalg.get_indexing_maps(op)), str(body)
