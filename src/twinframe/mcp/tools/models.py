"""Tools for models, the DTDL interfaces of twins: list, read, search, upload, delete."""

from __future__ import annotations

from typing import Annotated, Final

import orjson
from pydantic import Field

from twinframe.graph.models.outlines import (
    ComponentOutline,
    InterfaceOutline,
    Outlines,
    PropertyOutline,
    RelationshipOutline,
)
from twinframe.graph.twins.observation import WriteCases
from twinframe.mcp.arguments import Arguments, DryRun, JsonObject, Limit, ModelId, Token
from twinframe.mcp.budget import Fetched
from twinframe.mcp.tool import Answer, Effect, Tool, Toolbox, build_output, require_confirmation
from twinframe.mcp.tools.querying import add_notes
from twinframe.model.ids import build_model_name
from twinframe.model.pages import PageRequest
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphSession

_LONGEST_DESCRIPTION: Final = 200
_SHOWN_IDS: Final = 50


class ListModels(Arguments):
    """Arguments of `list_models`."""

    dependencies_for: list[str] = Field(
        default_factory=list,
        description="Only these ids, what they extend and have as components",
    )
    limit: Limit = 100
    continuation_token: Token = None


async def list_models(box: Toolbox, given: ListModels) -> Answer:
    """List ids with names and descriptions, by upload."""
    budget = box.open_budget(given.limit)

    async def fetch(token: str | None, size: int) -> Fetched:
        page = await box.graph.models.list_models(
            given.dependencies_for, page=PageRequest(size, token)
        )
        return Fetched([_shorten(orjson.loads(row)) for row in page.items], page.token)

    taken = await budget.take(fetch, given.continuation_token)
    return Answer(taken.build_page("models"))


def _shorten(model: dict[str, JsonValue]) -> bytes:
    """Return ModelData without uninformative parts: empty texts, other languages, the time of
    upload.
    """
    entry: dict[str, JsonValue] = {"model_id": model["id"]}
    for name, texts in (
        ("display_name", model["displayName"]),
        ("description", model["description"]),
    ):
        if isinstance(texts, dict) and texts:
            text = texts.get("en", next(iter(texts.values())))
            entry[name] = str(text)[:_LONGEST_DESCRIPTION]
    if model["decommissioned"]:
        entry["decommissioned"] = True
    return orjson.dumps(entry)


class GetModel(Arguments):
    """Arguments of `get_model`."""

    model_id: ModelId
    include_definition: Annotated[
        bool, Field(description="true: also the DTDL document as uploaded")
    ] = False


async def get_model(box: Toolbox, given: GetModel) -> Answer:
    """Return the possible contents of a twin of the model, including inherited ones."""
    model = orjson.loads(
        await box.graph.models.read_model(given.model_id, given.include_definition)
    )
    outlines = await box.graph.overview.read_outlines()
    budget = box.open_budget(1)
    document: dict[str, JsonValue] = {
        **orjson.loads(_shorten(model)),
        "extends": list[JsonValue](outlines.list_ancestors(given.model_id)[1:]),
        "contents": _render_contents(outlines, given.model_id),
    }
    if given.include_definition:
        document["definition"] = model["model"]
    fitting = budget.cut(document)
    if not isinstance(fitting, dict) or "model_id" not in fitting:
        fitting = {**orjson.loads(_shorten(model)), "extends": [], "contents": {}}
    return Answer(add_notes(fitting, [], budget.shortening.paths))


