"""A kernel's code for several threads: made when it is first called with so many."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from contextvars import copy_context

from linalg_ext.calling.code import Code
from linalg_ext.calling.explanation import Decision
from linalg_ext.calling.failures import Failures
from linalg_ext.errors import LinalgExtError
from linalg_ext.runtime.call_frame import FrameLayout, SlicedFrame
from linalg_ext.runtime.machine_code import address_of_function

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
        code: Code,
        symbol: str,
        slices: int,
        failures: Failures,
        decisions: Sequence[Decision] = (),
    ) -> None:
        """Made by `SharedWork`."""
        self.decisions = tuple(decisions)
        self.slices = slices
        self.failures = failures
        self._code = code  # which the function must not outlive
        self._function = address_of_function(code.function(symbol))
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

    def __init__(
        self,
        name: str,
        make: Callable[[int], Shared | None],
        *,
        nanoseconds: float,
        packs: bool,
    ) -> None:
        """
        Args:
            name: of the kernel.
            make: makes the code for so many slices; None where the work cannot be cut. It is called
                under what is in force now.
            nanoseconds: that one core takes for it all.
            packs: whether each slice packs an operand, which others do too.
        """
        self._name = name
        self._make = make
        self._nanoseconds = nanoseconds
        self._packs = packs
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
        most = max(2, int(self._nanoseconds / max(LEAST_SLICE, 1.0)))
        busy = min(threads, most)
        return busy if self._packs else busy * max(1, min(SLICES_EACH, most // busy))

    def _try_to_make(self, slices: int) -> Shared | None:
        try:
            return self._make(slices)
        except LinalgExtError as error:
            # A fault of this library's: the code for one thread is there, and right.
            warnings.warn(
                f"`{self._name}` runs on one thread, for its slices cannot be compiled: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
            return None
