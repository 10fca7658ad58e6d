"""A memo of the results of ops on tensors without elements (fake tensors).

PyTorch computes such results itself (FakeTensorMode), but takes a second and more to load for that.
Its answers for the ops of a model are plain data. The memo maps an op, the forms of its arguments
and its other arguments to the form of each result. A model with no other ops runs without
FakeTensorMode.

A wrong answer would do no harm. The op list of such a run contains all the answers. It is used only
where it equals a list that PyTorch itself gave, op by op and answer by answer. PyTorch would then
have led the model the same way.
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
    """Return a base class of dispatch modes that TorchDynamo ignores, so that it is not loaded."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class QuietMode(TorchDispatchMode):  # type: ignore[misc]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False

    return QuietMode


def learning(forms: Forms) -> Any:
    """A mode that records the results of all ops that run under it."""

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
    """Return the result of an op as plain data.

    A tensor is `{"argument": n}` if it is the n-th argument, else `{"form": ..., "memory": n}`. The
    latter is in the memory of the n-th argument, or in its own if n is None.

    Args:
        found: a tensor, None, or a sequence of these.
        given: the tensors among the arguments.
        storages: the storages of those tensors before the op ran.

    Raises:
        Untold: the result has no such description.
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
    """Return the result of an op from its description by `_told`."""
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
