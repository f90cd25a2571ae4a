"""The law of answers holds where every property that its texts name has an automatic index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final

import pytest

from twinframe.query.language import parse_query
from twinframe.testing.contracts.query_answers import QueryAnswers
from twinframe.testing.contracts.query_generated import GeneratedQueries, SplitQueries
from twinframe.testing.query_law import ODD_EDGES, ODD_TWINS, Answer, LawGraph, QueryLaw
from twinframe_storage_sqlite.compiler.engine import SqliteQueryEngine
from twinframe_storage_sqlite.indexing.rehearsal import find_used
from twinframe_storage_sqlite.indexing.statistics import (
    load_statistics,
    put_statistics,
)
from twinframe_storage_sqlite.indexing.targets import Target
from twinframe_storage_sqlite.session import SqliteSession

MakeGraph = Callable[..., SqliteSession]

TARGETS: Final = (
    *(Target("twin", name) for name in ("x", "y", "s", "flag", "m", "list", "missing", "nope")),
    *(Target("relationship", name) for name in ("w", "$relationshipId", "$relationshipName")),
)


def add_indexes(session: SqliteSession) -> None:
    """Index everything, with statistics by which SQLite prefers these indexes."""
    connection = session.connection
    for target in TARGETS:
        connection.execute(target.render_index()).fetchall()
        per_value = 300_000 if target.name == "$relationshipName" else 1
        put_statistics(connection, target.table, target.index, f"1000000 {per_value}")
    put_statistics(connection, "twin", "twin_model", "1000000 500000")
    load_statistics(connection)


class _Law(QueryLaw):
    """Of 1 and 1.0, which are equal, an aggregate gives the one it meets first: one twin has 1.25.

    NOTE: an index is read in another order.
    """

    @cached_property
    def odd(self) -> LawGraph:
        """The odd twins without numbers that are equal and of two types."""
        twins = [
            (name, model, {**contents, "x": 1.25} if name == "b" else contents)
            for name, model, contents in ODD_TWINS
        ]
        return self._opened.enter_context(self.open(twins, ODD_EDGES))


@pytest.fixture(scope="module")
def query_law(make_graph: MakeGraph) -> Iterator[QueryLaw]:
    """The law over graphs with indexes."""

    @contextmanager
    def open_indexed(
        twins: Sequence[tuple[Any, ...]], edges: Sequence[tuple[Any, ...]]
    ) -> Iterator[SqliteSession]:
        session = make_graph(twins, edges)
        add_indexes(session)
        yield session
        session.close()

    law = _Law(SqliteQueryEngine(), open_indexed)
    yield law
    law.close()


class TestWithIndexes(QueryAnswers, GeneratedQueries, SplitQueries):
    """All texts and generated queries."""

    answered = 200
    run_whole = 150

    def check_declined(self, theme: str, answers: list[Answer]) -> None:
        """What is declined has nothing to do with indexes."""


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("MATCH (t) WHERE t.x = 1 RETURN t", {"x": "equality"}),
        ("MATCH (t:Room) WHERE t.s STARTS WITH 'f' RETURN t.x AS x", {"s": "range"}),
        ("MATCH (t) WHERE t.x > 1 RETURN t.s AS s ORDER BY t.x LIMIT 2", {"x": "range"}),
        ("MATCH (t) WHERE t.x IN $l RETURN t", {"x": "equality"}),
        ("MATCH (t) WHERE t.x = 1 OR t.s = 'a' RETURN t", {"x": "equality", "s": "equality"}),
        ("MATCH (t {s: 'a'})-[:has]->(u) RETURN u", {"s": "equality"}),
        (
            "MATCH ()-[r]->() WHERE r.$relationshipId = 'r3' RETURN r",
            {"$relationshipId": "equality"},
        ),
        ("MATCH (a)-[r:isPartOf]->(b) RETURN a, b", {"$relationshipName": "equality"}),
        ("MATCH ()-[r]->() WHERE r.w = 3 RETURN r", {"w": "equality"}),
        ("MATCH (t) WHERE t.s CONTAINS 'f' RETURN t", {}),
        ("MATCH (t) WHERE t.m.k = 5 RETURN t", {}),
    ],
)
def test_a_text_uses_the_index_of_what_it_selects_by(
    make_graph: MakeGraph, text: str, used: dict[str, str]
) -> None:
    given = {"l": [1, "a"]}
    compiled = SqliteQueryEngine().compile(parse_query(text, parameters=given.keys()).query, given)
    session = make_graph([("a",), ("b",)], [("a", "has", "b")])
    add_indexes(session)
    found = find_used(session.connection, compiled.text)
    assert {target.name: use for target, use in found.items()} == used
    session.close()
