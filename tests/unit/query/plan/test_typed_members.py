"""What of a plan may read a member that is more than JSON, and that engines are spared it."""

from __future__ import annotations

import pytest

from tests.unit.query.plan.test_splitting import PickyEngine
from twinframe.query.algebra import (
    Aggregate,
    Argument,
    Filter,
    Limit,
    Match,
    Project,
    Query,
    Skip,
    Sort,
)
from twinframe.query.engine import CannotRun
from twinframe.query.language import parse_query
from twinframe.query.plan.typed_members import (
    TextEngine,
    find_typed_member,
    move_typed_conditions,
)
from twinframe.query.render import render_query

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
        "MATCH (n) WHERE n.made = n.size RETURN 1",
        "MATCH (n {made: date()}) RETURN n",
        "MATCH ()-[{made: date()}]->() RETURN 1",
        "MATCH ()-[*2 {made: date()}]->() RETURN 1",
        "MATCH (n) RETURN n ORDER BY n.made",
        "MATCH (n) RETURN count(DISTINCT n.made)",
        "MATCH (n) RETURN n.size, count(*) AS c, min(n.made)",
        "MATCH (n) RETURN [x IN [n] | x.made]",
        "MATCH (n) WHERE EXISTS { MATCH (n)-->(m) WHERE m.made = date() } RETURN n",
        "MATCH (n) CALL { MATCH (m {made: date()}) RETURN m } RETURN n",
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


TEXT = [
    "MATCH (n) WHERE n.made > '2014' AND n.made <> $key RETURN n",
    "MATCH (n) WHERE '2014' <= n.made OR n.made IN ['a', $key] RETURN n",
    "MATCH (n) WHERE n.made STARTS WITH '2014' OR n.made =~ '2.*' OR n[$key] = 1 RETURN n",
    "MATCH (n) WHERE NOT n.made IS NULL AND is_string(n.made) RETURN n",
    "MATCH (n {made: '2014'})-[{made: $key}]->() RETURN n",
    "MATCH (n) WHERE EXISTS { (n)-->(m) WHERE m.made = $key } RETURN n",
    "MATCH (n) WITH n, substring(n.made, 0, 4) AS y RETURN y, count(*) AS c ORDER BY y",
    "MATCH (n) RETURN count(n.made)",
    "MATCH (n) RETURN n.size AS s ORDER BY toString(n.made)",
]
RESULTS = [
    "MATCH (n) RETURN n.made, n[$key], properties(n) AS p",
    "MATCH (n) RETURN n.made AS m, n.size AS s ORDER BY s SKIP 1 LIMIT 3",
    "MATCH (n) RETURN n.made AS m ORDER BY toString(m) DESC LIMIT 3",
    "MATCH (n) RETURN [n.made] AS l, {a: n.made, b: [n.gauge]} AS m, n.size AS s ORDER BY s",
    "MATCH (n) RETURN n {.made, .*, g: n.gauge} AS m",
    "MATCH (n) RETURN CASE WHEN n.size > 1 THEN n.made ELSE {m: n.made} END AS v",
    "MATCH (n) RETURN coalesce(n.made, 'never') AS v, [x IN [n] | x.made] AS l",
    "MATCH (n) RETURN [(n)-->(m) | m {.made}] AS l",
    "MATCH (n) WITH n.made AS m, n.size AS s RETURN {m: m} AS v, s ORDER BY s",
    "MATCH (n) WITH n.made AS m, n.size AS s WHERE s > 1 RETURN m",
    "MATCH (n) RETURN collect(n.made) AS l",
    "MATCH (n)-->(m) WITH n, collect(m {.*}) AS ms RETURN n {.*, ms} AS v ORDER BY n.size",
    "MATCH (n)-->(m) RETURN n, n {.made, ms: collect(m.made)} AS v",
]


@pytest.mark.parametrize("text", TEXT)
def test_where_the_text_will_do_the_engine_reads_it(text: str) -> None:
    query = parse_query(text, parameters=("key",)).query
    assert find_typed_member(query.root, NAMES) is None
    assert move_typed_conditions(query.root, NAMES) is query.root


@pytest.mark.parametrize("text", RESULTS)
def test_a_time_among_the_results_is_text(text: str) -> None:
    query = parse_query(text, parameters=("key",)).query
    engine = PickyEngine(Aggregate, Argument, Filter, Limit, Match, Project, Skip, Sort)
    TextEngine(engine, NAMES, gives_results=True).compile(query, {})
    assert engine.asked == [query]
    with pytest.raises(CannotRun, match="temporal"):
        TextEngine(engine, NAMES).compile(query, {})


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n) RETURN DISTINCT n.made",
        "MATCH (n) RETURN n.made AS m ORDER BY m",
        "MATCH (n) RETURN n.made.year",
        "MATCH (n) WITH n.made AS m RETURN m.year",
        "MATCH (n) RETURN n.made AS m UNION MATCH (n) RETURN n.made AS m",
        "MATCH (n) RETURN [n.made] AS l ORDER BY l",
        "MATCH (n) RETURN {a: n.made}.a.year AS y",
        "MATCH (n) RETURN CASE WHEN n.made > date() THEN n.made END AS v",
        "MATCH (n) RETURN CASE n.made WHEN n.size THEN 1 END AS v",
        "MATCH (n) RETURN [x IN [n] WHERE x.made > date() | x.made] AS l",
        "MATCH (n) WITH n.made AS m RETURN m, m > date() AS l",
        "MATCH (n) WITH n.made AS m WHERE m > date() RETURN m",
        "MATCH (n) WITH n.made AS m RETURN {m: m} AS v, EXISTS { ({made: m}) } AS e",
        "MATCH (n) WITH n.made AS m RETURN m, [(a {made: m})-->() | 1] AS l",
        "MATCH (n) RETURN collect(DISTINCT n.made) AS l",
        "MATCH (n) RETURN collect(n.made)[0].year AS l",
        "MATCH (n) RETURN collect(n.made) AS l, n.made AS m",
        "MATCH (n) WITH collect(n.made) AS l RETURN size([x IN l WHERE x > date()]) AS n",
        "MATCH (n) WITH n.made AS m RETURN DISTINCT {m: m} AS v",
        "MATCH (n) WITH n, n {.*} AS m RETURN m.made.year AS y, m",
        "MATCH (n) RETURN reverse(n.made)[0].year AS y",
    ],
)
def test_results_that_something_looks_into_are_no_text(text: str) -> None:
    with pytest.raises(CannotRun, match="temporal"):
        TextEngine(PickyEngine(), NAMES, gives_results=True).compile(parse_query(text).query, {})


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
        ("MATCH (n:A)-->(m) WHERE n.made > date() AND m.size = 2 RETURN m", "(n.made > date())"),
        ("MATCH (n:A {made: date(), size: 2})-->(m) RETURN m", "(n.made = date())"),
        ("MATCH (n)-[r:of {made: date()}]->(m {size: n.made}) RETURN m", "(m.size = n.made))"),
        ("MATCH (n) WHERE EXISTS { (n)-->({made: date()}) } AND n.size = 2 RETURN n", "exists"),
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
        "OPTIONAL MATCH (n {made: date()}) WHERE n.made > date() RETURN n",
        "MATCH (n)-[*1..2 {made: date()}]->(m) RETURN n",
        "MATCH p = shortestPath((n {made: date()})-[*]->(m)) RETURN p",
        "MATCH (n) WHERE n.size = 1 RETURN n",
    ],
)
def test_conditions_that_a_filter_would_not_say_stay(text: str) -> None:
    root = parse_query(text).query.root
    assert move_typed_conditions(root, NAMES) is root
