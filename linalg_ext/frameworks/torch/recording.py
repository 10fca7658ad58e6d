"""Recordings of models: the list of ATen ops that a model runs, on tensors without elements.

The list is a whole program: each op with its arguments, the form of each tensor, the constants, and
the results with their origins. Models with one list compute the same, however they are written. The
code compiled for one can be called for the other, with its own parameters. A recording takes a
small part of the time of an export.

A model has no list if its results depend on values, or if it changes itself. The same holds if it
calls ops that others registered, or has loops and branches of PyTorch's.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from linalg_ext.frameworks.requirements import torch
from linalg_ext.frameworks.torch.exporting import quiet, same_tensors
from linalg_ext.frameworks.torch.graph_keys import NoKey, attribute, constant, form, tree
from linalg_ext.frameworks.torch.meta_cache import Forms, Twins, answering, learning, mode_of

_OWN = ("aten", "prims")
"""The namespaces of ops that mean the same in every process."""


@dataclass(frozen=True)
class Recording:
    """The recording of a model: all ops that it runs.

    Attributes:
        listing: the whole program, as plain data.
        leaves: the inputs: tensors without elements, and values.
        in_spec, out_spec: the tree structure of the inputs and of the results.
        constants: the tensors that are neither inputs nor of the model's state, in their order.
    """

    listing: list[Any]
    leaves: Sequence[Any]
    in_spec: Any
    out_spec: Any
    constants: Sequence[Any]


class Runner(NamedTuple):
    """The means to run ops on tensors without elements.

    Attributes:
        twin_of: makes a tensor without elements from one that has them.
        modes: dispatch modes of PyTorch in the order of entry: the first one sees an op last.
    """

    twin_of: Callable[[Any], Any]
    modes: Sequence[Any]


def by_pytorch(forms: Forms) -> Runner:
    """Return the runner of PyTorch itself; results of ops are added to `forms`."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    # Each constant gets a twin without elements at its first use.
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    return Runner(mode.from_tensor, (mode, learning(forms)))


def by_memo(forms: Forms) -> Runner:
    """Return the runner by remembered results of ops, which needs less of PyTorch."""
    twins = Twins()
    return Runner(twins.of, (answering(forms, twins),))


def recorded(
    model: Any, arguments: Sequence[Any], keywords: Mapping[str, Any], runner: Runner
) -> Recording | None:
    """Run a model on tensors without elements; returns None if the recording would lack something.

    Args:
        model: a module; its parameters and buffers keep their elements.
        arguments, keywords: of a call; none is given twice, or a tensor of the model.
    """
    try:
        with torch().no_grad(), quiet(), warnings.catch_warnings(), unchanged(model), _exporting():
            # The exporter repeats all warnings.
            warnings.simplefilter("ignore")
            return _recorded(model, arguments, keywords, runner)
    except Exception:
        # The model, or PyTorch, raises errors of all kinds, which the exporter reports.
        return None


def _recorded(
    model: Any, arguments: Sequence[Any], keywords: Mapping[str, Any], runner: Runner
) -> Recording:
    pytree = torch().utils._pytree
    inputs, in_spec = pytree.tree_flatten((tuple(arguments), dict(keywords)))
    tensors = Tensors(model, runner.twin_of)
    leaves = [runner.twin_of(value) if _is_tensor(value) else value for value in inputs]
    listing: list[Any] = [torch().get_default_dtype().__repr__(), str(in_spec), tensors.state_forms]
    for value, leaf in zip(inputs, leaves, strict=True):
        listing.append(
            ("input", tensors.new(leaf, form(value))) if _is_tensor(value) else _value(value)
        )
    recorder = Recorder(tensors)
    with contextlib.ExitStack() as modes:
        for mode in (*runner.modes, mode_of(recorder.handle)):
            modes.enter_context(mode)
        arguments, keywords = pytree.tree_unflatten(leaves, in_spec)
        returned = _called(model, tensors.state, arguments, keywords)
    if not recorder.is_whole:
        raise NoKey
    for value in (*tensors.state.values(), *filter(_is_tensor, leaves)):
        tensors.reference(value)  # which raises for a tensor with other memory
    results, out_spec = pytree.tree_flatten(returned)
    listing += [recorder.ops, str(out_spec)]
    listing += [
        tensors.reference(value) if _is_tensor(value) else _value(value) for value in results
    ]
    return Recording(listing, leaves, in_spec, out_spec, tensors.constants)