def _render_contents(outlines: Outlines, model_id: str) -> dict[str, JsonValue]:
    """Render members by kind and name, with schemas; inherited ones name their interface."""
    properties: dict[str, JsonValue] = {}
    relationships: dict[str, JsonValue] = {}
    components: dict[str, JsonValue] = {}
    telemetry: list[JsonValue] = []
    for outline, own in outlines.list_contents(model_id):
        origin = "" if own else f" (from {build_model_name(outline.model_id)})"
        for one in outline.properties:
            unit = one.unit and f" {one.unit}"
            properties.setdefault(one.name, f"{one.schema}{unit}{origin}")
        for relation in outline.relationships:
            inner = ", ".join(map(str, relation.properties))
            text = f"to {relation.target or 'any twin'}{inner and f' {{{inner}}}'}{origin}"
            relationships.setdefault(relation.name, text)
        for component in outline.components:
            parts = _list_properties(outlines, component.interface)
            components.setdefault(component.name, parts)
        telemetry += outline.telemetry
    found: dict[str, JsonValue] = {
        "properties": properties,
        "relationships": relationships,
        "components": components,
        "telemetry": telemetry,
    }
    return {kind: members for kind, members in found.items() if members}


def _list_properties(outlines: Outlines, model_id: str) -> dict[str, JsonValue]:
    return {
        one.name: f"{one.schema}{one.unit and f' {one.unit}'}"
        for outline, _ in outlines.list_contents(model_id)
        for one in outline.properties
    }


class SearchModels(Arguments):
    """Arguments of `search_models`."""

    search_text: Annotated[str, Field(min_length=1, max_length=200, description="Words")]
    limit: Annotated[int, Field(ge=1, le=100, description="Most interfaces to show")] = 10


async def search_models(box: Toolbox, given: SearchModels) -> Answer:
    """Return the interfaces that match most of the words, best first."""
    outlines = await box.graph.overview.read_outlines()
    words = given.search_text.lower().split()
    scored = sorted(
        (
            (-score, len(build_model_name(outline.model_id)), outline.model_id, outline)
            for outline in outlines.interfaces.values()
            if (score := _score(outline, words))
        ),
        key=lambda one: one[:3],  # of equal ones the shortest name: Room, then AdmittingRoom
    )
    budget = box.open_budget(given.limit)
    rows = [_render_found(outline) for *_, outline in scored]

    async def fetch(token: str | None, size: int) -> Fetched:
        start = int(token or 0)
        end = start + size
        return Fetched(rows[start:end], str(end) if end < len(rows) else None)

    taken = await budget.take(fetch)
    return Answer({"models": taken.rows, "found": len(rows)})


def _score(outline: InterfaceOutline, words: list[str]) -> int:
    """Score how well an interface matches: its name counts most, then members, then its
    description.
    """
    name = f"{build_model_name(outline.model_id)} {outline.display_name}".lower()
    contents: list[PropertyOutline | RelationshipOutline | ComponentOutline]
    contents = [*outline.properties, *outline.relationships, *outline.components]
    members = " ".join(one.name for one in contents).lower()
    description, model_id = outline.description.lower(), outline.model_id.lower()
    score = 0
    for word in words:
        if word in name.split():
            score += 12
        elif word in name:
            score += 8
        elif word in model_id or word in members:
            score += 3
        elif word in description:
            score += 2
    return score


def _render_found(outline: InterfaceOutline) -> bytes:
    entry: dict[str, JsonValue] = {"model_id": outline.model_id}
    if outline.display_name:
        entry["display_name"] = outline.display_name
    if outline.description:
        entry["description"] = outline.description[:_LONGEST_DESCRIPTION]
    if outline.extends:
        entry["extends"] = list[JsonValue](outline.extends)
    if outline.decommissioned:
        entry["decommissioned"] = True
    return orjson.dumps(entry)


class CreateModels(Arguments):
    """Arguments of `create_models`."""

    models: Annotated[
        list[JsonObject], Field(description="DTDL interfaces (v2 to v4), all or none")
    ]
    dry_run: DryRun = False


