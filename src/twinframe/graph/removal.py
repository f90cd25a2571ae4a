"""Use case of removals: a twin with its relationships, in one work. It deletes no models."""

from __future__ import annotations

from typing import Final

import orjson

from twinframe.errors import LimitExceeded, TwinNotFound
from twinframe.graph.context import GraphContext
from twinframe.model.etags import parse_if_match
from twinframe.model.ids import parse_twin_id
from twinframe.storage.base import GraphSession, GraphTransaction

MOST_RELATIONSHIPS: Final = 10_000
"""Relationships that one removal takes along: it holds up all other writers meanwhile."""

Key = tuple[str, str]


class Removal:
    """Deleting twins that are related."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context

    async def remove_twin(self, twin_id: str, if_match: str | None = None) -> int:
        """Delete a twin and each relationship that starts or ends at it; how many these were.

        Errors: `InvalidArgument`, `TwinNotFound`, `PreconditionFailed`, `LimitExceeded`.
        """
        condition = parse_if_match(if_match)
        parse_twin_id(twin_id)

        def work(transaction: GraphTransaction) -> int:
            stored = transaction.read_twin(twin_id)
            if stored is None:
                raise TwinNotFound(twin_id)
            condition.check(stored.etag)
            keys = read_relationship_keys(transaction, twin_id, MOST_RELATIONSHIPS + 1)
            if len(keys) > MOST_RELATIONSHIPS:
                raise LimitExceeded(
                    f"The twin {twin_id} has more than {MOST_RELATIONSHIPS} relationships; delete "
                    "some of them first."
                )
            for source_id, relationship_id in keys:
                transaction.delete_relationship(source_id, relationship_id)
            transaction.delete_twin(twin_id)
            return len(keys)

        return await self._context.runner.write(work)


def read_relationship_keys(session: GraphSession, twin_id: str, most: int) -> list[Key]:
    """Source and id of at most `most` relationships of a twin, outgoing ones first, each once."""
    outgoing = session.read_relationships(twin_id, name=None, after=None, limit=most)
    # NOTE: a listing's key is not the relationship's id for every store; the document has it.
    keys = dict.fromkeys(_read_key(listed.item.body) for listed in outgoing)
    incoming = session.read_incoming(twin_id, after=None, limit=most)
    keys.update(
        dict.fromkeys((listed.item.source_id, listed.item.relationship_id) for listed in incoming)
    )
    return list(keys)[:most]


def _read_key(body: bytes) -> Key:
    document = orjson.loads(body)
    return str(document["$sourceId"]), str(document["$relationshipId"])
