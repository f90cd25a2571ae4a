"""The row of facts of a graph: what a writer locks, reads and changes with each batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LOCK: Final = (
    "SELECT model_version, last_position, last_moment, twins, content FROM @graph FOR UPDATE"
)
"""The columns of `Facts`. Who has it writes alone, and sees all that was committed before."""


@dataclass(slots=True)
class Facts:
    """`last_position` and `last_moment` are of events; `content` is the bytes of documents."""

    model_version: int
    last_position: int
    last_moment: int
    twins: int
    content: int


@dataclass(frozen=True, slots=True)
class InterfaceNames:
    """The interfaces of one version of the models: DTMI -> row id, and back."""

    version: int
    rows: dict[str, int]
    names: dict[int, str]
