"""Tensors by their strides: slices where they are, a table of places where not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from resources import package

torch = package("torch", "pip install 'linalg-ext[torch]'")

import linalg_ext as lx  # noqa: E402
from linalg_ext.frameworks.torch.indexing import as_strided  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")

SLICES = {
    "all": ((4, 6, 5), (30, 5, 1), 0),
    "transposed": ((5, 6, 4), (1, 5, 30), 0),
    "inner": ((3, 2, 3), (30, 5, 1), 46),
    "steps": ((2, 3, 5), (60, 10, 1), 30),
    "a column": ((4, 6), (30, 5), 3),
    "repeated": ((7, 4, 1, 5), (0, 30, 9, 1), 10),
    "an element": ((), (), 7),
    "one, twice": ((2, 1), (0, 3), 119),
    "across": ((8, 3), (15, 1), 11),
    "with a rest": ((17, 7), (7, 1), 0),
}
TABLES = {
    "windows": ((4, 3), (1, 1), 0),
    "a diagonal": ((4, 5), (31, 6), 0),
    "beyond a row": ((10, 3), (5, 1), 3),
}


@pytest.mark.parametrize(("size", "stride", "offset"), SLICES.values(), ids=SLICES)
def test_slices(size: Sequence[int], stride: Sequence[int], offset: int) -> None:
    x = torch.arange(120.0).reshape(4, 6, 5)
    wanted = torch.as_strided(x, size, stride, offset)
    torch.testing.assert_close(as_strided(x, size, stride, offset), wanted, rtol=0, atol=0)


@pytest.mark.parametrize(("size", "stride", "offset"), TABLES.values(), ids=TABLES)
def test_what_is_no_slice(size: Sequence[int], stride: Sequence[int], offset: int) -> None:
    assert as_strided(torch.zeros(4, 6, 5), size, stride, offset) is NotImplemented


def test_a_part_of_memory_starts_where_it_does() -> None:
    whole = torch.arange(60.0).reshape(3, 4, 5)
    wanted = whole[1].as_strided((2, 5), (10, 1))
    torch.testing.assert_close(as_strided(whole[1], (2, 5), (10, 1)), wanted, rtol=0, atol=0)
    assert as_strided(whole[1], (2, 5), (10, 1), 0) is NotImplemented, "it is before that part"
    assert as_strided(whole.transpose(0, 1), (2,), (1,)) is NotImplemented


def test_compiled() -> None:
    def function(x: Any) -> tuple[Any, ...]:
        y = x * 2
        return y.as_strided((5, 3), (1, 10), 60), y.as_strided((4, 3), (1, 1)) + 1

    x = torch.randn(4, 6, 5)
    net = lx.from_torch(function, (x,), allow_fallback=False)
    torch.testing.assert_close(net(x), function(x))
    assert str(net.modules[0]).count("tensor.extract ") <= 1, "only windows need a table"
