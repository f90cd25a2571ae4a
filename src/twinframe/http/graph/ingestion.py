"""Sources of messages, which the vendor does not have: what came of their messages."""

from __future__ import annotations

from typing import Final

import orjson
from falcon.asgi import Request, Response
from pydantic import Field

from twinframe.graph.ingestion.standing import Standing
from twinframe.http.access import authorize_parts
from twinframe.http.api_context import GraphApiContext
from twinframe.http.graph.schemas import Shape
from twinframe.http.messages import read_exchange
from twinframe.http.operations import Answer, Route

_TWINS: Final = ("digitaltwins/read",)
"""SEC: dead letters show what messages say of twins."""


class MessageLetter(Shape):
    """A refused message, and how it begins."""

    time: str
    topic: str
    reason: str = Field(examples=["DigitalTwinNotFound"])
    message: str
    payload: str


class SourceDocument(Shape):
    """What came of the messages of a source; counts may be some seconds old."""

    name: str
    since: str | None = Field(description="When it began to count; null if it never ran.")
    error: str | None = Field(description="Why it has no connection; null if it has one.")
    messages: int
    points: int = Field(description="Points that they wrote.")
    properties: int = Field(description="Properties that they wrote.")
    stale: int = Field(description="Messages older than what is stored, which wrote nothing.")
    refused: dict[str, int] = Field(description="Refused messages by reason.")
    matched: dict[str, int] = Field(description="Messages by the topic of their mapping.")
    dead_letters: list[MessageLetter] = Field(
        alias="deadLetters", description="The last refused messages, the oldest first."
    )


class SourceList(Shape):
    """All sources."""

    value: list[SourceDocument]


async def list_sources(api: GraphApiContext, request: Request, response: Response) -> None:
    """GET: all sources."""
    await authorize_parts(read_exchange(request), _TWINS)
    standings = await api.graph.standings.list_all()
    response.data = orjson.dumps({"value": [_build(*one) for one in standings]})


def _build(name: str, standing: Standing) -> dict[str, object]:
    return {
        "name": name,
        "since": standing.since or None,
        "error": standing.error or None,
        "messages": standing.messages,
        "points": standing.points,
        "properties": standing.properties,
        "stale": standing.stale,
        "refused": standing.refused,
        "matched": standing.matched,
        "deadLetters": standing.letters,
    }


INGESTION_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "GET /ingestion",
        "Ingestion_List",
        "Read what came of the messages of all sources",
        "eventroutes/read",
        list_sources,
        Answer(200, "All sources.", SourceList),
        "Ingestion",
        is_strict=True,
    ),
)
