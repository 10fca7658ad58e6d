"""Names of passes that resemble one that does not exist."""

from __future__ import annotations

import difflib
import importlib.util
import mmap
import re
from functools import cache
from pathlib import Path

from linalg_ext.bindings import passmanager, provider
from linalg_ext.ir.context import new_context
from linalg_ext.rewriting.registry import all_passes

# What could be a pass's name among the strings of a library.
_WORDS = re.compile(rb"\0([a-z][a-z0-9]{1,30}(?:-[a-z0-9]+){0,9})(?=\0)")


def similar_passes(name: str, count: int = 3) -> list[str]:
    """Up to `count` passes of upstream's and ours whose names are near to `name`."""
    # This one hides in another string of the library, `fcanonicalize`.
    candidates = [*all_passes(), "canonicalize", *_words_of_the_bindings()]
    near = difflib.get_close_matches(name, candidates, n=8 * count, cutoff=0.7)
    ours = all_passes()
    return [found for found in dict.fromkeys(near) if found in ours or _exists(found)][:count]


def _exists(name: str) -> bool:
    try:
        passmanager.PassManager("any", new_context()).add(name)
    except ValueError as error:
        return "does not refer to a registered pass" not in str(error)
    return True


@cache
def _words_of_the_bindings() -> tuple[str, ...]:
    """Every string of upstream's library that may be a pass's name.

    Upstream offers no list of its passes. Reading its library takes about a second and happens
    only when an error is about to be reported.
    """
    spec = importlib.util.find_spec(f"{provider()}._mlir_libs")
    folders = spec.submodule_search_locations if spec is not None else None
    libraries = [
        path
        for folder in folders or ()
        for path in Path(folder).iterdir()
        if path.suffix in (".so", ".dylib") and "CAPI" in path.name
    ]
    words: set[bytes] = set()
    for library in libraries:
        with (
            library.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            words.update(_WORDS.findall(content))
    return tuple(sorted({tail for word in words for tail in _tails(word.decode())}))


def _tails(word: str) -> list[str]:
    """A linker keeps one string that ends in another only once: `x-cse` may hold `cse`."""
    parts = word.split("-")
    return ["-".join(parts[start:]) for start in range(len(parts))]
