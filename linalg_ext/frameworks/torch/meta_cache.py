"""What ops give for tensors of which only the forms are known: learned once, then told from there.

PyTorch knows it, of tensors without elements (FakeTensorMode), but takes a second and more to be
loaded for that. What it said of the ops of a model is plain data: the form of each result for an
op, the forms of its arguments, and whatever else it was given. A model with no other ops is run
without PyTorch being asked.

A wrong answer would do no harm. The list of ops that comes of such a run has all answers in it; it
is of use where it equals a list that PyTorch itself gave, op by op and answer by answer, and then
PyTorch would have led the model the same way.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from linalg_ext.frameworks.torch.fingerprint import Untold, tree
from linalg_ext.frameworks.torch.meta_tensors import Twins, elementless, new, view
from linalg_ext.frameworks.torch.requirements import torch

Forms = dict[str, Any]
"""For each op with its arguments, as text, what it gives: see `_told`."""


@functools.cache
def quiet_mode() -> Any:
    """What modes are derived from that TorchDynamo never sees: it is not loaded for them."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class QuietMode(TorchDispatchMode):  # type: ignore[misc]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False

    return QuietMode


def learning(forms: Forms) -> Any:
    """A mode that writes down what ops give, whoever runs them."""

    class Learning(quiet_mode()):  # type: ignore[misc]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            keywords = kwargs or {}
            if func.namespace == "prim":
                return func(*args, **keywords)
            key = _key(func, args, keywords)
            given = _tensors(args, keywords)
            places = [_storage(each) for each in given]
            found = func(*args, **keywords)
            if key == _key(func, args, keywords):  # it has moved none of its arguments
                with contextlib.suppress(Untold):
                    forms[key] = _told(found, given, places)
            return found

    return Learning()


def answering(forms: Mapping[str, Any], twins: Twins) -> Any:
    """A mode in which ops give what is known of them.

    Args:
        forms: what is known.
        twins: in the place of tensors that have elements.
    """

    class Answering(quiet_mode()):  # type: ignore[misc]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            keywords = kwargs or {}
            if func is torch().ops.prim.device.default:
                return torch().device("cpu")
            known = forms.get(_key(func, args, keywords), _UNKNOWN)
            if known is _UNKNOWN:
                raise Untold
            given = [
                each if isinstance(each, elementless()) else twins.of(each)
                for each in _tensors(args, keywords)
            ]
            return _made(known, given)

    return Answering()


_UNKNOWN = object()


def _key(func: Any, args: Any, keywords: Mapping[str, Any]) -> str:
    """An op with all that it is given, tensors by their forms."""
    return repr((str(func), tree(args, _form), tree(keywords, _form)))


def _form(tensor: Any) -> Any:
    return "tensor", str(tensor.dtype), [*tensor.shape], tensor.stride(), tensor.storage_offset()


def _tensors(*trees: Any) -> list[Any]:
    leaves = torch().utils._pytree.tree_leaves(trees)
    return [each for each in leaves if isinstance(each, torch().Tensor)]


def _storage(tensor: Any) -> int:
    return int(tensor.untyped_storage()._cdata)


def _told(found: Any, given: Sequence[Any], storages: Sequence[int]) -> Any:
    """What an op gave, as plain data.

    A tensor is `{"argument": n}`, if it was given as the n-th, or `{"form": ..., "memory": n}`: in
    the memory of the n-th that was given, or of its own if that is None.

    Args:
        found: a tensor, a sequence of tensors, or None, or one of those.
        given: the tensors among the arguments.
        storages: where their memory is.

    Raises:
        Untold: there is something else about it.
    """
    own: list[int] = []

    def result(tensor: Any) -> Any:
        same = [number for number, each in enumerate(given) if each is tensor]
        if same:
            return {"argument": same[0]}
        if tensor.is_conj() or tensor.is_neg():
            raise Untold
        storage, offset = _storage(tensor), tensor.storage_offset()
        memory = storages.index(storage) if storage in storages else None
        if memory is None:
            if offset or storage in own:
                raise Untold
            own.append(storage)
        form = str(tensor.dtype), [*tensor.shape], [*tensor.stride()], offset
        return {"form": form, "memory": memory}

    leaves = torch().utils._pytree.tree_leaves(found)
    if not all(isinstance(each, torch().Tensor | None) for each in leaves):
        raise Untold  # a value of elements
    return tree(found, result)


def _made(known: Any, given: Sequence[Any]) -> Any:
    """What an op gives: see `_told`."""
    if known is None:
        return None
    if isinstance(known, list):
        return [_made(each, given) for each in known]
    if "argument" in known:
        return given[known["argument"]]
    name, shape, strides, offset = known["form"]
    dtype = getattr(torch(), name.removeprefix("torch."))
    memory = known["memory"]
    if memory is None:
        return new(dtype, shape, strides)
    return view(given[memory].untyped_storage(), dtype, shape, strides, offset)
