"""Weights that a kernel reads in strips are copied once, and anew when they change."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from resources import package

torch: Any = package("torch", "pip install 'linalg-ext[torch]'")

import linalg_ext as lx  # noqa: E402
from linalg_ext.frameworks.torch import parameters  # noqa: E402
from linalg_ext.frameworks.torch.parameters import Contents  # noqa: E402
from linalg_ext.runtime.written_pages import WrittenPages  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")


class Tied(torch.nn.Module):  # type: ignore[misc]
    """One weight that two products read, and one that is looked up in as well."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(480, 480, bias=False)
        self.words = torch.nn.Embedding(960, 480)

    def forward(self, tokens: Any) -> Any:
        x = self.inner(torch.relu(self.inner(self.words(tokens))))
        return torch.nn.functional.linear(x, self.words.weight)


@pytest.fixture
def model() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(480, 960), torch.nn.GELU(), torch.nn.Linear(960, 480)
    )


@pytest.fixture
def x() -> Any:
    return torch.randn(40, 480)


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list that grows with each copy."""
    made: list[Any] = []
    plain = parameters._in_strips

    def counted(tensor: Any, width: int) -> Any:
        made.append(tensor)
        return plain(tensor, width)

    monkeypatch.setattr(parameters, "_in_strips", counted)
    return made


def check(net: Any, model: Any, *arguments: Any) -> None:
    with torch.no_grad():
        wanted = model(*arguments)
    torch.testing.assert_close(net(*arguments), wanted, rtol=1e-3, atol=1e-3)


def test_each_weight_is_copied_once(model: Any, x: Any, copies: list[Any]) -> None:
    net = lx.from_torch(model, (x,))
    for _ in range(3):
        check(net, model, x)
    assert len(copies) == 2
    assert net.state["0.weight"] is model[0].weight
    # The zeros that the second product begins with are no obstacle to what follows the first.
    assert str(net.kernels[0].explain()).count("on the tile in registers") == 2


def test_what_pytorch_writes_is_seen(model: Any, x: Any, copies: list[Any]) -> None:
    net = lx.from_torch(model, (x,))
    check(net, model, x)
    model(x).sum().backward()
    torch.optim.SGD(model.parameters(), 0.1).step()
    check(net, model, x)
    model.load_state_dict({name: each + 1 for name, each in model.state_dict().items()})
    check(net, model, x)
    with torch.no_grad():
        model[0].weight[77, 31] = 9.0
    check(net, model, x)
    assert len(copies) == 7


def test_other_tensors_and_other_memory_are_seen(model: Any, x: Any) -> None:
    net = lx.from_torch(model, (x,))
    check(net, model, x)
    model[0].weight = torch.nn.Parameter(torch.randn(960, 480))
    check(net, model, x)
    model[2].weight.data = torch.randn(960, 480).T  # not in the order of its axes
    check(net, model, x)


def swap_rows(weight: Any) -> None:
    array = weight.detach().numpy()
    array[[0, 32]] = array[[32, 0]]


CHANGES: dict[str, Callable[[Any], object]] = {
    "all of it": lambda weight: weight.data.mul_(-2.0),
    "one element of an array": lambda weight: weight.detach().numpy().__setitem__((1, 1), 50.0),
    "where a mask says": lambda weight: weight.data.__setitem__(weight.data > 0.01, 0.0),
    "a view of the data": lambda weight: weight.data.T[3:5, 7:9].fill_(9.0),
    "the last element, through DLPack": lambda weight: torch.from_dlpack(
        weight.detach()
    ).__setitem__((-1, -1), -30.0),
    "the order of rows": swap_rows,
    "bytes of its storage": lambda weight: weight.untyped_storage().__setitem__(4 * 961 + 3, 0x42),
}


@pytest.mark.parametrize("by", ["the system", "reading"])
def test_every_change_is_seen(
    model: Any, x: Any, copies: list[Any], by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by == "reading":
        monkeypatch.setattr(WrittenPages, "of", lambda array: None)
    net = lx.from_torch(model, (x,))
    check(net, model, x)
    for number in (0, 2):
        for name, change in CHANGES.items():
            weight, before, made = model[number].weight, net(x), len(copies)
            count = weight._version
            change(weight)
            assert weight._version == count, name  # it goes uncounted
            assert not torch.allclose(net(x), before, rtol=1e-3, atol=1e-3), name
            check(net, model, x)
            assert len(copies) == made + 1, name


def test_a_change_of_any_element_is_another_fingerprint() -> None:
    random = np.random.default_rng(0)
    for shape in ((1, 1), (3, 5), (16, 8), (33, 77), (4, 64, 3)):
        array = random.standard_normal(shape).astype(np.float32)
        before = Contents(array).fingerprint()
        assert Contents(array.copy()).fingerprint() == before
        seen = {before}
        for at in np.ndindex(shape):
            kept = array[at]
            array[at] = np.nextafter(kept, np.float32(9))
            seen.add(Contents(array).fingerprint())
            array[at] = kept
        assert len(seen) == 1 + array.size
        assert Contents(array.T.copy().T).fingerprint() == Contents(array.T.copy()).fingerprint()
        assert Contents(array[::-1]).fingerprint() is not None
    rows = np.repeat(np.arange(64, dtype=np.float32), 64).reshape(64, 64)
    orders = {
        Contents(rows[[1, 0, *range(2, 64)]]).fingerprint(),
        Contents(rows[::-1].copy()).fingerprint(),
    }
    assert len(orders | {Contents(rows).fingerprint()}) == 3


def test_refresh_is_for_what_the_user_vouched_for(model: Any, x: Any, copies: list[Any]) -> None:
    net = lx.from_torch(model, (x,), packed="unwatched")
    check(net, model, x)
    with torch.no_grad():
        model[0].weight[77, 31] = 9.0  # which PyTorch counts
    check(net, model, x)
    assert len(copies) == 3
    model[0].weight.detach().numpy()[1, 1] = 50.0
    net.refresh()
    check(net, model, x)


def test_nothing_is_kept_where_that_is_asked_for(model: Any, x: Any, copies: list[Any]) -> None:
    net = lx.from_torch(model, (x,), packed=False)
    check(net, model, x)
    arrays = [each.detach().numpy() for each in (*net.state.values(), x)]
    np.testing.assert_array_equal(net.kernels[0](*arrays), net(x).numpy())
    assert not copies
    with pytest.raises(lx.errors.ArgumentError, match="packed is 2"):
        lx.from_torch(model, (x,), packed=cast(bool, 2))


def test_nan_is_like_itself(model: Any, x: Any, copies: list[Any]) -> None:
    with torch.no_grad():
        model[0].weight[0, 0] = torch.nan
    net = lx.from_torch(model, (x,))
    for _ in range(2):
        assert net(x).isnan().all()
    assert len(copies) == 2


def test_weights_that_are_shared(copies: list[Any]) -> None:
    model, tokens = Tied(), torch.randint(0, 960, (40,))
    net = lx.from_torch(model, (tokens,))
    for _ in range(2):
        check(net, model, tokens)
    # Of the words rows are looked up, too: they stay as they are.
    assert len(copies) == 1


def test_a_weight_that_is_a_result_stays_as_it_is(x: Any, copies: list[Any]) -> None:
    class Model(torch.nn.Linear):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return super().forward(x), self.weight

    model = Model(480, 960)
    net = lx.from_torch(model, (x,))
    check(net, model, x)
    assert net(x)[1] is model.weight
    assert not copies


def test_a_buffer_that_the_model_writes_stays_as_it_is(x: Any, copies: list[Any]) -> None:
    class Model(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("w", torch.randn(960, 480))

        def forward(self, x: Any) -> Any:
            y = x @ self.w.T
            self.w.mul_(0.5)
            return y

    model = Model()
    w = model.w.clone()
    net = lx.from_torch(model, (x,))
    for factor in (1.0, 0.5):
        torch.testing.assert_close(net(x), x @ w.T * factor, rtol=1e-3, atol=1e-3)
    assert not copies


def test_weights_made_in_inference_mode_stay_as_they_are(x: Any, copies: list[Any]) -> None:
    with torch.inference_mode():
        model = torch.nn.Linear(480, 960)
        net = lx.from_torch(model, (x,))
        check(net, model, x)
        model.weight.add_(1.0)
        check(net, model, x)
    assert not copies


def test_threads_of_callers_see_whole_weights(model: Any, x: Any) -> None:
    net = lx.from_torch(model, (x,))
    wanted = [net(x).numpy().copy()]
    with torch.no_grad():
        for each in model.parameters():
            each.mul_(2.0)
    wanted.append(model(x).detach().numpy())
    found: list[Any] = []

    def call() -> None:
        found.extend(net(x).numpy() for _ in range(20))

    callers = [threading.Thread(target=call) for _ in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(found) == 60
    for each in found:
        np.testing.assert_allclose(each, wanted[1], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("op", "is_packed"),
    [(lambda y: torch.linalg.qr(y)[1], True), (lambda y: torch.normal(y, 0.0), False)],
)
def test_weights_are_packed_where_ops_are_called_and_not_where_graphs_are_cut(
    op: Any, is_packed: bool, x: Any, copies: list[Any]
) -> None:
    class Model(torch.nn.Linear):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return op(super().forward(x))

    model = Model(480, 960)
    net = lx.from_torch(model, (x,))
    check(net, model, x)
    assert bool(copies) == is_packed


# Convolutions, whose filters come with factors.


class Convolved(torch.nn.Module):  # type: ignore[misc]
    """Two convolutions with one set of filters, and one with its own."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Conv2d(32, 32, 3, padding=1)
        self.last = torch.nn.Conv2d(32, 37, 3, padding=1, bias=False)

    def forward(self, x: Any) -> Any:
        return self.last(torch.relu(self.inner(torch.relu(self.inner(x)))))


@pytest.mark.parametrize("threads", [1, 2])
def test_filters_and_their_factors(threads: int) -> None:
    torch.manual_seed(0)
    model, x = Convolved(), torch.randn(1, 32, 32, 32)
    with lx.threads.using(threads):
        net = lx.from_torch(model, (x,))
        check(net, model, x)
        with torch.no_grad():
            model.inner.weight[3, 3, 1, 1] = 9.0
        check(net, model, x)
        model.last.weight = torch.nn.Parameter(torch.randn(32, 37, 3, 3).transpose(0, 1))
        check(net, model, x)
        model.last.weight.detach().numpy()[1, 2, 0, 0] = 30.0
        check(net, model, x)
    if threads == 1 and "fma" in lx.target.current().features:
        assert "transformed before" in str(net.kernels[0].explain())
