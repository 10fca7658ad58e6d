"""The process apart: compiles one module and runs its entry, and may die of it.

Started by `kernel.py` as `python -m linalg_ext.compiler.isolated.worker FD`, where FD is a socket.
It answers one request at a time until the socket closes.
"""

from __future__ import annotations

import importlib
import signal
import socket
import sys
from typing import Any

from linalg_ext.calling.kernel import Kernel
from linalg_ext.compiler.compilation import compile
from linalg_ext.compiler.isolated import error_data, limits
from linalg_ext.compiler.isolated.shared_arrays import SharedBlock, received, share
from linalg_ext.errors import LinalgExtError
from linalg_ext.module import Module
from linalg_ext.runtime import frames
from linalg_ext.runtime.dtypes import dtype_named
from linalg_ext.target import from_data, using

Request = dict[str, Any]


class _Worker:
    """Serves one kernel."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._kernel: Kernel | None = None

    def serve(self) -> None:
        """Answer requests until the parent is gone."""
        while True:
            try:
                request, payload = frames.receive(self._channel)
            except EOFError:
                return
            # Should the parent be killed meanwhile, nobody else would stop what hangs.
            signal.setitimer(signal.ITIMER_REAL, request["seconds"] + 1)
            handler = {"compile": self._compile, "call": self._call, "asm": self._asm}
            try:
                answer = handler[request["do"]](request, payload)
            except (LinalgExtError, MemoryError) as error:
                answer = {"error": error_data.to_data(error)}
            block = answer.pop("block", None)
            signal.setitimer(signal.ITIMER_REAL, 0)
            sys.stdout.flush()
            sys.stderr.flush()
            frames.send(self._channel, answer)
            if block is not None:
                socket.send_fds(self._channel, [b"."], [block.descriptor])
                block.close()

    def _compile(self, request: Request, payload: bytes) -> dict[str, Any]:
        for module in request["imports"]:
            importlib.import_module(module)
        limits.apply(limits.Limits(**request["limits"]))
        options = request["options"]
        wanted = options.pop("result_dtypes")
        if wanted is not None:
            wanted = [None if name is None else dtype_named(name) for name in wanted]
        target = request["target"]
        # Without a guard process: this one may die.
        module = Module.parse(payload, trusted=True)
        with using("host" if target is None else from_data(target)):
            kernel = self._kernel = compile(module, result_dtypes=wanted, **options)
        parameters = kernel.signature.parameters
        return {
            "signature": str(kernel.signature),
            "name": kernel.signature.name,
            "written": [number for number, one in enumerate(parameters) if one.is_written],
            "stages": dict(kernel.stages),
            "times": dict(kernel.times),
            "text": repr(kernel),
        }

    def _call(self, request: Request, payload: bytes) -> dict[str, Any]:
        if self._kernel is None:
            raise AssertionError("nothing is compiled yet")
        _, descriptors, _, _ = socket.recv_fds(self._channel, 1, 1)
        block = SharedBlock(descriptors[0])
        block.close()
        arguments = received(block, request["arguments"])
        results = self._kernel(*arguments, threads=request["threads"])
        given = results if isinstance(results, tuple) else (results,)
        given = () if results is None else given
        made, plain = share(given)
        return {"block": made, "results": plain}

    def _asm(self, request: Request, payload: bytes) -> dict[str, Any]:
        if self._kernel is None:
            raise AssertionError("nothing is compiled yet")
        return {"asm": self._kernel.asm(whole=request["whole"])}


def main(descriptor: int) -> None:
    """Serve the parent at the other end of a socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    _Worker(socket.socket(fileno=descriptor)).serve()


if __name__ == "__main__":
    main(int(sys.argv[1]))
