"""Texts that differ only in literals share a plan, and are answered as if each had its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.graph.conftest import World, build_sqlite, find_engine
from tests.unit.graph.inline_runner import InlineRunner
from twinframe.errors import QueryInvalid, TwinframeError
from twinframe.graph import Graph
from twinframe.graph.queries import plans
from twinframe.settings import Settings
from twinframe.storage.base import GraphStore
from twinframe.testing.factories import FLOOR, SENSOR, build_building_interfaces

# `?` is where a literal stands; each line is asked with many.
TEXTS = [
    "MATCH (n) WHERE n.$dtId = ? RETURN n",
    "MATCH (n {$dtId: ?}) RETURN n.name, n.serial",
    "MATCH (n)-[:hasPart]->(m) WHERE n.$dtId = ? RETURN m.$dtId AS id ORDER BY id",
    "MATCH (n)-[:hasPart*1..2]->(m) WHERE n.$dtId = ? RETURN count(m) AS many",
    "MATCH (n:Floor) WHERE n.level > ? AND n.level <= ? RETURN n.$dtId AS id ORDER BY id LIMIT ?",
    "MATCH (n:Floor) WHERE n.level > -? RETURN count(n) AS many",
    "MATCH (n:Floor) WHERE ? < n.level < ? RETURN n.$dtId AS id ORDER BY id",
    "MATCH (n) WHERE n.$dtId IN [?, ?, ?] RETURN n.$dtId AS id ORDER BY id",
    "MATCH (n) WHERE n.level IN [-?, ?] RETURN n.$dtId AS id ORDER BY id",
    "MATCH (n) WHERE n.$dtId STARTS WITH ? RETURN count(n) AS many",
    "MATCH (n) WHERE n.name CONTAINS ? OR n.name ENDS WITH ? RETURN count(n) AS many",
    "MATCH (n:Floor) RETURN n.level > ?, ? AS other ORDER BY n.$dtId LIMIT 3",
    "MATCH (n:Floor) WITH n.level > ? AS high, count(*) AS many WHERE many > ? RETURN high, many",
    "MATCH (n:Floor) WITH n, n.level > ? AS high WHERE n.level > ? RETURN count(*) AS many",
    "MATCH (n:Floor) WHERE toLower(n.name) = ? RETURN n.$dtId",
    "MATCH (n:Floor) WHERE n.level + ? > ? * ? RETURN count(n) AS many",
    "MATCH (n:Floor) WHERE size([(n)-->(m) | m]) > ? RETURN count(n) AS many",
    "MATCH (n:Floor) WHERE COUNT { (n)-->(m) WHERE m.level <> ? } > ? RETURN count(n) AS many",
    "MATCH (n:Floor) WHERE EXISTS { (n)-->(m {$dtId: ?}) } RETURN count(n) AS many",
    "MATCH (n:Floor) WHERE n['name'] = ? OR n[?] = ? RETURN count(n) AS many",
    "MATCH (n:Floor) WHERE n.name = ? RETURN n UNION MATCH (n) WHERE n.level = ? RETURN n",
    "MATCH (n:Floor) CALL { WITH n MATCH (n)-->(m {level: ?}) RETURN count(m) AS c } RETURN sum(c)",
    "MATCH (n:Floor) WHERE any(x IN [1, 2] WHERE x = ?) AND n.level >= ? RETURN count(n) AS many",
    "MATCH (n:Floor) WHERE 1 / (n.level - ?) > 0 AND n.level <> ? RETURN count(n) AS many",
    "MATCH (n:Floor) WHERE /* ' 1 */ n.level <> ? AND n.`n'ame` IS NULL RETURN count(*) AS `a 1`",
    "MATCH (n:Floor) WHERE n.lavel = ? RETURN count(n) AS many",
    "EXPLAIN MATCH (n:Floor) WHERE n.level = ? RETURN count(n) AS many",
    "SELECT * FROM digitaltwins WHERE $dtId = ?",
    "SELECT COUNT() FROM digitaltwins T WHERE ARRAY_CONTAINS(T.name, ?) OR T.level > ?",
    "SELECT TOP(?) T.name FROM digitaltwins T WHERE T.level >= ? AND NOT T.name = ?",
    "SELECT M FROM digitaltwins T JOIN M RELATED T.hasPart WHERE T.$dtId = ?",
    "SELECT COUNT() FROM digitaltwins WHERE level IN [?, ?] OR name NIN [?]",
    "SELECT COUNT() FROM digitaltwins WHERE STARTSWITH($dtId, ?) AND level != -?",
    "SELECT * FROM relationships WHERE $sourceId = ?",
]
LITERALS = [
    "'r1'", '"r1"', "'r2'", "'missing'", "''", "'it is \"r1\"'", '"r\'1"', "'1'", "'ROOM 1'",
    "'// r1'", r"'r\'1'", r"'\u0072' + '1'", "0", "1", "2", "3", "01", "0x1", "1.0", "2.5", "1e0",
    "0.0", "true", "null", "9223372036854775807", "99999999999999999999", "123456789012345678",
    "n.level", "'r1", "$p", "'\u00e9'", "['r1']", "- 1", "1 /* 2 */",
]  # fmt: skip


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphStore]:
    """Six floors in a ring, of levels 0 to 5, and a sensor."""
    place = tmp_path_factory.mktemp("shared")
    store = build_sqlite(place)
    store.scratch = place / "results"
    store.open()
    world = World(store, Settings())
    world.do(world.graph.models.create_models(cast("Any", build_building_interfaces())))
    for n in range(6):
        world.put(f"r{n}", FLOOR, name=f"Room {n}", level=n)
    world.put("s1", SENSOR, serial="01")
    for n in range(6):
        world.relate(f"r{n}", "next", f"r{(n + 1) % 6}", "hasPart")
    yield store
    store.close()


def build_graph(store: GraphStore, *, shares: bool = True) -> Graph:
    engine = find_engine(store)
    assert engine is not None
    if not shares:
        engine.shares_plans = False
    return Graph(InlineRunner(store), Settings(), engine=engine, scratch=store.scratch)


def ask(graph: Graph, text: str, parameters: Any = None) -> object:
    """Rows and warnings, or the error with its place."""
    try:
        page = asyncio.run(graph.queries.run(text, parameters))
    except QueryInvalid as error:
        return error.code, error.message, error.line, error.column, error.excerpt
    except TwinframeError as error:
        return error.code, error.message
    return page.rows, page.warnings


def fill(text: str, literals: list[str]) -> str:
    pieces = text.split("?")
    return "".join(
        piece + literals[n % len(literals)] if n + 1 < len(pieces) else piece
        for n, piece in enumerate(pieces)
    )


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were parsed."""
    texts: list[str] = []
    parse = plans.parse_query

    def note(text: str, **more: Any) -> object:
        texts.append(text)
        return parse(text, **more)

    monkeypatch.setattr(plans, "parse_query", note)
    return texts


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_answered_as_if_it_had_a_plan_of_its_own(sqlite: GraphStore, text: str) -> None:
    shared, alone = build_graph(sqlite), build_graph(sqlite, shares=False)

    @given(st.lists(st.sampled_from(LITERALS), min_size=3, max_size=3))
    @settings(max_examples=40, deadline=None)
    def check(literals: list[str]) -> None:
        filled = fill(text, literals)
        assert ask(shared, filled, {"p": "r1"}) == ask(alone, filled, {"p": "r1"}), filled

    check()


