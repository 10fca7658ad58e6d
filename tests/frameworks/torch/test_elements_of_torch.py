"""Functions of elements at odd values: PyTorch's own results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from resources import package

torch = package("torch", "pip install 'linalg-ext[torch]'")

import linalg_ext as lx  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")

NAN, INFINITY = float("nan"), float("inf")
ODD = torch.tensor([0.0, -0.0, 1.5, -1.5, 3, -3, 7.3, INFINITY, -INFINITY, NAN, 1e-40, 5e30])
EACH, OTHER = torch.meshgrid(ODD, ODD, indexing="ij")
LEAST, MOST = -(2**31), 2**31 - 1
WHOLE = torch.tensor([0, 1, -1, 7, -7, MOST, LEAST], dtype=torch.int32)


def check(function: Callable[..., Any], *arguments: Any) -> None:
    """What PyTorch gives is what the compiled function gives, signs of zeros included."""
    leaves = torch.utils._pytree.tree_leaves
    wanted = leaves(function(*arguments))
    found = leaves(lx.from_torch(function, arguments, allow_fallback=False)(*arguments))
    torch.testing.assert_close(found, wanted, equal_nan=True)
    for one, other in zip(found, wanted, strict=True):
        assert torch.equal(one.signbit() & (one == one), other.signbit() & (other == other))


def test_a_number_over_a_tensor() -> None:
    check(lambda x: (1.0 / x, 2 / x, x.reciprocal()), ODD)
    check(lambda x: 1 / x, WHOLE)


def test_rests_of_divisions() -> None:
    check(lambda x, y: (x.fmod(y), x.fmod(2.5), x.fmod(-3)), EACH, OTHER)
    each, other = torch.meshgrid(WHOLE[1:-1], WHOLE[1:], indexing="ij")
    check(lambda x, y: (x.fmod(y), x.fmod(3), x.fmod(2.5)), each, other)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_integers_that_floats_do_not_hold(dtype: Any) -> None:
    most = torch.iinfo(dtype).max
    x, y = torch.meshgrid(
        torch.tensor([0, 1, -1, 7, 2**24 + 1, most, most - 1, -most], dtype=dtype),
        torch.tensor([1, -1, 7, -7, 2**24 + 1, most], dtype=dtype),
        indexing="ij",
    )
    floor, towards_zero = "floor", "trunc"
    check(lambda x, y: (-x, x // y, x // 7, x // -7, 7 // y, x % y), x, y)
    check(lambda x, y: [x.div(y, rounding_mode=mode) for mode in (floor, towards_zero)], x, y)
    check(lambda x, y: [x.div(-9, rounding_mode=mode) for mode in (floor, towards_zero)], x, y)
    check(lambda x, y: (x | 5, x ^ -3, x << (y & 7), x >> (y & 7)), x, y)
    check(lambda x, y: x.mean(0, dtype=torch.float64), x, y)
    check(lambda x, y: (x // y.int(), x.int() // y), x, y)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_powers_of_integers(dtype: Any) -> None:
    exponents = [0, 1, 2, 5, 31, 63, 64, -1, -2]
    x, y = torch.meshgrid(
        torch.tensor([0, 1, -1, 2, -3, 5], dtype=dtype),
        torch.tensor(exponents, dtype=dtype),
        indexing="ij",
    )
    check(lambda x, y: (x**y, 2**y, x**0, x**7, x.square(), x.abs() ** 0.5), x, y)


def test_signs() -> None:
    signs = OTHER.nan_to_num(2.0)
    check(
        lambda x, y: (x.copysign(y), x.copysign(-1.0), x.copysign(-0.0), y.signbit()), EACH, signs
    )
    check(lambda x, y: x.copysign(y), WHOLE, WHOLE.flip(0))


def test_extrema_that_pass_over_nan() -> None:
    check(lambda x, y: (x.fmax(y), x.fmin(y), x.fmax(y[:1]), x[:, :1].fmin(y)), EACH, OTHER)
    check(lambda x, y: (x.fmax(y), x.fmin(y)), WHOLE, WHOLE.flip(0))


def test_sizes_of_complex_numbers() -> None:
    check(lambda x, y: torch.complex(x, y).abs(), EACH, OTHER)
    check(lambda x: torch.fft.rfft(x).abs(), torch.randn(3, 16))


def test_elements_that_a_mask_selects() -> None:
    x = torch.randn(4, 5)
    check(lambda x, mask: x.masked_select(mask), x, x[0] > 0)
    check(lambda x, mask: x.masked_select(mask), x, torch.tensor(False))


def test_places_that_a_mask_gives_a_value() -> None:
    def put(x: Any, mask: Any) -> Any:
        first, second, third = x.clone(), x.clone(), x.clone()
        first[first > 9] = 0
        second[:, mask] = torch.arange(1.0, 5.0).reshape(4, 1)
        third[third[:, 0] > 0] = torch.arange(5.0)
        return first, second, third, x.index_put((x > 0,), torch.tensor(2.0), accumulate=True)

    x = torch.randn(4, 5)
    check(put, x, x[0] > 0)
    check(put, x, x[0] > 9)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_rows(mode: str) -> None:
    bag = torch.nn.functional.embedding_bag
    table, rows = torch.randn(9, 3), torch.tensor([1, 8, 1, 0, 5, 5])
    starts, ends = torch.tensor([0, 2, 2]), torch.tensor([0, 2, 2, 6])
    check(lambda t, r, s: bag(r, t, s, mode=mode), table, rows, starts)
    check(lambda t, r: bag(r.reshape(3, 2), t, mode=mode, padding_idx=1), table, rows)
    check(lambda t, r, s: bag(r, t, s, mode=mode, include_last_offset=True), table, rows, ends)


def test_bags_of_rows_by_weights() -> None:
    bag = torch.nn.functional.embedding_bag
    table, rows = torch.randn(9, 3), torch.tensor([[1, 8, 1], [0, 5, 5]])
    weights = torch.randn(2, 3)
    check(
        lambda t, r, w: bag(r, t, mode="sum", per_sample_weights=w, padding_idx=8),
        *(table, rows, weights),
    )


def test_order_of_elements() -> None:
    def order(x: Any) -> Any:
        return *x.sort(dim=0, stable=True), *x.sort(descending=True, stable=True), x.roll(7)

    check(order, torch.tensor([[3, 1, 3, 1], [1, 3, 3, 1]]))


def test_norms() -> None:
    norm = torch.linalg.norm
    x = torch.randn(4, 5)
    check(lambda x: (norm(x), norm(x, keepdim=True), norm(x, 3, 1), norm(x, dim=(0, 1))), x)
    check(lambda x: (norm(x, "fro"), norm(x, INFINITY), norm(x, -1), norm(x[0], 0)), x)
    check(
        lambda x: (
            norm(x, 2, 0, True),
            norm(x, dtype=torch.float64),
            norm(x[0, 0]),
            torch.dist(x, x[:1], 3),
        ),
        x,
    )


def test_pads_that_remove() -> None:
    pad, unfold, fold = (getattr(torch.nn.functional, name) for name in ("pad", "unfold", "fold"))
    x = torch.randn(2, 3, 6, 6)
    check(lambda x: (pad(x, (-1, 2), value=2.0), pad(x, (-1, -2, 3, 0))), x)
    check(lambda x: fold(unfold(x, 3, padding=1), (6, 6), 3, padding=1), x)


def test_medians_and_sums_of_little() -> None:
    check(lambda x: x.median(), torch.tensor([[3.0, NAN], [1.0, 2.0]]))
    check(lambda x: (x.median(), x.cumsum(0)), torch.tensor(3, dtype=torch.int32))
    check(
        lambda x, m, v: torch.addmv(x, m, v, beta=2, alpha=0.5), *map(torch.randn, (4, (4, 5), 5))
    )


def test_bytes_of_floats() -> None:
    x = torch.tensor([0.0, 1.7, 127.0, 128.5, 255.0])
    check(lambda x: (x.to(torch.uint8), x.to(torch.uint8).float(), x.byte().to(torch.int32)), x)


def test_slopes_in_the_middle() -> None:
    check(lambda x: torch.nn.functional.rrelu(x, 0.1, 0.5, training=False), EACH)
