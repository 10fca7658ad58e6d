"""Several structured ops in one loop over rows, and buffers that shrink to a row."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import FrameType
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from kernels import kernel
from loop_texts import function, generic

MATRICES, ROWS, COLUMNS = ("A", "B", "C", "T"), ("R", "S", "U"), ("K", "L")
MAPS = dict.fromkeys(MATRICES, "i, j") | dict.fromkeys(ROWS, "i") | dict.fromkeys(COLUMNS, "j")
LOCAL = """
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.dim %A, %c0 : memref<?x?xi32>
  %n = memref.dim %A, %c1 : memref<?x?xi32>
  %T = memref.alloc(%m, %n) : memref<?x?xi32>
  %U = memref.alloc(%m) : memref<?xi32>"""
"""Buffers of the program's own, which may shrink to rows."""

Values = dict[str, Any]
Step = Callable[[Values], None]


def typed(name: str) -> tuple[str, str]:
    return f"%{name}", "memref<?x?xi32>" if name in MATRICES else "memref<?xi32>"


def combine(x: str, y: str, out: str) -> tuple[str, Step]:
    body = "%p = arith.muli %in0, %in1 : i32\n%r = arith.subi %p, %in0 : i32"
    operands = [typed(x), typed(y), typed(out)]
    text = generic([MAPS[x], MAPS[y], "i, j"], ["parallel"] * 2, operands, body)

    def step(values: Values) -> None:
        first, second = (values[n][:, None] if n in ROWS else values[n] for n in (x, y))
        values[out][...] = first * second - first

    return text, step


def add_up(op: str, x: str, out: str) -> tuple[str, Step]:
    kinds = ["parallel", "reduction"] if out in ROWS else ["reduction", "parallel"]
    body = f"%r = arith.{op} %out0, %in0 : i32"
    ufunc = np.maximum if op == "maxsi" else np.add

    def step(values: Values) -> None:
        reduced = ufunc.reduce(values[x], int(out in ROWS), dtype=np.int32)
        values[out][...] = ufunc(values[out], reduced)

    return generic(["i, j", MAPS[out]], kinds, [typed(x), typed(out)], body), step


def shift(x: str, out: str, number: int, *, fill: bool) -> tuple[str, Step]:
    body = f"%c = arith.constant {number} : i32\n"
    body += "%z = arith.subi %in0, %in0 : i32\n" if fill else ""
    body += f"%r = arith.addi {'%z' if fill else '%in0'}, %c : i32"

    def step(values: Values) -> None:
        values[out][...] = (0 if fill else values[x]) + np.int32(number)

    return generic(["i", "i"], ["parallel"], [typed(x), typed(out)], body), step


def random_program(seed: int) -> tuple[str, Step]:
    """Statements over a few buffers, read and overwritten in any order, and the same in NumPy."""
    rng = np.random.default_rng(seed)

    def one_of(names: Sequence[str]) -> str:
        return str(rng.choice(names))

    parts = [combine("A", "A", "T"), shift("R", "U", 1, fill=False)]
    for _ in range(int(rng.integers(2, 8))):
        kind = rng.integers(7)
        if kind < 2:
            parts.append(combine(one_of(list(MAPS)), one_of(list(MAPS)), one_of(MATRICES)))
        elif kind < 4:
            parts.append(add_up(("addi", "maxsi")[kind - 2], one_of(MATRICES), one_of(ROWS)))
        elif kind == 4:
            parts.append(add_up("addi", one_of(MATRICES), one_of(COLUMNS)))
        else:
            number = int(rng.integers(-5, 5))
            parts.append(shift(one_of(ROWS), one_of(ROWS), number, fill=kind == 5))

    def run(values: Values) -> None:
        for _, step in parts:
            step(values)

    arguments = [typed(name) for name in MAPS if name not in "TU"]
    return function(arguments, LOCAL, *(text for text, _ in parts)), run


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    text, expected = random_program(seed)
    rng = np.random.default_rng(seed)
    size = (int(rng.integers(1, 20)), int(rng.integers(1, 90)))
    if seed % 2:  # the same with sizes that are known
        text = text.replace("memref<?x?xi32>", f"memref<{size[0]}x{size[1]}xi32>")
        text = text.replace("alloc(%m, %n)", "alloc()")
    run = kernel(text)
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(MATRICES, size)
    shapes |= dict.fromkeys(ROWS, size[:1]) | dict.fromkeys(COLUMNS, size[1:])
    values: Values = {
        name: rng.integers(-9, 9, shape).astype(np.int32) for name, shape in shapes.items()
    }
    actual = {name: value.copy() for name, value in values.items()}
    run(*(actual[name] for name in ("A", "B", "C", "R", "S", "K", "L")))
    expected(values)
    for name, value in actual.items():
        if name in "TU":
            continue
        np.testing.assert_array_equal(value, values[name], err_msg=f"{name}\n{text}")