async def create_models(box: Toolbox, given: CreateModels) -> Answer:
    """Upload interfaces; return their number, and the ids of the first ones: the caller knows them
    all.
    """
    models: list[JsonValue] = [*given.models]
    seen = await box.graph.observation.run(
        lambda _: None, lambda cases: cases.models.create_models(models), keep=not given.dry_run
    )
    ids: list[JsonValue] = [orjson.loads(body)["id"] for body in seen.result]
    document: dict[str, JsonValue] = {
        "action": "created",
        "dry_run": given.dry_run,
        "count": len(ids),
        "model_ids": ids[:_SHOWN_IDS],
    }
    if len(ids) > _SHOWN_IDS:
        document["shortened"] = ["/model_ids"]
    return Answer(document)


class DeleteModel(Arguments):
    """Arguments of `delete_model`."""

    model_id: ModelId
    confirm: Annotated[bool, Field(description="true: needed, since models have no etag")] = False
    dry_run: DryRun = False


async def delete_model(box: Toolbox, given: DeleteModel) -> Answer:
    """Delete a model; return how many twins are left without one."""
    require_confirmation(None, confirmed=given.confirm or given.dry_run)

    async def act(cases: WriteCases) -> None:
        await cases.models.delete_model(given.model_id)

    def look(session: GraphSession) -> bool:
        return session.read_model(given.model_id) is not None

    await box.graph.observation.run(look, act, keep=not given.dry_run)
    document: dict[str, JsonValue] = {
        "action": "deleted",
        "dry_run": given.dry_run,
        "model_ids": [given.model_id],
    }
    if await box.access.holds("query/read"):
        counts = await box.graph.overview.count()
        document["twins_without_model"] = counts.twins.get(given.model_id, 0)
    return Answer(document)


MODELS: Final = (
    Tool(
        "list_models",
        "List models",
        "All interfaces by upload. describe_graph and search_models say more in fewer words.",
        Effect.READ,
        ("models/read",),
        ListModels,
        build_output(
            {"models": "objects", "truncated": "boolean", "continuation_token": "text or null"}
        ),
        list_models,
        {"limit": 50},
    ),
    Tool(
        "get_model",
        "Read a model",
        "What twins of an interface may have: properties, relationships and components, with "
        "schemas and units, inherited ones too.",
        Effect.READ,
        ("models/read",),
        GetModel,
        build_output(
            {"model_id": "string", "extends": "texts", "contents": "object"},
            display_name="string",
            description="string",
            decommissioned="boolean",
            definition="object",
            shortened="texts",
        ),
        get_model,
        {"model_id": "dtmi:com:example:Room;1"},
    ),
    Tool(
        "search_models",
        "Search models by words",
        "Interfaces whose names, members or descriptions hold the words, best first.",
        Effect.READ,
        ("models/read",),
        SearchModels,
        build_output({"models": "objects", "found": "integer"}),
        search_models,
        {"search_text": "temperature sensor"},
    ),
    Tool(
        "create_models",
        "Upload models",
        "Store new DTDL interfaces. A stored one never changes: upload it under a new version "
        "(dtmi:...;2).",
        Effect.ADD,
        ("models/write",),
        CreateModels,
        build_output(
            {"action": "string", "dry_run": "boolean", "count": "integer", "model_ids": "texts"},
            shortened="texts",
        ),
        create_models,
        {
            "models": [
                {
                    "@context": "dtmi:dtdl:context;3",
                    "@id": "dtmi:com:example:Lamp;1",
                    "@type": "Interface",
                    "contents": [{"@type": "Property", "name": "watts", "schema": "double"}],
                }
            ],
            "dry_run": True,
        },
    ),
    Tool(
        "delete_model",
        "Delete a model",
        "Delete an interface that no other uses. Its twins stay, but cannot be written any more.",
        Effect.DELETE,
        ("models/delete",),
        DeleteModel,
        build_output(
            {"action": "string", "dry_run": "boolean", "model_ids": "texts"},
            twins_without_model="integer",
        ),
        delete_model,
        {"model_id": "dtmi:com:example:Lamp;1", "confirm": True},
    ),
)
