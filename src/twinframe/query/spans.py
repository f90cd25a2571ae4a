"""Where in a query text something stands."""

from __future__ import annotations

from twinframe.classes import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A position in the query text: character offsets, `start` inclusive, `end` exclusive."""

    start: int
    end: int
