"""Tools for the past: what changed, and how a value ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from twinframe.graph.history.changes import HistoryQuestion
from twinframe.graph.history.graph_changes import EntityType
from twinframe.graph.series.questions import SeriesQuestion
from twinframe.mcp.arguments import Arguments, Limit, Token, TwinId
from twinframe.mcp.budget import Fetched, measure
from twinframe.mcp.digest import BYTES_A_TOKEN
from twinframe.mcp.tool import Answer, Effect, Tool, Toolbox, build_output
from twinframe.mcp.tools.querying import add_notes
from twinframe.model.moments import SECOND, render_moment
from twinframe.model.pages import PageRequest
from twinframe.model.values import JsonValue
from twinframe.storage.points import Buckets, PointValue

_READ_TWINS: Final = "digitaltwins/read"
_READ_RELATIONSHIPS: Final = "digitaltwins/relationships/read"
_READ_MODELS: Final = "models/read"
_OF_KINDS: Final = {
    "twins": _READ_TWINS,
    "relationships": _READ_RELATIONSHIPS,
    "models": _READ_MODELS,
}

Start = Annotated[
    str, Field(description="Moment (2026-03-01T14:05:00Z) or position of the earlier state")
]
Path = Annotated[str, Field(description="temperature, or thermostat/setPoint of a component")]


class ListChanges(Arguments):
    """Arguments of `list_changes`."""

    twin_id: TwinId
    relationship_id: Annotated[
        str | None,
        Field(
            description="Of this relationship of the twin instead; needs "
            "digitaltwins/relationships/read instead"
        ),
    ] = None
    path: Annotated[
        str | None, Field(description="Only of this property: temperature, thermostat/setPoint")
    ] = None
    start: Annotated[str | None, Field(description="Only later than this moment or position")] = (
        None
    )
    end: Annotated[str | None, Field(description="Only up to this moment or position")] = None
    oldest_first: Annotated[bool, Field(description="true: oldest first; else newest")] = False
    limit: Limit = 20
    continuation_token: Token = None


async def list_changes(box: Toolbox, given: ListChanges) -> Answer:
    """Return the changes of a twin or relationship."""
    question = HistoryQuestion(given.start, given.end, given.path, not given.oldest_first)
    changes = box.graph.changes

    async def fetch(token: str | None, size: int) -> Fetched:
        asked = PageRequest(size, token)
        if given.relationship_id is None:
            found = await changes.list_of_twin(given.twin_id, question, asked)
        else:
            key = given.twin_id, given.relationship_id
            found = await changes.list_of_relationship(*key, question, asked)
        return Fetched(found.page.items, found.page.token)

    budget = box.open_budget(given.limit, carried=given.continuation_token or "")
    taken = await budget.take(fetch, given.continuation_token)
    return Answer(add_notes(taken.build_page("changes"), [], budget.shortening.paths))


def _narrow_changes(given: Mapping[str, Any]) -> Sequence[str]:
    return (_READ_TWINS if given.get("relationship_id") is None else _READ_RELATIONSHIPS,)


class CompareStates(Arguments):
    """Arguments of `compare_states`."""

    start: Start
    end: Annotated[str | None, Field(description="Of the later state; none: now")] = None
    include: list[Literal["twins", "relationships", "models"]] = Field(
        default_factory=list, description="Only these, with their permissions; none: all"
    )
    limit: Limit = 50
    continuation_token: Token = None


async def compare_states(box: Toolbox, given: CompareStates) -> Answer:
    """Return what differs between two states of the graph."""
    types = [EntityType(one) for one in given.include] or list(EntityType)
    bounds: list[int] = []

    async def fetch(token: str | None, size: int) -> Fetched:
        asked = PageRequest(size, token)
        found = await box.graph.changes.list_of_graph(given.start, given.end, types, asked)
        bounds[:] = found.within
        return Fetched(found.page.items, found.page.token)

    budget = box.open_budget(given.limit, carried=given.continuation_token or "")
    taken = await budget.take(fetch, given.continuation_token)
    document = taken.build_page("changes")
    document["start_position"], document["end_position"] = bounds
    return Answer(add_notes(document, [], budget.shortening.paths))


def _narrow_states(given: Mapping[str, Any]) -> Sequence[str]:
    include = given.get("include")
    kinds = [kind for kind in _OF_KINDS if isinstance(include, list) and kind in include]
    return [_OF_KINDS[kind] for kind in kinds or _OF_KINDS]


class SummarizeSeries(Arguments):
    """Arguments of `summarize_series`."""

    twin_id: TwinId
    path: Path
    start: Annotated[str, Field(description="First moment, such as 2026-03-01T14:00:00Z")]
    end: Annotated[str | None, Field(description="The moment before which it ends; none: now")] = (
        None
    )
    max_tokens: Annotated[int, Field(ge=200, le=5000, description="How long the answer may be")] = (
        800
    )


_SUMMARY: Final = ("count", "avg", "min", "max", "first", "last")
_HEAD_BYTES: Final = 400
"""Of the answer without its rows, if no text is in it."""
_ROW_BYTES: Final = 64
_LONGEST_TEXT: Final = 40
_MOST_BUCKETS: Final = 500
_DIGITS: Final = 6
_MINUTE, _HOUR, _DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
_STEPS: Final = (
    *(count * SECOND for count in (1, 2, 5, 10, 30)),
    *(count * _MINUTE for count in (1, 2, 5, 10, 30)),
    *(count * _HOUR for count in (1, 2, 6, 12)),
    *(count * _DAY for count in (1, 2, 7, 30)),
)


async def summarize_series(box: Toolbox, given: SummarizeSeries) -> Answer:
    """Return the aggregates of a series, and of as many steps of it as fit."""
    series = box.graph.series
    whole = SeriesQuestion(given.start, given.end, "999999999d", _SUMMARY)
    asked = series.parse(whole)
    key = given.twin_id, given.path
    (total,) = _build_rows(await series.read_buckets(*key, whole)) or ([],)
    is_number = bool(total) and total[2] is not None
    names = ("avg", "min", "max") if is_number else ("last", "count")
    size = min(given.max_tokens * BYTES_A_TOKEN, box.limits.max_bytes)
    most = min(max((size - _HEAD_BYTES) // _ROW_BYTES, 1), _MOST_BUCKETS)
    while True:
        every = _choose_step(asked.end - asked.start, most)
        question = SeriesQuestion(
            given.start, render_moment(asked.end), f"{every // 1000}ms", names
        )
        rows = _build_rows(await series.read_buckets(*key, question)) if total else []
        document: dict[str, JsonValue] = {
            "start": render_moment(asked.start),
            "end": render_moment(asked.end),
            "summary": dict(zip(_SUMMARY, total[1:], strict=True)) if total else {"count": 0},
            "step": _render_step(every),
            "columns": ["time", *names],
            "buckets": list[JsonValue](rows),
        }
        if measure(document) <= size or most == 1:
            return Answer(document)
        most = max(most // 2, 1)  # texts are longer than numbers


def _choose_step(length: int, most: int) -> int:
    """Return a usual step, in microseconds, that gives at most this many buckets."""
    for step in _STEPS:
        if -(-length // step) <= most:
            return step
    return -(-length // (most * _DAY)) * _DAY


def _render_step(step: int) -> str:
    for name, unit in (("d", _DAY), ("h", _HOUR), ("m", _MINUTE)):
        if step % unit == 0:
            return f"{step // unit}{name}"
    return f"{step // SECOND}s"


def _build_rows(buckets: Buckets) -> list[list[JsonValue]]:
    return [
        [render_moment(start), *map(_shorten, values)]
        for start, *values in zip(buckets.starts, *buckets.columns, strict=True)
    ]


def _shorten(value: PointValue | None) -> JsonValue:
    """Return a number with six digits, a text with its beginning."""
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_TEXT else f"{value[:_LONGEST_TEXT]}…"
    if isinstance(value, float):
        short = float(f"{value:.{_DIGITS}g}")
        return int(short) if short.is_integer() and abs(short) < 10**_DIGITS else short
    return value


_PAGE: Final = {
    "changes": "objects",
    "truncated": "boolean",
    "continuation_token": "text or null",
}

HISTORY: Final = (
    Tool(
        "list_changes",
        "List changes",
        "What changed of one twin or relationship, newest first: when, by whom, and each property "
        "before and after. Works for deleted ones. describe_graph says how far back it goes; "
        "get_digital_twin with as_of shows an earlier state.",
        Effect.READ,
        (_READ_TWINS,),
        ListChanges,
        build_output(_PAGE, shortened="texts"),
        list_changes,
        {"twin_id": "room-7", "path": "temperature", "start": "2026-03-01T00:00:00Z"},
        _narrow_changes,
    ),
    Tool(
        "compare_states",
        "Compare two states of the graph",
        "What was created, updated and deleted in the whole graph between two moments. What was "
        "changed and changed back is left out.",
        Effect.READ,
        tuple(_OF_KINDS.values()),
        CompareStates,
        build_output(
            {**_PAGE, "start_position": "integer", "end_position": "integer"}, shortened="texts"
        ),
        compare_states,
        {"start": "2026-03-01T14:00:00Z", "include": ["twins"]},
        _narrow_states,
    ),
    Tool(
        "summarize_series",
        "Summarize values over time",
        "How a property or telemetry of a twin ran: count, average, extremes, and a row for each "
        "step of time, as many as fit. Averages of properties are weighted by time.",
        Effect.READ,
        (_READ_TWINS,),
        SummarizeSeries,
        build_output(
            {
                "start": "string",
                "end": "string",
                "summary": "object",
                "step": "string",
                "columns": "texts",
                "buckets": "array",
            }
        ),
        summarize_series,
        {"twin_id": "room-7", "path": "temperature", "start": "2026-03-01T00:00:00Z"},
    ),
)
