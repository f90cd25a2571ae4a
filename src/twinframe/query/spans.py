"""Where in a query text something stands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A position in the query text: character offsets, `start` inclusive, `end` exclusive."""

    start: int
    end: int
