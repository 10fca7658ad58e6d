"""A kernel that lives in a process apart: its crash, its hunger and its loops stay there."""

from __future__ import annotations

import io
import os
import socket
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from linalg_ext.bindings import ir
from linalg_ext.calling.overlap import share_memory
from linalg_ext.compiler.isolated import error_data
from linalg_ext.compiler.isolated.limits import Limits
from linalg_ext.compiler.isolated.shared_arrays import SharedBlock, received, share
from linalg_ext.errors import (
    AliasingError,
    ArgumentError,
    ArityError,
    CrashError,
    DTypeError,
    ExecutionError,
    ShapeError,
    caller_location,
    refuse_pickling,
)
from linalg_ext.module import Module, ModuleLike
from linalg_ext.runtime import frames
from linalg_ext.runtime.child import Child, imports
from linalg_ext.runtime.dtypes import dtype_named
from linalg_ext.target import override, to_data

_WORKER = "linalg_ext.compiler.isolated.worker"

_START_SECONDS = 60
_COPIED = 1 << 20
"""Results smaller than this are copied, and need no pages of their own."""


class _Own:
    """The process of a kernel, which may outlive the kernel by a moment."""

    def __init__(self) -> None:
        self.child: Child | None = None

    def end(self) -> None:
        child, self.child = self.child, None
        if child is not None:
            child.kill()
            child.close()

    def forget(self) -> None:
        child, self.child = self.child, None
        if child is not None:
            child.forget()


class IsolatedKernel:
    """An entry of a module, compiled and run in a process apart.

    It is called as a `Kernel` is. What kills the process, or takes longer or more than the limits
    allow, is a `CrashError` here; the next call starts another process.

    Attributes:
        limits: of the process.
    """

    def __init__(self, source: bytes, options: Mapping[str, Any], limits: Limits) -> None:
        """Made by `linalg_ext.compile(..., isolated=True)`."""
        self.limits = limits
        self._source = source
        self._options = dict(options)
        target = override()
        self._target = None if target is None else to_data(target)
        self._lock = threading.Lock()
        self._own = _Own()
        weakref.finalize(self, self._own.end)
        self._about: dict[str, Any] = {}
        _living.add(self)
        with self._lock:
            self._started()

    @property
    def signature(self) -> str:
        """What it takes and gives."""
        return str(self._about["signature"])

    @property
    def stages(self) -> Mapping[str, str]:
        """The module at each point of the way down, as text, by the name of the stage."""
        return MappingProxyType(self._about["stages"])

    @property
    def times(self) -> Mapping[str, float]:
        """Seconds that each step of the compilation took, and their sum as `total`."""
        return MappingProxyType(self._about["times"])

    def as_text(self, stage: str = "llvm") -> str:
        """The module at one point of the way down.

        Raises:
            ArgumentError: there is no such stage; the message lists those there are.
        """
        if stage not in self.stages:
            raise ArgumentError(
                f"there is no stage {stage!r}", expected="one of " + ", ".join(self.stages)
            )
        return self.stages[stage]

    def asm(self, *, whole: bool = False) -> str:
        """The machine code as assembly text: of the entry, or of everything with `whole`."""
        with self._lock:
            answer, _ = self._ask(self._started(), {"do": "asm", "whole": whole}, None)
        return str(answer["asm"])

    def __call__(self, *args: Any, out: Any = None, threads: int | None = None) -> Any:
        """Run the entry in its process, on copies of the arguments in memory that it shares.

        What the entry writes to its arguments is copied back when it came to its end.

        Args:
            *args: arrays and numbers, as for a `Kernel`.
            out: what the result is copied to: an array, or a tuple with one, or None, for each.
            threads: how many may work on this call.

        Raises:
            ArgumentError: of the kind that tells what is wrong, as a `Kernel` raises.
            ExecutionError: an assertion of the module failed.
            CrashError: the process died, or took longer than the limits allow.
        """
        self._check_aliasing(args)
        block, plain = share(args)
        try:
            with self._lock:
                child = self._started()
                request = {"do": "call", "arguments": plain, "threads": threads}
                answer, made = self._ask(child, request, block)
        finally:
            block.close()
        for number in self._about["written"]:
            np.copyto(args[number], block.array({**plain[number], "writable": True}))
        results = [] if made is None else received(made, answer["results"])
        results = [_kept(result) for result in results]
        if out is not None:
            results = _copied_to(out, results)
        if len(results) == 1:
            return results[0]
        return tuple(results) if results else None

    def close(self) -> None:
        """End the process; the next call starts another."""
        with self._lock:
            self._own.end()

    def __repr__(self) -> str:
        seconds, memory = self.limits.seconds, self.limits.memory >> 20
        return f"{self._about['text']}\nisolated  within {seconds:g} s and {memory} MiB a call"

    def __reduce__(self) -> NoReturn:
        refuse_pickling("an isolated kernel", "send the module's text, and compile it there")

    def _started(self) -> Child:
        """The process, with the module compiled in it."""
        child = self._own.child
        if child is not None and child.process.poll() is None:
            return child
        self._own.end()
        child = self._own.child = Child(_WORKER)
        request = {
            "do": "compile",
            "imports": imports(),
            "limits": asdict(self.limits),
            "options": self._options,
            "target": self._target,
        }
        self._about, _ = self._ask(child, request, None, self._source, starts=True)
        return child

    def _ask(
        self,
        child: Child,
        request: dict[str, Any],
        block: SharedBlock | None,
        payload: bytes = b"",
        *,
        starts: bool = False,
    ) -> tuple[dict[str, Any], SharedBlock | None]:
        """Send a request and wait for the answer, and for the memory that comes with it."""
        seconds = self.limits.seconds
        what = "the compilation" if request["do"] == "compile" else "the kernel"
        child.channel.settimeout(seconds + (_START_SECONDS if starts else 0))
        try:
            frames.send(child.channel, {**request, "seconds": seconds}, payload)
            if block is not None:
                socket.send_fds(child.channel, [b"."], [block.descriptor])
            answer, _ = frames.receive(child.channel)
            made = None
            if "results" in answer:
                _, descriptors, _, _ = socket.recv_fds(child.channel, 1, 1)
                made = SharedBlock(descriptors[0])
                made.close()
        except TimeoutError:
            self._own.end()
            raise CrashError(
                f"{what} did not come to an end within {seconds:g} s",
                cure="its process is ended; allow more with Limits(seconds=...)",
            ) from None
        except (EOFError, OSError):
            death = child.death(what, "in a process apart")
            self._own.end()
            raise death from None
        except BaseException:
            # Interrupted half-way: the next answer would be the one to this request.
            self._own.end()
            raise
        if "error" in answer:
            error = error_data.from_data(answer["error"])
            if isinstance(error, ArgumentError | ExecutionError):
                error.where = caller_location()
            if starts:
                self._own.end()
            raise error
        return answer, made

    def _check_aliasing(self, args: Sequence[Any]) -> None:
        """In the other process each argument has memory of its own."""
        for number in self._about["written"]:
            for other, value in enumerate(args):
                both = number < len(args) and other != number
                arrays = both and isinstance(value, np.ndarray)
                if arrays and share_memory(args[number], value):
                    raise AliasingError(
                        f"argument {number} shares memory with argument {other}, "
                        "and the entry may write it",
                        where=caller_location(),
                        cure="pass a copy of one of them",
                    )

    def forget(self) -> None:
        """In a forked process: the child is the parent's."""
        self._lock = threading.Lock()
        self._own.forget()


