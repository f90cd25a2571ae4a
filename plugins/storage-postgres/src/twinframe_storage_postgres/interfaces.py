"""Stores and deletes models: interfaces, their references and the closure of `extends`.

A deleted model's row stays, without position, as long as a twin or another interface refers to it,
with its `extends`, so that its twins keep their labels.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol

from twinframe.errors import ModelAlreadyExists, ModelNotFound, ModelReferenced
from twinframe.model.ids import build_model_name
from twinframe.storage.base import ModelRecord
from twinframe_storage_postgres.facts import Facts
from twinframe_storage_postgres.statements import Bindings, Row

EXTENDS: Final = 0
COMPONENT: Final = 1

_TAKEN: Final = """
SELECT dtmi FROM @interface
WHERE position IS NOT NULL AND dtmi = ANY(%b::text[]) ORDER BY position"""
_PUT: Final = """
WITH facts AS (UPDATE @graph SET last_model = last_model + %s RETURNING last_model - %s AS before)
INSERT INTO @interface (dtmi, name, position, document, display_name, description, upload_time,
                        decommissioned)
SELECT dtmi, name, facts.before + place, document, display_name, description, upload_time,
  decommissioned
FROM facts, unnest(%b::text[], %b::text[], %b::text[], %b::text[], %b::text[], %b::text[],
  %b::boolean[]) WITH ORDINALITY
  p (dtmi, name, document, display_name, description, upload_time, decommissioned, place)
ON CONFLICT (dtmi) DO UPDATE SET
  position = excluded.position, document = excluded.document,
  display_name = excluded.display_name, description = excluded.description,
  upload_time = excluded.upload_time, decommissioned = excluded.decommissioned
RETURNING dtmi, id"""
_KNOWN: Final = "SELECT dtmi, id FROM @interface WHERE dtmi = ANY(%b::text[])"
_NAME: Final = """
INSERT INTO @interface (dtmi, name)
SELECT * FROM unnest(%b::text[], %b::text[]) RETURNING dtmi, id"""
_FORGET_REFERENCES: Final = "DELETE FROM @interface_reference WHERE referrer = ANY(%b::bigint[])"
_REFER: Final = """
INSERT INTO @interface_reference (referrer, referenced, kind)
SELECT * FROM unnest(%b::bigint[], %b::bigint[], %b::bigint[]) ON CONFLICT DO NOTHING"""
_AFFECTED: Final = f"""
WITH RECURSIVE affected (id) AS (
  SELECT * FROM unnest(%b::bigint[])
  UNION
  SELECT f.referrer FROM affected a
  JOIN @interface_reference f ON f.referenced = a.id AND f.kind = {EXTENDS})"""
_CUT_CLOSURE: Final = f"""{_AFFECTED}
DELETE FROM @interface_closure WHERE descendant IN (SELECT id FROM affected)"""
_GROW_CLOSURE: Final = f"""{_AFFECTED},
above (descendant, ancestor) AS (
  SELECT id, id FROM affected
  UNION
  SELECT a.descendant, f.referenced FROM above a
  JOIN @interface_reference f ON f.referrer = a.ancestor AND f.kind = {EXTENDS})
INSERT INTO @interface_closure (ancestor, descendant) SELECT ancestor, descendant FROM above"""
_STORED: Final = """
SELECT dtmi, id FROM @interface WHERE position IS NOT NULL AND dtmi = ANY(%b::text[])"""
_STAYING_REFERRERS: Final = """
SELECT g.dtmi, r.dtmi FROM @interface_reference f
JOIN @interface g ON g.id = f.referenced JOIN @interface r ON r.id = f.referrer
WHERE f.referenced = ANY(%(going)b::bigint[]) AND r.position IS NOT NULL
  AND f.referrer <> ALL(%(going)b::bigint[])
GROUP BY g.dtmi, g.position, r.dtmi ORDER BY g.position, r.dtmi"""
_UNSTORE: Final = """
UPDATE @interface SET position = NULL, document = NULL, display_name = NULL, description = NULL,
  upload_time = NULL, decommissioned = false
