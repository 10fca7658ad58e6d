"""Declare a tensor operation once: write it down, rewrite it on real MLIR, run it on arrays.

The public names below are loaded when they are first asked for, so that importing the package is
quick and needs no MLIR.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linalg_ext.utils.hooks import register
from linalg_ext.utils.module_aliases import install_renamed

if TYPE_CHECKING:
    # The names of `_LAZY` for type checkers and editors.
    from linalg_ext import cache as cache
    from linalg_ext import dialects as dialects
    from linalg_ext import errors as errors
    from linalg_ext import explain as explain
    from linalg_ext import opdsl_defs as ops
    from linalg_ext import samples as samples
    from linalg_ext import structured as structured
    from linalg_ext import target as target
    from linalg_ext import transforms as transforms
    from linalg_ext.compiler import Kernel, compile
    from linalg_ext.compiler import tuning as tuning
    from linalg_ext.compiler.einsum import einsum
    from linalg_ext.compiler.einsum.contract import contract
    from linalg_ext.executable import libraries as libraries
    from linalg_ext.executable.libraries import library
    from linalg_ext.executable.loading import load
    from linalg_ext.executable.worker_process import Limits
    from linalg_ext.frameworks.jax import from_jax
    from linalg_ext.frameworks.onnx.model import from_onnx
    from linalg_ext.frameworks.torch.model import from_torch
    from linalg_ext.module import Module, parse
    from linalg_ext.notations import from_yaml, read, to_yaml, write
    from linalg_ext.notations.tc import tc, to_tc
    from linalg_ext.opdsl import structured_op
    from linalg_ext.runtime.pool import memory
    from linalg_ext.runtime.threads import threads
    from linalg_ext.settings import Options, options
    from linalg_ext.tracing import (
        Dim,
        ShapeDtype,
        Static,
        argwhere,
        cond,
        dynamic_slice,
        dynamic_update_slice,
        flatnonzero,
        jit,
        loop,
        nonzero,
        pure_callback,
        unique,
    )
    from linalg_ext.tracing import random as random
    from linalg_ext.transforms.schedules.schedule import Schedule

    __version__: str

__all__ = [
    "Dim",
    "Kernel",
    "Limits",
    "Module",
    "Options",
    "Schedule",
    "ShapeDtype",
    "Static",
    "argwhere",
    "cache",
    "compile",
    "cond",
    "contract",
    "dialects",
    "dynamic_slice",
    "dynamic_update_slice",
    "einsum",
    "errors",
    "explain",
    "flatnonzero",
    "from_jax",
    "from_onnx",
    "from_torch",
    "from_yaml",
    "jit",
    "libraries",
    "library",
    "load",
    "loop",
    "memory",
    "nonzero",
    "ops",
    "options",
    "parse",
    "pure_callback",
    "random",
    "read",
    "samples",
    "structured",
    "structured_op",
    "target",
    "tc",
    "threads",
    "to_tc",
    "to_yaml",
    "transforms",
    "tuning",
    "unique",
    "write",
]

_HOMES = {
    "linalg_ext.compiler": "Kernel compile",
    "linalg_ext.compiler.einsum": "einsum",
    "linalg_ext.compiler.einsum.contract": "contract",
    "linalg_ext.executable.libraries": "library",
    "linalg_ext.executable.loading": "load",
    "linalg_ext.executable.worker_process": "Limits",
    "linalg_ext.frameworks.jax": "from_jax",
    "linalg_ext.frameworks.onnx.model": "from_onnx",
    "linalg_ext.frameworks.torch.model": "from_torch",
    "linalg_ext.module": "Module parse",
    "linalg_ext.notations": "from_yaml read to_yaml write",
    "linalg_ext.notations.tc": "tc to_tc",
    "linalg_ext.opdsl": "structured_op",
    "linalg_ext.runtime.pool": "memory",
    "linalg_ext.runtime.threads": "threads",
    "linalg_ext.settings": "Options options",
    "linalg_ext.tracing": """Dim ShapeDtype Static argwhere cond dynamic_slice dynamic_update_slice
        flatnonzero jit loop nonzero pure_callback unique""",
    "linalg_ext.transforms.schedules.schedule": "Schedule",
}
"""The modules that have the public names, but for those that are modules themselves."""

_LAZY = {
    **{name: f"{home}:{name}" for home, names in _HOMES.items() for name in names.split()},
    "cache": "linalg_ext.cache",
    "dialects": "linalg_ext.dialects",
    "errors": "linalg_ext.errors",
    "explain": "linalg_ext.explain",
    "libraries": "linalg_ext.executable.libraries",
    "ops": "linalg_ext.opdsl_defs",
    "random": "linalg_ext.tracing.random",
    "samples": "linalg_ext.samples",
    "structured": "linalg_ext.structured",
    "target": "linalg_ext.target",
    "transforms": "linalg_ext.transforms",
    "tuning": "linalg_ext.compiler.tuning",
}
"""Each public name and where it lives: `package.module`, or `package.module:attribute`."""

register("calls", "linalg_ext.frameworks.handlers")
register("compiler", "linalg_ext.compiler.handlers")
register("definition", "linalg_ext.notations.handlers")
register("module", "linalg_ext.transforms.handlers")
register("tracing", "linalg_ext.tracing.dispatch")
register("views", "linalg_ext.explain.notebook")

install_renamed()


def _public(name: str) -> Any:
    if name == "__version__":
        from linalg_ext.utils import library_version

        value: Any = library_version()
    elif name in _LAZY:
        value = _load(_LAZY[name])
    else:
        raise AttributeError(_unknown(name), name=name)
    globals()[name] = value
    return value


if not TYPE_CHECKING:  # a type checker that saw it would take every name for one that exists
    __getattr__ = _public


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__", *(name for name in globals() if name[:2] == "__")})


def _load(target: str) -> Any:
    from importlib import import_module

    module, _, attribute = target.partition(":")
    loaded = import_module(module)
    return getattr(loaded, attribute) if attribute else loaded


def _unknown(name: str) -> str:
    from difflib import get_close_matches

    from linalg_ext.utils.other_libraries import MODULE

    message = f"module {__name__!r} has no attribute {name!r}"
    if name in MODULE:
        return f"{message}; here: {MODULE[name]}"
    if near := get_close_matches(name, _LAZY, n=3):
        return f"{message}; did you mean {' or '.join(near)}?"
    if name.startswith("_"):
        return message
    return f"{message}; it has {', '.join(sorted(_LAZY))}"
