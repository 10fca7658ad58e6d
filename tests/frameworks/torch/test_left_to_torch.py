"""Ops that are not compiled: called from the kernel, run between kernels, or refused by line."""

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
        lx.from_torch(Spectrum(), (X,), allow_fallback=False)
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
        lx.from_torch(function, (X,), allow_fallback=False)
    assert "test_left_to_torch.py, line" in str(caught.value)
    assert "_singular(x)" in str(caught.value) or "svdvals(y)" in str(caught.value)
    torch.testing.assert_close(lx.from_torch(function, (X,))(X), function(X))


def test_the_rest_is_compiled_and_the_numbers_are_pytorchs() -> None:
    model = Spectrum()
    net = lx.from_torch(model, (X,))
    with torch.no_grad():
        torch.testing.assert_close(net(X), model(X))
        model.first.weight.mul_(2)
        torch.testing.assert_close(net(X), model(X))
    report = net.report
    assert [left.op for left in report.left] == ["aten._linalg_svd"]
    assert report.kernels == len(net.kernels) == 1
    assert report.compiled == report.nodes - 2  # the op, and what takes its results apart
    assert "called, not compiled:\n  aten._linalg_svd: torch-mlir does not" in repr(net)
    with pytest.raises(errors.ExportError, match="calls functions of Python"):
        net.kernels[0].export("nowhere")


def test_unsigned_arithmetic_is_left_rather_than_wrong() -> None:
    x = torch.tensor([100, 200, 255], dtype=torch.uint8)
    function = lambda x: (x > 150, x.float() / 255, x[1:])  # noqa: E731
    with pytest.raises(errors.ModelError, match="unsigned integers as with signed"):
        lx.from_torch(function, (x,), allow_fallback=False)
    net = lx.from_torch(function, (x,))
    torch.testing.assert_close(net(x), function(x))
    assert [left.op for left in net.report.left] == ["aten.gt.Scalar"]
    assert len(net.kernels) == 1


def test_all_that_is_alike_is_found_at_once() -> None:
    def many(x: Any) -> Any:
        for _ in range(4):
            x = torch.linalg.svdvals(x @ x.mT).diag()
        return x

    net = lx.from_torch(many, (torch.eye(3),))
    torch.testing.assert_close(net(torch.eye(3)), many(torch.eye(3)))
    (left,) = net.report.left
    assert left.count == 4


def test_branches_are_left() -> None:
    def function(x: Any) -> Any:
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x * 2,))

    net = lx.from_torch(function, (X,))
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
        lx.from_torch(_inverse, (matrix,), allow_fallback=False)
    net = lx.from_torch(_inverse, (matrix,))
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
    net = lx.from_torch(announced, (matrix,))
    capfd.readouterr()
    torch.testing.assert_close(net(matrix), 2 * torch.linalg.inv(matrix + 1))
    assert capfd.readouterr().out == "before\nafter\n"


def test_an_op_that_no_message_of_torch_mlir_names() -> None:
    def repeated(x: Any) -> Any:
        return x.sin().repeat(0, 2), x.cos()  # torch-mlir's passes die of it

    x = torch.rand(5, 2)
    with pytest.raises(errors.ModelError, match=r"aten\.repeat of the model(.|\n)*repeat\(0, 2\)"):
        lx.from_torch(repeated, (x,), allow_fallback=False)
    net = lx.from_torch(repeated, (x,))
    assert [each.op for each in net.report.left] == ["aten.repeat"]
    torch.testing.assert_close(net(x), repeated(x))


