"""Messages between this process and its helpers: a JSON header and a block of bytes.

Nothing that is read is ever executed or unpickled.
"""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

_LENGTHS = struct.Struct(">QQ")


def send(channel: socket.socket, header: dict[str, Any], payload: bytes = b"") -> None:
    """Send one message."""
    encoded = json.dumps(header).encode()
    channel.sendall(_LENGTHS.pack(len(encoded), len(payload)) + encoded)
    channel.sendall(payload)


def receive(channel: socket.socket) -> tuple[dict[str, Any], bytes]:
    """Receive one message.

    Raises:
        EOFError: the other side is gone.
        TimeoutError: nothing came within the channel's timeout.
    """
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
