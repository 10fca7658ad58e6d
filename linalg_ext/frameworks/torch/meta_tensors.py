"""Tensors without elements, as plain as they can be: PyTorch's own take a second to be loaded."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from linalg_ext.frameworks.torch.fingerprint import Untold, form
from linalg_ext.frameworks.torch.requirements import torch


@functools.cache
def elementless() -> Any:
    """The class: its tensors say that they are on the CPU, and their memory is nowhere."""
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
            raise Untold  # whoever runs ops on them has a mode for it

    return Elementless


class Twins:
    """Tensors without elements that stand for others; those of shared memory share it, too."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Any]] = {}
        self._storages: dict[int, Any] = {}

    def of(self, tensor: Any) -> Any:
        """The twin of a tensor, the same one each time.

        Raises:
            Untold: it is no plain tensor in this machine's memory.
        """
        _, twin = self._known.get(id(tensor), (None, None))
        if twin is None:
            twin = self._made(tensor)
            # The tensor stays alive, so that no other one gets its identity.
            self._known[id(tensor)] = tensor, twin
        return twin

    def _made(self, tensor: Any) -> Any:
        *_, flags = form(tensor)  # which refuses tensors of other kinds
        if any(flags) or tensor.is_inference() or not tensor.is_leaf:
            raise Untold
        storage = tensor.untyped_storage()
        if (own := self._storages.get(storage._cdata)) is None:
            own = torch().UntypedStorage(storage.nbytes(), device="meta")
            self._storages[storage._cdata] = own
        place = tensor.shape, tensor.stride(), tensor.storage_offset()
        twin = view(own, tensor.dtype, *place, requires_grad=tensor.requires_grad)
        if isinstance(tensor, torch().nn.Parameter):
            twin._is_param = True  # for those who ask
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
    """A tensor without elements in a storage of PyTorch's meta device."""
    found = torch()
    meta = found.empty(0, dtype=dtype, device="meta").set_(storage, offset, shape, strides)
    return _of_meta(meta, requires_grad)


def new(dtype: Any, shape: Sequence[int], strides: Sequence[int]) -> Any:
    """A tensor without elements that has memory of its own."""
    meta = torch().empty_strided(shape, strides, dtype=dtype, device="meta")
    return _of_meta(meta, False)


def _of_meta(meta: Any, requires_grad: bool) -> Any:
    found = torch()
    made = found.Tensor._make_subclass(
        elementless(),
        meta,
        requires_grad,
        dispatch_device=True,
        device_for_backend_keys=found.device("cpu"),
    )
    # Whoever asks where its elements are is to hear that there are none.
    found._C._set_throw_on_mutable_data_ptr(made)
    return made
