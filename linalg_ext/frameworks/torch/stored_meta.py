"""Stored results of ops, by the forms of a model's inputs and of its state.

The store is a hint. A model with other ops finds nothing useful in it; one with the same ops finds
them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from linalg_ext.frameworks.torch.fingerprint import Untold, form, tree
from linalg_ext.frameworks.torch.meta_cache import Forms
from linalg_ext.frameworks.torch.requirements import makers, torch
from linalg_ext.runtime import kernel_cache

_MOST = 1 << 12
"""Ops that are known for one key; when there are more, those of other models are forgotten."""


class KeptForms:
    """The forms on disk for models that look like one.

    Attributes:
        known: the forms.
    """

    def __init__(self, model: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> None:
        """
        Args:
            model: a module.
            arguments, keywords: of a call.
        """
        self._name = type(model).__name__
        self._key = _key(model, arguments, keywords)
        entry = kernel_cache.read(self._key)
        self.known: Forms = dict(entry.record) if entry is not None else {}

    def keep(self, forms: Forms) -> None:
        """Add what was learned."""
        if forms.keys() <= self.known.keys():
            return
        together = {**self.known, **forms}
        self.known = together if len(together) <= _MOST else forms
        kernel_cache.replace(self._key, f"ops of {self._name}", self.known, {})


def _key(model: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> str | None:
    try:
        inputs = tree((tuple(arguments), dict(keywords)), form)
        state = [(name, form(tensor)) for name, tensor in state_of_module(model)]
    except Untold:
        return None
    return kernel_cache.key_of(
        "ops of PyTorch", makers(), str(torch().get_default_dtype()), inputs, state
    )


def state_of_module(model: Any) -> Iterator[tuple[str, Any]]:
    """Its parameters and buffers, each by one name."""
    yield from model.named_parameters()
    yield from model.named_buffers()
