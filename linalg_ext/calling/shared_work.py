"""A kernel's code for several threads: made when it is first called with so many."""

from __future__ import annotations

import threading
import warnings
from contextvars import copy_context
from pathlib import Path
from typing import Any, NamedTuple

from linalg_ext import dispatch
from linalg_ext.cache.store import Entry
from linalg_ext.calling.code import Code
from linalg_ext.calling.decision import Decision, decisions_data, told_of
from linalg_ext.calling.failures import Failures
from linalg_ext.errors import LinalgExtError
from linalg_ext.runtime import keeping
from linalg_ext.runtime.call_frame import FrameLayout, SlicedFrame
from linalg_ext.runtime.machine_code import address_of_function

LEAST_SLICE = 8_000.0
"""Nanoseconds of a slice: fewer threads are used rather than do less each."""

SLICES_EACH = 4
"""Slices for each thread, where they repeat nothing: who is disturbed does fewer of them."""


class Work(NamedTuple):
    """What can be cut into slices.

    Attributes:
        bytecode: of the module, on buffers, as it is before it is cut.
        name, symbol, libraries: of the kernel.
        opt_level: LLVM's; None chooses.
        nanoseconds: that one core takes for it all.
        packs: whether each slice packs an operand, which others do too.
    """

    bytecode: bytes
    name: str
    symbol: str
    opt_level: int | None
    libraries: tuple[str | Path, ...]
    nanoseconds: float
    packs: bool


class Cut(NamedTuple):
    """The code of slices, as it was made.

    Attributes:
        code: has a function of the kernel's name.
        slices: how many there are.
        assertions: what its statuses mean.
        decisions: what was chosen for the ops of a slice.
    """

    code: Code
    slices: int
    assertions: tuple[str, ...]
    decisions: tuple[Decision, ...] = ()


class Shared:
    """Code that does one slice of the work; the frame's status says which.

    Attributes:
        slices: how many there are.
        failures: what its statuses mean.
        decisions: what was chosen for the ops of a slice.
    """

    def __init__(self, work: Work, cut: Cut) -> None:
        """Made by `SharedWork`."""
        self.decisions = cut.decisions
        self.slices = cut.slices
        self.failures = Failures(work.name, cut.assertions)
        self._code = cut.code  # which the function must not outlive
        self._function = address_of_function(cut.code.function(work.symbol))
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
    """What several threads can share of a kernel's work."""

    def __init__(self, work: Work, key: str | None = None) -> None:
        """
        Args:
            work: of the kernel.
            key: that the kernel is kept under, if it is.
        """
        self.work = work
        self._key = key
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
                        self._cut[slices] = self._context.run(self._try_to_make, slices)
                    self._made[threads] = self._cut[slices]
            return self._made[threads]

    def _slices(self, threads: int) -> int:
        """How many slices to cut for so many threads: of a result nothing hangs on but this."""
        most = max(2, int(self.work.nanoseconds / max(LEAST_SLICE, 1.0)))
        busy = min(threads, most)
        return busy if self.work.packs else busy * max(1, min(SLICES_EACH, most // busy))

    def _try_to_make(self, slices: int) -> Shared | None:
        try:
            cut = self._cut_into(slices)
            return None if cut is None else Shared(self.work, cut)
        except LinalgExtError as error:
            # A fault of this library's: the code for one thread is there, and right.
            warnings.warn(
                f"`{self.work.name}` runs on one thread, for its slices cannot be compiled: "
                f"{error}",
                RuntimeWarning,
                stacklevel=2,
            )
            return None

    def _cut_into(self, slices: int) -> Cut | None:
        """The code for so many slices, kept or made; None where the work cannot be cut."""
        key = None if self._key is None else keeping.key_of("slices", self._key, slices)
        entry = keeping.read(key)
        if entry is not None:
            try:
                return _read(entry)
            except (LinalgExtError, OSError, KeyError, TypeError, ValueError):
                pass  # as good as not there
        cut: Cut | None = dispatch.handler("cut into slices")(self.work, slices)
        record: dict[str, Any] = {"slices": 0}
        files = {}
        if cut is not None:
            record = {
                "slices": cut.slices,
                "opt_level": cut.code.opt_level,
                "libraries": [str(library) for library in self.work.libraries],
                "assertions": cut.assertions,
                "decisions": decisions_data(cut.decisions),
            }
            files = {keeping.CODE: cut.code.object_code()} if key is not None else {}
        keeping.write(key, f"{self.work.name}, {slices} slices", record, files)
        return cut


def _read(entry: Entry) -> Cut | None:
    """The slices of an entry; None where it says that there are none."""
    record = entry.record
    if not record["slices"]:
        return None
    return Cut(
        keeping.load(entry),
        record["slices"],
        tuple(record["assertions"]),
        told_of(record["decisions"]),
    )
