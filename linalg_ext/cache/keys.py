"""Keys: what a kernel was made of and for, as one text, known before any of it is made."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

FORMAT = "linalg_ext kernel"
VERSION = 1
"""Of what is in the files. Files of another version are not read."""

PROVIDERS = ("mlir", "torch_mlir")
"""The packages that may bring the bindings, and with them LLVM."""

_PACKAGE = Path(__file__).resolve().parents[1]

_PLAIN = (str, bytes, int, float, bool, type(None))


def digest(*parts: object) -> str:
    """One text for all of `parts`: another one wherever they differ.

    Args:
        *parts: texts, bytes, numbers, None, and tuples, lists, sets and dicts of these.

    Raises:
        TypeError: something else is among them, whose value nobody knows.
    """
    state = hashlib.blake2b(digest_size=20)
    for piece in _pieces(parts):
        state.update(len(piece).to_bytes(8, "little"))
        state.update(piece)
    return state.hexdigest()


def _pieces(value: object) -> Iterator[bytes]:
    if isinstance(value, _PLAIN):
        yield type(value).__name__.encode()
        yield value if isinstance(value, bytes) else repr(value).encode()
    elif isinstance(value, tuple | list):
        yield b"(%d" % len(value)
        for item in value:
            yield from _pieces(item)
    elif isinstance(value, set | frozenset):
        yield b"{%d" % len(value)
        yield from sorted(b"".join(_pieces(item)) for item in value)
    elif isinstance(value, dict):
        yield b":%d" % len(value)
        for key, item in value.items():
            yield from _pieces((key, item))
    else:
        raise TypeError(f"a {type(value).__name__} has no key")


@functools.cache
def makers() -> str:
    """What made the code: this library and the bindings, by their files."""
    files = [_described(path) for path in _sources()]
    return digest(FORMAT, VERSION, sys.implementation.cache_tag, files)


def _sources() -> Iterator[str]:
    # The folders that are linked into the package are followed: they are a part of it.
    for folder, folders, names in os.walk(_PACKAGE, followlinks=True):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (os.path.join(folder, name) for name in names)
    for provider in PROVIDERS:
        spec = importlib.util.find_spec(provider)
        for place in (spec.submodule_search_locations or ()) if spec is not None else ():
            yield place
            libraries = os.path.join(place, "_mlir_libs")
            if os.path.isdir(libraries):
                yield from (entry.path for entry in os.scandir(libraries) if entry.is_file())


def _described(path: str) -> tuple[str, int, int]:
    found = os.stat(path)
    return path, found.st_size, found.st_mtime_ns
