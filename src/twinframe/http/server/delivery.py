"""Checks whether the client has received all that was written to its connection."""

from __future__ import annotations

import asyncio
import struct
import sys
from fcntl import ioctl
from termios import TIOCOUTQ


def is_delivered(transport: asyncio.Transport) -> bool:
    """Return True if this side's buffers are empty and the client has confirmed all data.

    NOTE: a TLS transport does not report the buffer of the transport below it; that buffer is empty
    if the kernel's queue is. False where it cannot be determined: on other systems than Linux, and
    for a closed socket.
    """
    if sys.platform != "linux" or transport.get_write_buffer_size():
        return False
    socket = transport.get_extra_info("socket")
    if socket is None or socket.fileno() < 0:
        return False
    try:
        answer = ioctl(socket.fileno(), TIOCOUTQ, bytes(4))
    except OSError:
        return False
    return not struct.unpack("i", answer)[0]
