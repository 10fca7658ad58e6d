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
from linalg_ext.compiler.stages import LARGE_BYTES
from linalg_ext.context import borrowed_context
from linalg_ext.errors import LinalgExtError
from linalg_ext.module import Module
from linalg_ext.rewriting import Decision
from linalg_ext.runtime.call_frame import FrameLayout, SlicedFrame
from linalg_ext.runtime.engine import Engine
from linalg_ext.runtime.machine_code import address_of_function
from linalg_ext.target import current, host
from linalg_ext.transforms.lowering._slices import Work, find_work
from linalg_ext.transforms.lowering._status import entry_with_status
from linalg_ext.transforms.lowering.share_work import share_work, slices_of
from linalg_ext.transforms.pipelines import lower_to_llvm

WORTH_SHARING = 20_000.0
"""Work, in nanoseconds of one core, from which on more than one thread is used.

A call in slices takes 3 us longer. A thread that still waits for the next call begins at once, one
that sleeps after 10 us or more, in which the caller goes on with the slices.
"""

LEAST_SLICE = 8_000.0
"""Nanoseconds of a slice: fewer threads are used rather than do less each."""

SLICES_EACH = 4
"""Slices for each thread, where they repeat nothing: who is disturbed does fewer of them."""


class Shared:
    """Code that does one slice of the work; the frame's status says which.

    Attributes:
        slices: how many there are.
        failures: what its statuses mean.
        decisions: what was chosen for the ops of a slice.
    """

    def __init__(
        self,
        engine: Engine,
        symbol: str,
        slices: int,
        failures: Failures,
        decisions: Sequence[Decision] = (),
    ) -> None:
        """Made by `SharedWork`."""
        self.decisions = tuple(decisions)
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
        self._packs = work.packs
        self._nanoseconds = work.nanoseconds(current())
        self._name = name
        self._symbol = symbol
        self._opt_level = opt_level
        self._libraries = tuple(libraries)
        self._made: dict[int, Shared | None] = {}
        self._cut: dict[int, Shared | None] = {}
        self._making = threading.Lock()
        # What was in force when the kernel was compiled is in force for this code too.
        self._context = copy_context()

    def for_threads(self, threads: int) -> Shared | None:
        """The code for `threads` threads, compiled if need be; None where it cannot be cut."""
        if threads < 2:
            return None
        try:
            return self._made[threads]
        except KeyError:
            with self._making:
                if threads not in self._made:
                    slices = self._slices(threads)
                    if slices not in self._cut:
                        self._cut[slices] = self._context.run(self._try_to_compile, slices)
                    self._made[threads] = self._cut[slices]
            return self._made[threads]

    def _slices(self, threads: int) -> int:
        """How many slices to cut for so many threads: of a result nothing hangs on but this."""
        most = max(2, int(self._nanoseconds / max(LEAST_SLICE, 1.0)))
        busy = min(threads, most)
        return busy if self._packs else busy * max(1, min(SLICES_EACH, most // busy))

    def _try_to_compile(self, slices: int) -> Shared | None:
        try:
            return self._compile(slices)
        except LinalgExtError as error:
            # A fault of this library's: the code for one thread is there, and right.
            warnings.warn(
                f"`{self._name}` runs on one thread, for its slices cannot be compiled: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
            return None

    def _compile(self, slices: int) -> Shared | None:
        with borrowed_context() as loan:
            loan.keep = len(self._bytecode) <= LARGE_BYTES
            module = Module.parse(self._bytecode, trusted=True, context=loan.context)
            report = share_work.apply(module.ir.operation, slices=slices)
            if not report:
                return None
            module.verify(after=share_work.pass_name)
            count = slices_of(module.ir.operation)
            info = lower_to_llvm(module.ir, stages=("loops", "llvm"))
            level = info.suggested_opt_level if self._opt_level is None else self._opt_level
            engine = Engine(module.ir, opt_level=level, libraries=self._libraries)
            failures = Failures(self._name, info.assertions)
            decisions = [each for report in info.reports for each in report.decisions]
            return Shared(engine, self._symbol, count, failures, decisions)


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
    if current().missing_on(host()):
        return None  # code to look at
    entry = entry_with_status(module.operation)
    work = "no entry" if entry is None else find_work(entry)
    if isinstance(work, str) or work.nanoseconds(current()) < WORTH_SHARING or work.extent < 2:
        return None
    bytecode = io.BytesIO()
    module.operation.write_bytecode(bytecode)
    return SharedWork(bytecode.getvalue(), work, name, symbol, opt_level, libraries)
