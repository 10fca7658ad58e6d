"""Worker processes, and the process that they are forked from: it loads the modules they need, and
waits.

`linalg_ext.runtime.processes` starts it as `python -m linalg_ext.compiler.worker_program FD`, where
FD is a socket. It forks when it is asked to, and tells how the forked ended. A forked process
compiles one module and runs its entry, and may die of it; it answers one request at a time until
its socket closes. `linalg_ext.executable.worker_process` is the other end.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import socket
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, NoReturn

from linalg_ext import cache
from linalg_ext.cache.keys import makers
from linalg_ext.compiler.compilation import compile
from linalg_ext.errors import CrashError, LinalgExtError
from linalg_ext.executable import disk_cache
from linalg_ext.executable.kernel import Kernel, times_of_calls
from linalg_ext.executable.kernel_data import explanation_data, signature_data
from linalg_ext.executable.worker_process.exchange import (
    Limits,
    SharedBlock,
    apply_limits,
    entries_data,
    entries_of,
    error_data,
    received,
    share,
)
from linalg_ext.runtime import helper_process
from linalg_ext.runtime.dtypes import dtype_named
from linalg_ext.target import from_data, using

_KEPT = 1024
"""The number of exit codes to remember that no request has asked for."""

_EXAMPLE = """
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %a, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


class _Server:
    """Forks, and keeps a record of its children."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._count = 0
        self._compilations = 0
        self._living: dict[int, int] = {}
        """The number of each process that lives, by its number of the system."""
        self._codes: dict[int, int] = {}

    def serve(self) -> None:
        # A collection in a forked process would write to every object there is, and so copy it.
        gc.freeze()
        handlers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "fork": self._fork,
            "poll": self._poll,
            "kill": self._kill,
        }
        for request, _ in helper_process.requests(self._channel):
            self._bury()
            helper_process.send(self._channel, handlers[request["do"]](request))

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
            serve_kernel(channel)
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


Request = dict[str, Any]
Answer = dict[str, Any]


_LATER = 5
"""Seconds after which this process ends itself, where its parent should have ended it."""

_NO_MEMORY = CrashError(
    "the worker process ran out of memory within its limits",
    hint="allow more with Limits(memory=...)",
)


class _Worker:
    """Serves one kernel."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._compiled: Kernel | None = None
        # Kept code that others trust must not come from a process that runs users' code.
        self._memory = cache.keep_in_memory()

    def serve(self) -> None:
        handlers: dict[str, Callable[[Request], Answer]] = {
            "call": self._call,
            "measure": self._measure,
            "asm": lambda request: {"asm": self._kernel.asm(whole=request["whole"])},
            "stages": lambda request: {"stages": dict(self._kernel.stages)},
            "text": lambda request: {"text": repr(self._kernel)},
            "explain": self._explain,
        }
        for request, payload in helper_process.requests(self._channel):
            with helper_process.within(request["seconds"] + _LATER):
                try:
                    if request["do"] in ("compile", "load"):
                        self._prepare(request)
                        make = self._compile if request["do"] == "compile" else self._load
                        answer = make(request, payload)
                    else:
                        answer = handlers[request["do"]](request)
                except MemoryError:
                    answer = {"error": error_data(_NO_MEMORY)}
                except Exception as error:
                    answer = {"error": error_data(error)}
            block = answer.pop("block", None)
            answer["kept"], entries = entries_data(self._memory.fresh)
            self._memory.fresh.clear()
            helper_process.answer(self._channel, answer, entries)
            if block is not None:
                socket.send_fds(self._channel, [b"."], [block.descriptor])
                block.close()

    @property
    def _kernel(self) -> Kernel:
        if self._compiled is None:
            raise AssertionError("the module is not compiled yet")
        return self._compiled

    def _prepare(self, request: Request) -> None:
        # As they are in the caller's process now, which may have started this one long ago.
        os.chdir(request["folder"])
        sys.path[:] = request["path"]
        for module in request["imports"]:
            importlib.import_module(module)
        apply_limits(Limits(**request["limits"]))

    def _load(self, request: Request, payload: bytes) -> Answer:
        entries = entries_of(request["kept"], payload)
        for entry, _ in entries:
            self._memory.hold(entry)
        with using(_target(request)):
            kernel = disk_cache.find(entries[0][0].key)
        return {} if kernel is None else self._about(kernel)

    def _compile(self, request: Request, payload: bytes) -> Answer:
        from linalg_ext.module import Module

        options = request["options"]
        dtypes = options.pop("result_dtypes")
        if dtypes is not None:
            dtypes = [None if name is None else dtype_named(name) for name in dtypes]
        # Without a guard process: this one may die.
        text = payload.decode(errors="surrogatepass") if request["is_text"] else payload
        module = Module.parse(text, trusted=True, filename=request["filename"])
        with using(_target(request)):
            kernel = compile(module, result_dtypes=dtypes, **options)
        # The kernel itself comes first.
        self._memory.fresh.sort(key=lambda entry: "recipe" not in entry[0].record)
        return self._about(kernel)

    def _about(self, kernel: Kernel) -> Answer:
        self._compiled = kernel
        return {
            "signature": signature_data(kernel.signature),
            "times": asdict(kernel.compile_times),
        }

    def _measure(self, request: Request) -> Answer:
        arguments, threads = self._arguments(request), request["threads"]
        times = times_of_calls(lambda: self._kernel(*arguments, threads=threads), request["for"])
        return {"taken": times}

    def _arguments(self, request: Request) -> list[Any]:
        _, descriptors, _, _ = socket.recv_fds(self._channel, 1, 1)
        block = SharedBlock(descriptors[0])
        block.close()
        return received(block, request["arguments"])

    def _call(self, request: Request) -> Answer:
        arguments = self._arguments(request)
        results = self._kernel(*arguments, threads=request["threads"])
        several = results if isinstance(results, tuple) else (results,)
        block, plain = share(() if results is None else several)
        return {"block": block, "results": plain}

    def _explain(self, request: Request) -> Answer:
        return {"explanation": explanation_data(self._kernel.explain(request["threads"]))}


def _target(request: Request) -> Any:
    target = request["target"]
    return "host" if target is None else from_data(target)


def serve_kernel(descriptor: int) -> None:
    """Serve the parent at the other end of a socket, in a forked process."""
    helper_process.begin()
    _Worker(socket.socket(fileno=descriptor)).serve()


if __name__ == "__main__":
    main(int(sys.argv[1]))
