"""Every op of the library by its formula, at every element type and at sizes past a vector.

    PYTHONPATH=tests/support python -m op_spread                   # every 29th, others each day
    PYTHONPATH=tests/support python -m op_spread --every 1 --part 1/4    # a quarter of the ops, all
    PYTHONPATH=tests/support python -m op_spread matmul --every 1        # all of one op

One axis of an op at a time has each of `LENGTHS`, the others are as short as in `op_formulas.py`.
Formulas are computed in float64, complex128 or the op's own integers, and compared with what a
user gets of `lx.ops`, with a tolerance of the epsilon of the op's type times the length of its
sums. Only an error of the library's own may refuse a type, and none of `Spread.must_run`.
"""

from __future__ import annotations

import argparse
import datetime
import math
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import op_formulas
import window_formulas
from linalg_ext.compiler import op_calls as calls
from linalg_ext.definition.model import IteratorType, Operand
from linalg_ext.definition.types import PREDEFINED
from linalg_ext.errors import LinalgExtError
from linalg_ext.runtime.dtypes import element_types
from op_calls import problem_of
from op_cases import ALL_FORMULAS, OPS, OWN_TEST, WINDOWS
from op_formulas import POSITIVE
from op_formulas_wider import UNIT_INTERVAL, WIDER_POSITIVE
from window_formulas import window_of

Array = NDArray[Any]

LENGTHS = (1, 2, 15, 16, 17, 33, 100)
DTYPES = tuple(
    dict.fromkeys(
        dtype
        for each in element_types()
        if each.kind != "index" and each.mlir != "f8E8M0FNU"
        for dtype in each.dtypes
    )
)
"""Every dtype of arrays, but for that of scales, which has neither zero nor sign."""

WIDE = {
    **dict.fromkeys(("float16", "bfloat16"), np.dtype(np.float32)),
    **dict.fromkeys(("int8", "int16"), np.dtype(np.int32)),
    **dict.fromkeys(("uint8", "uint16"), np.dtype(np.uint32)),
}
"""What sums of a narrow dtype are held in, beside the dtype itself."""

_FEW_ROUNDINGS = 16
"""Roundings in the body of an op, in units of epsilon."""

_MORE_ROUNDINGS = {"sinusoidal_positions": 64}
"""Of other ops: a sine of a large angle is as much further off."""

_COMPARES_ROUNDED = {"isclose"}
"""Ops that compare numbers which their type rounds: a formula in wider ones may tell otherwise."""

_PERIODS = {"atan2": 2 * math.pi}
"""Complex results that jump by as much on a line, on whose side roundings put them."""


@dataclass(frozen=True)
class Spread:
    """An op at a type and a size.

    Attributes:
        name: the op.
        dtype: of its operands, where their types are not fixed.
        is_wide: whether outputs of another type variable than the inputs are of a wider dtype.
        letter: the axis that has another length than usual; empty for none.
        length: of it.
    """

    name: str
    dtype: str
    is_wide: bool
    letter: str
    length: int

    @property
    def must_run(self) -> bool:
        """Return whether it may not be refused."""
        kinds = "i" if self.name.endswith("_unsigned") else "f i"
        if self.name in ALL_FORMULAS:
            kinds = ALL_FORMULAS[self.name].kinds
        kind = np.dtype(self.dtype).kind if self.dtype in np.sctypeDict else ""
        return (kind == "f" and "f" in kinds) or (kind in "iu" and kind != "" and kinds == "i")


def spreads(name: str) -> list[Spread]:
    """Return all of an op: each type with each length of each axis."""
    axes = [(letter, length) for letter in _letters(name) for length in LENGTHS] or [("", 0)]
    variables = {str(o.type_var) for o in OPS[name].definition.outputs} - set(PREDEFINED)
    has_own = bool(variables - {str(o.type_var) for o in OPS[name].definition.inputs})
    return [
        Spread(name, dtype.name, is_wide, letter, length)
        for dtype in DTYPES
        for is_wide in ((False, True) if has_own and dtype.name in WIDE else (False,))
        for letter, length in axes
    ]


def sample(name: str, every: int, first: int) -> list[Spread]:
    """Return every so many of an op, the first of them by the op's name and a number."""
    everything = spreads(name)
    return everything[(first + sum(map(ord, name))) % min(every, len(everything)) :: every]


@dataclass(frozen=True)
class Arranged:
    """Arrays to call an op on.

    Attributes:
        inputs: an array for each input; a 0-d one for a scalar.
        before: what each output held.
        attributes: those of the call.
        expected: what each output holds then, by the formula, in a wide dtype; None where the
            formula is of arrays that have no such sizes or types.
    """

    inputs: list[Array]
    before: list[Array]
    attributes: dict[str, Any]
    expected: list[Array] | None


