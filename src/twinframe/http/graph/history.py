"""What changed, which the vendor does not answer: of a twin, of a relationship, of the graph."""

from __future__ import annotations

from typing import Any, Final

from falcon import mediatypes
from falcon.asgi import Request, Response
from falcon.errors import InvalidMediaRange
from pydantic import Field

from twinframe.errors import InvalidArgument, MissingArgument
from twinframe.errors.nearest import render_hint
from twinframe.graph.history.changes import ChangePage, Changes, HistoryQuestion
from twinframe.graph.history.graph_changes import EntityType
from twinframe.http.access import authorize_parts
from twinframe.http.api_context import GraphApiContext
from twinframe.http.graph.schemas import Shape
from twinframe.http.messages import (
    build_next_link,
    read_exchange,
    read_list,
    read_page_request,
    render_listing,
    write_page,
)
from twinframe.http.operations import PAGE_SIZE, TOKEN, Answer, Parameter, Route
from twinframe.http.streaming import leave_out_stream, stream_answer
from twinframe.model.pages import PageRequest

NDJSON: Final = "application/x-ndjson"
_JSON: Final = "application/json"
_LINE_TYPES: Final = (NDJSON, "application/jsonl", "application/ndjson")

_TWINS: Final = "digitaltwins/read"
_PERMISSIONS: Final = {
    EntityType.TWINS: _TWINS,
    EntityType.RELATIONSHIPS: "digitaltwins/relationships/read",
    EntityType.MODELS: "models/read",
}
_TYPES: Final = {one.value: one for one in EntityType}


class ChangedProperty(Shape):
    """A property before and after; where there was none, the member is missing."""

    path: str = Field(examples=["thermostat/setPoint"])
    before: Any = None
    after: Any = None
    source_time: str | None = Field(
        None, alias="sourceTime", description="The time of the source that came with the value."
    )


class HistoryItem(Shape):
    """One change of a twin or relationship."""

    position: int = Field(description="Its place in the order of all changes of the graph.")
    time: str = Field(description="When it was stored.")
    action: str = Field(examples=["created", "updated", "deleted"])
    who: str | None = Field(None, description="Who made it, if that is known (History__Who).")
    changes: list[ChangedProperty]


class HistoryPage(Shape):
    """A page of changes, by position. It may be empty and have a next link."""

    value: list[HistoryItem]
    next_link: str | None = Field(alias="nextLink")


class KeptChanges(Shape):
    """The changes that are kept."""

    kept: bool
    reason: str | None = Field(description="Why none are kept.")
    first_position: int = Field(alias="firstPosition")
    last_position: int = Field(alias="lastPosition")
    since: str | None = Field(description="How far back earlier states can be read.")
    bytes: int = Field(description="Of changes and events together, as last measured.")


class KeptPoints(Shape):
    """The values over time that are kept, apart from changes of properties."""

    kept: bool
    since: str | None = Field(description="Earlier ones are too old; null where none are.")
    bytes: int


class KeepingSetting(Shape):
    """A setting in force, which the operator sets."""

    key: str = Field(examples=["History__KeepDays"])
    value: Any
    description: str


class KeptPast(Shape):
    """What the graph keeps of its past, and the settings that say so."""

    changes: KeptChanges
    points: KeptPoints | None
    settings: list[KeepingSetting]


class GraphChange(Shape):
    """How a twin, relationship or model differs between two states."""

    kind: str = Field(examples=["twin", "relationship", "model"])
    id: str | None = Field(None, description="Of a twin or model.")
    source_id: str | None = Field(None, alias="sourceId")
    relationship_id: str | None = Field(None, alias="relationshipId")
    action: str = Field(examples=["created", "updated", "deleted"])
    before: dict[str, Any] | None = Field(None, description="What was deleted.")
    after: dict[str, Any] | None = Field(None, description="What was created.")
    changes: list[ChangedProperty] | None = Field(None, description="Of what was updated.")


class GraphChangesPage(Shape):
    """A page of differences. It may be empty and have a next link."""

    start: int = Field(alias="from", description="The position of the earlier state.")
    to: int = Field(description="The position of the later state.")
    value: list[GraphChange]
    next_link: str | None = Field(alias="nextLink")


async def read_twin_history(
    api: GraphApiContext, request: Request, response: Response, twin_id: str
) -> None:
    """GET: a page of the changes of a twin."""
    await _answer_history(api, request, response, twin_id)


async def read_relationship_history(
    api: GraphApiContext, request: Request, response: Response, twin_id: str, relationship_id: str
) -> None:
    """GET: a page of the changes of a relationship."""
    await _answer_history(api, request, response, twin_id, relationship_id)


async def _answer_history(
    api: GraphApiContext, request: Request, response: Response, *key: str
) -> None:
    question = HistoryQuestion(
        request.get_param("from"),
        request.get_param("to"),
        request.get_param("path"),
        _read_order(request),
    )
    changes, asked = api.graph.changes, read_page_request(request)
    if len(key) == 1:
        found = await changes.list_of_twin(key[0], question, asked)
    else:
        found = await changes.list_of_relationship(key[0], key[1], question, asked)
    kept = {
        "from": None if question.start is None else str(found.within.after),
        "to": None if question.end is None else str(found.within.end),
        "path": question.path,
        "order": "newest" if question.newest_first else None,
    }
    given = {name: value for name, value in kept.items() if value is not None}
    write_page(api, request, response, found.page, found.page.items, given)


