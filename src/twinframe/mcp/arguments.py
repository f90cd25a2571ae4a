"""The typed arguments of tools, which refuse unknown names, and their JSON Schemas.

SEC: the protocol's package ignores unknown arguments and parses numbers from texts; here an
assistant gets an error for its mistake.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from twinframe.errors import ErrorDetail, InvalidArgument
from twinframe.errors.nearest import find_nearest
from twinframe.mcp.errors import BadArguments
from twinframe.model.json import JsonLimits, parse_json
from twinframe.model.values import JsonValue

A = TypeVar("A", bound="Arguments")

OBJECTS: Final[dict[str, Any]] = {"items": {"type": "object"}}

JsonObject: TypeAlias = dict[str, Any]
"""A JSON object as an argument; the use case validates its contents."""

_MOST_DETAILS: Final = 10
_DROPPED: Final = frozenset({"title", "default"})
_TEXT: Final = "a JSON value was sent as text: send the object or array itself, not a string"


class Arguments(BaseModel):
    """Base of every tool's arguments: strict types, unknown names refused, null is «not given»."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


TwinId = Annotated[str, Field(description="$dtId of the twin")]
ModelId = Annotated[str, Field(description="dtmi:com:example:Room;1")]
SourceId = Annotated[str, Field(description="$dtId of the twin where it starts")]
RelationshipId = Annotated[str, Field(description="$relationshipId")]
Limit = Annotated[int, Field(ge=1, le=1000, description="Most rows of the answer")]
Token = Annotated[str | None, Field(description="From a truncated answer: goes on there")]
IfMatch = Annotated[str | None, Field(description="$etag you read; fails if it changed since")]
Confirm = Annotated[bool, Field(description="true: delete without if_match")]
DryRun = Annotated[bool, Field(description="true: check all and say what would change, only")]
FullValues = Annotated[bool, Field(description="true: no shortening of vectors, texts, metadata")]
Parameters = Annotated[
    JsonObject, Field(default_factory=dict, description="Values of the query's $names")
]
Patch = Annotated[
    list[Any],
    Field(
        json_schema_extra=OBJECTS,
        description='JSON Patch: [{"op":"replace","path":"/climate/setpoint","value":21}]',
    ),
]


def parse_arguments(model: type[A], name: str, given: Mapping[str, JsonValue]) -> A:
    """Parse the arguments of the tool `name`. `BadArguments` lists all errors in them."""
    try:
        return model.model_validate({k: v for k, v in given.items() if v is not None})
    except ValidationError as error:
        known = list(model.model_fields)
        details = tuple(
            ErrorDetail("InvalidArgument", _explain(each, known, given))
            for each in error.errors(include_url=False)[:_MOST_DETAILS]
        )
    message = "; ".join(detail.message for detail in details)
    raise BadArguments(
        f"{name} has other arguments: {message}. They are: {render_arguments(model)}.",
        details=details,
    )


def parse_values(given: Mapping[str, Any], limits: JsonLimits) -> dict[str, JsonValue]:
    """Return the values as the API would parse them; `InvalidArgument` for those it would refuse.

    SEC: the protocol's package accepts NaN, integers of any size, lone surrogates and U+0000, which
    stores and other clients do not.
    """
    try:
        text = json.dumps(given, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(
            "An argument holds NaN or infinity, or nests deeper than can be read."
        ) from error
    values = parse_json(text.encode(), limits)
    return values if isinstance(values, dict) else {}


def render_arguments(model: type[Arguments]) -> str:
    """Render the names with their types in one line; optional ones with `?`."""
    properties = build_schema(model)["properties"]
    return ", ".join(
        f"{name}{'' if field.is_required() else '?'}: {_render_type(properties[name])}"
        for name, field in model.model_fields.items()
    )


@cache
def build_schema(model: type[Arguments]) -> Mapping[str, Any]:
    """Build the JSON Schema of the arguments, without superfluous parts.

    PERF: every assistant reads it at the beginning of each session; titles and nulls cost a third.
    It is the same for the servers of all hosted graphs, and building it takes a millisecond.
    """
    schema = model.model_json_schema()
    properties = {name: _compact(each) for name, each in schema["properties"].items()}
    compact: dict[str, Any] = {"type": "object", "properties": properties}
    if "required" in schema:
        compact["required"] = schema["required"]
    return {**compact, "additionalProperties": False}


def _compact(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: _compact(value)
        for key, value in schema.items()
        if key not in _DROPPED or (key == "default" and value not in (None, False, [], {}))
    }
    choices = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    if len(choices) == 1:
        del kept["anyOf"]
        kept = {**_compact(choices[0]), **kept}
    if kept.get("additionalProperties") is True:
        del kept["additionalProperties"]
    return kept


def _render_type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "|".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"[{_render_type(schema.get('items', {}))}]"
    return str(schema.get("type", "any"))


def _explain(error: ErrorDetails, known: list[str], given: Mapping[str, JsonValue]) -> str:
    where = ".".join(map(str, error["loc"]))
    match error["type"]:
        case "extra_forbidden":
            nearest = _find_nearest(where, known)
            hint = f" (did you mean '{nearest}'?)" if nearest else ""
            return f"unknown argument '{where[:100]}'{hint}"
        case "missing":
            return f"the argument '{where}' is missing"
        case "dict_type" | "list_type" if isinstance(given.get(str(error["loc"][0])), str):
            return f"'{where}': {_TEXT}"
    return f"'{where}': {error['msg'][:1].lower()}{error['msg'][1:]}"


def _find_nearest(name: str, known: list[str]) -> str | None:
    """NOTE: also finds `twinId` for `twin_id`, and `query` for a name with the same end."""
    folded = {each.replace("_", ""): each for each in known}
    plain = name[:100].replace("_", "").replace("-", "").lower()
    if near := find_nearest(plain, folded):
        return folded[near]
    inside = [each for key, each in folded.items() if plain and (plain in key or key in plain)]
    return inside[0] if inside else None
