"""Contractions as packed nests: the numbers, the memory that they touch, and what is left alone."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import pytest

from contraction_kernels import check, contraction_kernel, contraction_text
from examples import examples
from guarded_memory import guarded
from kernels import kernel, normalized
from linalg_ext import target
from linalg_ext.module import Module
from linalg_ext.transforms.codegen.base.machine import Machine, this_machine
from linalg_ext.transforms.codegen.contractions import pack_contractions as file
from linalg_ext.transforms.codegen.contractions.pack_contractions import pack_contractions
from machines import AVX2, AVX512, BASELINE, WITHOUT_FMA
from memrefs import integers
from resources import skip_machine

MATMUL = "mk,kn->mn"


def test_the_example() -> None:
    before, after = examples(file)[0]
    around = """
    func.func private @linalg_ext_contraction_0(memref<1000x500xf32>, memref<500x800xf32>,
                                                memref<1000x800xf32>)
    func.func @f(%a: memref<1000x500xf32>, %b: memref<500x800xf32>, %c: memref<1000x800xf32>) {
      {}
      return
    }"""
    function = around[around.index("func.func @f") :]
    module = Module.parse(function.replace("{}", before, 1), trusted=True)
    assert pack_contractions(module)
    made, main = sorted(module.ir.body.operations, key=lambda op: "private" not in str(op)[:30])
    assert "vector.fma" in str(made)
    expected = Module.parse(around.replace("{}", after, 1), trusted=True)
    assert str(list(expected.ir.body.operations)[-1]) == str(main)


# Every remainder of a tile: of its rows, of its vectors, of their lanes.


@pytest.fixture(scope="module", params=["f4", "f8"])
def open_matmul(request: pytest.FixtureRequest) -> tuple[Any, str]:
    """A kernel for all sizes and strides."""
    operands = [integers(2, 3, dtype=request.param) for _ in range(3)]
    return contraction_kernel(MATMUL, operands, known="unit"), request.param


@pytest.mark.parametrize("rows", range(14))
def test_every_remainder(open_matmul: tuple[Any, str], rows: int) -> None:
    compiled, dtype = open_matmul
    for columns in (*range(20), 31, 32, 33, 47, 48, 63, 64, 65, 127, 129):
        for depth in (0, 1, 7, 17):
            a, b = integers(rows, depth, dtype=dtype), integers(depth, columns, dtype=dtype)
            c = integers(rows, columns, dtype=dtype, seed=1)
            expected = a @ b + c
            compiled(a, b, c)
            np.testing.assert_array_equal(c, expected)


def test_open_blocks(open_matmul: tuple[Any, str]) -> None:
    """Several blocks of the rows and of the depth, the last of each shorter."""
    compiled, dtype = open_matmul
    a, b = integers(1100, 1030, dtype=dtype), integers(1030, 70, dtype=dtype)
    c = integers(1100, 70, dtype=dtype, seed=1)
    expected = a @ b + c
    compiled(a, b, c)
    np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("size", [1, 13, 64, 101])
@pytest.mark.parametrize("fill", [False, True])
def test_static_sizes(size: int, fill: bool) -> None:
    check(MATMUL, {"m": size, "n": 47, "k": 700}, fill=fill)


@pytest.mark.parametrize("machine", [AVX512, AVX2, BASELINE])
@pytest.mark.parametrize("a", ["mk", "km"])
@pytest.mark.parametrize("b", ["kn", "nk"])
def test_every_width_of_vectors(
    machine: Any, a: str, b: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if machine.vector_bytes > this_machine().vector_bytes:
        skip_machine("vectors so wide")
    monkeypatch.setattr(file, "this_machine", lambda: machine)
    sizes = {"m": 150, "n": 301, "k": 1100}  # larger than L2: packed
    check(MATMUL, sizes, orders=(a, b, "mn"), fill=True, dtype="f8")


# Layouts.


@pytest.mark.parametrize("known", ["all", "unit", "none"])
@pytest.mark.parametrize("c", ["mn", "nm"])
@pytest.mark.parametrize("b", ["kn", "nk"])
@pytest.mark.parametrize("a", ["mk", "km"])
def test_every_order_of_a_matmul(a: str, b: str, c: str, known: str) -> None:
    check(MATMUL, {"m": 37, "n": 53, "k": 41}, orders=(a, b, c), known=known)


@pytest.mark.parametrize(
    ("spec", "sizes"),
    [
        ("bmk,bkn->bmn", {"b": 5, "m": 16, "n": 16, "k": 16}),
        ("bmk,kbn->mbn", {"b": 3, "m": 9, "n": 21, "k": 5}),
        # Vectors that lie in two and three pieces: of C, of B, of both along the depth.
        ("mk,kpq->mpq", {"m": 20, "p": 9, "q": 24, "k": 30}),
        ("mk,kpq->mqp", {"m": 40, "p": 9, "q": 24, "k": 30}),
        ("mk,kpq->mqp", {"m": 20, "p": 9, "q": 24, "k": 60}),
        ("mij,nij->mn", {"m": 30, "n": 33, "i": 7, "j": 20}),
        ("imj,nji->mn", {"m": 30, "n": 33, "i": 7, "j": 20}),
        ("aebf,dfce->abcd", {"a": 9, "b": 7, "c": 5, "d": 19, "e": 6, "f": 11}),
        ("adb,cd->cba", {"a": 28, "b": 18, "c": 20, "d": 38}),
        ("mk,nk->nm", {"m": 40, "n": 3, "k": 200}),
        # Tiles whose vectors are cut at places known in advance: two runs of C, or a part of one.
        ("bged,cafg->fedcba", {"a": 24, "b": 4, "c": 3, "d": 5, "e": 2, "f": 3, "g": 7}),
        ("bged,cafg->fedcba", {"a": 8, "b": 3, "c": 3, "d": 5, "e": 2, "f": 3, "g": 7}),
        ("ced,fea->fcda", {"a": 96, "c": 3, "d": 5, "e": 7, "f": 4}),
        # Rows of A in pieces, and a depth along which neither operand is evenly spaced.
        ("da,cdb->cba", {"a": 40, "b": 21, "c": 9, "d": 50}),
        ("dac,bcd->ba", {"a": 40, "b": 30, "c": 21, "d": 37}),
        # Strips of B that are packed one by one, and asked for before.
        ("ceda,dbe->cba", {"a": 72, "b": 21, "c": 20, "d": 20, "e": 14}),
        ("cea,be->cba", {"a": 72, "b": 5, "c": 100, "e": 60}),
        ("mk,k->m", {"m": 133, "k": 77}),
        ("k,kn->n", {"n": 133, "k": 77}),
        ("k,k->", {"k": 1030}),
        ("m,n->mn", {"m": 33, "n": 35}),
    ],
)
@pytest.mark.parametrize("fill", [False, True])
def test_tensors(spec: str, sizes: dict[str, int], fill: bool) -> None:
    check(spec, sizes, fill=fill)
    check(spec, sizes, fill=fill, known="none", dtype="f8")


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("rows", [1, 2, 3, 8, 9])
@pytest.mark.parametrize("fill", [False, True])
def test_inner_products(rows: int, columns: int, fill: bool) -> None:
    for depth in (600, 601, 615):
        compiled = check("mk,nk->mn", {"m": rows, "n": columns, "k": depth}, fill=fill)
        assert "inner products" in compiled.as_text("loops")


def test_large_operands_are_packed_straight_from_their_strides() -> None:
    sizes = {"a": 20, "b": 40, "c": 24, "d": 40, "e": 24, "f": 33}
    compiled = check("aebf,dfce->abcd", sizes, fill=True)
    (plan,) = [line for line in compiled.as_text("loops").splitlines() if "linalg_ext.plan" in line]
    assert "A none" not in plan
    assert "B none" not in plan


def test_rows_apart_and_reversed() -> None:
    """Rows with gaps between them, and rows from the last to the first."""
    room = integers(80, 100)
    a, b = room[:41, 3:70], integers(67, 59)[:, ::-1][:, ::-1]
    c = np.zeros((41, 80), np.float32)[:, 5:64]
    expected = a @ b
    contraction_kernel(MATMUL, (a, b, c), known="none")(a, b, c)
    np.testing.assert_array_equal(c, expected)
    back = a[::-1, ::-1]
    c[:] = 0
    contraction_kernel(MATMUL, (a, b, c), known="none")(back, b, c)
    np.testing.assert_array_equal(c, back @ b)


def test_strides_beyond_32_bits() -> None:
    """Two rows of 64-bit distance, in address space that is reserved and never touched."""
    distance = (1 << 33) + 4096
    try:
        flags = mmap.MAP_PRIVATE | getattr(mmap, "MAP_NORESERVE", 0x4000)
        room = mmap.mmap(-1, 4 * (distance + 4096), flags=flags)
    except OSError:
        skip_machine("a system that reserves such space")
    flat = np.frombuffer(room, np.float32)
    a = np.lib.stride_tricks.as_strided(flat, (2, 40), (4 * distance, 4))
    a[:] = integers(2, 40)
    b, c = integers(40, 50), np.zeros((2, 50), np.float32)
    for known in ("all", "none"):
        c[:] = 0
        contraction_kernel(MATMUL, (a, b, c), known=known)(a, b, c)
        np.testing.assert_array_equal(c, np.array(a) @ b)


# Memory that is not the operands'.


@pytest.mark.parametrize(
    "sizes", [(7, 19, 5), (17, 33, 31), (6, 64, 16), (700, 70, 517), (37, 1, 45), (1, 35, 61)]
)
@pytest.mark.parametrize("transposed", [False, True])
def test_nothing_beyond_an_operand_is_read(sizes: tuple[int, int, int], transposed: bool) -> None:
    m, n, k = sizes
    for known in ("all", "unit"):
        a, b, c = guarded(integers(m, k)), guarded(integers(k, n)), guarded(integers(m, n))
        if transposed:
            a, b = guarded(integers(k, m)).T, guarded(integers(n, k)).T
        expected = a @ b + c
        contraction_kernel(MATMUL, (a, b, c), known=known)(a, b, c)
        np.testing.assert_array_equal(c, expected)


def test_nothing_beyond_the_result_is_written() -> None:
    room = np.full((20, 40), 7, np.float32)
    c = room[3:10, 5:24]
    a, b = integers(7, 30), integers(30, 19)
    contraction_kernel(MATMUL, (a, b, c), fill=True)(a, b, c)
    np.testing.assert_array_equal(c, a @ b)
    room[3:10, 5:24] = 7
    assert (room == 7).all()


def test_nan_and_infinity_stay_in_their_row_and_column() -> None:
    a, b = integers(13, 700), integers(700, 37)
    a[12, 699], b[3, 36] = np.nan, np.inf
    c = np.zeros((13, 37), np.float32)
    contraction_kernel(MATMUL, (a, b, c))(a, b, c)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(c, a @ b)


def test_an_overwritten_result_may_hold_nan() -> None:
    a, b = integers(13, 600), integers(600, 37)
    c = np.full((13, 37), np.nan, np.float32)
    contraction_kernel(MATMUL, (a, b, c), fill=True)(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def test_an_empty_sum_is_zero() -> None:
    a, b = integers(13, 0), integers(0, 37)
    c = np.full((13, 37), np.nan, np.float32)
    contraction_kernel(MATMUL, (a, b, c), fill=True, known="unit")(a, b, c)
    assert not c.any()


# What is made, and what is left.


def packed(text: str) -> tuple[str, Any]:
    """A module after the pass, and the report."""
    module = Module.parse(text, trusted=True)
    report = pack_contractions(module)
    return str(module.ir), report


def static(spec: str, *shapes: str, element: str = "f32", fill: bool = False) -> str:
    types = [f"memref<{shape}x{element}>" for shape in shapes]
    return contraction_text(spec, types, element, fill=fill)


def test_a_fill_is_absorbed_where_nothing_is_between() -> None:
    text = static(MATMUL, "32x32", "32x32", "32x32", fill=True)
    assert "linalg.fill" not in packed(text)[0]
    between = text.replace(
        "linalg.generic",
        "%i = arith.constant 0 : index\nmemref.store %z, %c[%i, %i] : memref<32x32xf32>\n"
        "linalg.generic",
    )
    assert "linalg.fill" in packed(between)[0]
    assert "linalg.fill" in packed(text.replace("0.0", "-0.0"))[0]


@pytest.mark.parametrize("passes", ["linalg-generalize-named-ops", "canonicalize"])
def test_a_fill_that_was_made_generic(passes: str) -> None:
    text = static(MATMUL, "32x32", "32x32", "32x32", fill=True)
    module = Module.parse(text, trusted=True)
    module.run(f"linalg-generalize-named-ops,{passes}")
    assert "overwritten" in packed(str(module.ir))[0]
    check(MATMUL, {"m": 32, "n": 32, "k": 32}, fill=True)


def test_one_function_does_for_all_contractions_of_a_plan() -> None:
    one = static(MATMUL, "32x32", "32x32", "32x32")
    two = one + one.replace("@f", "@g")
    text, report = packed(two)
    assert report.changed.total() == 2
    assert text.count("func.func private") == 1


@pytest.mark.parametrize(
    ("why", "text"),
    [
        ("element types", static(MATMUL, "32x32", "32x32", "32x32", element="f16")),
        ("small", static(MATMUL, "4x4", "4x4", "4x4")),
        ("one operand alone", static("mkj,kn->mn", "32x32x2", "32x32", "32x32")),
        (
            "not a contraction",
            static(MATMUL, "32x32", "32x32", "32x32").replace("arith.mulf", "arith.maximumf"),
        ),
        (
            "the output is an input",
            static(MATMUL, "32x32", "32x32", "32x32").replace("ins(%a", "ins(%c"),
        ),
    ],
)
def test_left_alone(why: str, text: str) -> None:
    after, report = packed(text)
    assert not report
    assert why in repr(report)
    assert normalized(Module.parse(after, trusted=True).ir) == normalized(
        Module.parse(text, trusted=True).ir
    )


def test_left_alone_where_there_is_no_fma(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "this_machine", lambda: WITHOUT_FMA)
    assert not packed(static(MATMUL, "32x32", "32x32", "32x32"))[1]


@pytest.mark.parametrize(
    ("name", "vector_bytes", "has_fma"),
    [("avx512", 64, True), ("avx2", 32, True), ("generic-x86-64", 16, False)],
)
def test_the_machine_is_that_of_the_target(name: str, vector_bytes: int, has_fma: bool) -> None:
    with target.using(name) as one:
        machine = this_machine()
    assert machine == Machine.of(one)
    assert (machine.vector_bytes, machine.has_fma) == (vector_bytes, has_fma)


def test_a_name_that_is_taken() -> None:
    text = static(MATMUL, "32x32", "32x32", "32x32")
    text += "\nfunc.func private @linalg_ext_contraction_0()"
    assert "@linalg_ext_contraction_1(" in packed(text)[0]


def test_the_micro_kernel_neither_gathers_nor_spills() -> None:
    """In the innermost loop: FMAs, their loads, and nothing else that touches memory."""
    if this_machine().vector_bytes < 64:
        skip_machine("AVX-512")
    compiled = kernel(static(MATMUL, "600x600", "600x640", "600x640", fill=True), opt_level=3)
    text = compiled.asm()
    assert "gather" not in text
    lines = text.splitlines()
    fmas = [number for number, line in enumerate(lines) if "vfmadd" in line]
    body = lines[fmas[0] : fmas[-1]]
    assert len(fmas) >= 24
    assert not [line for line in body if "vmov" in line and ("rsp" in line or "rbp" in line)]


@pytest.mark.parametrize(("name", "tiles"), [("avx512", 1), ("avx2", 2)])
def test_only_the_last_tile_masks_what_it_reads_in_place(name: str, tiles: int) -> None:
    """A row times a matrix: without registers for masks each is made in the innermost loop."""
    with target.using(name):
        text, _ = packed(static(MATMUL, "1x999", "999x1001", "1x1001", fill=True))
    loops = text.split("scf.for")
    products = [loop.split("scf.yield")[0] for loop in loops if "vector.fma" in loop]
    assert len(products) == tiles
    masked = [loop for loop in products if "vector.maskedload" in loop]
    assert len(masked) == 1


def test_the_text_is_the_same_every_time() -> None:
    text = static("aebf,dfce->abcd", "9x6x7x11", "19x11x5x6", "9x7x5x19")
    assert packed(text)[0] == packed(text)[0]


@pytest.mark.parametrize("spec", ["kb,kb->b", "bkc,bkc->bc"])
@pytest.mark.parametrize("fill", [False, True])
def test_sums_element_by_element_are_loops_over_vectors(spec: str, fill: bool) -> None:
    """A nest would read each column by itself, an element from each line of the cache."""
    sizes = {"b": 70, "c": 45, "k": 131}
    inputs, output = spec.split("->")
    a, b = (integers(*(sizes[label] for label in term)) for term in inputs.split(","))
    c = integers(*(sizes[label] for label in output))
    compiled = contraction_kernel(spec, [a, b, c], fill=fill)
    assert "linalg_ext.plan" not in compiled.as_text("loops")
    assert "vector<" in compiled.as_text("loops")
    expected = np.einsum(spec, a, b) + (0 if fill else c)
    compiled(a, b, c)
    np.testing.assert_array_equal(c, expected)
