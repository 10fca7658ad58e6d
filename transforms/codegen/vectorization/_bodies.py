"""The computation of a nest's body in one round: of vectors, or of one element.

An op on vectors is the op on scalars with vectors for operands. Positions become vectors along the
innermost loop. A load gives one element for all lanes, contiguous elements, or elements from
anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from linalg_ext.bindings import arith, ir, memref, vector
from linalg_ext.transforms.ir_utils.generics import loop_of
from linalg_ext.transforms.ir_utils.walking import producer

from ._rows import as_row, gather_row, load_row, on_rows, row_type
from .loop_nests import LOAD, Nest, is_in_rows

_EXTREMA = ("arith.maximumf", "arith.minimumf")

Key = tuple[Any, tuple[Any, ...]]
"""A memref and the positions along its axes: values, but None for 0 and for the vector's own."""


@dataclass(frozen=True)
class Member:
    """A nest in a loop, and the positions of the loops around it."""

    nest: Nest
    ivs: tuple[Any, ...]


@dataclass
class Pass:
    """One round of one of the loops.

    Attributes:
        lanes: elements of a vector.
        at: where the vector begins in the row.
        mask: which elements are in the row; None for all.
        streams: whether vectors are whole and aligned in the memory that is streamed to.
        fresh: which elements no round before had; None for all that the mask leaves.
        rows: vectors that were loaded or computed, by what they are the elements of.
        stores: those that are to be stored, and where.
    """

    lanes: int
    at: Any
    mask: Any | None
    streams: bool
    fresh: Any | None = None
    rows: dict[Key, Any] = field(default_factory=dict)
    stores: dict[Key, tuple[Any, list[Any]]] = field(default_factory=dict)


def computed(member: Member, depth: int, values: Sequence[Any], pass_: Pass | None) -> list[Any]:
    """Return the values that the body yields for these elements: rows, or scalars without a pass.

    Args:
        member: the nest, and the positions of its outer loops.
        depth: the loop over vectors.
        values: the elements of the operands; None for those that the body does not read.
        pass_: the round of loop `depth`; None outside of it.
    """
    yielded = member.nest.body.operations[len(member.nest.body.operations) - 1].operation.operands
    results = of_body(member, depth, values, pass_, list(yielded))
    return results if pass_ is None else [as_row(value, pass_.lanes) for value in results]


def of_body(
    member: Member,
    depth: int,
    values: Sequence[Any],
    pass_: Pass | None,
    wanted: Sequence[Any],
) -> list[Any]:
    """As `computed`, for values of the body that do not depend on operands that are None."""
    body = member.nest.body
    known: dict[Any, Any] = dict(zip(body.arguments, values, strict=True))
    outputs = list(body.arguments)[member.nest.inputs :]
    for op in (each.operation for each in body.operations):
        if op.name == "linalg.yield":
            break
        if any(value in known and known[value] is None for value in op.operands):
            known.update(dict.fromkeys(op.results))
            continue
        if op.name == "linalg.index":
            made = [_position(member, depth, op, pass_)]
        elif op.name == LOAD and pass_ is not None:
            made = [_loaded(op, known, pass_)]
        else:
            made = on_rows(op, _old_last(op, outputs), known)
        known.update(zip(op.results, made, strict=True))
    return [known.get(value, value) for value in wanted]


def _old_last(op: Any, outputs: Sequence[Any]) -> list[Any]:
    """The operands of an op; of an extremum of floats what an output held is the last.

    LLVM selects the first where it is NaN. Of what was loaded from where the result goes it would
    make a store under a mask, which some machines do element by element.
    """
    operands = list(op.operands)
    return operands[::-1] if op.name in _EXTREMA and operands[0] in outputs else operands


def _position(member: Member, depth: int, op: Any, pass_: Pass | None) -> Any:
    dim = loop_of(op)
    if dim < depth or pass_ is None:
        return member.ivs[dim]
    type_ = row_type(pass_.lanes, ir.IndexType.get())
    return arith.addi(vector.broadcast(type_, pass_.at), vector.step(type_))


def _loaded(op: Any, known: Mapping[Any, Any], pass_: Pass) -> Any:
    """Load one element for all lanes, contiguous elements, or elements from anywhere."""
    source, *places = op.operands
    where = [known.get(place, place) for place in places]
    is_along = [isinstance(place.type, ir.VectorType) for place in where]
    if not any(is_along):
        return memref.load(source, where)
    last = producer(places[-1])
    is_position = last is not None and last.name == "linalg.index"
    if is_position and not any(is_along[:-1]) and is_in_rows(source.type):
        return load_row(source, [*where[:-1], pass_.at], pass_.lanes, pass_.mask)
    return gather_row(source, where, pass_.lanes, pass_.mask)
