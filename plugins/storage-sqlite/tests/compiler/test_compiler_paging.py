"""All pages of a scan by label together: what they cost, counted and not timed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from twinframe.query.language import parse_query
from twinframe_storage_sqlite.compiler.engine import SqliteQuery, SqliteQueryEngine
from twinframe_storage_sqlite.session import SqliteSession

_STEP = 20
PLAIN = "MATCH (t:Sensor) RETURN t.$dtId AS i"
FILTERED = "MATCH (t:Sensor) WHERE t.x >= 0 RETURN t.$dtId AS i"
MakeGraph = Callable[..., SqliteSession]


def _compile(text: str) -> SqliteQuery:
    compiled = SqliteQueryEngine().compile(parse_query(text).query, {})
    assert isinstance(compiled, SqliteQuery)
    return compiled


def _build_graph(make_graph: MakeGraph, twins: int, every: int) -> SqliteSession:
    """Twins of which each `every`-th is a sensor."""
    kinds = ("dtmi:ex:Sensor;1", "dtmi:ex:Space;1")
    return make_graph([(f"t{i}", kinds[i % every != 0], {"x": i}) for i in range(twins)], [])


@dataclass
class _Cost:
    rows: int = 0
    steps: int = 0


def _page_through(graph: SqliteSession, compiled: SqliteQuery, limit: int = 10) -> _Cost:
    cost = _Cost()

    def count_steps() -> bool:
        cost.steps += _STEP
        return False

    graph.connection.set_progress_handler(count_steps, _STEP)
    try:
        after = None
        while page := list(compiled.run_json(graph, {}, after=after, limit=limit)):
            cost.rows += len(page)
            after = page[-1][1]
    finally:
        graph.connection.set_progress_handler(None)
    return cost


@pytest.mark.parametrize("text", [PLAIN, FILTERED])
@pytest.mark.parametrize("every", [1, 3, 6, 40])
def test_the_pages_of_a_scan_by_label_cost_what_the_graph_has_twins(
    text: str, every: int, make_graph: MakeGraph
) -> None:
    for twins in (1500, 6000):
        graph = _build_graph(make_graph, twins, every)
        cost = _page_through(graph, _compile(text))
        assert cost.rows == -(-twins // every)
        # NOTE: an index read anew for each page would not keep to this line.
        assert cost.steps < 12 * twins + 60 * cost.rows


def test_the_twins_of_a_label_are_not_counted(make_graph: MakeGraph) -> None:
    graph, compiled = _build_graph(make_graph, 900, 2), _compile(PLAIN)
    seen: list[str] = []
    graph.connection.exec_trace = lambda cursor, sql, bindings: seen.append(sql) is None
    for after in (None, 400, 410):
        assert len(list(compiled.run_json(graph, {}, after=after, limit=10))) == 10
    counts = [sql for sql in seen if "sum(twins)" in sql]
    assert len(counts) == 3
    assert all("FROM twin_count AS" in sql for sql in counts)
    assert not [sql for sql in seen if "count(*)" in sql]


def test_a_label_that_grew_while_it_was_paged_is_counted_again(make_graph: MakeGraph) -> None:
    graph, compiled = _build_graph(make_graph, 900, 300), _compile(PLAIN)
    assert len(list(compiled.run_json(graph, {}, limit=2))) == 2
    add = (
        "WITH RECURSIVE g(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM g WHERE i < 2000) "
        "INSERT INTO twin (dt_id, model, etag, document) SELECT 'n' || i, t.model, t.etag, "
        "jsonb_set(t.document, '$.$dtId', 'n' || i) FROM g, twin AS t WHERE t.dt_id = 't0'"
    )
    graph.connection.execute(add).fetchall()
    seen: list[str] = []
    graph.connection.exec_trace = lambda cursor, sql, bindings: seen.append(sql) is None
    assert len(list(compiled.run_json(graph, {}, after=400, limit=10))) == 10
    assert "+n1.model IN" in seen[-1]
