"""The standing of a source: what came of its messages, kept in the graph for every process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import orjson

from twinframe.graph.context.context import GraphContext
from twinframe.hooks.sources.base import SourceMessage
from twinframe.storage.base import GraphSession, GraphTransaction

KIND: Final = "source"
_SHOWN: Final = 512
"""Bytes of a payload, and characters of a topic and of a reason, that a dead letter keeps."""


class Refusal(NamedTuple):
    """Why a message, or some of it, was not written: a stable `reason`, and a text for people."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A refused message: when it came, its topic, why it was refused, and how it begins."""

    time: str
    topic: str
    reason: str
    message: str
    payload: str


@dataclass(slots=True)
class Standing:
    """Counts since `since`.

    `messages` are all, `stale` those whose properties are all older than what is stored. `refused`
    counts by reason, `matched` by the topic of a mapping. `letters` are the last refused messages.
    `filters` are the present subscription. `error` says why the broker cannot be used, empty for
    nothing.
    """

    since: str = ""
    messages: int = 0
    points: int = 0
    properties: int = 0
    stale: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    matched: Counter[str] = field(default_factory=Counter)
    letters: list[DeadLetter] = field(default_factory=list)
    filters: Sequence[str] = ()
    error: str = ""

    def add_letters(
        self, refused: Iterable[tuple[SourceMessage, Refusal]], now: str, most: int
    ) -> None:
        """Count refused messages, and keep the last ones."""
        for message, refusal in refused:
            self.refused[refusal.reason] += 1
            payload = message.payload[:_SHOWN].decode("utf-8", "replace")
            self.letters.append(
                DeadLetter(
                    now,
                    message.topic[:_SHOWN],
                    refusal.reason,
                    refusal.message[:_SHOWN],
                    "".join(char if char.isprintable() else "\ufffd" for char in payload),
                )
            )
        del self.letters[:-most]

    def write(self, transaction: GraphTransaction, name: str) -> None:
        """Store it."""
        transaction.put_entry(KIND, name, orjson.dumps(self))


def read_standing(session: GraphSession, name: str) -> Standing:
    """Return the standing of a source; an empty one for a source that never ran."""
    body = session.read_entry(KIND, name)
    if body is None:
        return Standing()
    document: dict[str, Any] = orjson.loads(body)
    document["letters"] = [DeadLetter(**letter) for letter in document["letters"]]
    for counts in ("refused", "matched"):
        document[counts] = Counter(document[counts])
    return Standing(**document)


class Standings:
    """Reading what came of the messages of all sources."""

    def __init__(self, context: GraphContext, *, hosted: bool) -> None:
        """A hosted graph has no sources: those of the settings are of the service's own."""
        self._context = context
        self._names = () if hosted else tuple(context.settings.ingestion.sources)

    async def list_all(self) -> Sequence[tuple[str, Standing]]:
        """Return the name and the standing of each source. Counts may be some seconds old."""

        def read(session: GraphSession) -> Sequence[tuple[str, Standing]]:
            return [(name, read_standing(session, name)) for name in self._names]

        return await self._context.runner.read(read)