@pytest.mark.parametrize(
    ("text", "literals"),
    [
        ("MATCH (n) WHERE n.$dtId = ? RETURN n", ["'r1'", "'r2'", '"missing"']),
        ("MATCH (n {$dtId: ?})-->(m) RETURN m.name", ["'r1'", "'r2'", "''"]),
        ("MATCH (n:Floor) WHERE n.level > ? RETURN count(n) AS c LIMIT 5", ["1", "2", "30"]),
        ("MATCH (n:Floor) WHERE n.level > -? RETURN count(n) AS c", ["1.5", "2.25"]),
        ("MATCH (n) WHERE n.$dtId IN ['r1', ?, 'r3'] RETURN count(n) AS c", ["'r1'", "'x'"]),
        ("MATCH (n) WHERE n.name STARTS WITH ? RETURN count(n) AS c", ["'R'", "'Room 1'"]),
        ("SELECT * FROM digitaltwins WHERE $dtId = ?", ["'r1'", "'r2'"]),
        ("SELECT TOP(2) T FROM digitaltwins T WHERE T.level >= ?", ["1", "2", "3"]),
        ("SELECT M FROM digitaltwins T JOIN M RELATED T.hasPart WHERE T.$dtId = ?",
         ["'r1'", "'r2'"]),
        ("SELECT COUNT() FROM digitaltwins WHERE $dtId IN [?, 'r2']", ["'r1'", "'r3'"]),
    ],
)  # fmt: skip
def test_texts_that_differ_in_literals_are_parsed_once(
    sqlite: GraphStore, parsed: list[str], text: str, literals: list[str]
) -> None:
    graph = build_graph(sqlite)
    for literal in literals * 2:
        ask(graph, fill(text, [literal]))
    assert parsed == [fill(text, literals[:1])]


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n:Floor) RETURN n.level > ? LIMIT 1",  # it names the column
        "MATCH (n:Floor) RETURN count(n) AS c LIMIT ?",
        "MATCH (n:Floor)-[*1..?]->(m) RETURN count(m) AS c",
        "MATCH (n:Floor) WHERE n.lavel = ? RETURN count(n) AS c",  # a warning names its place
        "EXPLAIN MATCH (n:Floor) WHERE n.level = ? RETURN count(n) AS c",
        "SELECT TOP(?) T FROM digitaltwins T",
    ],
)
def test_what_a_literal_decides_besides_its_value_is_planned_anew(
    sqlite: GraphStore, parsed: list[str], text: str
) -> None:
    graph = build_graph(sqlite)
    for literal in ("1", "2", "1"):
        ask(graph, fill(text, [literal]))
    assert parsed == [fill(text, ["1"]), fill(text, ["2"])]


