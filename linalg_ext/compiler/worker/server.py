"""The process that worker processes are forked from: it loads what they need, and waits.

Started by `linalg_ext.runtime.processes` as `python -m linalg_ext.compiler.worker.server FD`, where
FD is a socket. It forks when it is asked to, and tells how the forked ended.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from linalg_ext.cache.keys import makers
from linalg_ext.compiler.compilation import compile
from linalg_ext.compiler.worker import worker
from linalg_ext.errors import LinalgExtError
from linalg_ext.runtime import ipc, serving

_KEPT = 1024
"""The number of exit codes to remember that no request has asked for."""

_EXAMPLE = """
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %a, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


class _Server:
    """Forks, and keeps account of what it forked."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._count = 0
        self._compilations = 0
        self._living: dict[int, int] = {}
        """The number of each process that lives, by its number of the system."""
        self._codes: dict[int, int] = {}

    def serve(self) -> None:
        """Answer requests until the parent is gone."""
        # A collection in a forked process would write to every object there is, and so copy it.
        gc.freeze()
        handlers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "fork": self._fork,
            "poll": self._poll,
            "kill": self._kill,
        }
        for request, _ in serving.requests(self._channel):
            self._bury()
            ipc.send(self._channel, handlers[request["do"]](request))

    def _fork(self, request: dict[str, Any]) -> dict[str, Any]:
        _, (channel, noise), _, _ = socket.recv_fds(self._channel, 1, 2)
        if request["compiles"]:
            self._load_compiler()
        try:
            process = _fork()
        except OSError as error:
            return {"error": str(error)}
        else:
            if process == 0:
                self._become_worker(channel, noise)
        finally:
            os.close(channel)
            os.close(noise)
        self._count += 1
        self._living[process] = self._count
        return {"number": self._count}

    def _load_compiler(self) -> None:
        """Have what is forked now find loaded what a compilation needs."""
        if self._compilations < 2:
            import linalg_ext.compiler.module_compilation  # noqa: F401
            from linalg_ext.module import Module
            from linalg_ext.rewriting.registry import all_passes

            all_passes()
            if self._compilations == 1:
                # More are wanted: let them find all ready that a first compilation makes.
                with contextlib.suppress(LinalgExtError):  # which they will tell
                    compile(Module.parse(_EXAMPLE, trusted=True))
            gc.freeze()
        self._compilations += 1

    def _become_worker(self, channel: int, noise: int) -> NoReturn:
        """In the forked process, which ends here."""
        try:
            self._channel.close()
            for stream in (1, 2):
                os.dup2(noise, stream)
            os.close(noise)
            worker.main(channel)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        # Nothing of the server's is to be tidied up.
        os._exit(0)

    def _poll(self, request: dict[str, Any]) -> dict[str, Any]:
        return {"code": self._codes.pop(request["number"], None)}

    def _kill(self, request: dict[str, Any]) -> dict[str, Any]:
        for process, number in self._living.items():
            if number == request["number"]:
                os.kill(process, signal.SIGKILL)
        return self._poll(request)

    def _bury(self) -> None:
        """Take note of those that have ended."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                number = self._living.pop(ended[0])
                self._codes[number] = os.waitstatus_to_exitcode(ended[1])
                if len(self._codes) > _KEPT:
                    del self._codes[next(iter(self._codes))]


def _fork() -> int:
    with warnings.catch_warnings():
        # It warns of the threads that NumPy starts for linear algebra: this process uses none.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def main(descriptor: int) -> None:
    """Serve the parent at the other end of a socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Kept code that others trust must not come from a process that runs users' code.
    os.environ["LINALG_EXT_CACHE_DIR"] = "off"
    makers()  # a part of all keys, which takes long
    _Server(socket.socket(fileno=descriptor)).serve()


if __name__ == "__main__":
    main(int(sys.argv[1]))
