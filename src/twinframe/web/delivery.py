"""Whether the other side has all that was written to it. It writes nothing itself."""

from __future__ import annotations

import asyncio
import struct
import sys
from fcntl import ioctl
from termios import TIOCOUTQ


def is_delivered(transport: asyncio.Transport) -> bool:
    """True if nothing is left in the buffers of this side, and the other has confirmed all of it.

    NOTE: a TLS transport does not tell what the one below it holds; that is empty where the
    kernel's queue is. False where nobody can say: other systems than Linux, a closed socket.
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
