"""`linalg_ext.contract` built by a transformation, which has checked already what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linalg_ext.bindings import ir
from linalg_ext.definition.affine import AffineDim, AffineMap
from linalg_ext.definition.functions import TYPE, Function
from linalg_ext.ir.context import ensure_dialects
from linalg_ext.notations.einsum.definitions import Semiring
from linalg_ext.structured.extension.attributes import (
    CAST,
    CONTRACT,
    KIND,
    MAPS,
    OVERWRITE,
    SEGMENTS,
    segments,
)
from linalg_ext.structured.extension.definitions import LETTERS
from linalg_ext.structured.utils.maps import maps_attribute

Labels = tuple[str, ...]

MOST_INPUTS = len(LETTERS)


def build_contract_op(
    inputs: Sequence[ir.Value],
    destination: ir.Value,
    labels: Sequence[Labels],
    dims: Sequence[str],
    *,
    kind: Semiring,
    cast: Function = TYPE["cast_signed"],
    overwrite: bool = False,
    attributes: Mapping[str, ir.Attribute] | None = None,
) -> ir.Operation:
    """Build the op at the current insertion point.

    Args:
        inputs: tensors and scalars, `MOST_INPUTS` at most.
        destination: a tensor.
        labels: the dimensions of each operand, the destination's last.
        dims: the iteration space, outermost first.
        kind: the semiring.
        cast: how inputs become what is computed in.
        overwrite: whether what the destination holds does not matter.
        attributes: discardable ones.
    """
    ensure_dialects(destination.context)
    maps = [AffineMap(tuple(dims), (), tuple(map(AffineDim, own))) for own in labels]
    said: dict[str, ir.Attribute] = {
        **(attributes or {}),
        MAPS: maps_attribute(maps),
        SEGMENTS: segments(len(inputs)),
    }
    if kind.name != "+*":
        said[KIND] = ir.StringAttr.get(kind.name)
    if cast != TYPE["cast_signed"]:
        said[CAST] = ir.Attribute.parse(f"#linalg.type_fn<{cast.name}>")
    if overwrite:
        said[OVERWRITE] = ir.UnitAttr.get()
    return ir.Operation.create(
        CONTRACT, results=[destination.type], operands=[*inputs, destination], attributes=said
    )
