"""Applies a JSON Patch to a stored twin, updating contents, metadata and times.

It checks paths, not values: the validator checks the result against the model.

SPEC: only `/$metadata/$model` (replace) and `/$metadata/P/sourceTime`, also inside a component, may
be patched of the members with a `$`; `sourceTime` can be replaced though it was never set.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import cast

from twinframe.graph.documents.twins import (
    METADATA,
    MODEL,
    SOURCE_TIME,
    TOUCHED,
    UPDATED,
    JsonObject,
    build_part,
    is_source_time,
    list_parts,
    order_members,
)
from twinframe.model.patches import PatchOperation, apply_operation


def find_new_model(operations: Iterable[PatchOperation]) -> str | None:
    """Return the model id to which the patch moves the twin, None if it does not."""
    found: str | None = None
    for operation in operations:
        if operation.path == (METADATA, MODEL):
            if operation.verb != "replace":
                operation.refuse("the model of a twin can only be replaced.")
            if not isinstance(operation.value, str) or not operation.value:
                operation.refuse("the model must be given by its id, a string.")
            found = operation.value
    return found


class TwinPatch:
    """Applies operations to a stored twin, in place, and keeps times and entries consistent.

    `parts` are the names that are components, after the patch. `touched` are the root names whose
    contents changed.
    """

    def __init__(self, document: JsonObject, parts: Collection[str], now: str) -> None:
        self._document = document
        self._parts = parts
        self._now = now
        self.touched: set[str] = set()

    def apply(self, operation: PatchOperation) -> None:
        """Apply one operation; `JsonPatchInvalid` when its path is missing or protected."""
        name, *rest = operation.path
        if operation.path == (METADATA, MODEL):
            self._metadata[MODEL] = operation.value
        elif name == METADATA:
            self._set_source_time(operation, self._document, rest)
        elif name.startswith("$"):
            operation.refuse(f"{name} is set by the service and cannot be patched.")
        elif name in self._parts:
            self._patch_part(operation, name, rest)
        else:
            self._patch_property(operation, self._document, name)
            self.touched.add(name)

    def finish(self) -> JsonObject:
        """Return the document with its members in the stored order and still its old etag."""
        self._metadata[TOUCHED] = self._now
        return order_members(self._document, self._parts)

    @property
    def _metadata(self) -> JsonObject:
        return cast("JsonObject", self._document[METADATA])

    def _patch_part(self, operation: PatchOperation, name: str, rest: list[str]) -> None:
        part = self._document.get(name)
        if not rest:
            self._patch_whole_part(operation, name)
        elif not isinstance(part, dict) or METADATA not in part:
            operation.refuse_missing(name)
        elif rest[0] == METADATA:
            self._set_source_time(operation, part, rest[1:])
            return
        else:
            if rest[0].startswith("$"):
                operation.refuse(f"{rest[0]} is no property and cannot be patched.")
            self._patch_property(operation, part, rest[0])
            if operation.verb != "remove":
                cast("JsonObject", part[METADATA])[TOUCHED] = self._now
        self.touched.add(name)

    def _patch_whole_part(self, operation: PatchOperation, name: str) -> None:
        apply_operation(self._document, operation)
        if operation.verb != "remove":
            self._document[name] = build_part(name, operation.value, self._now)
        self._metadata.pop(name, None)

    def _patch_property(self, operation: PatchOperation, owner: JsonObject, name: str) -> None:
        apply_operation(self._document, operation)
        metadata = cast("JsonObject", owner[METADATA])
        if name not in owner:
            metadata.pop(name, None)
        else:
            entry = metadata.get(name)
            kept = entry if isinstance(entry, dict) else {}
            metadata[name] = {**kept, UPDATED: self._now}

    def _set_source_time(
        self, operation: PatchOperation, owner: JsonObject, rest: list[str]
    ) -> None:
        if len(rest) != 2 or rest[1] != SOURCE_TIME or rest[0].startswith("$"):
            operation.refuse(
                "of the metadata only /$metadata/$model and /$metadata/<property>/sourceTime can "
                "be patched."
            )
        entry = cast("JsonObject", owner[METADATA]).get(rest[0])
        if not isinstance(entry, dict):
            operation.refuse_missing(rest[0])
        if operation.verb == "remove":
            if entry.pop(SOURCE_TIME, None) is None:
                operation.refuse_missing(SOURCE_TIME)
            return
        if not is_source_time(operation.value):
            operation.refuse(
                "sourceTime must be an ISO 8601 date and time with a zone, such as "
                "2024-01-31T12:00:00Z."
            )
        entry[SOURCE_TIME] = operation.value


def find_parts(document: JsonObject, contents: Collection[str], parts: Collection[str]) -> set[str]:
    """Return the names of components when the twin follows a model with these contents and parts.

    Components that the model does not know at all stay components, for the validator to refuse.
    """
    return {*parts, *(name for name in list_parts(document) if name not in contents)}
