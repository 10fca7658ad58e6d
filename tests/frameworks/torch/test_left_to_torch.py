"""Ops that do not come through: an error that names their line, or PyTorch runs them."""

from __future__ import annotations

from typing import Any

import pytest

from resources import package

torch = package("torch", "pip install 'linalg-ext[torch]'")

import linalg_ext as lx  # noqa: E402
from linalg_ext import errors  # noqa: E402
from torch_models import Spectrum  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")

X = torch.linspace(-1, 1, 12).reshape(3, 4)


def test_the_error_names_the_op_the_line_and_the_cure() -> None:
    with pytest.raises(errors.ModelError) as caught:
        lx.from_torch(Spectrum(), (X,))
    what, where, hint, *_ = str(caught.value).splitlines()
    assert what.startswith("aten._linalg_svd of the model cannot be compiled: torch-mlir does not")
    assert "torch_models.py" in where
    assert "in forward" in where
    assert where.endswith("singular = torch.linalg.svdvals(self.first(x).relu())")
    assert "allow_fallback=True" in hint


def _singular(x: Any, *, scale: float = 2.0) -> Any:
    y = x * scale
    return torch.linalg.svdvals(y)


@pytest.mark.parametrize("function", [_singular, lambda x: _singular(x)])
def test_the_line_of_a_function(function: Any) -> None:
    with pytest.raises(errors.ModelError) as caught:
        lx.from_torch(function, (X,))
    assert "test_left_to_torch.py, line" in str(caught.value)
    assert "_singular(x)" in str(caught.value) or "svdvals(y)" in str(caught.value)
    torch.testing.assert_close(lx.from_torch(function, (X,), allow_fallback=True)(X), function(X))


def test_the_rest_is_compiled_and_the_numbers_are_pytorchs() -> None:
    model = Spectrum()
    net = lx.from_torch(model, (X,), allow_fallback=True)
    with torch.no_grad():
        torch.testing.assert_close(net(X), model(X))
        model.first.weight.mul_(2)
        torch.testing.assert_close(net(X), model(X))
    report = net.report
    assert [left.op for left in report.left] == ["aten._linalg_svd"]
    assert 1 <= report.kernels == len(net.kernels)
    assert report.compiled == report.nodes - 2  # the op, and what takes its results apart
    assert "left to PyTorch:\n  aten._linalg_svd: torch-mlir does not" in repr(net)


def test_unsigned_arithmetic_is_left_rather_than_wrong() -> None:
    x = torch.tensor([100, 200, 255], dtype=torch.uint8)
    function = lambda x: (x > 150, x.float() / 255, x[1:])  # noqa: E731
    with pytest.raises(errors.ModelError, match="unsigned integers as with signed"):
        lx.from_torch(function, (x,))
    net = lx.from_torch(function, (x,), allow_fallback=True)
    torch.testing.assert_close(net(x), function(x))
    assert [left.op for left in net.report.left] == ["aten.gt.Scalar"]


def test_all_that_is_alike_is_found_at_once() -> None:
    def many(x: Any) -> Any:
        for _ in range(4):
            x = torch.linalg.svdvals(x @ x.mT).diag()
        return x

    net = lx.from_torch(many, (torch.eye(3),), allow_fallback=True)
    torch.testing.assert_close(net(torch.eye(3)), many(torch.eye(3)))
    (left,) = net.report.left
    assert left.count == 4


def test_branches_are_left() -> None:
    def function(x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x * 2,))

    net = lx.from_torch(function, (X,), allow_fallback=True)
    for x in (X + 1, X - 1):
        torch.testing.assert_close(net(x), function(x))


def test_random_numbers_are_pytorchs() -> None:
    dropout = torch.nn.Dropout().train()

    def noisy(x: Any) -> Any:
        first = dropout(x * 2) + torch.rand(3)
        second = torch.nn.functional.dropout(first.exp(), 0.3) - torch.randn_like(x)
        return second @ second.T + torch.bernoulli(torch.full((4, 4), 0.3)), torch.rand(2)

    x = torch.linspace(-1, 1, 12).reshape(4, 3)
    for function in (dropout, noisy):
        net = lx.from_torch(function, (x,))
        assert {left.reason for left in net.report.left} == {
            "PyTorch draws its random numbers, by torch.manual_seed"
        }
        for seed in (3, 4):
            torch.manual_seed(seed)
            expected = function(x)
            torch.manual_seed(seed)
            torch.testing.assert_close(net(x), expected)


def _inverse(x: Any) -> Any:
    return torch.linalg.inv(x * 2) @ x


def test_an_op_that_checks_its_result_is_named_and_can_be_left() -> None:
    matrix = torch.eye(3) + torch.linspace(0, 1, 9).reshape(3, 3)
    with pytest.raises(errors.ModelError, match="linalg_inv_ex of the model cannot be compiled"):
        lx.from_torch(_inverse, (matrix,))
    net = lx.from_torch(_inverse, (matrix,), allow_fallback=True)
    torch.testing.assert_close(net(matrix), _inverse(matrix))
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        net(torch.zeros(3, 3))


def test_ops_with_effects_keep_their_order(capfd: pytest.CaptureFixture[str]) -> None:
    def announced(x: Any) -> Any:
        torch.ops.aten._print("before")
        y = torch.linalg.inv(x + 1)
        torch.ops.aten._print("after")
        return y * 2

    matrix = torch.eye(2)
    net = lx.from_torch(announced, (matrix,), allow_fallback=True)
    capfd.readouterr()
    torch.testing.assert_close(net(matrix), 2 * torch.linalg.inv(matrix + 1))
    assert capfd.readouterr().out == "before\nafter\n"


def test_an_op_that_no_message_of_torch_mlir_names() -> None:
    def repeated(x: Any) -> Any:
        return x.sin().repeat(0, 2), x.cos()  # torch-mlir's passes die of it

    x = torch.rand(5, 2)
    with pytest.raises(errors.ModelError, match=r"aten\.repeat of the model(.|\n)*repeat\(0, 2\)"):
        lx.from_torch(repeated, (x,))
    net = lx.from_torch(repeated, (x,), allow_fallback=True)
    assert [each.op for each in net.report.left] == ["aten.repeat"]
    torch.testing.assert_close(net(x), repeated(x))
