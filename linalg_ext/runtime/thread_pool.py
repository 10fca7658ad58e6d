"""The threads that share calls, in native code: from a call until all its slices are done.

The code is in `thread_pool.mlir`, compiled by `thread_pool_code` when it is first needed. Nothing
of it holds the GIL: a helper that takes up a slice waits for no other thread of Python's.
"""

from __future__ import annotations

import ctypes
import functools
import threading
import time
from collections.abc import Sequence

from linalg_ext.runtime.kernel_cache import own_code
from linalg_ext.runtime.machine_code import Code, PackedFunction

AWAKE = 50e-6
"""Seconds that a thread waits awake, before it sleeps: about what sleeping and waking take."""

_ROUND = 64
_CONTEXT_WORDS = 7
_SHARE, _HELPERS = 0, 2
"""Words of a context."""

_ROUNDS, _MUTEX, _AWAITS_JOB, _AWAITS_END, _CREW_BYTES = 32, 64, 128, 192, 256


class Block:
    """Words of memory for as long as this object lives, at a multiple of a cache line.

    Attributes:
        words: the memory.
        address: of its first byte.
    """

    def __init__(self, words: int) -> None:
        """Take memory, all zeros."""
        self._memory = ctypes.create_string_buffer(8 * words + _ROUND)
        start = ctypes.addressof(self._memory)
        self.address = -(-start // _ROUND) * _ROUND
        self.words = (ctypes.c_int64 * words).from_buffer(self._memory, self.address - start)


class NativeCall:
    """A call of a native function: its arguments, 64 bits each, and its result.

    Attributes:
        arguments: to be changed at will.
    """

    def __init__(self, function: PackedFunction, arguments: Sequence[int]) -> None:
        """Prepare a call of a packed function."""
        count = len(arguments)
        self._function = function
        self._block = Block(2 * (count + 1))
        self.arguments = words = self._block.words
        words[:count] = list(arguments)
        for at in range(count + 1):
            words[count + 1 + at] = self._block.address + 8 * at
        self._table = self._block.address + 8 * (count + 1)
        self._count = count

    def __call__(self) -> int:
        """Call; the GIL is free meanwhile."""
        self._function(self._table)
        return self.arguments[self._count]


class _Code:
    """The compiled functions of `thread_pool.mlir`.

    Attributes:
        share: the address of the function that shares a loop among a crew.
        share_in_team: that of the one which shares it among a team of OpenMP's.
        help: a packed function.
        rounds: of a loop that waits for as long as is sensible.
    """

    def __init__(self) -> None:
        engine = own_code("crew", _compiled)
        # Threads are in it for ever, at the interpreter's end too.
        _keep_for_ever(engine)
        found = Block(2)
        NativeCall(engine.function("addresses"), [found.address])()
        self.share, self.share_in_team = found.words
        self.help = engine.function("help")
        rounds, word = 2000, Block(1)
        wait = NativeCall(engine.function("wait"), [word.address, rounds])
        start = time.perf_counter()
        wait()
        self.rounds = max(1, int(AWAKE / max(time.perf_counter() - start, 1e-7) * rounds))


def _compiled() -> Code:
    # Only now: what compiles it loads MLIR.
    from linalg_ext.runtime.thread_pool_code import compiled

    return compiled()


_code = functools.cache(_Code)


def _keep_for_ever(thing: object) -> None:
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


class Crew:
    """Threads that take part in calls: started when first needed, asleep where nothing is to do."""

    def __init__(self, processors: int) -> None:
        """A crew without threads yet.

        Args:
            processors: the number that the process may run on. With more threads than that, none
                waits awake: another might need the processor.
        """
        self._processors = processors
        self._starting = threading.Lock()
        self._count = 0
        self._contexts: dict[tuple[int, int], Block] = {}
        self._memory = Block(_CREW_BYTES // 8)
        _keep_for_ever(self._memory)
        system = ctypes.CDLL(None)
        for place, initialize in (
            (_MUTEX, system.pthread_mutex_init),
            (_AWAITS_JOB, system.pthread_cond_init),
            (_AWAITS_END, system.pthread_cond_init),
        ):
            initialize(ctypes.c_void_p(self._memory.address + place), None)

    def context(self, threads: int, team: int = 0) -> int:
        """The address of the context by which compiled code has loops shared by `threads` threads.

        The caller's is among them: with one, or where no thread can be started, it does it all.

        Args:
            threads: the number of threads.
            team: the address of OpenMP's function that has a team call another, to have a team
                share the loops as long as it comes in time; 0 for threads of this crew alone.
        """
        key = threads, team
        try:
            return self._contexts[key].address
        except KeyError:
            pass
        with self._starting:
            if key not in self._contexts:
                block = Block(_CONTEXT_WORDS)
                block.words[:] = [*self._words(threads, team)]
                _keep_for_ever(block)
                self._contexts[key] = block
            return self._contexts[key].address

    def leave(self) -> None:
        """In a forked process: have each caller with a context of this crew work alone."""
        for block in self._contexts.values():
            block.words[_SHARE], block.words[_HELPERS] = _code().share, 0

    def _words(self, threads: int, team: int) -> list[int]:
        """Start the threads of a context, and return its words (see `thread_pool.mlir`)."""
        self._start(threads - 1)
        helpers = min(threads - 1, self._count)
        share = _code().share_in_team if team else _code().share
        return [share, self._memory.address, helpers, team, threads, 0, 0]

    def _start(self, count: int) -> None:
        if self._count >= count:
            return
        rounds = _code().rounds if count < self._processors else 0
        self._memory.words[_ROUNDS // 8] = rounds
        while self._count < count:
            thread = threading.Thread(
                target=NativeCall(_code().help, [self._memory.address, rounds]),
                name=f"linalg_ext-{self._count + 1}",
                daemon=True,
            )
            try:
                thread.start()
            except RuntimeError:  # none to be had, or the interpreter is at its end
                return
            self._count += 1
