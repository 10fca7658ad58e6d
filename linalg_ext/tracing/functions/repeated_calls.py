"""Calls that a trace has recorded before, on values of the same types: their ops are copied.

A model makes the same calls in each of its layers. The second call of a kind is recorded apart, in
a function of its own, with arguments in the place of its traced values; that call and those of its
kind that follow take a copy of the ops in it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from linalg_ext.bindings import func, ir
from linalg_ext.tracing.values.containers import Structure, as_key, flatten, mapped, unflatten
from linalg_ext.tracing.values.trace import Trace, running, users_location
from linalg_ext.tracing.values.traced import Traced

Record: TypeAlias = Callable[[tuple[Any, ...], Mapping[str, Any]], Any]

_COPIED = ("arith.", "complex.", "linalg.", "math.", "tensor.")
"""Name prefixes of ops that say nothing of the line they are from, and call nothing."""

_NUMBERS = (bool, int, float, complex)


def record_once(
    called: Hashable, record: Record, values: tuple[Any, ...], options: Mapping[str, Any]
) -> Any:
    """Return the result of `record` for values and options, from a copy of its ops if known.

    Args:
        called: the function that `record` records; it runs no code of the user's.
    """
    trace = running()
    operands: list[Traced] = []
    if trace is None or trace.known:
        return record(values, options)
    key: Hashable = None
    with suppress(_Unknown):
        named = [(name, _kind(value, operands)) for name, value in options.items()]
        key = called, _kind(values, operands), *named
    if key is None or key not in trace.recorded:
        trace.recorded[key] = None
        return record(values, options)
    if trace.recorded[key] is None:
        trace.recorded[key] = _apart(trace, record, values, options, operands)
    known = trace.recorded[key]
    return record(values, options) if known is _UNLIKE else known.copied(operands)


class _Unknown(Exception):
    """A value is neither traced nor a plain constant."""


def _kind(value: Any, operands: list[Traced]) -> Hashable:
    """Return all that a recording can depend on of a value; the traced ones go to `operands`.

    Raises:
        _Unknown: the value may be anything.
    """
    kind = type(value)
    if kind is Traced:
        return _kind_of_traced(value, operands)
    if kind is tuple or kind is list:
        return kind, *[_kind(item, operands) for item in value]
    if kind in _NUMBERS or kind is str or value is None or isinstance(value, np.dtype):
        key: Hashable = as_key(value)
        return key
    raise _Unknown


def _kind_of_traced(value: Traced, operands: list[Traced]) -> Hashable:
    tensor, shape = value.tensor, value.shape
    if value.line is not None or any(type(size) is not int for size in shape):
        raise _Unknown
    first = _first(tensor, operands)
    operands.append(value)
    flags = value.is_array, value.is_argument, value.is_in_rows
    return first, value.dtype, shape, value.axes, value.weak, flags, tensor.type


@dataclass(frozen=True, slots=True)
class _Op:
    """An op to copy: for each operand the number of a value, of operands and then of results."""

    op: ir.Operation
    operands: Sequence[int]
    has_body: bool


@dataclass(frozen=True, slots=True)
class _Result:
    """A result: an operand itself, or a value like another, made of the tensor of a number."""

    operand: int | None
    tensor: int
    like: Traced


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A call that was recorded apart: its ops in a module, and its results in their containers."""

    module: ir.Module
    ops: Sequence[_Op]
    results: Sequence[_Result]
    structure: Structure

    def copied(self, operands: Sequence[Traced]) -> Any:
        """Copy the ops to the insertion point, at the user's line, for other operands."""
        values: list[Any] = [operand.tensor for operand in operands]
        location = users_location()
        for op, sources, has_body in ((own.op, own.operands, own.has_body) for own in self.ops):
            copy = op.clone().operation
            for number, source in enumerate(sources):
                copy.operands[number] = values[source]
            if location is not None and has_body:
                copy.walk(lambda inner: _locate(inner, location))
            elif location is not None:
                copy.location = location
            values += copy.results
        return unflatten(
            self.structure, [_result_of(own, values, operands) for own in self.results]
        )


def _locate(op: ir.Operation, location: ir.Location) -> ir.WalkResult:
    op.location = location
    return ir.WalkResult.ADVANCE