def softmax(x: Any) -> Any:
    exponentials = lx.ops.softmax_exponentials(x, lx.ops.row_max(x))
    return lx.ops.softmax_normalize(exponentials, lx.ops.row_sum(exponentials))


def layer_norm(x: Any, weight: Any, bias: Any) -> Any:
    mean = lx.ops.row_mean(x)
    variance = lx.ops.row_variance(x, mean)
    return lx.ops.layer_normalize(x, mean, variance, weight, bias, 1e-5)


def rms_norm(x: Any, weight: Any) -> Any:
    return lx.ops.rms_normalize(x, lx.ops.row_mean_of_squares(x), weight, 1e-5)


def softmax_in_numpy(x: Any) -> Any:
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def layer_norm_in_numpy(x: Any, weight: Any, bias: Any) -> Any:
    centred = x - x.mean(1, keepdims=True)
    return centred / np.sqrt(x.var(1, keepdims=True) + 1e-5) * weight + bias


def rms_norm_in_numpy(x: Any, weight: Any) -> Any:
    return x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * weight


NORMS: dict[str, tuple[Callable[..., Any], Callable[..., Any], int]] = {
    "softmax": (softmax, softmax_in_numpy, 0),
    "layer norm": (layer_norm, layer_norm_in_numpy, 2),
    "rms norm": (rms_norm, rms_norm_in_numpy, 1),
}


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (7, 64), (5, 133), (64, 200)])
@pytest.mark.parametrize("name", NORMS)
def test_rows_in_one_pass(name: str, shape: tuple[int, int]) -> None:
    ours, theirs, vectors = NORMS[name]
    rng = np.random.default_rng(0)
    arrays = [rng.normal(0, 3, shape), *rng.normal(size=(vectors, shape[1]))]
    arrays = [array.astype(np.float32) for array in arrays]
    run = lx.jit(ours).lower(*arrays).compile()
    expected = theirs(*(array.astype(np.float64) for array in arrays))
    np.testing.assert_allclose(run(*arrays), expected, rtol=2e-5, atol=2e-6)
    if min(shape) > 1:
        # One loop over the rows, at the depth of the function's body; no buffer but for a row.
        loops = run.as_text("loops")
        assert len(re.findall(r"^    (?:%\S+ = )?scf\.for", loops, re.MULTILINE)) == 1
        buffers = re.findall(r"memref\.alloc\(\).*memref<(\d+)", loops)
        assert set(buffers) <= {"1"}


def test_softmax_of_odd_rows() -> None:
    x = np.zeros((4, 21), np.float32)
    x[0, 3] = np.inf
    x[1, 20] = np.nan
    x[2] = -np.inf
    x[3, 0] = -np.inf
    with np.errstate(invalid="ignore"):
        expected = softmax_in_numpy(x)
    np.testing.assert_allclose(lx.jit(softmax)(x), expected, rtol=1e-6)


