"""Tools for twins: read, search, put, patch, delete; the use cases validate the input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

import orjson
from pydantic import Field

from twinframe.errors import InvalidArgument, RelationshipsNotDeleted
from twinframe.graph.models.outlines import Outlines
from twinframe.graph.twins.observation import WriteCases
from twinframe.graph.twins.removal import read_relationship_keys
from twinframe.mcp.arguments import (
    Arguments,
    Confirm,
    DryRun,
    FullValues,
    IfMatch,
    JsonObject,
    Limit,
    ModelId,
    Patch,
    Token,
    TwinId,
)
from twinframe.mcp.budget import Fetched
from twinframe.mcp.changes import fit_changes, hide_changes, name_action, render_changes
from twinframe.mcp.errors import clean_text
from twinframe.mcp.names import find_models, list_some
from twinframe.mcp.tool import Answer, Effect, Tool, Toolbox, build_output, require_confirmation
from twinframe.mcp.tools.querying import add_notes
from twinframe.model.etags import ABSENT, UNCONDITIONED, parse_condition
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphSession, StoredDocument

_MOST_WORDS: Final = 5
_MOST_PROPERTIES: Final = 25
_TEXT: Final = "string"
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class Search:
    """A search: its words, the searched properties, the query and its values."""

    words: tuple[str, ...]
    properties: tuple[str, ...]
    query: str
    parameters: Mapping[str, JsonValue]


def build_search(outlines: Outlines, text: str, model_ids: frozenset[str]) -> Search:
    """Build the search for twins that contain each word of `text` in id or text properties.

    It searches the 25 properties that most interfaces have. SEC: words are passed as parameters;
    only names of stored models are written into the query, quoted.
    """
    words = tuple(dict.fromkeys(text.lower().split()))
    if not words:
        raise InvalidArgument("search_text holds no word.")
    if len(words) > _MOST_WORDS:
        raise InvalidArgument(f"search_text has {len(words)} words; at most {_MOST_WORDS} count.")
    properties = _choose_properties(outlines, model_ids)
    members = ["t.`$dtId`", *(f"t.{quote(name)}" for name in properties)]
    conditions = [
        "(" + " OR ".join(f"toLower({member}) CONTAINS $w{at}" for member in members) + ")"
        for at in range(len(words))
    ]
    if model_ids:
        labels = "|".join(map(quote, sorted(model_ids)))
        pattern = f"MATCH (t:{labels})"
    else:
        pattern = "MATCH (t:Twin)"
    return Search(
        words,
        properties,
        f"{pattern} WHERE {' AND '.join(conditions)} RETURN t",
        {f"w{at}": word for at, word in enumerate(words)},
    )


def find_matches(row: dict[str, dict[str, JsonValue]], search: Search) -> bytes:
    """Render a hit as JSON: the twin's id and model, its name, and the other members that
    matched.
    """
    twin = row["t"]
    metadata = twin["$metadata"]
    hit: dict[str, JsonValue] = {
        "twin_id": twin["$dtId"],
        "model_id": metadata.get("$model") if isinstance(metadata, dict) else None,
    }
    for name in dict.fromkeys(["name", *search.properties]):
        value = twin.get(name)
        if isinstance(value, str) and (
            name == "name" or any(word in value.lower() for word in search.words)
        ):
            hit[name] = value[:_LONGEST]
    return orjson.dumps(hit)


def quote(name: str) -> str:
    """Render a name for a query."""
    return f"`{name.replace('`', '``')}`"


def _choose_properties(outlines: Outlines, model_ids: frozenset[str]) -> tuple[str, ...]:
    """List names of text properties, those of most interfaces first; of these models, if any."""
    seen = Counter[str]()
    for model_id in outlines.interfaces:
        ancestors = outlines.list_ancestors(model_id)
        if model_ids and model_ids.isdisjoint(ancestors):
            continue
        seen.update(
            one.name
            for outline, _ in outlines.list_contents(model_id)
            for one in outline.properties
            if one.schema == _TEXT
        )
    ranked = sorted(seen, key=lambda name: (name != "name", -seen[name], name))
    return tuple(ranked[:_MOST_PROPERTIES])


READ_TWINS: Final = "digitaltwins/read"
READ_RELATIONSHIPS: Final = "digitaltwins/relationships/read"
_SHOWN_RELATIONSHIPS: Final = 20


class GetDigitalTwin(Arguments):
    """Arguments of `get_digital_twin`."""

    twin_id: TwinId
    as_of: Annotated[
        str | None, Field(description="As it was then: 2026-03-01T14:05:00Z, or a position")
    ] = None
    full_values: FullValues = False


async def get_digital_twin(box: Toolbox, given: GetDigitalTwin) -> Answer:
    """The twin's document, now or at a moment."""
    graph = box.graph
    position = None if given.as_of is None else await graph.history.find_position(given.as_of)
    stored = await graph.twins.read_twin(given.twin_id, position)
    budget = box.open_budget(1, full=given.full_values)
    twin = budget.cut(orjson.loads(stored.body))
    return Answer(add_notes({"twin": twin, "etag": stored.etag}, [], budget.shortening.paths))