WHERE id = ANY(%b::bigint[])"""
_FORGET_COMPONENTS: Final = f"""
DELETE FROM @interface_reference WHERE kind = {COMPONENT} AND referrer = ANY(%b::bigint[])"""
_UNNAMED: Final = """
SELECT i.id FROM @interface i
WHERE i.position IS NULL
  AND NOT EXISTS (SELECT 1 FROM @twin t WHERE t.model = i.id)
  AND NOT EXISTS (SELECT 1 FROM @interface_reference f
                  WHERE f.referenced = i.id AND f.referrer <> i.id)"""
_FORGET_CLOSURE: Final = "DELETE FROM @interface_closure WHERE descendant = ANY(%b::bigint[])"
_FORGET: Final = "DELETE FROM @interface WHERE id = ANY(%b::bigint[])"
_DECOMMISSION: Final = """
UPDATE @interface SET decommissioned = %s WHERE dtmi = %s AND position IS NOT NULL RETURNING id"""
_BUMP: Final = "UPDATE @graph SET model_version = %s"
_VERSION_BITS: Final = 62


class Writer(Protocol):
    """What this module needs of a transaction."""

    @property
    def facts(self) -> Facts:
        """The facts of the graph."""

    def read_all(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """All rows."""

    def change(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """Run a statement that changes something."""


def write_models(writer: Writer, records: Sequence[ModelRecord]) -> None:
    """Store new models in this order; references may point to each other and to stored models.

    Raises `ModelAlreadyExists` with every id that is taken or given twice; then nothing is stored.
    """
    if not records:
        return
    _refuse_taken(writer, [record.model_id for record in records])
    count = len(records)
    ids: dict[str, int] = dict(writer.change(_PUT, [count, count, *_build_columns(records)]))
    changed = [*ids.values()]
    writer.change(_FORGET_REFERENCES, (changed,))
    changed += _name_others(writer, records, ids)
    _write_references(writer, records, ids)
    write_closure(writer, changed)
    _bump(writer)


def write_name(writer: Writer, model_id: str) -> None:
    """Insert a row for a model that is referred to but not stored."""
    rows = writer.change(_NAME, ([model_id], [build_model_name(model_id)]))
    write_closure(writer, [row for _, row in rows])
    _bump(writer)


def write_closure(writer: Writer, changed: Iterable[int]) -> None:
    """Recompute the closure of these interfaces and all their descendants."""
    rows = [*changed]
    writer.change(_CUT_CLOSURE, (rows,))
    writer.change(_GROW_CLOSURE, (rows,))


def write_decommissioned(writer: Writer, model_id: str, decommissioned: bool) -> None:
    """Set the flag. Raises `ModelNotFound`."""
    if not writer.change(_DECOMMISSION, (decommissioned, model_id)):
        raise ModelNotFound(model_id)
    _bump(writer)


def delete_models(writer: Writer, model_ids: Sequence[str]) -> None:
    """Delete models together.

    Raises `ModelNotFound`, or `ModelReferenced` by stored models that stay.
    """
    if not model_ids:
        return
    stored: dict[str, int] = dict(writer.read_all(_STORED, ([*model_ids],)))
    missing = [model_id for model_id in dict.fromkeys(model_ids) if model_id not in stored]
    if missing:
        raise ModelNotFound(*missing)
    going = [*stored.values()]
    staying = writer.read_all(_STAYING_REFERRERS, {"going": going})
    if staying:
        first = staying[0][0]
        raise ModelReferenced(first, tuple(by for model_id, by in staying if model_id == first))
    writer.change(_UNSTORE, (going,))
    writer.change(_FORGET_COMPONENTS, (going,))
    delete_unnamed(writer)
    _bump(writer)


def delete_unnamed(writer: Writer) -> None:
    """Delete interfaces that are neither stored nor referred to, then their references."""
    while unnamed := [row for (row,) in writer.read_all(_UNNAMED)]:
        for sql in (_FORGET_REFERENCES, _FORGET_CLOSURE, _FORGET):
            writer.change(sql, (unnamed,))
        _bump(writer)


def _bump(writer: Writer) -> None:
    """NOTE: random, not counted: a number that a rolled-back write read must not recur."""
    version = secrets.randbits(_VERSION_BITS)
    writer.change(_BUMP, (version,))
    writer.facts.model_version = version


def _refuse_taken(writer: Writer, model_ids: list[str]) -> None:
    taken = [dtmi for (dtmi,) in writer.read_all(_TAKEN, (model_ids,))]
    seen: set[str] = set()
    for model_id in model_ids:
        if model_id in seen:
            taken.append(model_id)
        seen.add(model_id)
    if taken:
        raise ModelAlreadyExists(*dict.fromkeys(taken))


def _build_columns(records: Sequence[ModelRecord]) -> list[list[Any]]:
    return [
        [each.model_id for each in records],
        [build_model_name(each.model_id) for each in records],
        [each.document.decode() for each in records],
        [each.display_name.decode() for each in records],
        [each.description.decode() for each in records],
        [each.upload_time for each in records],
        [each.decommissioned for each in records],
    ]


def _name_others(writer: Writer, records: Sequence[ModelRecord], ids: dict[str, int]) -> list[int]:
    """Add the row ids of all that the models refer to; return those that were inserted for it."""
    wanted = {name for each in records for name in (*each.extends, *each.components)} - ids.keys()
    if not wanted:
        return []
    ids.update(writer.read_all(_KNOWN, (sorted(wanted),)))
    unknown = sorted(wanted - ids.keys())
    if not unknown:
        return []
    made: dict[str, int] = dict(
        writer.change(_NAME, (unknown, [build_model_name(name) for name in unknown]))
    )
    ids.update(made)
    return [*made.values()]


def _write_references(writer: Writer, records: Sequence[ModelRecord], ids: dict[str, int]) -> None:
    rows = [
        (ids[each.model_id], ids[name], kind)
        for each in records
        for kind, names in ((EXTENDS, each.extends), (COMPONENT, each.components))
        for name in names
    ]
    if rows:
        writer.change(_REFER, [*map(list, zip(*rows, strict=True))])
