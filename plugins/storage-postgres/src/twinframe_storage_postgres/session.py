"""The read side of the storage interface over one schema of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from twinframe.errors import InvalidContinuationToken
from twinframe.storage.base import (
    ChangePage,
    GraphSession,
    IncomingRelationship,
    Instance,
    Listed,
    ModelRecord,
    OutboxEvent,
    RelationshipRecord,
    StoredDocument,
    TwinRecord,
    build_change_page,
)
from twinframe.storage.prefetching import PrefetchingSession
from twinframe_storage_postgres.history import EVENT, HistoryReads, build_event, split_keys
from twinframe_storage_postgres.scans import GraphScans
from twinframe_storage_postgres.statements import Row

_TWIN: Final = "SELECT etag, document FROM @twin WHERE dt_id = %s"
_HAS_TWIN: Final = "SELECT 1 FROM @twin WHERE dt_id = %s"
_COUNT_TWINS: Final = "SELECT twins FROM @graph"
_TWIN_MODEL: Final = (
    "SELECT i.dtmi FROM @twin t JOIN @interface i ON i.id = t.model WHERE t.dt_id = %s"
)
_TWIN_MODELS: Final = (
    "SELECT t.dt_id, i.dtmi FROM @twin t JOIN @interface i ON i.id = t.model "
    "WHERE t.dt_id = ANY(%b::text[])"
)
_TWINS: Final = "SELECT dt_id, etag, document FROM @twin WHERE dt_id = ANY(%b::text[])"
# NOTE: text is compared byte by byte, and UTF-8 keeps the order of code points.
_ALL_TWINS: Final = (
    "SELECT t.dt_id, i.dtmi, t.etag, t.document FROM @twin t "
    "JOIN @interface i ON i.id = t.model ORDER BY t.dt_id"
)
_ALL_RELATIONSHIPS: Final = (
    "SELECT s.dt_id, r.relationship_id, r.name, t.dt_id, r.etag, r.document "
    "FROM @relationship r JOIN @twin s ON s.id = r.source JOIN @twin t ON t.id = r.target "
    "ORDER BY s.dt_id, r.relationship_id"
)
_RELATIONSHIP: Final = (
    "SELECT r.etag, r.document FROM @twin s JOIN @relationship r ON r.source = s.id "
    "WHERE s.dt_id = %s AND r.relationship_id = %s"
)
_RELATIONSHIPS: Final = (
    "SELECT s.dt_id, r.relationship_id, r.etag, r.document "
    "FROM unnest(%b::text[], %b::text[]) x (source, id) JOIN @twin s ON s.dt_id = x.source "
    "CROSS JOIN LATERAL (SELECT * FROM @relationship r "
    "WHERE r.source = s.id AND r.relationship_id = x.id OFFSET 0) r"
)
_OUTGOING: Final = (
    "SELECT r.relationship_id, r.etag, r.document FROM @relationship r "
    "WHERE r.source = (SELECT id FROM @twin WHERE dt_id = %(source)s) "
    "AND r.relationship_id > %(after)s {}ORDER BY r.relationship_id LIMIT %(limit)s"
)
_OUTGOING_ANY: Final = _OUTGOING.format("")
_OUTGOING_NAMED: Final = _OUTGOING.format("AND r.name = %(name)s ")
# PERF: in the order of the covering index, so that a page of a hub costs no more than its rows.
_INCOMING: Final = (
    "SELECT r.name, r.source, r.id, s.dt_id, r.relationship_id "
    "FROM @relationship r JOIN @twin s ON s.id = r.source "
    "WHERE r.target = (SELECT id FROM @twin WHERE dt_id = %s) "
    "AND (r.name, r.source, r.id) > (%s, %s, %s) "
    "ORDER BY r.name, r.source, r.id LIMIT %s"
)
_TWIN_ROW: Final = "SELECT id FROM @twin WHERE dt_id = %s"
_LAST_ROW: Final = 2**63 - 1
_MODEL: Final = (
    "SELECT id, dtmi, document, display_name, description, upload_time, decommissioned, position, "
    "ARRAY(SELECT f.kind || i.dtmi FROM @interface_reference f "
    "JOIN @interface i ON i.id = f.referenced "
    "WHERE f.referrer = m.id ORDER BY i.dtmi) FROM @interface m "
)
_MODEL_BY_ID: Final = f"{_MODEL} WHERE dtmi = %s AND position IS NOT NULL"
_MODELS_AFTER: Final = f"{_MODEL} WHERE position > %s ORDER BY position LIMIT %s"
_REFERRERS: Final = (
    "SELECT DISTINCT i.dtmi FROM @interface_reference f JOIN @interface i ON i.id = f.referrer "
    "WHERE f.referenced = (SELECT id FROM @interface WHERE dtmi = %s) "
    "AND f.referrer <> f.referenced AND i.position IS NOT NULL ORDER BY i.dtmi"
)
_ENTRY: Final = "SELECT body FROM @entry WHERE kind = %s AND key = %s"
_ENTRIES: Final = "SELECT key, body FROM @entry WHERE kind = %s AND key > %s ORDER BY key LIMIT %s"
_FIRST_ENTRIES: Final = "SELECT key, body FROM @entry WHERE kind = %s ORDER BY key LIMIT %s"
_EVENTS: Final = f"{EVENT} WHERE position > %s ORDER BY position LIMIT %s"
_CHANGES: Final = (
    "SELECT position, kind, subject, relationship FROM @event "
    "WHERE position > %s ORDER BY position LIMIT %s"
)
# NOTE: the first condition on the kind is that of the index.
_REPLACEMENTS: Final = (
    f"{EVENT} WHERE subject = %s AND relationship = %s "
    "AND kind BETWEEN 1 AND 6 AND kind IN (2, 3, 5, 6) AND position > %s ORDER BY position LIMIT %s"
)
_EVENT_BOUNDS: Final = "SELECT (SELECT min(position) FROM @event), last_position FROM @graph"
_INSTANCE: Final = "SELECT instance, secret FROM @graph"


class PostgresSession(HistoryReads, GraphScans, GraphSession):
    """Reads of one thread, over connections that all sessions of the process share."""

    learns_version = True

    def read_instance(self) -> Instance:
        """Return identity and secret, which were made with the file."""
        found, secret = self.read_one(_INSTANCE)
        return Instance(found, secret)

    # --- the service's own --------------------------------------------------------------------

    def read_entry(self, kind: str, key: str) -> bytes | None:
        """The entry's body."""
        body: bytes | None = self.read_one(_ENTRY, (kind, key))
        return body

    def read_entries(self, kind: str, *, after: str | None, limit: int) -> Sequence[Listed[bytes]]:
        """Entries of a kind by key, by the bytes of UTF-8, hence by code point."""
        if after is None:
            rows = self.read_all(_FIRST_ENTRIES, (kind, limit))
        else:
            rows = self.read_all(_ENTRIES, (kind, after, limit))
        return [Listed(key, body) for key, body in rows]

    def read_events(self, *, after: int, limit: int) -> Sequence[tuple[int, OutboxEvent]]:
        """Events after a position; one writer at a time gives positions in the order of commits."""
        return [*map(build_event, self.read_all(_EVENTS, (after, limit)))]

    def read_changes(self, *, after: int, limit: int) -> ChangePage:
        """Which entities the next events changed, without a copy of their bodies."""
        rows = self.read_all(_CHANGES, (after, limit))
        return build_change_page(rows, after, self.read_event_bounds())

    def read_replacements(
        self, subject: str, relationship_id: str, *, after: int, limit: int
    ) -> Sequence[tuple[int, OutboxEvent]]:
        """Replacing events of one entity, by the index of its changes."""
        rows = self.read_all(_REPLACEMENTS, (subject, relationship_id, after, limit))
        return [*map(build_event, rows)]

    def read_event_bounds(self) -> tuple[int, int]:
        """Return the positions of the first kept and the last event."""
        first, last = self.read_one(_EVENT_BOUNDS)
        if not last:
            return 0, 0
        return first or last + 1, last

    # --- twins and relationships ------------------------------------------------------------

    def read_twin(self, twin_id: str) -> StoredDocument | None:
        """The twin's document."""
        row = self.read_one(_TWIN, (twin_id,))
        return None if row is None else build_stored(*row)

    def has_twin(self, twin_id: str) -> bool:
        """Whether the twin exists."""
        return self.read_one(_HAS_TWIN, (twin_id,)) is not None

    def count_twins(self) -> int:
        """How many twins there are, a number that is kept."""
        count: int = self.read_one(_COUNT_TWINS)
        return count

    def read_twin_model(self, twin_id: str) -> str | None:
        """The twin's model id."""
        model: str | None = self.read_one(_TWIN_MODEL, (twin_id,))
        return model

    def read_twin_models(self, twin_ids: Sequence[str]) -> Mapping[str, str]:
        """The models of those twins that exist."""
        return dict(self.read_all(_TWIN_MODELS, ([*twin_ids],)))

    def read_twin_documents(self, twin_ids: Sequence[str]) -> Mapping[str, StoredDocument]:
        """The documents of those twins that exist."""
        found = self.read_all(_TWINS, ([*twin_ids],))
        return {twin_id: build_stored(*stored) for twin_id, *stored in found}

    def read_relationship_documents(
        self, keys: Sequence[tuple[str, str]]
    ) -> Mapping[tuple[str, str], StoredDocument]:
        """The documents of those relationships that exist."""
        found = self.read_all(_RELATIONSHIPS, split_keys(keys))
        return {(source, name): build_stored(*stored) for source, name, *stored in found}

    def iterate_twins(self) -> Iterator[TwinRecord]:
        """Every twin by id."""
        rows = self.iterate(_ALL_TWINS)
        return (TwinRecord(twin, model, etag, text.encode()) for twin, model, etag, text in rows)

    def iterate_relationships(self) -> Iterator[RelationshipRecord]:
        """Every relationship by source and id."""
        rows = self.iterate(_ALL_RELATIONSHIPS)
        for *key, text in rows:
            source_id, relationship_id, name, target_id, etag = key
            yield RelationshipRecord(
                source_id, relationship_id, name, target_id, etag, text.encode()
            )

    def read_relationship(self, source_id: str, relationship_id: str) -> StoredDocument | None:
        """The relationship's document."""
        row = self.read_one(_RELATIONSHIP, (source_id, relationship_id))
        return None if row is None else build_stored(*row)

    def read_relationships(
        self, source_id: str, *, name: str | None, after: str | None, limit: int
    ) -> Sequence[Listed[StoredDocument]]:
        """Outgoing relationships by id; the key is the id."""
        bindings: dict[str, str | int] = {"source": source_id, "after": after or "", "limit": limit}
        if name is None:
            rows = self.read_all(_OUTGOING_ANY, bindings)
        else:
            rows = self.read_all(_OUTGOING_NAMED, {**bindings, "name": name})
        return [Listed(key, build_stored(etag, text)) for key, etag, text in rows]

    def read_incoming(
        self, target_id: str, *, after: str | None, limit: int
    ) -> Sequence[Listed[IncomingRelationship]]:
        """Incoming relationships by name, then source; the key is both and the row's number."""
        start = ("", 0, 0) if after is None else _parse_incoming_key(after)
        rows = self.read_all(_INCOMING, (target_id, *start, limit))
        return [
            Listed(f"{source}.{row}.{name}", IncomingRelationship(source_id, relationship_id, name))
            for name, source, row, source_id, relationship_id in rows
        ]

    def find_incoming_key(self, source_id: str, relationship_id: str, name: str) -> str:
        """After the source's other relationships of the name; after all where it is gone, too."""
        row = self.read_one(_TWIN_ROW, (source_id,))
        return f"{_LAST_ROW if row is None else row}.{_LAST_ROW}.{name}"

    def rank_incoming_key(self, key: str) -> tuple[str | int, ...]:
        """Name, source and row."""
        return _parse_incoming_key(key)

    # --- models ---------------------------------------------------------------------------------

    def read_model(self, model_id: str) -> ModelRecord | None:
        """The model."""
        row = self.read_one(_MODEL_BY_ID, (model_id,))
        return None if row is None else _build_model(row)

    def read_models(self, *, after: int, limit: int) -> Sequence[ModelRecord]:
        """Models by order of upload."""
        return [_build_model(row) for row in self.read_all(_MODELS_AFTER, (after, limit))]

    def read_model_referrers(self, model_id: str) -> Sequence[str]:
        """Ids of the stored models that name it."""
        return [dtmi for (dtmi,) in self.read_all(_REFERRERS, (model_id,))]


class PostgresReads(PrefetchingSession, PostgresSession):
    """A session that writes nothing, and so may read ahead."""


def build_stored(etag: str, text: str) -> StoredDocument:
    """Build a document of its columns."""
    return StoredDocument(etag, text.encode())


def _parse_incoming_key(key: str) -> tuple[str, int, int]:
    source, _, rest = key.partition(".")
    row, _, name = rest.partition(".")
    try:
        return name, int(source), int(row)
    except ValueError as error:
        raise InvalidContinuationToken(
            f"The position {key!r} is not one of this listing."
        ) from error


def _build_model(row: Row) -> ModelRecord:
    dtmi, document, names, description, uploaded, decommissioned, position, references = row[1:]
    return ModelRecord(
        model_id=dtmi,
        document=document.encode(),
        display_name=names.encode(),
        description=description.encode(),
        extends=tuple(each[1:] for each in references if each[0] == "0"),
        components=tuple(each[1:] for each in references if each[0] == "1"),
        upload_time=uploaded,
        decommissioned=bool(decommissioned),
        position=position,
    )
