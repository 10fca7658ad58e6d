"""Sums and extrema carried along rows, a vector at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from guarded_memory import guarded
from kernels import kernel
from linalg_ext.module import Module
from linalg_ext.transforms.codegen.vectorization import vectorize_scans as file
from machines import registers

DTYPES: dict[str, Any] = {
    "f64": np.float64,
    "f32": np.float32,
    "i64": np.int64,
    "i32": np.int32,
    "i8": np.int8,
}
LENGTHS = [0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 130]
UFUNCS: dict[str, Any] = {
    "addf": np.add,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
    "addi": np.add,
    "muli": np.multiply,
    "maxsi": np.maximum,
    "xori": np.bitwise_xor,
}


bits = registers(file, 128, 256, 512, autouse=False)


def scan(
    op: str,
    element: str,
    body: str = "",
    *,
    size: Any = "?",
    taken: str = "x",
    stored: str = "s",
    target: str = "b",
    at: str = "i",
) -> str:
    """A function that carries along each row of its first argument; the total goes to the third."""
    type_ = f"memref<?x{size}x{element}>"
    return f"""
    func.func @f(%a: {type_}, %b: {type_}, %t: memref<?x{element}>)
        attributes {{llvm.emit_c_interface}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %rows = memref.dim %a, %c0 : {type_}
      %n = memref.dim %a, %c1 : {type_}
      scf.for %r = %c0 to %rows step %c1 {{
        %first = memref.load %t[%r] : memref<?x{element}>
        %last = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %first) -> ({element}) {{
          %x = memref.load %a[%r, %i] : {type_}
          {body}
          %s = arith.{op} %sum, %{taken} : {element}
          memref.store %{stored}, %{target}[%r, %{at}] : {type_}
          scf.yield %s : {element}
        }}
        memref.store %last, %t[%r] : memref<?x{element}>
      }}
      return
    }}"""


def is_on_vectors(run: Any) -> bool:
    """Return whether elements are moved up in a register."""
    return "vector.shuffle" in run.as_text("loops")


def random(dtype: Any, *shape: int) -> Any:
    return np.random.default_rng(0).integers(-5, 6, shape).astype(dtype)


def accumulated(name: str, first: Any, a: Any) -> Any:
    """What is carried: before the first element, and after each."""
    return UFUNCS[name].accumulate(np.concatenate([first[:, None], a], 1), 1, a.dtype)


@pytest.mark.usefixtures("bits")
@pytest.mark.parametrize(
    ("element", "op"),
    [(e, op) for e in DTYPES for op in UFUNCS if op.endswith("f") == e.startswith("f")],
)
@pytest.mark.parametrize("is_static", [True, False])
def test_rows_of_any_length(element: str, op: str, is_static: bool) -> None:
    lengths = [9, 16, 65] if is_static else LENGTHS
    run = None if is_static else kernel(scan(op, element))
    for length in lengths:
        run_ = kernel(scan(op, element, size=length)) if run is None else run
        a = guarded(random(DTYPES[element], 3, length))
        b, total = guarded(np.zeros_like(a)), random(DTYPES[element], 3)
        expected = accumulated(op, total, a)
        run_(a, b, total)
        np.testing.assert_array_equal(b, expected[:, 1:])
        np.testing.assert_array_equal(total, expected[:, -1])


@pytest.mark.usefixtures("bits")
def test_before_each_element() -> None:
    run = kernel(scan("addi", "i32", stored="sum"))
    assert is_on_vectors(run)
    for length in LENGTHS:
        a, total = guarded(random(np.int32, 3, length)), random(np.int32, 3)
        b, expected = guarded(np.zeros_like(a)), accumulated("addi", total, a)
        run(a, b, total)
        np.testing.assert_array_equal(b, expected[:, :-1])


@pytest.mark.usefixtures("bits")
def test_what_is_computed_before_and_after() -> None:
    body = """%y = arith.mulf %x, %x : f32"""
    text = scan("addf", "f32", body, taken="y", stored="z").replace(
        "memref.store %z", "%z = arith.divf %s, %x : f32\n memref.store %z"
    )
    run = kernel(text)
    assert is_on_vectors(run)
    for length in LENGTHS:
        a = random(np.float32, 3, length) + np.float32(8)
        b, total = np.zeros_like(a), np.ones(3, np.float32)
        expected = accumulated("addf", total, a * a)[:, 1:] / a
        run(a, b, total)
        np.testing.assert_array_equal(b, expected)


@pytest.mark.usefixtures("bits")
def test_in_its_own_place() -> None:
    run = kernel(scan("addi", "i32", target="a"))
    assert is_on_vectors(run)
    for length in LENGTHS:
        a, total = random(np.int32, 3, length), random(np.int32, 3)
        expected = accumulated("addi", total, a)[:, 1:]
        run(a, np.zeros_like(a), total)
        np.testing.assert_array_equal(a, expected)


@pytest.mark.usefixtures("bits")
@pytest.mark.parametrize("op", ["addf", "maximumf", "minimumf"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_infinities_and_nan(op: str) -> None:
    run = kernel(scan(op, "f32"))
    for odd in (np.nan, np.inf, -np.inf, -0.0):
        for place in (0, 1, 15, 16, 39):
            a = random(np.float32, 2, 40)
            a[1, place], a[1, (place + 7) % 40] = odd, -odd
            total = random(np.float32, 2)
            b, expected = np.zeros_like(a), accumulated(op, total, a)
            run(a, b, total)
            np.testing.assert_array_equal(b, expected[:, 1:])


def test_many_small_numbers_beside_a_large_one() -> None:
    """Sums of vectors round less than one after another."""
    run = kernel(scan("addf", "f32"))
    a = np.random.default_rng(1).uniform(0, 1, (1, 100_000)).astype(np.float32)
    b, total = np.zeros_like(a), np.zeros(1, np.float32)
    run(a, b, total)
    exact = np.cumsum(a.astype(np.float64), 1)
    ordered = np.cumsum(a, 1)
    assert np.abs(b - exact).max() <= np.abs(ordered - exact).max()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (scan("mulf", "f32"), "a part of a product may leave the format where the whole does not"),
        (scan("addf", "f16"), "the carried value is neither a sum nor an extremum"),
        (scan("subf", "f32"), "the carried value is neither a sum nor an extremum"),
        (scan("addf", "f32", taken="sum"), "the combined value depends on the carried one"),
        (
            scan("addf", "f32", "%y = arith.mulf %x, %sum : f32", taken="y"),
            "the combined value depends on the carried one",
        ),
        (scan("addf", "f32", taken="first"), "the combined value is made outside of the loop"),
        (
            scan("addi", "i32", "%p = arith.index_cast %i : index to i32", taken="p"),
            "the body computes with its position",
        ),
        (
            scan("addf", "f32", "%j = arith.addi %i, %c1 : index", target="a", at="j"),
            "the written memory may be accessed in another iteration",
        ),
        (
            scan("addf", "f32", "%j = arith.subi %n, %i : index", at="j"),
            "the body computes with its position",
        ),
        (
            scan("addf", "f32", "%j = arith.addi %i, %i : index", at="j"),
            "the body computes with its position",
        ),
        (
            scan("addf", "f32").replace("%b[%r, %i]", "%b[%i, %r]"),
            "the access does not run along memory",
        ),
        (scan("addf", "f32", size=3), "the loop is short"),
    ],
)
def test_what_is_left(text: str, reason: str) -> None:
    module = Module.parse(text, trusted=True)
    if "x3x" in text:
        text = text.replace("%n = memref.dim %a, %c1 : memref<?x3xf32>", "")
        module = Module.parse(text.replace("%c0 to %n", "%c0 to %c1"), trusted=True)
    before = str(module)
    report = file.vectorize_scans(module, vector_bits=256)
    after = str(module)
    assert after.count("vector.") == before.count("vector.")
    # Sums of floats are added up in blocks by loops over scalars, too.
    assert after == before or "arith.addf" in before
    assert reason in set.union(*report.left.values())


def test_memory_that_may_be_the_same() -> None:
    text = """
    func.func private @f(%a: memref<?xf32>, %b: memref<?xf32>, %first: f32) -> f32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = memref.dim %a, %c0 : memref<?xf32>
      %last = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %first) -> (f32) {
        %x = memref.load %a[%i] : memref<?xf32>
        %s = arith.addf %sum, %x : f32
        memref.store %s, %b[%i] : memref<?xf32>
        scf.yield %s : f32
      }
      return %last : f32
    }"""
    report = file.vectorize_scans(Module.parse(text, trusted=True))
    reason = "the written memory may be accessed in another iteration"
    assert reason in set.union(*report.left.values())
