"""What of a plan may read a member that is more than JSON, and that engines are spared it."""

from __future__ import annotations

import pytest

from tests.unit.planner.test_splitting import PickyEngine
from twinframe.cypher.algebra import Filter, Match, Project, Query, Sort
from twinframe.cypher.language import parse_query
from twinframe.cypher.render import render_query
from twinframe.planner.typed_members import (
    TextEngine,
    find_typed_member,
    move_typed_conditions,
)
from twinframe.storage.base import CannotRun

NAMES = frozenset({"made", "gauge"})


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n) RETURN n.made",
        "MATCH (n) RETURN n['made']",
        "MATCH (n) RETURN n[$key]",
        "MATCH (n) RETURN n['ma' + 'de']",
        "MATCH (n) RETURN properties(n)",
        "MATCH (n) RETURN n.gauge.unit",
        "MATCH (n) WHERE n.made IS NULL RETURN 1",
        "MATCH (n {made: 1}) RETURN n",
        "MATCH ()-[{made: 1}]->() RETURN 1",
        "MATCH ()-[*2 {made: 1}]->() RETURN 1",
        "MATCH (n) RETURN n ORDER BY n.made",
        "MATCH (n) RETURN count(n.made)",
        "MATCH (n) RETURN [x IN [n] | x.made]",
        "MATCH (n) WHERE EXISTS { MATCH (n)-->(m) WHERE m.made = 1 } RETURN n",
        "MATCH (n) CALL { MATCH (m {made: 1}) RETURN m } RETURN n",
        "MATCH (n) RETURN [(n)-->(m) | m.made]",
        "MATCH (n) RETURN 1 AS made UNION MATCH (n) RETURN n.made AS made",
    ],
)
def test_whatever_may_reach_such_a_member_is_found(text: str) -> None:
    root = parse_query(text, parameters=("key",)).query.root
    assert find_typed_member(root, NAMES) is not None
    engine = PickyEngine(Match, Project)
    with pytest.raises(CannotRun, match="temporal"):
        TextEngine(engine, NAMES).compile(parse_query(text, parameters=("key",)).query, {})
    assert engine.asked == []


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (made:made)-[:made]->() RETURN made",
        "MATCH (n {name: 'made'}) RETURN n.name AS made, keys(n), labels(n)[0]",
        "MATCH (n) WHERE n['name'] = 'made' RETURN n ORDER BY n.size",
    ],
)
def test_other_members_are_left_to_the_engine(text: str) -> None:
    query = parse_query(text).query
    assert find_typed_member(query.root, NAMES) is None
    engine = PickyEngine(Match, Project, Sort)
    TextEngine(engine, NAMES).compile(query, {})
    assert engine.asked == [query]


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("MATCH (n:A)-->(m) WHERE n.made > 1 AND m.size = 2 RETURN m", "(n.made > 1)"),
        ("MATCH (n:A {made: 1, size: 2})-->(m) RETURN m", "(n.made = 1)"),
        ("MATCH (n)-[r:of {made: 1}]->(m {size: n.made}) RETURN m", "(m.size = n.made))"),
        ("MATCH (n) WHERE EXISTS { (n)-->({made: 1}) } AND n.size = 2 RETURN n", "exists"),
    ],
)
def test_conditions_on_such_a_member_leave_their_match_to_the_engine(
    text: str, condition: str
) -> None:
    root = move_typed_conditions(parse_query(text).query.root, NAMES)
    assert isinstance(root, Project)
    assert isinstance(root.source, Filter)
    assert find_typed_member(root.source.source, NAMES) is None
    assert isinstance(root.source.source, Match)
    assert condition.lower() in render_query(Query(root, ("n",))).lower()


@pytest.mark.parametrize(
    "text",
    [
        "OPTIONAL MATCH (n {made: 1}) WHERE n.made > 1 RETURN n",
        "MATCH (n)-[*1..2 {made: 1}]->(m) RETURN n",
        "MATCH p = shortestPath((n {made: 1})-[*]->(m)) RETURN p",
        "MATCH (n) WHERE n.size = 1 RETURN n",
    ],
)
def test_conditions_that_a_filter_would_not_say_stay(text: str) -> None:
    root = parse_query(text).query.root
    assert move_typed_conditions(root, NAMES) is root