def isolate(
    module: ModuleLike | bytes,
    entry: str | None,
    *,
    limits: Limits,
    libraries: Sequence[str | Path],
    result_dtypes: Sequence[np.typing.DTypeLike | None] | None,
    **options: Any,
) -> IsolatedKernel:
    """Compile in a process apart; the arguments are those of `compile`.

    Raises:
        CrashError: the compilation died there, or took longer or more than the limits allow.
    """
    names = None
    if result_dtypes is not None:
        names = [None if d is None else dtype_named(d).name for d in result_dtypes]
    more = {
        **options,
        "entry": entry,
        "libraries": [str(library) for library in libraries],
        "result_dtypes": names,
    }
    return IsolatedKernel(_source(module), more, limits)


def _source(module: ModuleLike | bytes) -> bytes:
    if isinstance(module, str):
        return module.encode()
    if isinstance(module, bytes):
        return module
    own = module.ir if isinstance(module, Module) else module
    if not isinstance(own, ir.Module | ir.Operation | ir.OpView):
        raise ArgumentError(
            f"a {type(module).__name__} is not a module",
            expected="MLIR text, a Module, or upstream's ir.Module",
        )
    bytecode = io.BytesIO()
    own.operation.write_bytecode(bytecode)
    return bytecode.getvalue()


def _kept(result: Any) -> Any:
    """A result for the caller: what is small is copied out of its pages."""
    small = isinstance(result, np.ndarray) and result.nbytes < _COPIED
    return result.copy() if small else result


def _copied_to(out: Any, results: Sequence[Any]) -> list[Any]:
    outs = list(out) if isinstance(out, tuple | list) else [out]
    if len(outs) != len(results):
        raise ArityError(
            f"out has {len(outs)} arrays",
            where=caller_location(),
            expected=f"{len(results)}, one for each result (None lets one be allocated)",
        )
    final = []
    for number, (array, result) in enumerate(zip(outs, results, strict=True)):
        if array is None:
            final.append(result)
            continue
        _check_out(number, array, np.asarray(result))
        np.copyto(array, result)
        final.append(array)
    return final


def _check_out(number: int, array: Any, result: np.ndarray[Any, Any]) -> None:
    name = f"out[{number}]"
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
        raise ArgumentError(
            f"{name} is a {type(array).__name__}",
            where=caller_location(),
            expected="a NumPy array",
        )
    if array.shape != result.shape:
        raise ShapeError(
            f"{name} has shape {array.shape}",
            where=caller_location(),
            expected=f"shape {result.shape}",
        )
    if array.dtype != result.dtype:
        raise DTypeError(
            f"{name} has dtype {array.dtype}",
            where=caller_location(),
            expected=f"{result.dtype}",
        )


_living: weakref.WeakSet[IsolatedKernel] = weakref.WeakSet()


def _forget_all() -> None:
    for kernel in list(_living):
        kernel.forget()


os.register_at_fork(after_in_child=_forget_all)
