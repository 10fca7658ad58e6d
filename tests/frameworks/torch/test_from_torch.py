"""`lx.from_torch`: what is shared, what may change from call to call, and what is refused."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from resources import package

torch = package("torch", "pip install 'linalg-ext[torch]'")

import linalg_ext as lx  # noqa: E402
from linalg_ext import errors  # noqa: E402

# One worker imports PyTorch, and no other.
pytestmark = pytest.mark.xdist_group("torch")


@pytest.fixture(scope="module")
def linear() -> Any:
    model = torch.nn.Linear(3, 2).eval()
    return model, lx.from_torch(model, (torch.ones(4, 3),))


def test_parameters_are_arguments_in_the_memory_of_the_model() -> None:
    model = torch.nn.Linear(3, 2)
    net, x = lx.from_torch(model, torch.ones(4, 3)), torch.ones(4, 3)
    assert "dense" not in str(net.modules[0])
    assert net.state["weight"] is model.weight
    with torch.no_grad():
        model.weight.mul_(2)
        model.bias.zero_()
        torch.testing.assert_close(net(x), model(x))
        model.weight = torch.nn.Parameter(torch.full((2, 3), 5.0))
        torch.testing.assert_close(net(x), torch.full((4, 2), 15.0))
        model.load_state_dict({"weight": torch.ones(2, 3), "bias": torch.ones(2)}, assign=True)
        torch.testing.assert_close(net(x), torch.full((4, 2), 4.0))


def test_parameters_in_another_order_of_memory_are_read_where_they_lie() -> None:
    model = torch.nn.Conv2d(2, 3, 3).to(memory_format=torch.channels_last)
    x = torch.randn(1, 2, 5, 5).to(memory_format=torch.channels_last)
    net = lx.from_torch(model, (x,))
    with torch.no_grad():
        model.weight.add_(1)
        torch.testing.assert_close(net(x), model(x))


def test_a_parameter_of_another_shape_is_refused() -> None:
    model = torch.nn.Linear(3, 2)
    net = lx.from_torch(model, (torch.ones(4, 3),))
    model.weight = torch.nn.Parameter(torch.ones(2, 4))
    with pytest.raises(errors.ShapeError, match=r"weight of the model was \(2, 3\)"):
        net(torch.ones(4, 3))
    model.weight = torch.nn.Parameter(torch.ones(2, 3, dtype=torch.float64))
    with pytest.raises(errors.DTypeError, match="was of float32, and now is of float64"):
        net(torch.ones(4, 3))
    del model.weight
    with pytest.raises(errors.ModelError, match="weight is gone from the model"):
        net(torch.ones(4, 3))


def test_open_dimensions() -> None:
    rows = torch.export.Dim("rows", min=2, max=9)
    net = lx.from_torch(
        lambda x, y: x @ y.T, (torch.ones(4, 3), torch.ones(4, 3)),
        dynamic_shapes=({0: rows}, {0: rows}),
    )  # fmt: skip
    for count in (2, 5, 9):
        x, y = torch.randn(count, 3), torch.randn(count, 3)
        torch.testing.assert_close(net(x, y), x @ y.T)
    with pytest.raises(errors.ShapeError, match="is 2 to 9"):
        net(torch.ones(10, 3), torch.ones(10, 3))
    with pytest.raises(errors.ShapeError, match="elsewhere"):
        net(torch.ones(4, 3), torch.ones(5, 3))


def test_one_tensor_as_the_example_of_two_inputs() -> None:
    x, y = torch.ones(2), torch.tensor([3.0, 5.0])
    assert lx.from_torch(lambda x, y: x - y, (x, x))(x, y).tolist() == [-2, -4]
    model = torch.nn.PReLU()
    net = lx.from_torch(model, (model.weight,))
    assert net(torch.full((1,), -2.0)).item() == -0.5


def test_containers_keywords_and_constants() -> None:
    def function(pair: Any, *, scale: float, more: Any) -> Any:
        return {"sum": pair["a"] + more[0] * scale, "n": None, "size": pair["a"].shape[0]}

    a, b = torch.ones(3), torch.arange(3.0)
    net = lx.from_torch(function, ({"a": a},), {"scale": 2.0, "more": [b]})
    found = net({"a": a}, more=[b], scale=2.0)
    assert (found["n"], found["size"]) == (None, 3)
    torch.testing.assert_close(found["sum"], a + 2 * b)
    with pytest.raises(errors.ArgumentError, match=r"scale is 3\.0"):
        net({"a": a}, scale=3.0, more=[b])
    with pytest.raises(errors.ArgumentTypeError, match=r"called with \(dict\)"):
        net({"a": a})


def test_what_the_model_writes_to() -> None:
    norm = torch.nn.BatchNorm1d(2).train()
    twin = torch.nn.BatchNorm1d(2).train()
    x = torch.randn(5, 2)
    net = lx.from_torch(norm, (x,))
    torch.testing.assert_close(net(x), twin(x).detach())
    assert norm.num_batches_tracked == 1
    torch.testing.assert_close(norm.running_var, twin.running_var)
    given = torch.zeros(2)
    assert lx.from_torch(lambda x: x.add_(1), (given.clone(),))(given).equal(torch.ones(2))
    assert given.equal(torch.ones(2))


def test_what_is_given_back_as_it_came_is_the_same_tensor() -> None:
    x = torch.ones(2)
    assert lx.from_torch(torch.nn.Identity(), (x,))(x) is x


def test_results_are_new_and_in_the_memory_that_the_kernel_wrote(linear: Any) -> None:
    _, net = linear
    x = torch.ones(4, 3)
    first, second = net(x), net(x)
    assert first.data_ptr() != second.data_ptr()
    assert not first.requires_grad
    kept = first.clone()
    del second
    net(torch.zeros(4, 3))
    torch.testing.assert_close(first, kept)


def test_an_exported_program_is_taken_as_it_is() -> None:
    model = torch.nn.Linear(3, 2)
    program = torch.export.export(model, (torch.ones(4, 3),))
    x = torch.randn(4, 3)
    torch.testing.assert_close(lx.from_torch(program)(x), model(x).detach())
    with pytest.raises(errors.ArgumentError, match="has its own"):
        lx.from_torch(program, (x,))


def test_views_transposes_and_conjugates_are_read_as_they_are(linear: Any) -> None:
    model, net = linear
    with torch.no_grad():
        for x in (torch.randn(3, 4).T, torch.randn(8, 3)[::2], torch.randn(1, 3).expand(4, 3)):
            torch.testing.assert_close(net(x), model(x))


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (
            np.ones((4, 3), np.float32),
            errors.ArgumentTypeError,
            r"input is an ndarray[^$]*as_tensor",
        ),
        (3, errors.ArgumentTypeError, "input is an int"),
        (torch.ones(4, 3).double(), errors.DTypeError, r"expected torch.float32\n.*tensor.to"),
        (torch.ones(5, 3), errors.ShapeError, r"expected \(4, 3\)\n.*dynamic_shapes"),
        (torch.ones(4), errors.ShapeError, r"input has shape \(4,\)"),
        (torch.ones(4, 3, requires_grad=True), errors.ArgumentError, "requires a gradient"),
        (torch.ones(4, 3, device="meta"), errors.LayoutError, "tensor on meta"),
        (torch.eye(4, 3).to_sparse(), errors.LayoutError, "torch.sparse_coo"),
    ],
)
def test_arguments_that_do_not_fit(linear: Any, value: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        linear[1](value)
    assert "test_from_torch.py" in str(caught.value)


def test_indices_out_of_bounds_are_found() -> None:
    net = lx.from_torch(torch.nn.Embedding(4, 2), (torch.tensor([1, 2]),))
    with pytest.raises(errors.ExecutionError):
        net(torch.tensor([1, 4]))


@pytest.mark.parametrize(
    ("model", "inputs", "message"),
    [
        (3, (), "an int is not a model"),
        (torch.nn.ReLU, (torch.ones(3),), "the class ReLU is not a model\n.*\n.*ReLU"),
        (torch.nn.ReLU(), 3, "example_inputs is an int"),
        (torch.nn.ReLU(), (np.ones(3),), "example input 0 is an array.*\n.*\n.*\n.*from_numpy"),
        (
            torch.nn.Linear(2, 2),
            (torch.ones(3),),
            r"cannot trace the model(.|\n)*test_from(.|\n)*backend",
        ),
        (torch.nn.ReLU(), (), "cannot trace the model"),
        (lambda x: x.nonzero()[0].item() + 1 if x.sum() > 0 else x, (torch.ones(2),), "trace"),
    ],
)
def test_models_that_cannot_be_exported(model: Any, inputs: Any, message: str) -> None:
    with pytest.raises((errors.ArgumentError, errors.ModelError), match=message):
        lx.from_torch(model, inputs)


def test_what_cannot_be_traced_is_told_once_by_the_line_of_the_model(capfd: Any) -> None:
    def mistaken(x: Any, y: Any) -> Any:
        return x + y

    with pytest.raises(errors.ModelError, match=r"length 5.*\n.*in forward:   return x \+ y"):
        lx.from_torch(mistaken, (torch.ones(4, 3), torch.ones(5, 3)))
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (({0: torch.export.Dim("b")}, {0: torch.export.Dim("c")}), "must always be equal"),
        (({1: torch.export.Dim("b")}, {1: torch.export.Dim("b")}), r"that the model fixes(.|\n)*3"),
        (({0: torch.export.Dim("b")},), "says of each input"),
        ({"x": None, "z": None}, r"\['x', 'y'\](.|\n)*says of each input"),
    ],
)
def test_sizes_that_cannot_be_open(shapes: Any, message: str) -> None:
    def fixed(x: Any, y: Any) -> Any:
        return (x + y).reshape(-1, 3)[:, :3] + torch.arange(3) if x.shape[1] == 3 else x

    x = torch.ones(4, 3)
    with pytest.raises(errors.ModelError, match=message) as caught:
        lx.from_torch(fixed, (x, x), dynamic_shapes=shapes)
    assert "test_from_torch.py" in str(caught.value)


def test_sizes_that_the_model_fixes_are_asked_for() -> None:
    x = torch.ones(2, 3)
    shapes = ({0: torch.export.Dim.AUTO},)
    net = lx.from_torch(lambda x: x.reshape(2, 1, 3) + 1, (x,), dynamic_shapes=shapes)
    assert net(x).shape == (2, 1, 3)
    with pytest.raises(errors.ShapeError, match=r"(?s)the model fixes 2.*cannot be open"):
        net(torch.ones(5, 3))


def test_it_says_what_it_is_and_does_not_travel(linear: Any) -> None:
    count = linear[1].report.nodes
    assert repr(linear[1]).splitlines() == [
        "model (input: float32[4, 3]) with 2 tensors of its own",
        f"{count} of {count} ops compiled, in 1 kernel",
    ]
    with pytest.raises(errors.UnpicklableError, match="compile it there"):
        pickle.dumps(linear[1])


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("checked", "yes", "True, False, None"),
        ("checked", 1, "True, False, None"),
        ("allow_fallback", "no", "True, False"),
        ("opt_level", 4, "0, 1, 2, 3, None"),
    ],
)
def test_options_are_one_of_their_values(option: str, value: Any, expected: str) -> None:
    with pytest.raises(errors.ArgumentError, match=f"{option} is {value!r}\n  expected {expected}"):
        lx.from_torch(torch.nn.Linear(3, 2), (torch.ones(4, 3),), **{option: value})


class Cell(torch.nn.Module):  # type: ignore[misc, name-defined]
    """A layer with a state: assigned, written in place, and constant."""

    mean: Any
    calls: Any

    def __init__(self, buffers: bool) -> None:
        super().__init__()
        self.factor = torch.rand(3)
        for name, value in (("mean", torch.zeros(3)), ("calls", torch.zeros(()))):
            if buffers:
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    def forward(self, x: Any) -> Any:
        self.mean = self.mean * 0.5 + x
        self.calls += 1
        return self.mean * self.factor + self.calls


@pytest.mark.parametrize("buffers", [True, False])
@pytest.mark.parametrize("is_inner", [True, False])
def test_state_that_a_model_assigns(buffers: bool, is_inner: bool) -> None:
    cell = Cell(buffers)
    model: Any = torch.nn.Sequential(torch.nn.Identity(), cell) if is_inner else cell
    net, twin = lx.from_torch(model, torch.ones(3)), copy.deepcopy(model)
    assert not cell.calls  # Compiling runs no step.
    for _ in range(3):
        x = torch.rand(3)
        torch.testing.assert_close(net(x), twin(x))
    torch.testing.assert_close(cell.mean, (twin[1] if is_inner else twin).mean)
    assert cell.calls == 3
    assert model.state_dict().keys() == twin.state_dict().keys()
    x = torch.rand(3)
    torch.testing.assert_close(lx.from_torch(model, x)(x), twin(x))


def test_state_that_no_call_can_keep() -> None:
    class Counting(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.calls, self.states = 0, [torch.zeros(3)]

        def forward(self, x: Any, lists: bool = False) -> Any:
            if lists:
                self.states[0] = self.states[0] + x
            else:
                self.calls += 1
            return x * self.calls

    with pytest.warns(UserWarning, match="changes self.calls, a number.*find 0 there"):
        lx.from_torch(Counting(), torch.ones(3))
    with pytest.raises(errors.ModelError, match=r"self.states\[0\] was assigned.*buffers"):
        lx.from_torch(Counting(), (torch.ones(3), True))


def test_state_that_grows_is_refused() -> None:
    class Growing(torch.nn.Module):  # type: ignore[misc, name-defined]
        seen: Any

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(1, 3))

        def forward(self, x: Any) -> Any:
            self.seen = torch.cat([self.seen, x[None]])
            return self.seen.sum(0)

    with pytest.raises(errors.ModelError, match=r"seen from torch.float32 \(1, 3\) to .*\(2, 3\)"):
        lx.from_torch(Growing(), torch.ones(3))
