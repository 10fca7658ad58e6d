"""A model that is kept is run by what is known of its ops, and is taken for no other one."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resources import package

torch: Any = package("torch", "pip install 'linalg-ext[torch]'")

import linalg_ext as lx  # noqa: E402
from linalg_ext.frameworks.torch import stored_models  # noqa: E402
from linalg_ext.frameworks.torch.meta_cache import Forms  # noqa: E402
from linalg_ext.frameworks.torch.model import as_module  # noqa: E402
from linalg_ext.frameworks.torch.recording import Runner, by_memo, by_pytorch, recorded  # noqa: E402
from torch_models import MODELS  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")

functional = torch.nn.functional
X, Y = torch.linspace(-1, 1, 12).reshape(4, 3), torch.linspace(0, 3, 12).reshape(4, 3)

Model = Callable[..., Any]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINALG_EXT_CACHE_DIR", str(tmp_path))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What PyTorch was asked for."""
    found: list[Any] = []

    def told(forms: Forms) -> Any:
        found.append(forms)
        return by_pytorch(forms)

    monkeypatch.setattr(stored_models, "by_pytorch", told)
    return found


def _check(model: Any, *inputs: Any) -> None:
    net = lx.from_torch(model, inputs, allow_fallback=False)
    with torch.no_grad():
        found, expected = map(torch.utils._pytree.tree_leaves, (net(*inputs), model(*inputs)))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", MODELS)
def test_what_is_known_is_what_pytorch_says(family: str) -> None:
    model, inputs = MODELS[family]()
    forms: Forms = {}
    said = recorded(model.eval(), inputs, {}, by_pytorch(forms))
    known = recorded(model.eval(), inputs, {}, by_memo(json.loads(json.dumps(forms))))
    if said is None:
        assert known is None  # results that hang on values
    else:
        assert known is not None
        assert known.listing == said.listing


def test_pytorch_is_asked_once(asked: list[Any]) -> None:
    for count, model in enumerate((_with(2.0), _with(3.0)), start=1):
        for _ in range(2):
            _check(model, X, Y)
            assert len(asked) == count


def _with(scale: float) -> Model:
    return lambda x, y: x * scale + y


@dataclasses.dataclass
class Pair:
    """What some models give."""

    first: Any
    second: Any


torch.utils._pytree.register_dataclass(Pair)


class Choosing(torch.nn.Module):  # type: ignore[misc]
    """Has a buffer, whose element decides."""

    chosen: Any

    def __init__(self, chosen: bool) -> None:
        super().__init__()
        self.register_buffer("chosen", torch.tensor(chosen))

    def forward(self, x: Any, y: Any) -> Any:
        return x + y if self.chosen.item() else x - y


class Held(torch.nn.Module):  # type: ignore[misc]
    """Asks what it holds."""

    def __init__(self, ask: Callable[[Any], bool]) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((3,), 2.0))
        self.ask = ask

    def forward(self, x: Any, y: Any) -> Any:
        return x * self.weight if self.ask(self.weight) else x + y


def _dropping(probability: float, *, training: bool) -> Model:
    return lambda x, y: functional.dropout(x + y, probability, training) * 0


def _shares_memory(x: Any, y: Any) -> Any:
    part, copy = x[1:], x[1:].clone()
    same = [each.untyped_storage()._cdata == x.untyped_storage()._cdata for each in (part, copy)]
    return x + y if same == [True, False] else x - y


def _in_place(x: Any, y: Any) -> Any:
    found = x.clone()
    found[1:].mul_(2)
    found.t().add_(1)
    return found + y


def _out_of_place(x: Any, y: Any) -> Any:
    found = x.clone()
    found[1:].mul(2)
    found.t().add(1)
    return found + y


PAIRS: dict[str, tuple[Model, Model]] = {
    "body": (lambda x, y: x.relu() + y, lambda x, y: x.sigmoid() + y),
    "closure": (_with(2.0), _with(3.0)),
    "branch on a shape": (
        lambda x, y: x + y if x.shape[0] == 4 else x - y,
        lambda x, y: x + y if x.shape[0] == 5 else x - y,
    ),
    "branch on strides": (
        lambda x, y: x + y if x.t().is_contiguous() else x - y,
        lambda x, y: x + y if x.is_contiguous() else x - y,
    ),
    "branch on memory": (_shares_memory, lambda x, y: x - y),
    "training": (_dropping(0.5, training=True), _dropping(0.5, training=False)),
    "probability": (_dropping(0.5, training=True), _dropping(0.25, training=True)),
    "parameter": (
        Held(lambda weight: isinstance(weight, torch.nn.Parameter)),
        Held(lambda weight: not isinstance(weight, torch.nn.Parameter)),
    ),
    "gradient": (
        Held(lambda weight: bool(weight.requires_grad)),
        Held(lambda weight: not weight.requires_grad),
    ),
    "in place": (_in_place, _out_of_place),
    "views": (lambda x, y: x.view(3, 4).t() + y, lambda x, y: x.t().reshape(4, 3) + y),
    "order of results": (lambda x, y: Pair(x + y, x - y), lambda x, y: Pair(x - y, x + y)),
    "nothing": (lambda x, y, z=None: (x + y, z), lambda x, y, z=None: (z, x + y)),
    "constants": (
        lambda x, y: x + y * torch.tensor(2.0).mul(3).item(),
        lambda x, y: x + y * torch.tensor(4.0).mul(3).item(),
    ),
}


@pytest.mark.parametrize("which", PAIRS)
def test_models_that_look_alike_are_told_apart(which: str) -> None:
    forms: Forms = {}
    modules = [as_module(model) for model in PAIRS[which]]
    said = [_told(module, by_pytorch(forms)) for module in modules]
    assert None not in said
    assert said[0] != said[1]
    for module, own in zip(modules, said, strict=True):
        assert _told(module, by_memo(forms)) in (own, None)


def _told(module: Any, runner: Runner) -> list[Any] | None:
    found = recorded(module, (X, Y), {}, runner)
    return None if found is None else found.listing


@pytest.mark.parametrize("which", ["closure", "in place", "order of results"])
def test_each_of_them_computes_what_is_its_own(which: str) -> None:
    for _ in range(2):
        for model in PAIRS[which]:
            _check(model, X, Y)


def test_a_function_that_was_exchanged_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    def model(x: Any, y: Any) -> Any:
        return functional.relu(x) + y

    _check(model, X, Y)
    monkeypatch.setattr(functional, "relu", torch.tanh)
    _check(model, X, Y)


def test_values_that_decide_are_known_by_nothing() -> None:
    forms: Forms = {}
    for chosen in (True, False):
        assert _told(Choosing(chosen), by_pytorch(forms)) is None
        assert _told(Choosing(chosen), by_memo(forms)) is None


@pytest.mark.parametrize(
    "leak",
    [
        lambda x, y: x + float(y.numpy()[0, 0]),
        lambda x, y: x + y.tolist()[0][0],
        lambda x, y: x + (y.data_ptr() == x.data_ptr()),
        lambda x, y: x + len(y[y > 1]),
        lambda x, y: x + (1 if bool((y > 0).all()) else 2),
        lambda x, y: x.resize_(12) + y.reshape(-1),
    ],
)
def test_nobody_reads_elements_that_are_not_there(leak: Model) -> None:
    forms: Forms = {}
    module = as_module(leak)
    recorded(module, (X.clone(), Y), {}, by_pytorch(forms))
    assert recorded(module, (X.clone(), Y), {}, by_memo(forms)) is None
