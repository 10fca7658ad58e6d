"""Fingerprints of structured ops: keys that are equal where name, types, maps and body are."""

from __future__ import annotations

from linalg_ext.bindings import ir, linalg

_WITH_BODY_OF_ITS_OWN = frozenset(("linalg.generic", "linalg.map", "linalg.reduce"))
"""Ops whose body their author writes."""


def fingerprint(op: ir.Operation) -> tuple[object, ...] | None:
    """The name, types, indexing maps and body of an op with a region, discardable attributes not.

    None where the body uses a value from outside that is no constant: which one it is would not be
    said.
    """
    types = tuple(str(operand.type) for operand in op.operands)
    if op.name not in _WITH_BODY_OF_ITS_OWN:
        # Its maps and body follow from these; an attribute with a dot is discardable.
        own = ((name, str(value)) for name, value in op.attributes.items() if "." not in name)
        return (op.name, types, *own)
    body = _body(op.regions[0].blocks[0])
    if body is None:
        return None
    maps, kinds = str(linalg.get_indexing_maps(op)), None
    if "iterator_types" in op.attributes:
        kinds = str(op.attributes["iterator_types"])
    return (op.name, types, maps, kinds, body)


def _body(block: ir.Block) -> tuple[object, ...] | None:
    numbers: dict[ir.Value, object] = {a: i for i, a in enumerate(block.arguments)}
    said: list[object] = []
    for view in block.operations:
        op = view.operation
        if len(op.regions):
            return None
        operands = [numbers.get(operand) for operand in op.operands]
        if None in operands:
            operands = [_known(value, numbers) for value in op.operands]
            if None in operands:
                return None
        attributes = tuple((name, str(value)) for name, value in op.attributes.items())
        results = tuple(str(result.type) for result in op.results)
        said.append((op.name, tuple(operands), attributes, results))
        for result in op.results:
            numbers[result] = len(numbers)
    return tuple(said)


def _known(value: ir.Value, numbers: dict[ir.Value, object]) -> object:
    """The number of a value of the body, or what a constant from outside it is."""
    if value in numbers:
        return numbers[value]
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "arith.constant":
        return None
    return str(owner.operation.attributes["value"])
