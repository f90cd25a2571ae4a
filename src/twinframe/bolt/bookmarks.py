"""Bookmarks: positions of changes, which clients hand over to read what they have written.

Each read sees what was acknowledged before, so that a bookmark is only waited for where the graph
has gone back, such as to a backup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from twinframe.bolt.failures import BookmarkTimeout, InvalidBookmark
from twinframe.graph.statements.statements import Statements

_PREFIX: Final = "twinframe"
_SECONDS: Final = 5.0
_LONGEST: Final = 18


class Awaited(NamedTuple):
    """The position that a graph must have reached."""

    position: int

    async def wait(self, statements: Statements) -> None:
        """Wait for it. Raises `BookmarkTimeout`."""
        if not await statements.wait_for(self.position, _SECONDS):
            raise BookmarkTimeout(
                f"The graph has not got to change {self.position}, which a bookmark names. Was it "
                "restored from a backup? Open a session without bookmarks."
            )


def render_bookmark(database: str, position: int) -> str:
    """Return the bookmark of a state of a graph."""
    return f"{_PREFIX}:{database}:{position}"


def check_bookmarks(bookmarks: Sequence[object], database: str) -> Awaited | None:
    """Return the position that these ask for; those of other databases ask for none.

    Raises `InvalidBookmark`.
    """
    positions = []
    for one in bookmarks:
        prefix, _, rest = one.partition(":") if isinstance(one, str) else ("", "", "")
        name, _, digits = rest.rpartition(":")
        if prefix != _PREFIX or not (digits.isascii() and digits.isdigit()):
            raise InvalidBookmark(f"{str(one)[:100]!r} is not a bookmark of this service.")
        if name == database and len(digits) <= _LONGEST:
            positions.append(int(digits))
    return Awaited(max(positions)) if positions else None