def problem(spread: Spread) -> str | None:
    """Run one; return what is wrong, or None. `refused: ...` where the library refuses the type."""
    with _sizes(spread.letter, spread.length), np.errstate(all="ignore"):
        arranged = _windowed(spread) if spread.name in WINDOWS else _arranged(spread)
    if arranged is None:  # the op has no such size
        return None
    op = OPS[spread.name]
    inputs, before = arranged.inputs, arranged.before
    given = [array[()] if array.ndim == 0 else array for array in inputs]
    init = tuple(array.copy() for array in before)
    try:
        got = op(*given, init=init if len(init) > 1 else init[0], **arranged.attributes)
    except LinalgExtError as error:
        text = " ".join(str(error).split())[:200]
        return f"{'wrongly ' if spread.must_run else ''}refused: {type(error).__name__}: {text}"
    with np.errstate(all="ignore"):
        stated = problem_of(op, inputs, before, arranged.attributes)
        # A formula does not say in which type an op computes before it widens.
        is_rounded = spread.name in _COMPARES_ROUNDED and spread.dtype.startswith("float8")
        by_formula = None if spread.is_wide or is_rounded else arranged.expected
        expected = by_formula or stated.reference()
        sums = math.prod(
            stated.extents[dim]
            for dim, kind in zip(op.definition.dims, op.definition.iterator_types, strict=True)
            if kind is IteratorType.REDUCTION
        )
        results = got if isinstance(got, tuple) else (got,)
        for result, wanted in zip(map(np.asarray, results), expected, strict=True):
            if wrong := _difference(spread, result, np.asarray(wanted), inputs, sums):
                return wrong if by_formula else f"by the reference: {wrong}"
    return None


def _difference(
    spread: Spread, result: Array, wanted: Array, inputs: Sequence[Array], sums: int
) -> str | None:
    if result.shape != wanted.shape:
        return f"shape {result.shape}, not {wanted.shape}"
    dtype = result.dtype
    if dtype.kind in "biu" or dtype.name in ("int4", "uint4"):
        wrong = result != wanted.astype(dtype)
        allowed = "the same"
    else:
        width = np.complex128 if dtype.kind == "c" else np.float64
        got, want = result.astype(width), wanted.astype(dtype).astype(width)
        if dtype.kind == "c" and spread.name in _PERIODS:
            got = got - np.round((got - want).real / _PERIODS[spread.name]) * _PERIODS[spread.name]
        finite = np.isfinite(want)
        sizes = [np.abs(each.astype(width)) for each in inputs if each.size]
        largest = max((float(each.max()) for each in sizes), default=1.0)
        scale = max(1.0, largest**2, float(np.abs(want[finite]).max(initial=0)))
        roundings = _MORE_ROUNDINGS.get(spread.name, _FEW_ROUNDINGS)
        tolerance = _epsilon(dtype, inputs, sums) * (roundings + sums) * scale
        close = np.abs(np.where(finite, got - want, 0)) <= tolerance
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        # Past the greatest number of a narrow type either may come first.
        greatest = float(ml_dtypes.finfo(dtype).max)
        edge = np.abs(wanted.astype(width)) > 0.5 * greatest
        if sums * scale > greatest:
            edge |= ~np.isfinite(got)
        wrong = ~(np.where(finite, close, same) | edge)
        allowed = f"within {tolerance:.2g}"
    if not wrong.any():
        return None
    at = tuple(map(int, np.argwhere(wrong)[0])) if wrong.ndim else ()
    return (
        f"{np.count_nonzero(wrong)} of {wrong.size} wrong: at {at} {result[at]}, not {wanted[at]}"
        f" ({allowed})"
    )


def _epsilon(dtype: np.dtype[Any], inputs: Sequence[Array], sums: int) -> float:
    """Return the epsilon of the result; what sums nothing may compute in the type of its inputs."""
    floats = [each.dtype for each in inputs if sums == 1 and each.dtype.kind in "fcV"]
    return max(
        float(ml_dtypes.finfo(each).eps)
        for each in (dtype, *floats)
        if each.name not in ("int4", "uint4")
    )


def _letters(name: str) -> str:
    if name in WINDOWS:
        return "".join(dict.fromkeys(window_of(name).input + window_of(name).output))
    if name in OWN_TEST:
        return "x"
    return "".join(dict.fromkeys(c for c in ALL_FORMULAS[name].axes if c.isalpha()))


@contextmanager
def _sizes(letter: str, length: int) -> Iterator[None]:
    """Have an axis of formulas and windows be of another length."""
    tables = [op_formulas.SIZES, window_formulas.SIZES, window_formulas.OUTPUT]
    before = [dict(table) for table in tables]
    for table in tables:
        if letter in table:
            table[letter] = length
    try:
        yield
    finally:
        for table, kept in zip(tables, before, strict=True):
            table.update(kept)


