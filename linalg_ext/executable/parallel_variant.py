"""A kernel's code for several threads, made at the first call with that number of threads."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import copy_context
from pathlib import Path
from typing import Any, NamedTuple

from linalg_ext.cache.store import Entry
from linalg_ext.errors import LinalgExtError, warn
from linalg_ext.executable.explanation import Decision, decisions_data, decisions_of
from linalg_ext.executable.signature import Failures
from linalg_ext.runtime import kernel_cache
from linalg_ext.runtime.interrupts import interrupts
from linalg_ext.runtime.machine_code import Code
from linalg_ext.runtime.threads import context
from linalg_ext.runtime.workspace import intermediates
from linalg_ext.utils import hooks
from linalg_ext.utils.locks import Lock

LEAST_BYTES = 1 << 16
"""The least bytes of all arrays of a call that threads share, where their sizes are open.

Smaller work is done before other threads have begun.
"""


class Work(NamedTuple):
    """The work of a kernel that threads can share.

    Attributes:
        bytecode: of the module, on buffers, as it is before loops of it are cut.
        name, symbol, libraries: of the kernel.
        opt_level: LLVM's; None chooses.
        is_open: True where the amount of work depends on the sizes of a call's arrays.
    """

    bytecode: bytes
    name: str
    symbol: str
    opt_level: int | None
    libraries: tuple[str | Path, ...]
    is_open: bool


class Cut(NamedTuple):
    """The code for several threads, with a function of the kernel's name.

    It has a number of `slices` for each shared loop, in order; the largest one if sizes are open.
    """

    code: Code
    slices: tuple[int, ...]
    assertions: tuple[str, ...]
    decisions: tuple[Decision, ...] = ()


class Shared:
    """Code whose loops threads share.

    `function` takes the arguments of the kernel's own function, and in place of the status the
    result of `threads.context`.
    """

    def __init__(self, work: Work, cut: Cut) -> None:
        """Made by `SharedWork`."""
        self.decisions = cut.decisions
        self.slices = cut.slices
        self.failures = Failures(work.name, cut.assertions)
        self._code = cut.code  # which the function must not outlive
        self.function = cut.code.function(work.symbol)
        intermediates.lend_to(cut.code)
        interrupts.lend_to(cut.code)

    @property
    def slices_text(self) -> str:
        """The numbers of slices of the loops, as text."""
        return f"{' + '.join(map(str, self.slices))} slices"

    def context(self, threads: int) -> int:
        """Return the context of a call; threads that no loop has work for are not woken."""
        return context(threads, max(self.slices))


class SharedWork:
    """The shared work of a kernel, with its code for each number of threads."""

    def __init__(self, work: Work, key: str | None = None) -> None:
        """Share the work of a kernel; `key` is that of the kernel in the cache, if it is kept."""
        self.work = work
        self._key = key
        self._variants: dict[int, Shared | None] = {}
        self._lock = Lock()
        # Options in force at the compilation of the kernel are in force for this code, too.
        self._context = copy_context()

    def for_call(self, threads: int, arrays: Iterable[Any]) -> Shared | None:
        """Return the code for a call on arrays by `threads` threads; None if one does it all."""
        if threads < 2 or (
            self.work.is_open and sum(array.nbytes for array in arrays) < LEAST_BYTES
        ):
            return None
        return self.for_threads(threads)

    def for_threads(self, threads: int) -> Shared | None:
        """Return the code for `threads` threads, compiled if need be; None if it shares no loop."""
        if threads < 2:
            return None
        try:
            return self._variants[threads]
        except KeyError:
            with self._lock:
                if threads not in self._variants:
                    self._variants[threads] = self._context.run(self._compiled, threads)
            return self._variants[threads]

    def _compiled(self, threads: int) -> Shared | None:
        try:
            cut = self._cut_for(threads)
            return None if cut is None else Shared(self.work, cut)
        except LinalgExtError as error:
            # The fault is this library's, and the code for one thread serves all calls.
            warn(
                f"`{self.work.name}` runs on one thread, for the code for several cannot be "
                f"compiled: {error}",
                RuntimeWarning,
            )
            return None

    def _cut_for(self, threads: int) -> Cut | None:
        """Return the code for a number of threads, kept or new; None if no loop can be shared."""
        key = None if self._key is None else kernel_cache.key_of("threads", self._key, threads)
        entry = kernel_cache.read(key)
        if entry is not None:
            try:
                return _read(entry)
            except (LinalgExtError, OSError, KeyError, TypeError, ValueError):
                pass  # a damaged entry counts as absent
        cut: Cut | None = hooks.facade("compiler").cut(self.work, threads)
        record: dict[str, Any] = {"slices": ()}
        files = {}
        if cut is not None:
            record = {
                "slices": cut.slices,
                "opt_level": cut.code.opt_level,
                "libraries": [str(library) for library in self.work.libraries],
                "assertions": cut.assertions,
                "decisions": decisions_data(cut.decisions),
            }
            files = {kernel_cache.CODE: cut.code.object_code()} if key is not None else {}
        kernel_cache.write(key, f"{self.work.name}, {threads} threads", record, files)
        return cut


def _read(entry: Entry) -> Cut | None:
    """Return the code of an entry; None for an entry without shared loops."""
    record = entry.record
    if not record["slices"]:
        return None
    return Cut(
        kernel_cache.load(entry),
        tuple(record["slices"]),
        tuple(record["assertions"]),
        decisions_of(record["decisions"]),
    )
