"""Texts of documents and events that a job renders before the transaction that gives their time.

It judges nothing and stores nothing.

PERF: in the transaction, for which all writers wait, each time is then put in by one replacement.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Final

_LENGTH: Final = len("2024-01-31T12:00:00.1234567Z")


class Stamp:
    """Stands for the time of a write in texts that are rendered before; it is as long as a time.

    SEC: of 112 random bits, and told to nobody: no document that others wrote holds it.
    """

    __slots__ = ("text",)

    def __init__(self) -> None:
        self.text = secrets.token_hex(_LENGTH // 2)

    def fill(self, texts: Iterable[bytes], time: str) -> list[bytes]:
        """The texts with the time, as `render_update_time` gives it, in its place."""
        stamp, moment = self.text.encode("ascii"), time.encode("ascii")
        return [text.replace(stamp, moment) for text in texts]
