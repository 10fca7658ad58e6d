"""Several structured ops in one loop over rows, and buffers that shrink to a row."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from kernels import kernel
from loop_texts import function, generic


def random_program(seed: int) -> tuple[str, Callable[[dict[str, Any]], None]]:
    """Statements over a few buffers, read and overwritten in any order, and the same in NumPy."""
    rng = np.random.default_rng(seed)
    matrices, rows, columns = ["A", "B", "C", "T"], ["R", "S", "U"], ["K", "L"]
    shapes = dict.fromkeys(matrices, "?x?") | dict.fromkeys(rows, "?") | dict.fromkeys(columns, "?")
    maps = dict.fromkeys(matrices, "i, j") | dict.fromkeys(rows, "i") | dict.fromkeys(columns, "j")
    statements: list[str] = []
    steps: list[Callable[[dict[str, Any]], None]] = []

    def typed(name: str) -> tuple[str, str]:
        return f"%{name}", f"memref<{shapes[name]}xi32>"

    def lifted(name: str, values: dict[str, Any]) -> Any:
        return values[name][:, None] if name in rows else values[name]

    for _ in range(int(rng.integers(2, 8))):
        kind = rng.choice(["matrix", "matrix", "row sum", "row max", "column sum", "row", "fill"])
        x, y = (str(each) for each in rng.choice([*matrices, *rows, *columns], 2))
        if kind == "matrix":
            out = str(rng.choice(matrices))
            body = "%p = arith.muli %in0, %in1 : i32\n%r = arith.subi %p, %in0 : i32"
            operands = [typed(x), typed(y), typed(out)]
            statements.append(generic([maps[x], maps[y], "i, j"], ["parallel"] * 2, operands, body))

            def step(values: dict[str, Any], x: str = x, y: str = y, out: str = out) -> None:
                first = lifted(x, values)
                values[out][...] = first * lifted(y, values) - first

        elif kind in ("row sum", "row max", "column sum"):
            x = str(rng.choice(matrices))
            by_rows = kind != "column sum"
            out = str(rng.choice(rows if by_rows else columns))
            op = "maxsi" if kind == "row max" else "addi"
            kinds = ["parallel", "reduction"] if by_rows else ["reduction", "parallel"]
            body = f"%r = arith.{op} %out0, %in0 : i32"
            statements.append(generic(["i, j", maps[out]], kinds, [typed(x), typed(out)], body))
            ufunc = np.maximum if op == "maxsi" else np.add

            def step(
                values: dict[str, Any],
                x: str = x,
                out: str = out,
                ufunc: Any = ufunc,
                axis: int = int(by_rows),
            ) -> None:
                values[out][...] = ufunc(values[out], ufunc.reduce(values[x], axis, dtype=np.int32))

        else:
            x, out = (str(each) for each in rng.choice(rows, 2))
            value = int(rng.integers(-5, 5))
            body = f"%c = arith.constant {value} : i32\n"
            body += "%r = arith.addi %in0, %c : i32" if kind == "row" else ""
            if kind == "fill":
                body += "%z = arith.subi %in0, %in0 : i32\n%r = arith.addi %z, %c : i32"
            statements.append(generic(["i", "i"], ["parallel"], [typed(x), typed(out)], body))

            def step(
                values: dict[str, Any],
                x: str = x,
                out: str = out,
                value: int = value,
                keeps: bool = kind == "row",
            ) -> None:
                values[out][...] = (values[x] if keeps else 0) + np.int32(value)

        steps.append(step)
    # Two buffers of its own, filled before and copied out after: they may shrink to rows.
    local = """
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %m = memref.dim %A, %c0 : memref<?x?xi32>
      %n = memref.dim %A, %c1 : memref<?x?xi32>
      %T = memref.alloc(%m, %n) : memref<?x?xi32>
      %U = memref.alloc(%m) : memref<?xi32>"""
    statements.insert(0, local)
    doubled = "%r = arith.addi %in0, %in0 : i32"
    for at, (source, target, map_) in enumerate([("A", "T", "i, j"), ("R", "U", "i")], start=1):
        operands = [typed(source), typed(target)]
        kinds = ["parallel"] * len(map_.split(","))
        statements.insert(at, generic([map_] * 2, kinds, operands, doubled))
    arguments = [typed(name) for name in shapes if name not in "TU"]

    def expected(values: dict[str, Any]) -> None:
        values["T"], values["U"] = 2 * values["A"], 2 * values["R"]
        for step in steps:
            step(values)

    return function(arguments, *statements), expected


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    text, expected = random_program(seed)
    rng = np.random.default_rng(seed)
    size = (int(rng.integers(1, 20)), int(rng.integers(1, 90)))
    if seed % 2:  # the same with sizes that are known
        text = text.replace("memref<?x?xi32>", f"memref<{size[0]}x{size[1]}xi32>")
        text = text.replace("alloc(%m, %n)", "alloc()")
    run = kernel(text)
    shapes = {"A": size, "B": size, "C": size}
    shapes |= dict.fromkeys("RS", size[:1]) | dict.fromkeys("KL", size[1:])
    values: dict[str, Any] = {
        name: rng.integers(-9, 9, shape).astype(np.int32) for name, shape in shapes.items()
    }
    actual = {name: value.copy() for name, value in values.items()}
    run(*(actual[name] for name in ("A", "B", "C", "R", "S", "K", "L")))
    expected(values)
    for name, value in actual.items():
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


ROWS = {
    "softmax": (softmax, softmax_in_numpy, 0),
    "layer norm": (layer_norm, layer_norm_in_numpy, 2),
    "rms norm": (rms_norm, rms_norm_in_numpy, 1),
}


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (7, 64), (5, 133), (64, 200)])
@pytest.mark.parametrize("name", ROWS)
def test_rows_in_one_pass(name: str, shape: tuple[int, int]) -> None:
    ours, theirs, vectors = ROWS[name]
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
