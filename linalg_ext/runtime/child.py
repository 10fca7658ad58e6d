"""Child processes that may die of what they do: started, listened to, and their deaths told."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
import tempfile
from typing import BinaryIO

from linalg_ext.bindings import ir
from linalg_ext.context import dialect_modules
from linalg_ext.errors import CrashError

_NOISE_LINES = 20


class Child:
    """A living child: its process, the socket to it, and the file that it prints to.

    Attributes:
        process: of the system.
        channel: the socket to it.
        noise: what it prints to.
    """

    def __init__(self, module: str, *arguments: str) -> None:
        """Start `python -m MODULE FD ARGUMENTS...`, where FD is the child's end of the socket.

        Raises:
            CrashError: it cannot be started.
        """
        ours, theirs = socket.socketpair()
        descriptor, name = tempfile.mkstemp(prefix="linalg-ext-child-")
        os.unlink(name)
        # Appending, so that what it prints after a truncation starts at the front again.
        fcntl.fcntl(descriptor, fcntl.F_SETFL, fcntl.fcntl(descriptor, fcntl.F_GETFL) | os.O_APPEND)
        self.noise: BinaryIO = os.fdopen(descriptor, "w+b", buffering=0)
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, str(theirs.fileno()), *arguments],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self.noise,
                stderr=subprocess.STDOUT,
                env=_environment(),
            )
        except OSError as error:
            ours.close()
            self.noise.close()
            raise CrashError(
                "a helper process cannot be started",
                where=str(error),
                cure="or give text that you trust with trusted=True, which needs no guard",
            ) from error
        finally:
            theirs.close()
        self.channel = ours

    def read_noise(self) -> str:
        """What it printed since the last time."""
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
        """Let go of what it printed to."""
        self.noise.close()

    def forget(self) -> None:
        """In a forked process: the child is the parent's. Leave it alone, and let go of it."""
        self.channel.close()
        self.close()
        # Else this process would one day report that it lost a child that is not its own.
        self.process.returncode = 0

    def death(self, who: str, on_what: str) -> CrashError:
        """The error for a child that is gone, or that says nothing more.

        Args:
            who: what it was that died in it.
            on_what: and of what.
        """
        try:
            code = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            code = self.kill()
        noise = self.read_noise().strip().splitlines()
        if code >= 0:
            return CrashError(
                f"a helper process ended with exit code {code}",
                cure="it must be able to import linalg_ext and its MLIR bindings",
                notes=noise[-_NOISE_LINES:],
            )
        return CrashError(
            f"{who} died with {_signal_name(-code)} {on_what}",
            cure="it ran in a process apart; this one is unharmed",
            notes=noise[-_NOISE_LINES:],
        )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def imports() -> list[str]:
    """What a child imports to know the dialects and passes that this process knows."""
    # Upstream registers the passes of some frameworks only when this is imported.
    extra = f"{ir.__name__.partition('.')[0]}.dialects.torch"
    return [*dialect_modules(), *([extra] if extra in sys.modules else [])]


def _environment() -> dict[str, str]:
    paths = [os.path.abspath(path) for path in sys.path]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        # The package itself, also where an import hook serves it here under another name.
        "LINALG_EXT_BINDINGS": ir.__name__.partition(".")[0],
        "PYTHONDONTWRITEBYTECODE": "1",
    }
