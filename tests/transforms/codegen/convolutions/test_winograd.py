"""Winograd's convolution: the numbers of one that is multiplied out, and taken where it pays.

Small whole numbers are exact either way: the transforms halve sums twice, and no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linalg_ext as lx
from linalg_ext import target
from linalg_ext.transforms.codegen.base.machine import this_machine
from linalg_ext.transforms.codegen.convolutions import tile_windows
from machines import AVX2, AVX512, WITHOUT_FMA
from memrefs import integers
from resources import skip_machine
from window_kernels import Windows, check, check_apart, check_guarded

FIRST, LAST = ("nchw", "fchw", "nfhw"), ("nhwc", "hwcf", "nhwf")
"""Channels first, and last."""

LAYOUTS = [FIRST, LAST, ("nchw", "hwcf", "nfhw"), ("nhwc", "fhwc", "nhwf")]

PLACES = {"h": 3, "w": 3}

PLAN = "winograd"

pytestmark = pytest.mark.skipif(not this_machine().has_fma, reason="no FMA, no plan")


@contextmanager
def choice(wanted: bool | None) -> Iterator[None]:
    """Winograd's algorithm always, never, or where it pays."""
    with target.using(target.current().with_note("convolutions.winograd", wanted)):
        yield


def word(layout: tuple[str, ...]) -> str:
    return "-".join(layout)


@settings(max_examples=12, deadline=None)
@given(
    layout=st.sampled_from(LAYOUTS),
    sizes=st.lists(st.integers(2, 21), min_size=4, max_size=4),
    fill=st.sampled_from([None, "0.0", "3.0"]),
)
def test_any_size(layout: tuple[str, str, str], sizes: list[int], fill: str | None) -> None:
    named = dict(zip("ncfhw", (2, *sizes), strict=True))
    with choice(True):
        check(Windows(*layout), named, PLACES, fill=fill, plan=PLAN)


@pytest.mark.parametrize("layout", LAYOUTS[:2], ids=word)
def test_several_blocks_and_what_is_left_of_them(layout: tuple[str, str, str]) -> None:
    """Rows and columns of blocks, and strips of filters, the last ones shorter."""
    with choice(True):
        for sizes in ({"c": 70, "f": 110, "h": 19, "w": 41}, {"c": 260, "f": 9, "h": 3, "w": 75}):
            check(Windows(*layout), {"n": 1} | sizes, PLACES, fill="0.0", plan=PLAN)


def test_an_open_number_of_images() -> None:
    text = """
    func.func @f(%x: tensor<?x8x12x14xf32>, %k: tensor<8x8x3x3xf32>) -> tensor<?x8x10x12xf32> {
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0.0 : f32
      %n = tensor.dim %x, %c0 : tensor<?x8x12x14xf32>
      %e = tensor.empty(%n) : tensor<?x8x10x12xf32>
      %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x8x10x12xf32>) -> tensor<?x8x10x12xf32>
      %r = linalg.conv_2d_nchw_fchw ins(%x, %k : tensor<?x8x12x14xf32>, tensor<8x8x3x3xf32>)
             outs(%f : tensor<?x8x10x12xf32>) -> tensor<?x8x10x12xf32>
      return %r : tensor<?x8x10x12xf32>
    }"""
    with choice(True):
        kernel = lx.compile(text)
    assert PLAN in kernel.as_text("loops")
    for images in (0, 1, 3):
        x, k = integers(images, 8, 12, 14), integers(8, 8, 3, 3)
        start = np.zeros((images, 8, 10, 12), np.float32)
        np.testing.assert_array_equal(kernel(x, k), Windows(*FIRST).reference(x, k, start))


@pytest.mark.parametrize(
    "windows",
    [
        Windows(*FIRST, strides={"h": 2, "w": 2}),
        Windows(*FIRST, dilations={"h": 2, "w": 2}),
        Windows("ngchw", "gfchw", "ngfhw"),
        Windows("ncdhw", "fcdhw", "nfdhw"),
        Windows("ncw", "fcw", "nfw"),
        Windows("nchw", "fchw", "nhwf"),
    ],
    ids=["strides", "dilations", "groups", "three dims", "one dim", "transposed"],
)
def test_others_are_multiplied_out(windows: Windows) -> None:
    sizes = {"n": 1, "g": 2, "c": 16, "f": 16, "d": 4, "h": 8, "w": 16}
    with choice(True):
        compiled = check(windows, sizes, {"d": 3, "h": 3, "w": 3})
    assert PLAN not in compiled.as_text("loops")


@pytest.mark.parametrize(
    ("places", "dtype"),
    [({"h": 3, "w": 1}, "f4"), ({"h": 5, "w": 5}, "f4"), ({"h": 3, "w": 3}, "f8")],
)
def test_other_windows_and_elements_are_multiplied_out(places: dict[str, int], dtype: str) -> None:
    sizes = {"n": 1, "c": 16, "f": 16, "h": 8, "w": 16}
    with choice(True):
        compiled = check(Windows(*FIRST), sizes, places, dtype=dtype)
    assert PLAN not in compiled.as_text("loops")


def test_it_is_taken_where_it_pays_and_not_where_it_is_forbidden() -> None:
    many, few = {"n": 1, "c": 64, "f": 64, "h": 16, "w": 32}, {"n": 1, "c": 3, "f": 8}
    for layout in LAYOUTS[:2]:
        assert PLAN in check(Windows(*layout), many, PLACES).as_text("loops")
        lean = check(Windows(*layout), many | few, PLACES)
        assert PLAN not in lean.as_text("loops")
        with choice(False):
            assert PLAN not in check(Windows(*layout), many, PLACES).as_text("loops")


