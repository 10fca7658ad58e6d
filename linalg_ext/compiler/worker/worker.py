"""The worker process: compiles one module and runs its entry, and may die of it.

Forked by `server`, with a socket. It answers one request at a time until the socket closes.
"""

from __future__ import annotations

import importlib
import os
import socket
import sys
from collections.abc import Callable
from typing import Any

from linalg_ext import cache
from linalg_ext.compiler.compilation import compile
from linalg_ext.errors import CrashError
from linalg_ext.executable import disk_cache
from linalg_ext.executable.kernel import Kernel
from linalg_ext.executable.kernel_data import signature_data
from linalg_ext.executable.timing import times_of_calls
from linalg_ext.runtime import serving
from linalg_ext.runtime.dtypes import dtype_named
from linalg_ext.target import from_data, using
from linalg_ext.worker_process import error_data, limits
from linalg_ext.worker_process.shared_arrays import SharedBlock, received, share
from linalg_ext.worker_process.worker_cache import entries_data, entries_of

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
        """Answer requests until the parent is gone."""
        handlers: dict[str, Callable[[Request], Answer]] = {
            "call": self._call,
            "measure": self._measure,
            "asm": lambda request: {"asm": self._kernel.asm(whole=request["whole"])},
            "stages": lambda request: {"stages": dict(self._kernel.stages)},
            "text": lambda request: {"text": repr(self._kernel)},
            "explain": self._explain,
        }
        for request, payload in serving.requests(self._channel):
            with serving.within(request["seconds"] + _LATER):
                try:
                    if request["do"] in ("compile", "load"):
                        self._prepare(request)
                        make = self._compile if request["do"] == "compile" else self._load
                        answer = make(request, payload)
                    else:
                        answer = handlers[request["do"]](request)
                except MemoryError:
                    answer = {"error": error_data.to_data(_NO_MEMORY)}
                except Exception as error:
                    answer = {"error": error_data.to_data(error)}
            block = answer.pop("block", None)
            answer["kept"], kept = entries_data(self._memory.fresh)
            self._memory.fresh.clear()
            serving.answer(self._channel, answer, kept)
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
        limits.apply(limits.Limits(**request["limits"]))

    def _load(self, request: Request, payload: bytes) -> Answer:
        """Return the entries kept of a kernel that `_compile` made in another process."""
        entries = entries_of(request["kept"], payload)
        for entry, _ in entries:
            self._memory.hold(entry)
        with using(_target(request)):
            kernel = disk_cache.find(entries[0][0].key)
        return {} if kernel is None else self._about(kernel)

    def _compile(self, request: Request, payload: bytes) -> Answer:
        from linalg_ext.module import Module

        options = request["options"]
        wanted = options.pop("result_dtypes")
        if wanted is not None:
            wanted = [None if name is None else dtype_named(name) for name in wanted]
        # Without a guard process: this one may die.
        text = payload.decode(errors="surrogatepass") if request["is_text"] else payload
        module = Module.parse(text, trusted=True, filename=request["filename"])
        with using(_target(request)):
            kernel = compile(module, result_dtypes=wanted, **options)
        # The kernel itself comes first.
        self._memory.fresh.sort(key=lambda one: "recipe" not in one[0].record)
        return self._about(kernel)

    def _about(self, kernel: Kernel) -> Answer:
        self._compiled = kernel
        return {"signature": signature_data(kernel.signature), "times": dict(kernel.times)}

    def _measure(self, request: Request) -> Answer:
        kernel, arguments = self._kernel, self._arguments(request)
        threads = request["threads"]
        return {
            "taken": times_of_calls(lambda: kernel(*arguments, threads=threads), request["for"])
        }

    def _arguments(self, request: Request) -> list[Any]:
        _, descriptors, _, _ = socket.recv_fds(self._channel, 1, 1)
        block = SharedBlock(descriptors[0])
        block.close()
        return received(block, request["arguments"])

    def _call(self, request: Request) -> Answer:
        arguments = self._arguments(request)
        results = self._kernel(*arguments, threads=request["threads"])
        given = results if isinstance(results, tuple) else (results,)
        given = () if results is None else given
        made, plain = share(given)
        return {"block": made, "results": plain}

    def _explain(self, request: Request) -> Answer:
        told = self._kernel.explain(request["threads"])
        return {
            "decisions": [(each.title, list(each.rows())) for each in told.decisions],
            "left": told.left,
            "threads": told.threads,
        }


def _target(request: Request) -> Any:
    target = request["target"]
    return "host" if target is None else from_data(target)


def main(descriptor: int) -> None:
    """Serve the parent at the other end of a socket."""
    serving.begin()
    _Worker(socket.socket(fileno=descriptor)).serve()
