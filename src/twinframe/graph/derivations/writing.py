"""Writes derived values, in a transaction with the progress that they make true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

import orjson

from twinframe.errors import LimitExceeded, ValidationFailed
from twinframe.graph.background.leases import Lease
from twinframe.graph.context.context import GraphContext
from twinframe.graph.derivations.computing import Computed
from twinframe.graph.derivations.progress import Progress, put_progress
from twinframe.graph.documents.derivations import Derivation, read_derivation
from twinframe.graph.documents.twins import JsonObject
from twinframe.graph.twins.derived import is_same_value
from twinframe.graph.twins.twins import PatchTwin
from twinframe.model.clock import render_update_time
from twinframe.model.etags import UNCONDITIONED
from twinframe.model.patches import PatchOperation
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphTransaction, StoredDocument

_GROUP_BYTES: Final = 4 * 1024 * 1024
"""Bytes of documents after which a write is committed: other writers wait meanwhile."""


class DefinitionChanged(Exception):
    """The derivation was replaced or deleted since its values were computed."""


@dataclass(frozen=True, slots=True)
class Written:
    """The progress as it is stored now, how many of the values are, and the positions of the rows
    of this write: those after `before` up to `last`.
    """

    progress: Progress
    count: int
    before: int
    last: int


@dataclass(frozen=True, slots=True)
class WriteValues:
    """Write those values that differ from the stored ones, and the progress.

    Where the twins are so large that not all are written at once, the position and fill stay those
    of `former`, the progress that is stored.
    """

    derivation: Derivation
    lease: Lease
    values: Sequence[Computed]
    progress: Progress
    former: Progress

    def apply(self, context: GraphContext, transaction: GraphTransaction) -> Written:
        """Raises `LeaseLost` and `DefinitionChanged`. A value that its twin cannot take is null."""
        self.lease.check(transaction)
        present = read_derivation(transaction, self.derivation.id)
        if present is None or present.epoch != self.derivation.epoch:
            raise DefinitionChanged
        _, before = transaction.read_event_bounds()
        now = render_update_time(context.write_clock())
        pinned = context.pin_models(transaction)
        progress, count, size, most = self.progress, 0, 0, transaction.most_at_once
        while count < len(self.values) and size < _GROUP_BYTES:
            some = self.values[count : count + most]
            stored = transaction.read_twin_documents([one.twin_id for one in some])
            for value in some:
                document = stored.get(value.twin_id)
                if document is not None and self._is_derived(pinned, transaction, value.twin_id):
                    progress = self._write(pinned, transaction, value, document, progress, now)
                    size += len(document.body)
            count += len(some)
        if count < len(self.values):
            progress = replace(
                progress,
                position=self.former.position,
                time=self.former.time,
                fill=self.former.fill,
                done=self.former.done,
            )
        put_progress(transaction, self.derivation.id, progress)
        return Written(progress, count, before, transaction.read_event_bounds()[1])

    def _is_derived(
        self, context: GraphContext, transaction: GraphTransaction, twin_id: str
    ) -> bool:
        """Return whether the twin's model has the property from this derivation, still."""
        model_id = transaction.read_twin_model(twin_id)
        model = context.models.open(transaction).find(model_id) if model_id else None
        owner = None if model is None else model.derived.get(self.derivation.property_name)
        return owner == self.derivation.id

    def _write(
        self,
        context: GraphContext,
        transaction: GraphTransaction,
        value: Computed,
        stored: StoredDocument,
        progress: Progress,
        now: str,
    ) -> Progress:
        error = value.error
        try:
            has_written = self._put(context, transaction, stored, value.twin_id, value.value)
        except (LimitExceeded, ValidationFailed) as refused:
            reasons = refused.details if isinstance(refused, ValidationFailed) else ()
            error = reasons[0].message if reasons else refused.message
            has_written = self._put(context, transaction, stored, value.twin_id, None)
        if error:
            progress = replace(
                progress,
                errors=progress.errors + 1,
                error=error,
                error_twin=value.twin_id,
                error_time=now,
            )
        return replace(progress, written=progress.written + has_written)

    def _put(
        self,
        context: GraphContext,
        transaction: GraphTransaction,
        stored: StoredDocument,
        twin_id: str,
        value: JsonValue,
    ) -> bool:
        """Write a value as a patch of its twin would; return False if it is there already."""
        name = self.derivation.property_name
        former = cast("JsonObject", orjson.loads(stored.body)).get(name)
        if is_same_value(former, value):
            return False
        operation = PatchOperation(0, "remove" if value is None else "add", (name,), value)
        PatchTwin(twin_id, (operation,), UNCONDITIONED, derivation=self.derivation.id).apply(
            context, transaction
        )
        return True
