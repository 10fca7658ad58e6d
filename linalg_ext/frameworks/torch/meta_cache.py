"""Results of ops on tensors without elements (fake tensors), remembered.

PyTorch computes such results itself (FakeTensorMode), but takes a second and more to load for that.
Its answers for the ops of a model are plain data. The memo maps an op, the forms of its arguments
and its other arguments to the form of each result. A model with no other ops runs without
FakeTensorMode, on minimal tensors. The key of the store on disk has the forms of a model's inputs
and state, so an entry may be of another model: it serves models with the same ops, and no others.

A wrong answer would do no harm. The op list of such a run contains all the answers. It is used only
if it equals a list of PyTorch's own, op by op and answer by answer, with which the model would have
run the same.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from linalg_ext.frameworks.requirements import makers, torch
from linalg_ext.frameworks.torch.graph_keys import NoKey, form, tree
from linalg_ext.runtime import kernel_cache

Forms = dict[str, Any]
"""For each op with its arguments, as text, the description of its result: see `_description`."""

Handler = Callable[[Any, Any, Mapping[str, Any]], Any]
"""A function of an op, its arguments and its keyword arguments, which returns the result."""


@functools.cache
def _mode_class() -> Any:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):  # type: ignore[misc]
        def __init__(self, handle: Handler) -> None:
            super().__init__()
            self._handle = handle

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return self._handle(func, args, kwargs or {})

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # else TorchDynamo would be loaded

    return Mode


def mode_of(handle: Handler) -> Any:
    """Return a dispatch mode of PyTorch's that hands each op to a function."""
    return _mode_class()(handle)


def learning(forms: Forms) -> Any:
    """Return a mode that records the results of all ops that run under it."""

    def handle(func: Any, args: Any, keywords: Mapping[str, Any]) -> Any:
        if func.namespace == "prim":
            return func(*args, **keywords)
        key = _key(func, args, keywords)
        tensors = _tensors(args, keywords)
        storages = [_storage(tensor) for tensor in tensors]
        result = func(*args, **keywords)
        if key == _key(func, args, keywords):  # it has moved none of its arguments
            with contextlib.suppress(NoKey):
                forms[key] = _description(result, tensors, storages)
        return result

    return mode_of(handle)


def answering(forms: Mapping[str, Any], twins: Twins) -> Any:
    """Return a mode in which ops have their remembered results."""

    def handle(func: Any, args: Any, keywords: Mapping[str, Any]) -> Any:
        if func is torch().ops.prim.device.default:
            return torch().device("cpu")
        description = forms.get(_key(func, args, keywords), _UNKNOWN)
        if description is _UNKNOWN:
            raise NoKey
        tensors = [
            tensor if isinstance(tensor, elementless()) else twins.of(tensor)
            for tensor in _tensors(args, keywords)
        ]
        return _from_description(description, tensors)

    return mode_of(handle)


_UNKNOWN = object()


def _key(func: Any, args: Any, keywords: Mapping[str, Any]) -> str:
    """Return an op with all its arguments, tensors by their forms."""
    return repr((str(func), tree(args, _form), tree(keywords, _form)))


def _form(tensor: Any) -> Any:
    return "tensor", str(tensor.dtype), [*tensor.shape], tensor.stride(), tensor.storage_offset()


def _tensors(*trees: Any) -> list[Any]:
    leaves = torch().utils._pytree.tree_leaves(trees)
    return [leaf for leaf in leaves if isinstance(leaf, torch().Tensor)]


def _storage(tensor: Any) -> int:
    return int(tensor.untyped_storage()._cdata)


def _description(result_tree: Any, arguments: Sequence[Any], storages: Sequence[int]) -> Any:
    """Return the result of an op as plain data.

    A tensor is `{"argument": n}` if it is the n-th argument, else `{"form": ..., "memory": n}`. The
    latter is in the memory of the n-th argument, or in its own if n is None.

    Args:
        arguments: the tensors among the arguments.
        storages: the storages of those tensors before the op ran.

    Raises:
        NoKey: the result has no such description.
    """
    own: list[int] = []

    def result(tensor: Any) -> Any:
        number = next((n for n, argument in enumerate(arguments) if argument is tensor), None)
        if number is not None:
            return {"argument": number}
        if tensor.is_conj() or tensor.is_neg():
            raise NoKey
        storage, offset = _storage(tensor), tensor.storage_offset()
        memory = storages.index(storage) if storage in storages else None
        if memory is None:
            if offset or storage in own:
                raise NoKey
            own.append(storage)
        form = str(tensor.dtype), [*tensor.shape], [*tensor.stride()], offset
        return {"form": form, "memory": memory}

    leaves = torch().utils._pytree.tree_leaves(result_tree)
    if not all(isinstance(leaf, torch().Tensor | None) for leaf in leaves):
        raise NoKey  # a value that depends on elements
    return tree(result_tree, result)


