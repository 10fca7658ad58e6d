"""Fourier transforms of PyTorch's, and arithmetic with what they give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from resources import package

torch = package("torch", "pip install 'linalg-ext[torch]'")

import linalg_ext as lx  # noqa: E402
from linalg_ext.frameworks.torch.backend import linalg_ext  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")

fft = torch.fft


def check(function: Callable[..., Any], *arguments: Any) -> None:
    """What PyTorch gives is what the compiled function gives."""
    found = lx.from_torch(function, arguments, opt_level=0, allow_fallback=False)(*arguments)
    torch.testing.assert_close(found, function(*arguments), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [1, 9, 10, 67, 150])
def test_half_of_a_spectrum_and_back(size: int) -> None:
    x = torch.randn(3, size)
    check(lambda x: fft.rfft(x, norm="ortho"), x)
    check(lambda x: fft.irfft(fft.rfft(x, n=2 * size) * fft.rfft(x, n=2 * size), n=size + 1), x)


def test_several_axes() -> None:
    x = torch.randn(3, 4, 5)
    check(lambda x: (fft.fft2(x).real, fft.fftn(x, norm="forward")), x)
    check(lambda x: fft.irfft2(fft.rfft2(x, dim=(0, 1)), s=(3, 4), dim=(0, 1)), x)


def test_complex_numbers() -> None:
    z = torch.randn(3, 4, dtype=torch.complex64)
    check(lambda z: (fft.ifft(z, dim=0), fft.ifftshift(fft.fft(z, n=6))), z)
    check(lambda z: (z * 2, z * 1j, z * z.real, z.imag * z, z * z), z)
    check(lambda x: x.to(torch.complex64), torch.randn(3))


def test_graphs_of_torch_compile() -> None:
    def filtered(x: Any) -> Any:
        return fft.irfft(fft.rfft(x, norm="ortho") * 2, n=9), fft.ifft2(x).real

    x = torch.randn(3, 9)
    fast = torch.compile(filtered, backend=linalg_ext, options={"allow_fallback": False})
    torch.testing.assert_close(fast(x), filtered(x), rtol=1e-4, atol=1e-4)


def test_long_axes_of_complex_numbers() -> None:
    z = torch.randn(2, 132, 75, dtype=torch.complex128)
    check(lambda z: (fft.fft2(z, norm="ortho"), fft.ifft(z, dim=1), fft.hfft(z, dim=1)), z)


def test_many_waves_are_exact() -> None:
    # Of numbers as large as the product of two places, sines and cosines would be wrong.
    x = torch.zeros(1, 1024)
    x[0, 1023] = 1
    torch.testing.assert_close(
        lx.from_torch(fft.fft, (x,), allow_fallback=False)(x), fft.fft(x), rtol=0, atol=1e-5
    )
