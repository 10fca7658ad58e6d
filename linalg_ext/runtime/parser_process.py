"""A helper process for work that can kill a process: new texts, and upstream's passes.

Some texts crash MLIR's parser and some options crash its passes. Both run in a small child process
first, one for each process, started when it is first needed and again when it has died. Its death
is a `CrashError` here that names the signal and the request.

A text that was found harmless is remembered by its hash and not sent again.

The child is `python -m linalg_ext.runtime.parser_process FD`, where FD is a socket. It answers one
request at a time, until the socket closes.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib
import re
import resource
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from linalg_ext.bindings import ir, passmanager, provider
from linalg_ext.errors import CrashError
from linalg_ext.ir.bytecode import to_bytecode
from linalg_ext.ir.context import borrowed_context, dialect_modules, new_context
from linalg_ext.ir.diagnostics import Diagnostic, collected, joined, of_error
from linalg_ext.runtime import helper_process
from linalg_ext.runtime.helper_process import Child, Helper, imports
from linalg_ext.runtime.passes import IRPrinting, pass_manager
from linalg_ext.utils.recent import CallCache

PARSE_SECONDS = 60
"""The time limit of the guard for parsing one text."""

RUN_SECONDS = 600
"""The time limit of the guard for one pipeline."""

_START_SECONDS = 60
_start = partial(Child.started, "linalg_ext.runtime.parser_process")


@dataclass(frozen=True)
class Refusal:
    """The guard lives and says no.

    Attributes:
        diagnostics: upstream's.
        message: the text of an exception of upstream's that came without diagnostics.
        index: which of several things was refused.
        output: the text that upstream printed meanwhile.
    """

    diagnostics: tuple[Diagnostic, ...] = ()
    message: str = ""
    index: int = 0
    output: str = ""


@dataclass(frozen=True)
class Result:
    """The result of a pipeline: a module in bytecode, warnings and remarks, output, run time."""

    bytecode: bytes
    diagnostics: tuple[Diagnostic, ...]
    output: str
    seconds: float


def check_text(text: str | bytes, *, allow_unregistered: bool = False) -> Refusal | None:
    """Parse and verify a text in the guard. None: it is sound, and this process may parse it.

    Raises:
        CrashError: MLIR's parser died on it, or did not come to an end.
    """
    payload = text.encode() if isinstance(text, str) else text
    kind = repr((provider(), allow_unregistered, dialect_modules())).encode()
    key = hashlib.sha256(hashlib.sha256(payload).digest() + kind).digest()
    if key in _harmless:
        return None
    answer = _guard.ask(
        {"do": "parse", "unregistered": allow_unregistered},
        payload,
        PARSE_SECONDS,
        "MLIR's parser",
        "on this text",
    )
    if isinstance(answer, Refusal):
        return answer
    _harmless.remember(key, None)
    return None


def check_passes(steps: Sequence[tuple[str, str]]) -> Refusal | None:
    """Build upstream's passes, each given by its anchor and its text, in the guard.

    None: all can be built. Else the refusal's `index` says which cannot.

    Raises:
        CrashError: building one of them killed the guard.
    """
    new = [step for step in steps if step not in _sound_passes]
    if not new:
        return None
    answer = _guard.ask(
        {"do": "check", "steps": new}, b"", PARSE_SECONDS, "MLIR's pass manager", "on the pipeline"
    )
    if isinstance(answer, Refusal):
        return replace(answer, index=list(steps).index(new[answer.index]))
    _sound_passes.update(new)
    return None


def run_passes(
    bytecode: bytes,
    pipeline: str,
    *,
    allow_unregistered: bool,
    printing: Mapping[str, Any] | None = None,
) -> Result | Refusal:
    """Run a pipeline of upstream's passes on a module, in the guard.

    `printing` has the fields of an `IRPrinting`; printed text is in the output.

    Raises:
        CrashError: a pass died, or did not come to an end.
    """
    request = {"do": "run", "unregistered": allow_unregistered, "pipeline": pipeline}
    answer = _guard.ask(
        {**request, "printing": printing},
        bytecode,
        RUN_SECONDS,
        f"the pipeline {pipeline}",
        "on this module",
    )
    if isinstance(answer, Refusal):
        return answer
    header, result, output = answer
    return Result(result, _diagnostics(header), output, header["seconds"])


class _Guard(Helper):
    """The worker of this process, started on demand."""

    def ask(
        self, header: dict[str, Any], payload: bytes, seconds: int, who: str, on_what: str
    ) -> tuple[dict[str, Any], bytes, str] | Refusal:
        """Send a request and return the answer, with the text that was printed, or a refusal.

        Raises:
            CrashError: the worker died, or was late.
        """
        late = CrashError(
            f"{who} did not come to an end {on_what} within {seconds} s",
            hint="the helper process is ended; the calling process is unharmed",
        )
        with self.lock:
            worker, is_fresh = self.living(_start)
            allowed = seconds + (_START_SECONDS if is_fresh else 0)
            with self.asking(worker, allowed, who, on_what, late):
                helper_process.send(
                    worker.channel, {**header, "imports": imports(), "seconds": seconds}, payload
                )
                answer, result = helper_process.receive(worker.channel)
                output = worker.read_noise()
        if answer["ok"]:
            return answer, result, output
        message, index = answer.get("message", ""), answer.get("index", 0)
        return Refusal(_diagnostics(answer), message, index, output)


def _diagnostics(answer: Mapping[str, Any]) -> tuple[Diagnostic, ...]:
    return tuple(map(Diagnostic.from_data, answer.get("diagnostics", ())))


_guard = _Guard()
stop = _guard.stop
"""End the guard process, if there is one; the next request starts another."""

_harmless: CallCache[bytes, None] = CallCache(4096)
"""The hashes of texts that were found harmless; the oldest are forgotten."""

_sound_passes: set[tuple[str, str]] = set()
atexit.register(stop)


# The child.

Answer = tuple[dict[str, Any], bytes]

_LARGE_BYTES = 1 << 20
_HAS_RESOURCES = re.compile(rb"resource|\AML\xefR")
"""A text that names resources, or bytecode, which may: a context knows them by their names."""

_STACK = 2 << 20
"""Less than any thread of the parent has: a text that nests too deeply for the parent crashes
here.
"""


def parse(request: dict[str, Any], payload: bytes) -> Answer:
    """Parse and verify a text or bytecode."""
    with borrowed_context() as loan:
        context = loan.context
        context.allow_unregistered_dialects = request["unregistered"]
        # Types, and constants, live as long as the context.
        loan.keep = len(payload) < _LARGE_BYTES and not _HAS_RESOURCES.search(payload)
        return _checked(payload, context)


def _checked(payload: bytes, context: ir.Context) -> Answer:
    with collected(context) as emitted:
        try:
            module = ir.Module.parse(payload, context)
            # The parent will clone and print it: a crash belongs here.
            module.operation.clone()
            str(module)
        except ir.MLIRError as error:
            return _failed(joined(of_error(error), emitted)), b""
        except RuntimeError:  # a message that quotes bytes which are not text
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
    diagnostics = [diagnostic.to_data() for diagnostic in emitted]
    return {"ok": True, "diagnostics": diagnostics, "seconds": seconds}, result


_HANDLERS: dict[str, Callable[[dict[str, Any], bytes], Answer]] = {
    "parse": parse,
    "check": check,
    "run": run,
}


def main(descriptor: int) -> None:
    """Answer requests until the parent is gone."""
    helper_process.begin()
    helper_process.lower_limit(resource.RLIMIT_STACK, _STACK)
    helper_process.lower_limit(resource.RLIMIT_CORE, 0)
    channel = socket.socket(fileno=descriptor)
    for request, payload in helper_process.requests(channel):
        for module in request["imports"]:
            importlib.import_module(module)
        with helper_process.within(request["seconds"] + 1):
            header, result = _HANDLERS[request["do"]](request, payload)
        helper_process.answer(channel, header, result)


def _failed(diagnostics: tuple[Diagnostic, ...]) -> dict[str, Any]:
    return {"ok": False, "diagnostics": [diagnostic.to_data() for diagnostic in diagnostics]}


if __name__ == "__main__":
    main(int(sys.argv[1]))
