"""Stages: the module after parts of its lowering, stored small and shown on request."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

from linalg_ext.bindings import ir
from linalg_ext.executable.explanation import Stage
from linalg_ext.ir.bytecode import to_bytecode
from linalg_ext.module import Module
from linalg_ext.transforms.ir_utils.walking import count_operations
from linalg_ext.transforms.pipelines import PIPELINES, stage_text
from linalg_ext.utils.progress import Progress
from linalg_ext.utils.scopes import holding

P = ParamSpec("P")
R = TypeVar("R")

LARGE_BYTES = 1 << 20
"""The size of a module's bytecode above which its text is kept, large constants elided."""


def stage(name: str, module: ir.Module, clock: Clock) -> Stage:
    """Return a stage with the module as it is now; the clock has run since the stage before."""
    if (progress := _progress.get()) is not None and name in _PHASES:
        progress.advance(_PHASES[_PHASES.index(name) + 1])
    bytecode = to_bytecode(module.operation)
    allowed = module.context.allow_unregistered_dialects
    if len(bytecode) > LARGE_BYTES:
        text, count = stage_text(module), count_operations(module.operation) - 1
        return Stage(name, clock.lap(), b"", allowed, text, count)
    # Printing takes ten times as long as writing it down.
    return Stage(name, clock.lap(), bytecode, allowed)


_PHASES = ("entry", *PIPELINES, "machine code")
_progress: ContextVar[Progress | None] = ContextVar("linalg_ext_compile_progress", default=None)


def showing_progress(compile: Callable[P, R]) -> Callable[P, R]:
    """Show the phase of a compilation that takes long; `stage` tells where it is."""

    @wraps(compile)
    def compile_shown(*arguments: P.args, **options: P.kwargs) -> R:
        bar = Progress("compiling", len(_PHASES) - 1, time.perf_counter)
        with bar, holding(_progress, bar):
            return compile(*arguments, **options)

    return compile_shown


def text_of(bytecode: bytes, allow_unregistered: bool) -> str:
    """Return a module as MLIR, large constants elided."""
    return stage_text(_parsed(bytecode, allow_unregistered).ir)


def size_of(bytecode: bytes, allow_unregistered: bool) -> int:
    """Return the number of ops in a module, without the module itself."""
    return count_operations(_parsed(bytecode, allow_unregistered).ir.operation) - 1


def _parsed(bytecode: bytes, allow_unregistered: bool) -> Module:
    return Module.parse(bytecode, trusted=True, allow_unregistered=allow_unregistered)


class Clock:
    """Seconds since it was last asked."""

    def __init__(self) -> None:
        self._last = time.perf_counter()

    def lap(self) -> float:
        """Return the seconds since the last lap, or since it was made."""
        now = time.perf_counter()
        passed, self._last = now - self._last, now
        return passed