def _called(
    model: Any, state: Mapping[str, Any], arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> Any:
    """Call a model with other parameters and buffers and return its results.

    Raises:
        NoKey: the model replaced some of them, which no op shows.
    """

    class Watched(torch().nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *arguments: Any, **keywords: Any) -> Any:
            result = self.model(*arguments, **keywords)
            now = dict(_state_of(self.model))
            if now.keys() != state.keys() or any(now[name] is not state[name] for name in now):
                raise NoKey
            return result

    inside = {f"model.{name}": tensor for name, tensor in state.items()}
    return torch().func.functional_call(Watched(), inside, arguments, keywords)


def _state_of(model: Any) -> list[tuple[str, Any]]:
    return [
        *model.named_parameters(remove_duplicate=False),
        *model.named_buffers(remove_duplicate=False),
    ]


class Tensors:
    """The tensors of a run, by numbers; they stay alive, so that no two have one identity.

    Attributes:
        state: twins without elements of the model's parameters and buffers, by name.
        state_forms: the forms of those, and their memory.
        constants: the tensors with elements that are not of the model's state.
    """

    def __init__(self, model: Any, twin_of: Callable[[Any], Any]) -> None:
        """Number the tensors of the model's state first."""
        self.constants: list[Any] = []
        self._alive: list[Any] = []
        self._numbers: dict[int, int] = {}
        self._places: dict[int, tuple[Any, ...]] = {}
        self._storages: dict[int, int] = {}
        self.state: dict[str, Any] = {}
        self.state_forms: list[Any] = []
        storages: dict[int, int] = {}
        for name, tensor in _state_of(model):
            twin = self.state[name] = twin_of(tensor)
            number = self._numbers.get(id(twin))
            if number is None:
                number, _ = self.new(twin, None)
            storage = storages.setdefault(tensor.untyped_storage()._cdata, len(storages))
            address = storage, tensor.storage_offset()
            self.state_forms.append((name, number, form(tensor), address))

    def new(self, tensor: Any, like: Any) -> tuple[int, Any]:
        """Number a tensor; returns its form, too."""
        number = self._numbers[id(tensor)] = len(self._alive)
        self._alive.append(tensor)
        self._places[number] = _place(tensor)
        return number, like

    def reference(self, tensor: Any) -> Any:
        """Return a tensor that is known, or a constant.

        Raises:
            NoKey: its origin is not known.
        """
        number = self._numbers.get(id(tensor))
        if number is not None:
            if self._places[number] != _place(tensor):
                raise NoKey  # the tensor got other memory without an op
            return "tensor", number
        described = constant(tensor)  # which raises for a tensor without elements
        self.constants.append(tensor)
        return "constant", self.new(tensor, described)

    def constants_among(self, *values: Any) -> bool:
        """Return whether there are tensors with elements in trees of arguments."""
        constants = set(map(id, self.constants))
        return any(id(leaf) in constants for leaf in torch().utils._pytree.tree_leaves(values))

    def result_reference(self, tensor: Any) -> Any:
        """Return the description of a result of an op: a new tensor, or a known one.

        A known tensor may have another shape now.
        """
        if tensor.device.type != "cpu" or tensor.layout != torch().strided:
            raise NoKey
        storage = self._storages.setdefault(tensor.untyped_storage()._cdata, len(self._storages))
        layout = [*tensor.shape], [*tensor.stride()], tensor.storage_offset(), storage
        like = str(tensor.dtype), *layout
        number = self._numbers.get(id(tensor))
        if number is None:
            return self.new(tensor, like)
        self._places[number] = _place(tensor)
        return "tensor", number, like


def _place(tensor: Any) -> tuple[Any, ...]:
    """Return the place of a tensor's elements: storage, offset, shape and strides."""
    storage = tensor.untyped_storage()._cdata
    return storage, tensor.storage_offset(), tensor.shape, tensor.stride()


class Recorder:
    """A record of each op that runs.

    Attributes:
        is_whole: False once an op cannot be recorded, even if the model catches the error.
    """

    def __init__(self, tensors: Tensors) -> None:
        self.ops: list[Any] = []
        self.is_whole = True
        self._tensors = tensors

    def handle(self, func: Any, args: Any, keywords: Mapping[str, Any]) -> Any:
        """Run an op, as the handler of a mode."""
        if func.namespace == "prim":
            return func(*args, **keywords)  # a query, not an op
        tensors = self._tensors
        try:
            if func.namespace not in _OWN:
                raise NoKey
            operands = tree(args, tensors.reference), tree(keywords, tensors.reference)
            if func._schema.is_mutable and tensors.constants_among(args, keywords):
                raise NoKey  # the op would change the constant now
            result = func(*args, **keywords)
            self.ops.append((str(func), operands, tree(result, tensors.result_reference), _lines()))
        except BaseException:
            self.is_whole = False
            raise
        return result


def _value(leaf: Any) -> Any:
    return "value", attribute(leaf)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch().Tensor)


