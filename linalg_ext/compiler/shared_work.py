"""A kernel's code for several threads: compiled when it is first called with so many."""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Sequence
from contextvars import copy_context
from pathlib import Path

from linalg_ext.bindings import ir
from linalg_ext.compiler.failures import Failures
from linalg_ext.errors import LinalgExtError
from linalg_ext.module import Module
from linalg_ext.runtime.call_frame import FrameLayout, SlicedFrame
from linalg_ext.runtime.engine import Engine, address_of_function
from linalg_ext.transforms.lowering._slices import Work, find_work
from linalg_ext.transforms.lowering._status import entry_with_status
from linalg_ext.transforms.lowering.share_work import share_work
from linalg_ext.transforms.pipelines import lower_to_llvm

WORTH_SHARING = 1 << 20
"""Work, in moved elements, from which on more than one thread is used: about 0.2 ms of it.

Waking a thread of Python's and waiting for it takes 20 to 50 us.
"""


class Shared:
    """Code that does one slice of the work; the frame's status says which.

    Attributes:
        slices: how many there are.
        failures: what its statuses mean.
    """

    def __init__(self, engine: Engine, symbol: str, slices: int, failures: Failures) -> None:
        """Made by `SharedWork`."""
        self.slices = slices
        self.failures = failures
        self._engine = engine  # which the function must not outlive
        self._function = address_of_function(engine.function(symbol))
        self._idle: list[SlicedFrame] = []

    def take(self, layout: FrameLayout) -> SlicedFrame:
        """A block for a call, of one's own. `layout` is that of the kernel."""
        try:
            return self._idle.pop()
        except IndexError:
            return layout.sliced(self._function, self.slices)

    def give_back(self, frame: SlicedFrame) -> None:
        """Let the next call have `frame`."""
        self._idle.append(frame)


class SharedWork:
    """The work of an entry, on buffers, as it is before it is cut and lowered further."""

    def __init__(
        self,
        bytecode: bytes,
        work: Work,
        name: str,
        symbol: str,
        opt_level: int | None,
        libraries: Sequence[str | Path],
    ) -> None:
        """Made by `shared_work`."""
        self._bytecode = bytecode
        self._most = work.most_slices
        self._name = name
        self._symbol = symbol
        self._opt_level = opt_level
        self._libraries = tuple(libraries)
        self._made: dict[int, Shared | None] = {}
        self._making = threading.Lock()
        # What was in force when the kernel was compiled is in force for this code too.
        self._context = copy_context()

    def for_threads(self, threads: int) -> Shared | None:
        """The code for `threads` threads, compiled if need be; None where it cannot be cut."""
        threads = min(threads, self._most)
        if threads < 2:
            return None
        try:
            return self._made[threads]
        except KeyError:
            with self._making:
                if threads not in self._made:
                    self._made[threads] = self._context.run(self._try_to_compile, threads)
            return self._made[threads]

    def _try_to_compile(self, threads: int) -> Shared | None:
        try:
            return self._compile(threads)
        except LinalgExtError as error:
            # A fault of this library's: the code for one thread is there, and right.
            warnings.warn(
                f"`{self._name}` runs on one thread, for its slices cannot be compiled: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
            return None

    def _compile(self, threads: int) -> Shared | None:
        module = Module.parse(self._bytecode, trusted=True)
        report = share_work.apply(module.ir.operation, threads=threads)
        if not report:
            return None
        module.verify(after=share_work.pass_name)
        info = lower_to_llvm(module.ir, stages=("loops", "llvm"))
        level = info.suggested_opt_level if self._opt_level is None else self._opt_level
        engine = Engine(module.ir, opt_level=level, libraries=self._libraries)
        failures = Failures(self._name, info.assertions)
        return Shared(engine, self._symbol, threads, failures)


def shared_work(
    module: ir.Module,
    name: str,
    symbol: str,
    opt_level: int | None,
    libraries: Sequence[str | Path],
) -> SharedWork | None:
    """What several threads can share of an entry on buffers; None where nothing is worth it.

    Args:
        module: as it is after the stage `buffers`; read, not changed.
        name, symbol, opt_level, libraries: of the kernel.
    """
    entry = entry_with_status(module.operation)
    work = "no entry" if entry is None else find_work(entry)
    if isinstance(work, str) or work.cost < WORTH_SHARING or work.most_slices < 2:
        return None
    bytecode = io.BytesIO()
    module.operation.write_bytecode(bytecode)
    return SharedWork(bytecode.getvalue(), work, name, symbol, opt_level, libraries)
