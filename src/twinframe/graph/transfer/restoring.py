"""Restores documents of an exact file with their etags and times, generating missing ones.

It validates the form of etags and times, which are sent in headers and compared by clients; the
contents are validated elsewhere.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Iterable
from typing import Final

import orjson

from twinframe.graph.documents.relationships import RelationshipBody, render_relationship
from twinframe.graph.documents.twins import (
    ETAG,
    ID,
    METADATA,
    MODEL,
    SOURCE_TIME,
    TOUCHED,
    UPDATED,
    JsonObject,
    build_failure,
    is_source_time,
    order_members,
)
from twinframe.model.etags import build_etag
from twinframe.model.values import JsonValue
from twinframe.storage.base import RelationshipRecord, TwinRecord

_LENGTH: Final = len("2024-01-31T12:00:00.1234567Z")


class Stamp:
    """Stands for the time of a write in pre-rendered texts; it is as long as a time.

    PERF: in the transaction, for which all writers wait, each time is filled in by one replacement.
    SEC: of 112 random bits, and secret: no other document contains it.
    """

    __slots__ = ("text",)

    def __init__(self) -> None:
        self.text = secrets.token_hex(_LENGTH // 2)

    def fill(self, texts: Iterable[bytes], time: str) -> list[bytes]:
        """Return the texts with the time, as `render_update_time` gives it, in its place."""
        stamp, moment = self.text.encode("ascii"), time.encode("ascii")
        return [text.replace(stamp, moment) for text in texts]


# SEC: it becomes a response header.
_ETAG: Final = re.compile(r'W/"[\x21\x23-\x7e]{1,128}"')


def restore_twin(
    twin_id: str, model_id: str, document: JsonObject, parts: Collection[str], now: str
) -> TwinRecord:
    """Restore the twin of a line of an exact file.

    `parts` are the names of the components. Errors: `ValidationFailed` for an invalid source time.
    """
    etag = _restore_etag(document)
    plain = [name for name in document if name not in parts and not name.startswith("$")]
    metadata = _restore_metadata(document, plain, now, "")
    twin: JsonObject = {**document, ID: twin_id, ETAG: etag}
    twin[METADATA] = {MODEL: model_id, **metadata}
    for name in parts:
        part = document.get(name)
        if isinstance(part, dict):
            contents = [member for member in part if member != METADATA]
            entries = _restore_metadata(part, contents, now, f" on {name}")
            twin[name] = {**{member: part[member] for member in contents}, METADATA: entries}
    return TwinRecord(twin_id, model_id, etag, orjson.dumps(order_members(twin, parts)))


def restore_relationship(
    source_id: str, relationship_id: str, body: RelationshipBody, document: JsonObject
) -> RelationshipRecord:
    """The relationship of a line of an exact file."""
    return render_relationship(source_id, relationship_id, body, _restore_etag(document))


def _restore_etag(document: JsonObject) -> str:
    etag = document.get(ETAG)
    return etag if isinstance(etag, str) and _ETAG.fullmatch(etag) else build_etag()


def _restore_metadata(
    owner: JsonObject, contents: Collection[str], now: str, where: str
) -> JsonObject:
    """Restore the times of an owner of properties, in their order."""
    given = owner.get(METADATA)
    if not isinstance(given, dict):
        given = {}
    touched = given.get(TOUCHED)
    restored: JsonObject = {TOUCHED: touched if is_source_time(touched) else now}
    for name, entry in given.items():
        if name in owner and name in contents:
            restored[name] = _restore_entry(entry, now, f"{name}{where}")
    for name in contents:
        if name not in restored:
            restored[name] = {UPDATED: now}
    return restored


def _restore_entry(entry: JsonValue, now: str, name: str) -> JsonObject:
    if not isinstance(entry, dict):
        return {UPDATED: now}
    updated = entry.get(UPDATED)
    restored: JsonObject = {UPDATED: updated if is_source_time(updated) else now}
    source_time = entry.get(SOURCE_TIME)
    if source_time is not None:
        if not is_source_time(source_time):
            raise build_failure(
                f"sourceTime of {name} must be an ISO 8601 date and time with a zone, such as "
                "2024-01-31T12:00:00Z."
            )
        restored[SOURCE_TIME] = source_time
    return restored
