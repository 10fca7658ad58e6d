"""Results collected in panels and transposed into place: where C and B are contiguous apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from contraction_kernels import check, contraction_kernel, contraction_text
from guarded_memory import guarded
from kernels import kernel
from linalg_ext.transforms.codegen.base.machine import this_machine
from linalg_ext.transforms.codegen.contractions import pack_contractions as file
from machines import AVX2, AVX512, BASELINE
from memrefs import integers
from resources import skip_machine

SPEC = "aebd,ce->dcba"
"""C is contiguous along `a`, the first operand along `d`; the rows are few: `c`."""

TRANSPOSED = "transposed from panels"


@pytest.mark.parametrize("a", [2, 15, 16, 17, 33])
@pytest.mark.parametrize("d", [8, 9, 16, 31, 64, 70])
@pytest.mark.parametrize("fill", [False, True])
def test_every_remainder_of_a_square(a: int, d: int, fill: bool) -> None:
    compiled = check(SPEC, {"a": a, "b": 3, "c": 5, "d": d, "e": 12}, fill=fill)
    assert TRANSPOSED in compiled.as_text("loops")


def test_a_run_of_one_value() -> None:
    check(SPEC, {"a": 1, "b": 3, "c": 5, "d": 24, "e": 12})


@pytest.mark.parametrize("machine", [AVX512, AVX2, BASELINE])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_every_width_of_vectors(machine: Any, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if machine.vector_bytes > this_machine().vector_bytes:
        skip_machine("vectors so wide")
    monkeypatch.setattr(file, "this_machine", lambda: machine)
    sizes = {"a": 21, "b": 2, "c": 13, "d": 37, "e": 41}
    assert TRANSPOSED in check(SPEC, sizes, dtype=dtype).as_text("loops")


@pytest.mark.parametrize("fill", [False, True])
def test_several_blocks_of_the_depth_and_several_panels(
    fill: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small L2: a panel holds one square of each run, and the depth comes in three blocks."""
    small = replace(AVX2, l2_bytes=1 << 16)
    if small.vector_bytes > this_machine().vector_bytes:
        skip_machine("vectors so wide")
    monkeypatch.setattr(file, "this_machine", lambda: small)
    compiled = check(SPEC, {"a": 19, "b": 2, "c": 7, "d": 50, "e": 1300}, fill=fill)
    assert f"{TRANSPOSED} of 16 x 50" in compiled.as_text("loops")


def test_an_empty_sum_is_zero() -> None:
    b, a = integers(17, 0, 2, 24), integers(5, 0)
    c = np.full((24, 5, 2, 17), np.nan, np.float32)
    contraction_kernel(SPEC, (b, a, c), fill=True)(b, a, c)
    assert not c.any()


def test_sizes_of_other_dimensions_may_be_open() -> None:
    """Only those of a panel must be known: here of the last three axes, and of the rows."""
    types = [
        "memref<?x9x3x24xf32>",
        "memref<5x9xf32>",
        "memref<24x5x3x?xf32>",
    ]
    b, a = integers(17, 9, 3, 24), integers(5, 9)
    c = np.zeros((24, 5, 3, 17), np.float32)
    kernel(contraction_text(SPEC, types, "f32"))(b, a, c)
    np.testing.assert_array_equal(c, np.einsum(SPEC, b, a))


@pytest.mark.parametrize("sizes", [(17, 24, 9), (16, 16, 16), (5, 33, 700)])
def test_nothing_beyond_an_operand_is_touched(sizes: tuple[int, int, int]) -> None:
    a, d, e = sizes
    first, second = guarded(integers(a, e, 3, d)), guarded(integers(5, e))
    c = guarded(integers(d, 5, 3, a))
    expected = np.einsum(SPEC, first, second, optimize=True) + c
    contraction_kernel(SPEC, (first, second, c))(first, second, c)
    np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("rows", [4, 8])
def test_the_last_tile_of_a_panel_stays_inside(rows: int) -> None:
    """The columns are whole tiles, those of a panel are not: its last tile would reach beyond."""
    spec = "baed,ce->dcba"
    first, second = guarded(integers(2, 96, 12, 8)), guarded(integers(rows, 12))
    c = guarded(integers(8, rows, 2, 96))
    expected = np.einsum(spec, first, second, optimize=True) + c
    compiled = contraction_kernel(spec, (first, second, c))
    assert TRANSPOSED in compiled.as_text("loops")
    compiled(first, second, c)
    np.testing.assert_array_equal(c, expected)


def test_nan_and_infinity_stay_where_they_belong() -> None:
    b, a = integers(17, 9, 2, 24), integers(5, 9)
    b[16, 8, 1, 23], a[4, 0] = np.inf, np.nan
    c = np.full((24, 5, 2, 17), np.nan, np.float32)
    contraction_kernel(SPEC, (b, a, c), fill=True)(b, a, c)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(c, np.einsum(SPEC, b, a))


@pytest.mark.parametrize("shift", [0, 1, 4])
def test_stores_past_the_caches(shift: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no cache holds the operands: an aligned result past them, another one as ever."""
    small = replace(this_machine(), l3_bytes=1 << 12)
    monkeypatch.setattr(file, "this_machine", lambda: small)
    b, a = integers(32, 9, 3, 24), integers(5, 9)
    room = np.full(24 * 5 * 3 * 32 + 32, 7, np.float32)
    start = -room.ctypes.data % 64 // 4 + shift
    c = room[start : start + 24 * 5 * 3 * 32].reshape(24, 5, 3, 32)
    compiled = contraction_kernel(SPEC, (b, a, c), fill=True)
    assert "nontemporal" in compiled.as_text("loops")
    compiled(b, a, c)
    np.testing.assert_array_equal(c, np.einsum(SPEC, b, a))
    c[:] = 7
    assert (room == 7).all()


def test_no_stores_past_the_caches_of_parts_of_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    small = replace(this_machine(), l3_bytes=1 << 12)
    monkeypatch.setattr(file, "this_machine", lambda: small)
    for sizes in ({"a": 30}, {"d": 50, "a": 33}):
        whole = {"a": 32, "b": 3, "c": 5, "d": 24, "e": 9} | sizes
        assert "nontemporal" not in check(SPEC, whole, fill=True).as_text("loops")
    added = check(SPEC, {"a": 32, "b": 3, "c": 5, "d": 24, "e": 9})
    assert "nontemporal" not in added.as_text("loops")