async def read_changes(api: GraphApiContext, request: Request, response: Response) -> None:
    """GET: how two states of the graph differ, in pages or as lines."""
    start, end = request.get_param("from"), request.get_param("to")
    types = _read_types(request)
    await authorize_parts(read_exchange(request), [_PERMISSIONS[one] for one in types])
    if not start:
        raise MissingArgument("from is needed: the moment or position of the earlier state.")
    asked = read_page_request(request)
    changes = api.graph.changes
    found = await changes.list_of_graph(start, end, types, asked)
    response.set_header("vary", "Accept")
    within = found.within
    if _wants_lines(request):
        response.content_type = NDJSON
        if request.method == "HEAD":
            leave_out_stream(response)
            return
        exchange = read_exchange(request)
        await exchange.read_body()
        response.stream = stream_answer(exchange, ChangeLines(changes, (start, end), types, found))
        return
    kept = {"from": str(within.after), "include": ",".join(one.value for one in types)}
    if end is not None:
        kept["to"] = str(within.end)
    next_link = build_next_link(api, request, found.page, kept)
    head = b'{"from":%d,"to":%d,"value":[' % (within.after, within.end)
    response.data = render_listing(head, found.page.items, b'],"nextLink":%b}' % next_link)


class ChangeLines:
    """The pages of differences after a first one, as lines of JSON."""

    def __init__(
        self,
        changes: Changes,
        bounds: tuple[str, str | None],
        types: tuple[EntityType, ...],
        first: ChangePage,
    ) -> None:
        within = first.within
        self._changes = changes
        self._bounds = str(within.after), None if bounds[1] is None else str(within.end)
        self._types = types
        self._items = first.page.items
        self._token = first.page.token

    async def read(self) -> bytes:
        """Return the lines of the next page that has any; empty at the end."""
        while not self._items and self._token is not None:
            page = PageRequest(None, self._token)
            found = await self._changes.list_of_graph(*self._bounds, self._types, page)
            self._items, self._token = found.page.items, found.page.token
        lines = b"".join(b"%b\n" % item for item in self._items)
        self._items = ()
        return lines

    async def close(self) -> None:
        """Do nothing: pages hold no resources."""


async def read_keeping(api: GraphApiContext, _request: Request, response: Response) -> None:
    """GET: what is kept of the past."""
    response.data = await api.graph.keeping.read()


def _read_order(request: Request) -> bool:
    """Return whether the newest change comes first."""
    text = request.get_param("order") or _ORDERS[0]
    if text not in _ORDERS:
        raise InvalidArgument(f"order is {' or '.join(_ORDERS)}, not {text[:100]!a}.")
    return text == _ORDERS[1]


_ORDERS: Final = ("oldest", "newest")


def _read_types(request: Request) -> tuple[EntityType, ...]:
    names = dict.fromkeys(read_list(request, "include"))
    for name in names:
        if name not in _TYPES:
            raise InvalidArgument(
                f"include takes {', '.join(_TYPES)}, not {name[:100]!a}. "
                f"{render_hint(name, _TYPES)}"
            )
    return tuple(one for one in EntityType if not names or one.value in names)


def _wants_lines(request: Request) -> bool:
    """Return whether lines are preferred to a page. SPEC: RFC 9110 section 12.5.1."""
    header = request.get_header("Accept")
    if header is None:
        return False
    try:
        lines = max(mediatypes.quality(one, header) for one in _LINE_TYPES)
        return lines > mediatypes.quality(_JSON, header)
    except (InvalidMediaRange, ValueError) as error:
        raise InvalidArgument(f"The Accept header {header!a} cannot be read.") from error


_FROM: Final = "a date and time with an offset, or the position of a change."
_BOUNDS: Final = (
    Parameter("from", "query", f"Only later changes: {_FROM}"),
    Parameter("to", "query", f"Only changes up to then, which is included: {_FROM}"),
)
_QUESTION: Final = (
    *_BOUNDS,
    Parameter("path", "query", "Only changes of this property, such as thermostat/setPoint."),
    Parameter("order", "query", "Which change comes first: the oldest (the default) or newest."),
    TOKEN,
    PAGE_SIZE,
)
_HISTORY: Final = Answer(200, "A page of changes.", HistoryPage)
_TWIN: Final = "/digitaltwins/{twin_id}"
_NO_TWIN: Final = "DigitalTwinNotFound"
_ERRORS: Final = {
    400: "BadRequest, InvalidArgument, TimeoutError",
    410: "HistoryNotKept",
    501: "NotImplemented",
}

HISTORY_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "GET /history",
        "History_ReadKept",
        "Read what is kept of the past: since when, how much, by which settings",
        _TWINS,
        read_keeping,
        Answer(200, "What is kept.", KeptPast),
        "History",
        is_strict=True,
    ),
    Route(
        f"GET {_TWIN}/history",
        "History_ReadTwin",
        "List the changes of a twin",
        _TWINS,
        read_twin_history,
        _HISTORY,
        "History",
        _QUESTION,
        errors=_ERRORS | {404: _NO_TWIN},
        is_strict=True,
    ),
    Route(
        f"GET {_TWIN}/relationships/{{relationship_id}}/history",
        "History_ReadRelationship",
        "List the changes of a relationship",
        "digitaltwins/relationships/read",
        read_relationship_history,
        _HISTORY,
        "History",
        _QUESTION,
        errors=_ERRORS | {404: f"{_NO_TWIN}, RelationshipNotFound"},
        is_strict=True,
    ),
    Route(
        "GET /changes",
        "History_CompareGraph",
        "Compare two states of the graph",
        _TWINS,
        read_changes,
        Answer(200, "A page of differences, or lines of them.", GraphChangesPage),
        "History",
        (
            Parameter("from", "query", f"The earlier state: {_FROM}", required=True),
            Parameter("to", "query", "The later state; now if it is missing."),
            Parameter("include", "query", "Only twins, relationships or models.", list[str]),
            TOKEN,
            PAGE_SIZE,
        ),
        errors=_ERRORS | {403: "Forbidden"},
        is_strict=True,
    ),
)