def _dtype_of(spread: Spread, operand: Operand) -> np.dtype[Any]:
    fixed = PREDEFINED.get(str(operand.type_var))
    if fixed is not None:
        return np.dtype(ml_dtypes.bfloat16 if fixed == "bfloat16" else fixed)
    own = next(dtype for dtype in DTYPES if dtype.name == spread.dtype)
    variables = {str(o.type_var) for o in OPS[spread.name].definition.outputs}
    is_outputs = str(operand.type_var) in variables
    return WIDE[spread.dtype] if spread.is_wide and is_outputs else own


def values(
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    rng: np.random.Generator,
    low: float = -3,
    high: float = 3,
) -> Array:
    """Numbers that a dtype holds, few enough bits of them that products are exact in wide ones."""
    if dtype.kind == "b":
        return np.asarray(rng.random(shape) > 0.5)
    if dtype.kind == "c":
        return np.asarray(
            values(shape, np.dtype("f8"), rng, low, high)
            + 1j * values(shape, np.dtype("f8"), rng, low, high)
        ).astype(dtype)
    if dtype.kind in "iu" or dtype.name in ("int4", "uint4"):
        lowest = 1 if dtype.kind == "u" or dtype.name == "uint4" or low >= 0 else -4
        if dtype.name in ("int4", "uint4"):  # products of two of them are to fit
            return np.asarray(rng.integers(1, 3, shape)).astype(dtype)
        whole = np.asarray(rng.integers(lowest, 5, shape))
        return np.asarray(np.where(whole == 0, 3, whole)).astype(dtype)
    return np.asarray(rng.integers(math.ceil(low * 8), int(high * 8) + 1, shape) / 8).astype(dtype)


def _widened(array: Array) -> Array:
    if array.dtype.kind in "biu":
        return array
    if array.dtype.name in ("int4", "uint4"):
        return array.astype(np.int64)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _start(number: float, dtype: np.dtype[Any]) -> Any:
    """Return 0, or for 99 and -99 the greatest and the least number of a dtype."""
    if number == 0 or dtype.kind == "b":
        return dtype.type(number > 0)
    if dtype.kind in "iu" or dtype.name in ("int4", "uint4"):
        return dtype.type(ml_dtypes.iinfo(dtype).max if number > 0 else ml_dtypes.iinfo(dtype).min)
    greatest = ml_dtypes.finfo(dtype).max
    return dtype.type(greatest if number > 0 else -greatest)


def _is_free(operand: Operand, array: Array) -> bool:
    if array.dtype.kind == "b" or operand.name == "labels":
        return False
    return str(operand.type_var) not in PREDEFINED


def _arranged(spread: Spread) -> Arranged | None:
    op, formula = OPS[spread.name], ALL_FORMULAS[spread.name]
    definition = op.definition
    rng = np.random.default_rng(len(spread.name) + spread.length)
    low, high = -3.0, 3.0
    if spread.name in POSITIVE | WIDER_POSITIVE:
        low = 1.25 if spread.name == "acosh" else 0.25
    elif spread.name in UNIT_INTERVAL:
        low, high = 0.125, 0.875
    inputs = []
    letters = formula.axes.split("->")[0].split(",") if definition.inputs else []
    for axes, operand in zip(letters, definition.inputs, strict=True):
        dtype = _dtype_of(spread, operand)
        shape = tuple(op_formulas.SIZES[letter] for letter in axes)
        if operand.name == "labels":
            labels = dtype if dtype.kind == "i" else np.dtype(np.int32)
            inputs.append(rng.integers(-1, 6, shape).astype(labels))
        else:
            inputs.append(values(shape, dtype, rng, low, high))
    if spread.name == "select":
        inputs[0] = values(inputs[0].shape, np.dtype(bool), rng)
    if spread.name == "fill_rng_2d":  # of negative numbers nobody knows what unsigned ones they are
        inputs[:2] = [np.array(1.0), np.array(30.0)]
    outputs = [_dtype_of(spread, output) for output in definition.outputs]
    is_cast = len({str(o.type_var) for o in definition.outputs} & set(PREDEFINED)) < len(outputs)
    seen = [
        _widened(array.astype(outputs[0]) if is_cast and _is_free(operand, array) else array)
        for operand, array in zip(definition.inputs, inputs, strict=True)
    ]
    shapes = [
        tuple(op_formulas.SIZES[c] for c in axes) for axes in formula.axes.split("->")[1].split(",")
    ]
    expected: list[Array] | None
    try:
        value = formula.value(*seen)
        expected = [np.asarray(each) for each in (value if isinstance(value, tuple) else (value,))]
    except (TypeError, ValueError, IndexError):  # of arrays of other sizes or types
        expected = None
    if formula.shape is not None:
        try:
            shapes = [np.shape(formula.value(*(np.ones(each.shape) for each in inputs)))]
        except (TypeError, ValueError, IndexError):  # what does not come out even
            return None
    if formula.start:
        before = [
            np.full(shape, _start(start, dtype), dtype)
            for shape, start, dtype in zip(shapes, formula.start, outputs, strict=True)
        ]
    else:
        before = [values(shapes[0], outputs[0], rng)]
    if expected is not None and [each.shape for each in expected] != shapes:
        expected = None
    if formula.into is not None and expected is not None:
        expected = [np.asarray(formula.into(_widened(before[0]), expected[0]))]
    return Arranged(inputs, before, dict(formula.attributes), expected)


