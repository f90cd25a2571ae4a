"""Converts relationship documents from the body of a PUT to the stored form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import orjson

from twinframe.errors import InvalidArgument
from twinframe.model.values import JsonValue
from twinframe.storage.base import RelationshipRecord

JsonObject: TypeAlias = dict[str, JsonValue]

ID: Final = "$relationshipId"
ETAG: Final = "$etag"
SOURCE: Final = "$sourceId"
NAME: Final = "$relationshipName"
TARGET: Final = "$targetId"
SYSTEM: Final = frozenset({ID, ETAG, SOURCE, NAME, TARGET})


@dataclass(frozen=True, slots=True)
class RelationshipBody:
    """The contents of a PUT; ids and etag in the body are ignored, the URL's count (SPEC)."""

    name: str
    target_id: str
    properties: JsonObject


def parse_relationship_body(document: JsonValue) -> RelationshipBody:
    """The body of a PUT; `InvalidArgument` unless it is an object with name and target."""
    if isinstance(document, dict):
        name, target_id = document.get(NAME), document.get(TARGET)
        if isinstance(name, str) and name and isinstance(target_id, str) and target_id:
            properties = {key: value for key, value in document.items() if key not in SYSTEM}
            return RelationshipBody(name, target_id, properties)
    raise InvalidArgument(
        "Could not deserialize relationship create body. It is an object with the strings "
        f"{NAME} and {TARGET}."
    )


def render_relationship(
    source_id: str, relationship_id: str, body: RelationshipBody, etag: str
) -> RelationshipRecord:
    """The stored form: system members first, in the vendor's order."""
    document: JsonObject = {
        ID: relationship_id,
        ETAG: etag,
        SOURCE: source_id,
        NAME: body.name,
        TARGET: body.target_id,
        **body.properties,
    }
    return RelationshipRecord(
        source_id, relationship_id, body.name, body.target_id, etag, orjson.dumps(document)
    )