def _from_description(description: Any, arguments: Sequence[Any]) -> Any:
    """Return the result of an op from its description by `_description`."""
    if description is None:
        return None
    if isinstance(description, list):
        return [_from_description(item, arguments) for item in description]
    if "argument" in description:
        return arguments[description["argument"]]
    name, shape, strides, offset = description["form"]
    dtype = getattr(torch(), name.removeprefix("torch."))
    memory = description["memory"]
    if memory is None:
        return new(dtype, shape, strides)
    return view(arguments[memory].untyped_storage(), dtype, shape, strides, offset)


_MOST = 1 << 12
"""Largest number of ops of one key; beyond it, those of other models are forgotten."""


class StoredForms:
    """The forms on disk for models that look like one."""

    def __init__(self, model: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        self._name = type(model).__name__
        self._key = _key_of_model(model, arguments, keywords)
        entry = kernel_cache.read(self._key)
        self.known: Forms = dict(entry.record) if entry is not None else {}

    def keep(self, forms: Forms) -> None:
        """Add forms to those on disk."""
        if forms.keys() <= self.known.keys():
            return
        together = {**self.known, **forms}
        self.known = together if len(together) <= _MOST else forms
        kernel_cache.replace(self._key, f"ops of {self._name}", self.known, {})


def _key_of_model(model: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> str | None:
    try:
        inputs = tree((tuple(arguments), dict(keywords)), form)
        state = [(name, form(tensor)) for name, tensor in state_of_module(model)]
    except NoKey:
        return None
    return kernel_cache.key_of(
        "ops of PyTorch", makers(), str(torch().get_default_dtype()), inputs, state
    )


def state_of_module(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parameters and buffers of a model, each by one name."""
    yield from model.named_parameters()
    yield from model.named_buffers()


@functools.cache
def elementless() -> Any:
    """Return the class of tensors without elements, which claim to be on the CPU."""
    cpu = torch().device("cpu")

    class Elementless(torch().Tensor):  # type: ignore[misc]
        __torch_function__ = torch()._C._disabled_torch_function_impl

        @property
        def device(self) -> Any:
            return cpu

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func is torch().ops.prim.device.default:
                return cpu
            raise NoKey  # a mode handles the ops that are allowed

    return Elementless


class Twins:
    """Tensors without elements in the place of others; those of shared memory share it, too."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Any]] = {}
        self._storages: dict[int, Any] = {}

    def of(self, tensor: Any) -> Any:
        """Return the twin of a tensor, the same one each time.

        Raises:
            NoKey: it is not a plain tensor in this machine's memory.
        """
        _, twin = self._known.get(id(tensor), (None, None))
        if twin is None:
            twin = self._from_description(tensor)
            # The tensor stays alive, so that no other one gets its identity.
            self._known[id(tensor)] = tensor, twin
        return twin

    def _from_description(self, tensor: Any) -> Any:
        *_, flags = form(tensor)  # which refuses tensors of other kinds
        if any(flags) or tensor.is_inference() or not tensor.is_leaf:
            raise NoKey
        storage = tensor.untyped_storage()
        if (own := self._storages.get(storage._cdata)) is None:
            own = torch().UntypedStorage(storage.nbytes(), device="meta")
            self._storages[storage._cdata] = own
        layout = tensor.shape, tensor.stride(), tensor.storage_offset()
        twin = view(own, tensor.dtype, *layout, requires_grad=tensor.requires_grad)
        if isinstance(tensor, torch().nn.Parameter):
            twin._is_param = True  # for `isinstance(twin, Parameter)`
        return twin


def view(
    storage: Any,
    dtype: Any,
    shape: Sequence[int],
    strides: Sequence[int],
    offset: int,
    *,
    requires_grad: bool = False,
) -> Any:
    """Return a tensor without elements in a storage of PyTorch's meta device."""
    package = torch()
    meta = package.empty(0, dtype=dtype, device="meta").set_(storage, offset, shape, strides)
    return _of_meta(meta, requires_grad)


def new(dtype: Any, shape: Sequence[int], strides: Sequence[int]) -> Any:
    """Return a tensor without elements that has memory of its own."""
    meta = torch().empty_strided(shape, strides, dtype=dtype, device="meta")
    return _of_meta(meta, False)


def _of_meta(meta: Any, requires_grad: bool) -> Any:
    package = torch()
    tensor = package.Tensor._make_subclass(
        elementless(),
        meta,
        requires_grad,
        dispatch_device=True,
        device_for_backend_keys=package.device("cpu"),
    )
    # Reading the address of its elements is an error.
    package._C._set_throw_on_mutable_data_ptr(tensor)
    return tensor
