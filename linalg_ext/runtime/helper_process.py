"""Helper processes that may crash: messages, the parent's side, the child's side.

A message is a JSON header and a block of bytes. Nothing that is read is ever executed or unpickled.

`Helper` is a child that is started when it is needed, and again when it has died. Two kinds have
policies of their own: `parser_process`, one for all texts and passes, and the worker processes that
run untrusted kernels, forked by the one of `processes`.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Protocol

from linalg_ext.bindings import provider
from linalg_ext.errors import CrashError

_LENGTHS = struct.Struct(">QQ")


def send(channel: socket.socket, header: dict[str, Any], payload: bytes = b"") -> None:
    """Send one message."""
    encoded = json.dumps(header).encode()
    channel.sendall(_LENGTHS.pack(len(encoded), len(payload)) + encoded)
    channel.sendall(payload)


def receive(channel: socket.socket) -> tuple[dict[str, Any], bytes]:
    """Receive one message; an EOFError where the other side is gone, a TimeoutError in time."""
    header_length, payload_length = _LENGTHS.unpack(_exactly(channel, _LENGTHS.size))
    header = json.loads(_exactly(channel, header_length))
    return header, _exactly(channel, payload_length)


def _exactly(channel: socket.socket, length: int) -> bytes:
    buffer = bytearray(length)
    view = memoryview(buffer)
    while view:
        count = channel.recv_into(view)
        if count == 0:
            raise EOFError("the other side closed the channel")
        view = view[count:]
    return bytes(buffer)


_NOISE_LINES = 20

LOST = 1 << 16
"""The return code of a process whose exit status is lost."""


class Process(Protocol):
    """The interface of a child process: a part of `subprocess.Popen`."""

    returncode: int | None

    def poll(self) -> int | None:
        """The return code, if it has ended: below zero for a signal."""

    def wait(self, timeout: float | None = None) -> int:
        """The return code, once it has ended; a TimeoutExpired where it runs on."""

    def kill(self) -> None:
        """Send it SIGKILL."""


class Child:
    """A living child: its process, the socket to it, and the file that it prints to."""

    def __init__(self, process: Process, channel: socket.socket, noise: BinaryIO) -> None:
        self.process = process
        self.channel = channel
        self.noise = noise

    @classmethod
    def started(cls, module: str) -> Child:
        """Start `python -m MODULE FD`, where FD is the child's end; or raise a CrashError."""
        ours, theirs = socket.socketpair()
        noise = noise_file()
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=noise,
                stderr=subprocess.STDOUT,
                env=_environment(),
            )
        except OSError as error:
            ours.close()
            noise.close()
            raise CrashError(
                "a helper process cannot be started",
                where=str(error),
                hint="or give text that you trust with trusted=True, which needs no guard",
            ) from error
        finally:
            theirs.close()
        return cls(process, ours, noise)

    def is_there(self) -> bool:
        """Return whether it still holds its end of the socket; asked while no answer is awaited."""
        try:
            waiting = select.poll()
            waiting.register(self.channel, select.POLLIN)
        except (OSError, ValueError):  # closed at this end
            return False
        return not waiting.poll(0)

    def read_noise(self) -> str:
        """Return the text that it printed since the last time."""
        text = os.pread(self.noise.fileno(), 1 << 20, 0).decode(errors="replace")
        os.ftruncate(self.noise.fileno(), 0)
        return text

    def kill(self) -> int:
        """End it; its return code."""
        self.channel.close()
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        return self.process.wait()

    def close(self) -> None:
        """Close the file that it printed to."""
        self.noise.close()

    def forget(self) -> None:
        """In a forked process: the child is the parent's. Leave it alone, and let go of it."""
        self.channel.close()
        self.close()
        # Else this process would one day report that it lost a child that is not its own.
        self.process.returncode = 0

    def death(self, who: str, on_what: str) -> CrashError:
        """The error for a child that is gone or silent: `who` died in it, `on_what`."""
        try:
            code = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            code = self.kill()
        noise = self.read_noise().strip().splitlines()
        if code == LOST:
            return CrashError(
                f"{who} died {on_what}", where="the cause is not known", notes=noise[-_NOISE_LINES:]
            )
        if code >= 0:
            return CrashError(
                f"a helper process ended with exit code {code}",
                hint="the process must be able to import linalg_ext and its MLIR bindings",
                notes=noise[-_NOISE_LINES:],
            )
        return CrashError(
            f"{who} died with {_signal_name(-code)} {on_what}",
            hint="the code ran in a helper process; the calling process is unharmed",
            notes=noise[-_NOISE_LINES:],
        )


