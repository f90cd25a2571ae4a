"""Advises an assistant after a failed call: the nearest name, a corrected query, the next step.

It only reads what the caller may read.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

import orjson

from twinframe.errors import (
    InvalidArgument,
    InvalidContinuationToken,
    InvalidRelationship,
    JsonPatchInvalid,
    ModelNotFound,
    PermissionMissing,
    PreconditionFailed,
    QueryInvalid,
    QueryTimeout,
    RelationshipNotFound,
    StorageBusy,
    TargetTwinNotFound,
    TwinframeError,
    TwinNotFound,
    ValidationFailed,
)
from twinframe.errors.nearest import find_nearest, list_nearest
from twinframe.mcp.corrections import correct_query, render_example
from twinframe.mcp.errors import BadArguments
from twinframe.mcp.names import list_some, suggest_model
from twinframe.mcp.tool import Tool, Toolbox
from twinframe.model.ids import build_model_name

_CANDIDATES: Final = 500
_PREFIX: Final = 3
_FIXED: Final[Mapping[type[TwinframeError], str]] = {
    InvalidContinuationToken: "Send the token unchanged with the same arguments, or start again "
    "without continuation_token.",
    PreconditionFailed: "It changed since you read it. Read it again, look at what changed, and "
    "use its present etag.",
    QueryTimeout: "Start the pattern at one twin ({`$dtId`: '...'}) or at a rarer label, ask for "
    "fewer hops, or aggregate. explain_query shows how it runs.",
    StorageBusy: "Try again in a few seconds.",
    PermissionMissing: "Trying again does not help: who runs this assistant decides what its "
    "token may do.",
    JsonPatchInvalid: 'A patch is [{"op": "add|replace|remove", "path": "/name", "value": ...}]; '
    "replace needs a value that is there, add does not.",
}


async def build_advice(
    error: TwinframeError, tool: Tool[Any], given: Mapping[str, Any], box: Toolbox
) -> list[str]:
    """Build the lines below the error's message."""
    lines = [text for kind, text in _FIXED.items() if isinstance(error, kind)]
    for kind, find in _FINDERS:
        if isinstance(error, kind):
            lines += [line async for line in find(error, given, box)]
    if isinstance(error, BadArguments):
        lines.append(f"Right is for example: {orjson.dumps(tool.example).decode()}")
    return lines


_Find = Callable[[Any, Mapping[str, Any], Toolbox], AsyncIterator[str]]


async def _find_twin(
    error: TwinNotFound | TargetTwinNotFound, _given: Mapping[str, Any], box: Toolbox
) -> AsyncIterator[str]:
    """Return the nearest id among those with the same beginning."""
    if not await box.access.holds("query/read"):
        return
    wanted = error.twin_id
    for begin in (wanted[:_PREFIX], wanted[:1]):
        page = await box.graph.queries.run(
            "MATCH (t:Twin) WHERE t.`$dtId` STARTS WITH $begin RETURN t.`$dtId` AS id",
            {"begin": begin},
            page_size=_CANDIDATES,
        )
        ids = [orjson.loads(row)["id"] for row in page.rows]
        nearest = list_nearest(wanted, ids)
        if nearest:
            yield f"Did you mean {' or '.join(map(repr, nearest))}?"
            break
    yield f'search_digital_twins {{"search_text": "{wanted[:50]}"}} finds ids by words.'


async def _find_model(
    error: ModelNotFound, _given: Mapping[str, Any], box: Toolbox
) -> AsyncIterator[str]:
    if await box.access.holds("models/read"):
        outlines = await box.graph.overview.read_outlines()
        for model_id in error.model_ids[:3]:
            yield f"'{model_id}'{suggest_model(outlines, model_id)}"


async def _find_model_id(
    _error: InvalidArgument, given: Mapping[str, Any], box: Toolbox
) -> AsyncIterator[str]:
    """Return the id, where a name was given as one: other tools accept names too."""
    name = given.get("model_id")
    if not isinstance(name, str) or name.startswith("dtmi:"):
        return
    if await box.access.holds("models/read"):
        outlines = await box.graph.overview.read_outlines()
        yield f"model_id is an id{suggest_model(outlines, name)}"


async def _find_relationship(
    error: RelationshipNotFound, _given: Mapping[str, Any], box: Toolbox
) -> AsyncIterator[str]:
    if not await box.access.holds("digitaltwins/relationships/read"):
        return
    found = await box.graph.relationships.list_relationships(error.twin_id)
    ids = [orjson.loads(body)["$relationshipId"] for body in found.items]
    nearest = find_nearest(error.relationship_id, ids)
    if nearest is not None:
        yield f"Did you mean '{nearest}'?"
    yield f"Relationships that start at {error.twin_id}: {list_some(ids, 10) or 'none'}."


async def _find_contents(
    _error: ValidationFailed, given: Mapping[str, Any], box: Toolbox
) -> AsyncIterator[str]:
    """Return the contents of the twin's model, including inherited ones."""
    if not await box.access.holds("models/read"):
        return
    outlines = await box.graph.overview.read_outlines()
    model_id = given.get("model_id") or await _read_model_id(given, box)
    if not isinstance(model_id, str):
        return
    if model_id not in outlines.interfaces:
        yield f"'{model_id}'{suggest_model(outlines, model_id)}"
        return
    found = [outline for outline, _ in outlines.list_contents(model_id)]
    properties = [str(one) for outline in found for one in outline.properties]
    components = [one.name for outline in found for one in outline.components]
    yield f"{build_model_name(model_id)} has: {list_some(properties, 30)}."
    if components:
        yield f"Components (objects): {list_some(components, 30)}."


async def _find_relations(
    _error: InvalidRelationship, given: Mapping[str, Any], box: Toolbox
) -> AsyncIterator[str]:
    """Return the relationships that the source's model defines."""
    if not await box.access.holds("models/read"):
        return
    model_id = await _read_model_id(given, box)
    if isinstance(model_id, str):
        outlines = await box.graph.overview.read_outlines()
        found = [
            f"{one.name} to {one.target or 'any twin'}"
            for outline, _ in outlines.list_contents(model_id)
            for one in outline.relationships
        ]
        yield f"Relationships of {build_model_name(model_id)}: {list_some(found, 20) or 'none'}."


async def _find_correction(
    error: QueryInvalid, given: Mapping[str, Any], _box: Toolbox
) -> AsyncIterator[str]:
    text = given.get("query")
    if isinstance(text, str):
        corrected = correct_query(text, error)
        yield f"Try: {corrected}" if corrected else render_example(text, error)


async def _read_model_id(given: Mapping[str, Any], box: Toolbox) -> str | None:
    """Return the model of a call's twin, if the caller may read twins."""
    twin_id = given.get("source_id") or given.get("twin_id")
    if not isinstance(twin_id, str) or not await box.access.holds("digitaltwins/read"):
        return None
    try:
        twin = orjson.loads((await box.graph.twins.read_twin(twin_id)).body)
    except (TwinNotFound, InvalidArgument):
        return None
    model_id = twin["$metadata"]["$model"]
    return model_id if isinstance(model_id, str) else None


_FINDERS: Final[tuple[tuple[type[TwinframeError], _Find], ...]] = (
    (TwinNotFound, _find_twin),
    (TargetTwinNotFound, _find_twin),
    (ModelNotFound, _find_model),
    (InvalidArgument, _find_model_id),
    (RelationshipNotFound, _find_relationship),
    (ValidationFailed, _find_contents),
    (InvalidRelationship, _find_relations),
    (QueryInvalid, _find_correction),
)
