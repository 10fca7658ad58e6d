"""Structured ops on buffers as loops over vectors."""

from __future__ import annotations

from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest

import linalg_ext as lx
from guarded_memory import guarded
from kernels import kernel
from linalg_ext.errors import ArgumentError
from linalg_ext.module import Module
from linalg_ext.rewriting import Report
from linalg_ext.target import Target, using
from linalg_ext.transforms.codegen.base.machine import Machine
from linalg_ext.transforms.codegen.vectorization import vectorize_loops as file
from loop_texts import function, generic
from memrefs import integers, memref
from targets import runnable_targets

BITS = 512
REMAINDERS = [0, 1, 2, 3, 15, 16, 17, 63, 64, 65, 79, 80, 81, 127, 128, 129, 200]
"""Lengths below, at and above each multiple of a register and of the registers of a round."""


@pytest.fixture(params=[128, 256, 512])
def bits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Registers of this width, whatever the machine has."""
    machine = Machine(vector_bytes=request.param // 8, vector_registers=32)
    monkeypatch.setattr(file, "this_machine", lambda: machine)
    return cast(int, request.param)


def vectorized(text: str) -> tuple[Module, Report]:
    module = Module.parse(text, trusted=True)
    report = file.vectorize_loops(module, vector_bits=BITS)
    return module, report


@pytest.mark.parametrize("wrong", [3, 32, 96, -512])
def test_registers_that_no_machine_has(wrong: int) -> None:
    with pytest.raises(ArgumentError, match="a power of two"):
        file.vectorize_loops(Module.parse("module {}", trusted=True), vector_bits=wrong)


SUM_OF_PRODUCT = "%p = arith.mulf %in0, %in1 : f32\n%r = arith.addf %p, %in2 : f32"


@pytest.mark.usefixtures("bits")
@pytest.mark.parametrize("size", ["?", *REMAINDERS])
def test_chains(size: Any) -> None:
    type_ = f"memref<{size}xf32>"
    operands = [(name, type_) for name in ("%a", "%b", "%c", "%o")]
    run = kernel(function(operands, generic(["i"] * 4, ["parallel"], operands, SUM_OF_PRODUCT)))
    assert "vector." in run.as_text("loops") or size == 0
    rng = np.random.default_rng(0)
    for length in REMAINDERS if size == "?" else [size]:
        a, b, c = rng.normal(size=(3, length)).astype(np.float32)
        around = np.full(length + 2, 7, np.float32)
        run(a, b, c, around[1:-1])
        np.testing.assert_array_equal(around[1:-1], a * b + c)
        assert around[0] == around[-1] == 7


@pytest.mark.usefixtures("bits")
@pytest.mark.parametrize("name", ["addf", "maximumf", "minimumf", "maxnumf", "minnumf", "mulf"])
def test_sums_of_rows(name: str) -> None:
    operands = [("%a", "memref<?x?xf32>"), ("%o", "memref<?xf32>")]
    body = f"%r = arith.{name} %out0, %in0 : f32"
    run = kernel(
        function(operands, generic(["i, j", "i"], ["parallel", "reduction"], operands, body))
    )
    assert "vector." in run.as_text("loops")
    ufunc: Any = {
        "addf": np.add,
        "mulf": np.multiply,
        "maximumf": np.maximum,
        "minimumf": np.minimum,
        "maxnumf": np.fmax,
        "minnumf": np.fmin,
    }[name]
    rng = np.random.default_rng(0)
    for length in REMAINDERS:
        a = rng.uniform(0.9, 1.1, (5, length)).astype(np.float32)
        if length:
            a[1, rng.integers(length)] = np.nan
            a[2, rng.integers(length)] = np.inf
            a[3, rng.integers(length)] = -np.inf
        out = np.array([1, 2, 3, np.nan, -0.0], np.float32)
        before = out[:, None].astype(np.float64)
        whole = np.concatenate([before, a.astype(np.float64)], axis=1)
        run(a, out)
        with np.errstate(invalid="ignore"):
            expected = ufunc.reduce(whole, axis=1)
        np.testing.assert_allclose(out, expected, rtol=2e-6)
        if not length:
            assert np.signbit(out[4])


@pytest.mark.usefixtures("bits")
@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("name", ["addi", "muli", "maxsi", "minsi", "maxui", "minui", "xori"])
def test_sums_of_integers(name: str, element: str) -> None:
    operands = [("%a", f"memref<?x{element}>"), ("%o", f"memref<{element}>")]
    text = f"""
    func.func @f(%a: memref<?x{element}>, %o: memref<{element}>) {{
      linalg.generic {{indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
                      iterator_types = ["reduction"]}}
        ins(%a : {operands[0][1]}) outs(%o : {operands[1][1]}) {{
      ^bb0(%in: {element}, %out: {element}):
        %r = arith.{name} %out, %in : {element}
        linalg.yield %r : {element}
      }}
      return
    }}"""
    run = kernel(text)
    assert "vector." in run.as_text("loops")
    signed = np.dtype(element.replace("i", "int"))
    unsigned = np.dtype(f"u{signed}")
    ufunc: Any = {
        "addi": np.add,
        "muli": np.multiply,
        "maxsi": np.maximum,
        "minsi": np.minimum,
        "maxui": np.maximum,
        "minui": np.minimum,
        "xori": np.bitwise_xor,
    }[name]
    kind = unsigned if name.endswith("ui") else signed
    rng = np.random.default_rng(0)
    for length in (0, 1, 5, 63, 64, 257, 300):
        info = np.iinfo(signed)
        a = rng.integers(info.min, info.max, length, dtype=signed, endpoint=True)
        out = np.array(3, signed)
        expected = ufunc.reduce(np.append(a, out).view(kind), dtype=kind).view(signed)
        run(a, out)
        assert out == expected


@pytest.mark.usefixtures("bits")
@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (8, 64), (16, 130), (23, 17), (0, 4), (4, 0)])
@pytest.mark.parametrize("static", [True, False])
def test_sums_of_columns_of_narrow_floats_keep_their_order(
    shape: tuple[int, int], static: bool
) -> None:
    a = np.random.default_rng(0).normal(size=shape).astype(np.float16)
    out = np.arange(shape[1], dtype=np.float16)
    expected = out.copy()
    for row in a:
        expected += row
    sum_of_columns("f16", shape, static)(a, out)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.usefixtures("bits")
@pytest.mark.parametrize(
    "shape", [(1, 1), (7, 5), (8, 64), (16, 130), (23, 17), (0, 4), (4, 0), (600, 70), (1025, 3)]
)
@pytest.mark.parametrize("static", [True, False])
def test_sums_of_columns(shape: tuple[int, int], static: bool) -> None:
    a = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    out = np.arange(shape[1], dtype=np.float32)
    exact = out + a.astype(np.float64).sum(0)
    most = (np.abs(out) + np.abs(a).sum(0)) * 2.0**-23
    sum_of_columns("f32", shape, static)(a, out)
    assert (np.abs(out - exact) <= 2 * most).all()


def sum_of_columns(element: str, shape: tuple[int, int], static: bool) -> Any:
    """A kernel that adds rows to a row."""
    rows, columns = shape if static else ("?", "?")
    operands = [
        ("%a", f"memref<{rows}x{columns}x{element}>"),
        ("%o", f"memref<{columns}x{element}>"),
    ]
    body = f"%r = arith.addf %out0, %in0 : {element}"
    return kernel(
        function(operands, generic(["i, j", "j"], ["reduction", "parallel"], operands, body))
    )


CASTS = {
    ("i8", "i32"): "%r = arith.extsi %in0 : i8 to i32",
    ("i8", "f32"): "%r = arith.sitofp %in0 : i8 to f32",
    ("bf16", "f32"): "%r = arith.extf %in0 : bf16 to f32",
    ("f16", "f32"): "%r = arith.extf %in0 : f16 to f32",
    ("f32", "bf16"): "%r = arith.truncf %in0 : f32 to bf16",
    ("f32", "f16"): "%r = arith.truncf %in0 : f32 to f16",
    ("f64", "f32"): "%r = arith.truncf %in0 : f64 to f32",
    ("i64", "i16"): "%r = arith.trunci %in0 : i64 to i16",
    ("bf16", "bf16"): "%r = arith.addf %in0, %in0 : bf16",
    ("f16", "f16"): "%r = arith.mulf %in0, %in0 : f16",
}
DTYPES: dict[str, Any] = {
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    **{f"i{width}": f"int{width}" for width in (8, 16, 32, 64)},
}


@pytest.mark.parametrize(("source", "target"), CASTS)
def test_casts(source: str, target: str) -> None:
    operands = [("%a", f"memref<?x{source}>"), ("%o", f"memref<?x{target}>")]
    body = CASTS[source, target]
    run = kernel(function(operands, generic(["i", "i"], ["parallel"], operands, body)))
    assert "vector.load" in run.as_text("loops")
    for length in (1, 31, 130, 257):
        a = np.random.default_rng(0).normal(0, 50, length).astype(DTYPES[source])
        out = np.zeros(length, DTYPES[target])
        run(a, out)
        expected = a
        if source == target:
            expected = a + a if "addf" in body else a * a
        np.testing.assert_array_equal(out, expected.astype(DTYPES[target]))


@pytest.mark.usefixtures("bits")
def test_broadcasts_scalars_and_positions() -> None:
    operands = [
        ("%a", "memref<?x?xf32>"),
        ("%row", "memref<?xf32>"),
        ("%column", "memref<?xf32>"),
        ("%one", "memref<1x?xf32>"),
        ("%o", "memref<?x?xf32>"),
    ]
    body = """
      %0 = arith.mulf %in0, %in1 : f32
      %1 = arith.subf %0, %in2 : f32
      %2 = arith.addf %1, %in3 : f32
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %k = arith.subi %i, %j : index
      %n = arith.index_cast %k : index to i32
      %f = arith.sitofp %n : i32 to f32
      %s = arith.mulf %f, %scale : f32
      %r = arith.addf %2, %s : f32"""
    maps = ["i, j", "j", "i", "0, j", "i, j"]
    text = function([*operands, ("%scale", "f32")], generic(maps, ["parallel"] * 2, operands, body))
    run = kernel(text)
    assert "vector.load" in run.as_text("loops")
    rng = np.random.default_rng(0)
    for rows, columns in ((3, 1), (5, 64), (4, 77)):
        a = rng.integers(-9, 9, (rows, columns)).astype(np.float32)
        row, column = a[0] + 1, a[:, 0] - 2
        one = a[1:2] * 2
        out = np.empty_like(a)
        run(a, row, column, one, out, 3.0)
        i, j = np.indices(a.shape)
        np.testing.assert_array_equal(out, a * row - column[:, None] + one + (i - j) * 3)


NEGATE = "%r = arith.negf %in0 : f32"
V, W = ("%v", "memref<?xf32>"), ("%w", "memref<?xf32>")
A, B = ("%a", "memref<?x?xf32>"), ("%b", "memref<?x?xf32>")
WIDE = ("%wide", "memref<?xf80>")
SPREAD = ("%spread", "memref<?xf32, affine_map<(d) -> (d floordiv 2)>>")
LEFT = {
    "an index is neither a loop nor 0": generic(
        ["i + j", "i, j"], ["parallel"] * 2, [V, A], NEGATE
    ),
    "a diagonal": generic(
        ["i, i", "i"], ["parallel"], [A, V], NEGATE
    ),
    "the innermost loop does not run along memory": generic(
        ["i, j", "j, i"], ["parallel"] * 2, [A, B], NEGATE
    ),
    "several rounds write one element": generic(
        ["i, j", "i"], ["parallel"] * 2, [A, V], NEGATE
    ),
    "a reduction that vectors cannot do": generic(
        ["i, j", "i"],
        ["parallel", "reduction"],
        [A, V],
        "%r = arith.subf %in0, %out0 : f32",
    ),
    "elements of f80 in memory": generic(
        ["i", "i"],
        ["parallel"],
        [V, WIDE],
        "%r = arith.extf %in0 : f32 to f80",
    ),
    "a layout without strides": generic(["i", "i"], ["parallel"], [SPREAD, V], NEGATE),
    "math.round has no form on vectors": generic(
        ["i", "i"], ["parallel"], [V, W],
        "%r = math.round %in0 : f32",
    ),
    "an input may overlap the output": """
      %c1 = arith.constant 1 : index
      %s = memref.subview %a[0, 0] [4, 4] [1, 1]
        : memref<?x?xf32> to memref<4x4xf32, strided<[?, 1]>>
      %t = memref.subview %a[0, 1] [4, 4] [1, 1]
        : memref<?x?xf32> to memref<4x4xf32, strided<[?, 1], offset: 1>>
      linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                      iterator_types = ["parallel", "parallel"]}
        ins(%s : memref<4x4xf32, strided<[?, 1]>>)
        outs(%t : memref<4x4xf32, strided<[?, 1], offset: 1>>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      }""",
}  # fmt: skip
ARGUMENTS = [A, B, V, W, WIDE, SPREAD]


@pytest.mark.parametrize("reason", LEFT)
def test_what_is_left(reason: str) -> None:
    text = function(ARGUMENTS, LEFT[reason])
    before = str(Module.parse(text, trusted=True))
    module, report = vectorized(text)
    assert report.left == {"linalg.generic": {reason}}
    assert not report
    assert str(module) == before


@pytest.mark.parametrize("columns", [1, 7, 16, 100])
def test_rows_in_backward_order(columns: int) -> None:
    """Their strides are known to be negative, which no load of vectors takes."""
    x = integers(6, columns)[::-1]
    operands = [("%a", memref(x)), ("%o", f"memref<6x{columns}xf32>")]
    run = kernel(function(operands, generic(["i, j"] * 2, ["parallel"] * 2, operands, NEGATE)))
    out = np.empty(x.shape, x.dtype)
    run(x, out)
    np.testing.assert_array_equal(out, -x)


@pytest.mark.usefixtures("bits")
@pytest.mark.parametrize("element", ["i8", "f32", "f64"])
def test_nothing_is_touched_beyond_the_end(element: str) -> None:
    """The arrays end where a page ends, and a page that may not be touched follows."""
    type_ = f"memref<?x{element}>"
    operands = [("%a", type_), ("%o", type_)]
    body = f"%r = arith.{'addi' if element == 'i8' else 'addf'} %in0, %in0 : {element}"
    run = kernel(function(operands, generic(["i", "i"], ["parallel"], operands, body)))
    for length in REMAINDERS:
        a = guarded((np.arange(length) % 50).astype(DTYPES[element]))
        out = guarded(np.zeros_like(a))
        run(a, out)
        np.testing.assert_array_equal(out, 2 * a)


@pytest.mark.parametrize("one", runnable_targets())
@pytest.mark.parametrize("size", [0, 3, 65, 300])
def test_truth_values_in_memory(one: Target, size: int) -> None:
    random = np.random.default_rng(size)
    bits, others = random.random((2, 5, size)) < 0.5
    numbers = random.integers(0, 3, (2, 5, size))
    with lx.target.using(one):
        for dtype in (np.float32, np.int8):
            x, y = numbers.astype(dtype)
            np.testing.assert_array_equal(lx.ops.greater(x, y), x > y)
        np.testing.assert_array_equal(lx.ops.logical_xor(bits, others), bits ^ others)
        for rows in (bits, bits | True, bits & False):
            np.testing.assert_array_equal(lx.ops.row_any(rows), rows.any(1))
            np.testing.assert_array_equal(lx.ops.row_all(rows), rows.all(1))
            np.testing.assert_array_equal(lx.ops.column_any(rows), rows.any(0))


@pytest.mark.parametrize("size", [1, 15, 16, 33, 200])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_where_the_best_integer_is(dtype: Any, size: int) -> None:
    random = np.random.default_rng(size)
    for least, most in ((0, 5), (np.iinfo(dtype).min, np.iinfo(dtype).max)):
        x = random.integers(least, most, (7, size), dtype, endpoint=True)
        np.testing.assert_array_equal(lx.ops.row_argmax(x)[1], x.argmax(1))
        np.testing.assert_array_equal(lx.ops.row_argmin(x)[1], x.argmin(1))


@pytest.mark.parametrize("size", [1, 15, 16, 33, 200])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_extrema_in_narrow_formats(dtype: Any, size: int) -> None:
    x = np.random.default_rng(size).normal(size=(7, size)).astype(dtype)
    x[2, size // 2] = np.nan
    x[3] = -np.inf
    for op, numpy in ((lx.ops.row_max, np.max), (lx.ops.row_min, np.min)):
        exact = numpy(x.astype(np.float32), axis=1)
        np.testing.assert_array_equal(op(x).astype(np.float32), exact)


def test_an_extremum_in_memory_is_stored_without_a_mask() -> None:
    x = np.random.default_rng(0).normal(size=(3, 512)).astype(np.float32)
    x[1, 7] = np.nan
    np.testing.assert_array_equal(lx.ops.column_max(x), x.max(0))
    with using("avx2"):
        compiled = lx.jit(lambda x: lx.ops.column_max(x)).lower(x).compile()
        assert "vmaxps" in compiled.asm()
        assert "vmaskmov" not in compiled.asm()


@pytest.mark.parametrize("element", ["bf16", "f16"])
def test_sums_that_are_rounded_in_every_round_name_the_compute_type(element: str) -> None:
    text = """func.func @f(%a: tensor<64x64xf32>, %c: tensor<64xf32>) -> tensor<64xf32> {
      %r = linalg.reduce { arith.addf } ins(%a : tensor<64x64xf32>)
             outs(%c : tensor<64xf32>) dimensions = [1]
      return %r : tensor<64xf32>
    }""".replace("f32", element)
    told = str(lx.compile(text).explain())
    assert f"rounded to {element} in every round; with the compute_type f32" in told
    stated = text.replace("dimensions = [1]", "dimensions = [1] {linalg_ext.compute_type = f32}")
    assert "loops over vectors" in str(lx.compile(stated).explain())
