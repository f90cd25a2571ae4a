"""Stores and deletes models: interfaces, their references and the closure of `extends`.

It runs inside the caller's transaction. A deleted model's row stays, without position, as long as a
twin or another interface refers to it, with its `extends`, so that its twins keep their labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import orjson

from twinframe.errors import ModelAlreadyExists, ModelNotFound, ModelReferenced
from twinframe.model.ids import build_model_name
from twinframe.storage.base import ModelRecord
from twinframe_storage_sqlite.statements import SqlValue, StatementRunner

EXTENDS: Final = 0
COMPONENT: Final = 1

_TAKEN: Final = """
SELECT dtmi FROM interface
WHERE position IS NOT NULL AND dtmi IN (SELECT value FROM json_each(?)) ORDER BY position"""
_NEXT_POSITION: Final = "SELECT value + 1 FROM meta WHERE key = 'last_position'"
_PUT: Final = """
INSERT INTO interface (dtmi, name, position, document, display_name, description, upload_time,
                       decommissioned)
VALUES (?, ?, ?, jsonb(CAST(? AS TEXT)), jsonb(CAST(? AS TEXT)), jsonb(CAST(? AS TEXT)), ?, ?)
ON CONFLICT (dtmi) DO UPDATE SET
  position = excluded.position, document = excluded.document,
  display_name = excluded.display_name, description = excluded.description,
  upload_time = excluded.upload_time, decommissioned = excluded.decommissioned
RETURNING id"""
_NAME: Final = "INSERT INTO interface (dtmi, name) VALUES (?, ?) RETURNING id"
_KNOWN: Final = "SELECT id FROM interface WHERE dtmi = ?"
_FORGET_REFERENCES: Final = (
    "DELETE FROM interface_reference WHERE referrer IN (SELECT value FROM json_each(?))"
)
_REFER: Final = (
    "INSERT OR IGNORE INTO interface_reference (referrer, referenced, kind) VALUES (?, ?, ?)"
)
_AFFECTED: Final = f"""
WITH RECURSIVE affected (id) AS (
  SELECT value FROM json_each(:changed)
  UNION
  SELECT f.referrer FROM affected a
  JOIN interface_reference f ON f.referenced = a.id AND f.kind = {EXTENDS})"""  # noqa: S608  (constants of this module)
_CUT_CLOSURE: Final = f"""{_AFFECTED}
DELETE FROM interface_closure WHERE descendant IN (SELECT id FROM affected)"""  # noqa: S608
_GROW_CLOSURE: Final = f"""{_AFFECTED},
above (descendant, ancestor) AS (
  SELECT id, id FROM affected
  UNION
  SELECT a.descendant, f.referenced FROM above a
  JOIN interface_reference f ON f.referrer = a.ancestor AND f.kind = {EXTENDS})
INSERT INTO interface_closure (ancestor, descendant) SELECT ancestor, descendant FROM above"""  # noqa: S608
_STORED: Final = """
SELECT id, dtmi FROM interface
WHERE position IS NOT NULL AND dtmi IN (SELECT value FROM json_each(?))"""
_STAYING_REFERRERS: Final = """
SELECT g.dtmi, r.dtmi FROM interface_reference f
JOIN interface g ON g.id = f.referenced JOIN interface r ON r.id = f.referrer
WHERE f.referenced IN (SELECT value FROM json_each(:going)) AND r.position IS NOT NULL
  AND f.referrer NOT IN (SELECT value FROM json_each(:going))
GROUP BY g.dtmi, r.dtmi ORDER BY g.position, r.dtmi"""
_UNSTORE: Final = """
UPDATE interface SET position = NULL, document = NULL, display_name = NULL, description = NULL,
  upload_time = NULL, decommissioned = 0
