"""Recurrent layers: a loop in the kernel, whatever the number of steps, and PyTorch's numbers."""

from __future__ import annotations

from typing import Any

import pytest

from resources import package

torch = package("torch", "pip install 'linalg-ext[torch]'")

import linalg_ext as lx  # noqa: E402
from linalg_ext.frameworks.torch.cells import CELLS  # noqa: E402
from linalg_ext.frameworks.torch.recurrent import decompositions  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")

nn = torch.nn


def agree(model: Any, *arguments: Any, **options: Any) -> Any:
    """The model that was compiled, which gives what PyTorch does."""
    net = lx.from_torch(model.eval(), arguments, **options)
    check(net, model, *arguments)
    return net


def check(net: Any, model: Any, *arguments: Any) -> None:
    leaves = torch.utils._pytree.tree_leaves
    with torch.inference_mode():
        found, wanted = leaves(net(*arguments)), leaves(model(*arguments))
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs)


def loops(net: Any) -> int:
    return str(net.modules[0]).count("scf.for")


BOTH_WAYS = {"bidirectional": True, "num_layers": 2, "batch_first": True}
NO_BIASES = {"bias": False, "num_layers": 2}


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("LSTM", {}),
        ("LSTM", BOTH_WAYS),
        ("LSTM", NO_BIASES),
        ("GRU", BOTH_WAYS),
        ("GRU", NO_BIASES),
        ("RNN", {**BOTH_WAYS, **NO_BIASES}),
    ],
)
def test_layers(kind: str, options: dict[str, Any]) -> None:
    net = agree(getattr(nn, kind)(5, 7, **options), torch.randn(4, 3, 5))
    assert loops(net) == options.get("num_layers", 1) * (2 if "bidirectional" in options else 1)


def test_relu() -> None:
    agree(nn.RNN(5, 7, nonlinearity="relu"), torch.randn(6, 2, 5))


def test_a_state_is_given() -> None:
    agree(nn.GRU(3, 19).double(), torch.randn(4, 2, 3).double(), torch.randn(1, 2, 19).double())
    state = torch.randn(2, 1, 6), torch.randn(2, 1, 6)
    agree(nn.LSTM(3, 6, 2, batch_first=True), torch.randn(1, 9, 3), state)


def test_without_a_batch() -> None:
    agree(nn.LSTM(4, 6), torch.randn(5, 4))


def test_the_number_of_steps_changes_no_code() -> None:
    model = nn.LSTM(4, 6)
    texts = [str(agree(model, torch.randn(steps, 2, 4)).modules[0]) for steps in (5, 90)]
    assert texts[0].count("\n") == texts[1].count("\n")


def test_an_open_batch() -> None:
    model = nn.LSTM(4, 6, bidirectional=True).eval()
    shapes = {"input": {1: torch.export.Dim("batch")}}
    net = agree(model, torch.randn(5, 2, 4), dynamic_shapes=shapes)
    check(net, model, torch.randn(5, 3, 4))


@pytest.mark.filterwarnings("ignore:LSTM with projections")
def test_projections_are_written_out() -> None:
    net = agree(nn.LSTM(4, 6, proj_size=3), torch.randn(2, 2, 4))
    assert loops(net) == 0


def test_extreme_gates() -> None:
    agree(nn.LSTM(4, 6), 1e4 * torch.randn(3, 2, 4))


def test_beside_what_is_left_to_pytorch() -> None:
    layer = nn.GRU(4, 6).eval()
    x = torch.randn(5, 2, 4)

    def function(x: Any) -> Any:
        return torch.linalg.svdvals(layer(x)[0])

    with torch.no_grad():
        net = lx.from_torch(function, (x,), allow_fallback=True)
        torch.testing.assert_close(net(x), function(x))
    assert [left.op for left in net.report.left]


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_pytorch_runs_the_ops_too(kind: str) -> None:
    """Where a graph is left to it as a whole."""
    decompositions()
    op, cell = getattr(torch.ops.linalg_ext, f"{kind}_backward").default, CELLS[kind]
    gates = {"lstm": 4, "gru": 3}.get(kind, 1)
    weights = [torch.randn(gates * 6, 6), torch.randn(gates * 6)][: cell.weights]
    given = torch.randn(5, 2, gates * 6), *weights, *(torch.randn(2, 6) for _ in range(cell.states))
    torch.library.opcheck(op, given, test_utils=("test_schema", "test_faketensor"))
    found = lx.from_torch(lambda *given: op(*given), given)(*given)
    for ours, theirs in zip(found, op(*given), strict=True):
        torch.testing.assert_close(ours, theirs)
