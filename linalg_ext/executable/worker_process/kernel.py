"""A kernel that runs in a worker process: its crashes, memory use and endless loops stay there."""

from __future__ import annotations

import json
import os
import socket
import sys
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from linalg_ext.cache.store import Entry
from linalg_ext.errors import (
    ArgumentError,
    CrashError,
    ExecutionError,
    caller_location,
    refuse_pickling,
)
from linalg_ext.executable.arguments import (
    ArrayArgument,
    ResultSlot,
    check_aliasing,
    refuse_keywords,
    split_out,
)
from linalg_ext.executable.explanation import CompileTimes, Explanation, Staged
from linalg_ext.executable.foreign_arrays import call_on_foreign_arrays, has_foreign_arrays
from linalg_ext.executable.kernel_data import explanation_of, signature_of
from linalg_ext.executable.signature import ArrayType, Signature
from linalg_ext.executable.worker_process import exchange
from linalg_ext.executable.worker_process.exchange import (
    Limits,
    SharedBlock,
    as_shareable,
    received,
    share,
)
from linalg_ext.runtime import helper_process, kernel_cache, processes
from linalg_ext.runtime.dtypes import dtype_named
from linalg_ext.runtime.helper_process import Child, Helper, imports
from linalg_ext.runtime.threads import current as current_threads
from linalg_ext.target import host, override, to_data

_NONSENSE = (AttributeError, KeyError, MemoryError, OverflowError, TypeError, ValueError)

_COPIED = 1 << 20
"""Results smaller than this are copied, and need no pages of their own."""