def _result_of(result: _Result, values: Sequence[Any], operands: Sequence[Traced]) -> Traced:
    if result.operand is not None:
        return operands[result.operand]
    return _stand_in(values[result.tensor], result.like)


_UNLIKE: Any = object()
"""Stands for a call that is recorded each time."""


def _apart(
    trace: Trace,
    record: Record,
    values: tuple[Any, ...],
    options: Mapping[str, Any],
    operands: Sequence[Traced],
) -> Any:
    """Record a call in a function of its own; `_UNLIKE` where another call cannot copy its ops."""
    firsts = [_first(operand.tensor, operands) for operand in operands]
    types = [operand.tensor.type for at, operand in enumerate(operands) if firsts[at] == at]
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        function = func.FuncOp("call", (types, []))
    block = function.add_entry_block()
    remaining = iter(block.arguments)
    tensors = {first: next(remaining) for first in dict.fromkeys(firsts)}
    own: dict[int, Traced] = {}
    for first, operand in zip(firsts, operands, strict=True):
        own.setdefault(id(operand), _stand_in(tensors[first], operand))
    own_values, own_options = mapped(lambda leaf: own.get(id(leaf), leaf), (values, dict(options)))
    demands, callbacks = len(trace.demands), len(trace.callbacks)
    with ir.InsertionPoint(block):
        result = record(own_values, own_options)
    numbers = {tensor: first for first, tensor in tensors.items()}
    ops: list[Any] = []
    count = len(operands)
    for view in block.operations:
        ops.append(_op(view.operation, numbers))
        numbers |= {value: count + at for at, value in enumerate(view.operation.results)}
        count += len(view.operation.results)
    leaves, structure = flatten(result)
    stand_ins = [own[id(operand)] for operand in operands]
    results: list[Any] = [_result(leaf, stand_ins, numbers) for leaf in leaves]
    is_alike = (len(trace.demands), len(trace.callbacks)) == (demands, callbacks)
    if is_alike and None not in ops and None not in results:
        return _Recorded(module, ops, results, structure)
    del trace.demands[demands:], trace.callbacks[callbacks:]
    return _UNLIKE


def _first(tensor: ir.Value, operands: Sequence[Traced]) -> int:
    """Return the place of the first operand that reads a tensor; their number where none does."""
    places = (at for at, operand in enumerate(operands) if operand.tensor == tensor)
    return next(places, len(operands))


def _stand_in(tensor: ir.Value, like: Traced) -> Traced:
    stand_in = Traced(tensor, like.dtype, like.shape, like.axes, weak=like.weak)
    stand_in.is_array, stand_in.is_argument = like.is_array, like.is_argument
    stand_in.is_in_rows = like.is_in_rows
    return stand_in


def _op(op: Any, numbers: Mapping[Any, int]) -> _Op | None:
    """Return an op to copy; None where it, or its body, takes a value that has no number."""
    operands = [numbers.get(value) for value in op.operands]
    known = [number for number in operands if number is not None]
    inside: set[Any] = set()

    def is_own(inner: Any) -> bool:
        inside.update(inner.results)
        for region in inner.regions:
            for block in region:
                inside.update(block.arguments)
        return inner == op or all(value in inside for value in inner.operands)

    nested: list[bool] = []

    def visit(inner: Any) -> ir.WalkResult:
        nested.append(inner.name.startswith(_COPIED) and is_own(inner))
        return ir.WalkResult.ADVANCE

    op.walk(visit, ir.WalkOrder.PRE_ORDER)
    if len(known) < len(operands) or not all(nested):
        return None
    return _Op(op, known, len(nested) > 1)


def _result(leaf: Any, arguments: Sequence[Traced], numbers: Mapping[Any, int]) -> _Result | None:
    """Return a result to make again; None if it is neither new nor an operand."""
    if type(leaf) is not Traced or leaf.tensor not in numbers:
        return None
    operand = next((at for at, argument in enumerate(arguments) if argument is leaf), None)
    if leaf.base is not None or leaf.line is not None or leaf.is_written:
        return None
    return _Result(operand, numbers[leaf.tensor], leaf)
