"""Recurrent layers: a loop in the kernel, whatever the number of steps, and PyTorch's numbers."""

from __future__ import annotations

from typing import Any

import pytest

from resources import package

torch = package("torch", "pip install 'linalg-ext[torch]'")

import linalg_ext as lx  # noqa: E402
from linalg_ext.frameworks.recurrent_cells import CELLS  # noqa: E402
from linalg_ext.frameworks.torch import backend  # noqa: E402
from linalg_ext.frameworks.torch.recurrent import (  # noqa: E402
    BACKWARD,
    decompositions,
    layer_op,
)

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")

nn = torch.nn


def agree(model: Any, *arguments: Any, **options: Any) -> Any:
    """The model that was compiled, which gives what PyTorch does."""
    net = lx.from_torch(model.eval(), arguments, **options, allow_fallback=False)
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


def test_shapes_are_those_of_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else PyTorch's export takes as long as the sequence is."""
    functions = torch._decomp.decompositions
    steps = 0

    def counted(name: str, cell: Any) -> Any:
        def step(*arguments: Any, **options: Any) -> Any:
            nonlocal steps
            steps += 1
            return cell(*arguments, **options)

        monkeypatch.setattr(functions, name, step)

    counted("lstm_cell", functions.lstm_cell)
    counted("gru_cell", functions.gru_cell)
    before = functions.one_layer_lstm, functions.one_layer_rnn
    agree(nn.LSTM(4, 6, **BOTH_WAYS), torch.randn(2, 50, 4))
    agree(nn.GRU(4, 6, **BOTH_WAYS), torch.randn(2, 50, 4))
    assert 8 <= steps <= 16
    assert (functions.one_layer_lstm, functions.one_layer_rnn) == before


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_an_open_number_of_steps(kind: str) -> None:
    model = getattr(nn, kind)(4, 6, **BOTH_WAYS).eval()
    shapes = ({1: torch.export.Dim("steps")},)
    net = agree(model, torch.randn(2, 7, 4), dynamic_shapes=shapes)
    for steps in (3, 40):
        check(net, model, torch.randn(2, steps, 4))


def test_an_open_batch() -> None:
    model = nn.LSTM(4, 6, bidirectional=True).eval()
    shapes = {"input": {1: torch.export.Dim("batch")}}
    net = agree(model, torch.randn(5, 2, 4), dynamic_shapes=shapes)
    check(net, model, torch.randn(5, 3, 4))


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize("options", [{}, BOTH_WAYS, NO_BIASES])
def test_projections(options: dict[str, Any]) -> None:
    net = agree(nn.LSTM(4, 6, proj_size=3, **options), torch.randn(3, 2, 4))
    assert loops(net) == options.get("num_layers", 1) * (2 if "bidirectional" in options else 1)


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


def compiled(model: Any) -> Any:
    torch._dynamo.reset()
    backend.report(clear=True)
    return torch.compile(model, backend="linalg_ext")


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("LSTM", BOTH_WAYS),
        ("LSTM", {"proj_size": 3}),
        ("GRU", NO_BIASES),
        ("RNN", {"nonlinearity": "relu"}),
    ],
)
def test_torch_compile_keeps_them_whole(kind: str, options: dict[str, Any]) -> None:
    model = getattr(nn, kind)(5, 7, **options).eval()
    fast = compiled(model)
    check(fast, model, torch.randn(4, 3, 5))
    assert not backend.report().breaks
    few = backend.report(clear=True)
    check(compiled(model), model, torch.randn(40, 3, 5))
    many = backend.report()
    assert few.compiled == few.nodes == many.compiled == many.nodes


GRADIENTS = [
    ("LSTM", {}),
    ("LSTM", BOTH_WAYS),
    ("GRU", {**BOTH_WAYS, **NO_BIASES}),
    ("GRU", {"num_layers": 2, "dropout": 0.0}),
    ("RNN", BOTH_WAYS),
    ("RNN", {"nonlinearity": "relu"}),
]


def gradients(run: Any, model: Any, x: Any) -> list[Any]:
    model.zero_grad()
    x = x.clone().requires_grad_()
    leaves = torch.utils._pytree.tree_leaves(run(x))
    sum((each * each.cos()).sum() for each in leaves).backward()
    return [x.grad, *(each.grad for each in model.parameters())]


@pytest.mark.parametrize(("kind", "options"), GRADIENTS)
def test_gradients(kind: str, options: dict[str, Any]) -> None:
    model, x = getattr(nn, kind)(5, 7, **options).double(), torch.randn(4, 3, 5).double()
    found = gradients(compiled(model), model, x)
    assert backend.report().compiled == backend.report().nodes > 0
    for ours, theirs in zip(found, gradients(model, model, x), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_steps_may_be_few_and_one_output_used() -> None:
    model, x = nn.LSTM(3, 4), torch.randn(1, 2, 3)
    for run in (lambda x: model(x)[1][1], lambda x: model(x)[0]):
        found = gradients(compiled(run), model, x)
        for ours, theirs in zip(found, gradients(run, model, x), strict=True):
            torch.testing.assert_close(ours, theirs)


def test_packed_sequences_are_left_to_pytorch() -> None:
    model = nn.LSTM(3, 4)
    given = nn.utils.rnn.pack_sequence([torch.randn(4, 3), torch.randn(2, 3)])

    def run(given: Any) -> Any:
        return model(given)[0].data

    with torch.no_grad():
        torch.testing.assert_close(compiled(run)(given), run(given))


@pytest.mark.parametrize("ending", ["", BACKWARD])
@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_pytorch_derives_the_ops_too(kind: str, ending: str) -> None:
    gates, cell = {"lstm": 4, "gru": 3}.get(kind, 1), CELLS[kind]
    weights = [torch.randn(gates * 6, 6), torch.randn(gates * 6)][: cell.weights]
    given = [torch.randn(3, 2, gates * 6), *weights]
    given += [torch.randn(2, 6) for _ in range(cell.states)]
    given = [each.double().requires_grad_() for each in given]
    assert torch.autograd.gradcheck(layer_op(kind, ending), given)


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_pytorch_runs_the_ops_too(kind: str) -> None:
    """Where a graph is left to it as a whole."""
    decompositions()
    op, cell = getattr(torch.ops.linalg_ext, f"{kind}_backward").default, CELLS[kind]
    gates = {"lstm": 4, "gru": 3}.get(kind, 1)
    # Greater weights would have the state grow from step to step, and its rounding with it.
    weights = [torch.randn(gates * 6, 6) / 6, torch.randn(gates * 6)][: cell.weights]
    given = torch.randn(5, 2, gates * 6), *weights, *(torch.randn(2, 6) for _ in range(cell.states))
    torch.library.opcheck(op, given, test_utils=("test_schema", "test_faketensor"))
    found = lx.from_torch(lambda *given: op(*given), given, allow_fallback=False)(*given)
    for ours, theirs in zip(found, op(*given), strict=True):
        torch.testing.assert_close(ours, theirs)
