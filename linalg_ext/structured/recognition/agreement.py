"""An op that takes the place of another computes what that one did: seen, not believed.

Upstream's ops change. So an op that was built by its name and its attributes is read back, once for
each kind of op, and what does not say the same is taken away again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from linalg_ext.bindings import ir
from linalg_ext.errors import RecognitionError
from linalg_ext.structured.recognition.definitions import RecognizedOp, recognize

_verdicts: dict[tuple[object, ...], bool] = {}


def kept_if_same(
    built: ir.Operation, recognized: RecognizedOp, order: Sequence[int]
) -> ir.Operation | None:
    """An op that was just built, where it computes what another computes; else None, and no op.

    Args:
        built: the new op, which nothing uses yet; it has no discardable attributes.
        recognized: what it was built for.
        order: for each of its inputs, which input of the other op it is.
    """
    attributes = tuple((name, str(value)) for name, value in built.attributes.items())
    types = tuple(recognized.types.items())
    key = (built.name, attributes, recognized.definition, types, tuple(order))
    if key not in _verdicts:
        _verdicts[key] = _is_same(built, recognized, order)
    if _verdicts[key]:
        return built
    built.erase()
    return None


def _is_same(built: ir.Operation, recognized: RecognizedOp, order: Sequence[int]) -> bool:
    try:
        found = recognize(built)
    except RecognitionError:
        return False
    definition = recognized.definition
    inputs = tuple(definition.inputs[position] for position in order)
    if len(set(order)) != len(order):
        return _is_same_of_repeated(built, recognized)
    wanted = replace(definition, operands=(*inputs, *definition.outputs))
    return found.definition.equivalent(wanted)


def _is_same_of_repeated(built: ir.Operation, recognized: RecognizedOp) -> bool:
    """Return whether the ops agree when inputs that are one value are merged, as in `x + x`."""
    merged = recognize(built, merge_inputs=True)
    same_values = merged.inputs == recognized.inputs
    return same_values and merged.definition.equivalent(recognized.definition)
