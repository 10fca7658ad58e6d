"""Control flow in the kernel: `lx.loop` (scf.for, scf.while) and `lx.cond` (scf.if).

    state = lx.loop(10, lambda i, x: x - step * gradient(x), x0)
    state = lx.loop(lambda x: norm(x) > 1e-6, lambda x: x / 2, x0)
    y = lx.cond(x.sum() > 0, lambda x: x, lambda x: -x, x)

Outside of a trace they run as plain Python, so that a function means the same without `lx.jit`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linalg_ext.bindings import ir, scf, tensor
from linalg_ext.errors import ArgumentError, ShapeError, located
from linalg_ext.runtime.dtypes import DType
from linalg_ext.tracing.functions.slicing import index_of
from linalg_ext.tracing.values.containers import Structure, flatten, unflatten
from linalg_ext.tracing.values.conversion import arrays_of, as_traced, cast_to, is_weak, of_element
from linalg_ext.tracing.values.elements import of_index
from linalg_ext.tracing.values.emission import (
    branch,
    counted,
    shape_text,
    tensor_type,
    while_holds,
)
from linalg_ext.tracing.values.sizes import Shape, Size, same
from linalg_ext.tracing.values.tensor_ops import as_type
from linalg_ext.tracing.values.trace import at_users_line, running
from linalg_ext.tracing.values.traced import Traced, current_trace, xp
from linalg_ext.tracing.values.unsupported import refuse

_Kind = tuple[Shape, DType]

_WRITTEN = (
    "an array is used after the body of a loop wrote into it",
    "take the result of the loop, or start the loop from x.copy()",
)


@located
def loop(control: Any, body: Callable[..., Any], state: Any) -> Any:
    """Run a loop in the kernel, which carries a state.

    Args:
        control: the number of rounds: an integer, a traced one, or a size; or the condition to go
            on: a function of the state that gives a boolean of rank 0.
        body: makes the new state of the old one; a counted loop gives it the number of the round
            first, an int64 of rank 0.
        state: an array, or a container of arrays. It keeps its shapes and dtypes.

    Returns:
        The state after the last round.

    Raises:
        ArgumentError: of the kind that tells how the new state differs from the old one.

    Example:
        >>> lx.loop(3, lambda i, x: x * 2, np.ones(2))
        array([8., 8.])
    """
    leaves, structure = flatten(state)
    if not leaves:
        raise ArgumentError("loop with an empty state")
    if running() is None:
        return _plain_loop(control, body, state)
    values = arrays_of(*leaves)
    kinds = [(value.shape, value.dtype) for value in values]

    def entered(carried: Sequence[ir.Value]) -> Any:
        inside = _traced(carried, kinds)
        for value, outside in zip(inside, leaves, strict=True):
            value.is_argument = isinstance(outside, Traced) and outside.is_argument
        entries.extend(zip(inside, leaves, strict=True))
        return unflatten(structure, inside)

    def left(returned: Any) -> list[ir.Value]:
        return _returned("loop", structure, returned, kinds)

    entries: list[tuple[Traced, Any]] = []
    initial = [_own(value) for value in values]
    with at_users_line():
        if callable(control):

            def holds(carried: list[ir.Value]) -> ir.Value:
                return _truth("loop", control(entered(carried)))

            results = while_holds(initial, holds, lambda carried: left(body(entered(carried))))
        else:
            count = _count(control)

            def round_(at: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
                return left(body(of_element(of_index(at)), entered(carried)))

            results = counted(count, initial, round_)
    for inside, outside in entries:
        if inside.is_written and isinstance(outside, Traced):
            outside.lost = _WRITTEN
    return unflatten(structure, _traced(results, kinds))


def _plain_loop(control: Any, body: Callable[..., Any], state: Any) -> Any:
    if callable(control):
        while bool(control(state)):
            state = body(state)
        return state
    for number in range(int(control)):
        state = body(np.int64(number), state)
    return state


@located
def cond(
    condition: Any, then: Callable[..., Any], otherwise: Callable[..., Any], *operands: Any
) -> Any:
    """Run one of two functions in the kernel, by a condition.

    Args:
        condition: a boolean of rank 0.
        then, otherwise: functions of the operands; their results have the same shapes and dtypes.
        operands: arrays, or containers of arrays.

    Returns:
        The result of the chosen one.

    Raises:
        ArgumentError: the two give different shapes or dtypes.

    Example:
        >>> lx.cond(np.True_, lambda x: x + 1, lambda x: x - 1, np.zeros(2))
        array([1., 1.])
    """
    if running() is None or not isinstance(condition, Traced):
        return (then if bool(condition) else otherwise)(*operands)
    with at_users_line():
        chosen = _truth("cond", condition)
        # The types of the results are known once a branch is recorded; this record is thrown away.
        kinds, structure = _kinds_of(then, operands)
        other_kinds, other = _kinds_of(otherwise, operands)
        if other != structure or len(kinds) != len(other_kinds):
            raise ArgumentError(
                f"cond: one branch gives {structure}, the other {other}",
                expected="the same from both",
            )
        common = [
            (shape, np.result_type(dtype, second))
            for (shape, dtype), (_, second) in zip(kinds, other_kinds, strict=True)
        ]
        types = [tensor_type(*kind) for kind in common]
        results = branch(
            chosen,
            types,
            lambda: _returned("cond", structure, then(*operands), common),
            lambda: _returned("cond", structure, otherwise(*operands), common),
        )
    return unflatten(structure, _traced(results, common))


def _kinds_of(function: Callable[..., Any], operands: Any) -> tuple[list[_Kind], Structure]:
    """Return the shapes and dtypes that a function gives, and how they are contained."""
    false = _truth("cond", as_traced(np.False_))
    trial = scf.IfOp(false, [])
    try:
        with ir.InsertionPoint(trial.then_block), current_trace().region():
            leaves, structure = flatten(function(*operands))
            kinds = [(value.shape, value.dtype) for value in map(as_traced, leaves)]
    finally:
        trial.operation.erase()
    return kinds, structure


def _returned(
    name: str, structure: Structure, value: Any, kinds: Sequence[_Kind]
) -> list[ir.Value]:
    """Return the tensors of the result of a body.

    Raises:
        ArgumentError: it is other than expected.
    """
    leaves, own = flatten(value)
    if own != structure:
        raise ArgumentError(
            f"{name}: the function gives {own}",
            expected=f"{structure}, as the state is" if name == "loop" else None,
        )
    trace = current_trace()
    tensors = []
    for leaf, (shape, dtype) in zip(leaves, kinds, strict=True):
        traced = as_traced(leaf)
        if traced.dtype != dtype and not is_weak(leaf) and name == "loop":
            raise ArgumentError(
                f"loop: the function gives {traced.dtype} for a state of {dtype}",
                hint=f"cast it with .astype({str(dtype)!r}), or start from {traced.dtype}",
            )
        traced = cast_to(traced, dtype)
        call = f"{name} of a state of shape {shape_text(shape)}"
        fits = traced.ndim == len(shape) and all(
            trace.agree(x, y, call) for x, y in zip(traced.shape, shape, strict=True)
        )
        if not fits:
            reason = "which the state had before" if name == "loop" else "as the other branch gives"
            raise ShapeError(
                f"{name}: the function gives shape {shape_text(traced.shape)}",
                expected=f"{shape_text(shape)}, {reason}",
            )
        tensors.append(_own(traced))
    return tensors


def _own(value: Traced) -> ir.Value:
    """Return the value as a tensor of the type that its shape and dtype say."""
    return as_type(value.value, tensor_type(value.shape, value.dtype))


def _traced(values: Sequence[ir.Value], kinds: Sequence[_Kind]) -> list[Traced]:
    return [Traced(v, dtype, shape) for v, (shape, dtype) in zip(values, kinds, strict=True)]


def _truth(name: str, value: Any) -> ir.Value:
    traced = as_traced(value)
    if any(same(size, 1) is not True for size in traced.shape):
        raise ShapeError(
            f"{name}: the condition has shape {shape_text(traced.shape)}",
            expected="one boolean, of rank 0",
            hint="say which: np.all(condition), np.any(condition)",
        )
    scalar = xp.reshape(cast_to(traced, np.bool_), ())
    result: ir.Value = tensor.ExtractOp(scalar.value, []).result
    return result


def _count(control: Any) -> ir.Value:
    if isinstance(control, Size | int | np.integer) and not isinstance(control, bool):
        size = control if isinstance(control, Size) else int(control)
        return current_trace().value(size if isinstance(size, Size) else max(size, 0))
    if not isinstance(control, Traced) or control.ndim or control.dtype.kind not in "iu":
        refuse(
            f"a loop of {control!r} rounds",
            "give an integer, a traced integer of rank 0, or a function of the state",
        )
    return index_of(control)
