"""Contractions of narrow elements: dot products, conversions, zero points, and what they touch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import linalg_ext as lx
from guarded_memory import guarded
from linalg_ext import target
from linalg_ext.transforms.codegen.base.machine import Dot, choose_dot, dots_of, this_machine
from memrefs import Array
from narrow_contractions import expected, narrow_kernel, random_array
from resources import skip_machine

MATMUL = "mk,kn->mn"

WORDS = [
    ("bf16", "bf16", "f4"),
    ("s8", "s8", "i4"),
    ("u8", "s8", "i4"),
    ("s8", "u8", "i4"),
    ("u8", "u8", "i4"),
    ("s16", "u8", "i4"),
]
"""What machines have dot products for."""

CONVERTED = [
    ("f16", "f16", "f4"),
    ("bf16", "f32", "f4"),
    ("f32", "f16", "f4"),
    ("s8", "f32", "f4"),
    ("f32", "f32", "f8"),
    ("s8", "s16", "i8"),
]

ORDERS = [("mk", "kn"), ("mk", "nk"), ("km", "kn"), ("km", "nk")]

SIZES = [
    (7, 19, 5), (1, 1, 1), (0, 3, 4), (3, 0, 4), (3, 4, 0), (6, 64, 16), (13, 65, 67),
    (33, 130, 131), (8, 17, 2050), (50, 17, 4097),
]  # fmt: skip
"""Every remainder of a tile and of a word, several blocks of the depth, and nothing."""


def operand(kind: str, labels: str, order: str, sizes: dict[str, int], seed: int) -> Array:
    """An array with axes `labels` that lie in memory in another order."""
    array = random_array(kind, *(sizes[label] for label in order), seed=seed)
    return array.transpose([order.index(label) for label in labels])


def check_sizes(kinds: tuple[str, str, str], a_order: str, b_order: str) -> None:
    """One kernel for all sizes."""
    compiled = None
    for m, n, k in SIZES:
        sizes = {"m": m, "n": n, "k": k}
        a = operand(kinds[0], "mk", a_order, sizes, 1)
        b = operand(kinds[1], "kn", b_order, sizes, 2)
        c = np.arange(m * n, dtype=kinds[2]).reshape(m, n)
        if compiled is None:
            compiled = narrow_kernel(MATMUL, (a, b, c), known="unit")
            assert "linalg_ext.plan" in compiled.as_text("loops")
        wanted = expected(MATMUL, a, b, c)
        compiled(a, b, c)
        np.testing.assert_array_equal(c, wanted, err_msg=f"{m} x {n} x {k}")


@pytest.mark.parametrize("kinds", WORDS + CONVERTED)
@pytest.mark.parametrize(("a", "b"), ORDERS)
def test_every_remainder(kinds: tuple[str, str, str], a: str, b: str) -> None:
    check_sizes(kinds, a, b)


@pytest.mark.parametrize("kinds", WORDS[:3] + CONVERTED[:1])
@pytest.mark.parametrize("machine", ["avx2", "avx512", "generic-x86-64"])
def test_other_machines(kinds: tuple[str, str, str], machine: str) -> None:
    """Without dot products of words of four: words of two, conversions, or loops."""
    one = target.named(machine)
    if one.missing_on(target.host()):
        skip_machine(machine)
    with target.using(machine):
        sizes = {"m": 13, "n": 35, "k": 71}
        for a_order, b_order in (("mk", "kn"), ("km", "nk")):
            a = operand(kinds[0], "mk", a_order, sizes, 1)
            b = operand(kinds[1], "kn", b_order, sizes, 2)
            c = np.zeros((13, 35), kinds[2])
            compiled = narrow_kernel(MATMUL, (a, b, c))
            assert ("linalg_ext.plan" in compiled.as_text("loops")) == one.has_fma
            compiled(a, b, c)
            np.testing.assert_array_equal(c, expected(MATMUL, a, b, np.zeros_like(c)))


@pytest.mark.parametrize("lost", ["avx512bf16", "avx512vnni"])
def test_without_an_extension(lost: str) -> None:
    if lost not in target.host().features:
        skip_machine(lost)
    with target.using(target.host().without(lost)):
        for kinds in WORDS:
            a, b = random_array(kinds[0], 20, 70), random_array(kinds[1], 70, 40)
            c = np.zeros((20, 40), kinds[2])
            compiled = narrow_kernel(MATMUL, (a, b, c))
            assert "dpbf16" not in compiled.as_text("loops") or lost != "avx512bf16"
            assert "vpdpbusd.512" not in compiled.as_text("loops") or lost != "avx512vnni"
            compiled(a, b, c)
            np.testing.assert_array_equal(c, expected(MATMUL, a, b, np.zeros_like(c)))


@pytest.mark.parametrize("known", ["all", "none"])
@pytest.mark.parametrize("kinds", [WORDS[0], WORDS[1], CONVERTED[0]])
@pytest.mark.parametrize(
    ("spec", "sizes"),
    [
        ("bmk,bkn->bmn", {"b": 5, "m": 16, "n": 16, "k": 18}),
        ("mk,kpq->mqp", {"m": 40, "p": 9, "q": 24, "k": 30}),
        ("mij,nij->mn", {"m": 30, "n": 33, "i": 7, "j": 20}),
        ("imj,nji->mn", {"m": 30, "n": 33, "i": 7, "j": 21}),
        ("aebf,dfce->abcd", {"a": 9, "b": 7, "c": 5, "d": 19, "e": 6, "f": 11}),
        ("mk,nk->nm", {"m": 40, "n": 3, "k": 200}),
        ("mk,k->m", {"m": 133, "k": 77}),
        ("k,kn->n", {"n": 133, "k": 77}),
        ("k,k->", {"k": 1030}),
    ],
)
def test_tensors(spec: str, sizes: dict[str, int], kinds: tuple[str, str, str], known: str) -> None:
    inputs, output = spec.split("->")
    a, b = (
        random_array(kind, *(sizes[label] for label in term), seed=seed)
        for seed, (kind, term) in enumerate(zip(kinds, inputs.split(","), strict=False))
    )
    c = np.ones([sizes[label] for label in output], kinds[2])
    wanted = expected(spec, a, b, c)
    narrow_kernel(spec, (a, b, c), known=known)(a, b, c)
    np.testing.assert_array_equal(c, wanted)


# Zero points.


@pytest.mark.parametrize("kinds", [*WORDS[1:5]])
@pytest.mark.parametrize("given", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize(("a", "b"), ORDERS)
def test_zero_points(kinds: tuple[str, str, str], given: tuple[bool, bool], a: str, b: str) -> None:
    points = [point if is_given else 0 for point, is_given in zip((-77_777_777, 130), given)]  # noqa: B905
    compiled = None
    for m, n, k in SIZES:
        sizes = {"m": m, "n": n, "k": k}
        left = operand(kinds[0], "mk", a, sizes, 1)
        right = operand(kinds[1], "kn", b, sizes, 2)
        c = np.ones((m, n), np.int32)
        if compiled is None:
            compiled = narrow_kernel(MATMUL, (left, right, c), known="unit", zero_points=given)
            assert "linalg_ext.plan" in compiled.as_text("loops")
        wanted = expected(MATMUL, left, right, c, points)
        compiled(left, right, c, *(point for point in points if point))
        np.testing.assert_array_equal(c, wanted, err_msg=f"{m} x {n} x {k}")


# Numbers that are special.


@pytest.mark.parametrize("kinds", [WORDS[0], CONVERTED[0], CONVERTED[1]])
def test_nan_and_infinity_stay_in_their_row_and_column(kinds: tuple[str, str, str]) -> None:
    a, b = random_array(kinds[0], 13, 701), random_array(kinds[1], 701, 37)
    a[12, 700], a[3, 3], b[3, 36] = np.nan, -np.inf, np.inf
    b[3, 5] = 1
    c = np.zeros((13, 37), np.float32)
    with np.errstate(invalid="ignore"):
        wanted = expected(MATMUL, a, b, c)
    narrow_kernel(MATMUL, (a, b, c))(a, b, c)
    np.testing.assert_array_equal(c, wanted)


def test_subnormal_numbers() -> None:
    """Conversions keep them; dot products of bf16 may take them for zeros, and do no more."""
    for kind in ("f16", "bf16"):
        tiny = np.float32(2.0**-24 if kind == "f16" else 2.0**-130)
        a, b = random_array(kind, 20, 64), random_array(kind, 64, 40)
        a[:, ::2] = tiny
        c = np.zeros((20, 40), np.float32)
        narrow_kernel(MATMUL, (a, b, c))(a, b, c)
        wide = b.astype(np.float64)
        kept = a.astype(np.float64)
        flushed = np.where(abs(kept) < 2.0**-126, 0, kept)
        near = [abs(c - each @ wide).max() for each in (kept, flushed)]
        assert min(near) < 1e-5
        if kind == "f16":
            assert near[0] < 1e-5


def test_sums_of_many_random_numbers() -> None:
    """No less exact than the sum in f32, in another order."""
    random = np.random.default_rng(5)
    for kind in ("bf16", "f16"):
        dtype = random_array(kind, 1).dtype
        a, b = (random.standard_normal((300, 300)).astype(dtype) for _ in range(2))
        c = np.zeros((300, 300), np.float32)
        narrow_kernel(MATMUL, (a, b, c), fill=True)(a, b, c)
        wanted = a.astype(np.float64) @ b.astype(np.float64)
        size = abs(a.astype(np.float64)) @ abs(b.astype(np.float64))
        assert (abs(c - wanted) <= 2.0**-20 * size).all()


def test_integers_wrap_around() -> None:
    a, b = np.full((9, 4000), -32768, np.int16), np.full((4000, 20), -32768, np.int16)
    c = np.zeros((9, 20), np.int32)
    narrow_kernel(MATMUL, (a, b, c))(a, b, c)
    np.testing.assert_array_equal(c, expected(MATMUL, a, b, np.zeros_like(c)))


# Memory that is not the operands'.


@pytest.mark.parametrize("kinds", [WORDS[0], WORDS[1], CONVERTED[0], CONVERTED[3]])
@pytest.mark.parametrize("sizes", [(7, 19, 5), (17, 33, 31), (6, 64, 16), (70, 70, 517)])
@pytest.mark.parametrize("transposed", [False, True])
def test_nothing_beyond_an_operand_is_read(
    kinds: tuple[str, str, str], sizes: tuple[int, int, int], transposed: bool
) -> None:
    m, n, k = sizes
    for known in ("all", "unit"):
        a, b = random_array(kinds[0], m, k), random_array(kinds[1], k, n)
        c = guarded(np.zeros((m, n), kinds[2]))
        wanted = expected(MATMUL, a, b, c)
        if transposed:
            a, b = guarded(a.T.copy()).T, guarded(b.T.copy()).T
        else:
            a, b = guarded(a), guarded(b)
        narrow_kernel(MATMUL, (a, b, c), known=known)(a, b, c)
        np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize("kinds", [WORDS[0], WORDS[1], CONVERTED[0]])
def test_parts_of_arrays(kinds: tuple[str, str, str]) -> None:
    """Rows with gaps, at odd addresses, from the last to the first, and every second element."""
    a = random_array(kinds[0], 80, 101)[::-1][1:42, 3:70]
    b = random_array(kinds[1], 67, 120)[:, ::-1][:, 1:119:2]
    c = np.zeros((41, 80), kinds[2])[:, 5:64]
    wanted = expected(MATMUL, a, b, c)
    narrow_kernel(MATMUL, (a, b, c), known="none")(a, b, c)
    np.testing.assert_array_equal(c, wanted)


# Which instruction.


@pytest.mark.parametrize(
    ("a", "b", "shift", "is_reversed"),
    [
        ("u8", "s8", 0, False),
        ("s8", "u8", 0, True),
        ("s8", "s8", 128, False),
        ("u8", "u8", -128, True),
    ],
)
def test_signs_are_brought_to_what_the_instruction_takes(
    a: str, b: str, shift: int, is_reversed: bool
) -> None:
    four = Dot("f", "i8", 4, 16, "i32", adds=True, left="u8", right="s8")
    two = Dot("g", "i16", 2, 16, "i32", adds=True, left="s16", right="s16")
    chosen = choose_dot((four, two), a, b, "i32")
    assert chosen is not None
    assert (chosen.function, chosen.shift, chosen.reversed) == ("f", shift, is_reversed)
    assert choose_dot((two,), a, b, "i32") == two
    assert choose_dot((four, two), a, b, "f32") is None


def test_what_multiplies_most_comes_first() -> None:
    products = [dot.lanes * dot.count for dot in dots_of(target.host())]
    assert products == sorted(products, reverse=True)


def test_a_few_rows_or_columns_are_converted_where_they_lie() -> None:
    a, b = random_array("bf16", 200, 300), random_array("bf16", 300)
    c = np.zeros(200, np.float32)
    text = narrow_kernel("mk,k->m", (a, b, c)).as_text("loops")
    assert "inner products" in text
    assert "memref.alloc" not in text


def test_the_micro_kernel_neither_gathers_nor_spills() -> None:
    if "avx512vnni" not in target.host().features or this_machine().vector_bytes < 64:
        skip_machine("AVX-512 VNNI")
    a, b = random_array("s8", 640, 640), random_array("s8", 640, 640)
    compiled: Any = narrow_kernel(MATMUL, (a, b, np.zeros((640, 640), np.int32)), fill=True)
    text = compiled.asm()
    assert "gather" not in text
    lines = text.splitlines()
    # The first ones make sums of columns; the tile's are the last.
    dots = [number for number, line in enumerate(lines) if "vpdpbusd" in line][-24:]
    body = lines[dots[0] : dots[-1]]
    assert len(dots) == 24
    assert len(body) < 60
    assert not [line for line in body if "vmov" in line and ("rsp" in line or "rbp" in line)]


@pytest.mark.parametrize("are_constants", [True, False])
def test_quantized_matmul(are_constants: bool) -> None:
    """By its name, with zero points that are known when it is traced, and with open ones."""
    points = np.int32(3), np.int32(-5)

    def known(a: Any, b: Any) -> Any:
        return lx.ops.quantized_matmul(a, b, *points, dtype=np.int32)

    def given(a: Any, b: Any, p: Any, q: Any) -> Any:
        return lx.ops.quantized_matmul(a, b, p, q, dtype=np.int32)

    a, b = random_array("s8", 30, 50), random_array("s8", 50, 21)
    traced = lx.jit(known if are_constants else given)
    operands = (a, b) if are_constants else (a, b, *points)
    assert "linalg_ext.plan" in traced.lower(*operands).compile().as_text("loops")
    wanted = (a.astype(np.int32) - 3) @ (b.astype(np.int32) + 5)
    np.testing.assert_array_equal(traced(*operands), wanted)