def _windowed(spread: Spread) -> Arranged:
    op, window = OPS[spread.name], window_of(spread.name)
    definition = op.definition
    rng = np.random.default_rng(len(spread.name) + spread.length)
    steps = {"d": 1, "h": 2, "w": 1}
    dilations = {"d": 1, "h": 1, "w": 2}
    if not definition.attributes:
        steps = dilations = {"d": 1, "h": 1, "w": 1}
    shapes = window.shapes(steps, dilations)
    image, kernel = (_dtype_of(spread, operand) for operand in definition.inputs[:2])
    wide = _dtype_of(spread, definition.outputs[0])
    inputs = [values(shapes[0], image, rng), values(shapes[1], kernel, rng)]
    before = values(shapes[2], wide, rng)
    points = [2, -3] if spread.name.endswith("_q") else [0, 0]
    seen = [_widened(array.astype(wide)) for array in inputs]
    if spread.name.endswith("_q"):
        inputs += [np.array(point, np.int32) for point in points]
    attributes: dict[str, Any] = {}
    if definition.attributes:
        attributes = {
            "strides": [steps[letter] for letter in window.spatial],
            "dilations": [dilations[letter] for letter in window.spatial],
        }
    expected: list[Array] | None = None
    if not spread.name.endswith("_unsigned"):
        try:
            if any(points):
                pairs = zip(seen, points, strict=True)
                seen = [each - np.array(point).astype(each.dtype) for each, point in pairs]
            value = window.value(seen[0], seen[1], steps, dilations)
            combine = {"max": np.maximum, "min": np.minimum}.get(window.reduction, np.add)
            expected = [np.asarray(combine(_widened(before), value))]
        except (TypeError, ValueError):
            expected = None
    return Arranged(inputs, [before], attributes, expected)


def run_op(name: str, chosen: Sequence[Spread]) -> tuple[str, int, Counter[str], list[str]]:
    """Run some of an op; return its name, how many, what was refused, and what is wrong."""
    refused: Counter[str] = Counter()
    wrong = []
    for spread in chosen:
        try:
            found = problem(spread)
        except Exception as error:
            found = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        if found is None:
            continue
        if found.startswith("refused"):
            refused[spread.dtype] += 1
        else:
            wrong.append(f"{spread}: {found}")
    calls._kernels.pop(OPS[name], None)
    return name, len(chosen), refused, wrong


def _run_op(each: tuple[str, list[Spread]]) -> tuple[str, int, Counter[str], list[str]]:
    return run_op(*each)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them; 1 where something is wrong."""
    parser = argparse.ArgumentParser(
        prog="op_spread", description="Every op at every type and size."
    )
    parser.add_argument("names", nargs="*", help="of ops; all where none is given")
    parser.add_argument("--every", type=int, default=29, help="so many are one")
    parser.add_argument(
        "--part", default="1/1", metavar="K/N", help="the K-th of N parts of the ops"
    )
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args(arguments)
    part, parts = map(int, given.part.split("/"))
    names = list(given.names or sorted(set(OPS) - OWN_TEST))[part - 1 :: parts]
    day = datetime.date.today().toordinal()
    start, count, failures = time.monotonic(), 0, 0
    with get_context("spawn").Pool(given.processes, maxtasksperchild=20) as pool:
        chosen = [sample(name, given.every, day) for name in names]
        for name, ran, refused, wrong in pool.imap(_run_op, zip(names, chosen, strict=True)):
            count += ran
            failures += len(wrong)
            told = f"; refused: {', '.join(sorted(refused))}" if refused else ""
            print(f"{name}: {ran} run, {len(wrong)} wrong{told}", flush=True)
            for each in wrong:
                print(f"  {each}", flush=True)
    print(f"{count} run, {failures} wrong, {time.monotonic() - start:.0f} s")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
