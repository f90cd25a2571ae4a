"""MERGE of many rows: what it finds together is what it would find for one row after the other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from twinframe.errors import QueryInvalid

NAMES = ["a", "b", "B", "", "1"]
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(NAMES),
            "level": st.sampled_from([0, 1, -1, 5]),
            "area": st.sampled_from([0, 1, 1.0, 1.5, 2**53]),
        }
    ),
    max_size=8,
)
STATEMENTS = [
    "MERGE (f:Floor {name: row.name}) ON CREATE SET f.level = 2 ON MATCH SET f.level = -f.level",
    "MERGE (f:Floor {name: row.name, level: row.level}) ON MATCH SET f.area = row.area",
    "MERGE (f:Floor {area: row.area}) ON CREATE SET f.name = row.name, f.level = size(f.name)",
    "MERGE (f:Floor {`$dtId`: 'x' + row.name}) ON CREATE SET f.name = row.name",
    "WITH row, 'x' + row.name AS id MERGE (f:Floor {`$dtId`: id}) ON CREATE SET f.name = id",
    # Each row changes what the next one looks for.
    "MERGE (f:Floor {name: row.name}) ON MATCH SET f.name = f.name + '+'",
    "MERGE (f:Floor {level: row.level}) ON CREATE SET f.level = 7",
    "MERGE (f:Floor {name: row.name}) ON CREATE SET f.level = COUNT { (:Floor) }",
    "MERGE (:Floor {name: row.name, level: 1})",
    "MERGE (f:Space {name: row.name}) ON MATCH SET f:Floor",
]
ALL = (
    "MATCH (f:Space) RETURN f.name AS name, f.level AS level, f.area AS area, "
    "f.`$metadata`.`$model` AS model ORDER BY name, level, area, model"
)
THERE = "UNWIND $rows AS row CREATE (:Floor {name: row.name, level: row.level, area: row.area})"


def run(world: Any, text: str, **parameters: Any) -> Any:
    statements = world.graph.statements
    return world.do(statements.run(statements.prepare(text, parameters)))


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(statement=st.sampled_from(STATEMENTS), there=ROWS, rows=ROWS)
def test_rows_merged_together_are_merged_one_after_the_other(
    world: Any, statement: str, there: list[Any], rows: list[Any]
) -> None:
    text = f"UNWIND $rows AS row {statement}"
    states = []
    for batches in ([rows], [[row] for row in rows]):
        run(world, "MATCH (n) DETACH DELETE n")
        run(world, THERE, rows=there)
        made = sum(run(world, text, rows=batch).counters.nodes_created for batch in batches)
        states.append((run(world, ALL).rows, made))
    assert states[0] == states[1]


def test_more_rows_than_are_looked_for_together_merge_with_each_other(world: Any) -> None:
    text = "UNWIND range(0, 1500) AS i WITH i % 1200 AS i MERGE (f:Floor {level: i})"
    assert run(world, text).counters.nodes_created == 1200
    assert run(world, text).counters.nodes_created == 0


def test_what_is_created_has_one_event(world: Any) -> None:
    run(world, "MERGE (f:Floor {`$dtId`: 'f'}) ON CREATE SET f.name = 'n', f.level = 1")
    assert (world.read("f")["name"], world.read("f")["level"]) == ("n", 1)
    session = world.store.session()
    try:
        events = [event.kind.name for _, event in session.read_events(after=0, limit=100)]
    finally:
        session.close()
    assert len([name for name in events if name.startswith("TWIN")]) == 1, events


@pytest.mark.parametrize("values", [["a", None], [None]])
def test_a_row_that_looks_for_null_is_refused_and_nothing_is_created(
    world: Any, values: list[Any]
) -> None:
    with pytest.raises(QueryInvalid, match="name that is null"):
        run(world, "UNWIND $names AS name MERGE (:Floor {name: name})", names=values)
    assert run(world, "MATCH (f) RETURN count(f)").rows == [(0,)]
