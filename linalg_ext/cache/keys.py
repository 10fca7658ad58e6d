"""Keys: one text for all that a kernel is made of, known before the kernel is made."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

try:
    # hashlib would load OpenSSL for it, which takes longer than to load a kernel.
    from _blake2 import blake2b
except ImportError:  # of another Python than CPython
    from hashlib import blake2b

FORMAT = "linalg_ext kernel"
VERSION = 1
"""Version of the format of the files. Files of another version are not read."""

PROVIDERS = ("mlir", "torch_mlir")
"""The packages that may bring the bindings, and with them LLVM, in order of preference."""

_SUFFIXES = (".py", ".mlir", ".lark", ".yaml")

_PACKAGE = Path(__file__).resolve().parents[1]

_BYTES = 20
"""Size of a key and of a checksum, in bytes."""

_PLAIN = (str, bytes, int, float, bool, type(None))


def digest(*parts: object) -> str:
    """Return one text for all of `parts`, another one wherever they differ.

    Parts are texts, bytes, numbers, None, and tuples, lists, sets and dicts of these. Any other
    object, whose value is not known, is a TypeError.
    """
    state = blake2b(digest_size=_BYTES)
    for piece in _pieces(parts):
        state.update(len(piece).to_bytes(8, "little"))
        state.update(piece)
    return state.hexdigest()


def checksum(content: bytes) -> str:
    """Return a text that differs where the content of a file does."""
    return blake2b(content, digest_size=_BYTES).hexdigest()


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
    """Return a fingerprint of the files that make the code: this library's and the bindings'."""
    forced = os.environ.get("LINALG_EXT_BINDINGS", "")
    files = "\n".join(sorted(_sources()))
    return digest(FORMAT, VERSION, sys.implementation.cache_tag, forced, files)


def _sources() -> Iterator[str]:
    """Yield each file that has a part in the code: see `described`."""
    yield from _files_under(str(_PACKAGE))
    for provider in PROVIDERS:
        spec = importlib.util.find_spec(provider)
        for root in (spec.submodule_search_locations or ()) if spec is not None else ():
            yield from _files_under(root)
            libraries = os.path.join(root, "_mlir_libs")
            if os.path.isdir(libraries):
                with os.scandir(libraries) as entries:
                    for entry in entries:
                        if entry.is_file():
                            yield described(entry.path, entry.stat())


def _files_under(folder: str) -> Iterator[str]:
    # Links are followed: two of the package's folders are linked into it.
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(_SUFFIXES):
                yield described(entry.path, entry.stat())
            elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
                yield from _files_under(entry.path)


def described(path: str, status: os.stat_result) -> str:
    """Return a file as a part of a key: another text where the file or its metadata changed.

    The system notes the moment of a change (`st_ctime`), which cannot be set as `touch` sets
    `st_mtime`. Reading all files would take as long as compiling a kernel.
    """
    return f"{path} {status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
