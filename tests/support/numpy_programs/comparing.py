"""A program under `jit`, each step of it beside NumPy's answer on the same operands."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

import linalg_ext as lx
from linalg_ext.errors import ArgumentError, ExecutionError, LinalgExtError
from numpy_programs.arrays import Array, is_float
from numpy_programs.differences import ALLOWED, allowed_error, allowed_kind, is_elementwise
from numpy_programs.drawing import by_numpy
from numpy_programs.program import Input, Program, Result, Step, flat

_EXACT = {
    *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "negative"),
    *("positive", "fabs", "sign", "signbit", "maximum", "minimum", "fmax", "fmin"),
    *("floor", "ceil", "trunc", "rint", "copysign", "heaviside", "conjugate", "modf", "divmod"),
    *("nan_to_num", "clip", "where", "sort", "fix", "sqrt", "square", "reciprocal"),
}
"""Functions that are rounded once, or not at all."""
_MOVED = {"isclose", "allclose", "histogram", "unwrap", "digitize"}
"""Functions with integers or booleans for results that rounding may change."""
_ULPS = 8
"""Elementary functions are at most 4 units off, and so are NumPy's."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a step.

    Attributes:
        kind: equal, allowed, refused, both (raise), or failed.
        step: the step, as text.
        name: of what it calls.
        detail: the row of the table that allows it, the error, or the difference.
    """

    kind: str
    step: str
    name: str
    detail: str = ""


def outcomes(program: Program) -> list[Outcome]:
    """Run a program and compare all its steps; those behind one that raises are left out.

    One of open sizes is called with arrays of other sizes, too.
    """
    if not program.steps:
        return []
    reached = 0
    counts: list[int] = []
    others: dict[int, Any] = {}

    def traced(*inputs: Any) -> Any:
        nonlocal reached
        results: list[Any] = []
        counts.clear()
        others.clear()
        for number, step in enumerate(program.steps):
            reached = number
            found = flat(step(inputs, results))
            counts.append(len(found))
            for leaf in found:
                if isinstance(leaf, np.dtype):
                    others[len(results)] = leaf
                results.append(leaf)
        reached = len(program.steps)
        return [0 if number in others else leaf for number, leaf in enumerate(results)]

    function = lx.jit(traced, dynamic=program.dynamic)

    def compared(of: Program) -> list[Outcome]:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            inputs = [np.array(x) if isinstance(x, np.ndarray) else x for x in of.inputs]
            found = function(*inputs)
        results = [others.get(number, leaf) for number, leaf in enumerate(found)]
        return _compared(of, results, counts)

    try:
        found = compared(program)
    except Exception as error:
        if reached == len(program.steps):  # not while it was recorded
            reached = _first_to_raise(program)
        before = Program(program.inputs, program.steps[:reached], program.dynamic)
        return [*outcomes(before), _raised(program, reached, error)]
    if not program.dynamic:
        return found
    resized = replace(program, inputs=[_resized(each) for each in program.inputs])
    try:
        return [*found, *compared(resized)]
    except Exception as error:
        return [*found, _raised(resized, _first_to_raise(resized), error)]


def _resized(value: Any) -> Any:
    """An array of other sizes, where these are open: for one size everywhere the same one."""
    if not isinstance(value, np.ndarray) or not value.size:
        return value
    return np.resize(value, [n + n // 3 + 1 if n > 1 else n for n in value.shape])


def _first_to_raise(program: Program) -> int:
    """Return the step at which NumPy raises, else the last: the run itself does not tell."""
    results: list[Any] = []
    for number, step in enumerate(program.steps):
        try:
            results += flat(by_numpy(step, program.inputs, results))
        except Exception:
            return number
    return len(program.steps) - 1


def _raised(program: Program, place: int, error: Exception) -> Outcome:
    step = program.steps[place]
    results: list[Any] = []
    other: Exception | None = None
    try:
        for each in program.steps[: place + 1]:
            results += flat(by_numpy(each, program.inputs, results))
    except Exception as raised:
        other = raised
    text = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    is_ours = isinstance(error, ArgumentError | ExecutionError)
    # A message of NumPy's own, about arguments that never came to us, is as good.
    is_ours = is_ours or (other is not None and str(other) == str(error))
    if not is_ours:
        where = traceback.extract_tb(error.__traceback__)[-1]
        text += f" [{where.filename.rpartition('/')[2]}:{where.lineno}]"
        if isinstance(error, LinalgExtError):
            text += str(error)[:600]
        return _outcome("failed", step, f"foreign {text}")
    return _outcome("refused" if other is None else "both", step, text)


def _outcome(kind: str, step: Step, detail: str = "") -> Outcome:
    name = step.name if step.kind in ("function", "ufunc") else f"{step.kind} {step.name}"
    return Outcome(kind, repr(step), name, detail)


def _compared(program: Program, results: Sequence[Any], counts: Sequence[int]) -> list[Outcome]:
    done: list[Outcome] = []
    start = 0
    for step, count in zip(program.steps, counts, strict=True):
        found, start = results[start : start + count], start + count
        try:
            expected = flat(by_numpy(step, program.inputs, results))
        except Exception as error:
            text = f"NumPy raises {type(error).__name__}: {error}; found {_text(found[0])}"
            row = allowed_error(step, operands(program, step, results), error)
            done.append(_outcome("allowed" if row else "failed", step, row or text))
            continue
        if len(expected) != len(found):
            done.append(_outcome("failed", step, f"{len(found)} results, not {len(expected)}"))
            continue
        outcome = _outcome("equal", step)
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            wrong = _difference(program, step, results, number, one, other)
            if wrong is not None:
                outcome = _outcome(*wrong)
                if wrong[0] == "failed":
                    break
        done.append(outcome)
    return done


def _difference(
    program: Program, step: Step, results: Sequence[Any], number: int, found: Any, expected: Any
) -> tuple[str, Step, str] | None:
    if isinstance(expected, np.dtype):
        return None if found == expected else ("failed", step, f"{found}, not {expected}")
    one, other = np.asarray(found), np.asarray(expected)
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        row = allowed_kind(step, operands(program, step, results), one, other)
        if row is not None:
            return "allowed", step, row
        text = f"{one.dtype}{one.shape}, not {other.dtype}{other.shape}"
        return "failed", step, text
    wrong = ~_same(one, other)
    if not wrong.any():
        return None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wrong &= ~_near(step, one, other)
        if wrong.any() and (_is_moved(step) or not _is_exact(step, other)):
            wrong &= ~_within(program, step, results, number, one, other)
    if not wrong.any():
        return None
    given = operands(program, step, results)

    def again(change: Any) -> Any:
        inputs = [change(each) for each in program.inputs]
        changed = replace(step, keywords={k: change(v) for k, v in step.keywords.items()})
        return flat(by_numpy(changed, inputs, [change(each) for each in results]))[number]

    right = ~wrong
    for row, is_allowed in ALLOWED.items():
        right = right | is_allowed(step, given, one, other, again)
        if right.all():
            return "allowed", step, row
    place = tuple(int(x) for x in np.argwhere(wrong)[0])
    shown = [
        f"{value.dtype}{value.shape} {_at(value, place, one.shape)}"
        for value in map(np.asarray, operands(program, step, results))
        if value.dtype.kind not in "OU"
    ]
    text = f"at {place}: {one[place]!r}, not {other[place]!r} ({wrong.sum()} of {one.size})"
    return "failed", step, f"{text}; of {', '.join(shown)}"


def _at(value: Array, place: tuple[int, ...], shape: tuple[int, ...]) -> str:
    try:
        return repr(np.broadcast_to(value, shape)[place])
    except ValueError:
        return np.array2string(value, threshold=10, edgeitems=4).replace("\n", "")


def operands(program: Program, step: Step, results: Sequence[Any]) -> list[Any]:
    """The arrays and numbers that a step is given."""

    def leaves(value: Any) -> list[Any]:
        if isinstance(value, Input):
            return [program.inputs[value.number]]
        if isinstance(value, Result):
            return [results[value.number]]
        if isinstance(value, list | tuple):
            return [leaf for each in value for leaf in leaves(each)]
        is_number = isinstance(value, np.ndarray | int | float | complex)
        return [value] if is_number and not isinstance(value, bool) else []

    return leaves([step.arguments, list(step.keywords.values())])


def _same(one: Array, other: Array) -> Array:
    """Tell where numbers are the same, -0.0 and NaN included."""
    if one.dtype.kind == "c":
        return _same(one.real, other.real) & _same(one.imag, other.imag)
    if not is_float(one.dtype):
        return np.asarray(one == other)
    both_nan = np.isnan(one) & np.isnan(other)
    return np.asarray(both_nan | ((one == other) & (np.signbit(one) == np.signbit(other))))


def _is_exact(step: Step, value: Array) -> bool:
    return not (is_float(value.dtype) or value.dtype.kind == "c") and not _is_moved(step)


def _is_moved(step: Step) -> bool:
    return step.name in _MOVED


def _unit(value: Array) -> Array:
    """The unit in the last place."""
    info = ml_dtypes.finfo(value.dtype)
    size = np.abs(value.astype(np.float64 if value.dtype.itemsize < 8 else value.dtype))
    size = np.where(np.isfinite(size), size, 0)
    exponent = np.floor(np.log2(np.maximum(size, float(info.tiny))))
    return np.asarray(np.exp2(exponent) * float(info.eps))


def _near(step: Step, one: Array, other: Array) -> Array:
    """Tell where two numbers are as near as one rounding of each allows."""
    if _is_exact(step, other) or not (is_float(other.dtype) or other.dtype.kind == "c"):
        return np.zeros(one.shape, bool)
    if other.dtype.kind == "c":
        part = other.real.dtype
        wide_one, wide_other = one.astype(complex), other.astype(complex)
        unit = _unit(np.abs(wide_other).astype(part))
        same = _kinds(one) == _kinds(other)
        return np.asarray(same & (np.abs(wide_one - wide_other) <= _ULPS * unit))
    narrow = other.dtype.itemsize < 4
    is_exact = step.name in _EXACT or step.kind == "operator"
    is_exact = is_exact and step.name not in ("__pow__", "__abs__", "__matmul__")
    ulps = 0 if is_exact else 1 if narrow else _ULPS
    wide = np.float64
    apart = np.abs(one.astype(wide) - other.astype(wide))
    unit = _unit(other).astype(wide)
    is_zero = (one == 0) & (other == 0)
    return np.asarray((apart <= ulps * unit) & ~is_zero)


def _kinds(value: Array) -> Array:
    """NaN, infinities and numbers, of complex ones in both parts."""
    if value.dtype.kind == "c":
        return np.asarray(_kinds(value.real) * 4 + _kinds(value.imag))
    return np.asarray(
        np.where(np.isnan(value), 3, np.where(np.isinf(value), 1 + (value > 0), 0)), np.int64
    )


def _within(
    program: Program, step: Step, results: Sequence[Any], number: int, one: Array, other: Array
) -> Array:
    """Tell where a result is one of operands that are changed by some roundings.

    How far a rounding of the operands moves a result is how far the order of a sum may: it is
    asked of NumPy, with a few operands nearby.
    """
    elementwise = is_elementwise(step)
    given = [*_arguments(step)]
    from_results = any(isinstance(each, Result) for each in given)
    # A power of a complex number is an exponential of a product, as exact as that is; near -1 a
    # logarithm of 1 more is as exact as the sum.
    powers = ("pow", "ipow", "power", "float_power", "log1p")
    is_power = step.name.partition(".")[0].strip("_") in powers
    is_power = is_power and other.dtype.kind == "c"
    # So is the logarithm of a sum, which may be near 0 where the operands are not.
    is_power = is_power or step.name.startswith("logaddexp")
    if elementwise and not from_results and not is_power:
        return np.zeros(one.shape, bool)
    inexact = other.dtype.kind == "c" or is_float(other.dtype)
    wide: Any = np.complex128 if other.dtype.kind == "c" else np.float64
    base = other.astype(wide)
    far = np.zeros(base.shape)
    moved = np.zeros(base.shape, bool)
    count = sum(np.size(each) for each in operands(program, step, results))
    for seed in range(4):
        inputs = [_nudged(x, seed, own=not elementwise or is_power) for x in program.inputs]
        others = [_nudged(x, seed + 9, own=True) for x in results]
        try:
            again = np.asarray(flat(by_numpy(step, inputs, others))[number])
        except Exception:
            return np.zeros(one.shape, bool)
        if again.shape != other.shape:
            return np.zeros(one.shape, bool)
        if inexact:
            moved |= _kinds(again) != _kinds(other)
        else:
            moved |= again != other
        step_far = np.abs(again.astype(wide) - base)
        far = np.maximum(far, np.where(np.isfinite(step_far), step_far, 0))
    if not inexact:
        return moved
    # The last element of a running sum is of all of them.
    is_running = "cum" in step.name or step.name.endswith(".accumulate")
    each = count if is_running else count / max(other.size, 1)
    unit = _unit(
        (np.abs(other) if other.dtype.kind == "c" else other).astype(
            other.real.dtype if other.dtype.kind == "c" else other.dtype
        )
    )
    # Elements of one kind have errors of one size: a small one may be by chance.
    usual = np.median(far) if far.size else 0.0
    has_integers = any(np.asarray(x).dtype.kind in "iub" for x in operands(program, step, results))
    if has_integers or step.name == "unwrap":
        # Integers are not nudged, nor periods, of which `unwrap` adds the more the later a number
        # comes: as far as roundings of the largest number, one for each, those of periods alike.
        numbers = [base]
        roundings = np.sqrt(count) / 4
        if step.name == "unwrap":
            numbers += [np.asarray(each).astype(wide) for each in operands(program, step, results)]
            roundings = count / 4
        largest = max(np.abs(x[np.isfinite(x)]).max(initial=0) for x in numbers) * roundings
        usual = max(usual, largest * float(ml_dtypes.finfo(other.real.dtype).eps))
    limit = (4 + np.sqrt(each)) * np.maximum(far, usual) + 16 * unit.astype(np.float64)
    same = _kinds(one) == _kinds(other)
    near = same & (np.abs(one.astype(wide) - base) <= limit)
    is_zero = (one == 0) & (other == 0) & (far == 0)
    return np.asarray((near & ~is_zero) | moved)


def _arguments(step: Step) -> list[Any]:
    def leaves(value: Any) -> list[Any]:
        if isinstance(value, list | tuple):
            return [leaf for each in value for leaf in leaves(each)]
        return [value]

    return leaves([step.arguments, list(step.keywords.values())])


def _nudged(value: Any, seed: int, *, own: bool) -> Any:
    """The numbers, each changed by about a rounding."""
    if not own or not isinstance(value, np.ndarray | np.generic):
        return value
    array = np.asarray(value)
    if array.dtype.kind == "c":
        found = array.copy()
        found.real, found.imag = (_nudged(x, seed, own=True) for x in (array.real, array.imag))
        return found
    if not is_float(array.dtype):
        return value
    rng = np.random.default_rng(seed)
    factor = 1 + rng.uniform(-2, 2, array.shape) * float(ml_dtypes.finfo(array.dtype).eps)
    with np.errstate(all="ignore"):
        return np.where(np.isfinite(array), array.astype(np.float64) * factor, array).astype(
            array.dtype
        )


def _text(value: Any) -> str:
    return str(np.asarray(value).dtype) + np.array2string(np.asarray(value), threshold=8)[:120]
