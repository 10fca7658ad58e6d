"""Complex numbers of PyTorch's models, by their parts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest

from resources import package

torch: Any = package("torch", "pip install 'linalg-ext[torch]'")

import linalg_ext as lx  # noqa: E402
from linalg_ext.frameworks.torch import backend  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")

Z, W = (torch.randn(3, 8, dtype=torch.complex64) for _ in range(2))
X = torch.randn(3, 8)


def parts(x: Any) -> Any:
    return torch.view_as_real(x.resolve_conj()) if x.is_complex() else x


def agree(function: Callable[..., Any], *given: Any) -> None:
    """What PyTorch gives, from both ways to a kernel."""
    wanted = function(*given)
    torch._dynamo.reset()
    backend.report(clear=True)
    ways = (
        lx.from_torch(function, given, allow_fallback=False),
        torch.compile(function, backend="linalg_ext"),
    )
    for way in ways:
        found = way(*given)
        assert found.dtype == wanted.dtype
        torch.testing.assert_close(parts(found), parts(wanted), equal_nan=True)
    assert not backend.report().left


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "sum of two": (lambda z, w: z + w, (Z, W)),
    "sum with a real number": (lambda z, x: x + z, (Z, X)),
    "sum with a Python number": (lambda z: z + (2 - 3j), (Z,)),
    "real numbers and a Python number": (lambda x: x - 2j, (X,)),
    "difference": (lambda z, w: torch.sub(z, w, alpha=2), (Z, W)),
    "difference from a number": (lambda z: 1 - z, (Z,)),
    "quotient": (lambda z, w: z / w, (Z, W)),
    "quotient by a real number": (lambda z, x: z / x, (Z, X)),
    "quotient of real numbers": (lambda z, x: x / z, (Z, X)),
    "quotient by a Python number": (lambda z: z / (2 - 3j), (Z,)),
    "reciprocal": (torch.reciprocal, (Z,)),
    "minus": (torch.neg, (Z,)),
    "square": (lambda z: z**2, (Z,)),
    "angle": (torch.angle, (Z,)),
    "conjugate": (lambda z, w: z.conj() * w, (Z, W)),
    "exponential": (torch.exp, (Z,)),
    "logarithm": (torch.log, (Z,)),
    "sign": (torch.sgn, (Z,)),
    "equality": (lambda z, w: z == torch.where(w.real > 0, z, w), (Z, W)),
    "sum of all": (torch.sum, (Z,)),
    "sums of rows": (lambda z: z.sum(-1, keepdim=True), (Z,)),
    "means of columns": (lambda z: z.mean(0), (Z,)),
    "shapes that differ": (lambda z, w: z + w[:1], (Z, W)),
    "doubles": (lambda z, w: z / w + z, (Z.to(torch.complex128), W.to(torch.complex128))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arithmetic(name: str) -> None:
    function, given = FUNCTIONS[name]
    agree(function, *given)


def test_quotients_of_what_is_no_usual_number() -> None:
    known = [0.0, 1.0, -2.0, math.inf, -math.inf, math.nan, 1e-30, 3e38]
    numbers = [complex(*pair) for pair in itertools.product(known, known)]
    pairs = torch.tensor(list(itertools.product(numbers, numbers)))
    agree(lambda x, y: x / y, pairs[:, 0].contiguous(), pairs[:, 1].contiguous())


class Rotated(torch.nn.Module):  # type: ignore[misc]
    """Attention's scores with rotary embeddings (Su and others, 2021), by complex numbers."""

    def __init__(self) -> None:
        super().__init__()
        angles = torch.outer(torch.arange(12.0), 10000.0 ** (-torch.arange(0, 16, 2) / 16))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))
        self.rows, self.columns = torch.nn.Linear(32, 32), torch.nn.Linear(32, 32)

    def forward(self, x: Any) -> Any:
        rows, columns = (self.turned(layer(x)) for layer in (self.rows, self.columns))
        return (rows.transpose(1, 2) @ columns.permute(0, 2, 3, 1)).softmax(-1)

    def turned(self, x: Any) -> Any:
        pairs = torch.view_as_complex(x.unflatten(-1, (2, 8, 2)))
        return torch.view_as_real(pairs * self.turns[:, None]).flatten(3)


def test_rotary_embeddings() -> None:
    with torch.no_grad():
        agree(Rotated(), torch.randn(2, 12, 32))
