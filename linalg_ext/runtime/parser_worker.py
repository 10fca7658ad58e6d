"""The guard process: parses texts and runs upstream's passes, and may die of it.

Started by `parser_process.py` as `python -m linalg_ext.runtime.parser_worker FD`, where FD is a
socket. It answers one request at a time, each in a context of its own, until the socket closes.
"""

from __future__ import annotations

import importlib
import resource
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

from linalg_ext.bindings import ir, passmanager
from linalg_ext.ir.bytecode import to_bytecode
from linalg_ext.ir.context import new_context
from linalg_ext.ir.diagnostics import Diagnostic, collected, joined, of_error
from linalg_ext.runtime import serving
from linalg_ext.runtime.passes import IRPrinting, pass_manager

Answer = tuple[dict[str, Any], bytes]

_STACK = 2 << 20
"""Less than any thread of the parent has: what nests too deeply for the parent dies here."""


def parse(request: dict[str, Any], payload: bytes) -> Answer:
    """Parse and verify a text or bytecode."""
    context = new_context(allow_unregistered=request["unregistered"])
    with collected(context) as emitted:
        try:
            module = ir.Module.parse(payload, context)
            # What the parent will do to it sooner or later: better to find out here.
            module.operation.clone()
            str(module)
        except ir.MLIRError as error:
            return _failed(joined(of_error(error), emitted)), b""
        except RuntimeError:  # a message that quotes bytes which are no text
            return _failed(tuple(emitted)), b""
    return {"ok": True}, b""


def check(request: dict[str, Any], payload: bytes) -> Answer:
    """Build each pass of a pipeline by itself; the first that cannot be built is the answer."""
    context = new_context()
    for index, (anchor, text) in enumerate(request["steps"]):
        try:
            passmanager.PassManager(anchor, context).add(text)
        except ValueError as error:
            return {"ok": False, "index": index, "message": str(error)}, b""
    return {"ok": True}, b""


def run(request: dict[str, Any], payload: bytes) -> Answer:
    """Run a pipeline of upstream's on a module in bytecode; the answer carries the result."""
    context = new_context(allow_unregistered=request["unregistered"])
    with collected(context) as emitted:
        module = ir.Module.parse(payload, context)
        try:
            manager = pass_manager("builtin.module", context, request["pipeline"])
            if request["printing"] is not None:
                IRPrinting(**request["printing"]).enable(manager)
            started = time.process_time()
            manager.run(module.operation)
            seconds = time.process_time() - started
        except ir.MLIRError as error:
            return _failed(joined(of_error(error), emitted)), b""
        result = to_bytecode(module.operation)
    found = [diagnostic.to_data() for diagnostic in emitted]
    return {"ok": True, "diagnostics": found, "seconds": seconds}, result


_HANDLERS: dict[str, Callable[[dict[str, Any], bytes], Answer]] = {
    "parse": parse,
    "check": check,
    "run": run,
}


def main(descriptor: int) -> None:
    """Answer requests until the parent is gone."""
    serving.begin()
    serving.lower_limit(resource.RLIMIT_STACK, _STACK)
    serving.lower_limit(resource.RLIMIT_CORE, 0)
    channel = socket.socket(fileno=descriptor)
    for request, payload in serving.requests(channel):
        for module in request["imports"]:
            importlib.import_module(module)
        with serving.within(request["seconds"] + 1):
            header, result = _HANDLERS[request["do"]](request, payload)
        serving.answer(channel, header, result)


def _failed(found: tuple[Diagnostic, ...]) -> dict[str, Any]:
    return {"ok": False, "diagnostics": [diagnostic.to_data() for diagnostic in found]}


if __name__ == "__main__":
    main(int(sys.argv[1]))
