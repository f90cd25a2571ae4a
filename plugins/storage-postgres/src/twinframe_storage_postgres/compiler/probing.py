"""Runs the probes on a server, over the tables of a graph.

A transaction that is taken back puts the graph of the probes into these tables: a server that
distributes tables may refuse over those what it does over others.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from math import inf
from typing import Any, Final, Self

import orjson

from twinframe.errors import QueryTimeout, StorageBusy, StorageError
from twinframe.model.rendering import render_row
from twinframe.query.engine import CannotRun, JsonRow
from twinframe_storage_postgres.compiler.abilities import EVERYTHING, NOTHING, RECURSION, Abilities
from twinframe_storage_postgres.compiler.engine import PostgresQuery
from twinframe_storage_postgres.compiler.probes import (
    KIN,
    LABEL,
    PROBES,
    Probe,
    build_documents,
    build_model_ids,
    build_parameters,
    compile_probe,
    compile_probes,
    freeze,
    load_answers,
)
from twinframe_storage_postgres.connections import Connection
from twinframe_storage_postgres.homes import Home
from twinframe_storage_postgres.scans import LabelledModels, read_label_sets
from twinframe_storage_postgres.session import PostgresSession
from twinframe_storage_postgres.spelling import render_members
from twinframe_storage_postgres.statements import Row, Statement, qualify

_SECONDS: Final = 5.0
_MOST_ROWS: Final = 1000
_WALK: Final = 8
_STEP_TEXT: Final = f"MATCH (n:{LABEL} {{$dtId: $first}})-[:next]->(m) RETURN m.$dtId AS i"
_WALK_TEXT: Final = _STEP_TEXT.replace(":next", f":next*1..{_WALK}")
_SLOW: Final = 4
_TRIES: Final = 5
_PUT_MODELS: Final = """
INSERT INTO @interface (id, dtmi, name)
SELECT * FROM unnest(%b::bigint[], %b::text[], %b::text[])"""
_PUT_CLOSURE: Final = """
INSERT INTO @interface_closure (ancestor, descendant)
SELECT * FROM unnest(%b::bigint[], %b::bigint[])"""
_PUT_TWINS: Final = """
INSERT INTO @twin (id, dt_id, model, etag, document, members)
SELECT id, dt_id, model, '', document, members::jsonb
FROM unnest(%b::bigint[], %b::text[], %b::bigint[], %b::text[], %b::text[])
  p (id, dt_id, model, document, members)"""
_PUT_RELATIONSHIPS: Final = """
INSERT INTO @relationship (id, source, relationship_id, name, target, etag, document, members)
SELECT id, source, relationship_id, name, target, '', document, members::jsonb
FROM unnest(
  %b::bigint[], %b::bigint[], %b::text[], %b::text[], %b::bigint[], %b::text[], %b::text[])
  p (id, source, relationship_id, name, target, document, members)"""
_PUT: Final = (_PUT_MODELS, _PUT_CLOSURE, _PUT_TWINS, _PUT_RELATIONSHIPS)


class ProbeSession(PostgresSession):
    """Shows the graph of the probes in each snapshot, and takes it back at its end."""

    def __init__(self, home: Home) -> None:
        super().__init__(home, standbys=False)
        self.prefix = f"probe-{secrets.token_hex(8)}-"
        # NOTE: rows of others have numbers of sequences, which do not come that far.
        self._base = 2**61 + secrets.randbits(60)

    def _open_statements(self, connection: Connection) -> list[Statement]:
        del connection
        values = (self._list_models(), self._list_closure(), *self._list_entities())
        inserts = [
            (qualify(sql, self.schema), [*map(list, zip(*rows, strict=True))])
            for sql, rows in zip(_PUT, values, strict=True)
        ]
        return [("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", ()), *self._limit(), *inserts]

    def _send(
        self, statements: Sequence[Statement], *, once: bool, binary: bool = True
    ) -> list[list[Row]]:
        del once
        return super()._send(statements, once=True, binary=binary)

    def _build_guard(self) -> list[Statement]:
        return []  # a probe that fails ends its transaction, and hardly any does

    def _free(self) -> list[Statement]:
        # PERF: the planner takes the probes' model for one like the others, of a million twins.
        return [(sql.replace("'on'", "'off'"), values) for sql, values in super()._free()]

    def read_labelled(self) -> LabelledModels:
        """Return the models of the graph and of the probes, which no other session has."""
        version = self.read_schema_version()
        if version != self._labelled.version:
            self._labelled = LabelledModels(version, read_label_sets(self))
        return self._labelled

    guess_labelled = read_labelled

    def _note_free(self, found: Sequence[list[Row]]) -> None:
        super()._note_free(found)
        self.has_odd_texts = False  # those of the graph do not concern the probes

    def _list_models(self) -> list[tuple[Any, ...]]:
        names = build_model_ids(self.prefix)
        labels = (LABEL, KIN)
        return [(self._base + at, names[at], labels[at]) for at in (0, 1)]

    def _list_closure(self) -> list[tuple[Any, ...]]:
        model, kin = self._base, self._base + 1
        return [(model, model), (kin, kin), (model, kin)]

    def _list_entities(self) -> Iterator[list[tuple[Any, ...]]]:
        twins, edges = build_documents(self.prefix, *build_model_ids(self.prefix))
        rows = {one["$dtId"]: self._base + at for at, one in enumerate(twins)}
        models = dict(zip(build_model_ids(self.prefix), (self._base, self._base + 1), strict=True))
        yield [
            (rows[one["$dtId"]], one["$dtId"], models[one["$metadata"]["$model"]], *_render(one))
            for one in twins
        ]
        yield [
            (
                self._base + at,
                rows[one["$sourceId"]],
                one["$relationshipId"],
                one["$relationshipName"],
                rows[one["$targetId"]],
                *_render(one),
            )
            for at, one in enumerate(edges)
        ]


def _render(document: Mapping[str, Any]) -> tuple[str, str]:
    text = orjson.dumps(document).decode()
    return text, render_members(text)


def probe(session: ProbeSession) -> Abilities:
    """Return the parts of SQL that the server runs exactly over the tables of this graph.

    Raises `StorageBusy` when it does not answer.
    """
    passed, failed = set[str](), set[str]()
    with _Prober(session) as prober:
        for each, compiled, answer in zip(PROBES, compile_probes(), load_answers(), strict=True):
            if failed.issuperset(each.about):
                continue
            if prober.is_exact(each, compiled, answer, passed):
                passed |= compiled.value_parts | compiled.json_parts
            elif "SELECT" in each.about:
                return NOTHING
            else:
                failed |= each.about
        if RECURSION not in failed and not prober.is_quick_at_walks():
            failed.add(RECURSION)
    return Abilities(frozenset(passed - failed)) if failed else EVERYTHING


class _Prober:
    """Asks one probe after another, in as few transactions as the server allows."""

    def __init__(self, session: ProbeSession) -> None:
        self._session = session
        self._parameters = build_parameters(session.prefix)
        self._snapshot = ExitStack()

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(self, *_: object) -> None:
        self._snapshot.close()

    def _begin(self) -> None:
        self._snapshot.enter_context(self._session.snapshot())

    def is_exact(
        self, each: Probe, compiled: PostgresQuery, answer: list[str], passed: AbstractSet[str]
    ) -> bool:
        """Return whether the rows are right: as values, and as JSON if that has other parts."""
        for _ in range(_TRIES):
            try:
                with self._session.snapshot(time.monotonic() + _SECONDS):
                    return all(one == answer for one in self._ask(each, compiled, passed))
            except QueryTimeout:  # this process may have stood still meanwhile
                self._begin_anew()
            except StorageBusy:
                raise
            except (CannotRun, StorageError):
                self._begin_anew()
                return False
        return False

    def _begin_anew(self) -> None:
        self._snapshot.close()
        self._begin()

    def _ask(
        self, each: Probe, compiled: PostgresQuery, passed: AbstractSet[str]
    ) -> Iterator[list[str]]:
        values = compiled.run_rows(self._session, self._parameters)
        rows = [render_row(compiled.columns, row) for row in values]
        yield freeze(each.text, rows, self._session.prefix)
        if compiled.json_parts - compiled.value_parts - passed:
            bodies = [body for body, _ in self._read_json(compiled)]
            yield freeze(each.text, bodies, self._session.prefix)

    def _read_json(self, compiled: PostgresQuery) -> Iterator[JsonRow]:
        return compiled.run_json(self._session, self._parameters, limit=_MOST_ROWS)

    def is_quick_at_walks(self) -> bool:
        """Return whether a walk as one statement takes no longer than its steps one by one.

        PERF: a third of a step for each on PostgreSQL itself, so only a server that is slow by far
        is found to be.
        """
        step, walk = (compile_probe(text) for text in (_STEP_TEXT, _WALK_TEXT))
        steps, walks = inf, inf
        for _ in range(_TRIES):
            steps = min(steps, self._measure(step))
            walks = min(walks, self._measure(walk))
            if walks <= _SLOW * _WALK * steps:
                return True
        return False

    def _measure(self, compiled: PostgresQuery) -> float:
        began = time.perf_counter()
        for _ in self._read_json(compiled):
            pass
        return time.perf_counter() - began