linalg, special = torch.linalg, torch.special
M = torch.eye(3) + torch.linspace(0, 1, 9).reshape(3, 3)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (lambda x: linalg.solve(x, M), (M,)),
        (lambda x: (linalg.det(x), linalg.slogdet(x)), (torch.stack([M, 2 * M.T]).double(),)),
        (lambda x: linalg.eigvalsh(x, UPLO="U"), (M.to(torch.complex64),)),
        (lambda x: linalg.svd(x, full_matrices=False), (X,)),
        (lambda x: linalg.qr(x, mode="complete"), (X.T,)),
        (lambda x: linalg.inv_ex(x), (torch.zeros(2, 2),)),
        (lambda x: (linalg.pinv(x), linalg.matrix_rank(x)), (X,)),
        (lambda x: linalg.matrix_exp(x).cos(), (torch.zeros(0, 2, 2),)),
        (lambda x: special.digamma(x + 2) + x.lgamma(), (X.to(torch.bfloat16),)),
        (lambda x: x.kthvalue(2, dim=-1, keepdim=True), (X,)),
        (lambda x: (x.mode(0), x.sum()), (torch.tensor([[3, 1], [3, -7]], dtype=torch.int8),)),
        (lambda x: (x.mode(0), x > 9), (torch.tensor([[3, 1], [3, 250]], dtype=torch.uint8),)),
        (lambda x, mask: x.mode(1)[0].where(mask, 0), (X, torch.tensor([True, False, True]))),
        (lambda mask: mask.mode(0).values, (torch.tensor([[True, False]] * 2),)),
        (lambda x: torch.unravel_index(x.argmax(), x.shape), (X,)),
        (lambda x: linalg.inv(linalg.cholesky(x @ x.T + M.diag().diag())), (M,)),
    ],
)
def test_ops_are_called_from_the_kernel(function: Any, arguments: tuple[Any, ...]) -> None:
    net = lx.from_torch(function, arguments, opt_level=0)
    torch.testing.assert_close(net(*arguments), function(*arguments), equal_nan=True)
    assert len(net.kernels) <= 1
    assert all(left.is_called for left in net.report.left)


def test_an_op_of_a_users_own_is_called() -> None:
    @torch.library.custom_op("linalg_ext_tests::halves", mutates_args=())
    def halves(  # PyTorch reads the types of its parameters.
        x: torch.Tensor,  # type: ignore[name-defined]
        scale: float,
    ) -> tuple[torch.Tensor, torch.Tensor]:  # type: ignore[name-defined]
        return x[: len(x) // 2] * scale, x[len(x) // 2 :].clone()

    @halves.register_fake
    def _(x: Any, scale: float) -> tuple[Any, Any]:
        return x[: len(x) // 2], x[len(x) // 2 :]

    function = lambda x: halves(x + 1, 3.0)[0] * 2  # noqa: E731
    net = lx.from_torch(function, (X,))
    torch.testing.assert_close(net(X), function(X))
    (left,) = net.report.left
    assert left.op == "linalg_ext_tests.halves"
    assert left.is_called


def test_the_graph_is_cut_where_sizes_of_results_are_open() -> None:
    rows = torch.export.Dim("rows")
    function = lambda x: linalg.svdvals(x * 2) + 1  # noqa: E731
    net = lx.from_torch(function, (X,), dynamic_shapes=({0: rows},))
    for x in (X, X[:2]):
        torch.testing.assert_close(net(x), function(x))
    assert not any(left.is_called for left in net.report.left)


def test_inputs_of_asserts_alone_are_arguments_of_a_cut_graph() -> None:
    x, places = torch.randn(5, 3), torch.tensor([1, 2, 3])
    net = lx.from_torch(torch.tensor_split, (x, places))
    assert {op.op for op in net.report.left} == {"aten.sym_storage_offset"}
    torch.testing.assert_close(net(x, places), torch.tensor_split(x, places), rtol=0, atol=0)


def test_an_error_of_a_called_op_is_pytorchs_and_the_next_call_works() -> None:
    net = torch.compile(lambda x: linalg.cholesky(x) + 1, backend="linalg_ext")
    for _ in range(2):
        with pytest.raises(torch.linalg.LinAlgError, match="not positive-definite"):
            net(-M)
        torch.testing.assert_close(net(torch.eye(3)), torch.eye(3) + 1)
