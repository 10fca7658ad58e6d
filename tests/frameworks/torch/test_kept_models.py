"""Models that were compiled once are found by what they compute, and by nothing less."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from resources import REPOSITORY, package

torch: Any = package("torch", "pip install 'linalg-ext[torch]'")

import linalg_ext as lx  # noqa: E402
from linalg_ext import cache  # noqa: E402
from linalg_ext.frameworks.torch import exporting, graph_keys, stored_models  # noqa: E402
from linalg_ext.frameworks.torch.compiled_graph import Options  # noqa: E402
from linalg_ext.frameworks.torch.model import as_module  # noqa: E402
from linalg_ext.frameworks.torch.recording import by_pytorch, recorded  # noqa: E402
from linalg_ext.frameworks.torch.stored_models import stored_model  # noqa: E402
from torch_models import MODELS  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")

X, Y = torch.linspace(-1, 1, 12).reshape(4, 3), torch.linspace(0, 3, 12).reshape(4, 3)

Model = Callable[..., Any]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LINALG_EXT_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def is_found(monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    """Compiles a model, checks its numbers, and says whether it was exported for that."""
    made: list[Any] = []
    export = exporting.exported

    def told(*given: Any) -> Any:
        made.append(given)
        return export(*given)

    monkeypatch.setattr(exporting, "exported", told)

    def compiled(model: Any, *inputs: Any, **options: Any) -> bool:
        made.clear()
        net = lx.from_torch(model, inputs, **options)
        with torch.no_grad():
            torch.testing.assert_close(net(*inputs), model(*inputs), rtol=1e-4, atol=1e-5)
        return not made

    return compiled


_PROGRAM = """
import sys, torch, linalg_ext as lx
from torch_models import MODELS
torch.manual_seed(0)
model, inputs = MODELS["{family}"]()
net = lx.from_torch(model.eval(), inputs)
with torch.no_grad():
    torch.testing.assert_close(net(*inputs), model(*inputs), rtol=1e-4, atol=1e-5)
print(net.report)
slow = "torch_mlir", "mlir", "torch.export._trace", "torch._dynamo"
print([name for name in slow if name in sys.modules])
print(["linalg." in text for text in (str(net.modules[0]), net.kernels[0].as_text("module"))])
"""


def test_a_second_process_loads_neither_importer_nor_compiler(folder: Path) -> None:
    family = "mlp"
    torch.manual_seed(0)
    model, inputs = MODELS[family]()
    first = lx.from_torch(model.eval(), inputs)
    paths = f"{REPOSITORY}:{REPOSITORY / 'tests' / 'support'}"
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(family=family)],
        env={**os.environ, "PYTHONPATH": paths, "LINALG_EXT_CACHE_DIR": str(folder), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [*str(first.report).splitlines(), "[]", "[True, True]"]


def test_it_is_called_with_the_parameters_of_the_model_at_hand(
    is_found: Callable[..., bool],
) -> None:
    one, other = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    assert not is_found(one, X)
    assert is_found(other, X)
    net = lx.from_torch(other, (X,))
    with torch.no_grad():
        other.weight.mul_(3)
        torch.testing.assert_close(net(X), other(X))
        other.load_state_dict({"weight": torch.ones(2, 3), "bias": torch.ones(2)}, assign=True)
        torch.testing.assert_close(net(X), other(X))


def test_what_is_asked_of_it_later_is_told() -> None:
    for _ in range(2):
        net = lx.from_torch(torch.nn.Linear(3, 2), (X,))
        told = repr(net), str(net.kernels[0].explain()), str(net.modules[0])
        assert net.state.keys() == {"weight", "bias"}
        assert all(told)
        assert "linalg" in told[2]
    with pytest.raises(lx.errors.ShapeError, match=r"input has shape \(3, 3\)"):
        net(X[:3])
    assert net.kernels[0].is_kept


def _scaled(scale: float) -> Model:
    return lambda x, y: x * scale + y


def _lifted(last: float) -> Model:
    return lambda x, y: x * torch.tensor([1.0, 2.0, last]) + y


def _known(number: int) -> Model:
    return lambda x, y: x + y * torch.tensor(number).item()


class _Attribute(torch.nn.Module):  # type: ignore[misc]
    """Has a tensor that is neither a parameter nor a buffer."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.scale = torch.full((3,), value)

    def forward(self, x: Any, y: Any) -> Any:
        return x * self.scale + y


class _Tied(torch.nn.Module):  # type: ignore[misc]
    """Has a parameter under two names, or two."""

    def __init__(self, is_tied: bool) -> None:
        super().__init__()
        self.first = torch.nn.Parameter(torch.ones(3))
        self.second = self.first if is_tied else torch.nn.Parameter(torch.full((3,), 2.0))

    def forward(self, x: Any, y: Any) -> Any:
        return x * self.first + y * self.second


class _Chosen(_Tied):
    """Uses one of its parameters."""

    def __init__(self, name: str) -> None:
        super().__init__(False)
        self.name = name

    def forward(self, x: Any, y: Any) -> Any:
        return x * getattr(self, self.name) + y


