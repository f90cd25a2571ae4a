"""Converts twin documents from the body of a PUT to the stored form, and identifies their parts.

It checks form and system members; the validator checks the contents against the model.

SPEC: stored form `$dtId, $etag, <properties>, <components>, $metadata`. Each property that is set
has an entry in the `$metadata` of its owner; components have none in that of the twin.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final, TypeAlias, cast

from twinframe.errors import ErrorDetail, InvalidArgument, ValidationFailed
from twinframe.model.values import JsonValue

JsonObject: TypeAlias = dict[str, JsonValue]

ID: Final = "$dtId"
ETAG: Final = "$etag"
METADATA: Final = "$metadata"
MODEL: Final = "$model"
TOUCHED: Final = "$lastUpdateTime"
UPDATED: Final = "lastUpdateTime"
SOURCE_TIME: Final = "sourceTime"
_TOUCHED_TEXT: Final = b'"$lastUpdateTime":"'
_SYSTEM: Final = frozenset({ID, ETAG, METADATA})

# ISO 8601 with a zone, which the vendor requires; the digits are kept as they came.
_SOURCE_TIME: Final = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d{1,9})?"
    r"(Z|[+-]([01]\d|2[0-3]):?[0-5]\d)",
    re.ASCII,
)


def build_failure(*messages: str) -> ValidationFailed:
    """Build the vendor's error for twins that do not conform; the reasons are in the details."""
    details = tuple(ErrorDetail(ValidationFailed.code, message) for message in messages)
    return build_refusal(details)


def build_refusal(details: Collection[ErrorDetail]) -> ValidationFailed:
    """Build the same from existing details."""
    return ValidationFailed("Invalid twin specified.", details=tuple(details))


def parse_twin_body(document: JsonValue) -> tuple[JsonObject, str]:
    """Return the body of a PUT and the model id it names.

    Errors: `InvalidArgument` unless it is an object; `ValidationFailed` when it names no model.
    """
    if not isinstance(document, dict):
        raise InvalidArgument("Payload is invalid. A digital twin is a JSON object.")
    metadata = document.get(METADATA)
    if not isinstance(metadata, dict):
        raise build_failure(
            'Twin is missing $metadata: an object that names the model, {"$model": "dtmi:..."}.'
        )
    model_id = metadata.get(MODEL)
    if not isinstance(model_id, str) or not model_id:
        raise build_failure("Twin is missing $metadata.$model, the id of its model.")
    return document, model_id


def build_twin(
    twin_id: str, model_id: str, body: JsonObject, parts: Collection[str], now: str
) -> JsonObject:
    """Build the stored form of a twin that was put, updated at `now`, its `$etag` still empty.

    `parts` are the names of the model's components. The body's ids, etags and times are left out,
    its source times are kept. Errors: `ValidationFailed` for an invalid source time.
    """
    contents = {name: value for name, value in body.items() if name not in _SYSTEM}
    plain = {name: value for name, value in contents.items() if name not in parts}
    stored: JsonObject = {ID: twin_id, ETAG: "", **plain}
    for name, value in contents.items():
        if name in parts:
            stored[name] = build_part(name, value, now)
    metadata = cast("JsonObject", body[METADATA])
    stored[METADATA] = {MODEL: model_id, TOUCHED: now, **_build_entries(plain, metadata, now, "")}
    return stored


def build_part(name: str, value: JsonValue, now: str) -> JsonValue:
    """Build the stored form of a component; a value that is no object is left to the validator."""
    if not isinstance(value, dict):
        return value
    contents = {key: member for key, member in value.items() if key != METADATA}
    metadata = value.get(METADATA, {})
    if not isinstance(metadata, dict):
        raise build_failure(f"{METADATA} of {name} must be an object.")
    entries = _build_entries(contents, metadata, now, f" on {name}")
    return {**contents, METADATA: {TOUCHED: now, **entries}}


def order_members(document: JsonObject, parts: Collection[str]) -> JsonObject:
    """Return the document with its members in the stored order."""
    names = [name for name in document if name not in _SYSTEM]
    ordered = {name: document[name] for name in (ID, ETAG, *(x for x in names if x not in parts))}
    for name in names:
        if name in parts:
            ordered[name] = _order_part(document[name])
    return {**ordered, METADATA: document[METADATA]}


def list_parts(document: Mapping[str, JsonValue]) -> frozenset[str]:
    """Return the names of the components of a stored twin: those that have no entry."""
    metadata = cast("JsonObject", document[METADATA])
    return frozenset(x for x in document if x not in metadata and x not in _SYSTEM)


def find_touched(body: bytes) -> str | None:
    """Return when a stored twin was last written, from its text.

    PERF: not parsed. Its metadata comes last, and no text in it can have quotes that end there.
    """
    start = body.rfind(_TOUCHED_TEXT)
    if start < 0:
        return None
    start += len(_TOUCHED_TEXT)
    return body[start : body.find(b'"', start)].decode("utf-8", "replace")


def is_source_time(value: JsonValue) -> bool:
    """Whether it is an ISO 8601 date and time with a zone."""
    return isinstance(value, str) and _SOURCE_TIME.fullmatch(value) is not None


def _order_part(part: JsonValue) -> JsonValue:
    if not isinstance(part, dict) or METADATA not in part:
        return part
    contents = {name: value for name, value in part.items() if name != METADATA}
    return {**contents, METADATA: part[METADATA]}


def _build_entries(
    contents: JsonObject, metadata: JsonObject, now: str, where: str
) -> dict[str, JsonValue]:
    entries: dict[str, JsonValue] = {}
    for name in contents:
        entry: JsonObject = {UPDATED: now}
        given = metadata.get(name)
        if isinstance(given, dict) and given.get(SOURCE_TIME) is not None:
            if not is_source_time(given[SOURCE_TIME]):
                raise build_failure(
                    f"sourceTime of {name}{where} must be an ISO 8601 date and time with a zone, "
                    "such as 2024-01-31T12:00:00Z."
                )
            entry[SOURCE_TIME] = given[SOURCE_TIME]
        entries[name] = entry
    return entries