WHERE id IN (SELECT value FROM json_each(?))"""
_FORGET_COMPONENTS: Final = f"""
DELETE FROM interface_reference
WHERE kind = {COMPONENT} AND referrer IN (SELECT value FROM json_each(?))"""  # noqa: S608
_UNNAMED: Final = """
SELECT i.id FROM interface i
WHERE i.position IS NULL
  AND NOT EXISTS (SELECT 1 FROM twin t WHERE t.model = i.id)
  AND NOT EXISTS (SELECT 1 FROM interface_reference f
                  WHERE f.referenced = i.id AND f.referrer <> i.id)"""
_FORGET_CLOSURE: Final = (
    "DELETE FROM interface_closure WHERE descendant IN (SELECT value FROM json_each(?))"
)
_FORGET: Final = "DELETE FROM interface WHERE id IN (SELECT value FROM json_each(?))"
# Random, not counted: a number read by a rolled-back write must not recur with other models.
_BUMP: Final = "UPDATE meta SET value = random() & 4611686018427387903 WHERE key = 'model_version'"


def write_models(runner: StatementRunner, records: Sequence[ModelRecord]) -> None:
    """Store new models in this order; references may point to each other and to stored models.

    Raises `ModelAlreadyExists` with every id that is taken or given twice; then nothing is stored.
    """
    if not records:
        return
    _refuse_taken(runner, [record.model_id for record in records])
    position: int = runner.read_one(_NEXT_POSITION)
    ids: dict[str, int] = {}
    for offset, record in enumerate(records):
        ids[record.model_id] = _put(runner, record, position + offset)
    runner.read_all(_FORGET_REFERENCES, (_render(ids.values()),))
    changed = set(ids.values())
    for record in records:
        changed |= _write_references(runner, record, ids)
    write_closure(runner, changed)
    runner.read_one(
        "UPDATE meta SET value = ? WHERE key = 'last_position'", (position + len(records) - 1,)
    )
    runner.read_one(_BUMP)


def write_name(runner: StatementRunner, model_id: str) -> int:
    """Insert a row for a model that is referred to but not stored; return its row id."""
    interface: int = runner.read_one(_NAME, (model_id, build_model_name(model_id)))
    write_closure(runner, {interface})
    runner.read_one(_BUMP)
    return interface


def write_extended(runner: StatementRunner, model_id: str, ancestors: Iterable[str]) -> None:
    """Write a model that is not stored, but still named, and that it extends these."""
    rows = {
        each: runner.read_one(_KNOWN, (each,)) or write_name(runner, each)
        for each in (model_id, *ancestors)
    }
    row = rows.pop(model_id)
    for above in rows.values():
        runner.read_one(_REFER, (row, above, EXTENDS))
    write_closure(runner, {row})


def write_closure(runner: StatementRunner, changed: Iterable[int]) -> None:
    """Recompute the closure of these interfaces and all their descendants."""
    bindings = {"changed": _render(changed)}
    runner.read_all(_CUT_CLOSURE, bindings)
    runner.read_all(_GROW_CLOSURE, bindings)


def write_decommissioned(runner: StatementRunner, model_id: str, decommissioned: bool) -> None:
    """Set the flag. Raises `ModelNotFound`."""
    sql = (
        "UPDATE interface SET decommissioned = ? WHERE dtmi = ? AND position IS NOT NULL "
        "RETURNING id"
    )
    if runner.read_one(sql, (int(decommissioned), model_id)) is None:
        raise ModelNotFound(model_id)
    runner.read_one(_BUMP)


def delete_models(runner: StatementRunner, model_ids: Sequence[str]) -> None:
    """Delete models together.

    Raises `ModelNotFound`, or `ModelReferenced` by stored models that stay.
    """
    if not model_ids:
        return
    stored = {dtmi: row for row, dtmi in runner.read_all(_STORED, (_render(model_ids),))}
    missing = [model_id for model_id in dict.fromkeys(model_ids) if model_id not in stored]
    if missing:
        raise ModelNotFound(*missing)
    going = _render(stored.values())
    staying = runner.read_all(_STAYING_REFERRERS, {"going": going})
    if staying:
        first = staying[0][0]
        raise ModelReferenced(first, tuple(by for model_id, by in staying if model_id == first))
    runner.read_all(_UNSTORE, (going,))
    runner.read_all(_FORGET_COMPONENTS, (going,))
    delete_unnamed(runner)
    runner.read_one(_BUMP)


def delete_unnamed(runner: StatementRunner) -> None:
    """Delete interfaces that are neither stored nor referred to, then their references."""
    while unnamed := [row for (row,) in runner.read_all(_UNNAMED)]:
        going = _render(unnamed)
        for sql in (_FORGET_REFERENCES, _FORGET_CLOSURE, _FORGET):
            runner.read_all(sql, (going,))
        runner.read_one(_BUMP)


def _refuse_taken(runner: StatementRunner, model_ids: Sequence[str]) -> None:
    taken = [dtmi for (dtmi,) in runner.read_all(_TAKEN, (_render(model_ids),))]
    seen: set[str] = set()
    for model_id in model_ids:
        if model_id in seen:
            taken.append(model_id)
        seen.add(model_id)
    if taken:
        raise ModelAlreadyExists(*dict.fromkeys(taken))


def _put(runner: StatementRunner, record: ModelRecord, position: int) -> int:
    bindings: tuple[SqlValue, ...] = (
        record.model_id,
        build_model_name(record.model_id),
        position,
        record.document,
        record.display_name,
        record.description,
        record.upload_time,
        int(record.decommissioned),
    )
    interface: int = runner.read_one(_PUT, bindings)
    return interface


def _write_references(
    runner: StatementRunner, record: ModelRecord, ids: dict[str, int]
) -> set[int]:
    """Write a model's references; return the rows inserted for models that are not stored."""
    made = set()
    referrer = ids[record.model_id]
    for kind, names in ((EXTENDS, record.extends), (COMPONENT, record.components)):
        for name in names:
            if name not in ids:
                known = runner.read_one(_KNOWN, (name,))
                if known is None:
                    known = runner.read_one(_NAME, (name, build_model_name(name)))
                    made.add(known)
                ids[name] = known
            runner.read_one(_REFER, (referrer, ids[name], kind))
    return made


def _render(items: Iterable[str | int]) -> str:
    return orjson.dumps(list(items)).decode()
