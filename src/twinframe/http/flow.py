"""The flow control of a connection: pauses of reading, and what is being written."""

from __future__ import annotations

import asyncio
from typing import Final

from uvicorn.protocols.http.flow_control import FlowControl

PIECE_BYTES: Final = 64 * 1024
"""The least that is charged for an answer that is not sent at once, and the size of a small one."""


class PacedFlow(FlowControl):
    """uvicorn's flow control, with a pause of reading that uvicorn itself cannot end."""

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__(transport)
        self.blocked = False
        self.piece = 0
        """The bytes of the body that is being written in one piece."""

    def resume_reading(self) -> None:
        if not self.blocked:
            super().resume_reading()

    def block(self) -> None:
        """Stop reading, even if uvicorn resumes it."""
        self.blocked = True
        self.pause_reading()
