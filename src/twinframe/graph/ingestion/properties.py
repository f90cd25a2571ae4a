"""The command that writes properties of a twin with the time of their source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import orjson

from twinframe.errors import TwinframeError
from twinframe.graph.context.context import GraphContext
from twinframe.graph.documents.twins import METADATA, MODEL, SOURCE_TIME, JsonObject, list_parts
from twinframe.graph.twins.derived import is_same_value
from twinframe.graph.twins.twins import PatchTwin, require_model, require_twin
from twinframe.model.etags import UNCONDITIONED
from twinframe.model.moments import parse_moment
from twinframe.model.patches import PatchOperation
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphTransaction, StoredDocument

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WriteProperties:
    """Set properties of a twin, each with the names of its path and its value.

    `time` is when the source had these values, in microseconds, and `time_text` the same as it is
    stored.
    """

    twin_id: str
    values: tuple[tuple[Names, JsonValue], ...]
    time: int | None = None
    time_text: str | None = None

    def apply(self, context: GraphContext, transaction: GraphTransaction) -> StoredDocument | None:
        """Return the changed twin; None if all of these values are older than those stored.

        A property keeps a value of a later time of the source. One of the same time is replaced, if
        it is another. Errors: as `PatchTwin`.
        """
        stored = require_twin(transaction, self.twin_id)
        document = cast("JsonObject", orjson.loads(stored.body))
        model_id = cast("str", cast("JsonObject", document[METADATA])[MODEL])
        model = require_model(context.models.open(transaction), model_id)
        parts = {*list_parts(document), *model.interface.components}
        operations: list[PatchOperation] = []
        for names, value in self.values:
            depth = 1 if names[0] in parts and len(names) > 1 else 0
            owner = document.get(names[0]) if depth else document
            if isinstance(owner, dict) and self._is_stale(owner, names[depth:], value):
                continue
            operations.append(PatchOperation(len(operations), "add", names, value))
            if depth or names[0] not in parts:  # a component as a whole has no time
                operations += self._build_time(len(operations), names, depth)
        if not operations:
            return None
        patch = PatchTwin(self.twin_id, operations, UNCONDITIONED)
        return patch.apply(context, transaction)

    def _build_time(self, number: int, names: Names, depth: int) -> list[PatchOperation]:
        if self.time_text is None:
            return []
        path = (*names[:depth], METADATA, names[depth], SOURCE_TIME)
        return [PatchOperation(number, "replace", path, self.time_text)]

    def _is_stale(self, owner: JsonObject, names: Names, value: JsonValue) -> bool:
        """Return whether what is stored is of a later time of the source, or the same."""
        entry = cast("JsonObject", owner.get(METADATA, {})).get(names[0])
        known = entry.get(SOURCE_TIME) if isinstance(entry, dict) else None
        if self.time is None or not isinstance(known, str):
            return False
        try:
            moment = parse_moment(known)
        except TwinframeError:  # the vendor's form allows a 60th second
            return False
        if moment == self.time:
            return is_same_value(_find(owner, names), value)
        return moment > self.time


def _find(owner: JsonValue, names: Names) -> JsonValue:
    for name in names:
        owner = owner.get(name) if isinstance(owner, dict) else None
    return owner
