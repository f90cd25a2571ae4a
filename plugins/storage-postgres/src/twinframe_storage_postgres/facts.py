"""The row of facts of a graph: what a writer locks, reads and changes with each batch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Facts:
    """What a writer reads as it locks the row; it then writes alone, and sees all before it.

    `last_position` and `last_moment` are of events; `content` is the bytes of documents.
    """

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