def _on(operation: Model) -> Model:
    return lambda x, y: operation(x, y)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (_scaled(2.0), _scaled(2.5)),
        (_scaled(0.0), _scaled(-0.0)),
        (_lifted(3.0), _lifted(4.0)),
        (_known(3), _known(4)),
        (_Attribute(1.0), _Attribute(2.0)),
        (_Tied(True), _Tied(False)),
        (_Chosen("first"), _Chosen("second")),
        (_on(torch.add), _on(torch.sub)),
        (_on(lambda x, y: x - y), _on(lambda x, y: y - x)),
        (_on(lambda x, y: (x + 1, y + 1)), _on(lambda x, y: (y + 1, x + 1))),
        (_on(lambda x, y: {"a": x + y}), _on(lambda x, y: {"b": x + y})),
        (_on(lambda x, y: (x + y, 1)), _on(lambda x, y: (x + y, 2))),
        (_on(lambda x, y: (x + y, x)), _on(lambda x, y: (x + y, y))),
        (torch.nn.Bilinear(3, 3, 2), torch.nn.Bilinear(3, 3, 2, bias=False)),
    ],
)
def test_another_program_is_not_taken_for_it(one: Any, other: Any) -> None:
    def key(model: Any) -> str:
        found = stored_model(as_module(model), (X, Y), {}, False, Options(), by_pytorch({}))
        assert found is not None
        return found.key

    assert key(one) == key(one)
    assert key(one) != key(other)


def test_constants_are_those_of_the_program_at_hand(is_found: Callable[..., bool]) -> None:
    for make in (_lifted, _Attribute):
        assert not is_found(make(3.0), X, Y)
        assert not is_found(make(4.0), X, Y)
        assert is_found(make(3.0), X, Y)


def test_nor_are_other_shapes_types_orders_and_options(is_found: Callable[..., bool]) -> None:
    def model(x: Any, y: Any) -> Any:
        return (x + y).contiguous()

    assert not is_found(model, X, Y)
    assert not is_found(model, X[:3], Y[:3])
    assert not is_found(model, X.double(), Y.double())
    assert not is_found(model, X.T.contiguous().T, Y.T.contiguous().T)
    assert not is_found(model, X, Y, checked=False)
    assert not is_found(model, X, Y, opt_level=1)
    rows = torch.export.Dim("rows", max=9)
    for _ in range(2):
        assert not is_found(model, X, Y, dynamic_shapes=({0: rows}, {0: rows}))
    assert is_found(model, X, Y)


def test_another_version_finds_nothing(
    is_found: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = _scaled(3.0)
    assert not is_found(model, X, Y)
    for module in (graph_keys, stored_models):
        monkeypatch.setattr(module, "makers", lambda: ["another"])
    assert not is_found(model, X, Y)


def test_decompositions_of_others_keep_it_from_being_looked_for(
    is_found: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = _on(lambda x, y: torch.hypot(x, y))
    assert not is_found(model, X, Y)
    table = torch._decomp.decomposition_table
    monkeypatch.setitem(table, torch.ops.aten.hypot.default, lambda x, y: x + y)
    assert not is_found(model, X, Y)


def _with_other_memory(x: Any, y: Any) -> Any:
    found = x * 2
    found.data = y * 3
    return found + 1


def _with_other_memory_at_last(x: Any, y: Any) -> Any:
    found = x + y
    x.data = y
    return found


class _Counting(torch.nn.Module):  # type: ignore[misc]
    """Gives something else each time."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Any, y: Any) -> Any:
        self.calls += 1
        return x * self.calls + y


class _Assigning(torch.nn.Module):  # type: ignore[misc]
    """Puts another buffer in the place of its own."""

    scale: Any

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("scale", torch.ones(3))

    def forward(self, x: Any, y: Any) -> Any:
        self.scale = self.scale * 2
        return x * self.scale + y


def _caught(x: Any, y: Any) -> Any:
    try:
        return x * y.sum().item()
    except Exception:
        return x + y


@pytest.mark.parametrize(
    "model", [_with_other_memory, _with_other_memory_at_last, _Counting(), _Assigning(), _caught]
)
def test_what_no_list_of_ops_tells_has_none(model: Any) -> None:
    before = dict(vars(model))
    assert recorded(as_module(model), (X, Y), {}, by_pytorch({})) is None
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())


def test_what_a_model_writes_to_is_written_to() -> None:
    def trained() -> tuple[Any, Any]:
        norm = torch.nn.BatchNorm1d(3).train()
        return norm, lx.from_torch(norm, (X,))

    for _ in range(2):
        (norm, net), twin = trained(), torch.nn.BatchNorm1d(3).train()
        assert norm.num_batches_tracked == 0
        torch.testing.assert_close(net(X), twin(X).detach())
        torch.testing.assert_close(norm.running_mean, twin.running_mean)
        assert norm.num_batches_tracked == 1


def test_constants_stay_those_of_the_model() -> None:
    for _ in range(2):
        model = _Attribute(2.0)
        net = lx.from_torch(model, (X, Y))
        model.scale.mul_(2)
        torch.testing.assert_close(net(X, Y), model(X, Y))


@pytest.mark.parametrize("damage", [b"", b"{}", None])
def test_damaged_entries_are_not_found(
    folder: Path, damage: bytes | None, is_found: Callable[..., bool]
) -> None:
    model = _scaled(7.0)
    assert not is_found(model, X, Y)
    for record in folder.rglob("record.jsonl"):
        content = record.read_bytes()
        record.write_bytes(content[:-2] if damage is None else damage)
    assert not is_found(model, X, Y)
    assert is_found(model, X, Y)


def test_a_kernel_that_is_gone_is_made_again(folder: Path, is_found: Callable[..., bool]) -> None:
    model = _scaled(5.0)
    assert not is_found(model, X, Y)
    store = cache.store()
    assert store is not None
    for entry in store.entries():
        if not entry.name.startswith("model"):
            store.remove(entry.key)
    assert not is_found(model, X, Y)
    assert is_found(model, X, Y)


def test_a_model_with_parts_left_to_pytorch_is_exported_anew(is_found: Callable[..., bool]) -> None:
    def model(x: Any) -> Any:
        return torch.linalg.svdvals(x * 2) + 1

    for _ in range(2):
        assert not is_found(model, X, allow_fallback=True)
