"""Worker processes, forked from a server that has loaded everything and runs no user's code.

To start Python and load the compiler takes a second, to fork a process that has them some
milliseconds. So the first worker process is as slow as Python, and each further one is quick and as
good as new: a module never runs in a process that ran another. The compiler is loaded when the
first module is compiled; code that is kept needs none.
"""

from __future__ import annotations

import atexit
import socket
import subprocess
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from linalg_ext.errors import CrashError
from linalg_ext.runtime import helper_process
from linalg_ext.runtime.helper_process import LOST, Child, Helper, noise_file

_start = partial(Child.started, "linalg_ext.compiler.worker_program")
_SECONDS = 120
"""To start takes a second, and to fork milliseconds; but the machine may be busy."""


class _Server(Helper):
    """The process that others are forked from, started when first needed."""

    def fork(self, *, compiles: bool) -> Child:
        """Return a new process, which serves as `linalg_ext.compiler.worker_program` says.

        With `compiles` it finds the compiler loaded. A CrashError if it cannot be started.
        """
        ours, theirs = socket.socketpair()
        noise = noise_file()
        try:
            with self.lock:
                server, _ = self.living(_start)
                request = {"do": "fork", "compiles": compiles}
                answer = self._ask(server, request, [theirs.fileno(), noise.fileno()])
        except BaseException:
            ours.close()
            noise.close()
            raise
        finally:
            theirs.close()
        return Child(_Forked(self, server, answer["number"]), ours, noise)

    def prepare(self) -> None:
        """Start the process that `fork` needs now, in the meantime of other work."""
        with self.lock:
            self.living(_start)

    def ask(self, server: Child, request: dict[str, Any]) -> Any:
        """Have `server` do something about one of its processes; LOST where it is gone itself."""
        with self.lock:
            if server is not self.child or not server.is_there():
                return LOST
            return self._ask(server, request)["code"]

    def _ask(
        self, server: Child, request: dict[str, Any], descriptors: Sequence[int] = ()
    ) -> dict[str, Any]:
        late = CrashError("a worker process cannot be started: the machine is too busy")
        starter = "the starter of worker processes"
        with self.asking(server, _SECONDS, starter, "and started none", late):
            helper_process.send(server.channel, request)
            if descriptors:
                socket.send_fds(server.channel, [b"."], list(descriptors))
            answer, _ = helper_process.receive(server.channel)
        if "error" in answer:
            raise CrashError("a worker process cannot be started", where=answer["error"])
        return answer


class _Forked:
    """A process that the server forked, of which only the server can tell how it ended."""

    def __init__(self, server: _Server, child: Child, number: int) -> None:
        self.returncode: int | None = None
        self._server = server
        self._child = child
        self._number = number

    def poll(self) -> int | None:
        return self._ask("poll")

    def wait(self, timeout: float | None = None) -> int:
        end = None if timeout is None else time.monotonic() + timeout
        pause = 0.0005
        while (code := self.poll()) is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired(f"process {self._number}", timeout or 0)
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        return code

    def kill(self) -> None:
        self._ask("kill")

    def _ask(self, do: str) -> int | None:
        if self.returncode is None:
            try:
                request = {"do": do, "number": self._number}
                self.returncode = self._server.ask(self._child, request)
            except CrashError:
                self.returncode = LOST
        return self.returncode


_server = _Server()
fork, prepare, stop = _server.fork, _server.prepare, _server.stop
atexit.register(stop)
