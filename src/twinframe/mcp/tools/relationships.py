"""Tools for relationships: read, list in both directions, put, patch, delete."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final, Literal

import orjson
from pydantic import Field

from twinframe.errors import InvalidContinuationToken
from twinframe.graph.twins.observation import WriteCases
from twinframe.mcp.arguments import (
    OBJECTS,
    Arguments,
    Confirm,
    DryRun,
    FullValues,
    IfMatch,
    JsonObject,
    Limit,
    RelationshipId,
    SourceId,
    Token,
    TwinId,
)
from twinframe.mcp.budget import Fetched
from twinframe.mcp.names import warn_of_relationships
from twinframe.mcp.tool import Answer, Effect, Tool, Toolbox, build_output, require_confirmation
from twinframe.mcp.tools.querying import add_notes
from twinframe.mcp.tools.twins import READ_RELATIONSHIPS, WRITTEN, Look, write_document
from twinframe.model.etags import ABSENT, UNCONDITIONED, parse_condition
from twinframe.model.pages import PageRequest
from twinframe.model.values import JsonValue

_OUT: Final = "o"
_IN: Final = "i"


class ListRelationships(Arguments):
    """Arguments of `list_relationships`."""

    twin_id: TwinId
    direction: Annotated[
        Literal["outgoing", "incoming", "both"], Field(description="Seen from the twin")
    ] = "both"
    relationship_name: Annotated[
        str | None, Field(description="Only those of this name, such as feeds")
    ] = None
    limit: Limit = 100
    continuation_token: Token = None


async def list_relationships(box: Toolbox, given: ListRelationships) -> Answer:
    """List outgoing relationships, then incoming ones, as far as they fit."""
    listing = _Listing(box, given)
    budget = box.open_budget(given.limit)
    if given.relationship_name is not None:
        budget.keeps = listing.is_named
    taken = await budget.take(listing.fetch, given.continuation_token)
    document = taken.build_page("relationships")
    name = given.relationship_name
    if not taken.rows and name is not None and await box.access.holds("models/read"):
        outlines = await box.graph.overview.read_outlines()
        if warnings := warn_of_relationships(outlines, [name]):
            document["warnings"] = warnings
    return Answer(add_notes(document, [], budget.shortening.paths))


class _Listing:
    """Both directions as one listing. A token has the direction and the position in it."""

    def __init__(self, box: Toolbox, given: ListRelationships) -> None:
        self._graph = box.graph.relationships
        self._twin_id = given.twin_id
        self._name = given.relationship_name
        self._direction = given.direction

    def is_named(self, row: JsonValue) -> bool:
        """Return whether the row has the requested name."""
        return isinstance(row, dict) and row["$relationshipName"] == self._name

    async def fetch(self, token: str | None, size: int) -> Fetched:
        """Return a page of one direction; the last of the outgoing ones leads to the incoming
        ones.
        """
        part, _, inner = (token or "").partition(".")
        if token is None:
            part = _IN if self._direction == "incoming" else _OUT
        if part == _OUT and self._direction != "incoming":
            return await self._fetch_outgoing(PageRequest(size, inner or None))
        if part == _IN and self._direction != "outgoing":
            return await self._fetch_incoming(PageRequest(size, inner or None))
        raise InvalidContinuationToken(
            "The continuation token belongs to another listing. Send it with the arguments of the "
            "answer that gave it, or start without one."
        )

    async def _fetch_outgoing(self, page: PageRequest) -> Fetched:
        found = await self._graph.list_relationships(self._twin_id, self._name, page)
        if found.token is not None:
            return Fetched(found.items, f"{_OUT}.{found.token}")
        return Fetched(found.items, f"{_IN}." if self._direction == "both" else None)

    async def _fetch_incoming(self, page: PageRequest) -> Fetched:
        found = await self._graph.list_incoming(self._twin_id, page)
        rows = [
            orjson.dumps(
                {
                    "$relationshipId": one.relationship_id,
                    "$sourceId": one.source_id,
                    "$relationshipName": one.name,
                    "$targetId": self._twin_id,
                }
            )
            for one in found.items
        ]
        return Fetched(rows, found.token and f"{_IN}.{found.token}")


class GetRelationship(Arguments):
    """Arguments of `get_relationship`."""

    source_id: SourceId
    relationship_id: RelationshipId
    full_values: FullValues = False


async def get_relationship(box: Toolbox, given: GetRelationship) -> Answer:
    """The relationship's document."""
    stored = await box.graph.relationships.read_relationship(given.source_id, given.relationship_id)
    budget = box.open_budget(1, full=given.full_values)
    document: dict[str, JsonValue] = {
        "relationship": budget.cut(orjson.loads(stored.body)),
        "etag": stored.etag,
    }
    return Answer(add_notes(document, [], budget.shortening.paths))


