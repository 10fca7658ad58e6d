"""A definition as upstream's named op, where upstream has one that means the same.

A name alone proves nothing: a user may call an op `matmul` that is another op, and upstream changes
its ops. So the named op is built once for each combination of definition, element types and
attributes beside the generic form, and its indexing maps, iterator types and body are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import func, ir, linalg
from linalg_ext.structured.payload.generic import build_generic
from linalg_ext.structured.utils.operands import BoundOp, bind

_verdicts: dict[tuple[object, ...], bool] = {}


def build_named(bound: BoundOp) -> ir.Operation | None:
    """Build upstream's named op at the current insertion point; None if absent.

    Raises:
        DTypeError: the op has no meaning for its element types.
    """
    op_class = getattr(linalg, bound.definition.cpp_class_name, None)
    name = f"linalg.{bound.definition.name}"
    if op_class is None or getattr(op_class, "OPERATION_NAME", None) != name or bound.unsigned:
        return None
    key = (bound.definition, _signature(bound), bound.attributes.key)
    if key not in _verdicts:
        _verdicts[key] = _means_the_same(bound)
    return _build(bound, op_class) if _verdicts[key] else None


def _signature(bound: BoundOp) -> tuple[str, ...]:
    """Element types, and ranks where they decide the maps."""
    rank = (str(bound.rank),) if bound.definition.is_rank_polymorphic else ()
    types = tuple(f"{name}={element}" for name, element in bound.types.items())
    return (*types, *rank, *(type(value.type).__name__ for value in bound.outputs))


def _means_the_same(bound: BoundOp) -> bool:
    """Return whether upstream's op has the maps and the body of the generic form."""
    if any(len(accesses) > 1 for accesses in bound.definition.accesses.values()):
        return False
    scratch = ir.Module.create(ir.Location.unknown())
    with ir.InsertionPoint(scratch.body):
        block, copies = _on_scratch_block(bound)
    with ir.InsertionPoint(block):
        generic = build_generic(copies)
    try:
        # Parsed, not built: for operands or element types that it does not expect, upstream's
        # body builder kills the process, and the parser reports an error.
        parsed = ir.Module.parse(_named_text(bound))
    except ir.MLIRError:
        return False
    named = parsed.body.operations[0].regions[0].blocks[0].operations[0].operation
    return _fingerprint(generic) == _fingerprint(named)


def _named_text(bound: BoundOp) -> str:
    """A module whose first op is the named op on arguments of a function."""
    values = (*bound.inputs, *bound.outputs)
    names = [f"%{position}" for position in range(len(values))]
    arguments = ", ".join(f"{n}: {v.type}" for n, v in zip(names, values, strict=True))
    count = len(bound.inputs)
    ins = _group("ins", names[:count], bound.inputs)
    outs = _group("outs", names[count:], bound.outputs)
    results = ", ".join(map(str, bound.result_types))
    left = f"%r:{len(bound.result_types)} = " if results else ""
    arrow = f" -> {results}" if results else ""
    attributes = ", ".join(f"{name} = {value}" for name, value in _attributes(bound).items())
    op = f"{left}linalg.{bound.definition.name} {{{attributes}}}{ins}{outs}{arrow}"
    return f"func.func @scratch({arguments}) {{ {op}\n return }}"


def _group(keyword: str, names: Sequence[str], values: Sequence[ir.Value]) -> str:
    types = ", ".join(str(value.type) for value in values)
    return f" {keyword}({', '.join(names)} : {types})" if names else ""


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
    for name, value in _attributes(bound).items():
        op.operation.attributes[name] = value
    linalg.fill_builtin_region(op.operation)
    return op.operation  # type: ignore[no-any-return]


def _attributes(bound: BoundOp) -> dict[str, ir.Attribute]:
    """The attributes of the named op that are no defaults."""
    attributes = {name: _index_vector(values) for name, values in bound.attributes.given.items()}
    for operand in bound.definition.attributes:
        if operand.kind.is_function_attribute:
            function = bound.attributes.functions[operand.name]
            if function == operand.default:
                continue
            kind = operand.kind.value.removesuffix("_attr")
            attributes[operand.name] = ir.Attribute.parse(f"#linalg.{kind}<{function.name}>")
    return attributes


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
