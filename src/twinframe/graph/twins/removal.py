"""The use case of removals: deletes a twin with its relationships in one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import orjson

from twinframe.errors import LimitExceeded
from twinframe.graph.context.context import GraphContext
from twinframe.graph.twins.changes import remove_relationship, remove_twin
from twinframe.graph.twins.commands import run_command
from twinframe.graph.twins.relationships import require_relationship
from twinframe.graph.twins.twins import require_twin
from twinframe.model.etags import UNCONDITIONED, Condition
from twinframe.model.ids import parse_twin_id
from twinframe.storage.base import GraphSession, GraphTransaction

MOST_RELATIONSHIPS: Final = 10_000
"""The most relationships of one removal, which blocks all other writers meanwhile."""

Key = tuple[str, str]


class Removal:
    """Deletes twins that have relationships."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context

    async def remove_twin(self, twin_id: str, condition: Condition = UNCONDITIONED) -> int:
        """Delete a twin and each relationship at either end of it; return their number.

        Errors: `InvalidArgument`, `TwinNotFound`, `PreconditionFailed`, `LimitExceeded`.
        """
        command = RemoveTwin(twin_id, condition)
        parse_twin_id(twin_id)
        return len(await run_command(self._context, command))


@dataclass(frozen=True, slots=True)
class RemoveTwin:
    """Delete a twin together with its relationships."""

    twin_id: str
    condition: Condition

    def apply(self, context: GraphContext, transaction: GraphTransaction) -> list[Key]:
        """Return the keys of the deleted relationships; `TwinNotFound`, `PreconditionFailed`,
        `LimitExceeded`.
        """
        stored = require_twin(transaction, self.twin_id)
        self.condition.check(stored.etag, f"the twin {self.twin_id}")
        keys = read_relationship_keys(transaction, self.twin_id, MOST_RELATIONSHIPS + 1)
        if len(keys) > MOST_RELATIONSHIPS:
            raise LimitExceeded(
                f"The twin {self.twin_id} has more than {MOST_RELATIONSHIPS} relationships; "
                "delete some of them first."
            )
        for key in keys:
            before = require_relationship(transaction, *key)
            remove_relationship(context, transaction, key, before)
        remove_twin(context, transaction, self.twin_id, stored)
        return keys


def read_relationship_keys(session: GraphSession, twin_id: str, most: int) -> list[Key]:
    """Return source and id of at most `most` relationships of a twin, outgoing ones first."""
    outgoing = session.read_relationships(twin_id, name=None, after=None, limit=most)
    # NOTE: a listing's key is not the relationship's id in every store; the document has it.
    keys = dict.fromkeys(_read_key(listed.item.body) for listed in outgoing)
    incoming = session.read_incoming(twin_id, after=None, limit=most)
    keys.update(
        dict.fromkeys((listed.item.source_id, listed.item.relationship_id) for listed in incoming)
    )
    return list(keys)[:most]


def _read_key(body: bytes) -> Key:
    document = orjson.loads(body)
    return str(document["$sourceId"]), str(document["$relationshipId"])
