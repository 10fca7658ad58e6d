"""The module at points of the way down, kept small and shown when somebody asks."""

from __future__ import annotations

import io
import time
from functools import cached_property

from linalg_ext.bindings import ir
from linalg_ext.module import Module
from linalg_ext.transforms.pipelines import stage_text

LARGE_BYTES = 1 << 20
"""Of a module with more than this the text is kept, large constants elided."""


class Stage:
    """The module at one point of the way down.

    Attributes:
        name: of the stage.
        seconds: what it took to get here from the stage before.
        nbytes: of the module, in MLIR's binary form.
        bytecode: that form; empty where it is large and was not to be kept.
    """

    def __init__(self, name: str, module: ir.Module, clock: Clock, *, keep: bool = False) -> None:
        stream = io.BytesIO()
        module.operation.write_bytecode(stream)
        self.name = name
        self.nbytes = stream.tell()
        self._allow_unregistered = module.context.allow_unregistered_dialects
        # Printing takes ten times as long as writing it down.
        is_large = self.nbytes > LARGE_BYTES
        self.bytecode = b"" if is_large and not keep else stream.getvalue()
        if is_large:
            self.__dict__["text"] = stage_text(module)
            self.__dict__["operations"] = _count_operations(module)
        self.seconds = clock.lap()

    @cached_property
    def text(self) -> str:
        """As MLIR, large constants elided."""
        return stage_text(self._module().ir)

    @cached_property
    def operations(self) -> int:
        """How many ops there are."""
        return _count_operations(self._module().ir)

    def _module(self) -> Module:
        return Module.parse(
            self.bytecode, trusted=True, allow_unregistered=self._allow_unregistered
        )


class Clock:
    """Seconds since it was last asked."""

    def __init__(self) -> None:
        self._last = time.perf_counter()

    def lap(self) -> float:
        """Seconds since the last lap, or since it was made."""
        now = time.perf_counter()
        passed, self._last = now - self._last, now
        return passed


def _count_operations(module: ir.Module) -> int:
    count = -1  # the module itself

    def visit(_: ir.Operation) -> ir.WalkResult:
        nonlocal count
        count += 1
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return count
