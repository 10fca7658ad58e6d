"""Reductions and scans where numbers are none, infinite or few: PyTorch's own results."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from resources import package

torch = package("torch", "pip install 'linalg-ext[torch]'")

import linalg_ext as lx  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")

NAN, INFINITY = float("nan"), float("inf")
X = torch.tensor(
    [
        [1.0, NAN, 3.0, INFINITY],
        [2.0, 2.0, -1.0, -1.0],
        [NAN, NAN, 1.0, 5.0],
        [-INFINITY] * 4,
        [INFINITY, NAN, INFINITY, 1000.0],
    ]
)


def check(
    function: Callable[..., Any], *arguments: Any, rtol: float = 1e-6, atol: float = 1e-6
) -> None:
    """What PyTorch gives is what the compiled function gives."""
    leaves = torch.utils._pytree.tree_leaves
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of variances of too few
        wanted = leaves(function(*arguments))
        found = leaves(lx.from_torch(function, arguments, allow_fallback=False)(*arguments))
    torch.testing.assert_close(found, wanted, rtol=rtol, atol=atol, equal_nan=True)


def test_places_of_extrema() -> None:
    def function(x: Any) -> Any:
        whole = x.argmax(), x.argmin(), x.argmax(keepdim=True)
        rows = x.argmax(1), x.argmin(-1), x.max(1), x.min(1, keepdim=True)
        return *whole, *rows, x.argmax(0, keepdim=True), x.min(0)

    check(function, X)
    check(function, X.double()[:, :1])
    check(lambda x: (x.argmax(), x.argmax(0), x.argmin(-1), x.max(0)), torch.tensor(3.0))
    check(lambda x: (x.argmax(1), x.argmin(), x.max(0)), torch.tensor([[3, 3, 1], [1, 3, 2]]))


def test_variances_of_few() -> None:
    check(lambda x: (x.var(0), torch.var_mean(x, 0, correction=5)), torch.tensor([1.0, 2.0]))
    check(lambda x: (x.var(0), x.var(dim=0, correction=0), x.std()), torch.tensor(1.0))
    check(lambda x: x.var((0, -1)), torch.empty(0, 3, 2))


def test_logarithms_of_sums() -> None:
    check(lambda x: (x.logcumsumexp(0), x.logcumsumexp(1)), X)
    check(lambda x: x.logcumsumexp(0), 100 * torch.randn(37, dtype=torch.float64))
    check(lambda x: x.logcumsumexp(0), torch.tensor(2.0))
    check(lambda x: x.logcumsumexp(1), torch.empty(2, 0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_norms_of_groups(dtype: Any) -> None:
    x = torch.randn(2, 6, 5, dtype=dtype)
    weight, bias = torch.randn(2, 6, dtype=dtype)
    norm = torch.nn.functional.group_norm
    check(lambda x: norm(x, 3), x, rtol=1e-5)
    check(lambda x, w: norm(x, 2, w), x, weight, rtol=1e-5)
    check(lambda x, w, b: norm(x[..., 0], 6, w, b, eps=0.1), x, weight, bias, rtol=1e-5)


def test_counts_of_bins() -> None:
    x = torch.tensor([0.0, 0.1, 0.5, 1.0, 1.0, 2.0, -1.0, 0.999])
    check(lambda x: (x.histc(4, 0, 1), x.histc(bins=3), x.histc(2, -1, -1)), x)
    check(lambda x: x.histc(5), torch.ones(7))
    check(lambda x: x.double().histc(7, 0, 7), torch.arange(20).reshape(4, 5) % 8)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_tanh_form_of_gelu(dtype: Any) -> None:
    x = torch.linspace(-6, 6, 101).to(dtype)
    wanted = torch.nn.functional.gelu(x.double(), approximate="tanh")
    found = lx.from_torch(
        lambda x: torch.nn.functional.gelu(x, approximate="tanh"), (x,), allow_fallback=False
    )(x)
    epsilon = torch.finfo(dtype).eps
    torch.testing.assert_close(found.double(), wanted, rtol=2 * epsilon, atol=4 * epsilon)


def test_the_largest_in_any_order() -> None:
    x = torch.randn(3, 10)
    values, places = lx.from_torch(lambda x: x.topk(4, sorted=False), (x,), allow_fallback=False)(x)
    assert torch.equal(values.sort(descending=True)[0], x.topk(4)[0])
    assert torch.equal(x.gather(1, places), values)


def test_differences_from_a_number() -> None:
    x = torch.randn(5, dtype=torch.float64)
    check(lambda x: (0.1 - x, torch.rsub(x, 0.1, alpha=0.3)), x, rtol=1e-15, atol=0)
    check(lambda x: x + torch.linspace(0.1, 0.7, 5, dtype=torch.float64), x, rtol=1e-15, atol=1e-15)
    check(lambda x: (3 - x, 7 % x, 7.5 % x), torch.tensor([2**40, -2]))
    check(lambda x: 0.7 % x, x)


def test_angles_of_numbers() -> None:
    check(lambda x: x.angle(), torch.tensor([1.0, -1.0, 0.0, -0.0, NAN, -INFINITY]))
    check(lambda x: x.angle(), torch.tensor([1, -1, 0]))
    check(lambda x: x.angle(), torch.tensor([1.0, -2.0, NAN], dtype=torch.float64))


def test_maxima_of_windows_of_several_lengths() -> None:
    x = torch.randn(2, 3, 17, 5)
    pool = torch.nn.functional.adaptive_max_pool2d
    check(lambda x: pool(x, (5, 2), return_indices=True), x)
    check(lambda x: pool(x, (17, 1)), x)
    check(lambda x: torch.nn.functional.adaptive_max_pool3d(x, (2, 17, 3)), x)
    check(lambda x: torch.nn.functional.adaptive_max_pool1d(x[0, 0], 4, True), x)


def test_extrema_of_a_scalar() -> None:
    check(lambda x: (x.amax(), x.amin(()), x.logsumexp(0)), torch.tensor(2.0))


def test_spectra_in_time() -> None:
    x, window = torch.randn(2, 34), torch.hann_window(8)

    def there_and_back(x: Any, window: Any) -> Any:
        spectrum = torch.stft(x, 8, window=window, return_complex=True)
        return torch.istft(spectrum, 8, window=window)

    check(there_and_back, x, window, rtol=1e-5)
    check(lambda x: torch.stft(x, 8, 2, 6, center=False, onesided=False, return_complex=True), x)


@pytest.mark.parametrize("dim", [-1, -2, 1])
def test_scatters_along_an_axis_from_either_end(dim: int) -> None:
    x, values = torch.randn(6, 6), torch.randn(3, 3)
    index = torch.stack([torch.randperm(6)[:3] for _ in range(3)])
    index = index if dim != -2 else index.t().contiguous()

    def function(x: Any, index: Any, values: Any) -> Any:
        plain = x.scatter(dim, index, values), x.scatter(dim, index, 2.0)
        ways = ("sum", "prod", "amax", "amin", "mean")
        reduced = [x.scatter_reduce(dim, index, values, way) for way in ways]
        return *plain, x.scatter_add(dim, index, values), *reduced

    check(function, x, index, values)


def test_matrices_put_together() -> None:
    x, y = torch.randn(3, 2), torch.randn(4)
    check(lambda x, y: torch.block_diag(x, y, y[0], x), x, y)
    check(lambda x, y: x.diagonal_scatter(y[:2], -1), x, y)
    check(lambda x: x.diagonal_scatter(x[:, 0, :2] * 2, 1, -2, -1), torch.randn(2, 3, 3))
    windows = torch.randn(2, 5, 5)
    check(lambda x: torch.ops.aten.unfold_backward(x, [2, 13], 1, 5, 2), windows)


def test_parts_of_a_tensor_in_its_memory() -> None:
    def function(x: Any, y: Any) -> Any:
        return x.as_strided_scatter(y, (2, 2), (3, 2), 1), torch.narrow_copy(x, 0, 1, 2)

    check(function, torch.randn(4, 3), torch.randn(2, 2))
    check(lambda x: torch.full_like(torch.empty_strided((2, 3), (1, 2)), 2.0) + x, X[:2, :3])