@pytest.mark.parametrize("columns", [1, 31, 200])
def test_what_was_found_before_stays_with_its_place(columns: int) -> None:
    x = np.random.default_rng(0).integers(0, 9, (5, columns)).astype(np.float32)
    before = np.array([4, 9, -1, np.nan, 8], np.float32), np.full(5, 1 << 40)
    _, where = lx.ops.row_argmax(x, init=before)
    is_better = x.max(1) > before[0]
    np.testing.assert_array_equal(where, np.where(is_better, x.argmax(1), 1 << 40))
    loops = lx.jit(lambda x: lx.ops.row_argmax(x)).lower(x).compile().as_text("loops")
    assert not re.search(r"arith.select .*xi64>", loops), "a place is as wide as an element"


@pytest.mark.parametrize("columns", [1, 7, 8, 9, 16, 33, 64, 130, 1000])
@pytest.mark.parametrize("name", ["row_argmax", "row_argmin"])
def test_the_first_of_the_best(name: str, columns: int) -> None:
    rng = np.random.default_rng(columns)
    x = rng.integers(-3, 3, (7, columns)).astype(np.float32)  # equal ones in many lanes
    x[3] = -np.inf
    x[4] = np.nan
    for row in (5, 5, 6):
        x[row, rng.integers(columns)] = np.nan
    op = getattr(lx.ops, name)
    run = lx.jit(lambda x: op(x)).lower(x).compile()
    assert "vector" in run.as_text("loops")
    best, where = run(x)
    values, positions = (np.max, np.argmax) if name == "row_argmax" else (np.min, np.argmin)
    np.testing.assert_array_equal(best, values(x, axis=1))
    np.testing.assert_array_equal(where, positions(x, axis=1))


def test_a_choice_that_is_not_strict_is_left() -> None:
    text = """
    func.func @f(%a: memref<4x40xf32>, %v: memref<4xf32>, %p: memref<4xi64>) {
      linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                                       affine_map<(i, j) -> (i)>],
                      iterator_types = ["parallel", "reduction"]}
        ins(%a : memref<4x40xf32>) outs(%v, %p : memref<4xf32>, memref<4xi64>) {
      ^bb0(%x: f32, %best: f32, %where: i64):
        %better = arith.cmpf oge, %x, %best : f32
        %j = linalg.index 1 : index
        %k = arith.index_cast %j : index to i64
        %r = arith.select %better, %x, %best : f32
        %q = arith.select %better, %k, %where : i64
        linalg.yield %r, %q : f32, i64
      }
      return
    }"""
    x = np.zeros((4, 40), np.float32)
    best, where = np.full(4, -1, np.float32), np.zeros(4, np.int64)
    kernel(text)(x, best, where)
    assert (where == 39).all()  # the last of equal ones, as the body says


def test_the_code_of_a_softmax_calls_no_function_and_gathers_nothing() -> None:
    run = lx.jit(softmax).lower(np.zeros((8, 256), np.float32)).compile()
    called = set(re.findall(r"llvm\.call @(\w+)", run.as_text("llvm")))
    assert called <= {"malloc", "free", "lx_entry_softmax"}
    assert "gather" not in run.asm()


def test_the_work_grows_with_the_nests_and_not_with_their_square() -> None:
    def calls(count: int) -> int:
        made = 0

        def watch(frame: FrameType, event: str, _: Any) -> None:
            nonlocal made
            made += event == "call" and frame.f_code.co_filename.endswith("_nest_emitter.py")

        type_ = "memref<9xi32>"
        body = "%r = arith.addi %in0, %in0 : i32"
        names = ["%x", *(f"%t{at}" for at in range(count)), "%y"]
        buffers = [f"\n  {name} = memref.alloc() : {type_}" for name in names[1:-1]]
        nests = [
            generic(["i", "i"], ["parallel"], [(name, type_), (after, type_)], body)
            for name, after in pairwise(names)
        ]
        module = lx.parse(function([("%x", type_), ("%y", type_)], *buffers, *nests))
        before = sys.getprofile()
        sys.setprofile(watch)
        try:
            module.run("linalg-ext-vectorize-loops")
        finally:
            sys.setprofile(before)
        assert "linalg.generic" not in str(module)
        return made

    assert calls(120) < 3 * calls(60)