def _lines() -> list[tuple[str, int]]:
    """Return the lines on the stack outside of PyTorch, which a kernel's errors name."""
    package = torch().__path__[0] + os.sep
    lines = []
    frame = sys._getframe(3)
    while frame is not None and frame.f_code.co_filename != __file__:
        if not frame.f_code.co_filename.startswith(package):
            lines.append((frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back  # type: ignore[assignment]
    return lines


@contextmanager
def _exporting() -> Iterator[None]:
    """Set the flags by which models behave as in an export."""
    compiler = torch().compiler
    names = [
        name for name in ("_is_compiling_flag", "_is_exporting_flag") if hasattr(compiler, name)
    ]
    before = {name: getattr(compiler, name) for name in names}
    for name in names:
        setattr(compiler, name, True)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(compiler, name, value)


_REFRESHED = {"_flat_weights", "_flat_weight_refs"}
"""Lists of a recurrent layer's weights, which PyTorch remakes when weights are exchanged."""


@contextmanager
def unchanged(model: Any) -> Iterator[None]:
    """Restore the attributes of a model's modules after the `with` block.

    Raises:
        NoKey: an attribute was changed.
    """
    modules = list(model.modules())
    before = [_attributes(module) for module in modules]
    with same_tensors(model) as changed:
        try:
            yield
        finally:
            is_same = True
            for module, attributes in zip(modules, before, strict=True):
                is_same &= _restored(module, attributes)
    if changed or not is_same:
        raise NoKey


def _attributes(module: Any) -> dict[str, tuple[Any, Any]]:
    """Return each attribute, with its content if it is a container."""
    return {name: (value, _content(value)) for name, value in vars(module).items()}


def _content(value: Any) -> list[Any] | None:
    if isinstance(value, dict):
        return list(value.items())
    return list(value) if isinstance(value, list | set) else None


def _restored(module: Any, attributes: dict[str, tuple[Any, Any]]) -> bool:
    """Restore the attributes of a module; returns whether they were unchanged."""
    own = vars(module)
    changed: set[str] = set(own.keys() ^ attributes.keys())
    for name in own.keys() & attributes.keys():
        if not _is_same_attribute(own[name], *attributes[name]):
            changed.add(name)
    for name in changed:
        own.pop(name, None)
    for name in changed & attributes.keys():
        own[name], content = attributes[name]
        _put_back(own[name], content)
    return changed <= _REFRESHED


def _is_same_attribute(now: Any, before: Any, content: list[Any] | None) -> bool:
    """Return whether an attribute is the same object, or a container of the same objects."""
    if content is None or type(now) is not type(before):
        return now is before
    return list(map(id, _flat(_content(now)))) == list(map(id, _flat(content)))


def _flat(content: list[Any] | None) -> list[Any]:
    """Return the items of a container; for a dict its keys and its values."""
    return [part for item in content or () for part in (item if type(item) is tuple else (item,))]


def _put_back(value: Any, content: list[Any] | None) -> None:
    if content is None:
        return
    value.clear()
    value.extend(content) if isinstance(value, list) else value.update(content)
