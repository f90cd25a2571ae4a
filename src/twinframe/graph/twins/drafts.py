"""Pre-rendered texts of documents and events, whose time a job fills in when its transaction sets
it.

PERF: in the transaction, for which all writers wait, each time is then filled in by one
replacement.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Final

_LENGTH: Final = len("2024-01-31T12:00:00.1234567Z")


class Stamp:
    """Stands for the time of a write in pre-rendered texts; it is as long as a time.

    SEC: of 112 random bits, and secret: no other document contains it.
    """

    __slots__ = ("text",)

    def __init__(self) -> None:
        self.text = secrets.token_hex(_LENGTH // 2)

    def fill(self, texts: Iterable[bytes], time: str) -> list[bytes]:
        """Return the texts with the time, as `render_update_time` gives it, in its place."""
        stamp, moment = self.text.encode("ascii"), time.encode("ascii")
        return [text.replace(stamp, moment) for text in texts]
