"""Hashes of states.

A hash is a sum over what is hashed, so the order of items does not matter, and what stands in no
group adds nothing: a state without groups hashes to 0.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING

from ._annotations import note_of

if TYPE_CHECKING:
    from ._state import State

_LABEL = "label"
_MASK = (1 << 64) - 1


def hash_of(state: State, known: dict[int, int]) -> int:
    """The hash of a state; `known` keeps those of groups in which nothing changed since."""
    outer = (group for group in state.groups if not state.is_nested(group))
    gone = _sum(_token(f"gone {node}") for node in state.gone)
    return _sum([gone, *(hash_of_group(state, group, known) for group in outer)])


def hash_of_group(state: State, group: int, known: dict[int, int]) -> int:
    """The hash of a group; `known` keeps those in which nothing changed since."""
    if group not in known:
        inner = _sum(_of_item(state, item, known) for item in state.children(group))
        data = state.data(group)
        # By value: the same number is written in several ways.
        notes = sorted((n, repr(note_of(t))) for n, t in data.texts.items() if n != _LABEL)
        known[group] = _token(f"group {inner} {notes} {data.is_isolated}")
    return known[group]


def _of_item(state: State, item: int, known: dict[int, int]) -> int:
    if state.is_group(item):
        return hash_of_group(state, item, known)
    copied = [at for at, value in enumerate(state.reads(item)) if state.is_copy(value.node)]
    kind = "copy" if state.is_copy(item) else "node"
    return _token(f"{kind} {state.node(item).number} {copied}")


@functools.lru_cache(maxsize=65536)
def _token(text: str) -> int:
    # Not `hash`: a key must be the same in every process.
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _sum(numbers: Iterable[int]) -> int:
    return sum(numbers) & _MASK
