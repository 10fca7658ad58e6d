"""A model that is run only to be looked at: it must be afterwards as it was before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from linalg_ext.frameworks.torch.fingerprint import Untold

_REFRESHED = {"_flat_weights", "_flat_weight_refs"}
"""Lists of a recurrent layer's weights, which PyTorch remakes when weights are exchanged."""


@contextmanager
def unchanged(model: Any) -> Iterator[None]:
    """Put back whatever attributes the modules of a model have got inside the `with` block.

    Raises:
        Untold: there were such.
    """
    modules = list(model.modules())
    before = [_attributes(module) for module in modules]
    try:
        yield
    finally:
        is_same = True
        for module, attributes in zip(modules, before, strict=True):
            is_same &= _restored(module, attributes)
    if not is_same:
        raise Untold


def _attributes(module: Any) -> dict[str, tuple[Any, Any]]:
    """Each attribute, and what it holds where it is a container."""
    return {name: (value, _content(value)) for name, value in vars(module).items()}


def _content(value: Any) -> list[Any] | None:
    if isinstance(value, dict):
        return list(value.items())
    return list(value) if isinstance(value, list | set) else None


def _restored(module: Any, attributes: dict[str, tuple[Any, Any]]) -> bool:
    """Return whether a module is as it was; it is so in the end."""
    own = vars(module)
    changed: set[str] = set(own.keys() ^ attributes.keys())
    for name in own.keys() & attributes.keys():
        if not _is_same(own[name], *attributes[name]):
            changed.add(name)
    for name in changed:
        own.pop(name, None)
    for name in changed & attributes.keys():
        own[name], content = attributes[name]
        _put_back(own[name], content)
    return changed <= _REFRESHED


def _is_same(now: Any, before: Any, content: list[Any] | None) -> bool:
    """Return whether an attribute is the object that it was, or a container of the same ones."""
    if content is None or type(now) is not type(before):
        return now is before
    return list(map(id, _flat(_content(now)))) == list(map(id, _flat(content)))


def _flat(content: list[Any] | None) -> list[Any]:
    """Return the items of a container; for a dict its keys and its values."""
    return [each for one in content or () for each in (one if type(one) is tuple else (one,))]


def _put_back(value: Any, content: list[Any] | None) -> None:
    if content is None:
        return
    value.clear()
    value.extend(content) if isinstance(value, list) else value.update(content)
