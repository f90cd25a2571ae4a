"""Keeps callers from writing properties that the service derives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

import orjson

from twinframe.errors import DerivedPropertyReadOnly
from twinframe.graph.documents.twins import METADATA, MODEL, SOURCE_TIME, JsonObject
from twinframe.model.patches import PatchOperation
from twinframe.model.values import JsonValue
from twinframe.storage.base import StoredDocument


def is_same_value(one: JsonValue, other: JsonValue) -> bool:
    """Return whether two values of a property are the same; `21` and `21.0` are.

    NOTE: clients that read JSON and write it again do not keep that difference.
    """
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def find_kept(
    derived: Mapping[str, str], model_id: str, body: JsonObject, before: StoredDocument | None
) -> JsonObject:
    """Return the stored document whose derived properties a put twin keeps; empty for none.

    A twin may be put as it was read: a derived property with the stored value changes nothing.
    Raises `DerivedPropertyReadOnly` for another value, or another time of the source.
    """
    stored = {} if before is None else cast("JsonObject", orjson.loads(before.body))
    given, metadata = (cast("JsonObject", each.get(METADATA, {})) for each in (body, stored))
    for name, derivation_id in derived.items():
        if name in body and not (name in stored and is_same_value(body[name], stored[name])):
            raise DerivedPropertyReadOnly(name, derivation_id)
        time = _find_time(given, name)
        if time is not None and time != _find_time(metadata, name):
            raise DerivedPropertyReadOnly(name, derivation_id)
    # NOTE: under its former model the value may have meant something else.
    return stored if metadata.get(MODEL) == model_id else {}


def _find_time(metadata: JsonObject, name: str) -> JsonValue:
    entry = metadata.get(name)
    return entry.get(SOURCE_TIME) if isinstance(entry, dict) else None


def add_kept(body: JsonObject, derived: Iterable[str], stored: JsonObject) -> JsonObject:
    """Return the body of a put twin with the derived properties as they are stored."""
    return {**body, **{name: stored[name] for name in derived if name in stored}}


def keep_entries(twin: JsonObject, derived: Iterable[str], stored: JsonObject) -> None:
    """Give derived properties that were kept the times that they had."""
    metadata, former = (cast("JsonObject", each[METADATA]) for each in (twin, stored))
    for name in derived:
        if name in stored and name in former:
            metadata[name] = former[name]


def check_operations(
    derived: Mapping[str, str], operations: Iterable[PatchOperation], by: str | None
) -> None:
    """Raise `DerivedPropertyReadOnly` for a patch of a derived property, or of its metadata.

    `by` is the derivation whose own write it is.
    """
    for operation in operations:
        name, *rest = operation.path
        if name == METADATA and rest:
            name = rest[0]
        owner = derived.get(name)
        if owner is not None and owner != by:
            raise DerivedPropertyReadOnly(name, owner)