class SearchDigitalTwins(Arguments):
    """Arguments of `search_digital_twins`."""

    search_text: Annotated[
        str, Field(min_length=1, max_length=200, description="One to five words or their parts")
    ]
    model_id: Annotated[
        str | None, Field(description="Only twins of this interface (id or name) and its subtypes")
    ] = None
    limit: Limit = 20
    continuation_token: Token = None


async def search_digital_twins(box: Toolbox, given: SearchDigitalTwins) -> Answer:
    """Return ids of twins that contain all the words, with the members that contain them."""
    outlines = await box.graph.overview.read_outlines()
    models = find_models(outlines, [given.model_id] if given.model_id else [])
    search = build_search(outlines, given.search_text, models)
    budget = box.open_budget(given.limit, carried=search.query)

    async def fetch(token: str | None, size: int) -> Fetched:
        page = await box.graph.queries.run(search.query, search.parameters, token, size)
        rows = [find_matches(orjson.loads(row), search) for row in page.rows]
        return Fetched(rows, page.continuation_token)

    taken = await budget.take(fetch, given.continuation_token)
    return Answer(taken.build_page("twins"))


class CreateOrReplaceDigitalTwin(Arguments):
    """Arguments of `create_or_replace_digital_twin`."""

    twin_id: TwinId
    model_id: ModelId
    properties: JsonObject = Field(
        default_factory=dict,
        description='{"name":"Room 7","climate":{"setpoint":21}}; components are objects',
    )
    only_create: Annotated[bool, Field(description="true: fail if the twin exists")] = False
    dry_run: DryRun = False


async def create_or_replace_digital_twin(box: Toolbox, given: CreateOrReplaceDigitalTwin) -> Answer:
    """Put a twin; return its old and new state."""
    document: dict[str, Any] = {**given.properties, "$metadata": {"$model": given.model_id}}
    outlines = await box.graph.overview.read_outlines()
    for outline, _ in outlines.list_contents(given.model_id):
        for component in outline.components:
            # SPEC: a component is written with its (empty) $metadata, also one without values.
            part = document.setdefault(component.name, {})
            if isinstance(part, dict):
                document[component.name] = {"$metadata": {}, **part}
    condition = ABSENT if given.only_create else UNCONDITIONED
    return await write_document(
        box,
        lambda session: session.read_twin(given.twin_id),
        READ_TWINS,
        lambda cases: cases.twins.put_twin(given.twin_id, document, condition),
        dry_run=given.dry_run,
    )


class UpdateDigitalTwin(Arguments):
    """Arguments of `update_digital_twin`."""

    twin_id: TwinId
    patch: Patch
    if_match: IfMatch = None
    dry_run: DryRun = False


async def update_digital_twin(box: Toolbox, given: UpdateDigitalTwin) -> Answer:
    """Patch a twin; return the changes."""
    return await write_document(
        box,
        lambda session: session.read_twin(given.twin_id),
        READ_TWINS,
        lambda cases: cases.twins.patch_twin(
            given.twin_id, given.patch, parse_condition(given.if_match)
        ),
        dry_run=given.dry_run,
        action="updated",
    )


class DeleteDigitalTwin(Arguments):
    """Arguments of `delete_digital_twin`."""

    twin_id: TwinId
    if_match: IfMatch = None
    confirm: Confirm = False
    delete_relationships: Annotated[
        bool,
        Field(
            description="true: also all relationships from and to it; needs "
            "digitaltwins/relationships/delete"
        ),
    ] = False
    dry_run: DryRun = False