class CreateOrReplaceRelationship(Arguments):
    """Arguments of `create_or_replace_relationship`."""

    source_id: SourceId
    relationship_id: RelationshipId
    relationship_name: Annotated[str, Field(description="As the source's model names it: feeds")]
    target_id: Annotated[str, Field(description="$dtId of the twin where it ends")]
    properties: JsonObject = Field(
        default_factory=dict, description="Its own properties, as the model defines them"
    )
    only_create: Annotated[bool, Field(description="true: fail if it exists")] = False
    dry_run: DryRun = False


async def create_or_replace_relationship(
    box: Toolbox, given: CreateOrReplaceRelationship
) -> Answer:
    """Put a relationship; return its old and new state."""
    document = {
        **given.properties,
        "$relationshipName": given.relationship_name,
        "$targetId": given.target_id,
    }
    key = given.source_id, given.relationship_id
    condition = ABSENT if given.only_create else UNCONDITIONED
    return await _write(
        box,
        key,
        lambda cases: cases.relationships.put_relationship(*key, document, condition),
        dry_run=given.dry_run,
    )


class UpdateRelationship(Arguments):
    """Arguments of `update_relationship`."""

    source_id: SourceId
    relationship_id: RelationshipId
    patch: Annotated[
        list[Any],
        Field(
            json_schema_extra=OBJECTS,
            description="JSON Patch of its properties; name and ends cannot change",
        ),
    ]
    if_match: IfMatch = None
    dry_run: DryRun = False


async def update_relationship(box: Toolbox, given: UpdateRelationship) -> Answer:
    """Patch a relationship; return the changes."""
    key = given.source_id, given.relationship_id
    return await _write(
        box,
        key,
        lambda cases: cases.relationships.patch_relationship(
            *key, given.patch, parse_condition(given.if_match)
        ),
        dry_run=given.dry_run,
        action="updated",
    )


class DeleteRelationship(Arguments):
    """Arguments of `delete_relationship`."""

    source_id: SourceId
    relationship_id: RelationshipId
    if_match: IfMatch = None
    confirm: Confirm = False
    dry_run: DryRun = False


async def delete_relationship(box: Toolbox, given: DeleteRelationship) -> Answer:
    """Delete a relationship; return its last state."""
    require_confirmation(given.if_match, confirmed=given.confirm or given.dry_run)
    key = given.source_id, given.relationship_id
    return await _write(
        box,
        key,
        lambda cases: cases.relationships.delete_relationship(
            *key, parse_condition(given.if_match)
        ),
        dry_run=given.dry_run,
    )


async def _write(
    box: Toolbox,
    key: tuple[str, str],
    act: Callable[[WriteCases], Awaitable[object]],
    *,
    dry_run: bool,
    action: str | None = None,
) -> Answer:
    look: Look = lambda session: session.read_relationship(*key)  # noqa: E731
    return await write_document(box, look, READ_RELATIONSHIPS, act, dry_run=dry_run, action=action)


_WRITE: Final = ("digitaltwins/relationships/write",)
_EXAMPLE: Final[dict[str, JsonValue]] = {"source_id": "hall", "relationship_id": "contains-room-7"}

RELATIONSHIPS: Final = (
    Tool(
        "list_relationships",
        "List a twin's relationships",
        "Relationships that start at a twin (with their properties) or end at it.",
        Effect.READ,
        (READ_RELATIONSHIPS,),
        ListRelationships,
        build_output(
            {
                "relationships": "objects",
                "truncated": "boolean",
                "continuation_token": "text or null",
            },
            warnings="texts",
            shortened="texts",
        ),
        list_relationships,
        {"twin_id": "room-7", "direction": "incoming"},
    ),
    Tool(
        "get_relationship",
        "Read a relationship",
        "One relationship with its properties and etag.",
        Effect.READ,
        (READ_RELATIONSHIPS,),
        GetRelationship,
        build_output({"relationship": "object", "etag": "string"}, shortened="texts"),
        get_relationship,
        _EXAMPLE,
    ),
    Tool(
        "create_or_replace_relationship",
        "Create or replace a relationship",
        "Relate two twins that exist. The name must be one that the source's model defines.",
        Effect.CHANGE,
        _WRITE,
        CreateOrReplaceRelationship,
        WRITTEN,
        create_or_replace_relationship,
        {**_EXAMPLE, "relationship_name": "contains", "target_id": "room-7"},
    ),
    Tool(
        "update_relationship",
        "Change a relationship",
        "Change properties of a relationship by JSON Patch.",
        Effect.CHANGE,
        _WRITE,
        UpdateRelationship,
        WRITTEN,
        update_relationship,
        {**_EXAMPLE, "patch": [{"op": "add", "path": "/since", "value": "2024-01-31"}]},
    ),
    Tool(
        "delete_relationship",
        "Delete a relationship",
        "Delete a relationship; the twins stay. Needs if_match or confirm.",
        Effect.DELETE,
        ("digitaltwins/relationships/delete",),
        DeleteRelationship,
        WRITTEN,
        delete_relationship,
        {**_EXAMPLE, "confirm": True},
    ),
)
