"""The use case of overviews: the models of a graph and how many twins each has."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from twinframe.graph.context.context import GraphContext
from twinframe.graph.models.outlines import Outlines, read_outlines
from twinframe.graph.queries.queries import Queries
from twinframe.model.values import JsonValue

_TWINS: Final = "MATCH (t:Twin) RETURN t.`$metadata`.`$model` AS model, count(*) AS n"
_RELATIONSHIPS: Final = (
    "MATCH (a:Twin)-[r]->(b:Twin) RETURN a.`$metadata`.`$model` AS source, type(r) AS name, "
    "b.`$metadata`.`$model` AS target, count(*) AS n"
)
_CHEAP: Final = 0.25
_REST: Final = 20


@dataclass(frozen=True, slots=True)
class RelationshipCount:
    """Relationships of one name between twins of two models."""

    source: str
    name: str
    target: str
    count: int


@dataclass(frozen=True, slots=True)
class Counts:
    """`twins` by model id. `moment` is the time of counting (monotonic), `cost` its seconds."""

    twins: Mapping[str, int]
    relationships: tuple[RelationshipCount, ...]
    moment: float
    cost: float


class Overview:
    """Reads outlines and counts; outlines are cached until a model changes."""

    def __init__(self, context: GraphContext, queries: Queries) -> None:
        self._context = context
        self._queries = queries
        self._outlines: Outlines | None = None
        self._counts: Counts | None = None

    async def read_outlines(self) -> Outlines:
        """Return the interfaces as they are now."""
        runner = self._context.runner
        kept = self._outlines
        version = await runner.read(lambda session: session.read_schema_version())
        if kept is None or kept.version != version:
            timeout = self._context.settings.query.timeout
            kept = self._outlines = await runner.scan(read_outlines, timeout)
        return kept

    async def count(self) -> Counts:
        """Count twins of each model, and relationships between models, by two statements.

        PERF: a graph where counting takes longer than a quarter of a second is counted for at most
        a twentieth of the time: in between, the last counts are returned.
        """
        kept = self._counts
        start = time.monotonic()
        if kept and kept.cost > _CHEAP and start - kept.moment < kept.cost * _REST:
            return kept
        twins = {str(row["model"]): int(str(row["n"])) async for row in self._read(_TWINS)}
        relationships = [
            RelationshipCount(
                str(row["source"]), str(row["name"]), str(row["target"]), int(str(row["n"]))
            )
            async for row in self._read(_RELATIONSHIPS)
        ]
        relationships.sort(key=lambda one: (-one.count, one.name, one.source, one.target))
        moment = time.monotonic()
        self._counts = Counts(twins, tuple(relationships), moment, moment - start)
        return self._counts

    async def _read(self, text: str) -> AsyncIterator[dict[str, JsonValue]]:
        size = self._context.settings.query.max_page_size
        token: str | None = None
        while True:
            page = await self._queries.run(text, continuation_token=token, page_size=size)
            for row in page.rows:
                yield orjson.loads(row)
            token = page.continuation_token
            if token is None:
                return