@pytest.mark.parametrize("machine", [AVX512, AVX2, WITHOUT_FMA])
def test_every_width_of_vectors(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if machine.vector_bytes > this_machine().vector_bytes:
        skip_machine("vectors so wide")
    monkeypatch.setattr(tile_windows, "this_machine", lambda: machine)
    sizes = {"n": 1, "c": 9, "f": 21, "h": 7, "w": 35}
    with choice(True):
        for layout in LAYOUTS[:2]:
            compiled = check(Windows(*layout), sizes, PLACES)
            assert (PLAN in compiled.as_text("loops")) == machine.has_fma


@pytest.mark.parametrize("channels", [16, 128])
@pytest.mark.parametrize("layout", LAYOUTS[:2], ids=word)
def test_the_error_is_that_of_a_sum_of_so_many_products(
    layout: tuple[str, str, str], channels: int
) -> None:
    """N. Higham's bound for a sum, with the growth of the transforms: 9/4 in each direction."""
    rng = np.random.default_rng(0)
    windows = Windows(*layout)
    sizes = {"n": 1, "c": channels, "f": 24, "h": 13, "w": 18}
    x, k, c = (rng.standard_normal(shape, np.float32) for shape in windows.shapes(sizes, PLACES))
    exact = windows.reference(x, k, np.zeros(c.shape))
    scale = windows.reference(np.abs(x), np.abs(k), np.zeros(c.shape))
    with choice(True):
        kernel = windows.compiled((x, k, c), fill="0.0")
    kernel(x, k, c)
    bound = (channels + 12) * np.finfo(np.float32).eps * (9 / 4) ** 2
    assert np.all(np.abs(c - exact) <= bound * scale.max())
    # What is found is far better than what is proved.
    assert np.abs(c - exact).max() <= 4e-6 * np.abs(exact).max()


def test_nan_stays_in_its_windows() -> None:
    for layout in LAYOUTS[:2]:
        windows = Windows(*layout)
        sizes = {"n": 1, "c": 8, "f": 8, "h": 9, "w": 17}
        x, k, c = (integers(*shape) for shape in windows.shapes(sizes, PLACES))
        x.flat[0], x.flat[-1], x.flat[x.size // 2] = np.nan, np.inf, -np.inf
        with np.errstate(invalid="ignore"):
            expected = windows.reference(x, k, np.zeros_like(c))
        with choice(True):
            windows.compiled((x, k, c), fill="0.0")(x, k, c)
        whole = np.isfinite(expected)
        np.testing.assert_array_equal(c[whole], expected[whole])
        assert not np.isfinite(c[~whole]).any()


# Memory that is not the operands'.


@pytest.mark.parametrize("width", [7, 14, 33])
@pytest.mark.parametrize("layout", LAYOUTS[:2], ids=word)
def test_nothing_beyond_an_operand_is_read(layout: tuple[str, str, str], width: int) -> None:
    for height in (5, 6):
        sizes = {"n": 2, "c": 5, "f": 19, "h": height, "w": width}
        with choice(True):
            check_guarded(Windows(*layout), sizes, PLACES)


@pytest.mark.parametrize("known", ["all", "unit"])
def test_operands_that_lie_apart(known: str) -> None:
    sizes = {"n": 1, "c": 5, "f": 9, "h": 7, "w": 21}
    with choice(True):
        check_apart(Windows(*FIRST), sizes, PLACES, known=known)


# What follows, and who shares the work.


@pytest.mark.parametrize("width", [6, 64])
def test_what_follows_is_done_on_the_results(width: int) -> None:
    for layout, named, over in (
        (LAST, lx.ops.conv_2d_nhwc_hwcf, [0, 1, 2]),
        (FIRST, lx.ops.conv_2d_nchw_fchw, [0, 2, 3]),
    ):
        windows = Windows(*layout)
        sizes = {"n": 1, "c": 12, "f": 19, "h": 9, "w": width}
        x, k, c = (integers(*shape) for shape in windows.shapes(sizes, PLACES))
        b = integers(19, seed=3)

        def block(x: Any, k: Any, b: Any, c: Any, named: Any = named, over: Any = over) -> Any:
            return lx.ops.relu(lx.ops.add(named(x, k), b, broadcast_rhs=over) + c)

        shape = tuple(len(b) if letter == "f" else 1 for letter in layout[2])
        expected = np.maximum(windows.reference(x, k, np.zeros_like(c)) + b.reshape(shape) + c, 0)
        with choice(True):
            compiled = lx.jit(block).lower(x, k, b, c).compile()
        assert PLAN in compiled.as_text("loops")
        assert "linalg.generic" not in compiled.as_text("loops")
        np.testing.assert_array_equal(compiled(x, k, b, c), expected)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_share_the_work(threads: int) -> None:
    x, k = integers(2, 32, 39, 37), integers(64, 32, 3, 3)
    expected = Windows(*FIRST).reference(x, k, np.zeros((2, 64, 37, 35), np.float32))
    with lx.threads.using(threads):
        kernel = lx.jit(lambda x, k: lx.ops.conv_2d_nchw_fchw(x, k))
        for _ in range(3):
            np.testing.assert_array_equal(kernel(x, k), expected)


def test_a_note_of_another_type_is_refused() -> None:
    machine = target.current().with_note("convolutions.winograd", "no")
    x, k = integers(1, 16, 18, 18), integers(16, 16, 3, 3)
    with target.using(machine), pytest.raises(lx.errors.TargetError, match="winograd says 'no'"):
        lx.jit(lambda x, k: lx.ops.conv_2d_nchw_fchw(x, k))(x, k)