class Helper:
    """A child that answers one request at a time; it is started again where it has died.

    Who talks to the `child`, if it lives, holds the `lock`.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.child: Child | None = None
        _helpers.add(self)

    def living(self, start: Callable[[], Child]) -> tuple[Child, bool]:
        """Return the child, and whether it was started now; a CrashError where it cannot be."""
        if self.child is not None and self.child.is_there():
            return self.child, False
        self.end()
        self.child = start()
        return self.child, True

    @contextmanager
    def asking(
        self, child: Child, seconds: float, who: str, on_what: str, late: CrashError
    ) -> Iterator[None]:
        """Send a request to `child`, and receive its answer, inside the `with` block.

        After anything else than an answer the child is ended: interrupted half-way, the next
        answer would be the one to this request. One message may take some `seconds`.

        Raises:
            CrashError: the child died, of which `Child.death` tells, or took longer: `late`.
        """
        child.channel.settimeout(seconds)
        try:
            yield
        except TimeoutError:
            self.end()
            raise late from None
        except (EOFError, OSError):
            death = child.death(who, on_what)
            self.end()
            raise death from None
        except BaseException:
            self.end()
            raise

    def stop(self) -> None:
        """End the child once no request to it is running."""
        with self.lock:
            self.end()

    def end(self) -> None:
        """End the child; the next request starts another."""
        child, self.child = self.child, None
        if child is not None:
            child.kill()
            child.close()

    def forget(self) -> None:
        """Release the child, which ends once no process holds the other end of its socket.

        In a forked process the child belongs to the parent. No request is sent: the garbage
        collector may call this anywhere.
        """
        child, self.child = self.child, None
        self.lock = threading.Lock()
        if child is not None:
            child.forget()


_helpers: weakref.WeakSet[Helper] = weakref.WeakSet()


def _forget_all() -> None:
    for helper in list(_helpers):
        helper.forget()


os.register_at_fork(after_in_child=_forget_all)


def noise_file() -> BinaryIO:
    """A file without a name, for a child to print to."""
    descriptor, name = tempfile.mkstemp(prefix="linalg-ext-child-")
    os.unlink(name)
    # Appending, so that output after a truncation starts at the front again.
    fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_APPEND)
    return os.fdopen(descriptor, "w+b", buffering=0)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def imports() -> list[str]:
    """Return the modules that give a child the dialects and passes that this process has."""
    # Upstream registers the passes of some frameworks only when this is imported.
    extra = f"{_root()}.dialects.torch"
    context = sys.modules.get("linalg_ext.ir.context")
    # Without a context no dialect was registered.
    own = () if context is None else context.dialect_modules()
    return [*own, *([extra] if extra in sys.modules else [])]


def _root() -> str:
    """Return the package of the bindings without loading them.

    Once loaded, it is that package, also where an import hook serves it under another name.
    """
    loaded = sys.modules.get(f"{provider()}.ir")
    return (provider() if loaded is None else loaded.__name__).partition(".")[0]


def _environment() -> dict[str, str]:
    paths = [os.path.abspath(path) for path in sys.path]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "LINALG_EXT_BINDINGS": _root(),
    }


_flush: Any = ctypes.CDLL(None).fflush


def begin() -> None:
    """Make this process a helper: its parent ends it, or its own clock does."""
    sys.dont_write_bytecode = True  # from here on it reads texts of others
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


def lower_limit(limited: int, value: int) -> None:
    """Lower a limit of the system's on this process. There is no way back."""
    _, hard = resource.getrlimit(limited)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(limited, (value, value))


def requests(channel: socket.socket) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield the requests of the parent until it is gone."""
    while True:
        try:
            request = receive(channel)
        except EOFError:
            return
        yield request


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """End this process where the `with` block takes longer.

    Should the parent be killed meanwhile, no other process would stop one that hangs.
    """
    signal.setitimer(signal.ITIMER_REAL, seconds)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)


def answer(channel: socket.socket, header: dict[str, Any], payload: bytes = b"") -> None:
    """Answer a request; output that was printed meanwhile comes first."""
    sys.stdout.flush()
    sys.stderr.flush()
    _flush(None)
    send(channel, header, payload)