def test_a_shared_plan_has_the_fingerprint_of_each_of_its_texts(
    sqlite: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[plans.Plan] = []
    original = plans.QueryPlans.open

    def open_plan(*given: Any, **more: Any) -> plans.Found:
        found = original(*given, **more)
        built.append(found.plan)
        return found

    monkeypatch.setattr(plans.QueryPlans, "open", open_plan)
    for shares in (True, False):
        graph = build_graph(sqlite, shares=shares)
        ask(graph, "MATCH (n) WHERE n.$dtId = 'r1' AND n.level IN [1, -2] RETURN n")
    assert built[0].form is not None
    assert built[1].form is None
    assert built[0].fingerprint() == built[1].fingerprint()


def test_the_longest_text_is_a_limit_of_each_text(sqlite: GraphStore) -> None:
    own = Settings.model_validate({"query": {"max_text_bytes": 400}})
    engine = find_engine(sqlite)
    graph = Graph(InlineRunner(sqlite), own, engine=engine, scratch=sqlite.scratch)
    text = "MATCH (n) WHERE n.$dtId = ? RETURN n"
    assert "LimitExceeded" not in str(ask(graph, fill(text, ["'r1'"])))
    code, *_ = cast("tuple[str]", ask(graph, fill(text, ["'" + "x" * 400 + "'"])))
    assert code == "LimitExceeded"


def test_pages_of_a_shared_plan_go_on(sqlite: GraphStore, tmp_path: Path) -> None:
    graph = build_graph(sqlite)
    for least in (0, 1, 2):
        text = f"MATCH (n:Floor) WHERE n.level >= {least} RETURN n.$dtId AS id"
        rows: list[bytes] = []
        token: str | None = None
        while True:
            page = asyncio.run(graph.queries.run(text, None, token, 2))
            rows += page.rows
            token = page.continuation_token
            if token is None:
                break
        assert sorted(rows) == [b'{"id":"r%d"}' % n for n in range(least, 6)]