async def delete_digital_twin(box: Toolbox, given: DeleteDigitalTwin) -> Answer:
    """Delete a twin, with its relationships if requested; return these."""
    require_confirmation(given.if_match, confirmed=given.confirm or given.dry_run)
    if given.delete_relationships:
        action = f"tools/call delete_digital_twin {clean_text(given.twin_id)}"
        await box.access.check("digitaltwins/relationships/delete", action)

    def look(session: GraphSession) -> tuple[StoredDocument | None, list[str]]:
        keys = read_relationship_keys(session, given.twin_id, _SHOWN_RELATIONSHIPS + 1)
        return session.read_twin(given.twin_id), [f"{source}/{one}" for source, one in keys]

    async def act(cases: WriteCases) -> int:
        if given.delete_relationships:
            return await cases.removal.remove_twin(given.twin_id, parse_condition(given.if_match))
        await cases.twins.delete_twin(given.twin_id, parse_condition(given.if_match))
        return 0

    is_seen = await box.access.holds(READ_TWINS)
    are_seen = await box.access.holds(READ_RELATIONSHIPS)
    try:
        seen = await box.graph.observation.run(look, act, keep=not given.dry_run)
    except RelationshipsNotDeleted as error:
        raise await _explain_relationships(box, given.twin_id, error) from error
    twin, related = seen.before
    changes = render_changes(twin, None) if is_seen else hide_changes(READ_TWINS)
    document: dict[str, JsonValue] = {
        "action": "deleted",
        "dry_run": given.dry_run,
        "changes": fit_changes(changes, box.open_budget(1).size // 2),
    }
    if seen.result:
        document["relationships_deleted"] = seen.result
        if are_seen:
            document["relationships"] = list_some(related, _SHOWN_RELATIONSHIPS)
    return Answer(document)


async def _explain_relationships(
    box: Toolbox, twin_id: str, error: RelationshipsNotDeleted
) -> RelationshipsNotDeleted:
    """Return the same error with the conflicting relationships, if the caller may read them."""
    if not await box.access.holds(READ_RELATIONSHIPS):
        return error
    graph = box.graph.relationships
    outgoing = [orjson.loads(one) for one in (await graph.list_relationships(twin_id)).items]
    incoming = (await graph.list_incoming(twin_id)).items
    related = [
        f"{twin_id} -{one['$relationshipName']}-> {one['$targetId']} ({one['$relationshipId']})"
        for one in outgoing
    ]
    related += [f"{one.source_id} -{one.name}-> {twin_id}" for one in incoming]
    return RelationshipsNotDeleted(
        f"{error.message} In the way: {list_some(related, 10)}. Delete them first, or set "
        "delete_relationships: true."
    )


Look = Callable[[GraphSession], StoredDocument | None]
"""Reads what a tool writes, before and after it."""


async def write_document(
    box: Toolbox,
    look: Look,
    permission: str,
    act: Callable[[WriteCases], Awaitable[object]],
    *,
    dry_run: bool,
    action: str | None = None,
) -> Answer:
    """Run a use case that writes one document, or rehearse it, and return the changes.

    The etag is returned only of what is stored. Of a created document only a rehearsal returns the
    whole: otherwise it is what the caller just sent. SEC: a caller without the `permission` to read
    it sees no changes.
    """
    is_seen = await box.access.holds(permission)
    seen = await box.graph.observation.run(look, act, keep=not dry_run)
    before, after = seen.before, seen.after
    changes: list[JsonValue] = []
    if not is_seen:
        changes = hide_changes(permission)
    elif dry_run or before is not None:
        changes = fit_changes(render_changes(before, after), box.open_budget(1).size)
    document: dict[str, JsonValue] = {
        "action": action or name_action(before, after),
        "dry_run": dry_run,
        "changes": changes,
    }
    if after is not None and not dry_run:
        document["etag"] = after.etag
    return Answer(document)


WRITTEN: Final = build_output(
    {"action": "string", "dry_run": "boolean", "changes": "objects"}, etag="string"
)

TWINS: Final = (
    Tool(
        "get_digital_twin",
        "Read a twin",
        "One twin by its id: properties, components, model and etag.",
        Effect.READ,
        (READ_TWINS,),
        GetDigitalTwin,
        build_output({"twin": "object", "etag": "string"}, shortened="texts"),
        get_digital_twin,
        {"twin_id": "room-7"},
    ),
    Tool(
        "search_digital_twins",
        "Search twins by words",
        "Find twins whose id or texts hold all the words, in any case of letters. For conditions "
        "on values use query_digital_twins.",
        Effect.READ,
        ("query/read",),
        SearchDigitalTwins,
        build_output(
            {"twins": "objects", "truncated": "boolean", "continuation_token": "text or null"}
        ),
        search_digital_twins,
        {"search_text": "north wing", "model_id": "Building"},
    ),
    Tool(
        "create_or_replace_digital_twin",
        "Create or replace a twin",
        "Write a whole twin; properties left out are removed. To change some, use "
        "update_digital_twin. get_model tells what its model allows.",
        Effect.CHANGE,
        ("digitaltwins/write",),
        CreateOrReplaceDigitalTwin,
        WRITTEN,
        create_or_replace_digital_twin,
        {
            "twin_id": "room-7",
            "model_id": "dtmi:com:example:Room;1",
            "properties": {"name": "Room 7"},
            "dry_run": True,
        },
    ),
    Tool(
        "update_digital_twin",
        "Change a twin",
        "Change some properties of a twin by JSON Patch (add, replace, remove).",
        Effect.CHANGE,
        ("digitaltwins/write",),
        UpdateDigitalTwin,
        WRITTEN,
        update_digital_twin,
        {
            "twin_id": "room-7",
            "patch": [{"op": "replace", "path": "/name", "value": "Room 7a"}],
        },
    ),
    Tool(
        "delete_digital_twin",
        "Delete a twin",
        "Delete a twin for good; needs if_match or confirm.",
        Effect.DELETE,
        ("digitaltwins/delete",),
        DeleteDigitalTwin,
        build_output(
            {"action": "string", "dry_run": "boolean", "changes": "objects"},
            relationships_deleted="integer",
            relationships="string",
        ),
        delete_digital_twin,
        {"twin_id": "room-7", "confirm": True},
    ),
)