class IsolatedKernel(Staged):
    """An entry of a module, compiled and run in a worker process.

    It is called as a `Kernel` is. A call that kills the process, or exceeds the limits, is a
    `CrashError` here; the next call starts another process.
    """

    signature: Signature

    def __init__(
        self,
        source: str | bytes,
        options: Mapping[str, Any],
        limits: Limits,
        *,
        filename: str = "-",
    ) -> None:
        """Made by `linalg_ext.compile(..., isolated=True)`."""
        self.limits = limits
        self._source = source
        self._filename = filename
        self._options = dict(options)
        self._target = override()
        # The process may outlive the kernel by a moment.
        self._process = Helper()
        weakref.finalize(self, self._process.forget)
        self._answers: dict[str, Any] = {}
        self._key: str | None = None
        self._entries: list[tuple[Entry, str]] = []
        with self._process.lock:
            about = self._compiled()
        self.signature = signature_of(about["signature"])
        self.compile_times = CompileTimes.of_data(about["times"])
        results = self.signature.results
        self._slots = [ResultSlot(result, is_only=len(results) == 1) for result in results]
        self._written = [
            (parameter.position, ArrayArgument(parameter, parameter.type))
            for parameter in self.signature.parameters
            if parameter.is_written and isinstance(parameter.type, ArrayType)
        ]

    @property
    def stages(self) -> Mapping[str, str]:
        """The module at each stage of the lowering, as text, by the name of the stage."""
        if "stages" not in self._answers:
            self._answers["stages"] = self._request({"do": "stages"})["stages"]
        return MappingProxyType(self._answers["stages"])

    def asm(self, *, whole: bool = False) -> str:
        """The machine code as assembly text: of the entry, or of everything with `whole`."""
        return str(self._request({"do": "asm", "whole": whole})["asm"])

    def explain(self, threads: int = 1) -> Explanation:
        """Return the plan of each op, with its reasons, as `Kernel.explain` does.

        Raises:
            ArgumentError: no number of threads.
        """
        data = self._request({"do": "explain", "threads": threads})["explanation"]
        return explanation_of(data, self._target or host())

    def __call__(
        self, *args: Any, out: Any = None, threads: int | None = None, **unknown: Any
    ) -> Any:
        """Run the entry in its process, on copies of the arguments in memory that it shares.

        Arguments that the entry writes are copied back at its end.

        Args:
            *args: arrays and numbers, as for a `Kernel`, of other libraries too.
            out: the destination of the result: an array, or a tuple with one, or None, for each.
            threads: the number of threads that may work on this call.

        Raises:
            ArgumentError: an argument does not fit, as for a `Kernel`.
            ExecutionError: an assertion of the module failed.
            CrashError: the process died, or took longer than the limits allow.
        """
        if unknown:
            refuse_keywords(self.signature, unknown)
        if has_foreign_arrays(args, out):
            return call_on_foreign_arrays(self, args, self._name, out, threads)
        values = [as_shareable(value, self._name(number)) for number, value in enumerate(args)]
        # In the other process each argument has memory of its own.
        check_aliasing(self._written, values)
        outs = [None] * len(self._slots) if out is None else split_out(out, self._slots, values)
        if threads is None:
            threads = current_threads()
        block, plain = share(values)
        try:
            with self._process.lock:
                request = {"do": "call", "arguments": plain, "threads": threads}
                child = self._started()
                _, results = self._ask(child, request, block)
                printed = child.read_noise()
        finally:
            block.close()
        if printed:
            sys.stdout.write(printed)
        for number, _ in self._written:
            np.copyto(values[number], block.array({**plain[number], "writable": True}))
        for slot, array in zip(self._slots, outs, strict=True):
            result = results[slot.position]
            if array is None:
                results[slot.position] = _own_copy(result)
            else:
                slot.check_shape(array, np.shape(result))
                results[slot.position] = slot.finish(np.asarray(result), array)
        if len(results) == 1:
            return results[0]
        return tuple(results) if results else None

    def times_of_calls(self, *args: Any, threads: int = 1, seconds: float) -> list[float]:
        """Measure calls in its process for some seconds, on copied arguments; see `Kernel`'s."""
        values = [as_shareable(value, self._name(number)) for number, value in enumerate(args)]
        check_aliasing(self._written, values)
        block, plain = share(values)
        request = {"do": "measure", "arguments": plain, "threads": threads, "for": seconds}
        try:
            with self._process.lock:
                answer, _ = self._ask(self._started(), request, block)
        finally:
            block.close()
        return [float(time) for time in answer["taken"]]

    def close(self) -> None:
        """End the process; the next call starts another."""
        self._process.stop()

    def __repr__(self) -> str:
        if "text" not in self._answers:
            self._answers["text"] = self._request({"do": "text"})["text"]
        seconds, memory = self.limits.seconds, int(self.limits.memory) >> 20
        return f"{self._answers['text']}\nisolated  within {seconds:g} s and {memory} MiB a call"

    def __reduce__(self) -> NoReturn:
        refuse_pickling("an isolated kernel", "send the module's text, and compile it there")

    def _compiled(self) -> dict[str, Any]:
        """Start a process with the kernel, compiled or kept; returns its description of it."""
        self._key = self._key_now()
        self._entries = exchange.kept_entries(self._key)
        if self._entries:
            described, contents = exchange.entries_data(self._entries)
            about = self._begin({"do": "load", "kept": described}, contents)
            if "signature" in about:
                return about
        self._entries = []
        payload = self._source
        if isinstance(payload, str):
            # The other process refuses surrogates, as this one does.
            payload = payload.encode(errors="surrogatepass")
        return self._begin({"do": "compile"}, payload)

    def _key_now(self) -> str | None:
        """Return the key that the kernel is kept under; None if it is not kept."""
        stamps = [kernel_cache.file_stamp(library) for library in self._options["libraries"]]
        if None in stamps:
            return None
        options = json.dumps(self._options, sort_keys=True)
        return kernel_cache.key_of(
            "isolated", self._source, self._filename, options, stamps, sorted(imports())
        )

    def _begin(self, task: Mapping[str, Any], payload: bytes) -> dict[str, Any]:
        """Start a process that compiles or loads the kernel; returns its answer."""
        self._process.end()
        child, _ = self._process.living(lambda: processes.fork(compiles=task["do"] == "compile"))
        request = {
            **task,
            "imports": imports(),
            "folder": os.getcwd(),
            "path": [os.path.abspath(path) for path in sys.path],
            "limits": asdict(self.limits),
            "options": self._options,
            "target": None if self._target is None else to_data(self._target),
            "filename": self._filename,
            "is_text": isinstance(self._source, str),
        }
        try:
            return self._ask(child, request, payload=payload)[0]
        except BaseException:
            self._process.end()
            raise

    def _started(self) -> Child:
        """Return the process with the compiled module, started if need be."""
        child = self._process.child
        if child is None or not child.is_there():
            self._compiled()
            child = self._process.child
        if child is None:
            raise AssertionError("the started worker process is gone")
        return child

    def _request(self, request: dict[str, Any]) -> dict[str, Any]:
        with self._process.lock:
            return self._ask(self._started(), request)[0]

    def _ask(
        self,
        child: Child,
        request: dict[str, Any],
        block: SharedBlock | None = None,
        *,
        payload: bytes = b"",
    ) -> tuple[dict[str, Any], list[Any]]:
        """Send a request, and return the answer with its results."""
        seconds = self.limits.seconds
        work = "the kernel" if block is not None else "the compilation"

        late = CrashError(
            f"{work} did not come to an end within {seconds:g} s",
            hint="the worker process is ended; allow more with Limits(seconds=...)",
        )
        try:
            with self._process.asking(child, seconds, work, "in a worker process", late):
                helper_process.send(child.channel, {**request, "seconds": seconds}, payload)
                if block is not None:
                    socket.send_fds(child.channel, [b"."], [block.descriptor])
                answer, contents = helper_process.receive(child.channel)
                new_entries = exchange.entries_of(answer["kept"], contents)
                error = exchange.error_of(answer["error"]) if "error" in answer else None
                results = self._received(child, answer) if "results" in answer else []
        except CrashError as death:
            raise self.limits.named(death) from None
        except _NONSENSE as fault:
            raise CrashError(
                f"{work} left its worker process with an answer that cannot be read",
                where=f"{type(fault).__name__}: {fault}",
                hint="the worker process is ended: native code wrote outside of its arrays",
            ) from None
        if new_entries:
            self._entries += new_entries
            exchange.keep_entries(self._key, self._entries)
        if error is not None:
            if isinstance(error, ArgumentError | ExecutionError):
                error.where = caller_location()
            raise self.limits.named(error)
        return answer, results

    def _received(self, child: Child, answer: dict[str, Any]) -> list[Any]:
        _, descriptors, _, _ = socket.recv_fds(child.channel, 1, 1)
        block = SharedBlock(descriptors[0])
        block.close()
        results = received(block, answer["results"])
        if len(results) != len(self._slots):
            raise ValueError(f"{len(results)} results")
        return results

    def _name(self, number: int) -> str:
        parameters = self.signature.parameters
        return str(parameters[number]) if number < len(parameters) else f"argument {number}"


def isolate(
    source: str | bytes,
    entry: str | None,
    *,
    limits: Limits,
    libraries: Sequence[str | os.PathLike[str]] = (),
    result_dtypes: Sequence[np.typing.DTypeLike | None] | None = None,
    filename: str = "-",
    **options: Any,
) -> IsolatedKernel:
    """Compile a module, as text or bytecode, in a worker process; needs no MLIR in this one.

    `limits` are of the process, `filename` is the name of the text in diagnostics; all else is as
    for `compile`.

    Raises:
        CrashError: the compilation died, or exceeded the limits.
    """
    names = None
    if result_dtypes is not None:
        names = [None if d is None else dtype_named(d).name for d in result_dtypes]
    more = {
        **options,
        "entry": entry,
        "libraries": [os.fspath(library) for library in libraries],
        "result_dtypes": names,
    }
    return IsolatedKernel(source, more, limits, filename=filename)


def _own_copy(result: Any) -> Any:
    """Return a result for the caller; a small array is copied out of the shared pages."""
    small = isinstance(result, np.ndarray) and result.nbytes < _COPIED
    return result.copy() if small else result
