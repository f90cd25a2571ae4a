"""The read side of the storage interface over one SQLite file, on a read-only connection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import starmap
from typing import Final

import apsw
import orjson

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
from twinframe_storage_sqlite.errors import EngineError, build_error
from twinframe_storage_sqlite.history import EVENT, HistoryReads, build_event
from twinframe_storage_sqlite.scans import GraphScans
from twinframe_storage_sqlite.statements import Row, SqlValue

# PERF: the cast gives bytes; 3.5 us in total for a twin of 200 bytes.
_TWIN: Final = "SELECT etag, CAST(json(document) AS BLOB) FROM twin WHERE dt_id = ?"
_HAS_TWIN: Final = "SELECT 1 FROM twin WHERE dt_id = ?"
_COUNT_TWINS: Final = "SELECT coalesce(sum(twins), 0) FROM twin_count"
_TWIN_MODEL: Final = (
    "SELECT i.dtmi FROM twin t JOIN interface i ON i.id = t.model WHERE t.dt_id = ?"
)
_TWIN_MODELS: Final = (
    "SELECT t.dt_id, i.dtmi FROM json_each(?) x CROSS JOIN twin t ON t.dt_id = x.value "
    "JOIN interface i ON i.id = t.model"
)
_TWINS: Final = (
    "SELECT t.dt_id, t.etag, CAST(json(t.document) AS BLOB) "
    "FROM json_each(?) x CROSS JOIN twin t ON t.dt_id = x.value"
)
# NOTE: text is compared byte by byte, and UTF-8 keeps the order of code points.
_ALL_TWINS: Final = (
    "SELECT t.dt_id, (SELECT dtmi FROM interface i WHERE i.id = t.model), t.etag, "
    "CAST(json(t.document) AS BLOB) FROM twin t ORDER BY t.dt_id"
)
# PERF: along two indexes, so that nothing is sorted.
_ALL_RELATIONSHIPS: Final = (
    "SELECT s.dt_id, r.relationship_id, r.name, t.dt_id, r.etag, CAST(json(r.document) AS BLOB) "
    "FROM twin s CROSS JOIN relationship r ON r.source = s.id CROSS JOIN twin t ON t.id = r.target "
    "ORDER BY s.dt_id, r.relationship_id"
)
_RELATIONSHIP: Final = (
    "SELECT r.etag, CAST(json(r.document) AS BLOB) FROM relationship r "
    "WHERE r.source = (SELECT id FROM twin WHERE dt_id = ?) AND r.relationship_id = ?"
)
_RELATIONSHIPS: Final = (
    "SELECT t.dt_id, r.relationship_id, r.etag, CAST(json(r.document) AS BLOB) "
    "FROM json_each(?) x CROSS JOIN twin t ON t.dt_id = x.value ->> 0 "
    "CROSS JOIN relationship r ON r.source = t.id AND r.relationship_id = x.value ->> 1"
)
_OUTGOING: Final = (
    "SELECT r.relationship_id, r.etag, CAST(json(r.document) AS BLOB) FROM relationship r "
    "WHERE r.source = (SELECT id FROM twin WHERE dt_id = :source) "
    "AND r.relationship_id > :after {}ORDER BY r.relationship_id LIMIT :limit"
)
_OUTGOING_ANY: Final = _OUTGOING.format("")
_OUTGOING_NAMED: Final = _OUTGOING.format("AND r.name = :name ")
# PERF: in the order of the covering index, so that a page of a hub costs no more than its rows.
_INCOMING: Final = (
    "SELECT r.name, r.source, r.id, s.dt_id, r.relationship_id "
    "FROM relationship r CROSS JOIN twin s ON s.id = r.source "
    "WHERE r.target = (SELECT id FROM twin WHERE dt_id = ?) "
    "AND (r.name, r.source, r.id) > (?, ?, ?) "
    "ORDER BY r.name, r.source, r.id LIMIT ?"
)
_TWIN_ROW: Final = "SELECT id FROM twin WHERE dt_id = ?"
_LAST_ROW: Final = 2**63 - 1
_MODEL: Final = (
    "SELECT id, dtmi, CAST(json(document) AS BLOB), CAST(json(display_name) AS BLOB), "
    "CAST(json(description) AS BLOB), upload_time, decommissioned, position FROM interface "
)
_MODEL_BY_ID: Final = f"{_MODEL} WHERE dtmi = ? AND position IS NOT NULL"
_MODELS_AFTER: Final = f"{_MODEL} WHERE position > ? ORDER BY position LIMIT ?"
_REFERENCES: Final = (
    "SELECT f.kind, i.dtmi FROM interface_reference f JOIN interface i ON i.id = f.referenced "
    "WHERE f.referrer = ? ORDER BY i.dtmi"
)
_REFERRERS: Final = (
    "SELECT DISTINCT i.dtmi FROM interface_reference f JOIN interface i ON i.id = f.referrer "
    "WHERE f.referenced = (SELECT id FROM interface WHERE dtmi = ?) "
    "AND f.referrer <> f.referenced AND i.position IS NOT NULL ORDER BY i.dtmi"
)
_ENTRY: Final = "SELECT body FROM entry WHERE kind = ? AND key = ?"
_ENTRIES: Final = "SELECT key, body FROM entry WHERE kind = ? AND key > ? ORDER BY key LIMIT ?"
_FIRST_ENTRIES: Final = "SELECT key, body FROM entry WHERE kind = ? ORDER BY key LIMIT ?"
_EVENTS: Final = f"{EVENT} WHERE position > ? ORDER BY position LIMIT ?"
_CHANGES: Final = (
    "SELECT position, kind, subject, relationship FROM event "
    "WHERE position > ? ORDER BY position LIMIT ?"
)
# NOTE: the first condition on the kind is that of the index.
_REPLACEMENTS: Final = (
    f"{EVENT} INDEXED BY event_entity WHERE subject = ? AND relationship = ? "
    "AND kind BETWEEN 1 AND 6 AND kind IN (2, 3, 5, 6) AND position > ? ORDER BY position LIMIT ?"
)
_EVENT_BOUNDS: Final = (
    "SELECT (SELECT min(position) FROM event), "
    "(SELECT seq FROM sqlite_sequence WHERE name = 'event')"
)
_INSTANCE: Final = (
    "SELECT (SELECT value FROM meta WHERE key = 'instance'), "
    "(SELECT value FROM meta WHERE key = 'secret')"
)


class SqliteSession(HistoryReads, GraphScans, GraphSession):
    """A read-only connection for one thread. `connection` is for the query engine."""

    _schema_state: tuple[int, int] | None = None

    def close(self) -> None:
        """Close the connection and end statements that are still open."""
        self.connection.close(force=True)

    @contextmanager
    def small_reads(self, most_bytes: int) -> Iterator[None]:
        """Decline reads of larger values, of which SQLite then reads no more than the size."""
        before = self.connection.limit(apsw.SQLITE_LIMIT_LENGTH, most_bytes)
        try:
            yield
        finally:
            self.connection.limit(apsw.SQLITE_LIMIT_LENGTH, before)

    def has_schema(self, version: int) -> bool:
        """Whether the models have this version.

        PERF: 0.2 us where the file is as it was when that was read last, else 3. The number of the
        file's state is that of the present snapshot once something was read in it. Changes of this
        connection itself do not count there, so only a short snapshot, which has none, relies on
        it.
        """
        if not self.is_short:
            return super().has_schema(version)
        if self._schema_state == (self.connection.data_version(), version):
            return True
        if self.read_schema_version() != version:
            return False
        self._schema_state = self.connection.data_version(), version
        return True

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
        """Entries of a kind by key; SQLite compares texts by their UTF-8, hence by code point."""
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
        if last is None:
            return 0, 0
        return first or last + 1, last

    # --- twins and relationships ------------------------------------------------------------

    def read_twin(self, twin_id: str) -> StoredDocument | None:
        """The twin's document."""
        # PERF: the most frequent read of the service, hence without a call in between.
        try:
            row = self._cursor.execute(_TWIN, (twin_id,)).get
        except EngineError as error:
            raise build_error(error, self.connection.filename) from error
        return None if row is None else StoredDocument(*row)

    def has_twin(self, twin_id: str) -> bool:
        """Whether the twin exists."""
        return self.read_one(_HAS_TWIN, (twin_id,)) is not None

    def count_twins(self) -> int:
        """How many twins there are.

        PERF: the sum of the counts kept by model, 1 us and 0.04 us a model, whatever the twins.
        """
        count: int = self.read_one(_COUNT_TWINS)
        return count

    def read_twin_model(self, twin_id: str) -> str | None:
        """The twin's model id."""
        model: str | None = self.read_one(_TWIN_MODEL, (twin_id,))
        return model

    def read_twin_models(self, twin_ids: Sequence[str]) -> Mapping[str, str]:
        """The models of those twins that exist."""
        ids = orjson.dumps(twin_ids).decode()
        return dict(self.read_all(_TWIN_MODELS, (ids,)))

    def read_twin_documents(self, twin_ids: Sequence[str]) -> Mapping[str, StoredDocument]:
        """The documents of those twins that exist."""
        found = self.read_all(_TWINS, (orjson.dumps(twin_ids).decode(),))
        return {twin_id: StoredDocument(*stored) for twin_id, *stored in found}

    def read_relationship_documents(
        self, keys: Sequence[tuple[str, str]]
    ) -> Mapping[tuple[str, str], StoredDocument]:
        """The documents of those relationships that exist."""
        found = self.read_all(_RELATIONSHIPS, (orjson.dumps(keys).decode(),))
        return {(source, name): StoredDocument(*stored) for source, name, *stored in found}

    def iterate_twins(self) -> Iterator[TwinRecord]:
        """Every twin by id."""
        return starmap(TwinRecord, self.iterate(_ALL_TWINS))

    def iterate_relationships(self) -> Iterator[RelationshipRecord]:
        """Every relationship by source and id."""
        return starmap(RelationshipRecord, self.iterate(_ALL_RELATIONSHIPS))

    def read_relationship(self, source_id: str, relationship_id: str) -> StoredDocument | None:
        """The relationship's document."""
        row = self.read_one(_RELATIONSHIP, (source_id, relationship_id))
        return None if row is None else StoredDocument(*row)

    def read_relationships(
        self, source_id: str, *, name: str | None, after: str | None, limit: int
    ) -> Sequence[Listed[StoredDocument]]:
        """Outgoing relationships by id; the key is the id."""
        bindings: dict[str, SqlValue] = {"source": source_id, "after": after or "", "limit": limit}
        if name is None:
            rows = self.read_all(_OUTGOING_ANY, bindings)
        else:
            rows = self.read_all(_OUTGOING_NAMED, {**bindings, "name": name})
        return [Listed(key, StoredDocument(etag, body)) for key, etag, body in rows]

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
        return None if row is None else self._build_model(row)

    def read_models(self, *, after: int, limit: int) -> Sequence[ModelRecord]:
        """Models by order of upload."""
        return [self._build_model(row) for row in self.read_all(_MODELS_AFTER, (after, limit))]

    def read_model_referrers(self, model_id: str) -> Sequence[str]:
        """Ids of the stored models that name it."""
        return [dtmi for (dtmi,) in self.read_all(_REFERRERS, (model_id,))]

    def _build_model(self, row: Row) -> ModelRecord:
        interface, dtmi, document, names, description, uploaded, decommissioned, position = row
        references = self.read_all(_REFERENCES, (interface,))
        return ModelRecord(
            model_id=dtmi,
            document=document,
            display_name=names,
            description=description,
            extends=tuple(referenced for kind, referenced in references if kind == 0),
            components=tuple(referenced for kind, referenced in references if kind == 1),
            upload_time=uploaded,
            decommissioned=bool(decommissioned),
            position=position,
        )


def _parse_incoming_key(key: str) -> tuple[str, int, int]:
    source, _, rest = key.partition(".")
    row, _, name = rest.partition(".")
    try:
        return name, int(source), int(row)
    except ValueError as error:
        raise InvalidContinuationToken(
            f"The position {key!r} is not one of this listing."
        ) from error
