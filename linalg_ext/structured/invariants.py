"""The rules of destination-style ops, checked on any op.

Of the RFC and its discussion: every destination is a ranked tensor or buffer; tensors and buffers
are never mixed; on tensors there is one result for each destination, of its type; on buffers there
are no results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, DTypeError, LinalgExtError, ShapeError, counted
from linalg_ext.structured.maps import place_of


def is_tensor(type_: ir.Type) -> bool:
    """A tensor, ranked or not."""
    return isinstance(type_, ir.RankedTensorType | ir.UnrankedTensorType)


def is_buffer(type_: ir.Type) -> bool:
    """A memref, ranked or not."""
    return isinstance(type_, ir.MemRefType | ir.UnrankedMemRefType)


def is_shaped(type_: ir.Type) -> bool:
    """A tensor or buffer. All else is a scalar to these interfaces, vectors included."""
    return is_tensor(type_) or is_buffer(type_)


def check(op: ir.Operation, inits: Sequence[int]) -> None:
    """Check the rules on an op; an ArgumentError with the first broken one, the rest as notes."""
    broken = list(broken_rules(op, inits))
    if broken:
        first, *rest = broken
        first.notes = tuple(f"and {error.what}" for error in rest)
        raise first


def broken_rules(op: ir.Operation, inits: Sequence[int]) -> Iterator[LinalgExtError]:
    """An error for each rule that an op breaks."""
    for error in _broken(op, inits):
        error.where = place_of(op)  # printed for errors alone: it takes longer than the check
        yield error


def _broken(op: ir.Operation, inits: Sequence[int]) -> Iterator[LinalgExtError]:
    for position in inits:
        if not 0 <= position < len(op.operands):
            yield ArgumentError(
                f"{op.name} has {counted(len(op.operands), 'operand')}: there is no destination at "
                f"position {position}"
            )
            return
    yield from _of_types(op, inits)
    yield from _of_results(op, inits)


def _of_types(op: ir.Operation, inits: Sequence[int]) -> Iterator[LinalgExtError]:
    for position, value in enumerate(op.operands):
        if isinstance(value.type, ir.UnrankedTensorType | ir.UnrankedMemRefType):
            yield ShapeError(
                f"operand {position} of {op.name} is of type {value.type}, which has no rank",
                hint="give it one: tensor.cast or memref.cast to tensor<?x...> or memref<?x...>",
            )
        elif position in inits and not is_shaped(value.type):
            yield DTypeError(
                f"operand {position} of {op.name} is of type {value.type}: no destination",
                expected="a ranked tensor or memref",
                hint=f"carry it in a tensor of rank 0, tensor<{value.type}>",
            )
    tensors = [i for i, value in enumerate(op.operands) if is_tensor(value.type)]
    buffers = [i for i, value in enumerate(op.operands) if is_buffer(value.type)]
    if tensors and buffers:
        yield DTypeError(
            f"{op.name} mixes tensors and buffers: operand {tensors[0]} is of type "
            f"{op.operands[tensors[0]].type}, operand {buffers[0]} of type "
            f"{op.operands[buffers[0]].type}",
            expected="tensors alone, or buffers alone",
            hint="turn one into the other with bufferization.to_tensor or to_buffer",
        )


def _of_results(op: ir.Operation, inits: Sequence[int]) -> Iterator[LinalgExtError]:
    types = [op.operands[position].type for position in inits]
    if not all(map(is_shaped, types)):
        return  # which of them have results is not to be said
    tensors = [type_ for type_ in types if is_tensor(type_)]
    if len(op.results) != len(tensors):
        count = len(tensors)
        kind = (
            "on buffers"
            if types and not tensors
            else f"with {counted(count, 'tensor')} to write to"
        )
        yield ArgumentError(
            f"{op.name} {kind} has {counted(len(op.results), 'result')}",
            expected=f"{count}: one for each destination that is a tensor",
        )
        return
    for number, (result, type_) in enumerate(zip(op.results, tensors, strict=True)):
        if result.type != type_:
            yield DTypeError(
                f"result {number} of {op.name} is of type {result.type}, and the destination that "
                f"it is tied to of type {type_}",
                expected="one type for both",
            )
