"""Everyday calls of the official Python driver, over each storage."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import neo4j
import pytest
import pytz
from neo4j.exceptions import (
    ClientError,
    ConstraintError,
    CypherSyntaxError,
    CypherTypeError,
    DatabaseError,
    Neo4jError,
    TransientError,
)
from neo4j.time import Date, DateTime, Duration, Time

from tests.unit.bolt.world import BoltWorld
from tests.waiting import join, start

OFFSET = pytz.FixedOffset(-210)
VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -17,
    127,
    128,
    -129,
    2**31,
    -(2**63),
    2**63 - 1,
    0.1,
    "",
    "räum \U0001f3e0",
    "two\nlines \x1b and \x1be",
    "x" * 70_000,
    [],
    [1, [2.5, "x"], None],
    {},
    {"a": 1, "b": {"c": [True]}},
    Date(2024, 2, 29),
    Date(1, 1, 1),
    Time(12, 30, 15, 123_456_789),
    Time(12, 30, 15, 1, tzinfo=OFFSET),
    DateTime(2024, 2, 29, 23, 59, 59, 999_999_999),
    DateTime(2024, 2, 29, 23, 59, 59, 1, tzinfo=OFFSET),
    # NOTE: CPython's ZoneInfo reads beyond what is no datetime of its own, and may crash.
    pytz.timezone("Europe/Berlin").localize(DateTime(2024, 7, 1, 12)),
    Duration(months=14, days=-3, seconds=5, nanoseconds=7),
)


def ask(driver: neo4j.Driver, text: str, **parameters: Any) -> list[Any]:
    """The values of the first column."""
    return [record[0] for record in driver.execute_query(text, parameters).records]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:40])
def test_a_value_comes_back_as_it_was_sent(driver: neo4j.Driver, value: Any) -> None:
    with driver.session() as session:
        record = session.run("RETURN $value AS value, [$value] AS list", value=value).single()
    assert record is not None
    assert record["value"] == value
    assert type(record["value"]) is type(value)
    assert record["list"] == [value]


def test_a_node_has_its_id_labels_and_properties(driver: neo4j.Driver) -> None:
    text = "CREATE (n:Room:Space {`$dtId`: 'r 1', name: 'x', seats: [1, 2]}) RETURN n, elementId(n)"
    ((node, element_id),) = driver.execute_query(text).records
    assert node.element_id == element_id == "r 1"
    assert node.labels == {"Room", "Space"}
    assert (node["name"], node["seats"], node["$dtId"]) == ("x", [1, 2], "r 1")
    assert "$metadata" not in node


def test_members_of_whole_nodes_have_their_types(driver: neo4j.Driver) -> None:
    day, moment = Date(2024, 2, 29), DateTime(2024, 2, 29, 23, 59, 59, 1, tzinfo=OFFSET)
    text = "CREATE p = (n:A {day: $day, at: $at})-[:to]->(m:B {day: '2024-02-29'})"
    reads = "MATCH p = (n:A)-[:to]->(m:B)"
    shown = " RETURN n, {paths: [p]} AS map, m.day AS text"
    for before in (text, reads):  # as it was written, and as it is stored
        given = {"day": day, "at": moment}
        node, shape, plain = driver.execute_query(before + shown, given).records[0]
        assert (node["day"], node["at"]) == (day, moment)
        assert [one["day"] for one in shape["paths"][0].nodes] == [day, plain]
        assert plain == "2024-02-29"
    with driver.session() as session, session.begin_transaction() as open_one:
        assert open_one.run(f"{reads} RETURN n").single(strict=True)[0]["day"] == day
        found = open_one.run("MATCH (n:A) SET n.day = $at RETURN n", at=moment)
        assert found.single(strict=True)[0]["day"] == moment


def test_a_path_has_nodes_and_relationships_in_both_directions(driver: neo4j.Driver) -> None:
    driver.execute_query(
        "CREATE (a:A {`$dtId`: 'a'})-[:to {w: 1}]->(b:B {`$dtId`: 'b'})<-[:to {w: 2}]-(c:C "
        "{`$dtId`: 'c'})"
    )
    text = "MATCH p = (a:A)-[r]->(b)<-[s]-(c) RETURN p, r, elementId(r) AS id"
    ((path, relationship, element_id),) = driver.execute_query(text).records
    assert [node.element_id for node in path.nodes] == ["a", "b", "c"]
    assert [one["w"] for one in path.relationships] == [1, 2]
    assert [one.start_node.element_id for one in path.relationships] == ["a", "c"]
    assert relationship.element_id == element_id
    assert (relationship.type, relationship["w"]) == ("to", 1)
    assert relationship.nodes[1].element_id == "b"


def test_a_summary_counts_what_was_written(driver: neo4j.Driver) -> None:
    text = "UNWIND [1, 2] AS i CREATE (a:A {i: i})-[:to]->(:B)"
    counters = driver.execute_query(text).summary.counters
    assert (counters.nodes_created, counters.relationships_created) == (4, 2)
    assert (counters.properties_set, counters.labels_added) == (2, 4)
    assert counters.contains_updates
    summary = driver.execute_query("MATCH (n) DETACH DELETE n").summary
    assert (summary.counters.nodes_deleted, summary.query_type) == (4, "w")
    assert not driver.execute_query("MATCH (n) RETURN n").summary.counters.contains_updates


def test_a_plan_is_in_the_summary(driver: neo4j.Driver) -> None:
    driver.execute_query("CREATE (:A {n: 1})-[:to]->(:A {n: 2})")
    text = "MATCH (a:A)-[:to]->(b) RETURN a.n + b.n AS n ORDER BY n"
    for begun in (False, True):
        for prefix in ("EXPLAIN", "profile"):
            with driver.session() as session:
                if begun:
                    with session.begin_transaction() as open_one:
                        summary = open_one.run(f"{prefix} {text}").consume()
                else:
                    summary = session.run(f" {prefix} {text}").consume()
            found = [summary.plan, summary.profile]
            root = found.pop(prefix == "profile")
            assert root is not None
            assert found == [None]
            walked = [root]
            for one in walked:
                assert {"operatorType", "identifiers", "args", "children"} <= set(one)
                walked += one["children"]
            assert {"Sort", "Match"} <= {one["operatorType"] for one in walked}
            assert "Match" in root["args"]["string-representation"]
            if prefix == "profile":
                assert (root["rows"], root["dbHits"]) == (1, 0)
    summary = driver.execute_query("EXPLAIN MATCH (a:A) DELETE a").summary
    assert summary.plan is not None
    assert summary.plan["operatorType"] == "Delete"
    assert summary.plan["children"][0]["operatorType"] == "Read"
    assert driver.execute_query(text).summary.plan is None


def test_procedures_answer_what_tools_ask_for(driver: neo4j.Driver) -> None:
    driver.execute_query("CREATE (:Room)-[:isIn]->(:Floor)")
    assert {"Floor", "Room"} <= set(ask(driver, "CALL db.labels()"))
    with driver.session() as session, session.begin_transaction() as open_one:
        assert "isIn" in open_one.run("CALL db.relationshipTypes()").value()
    with driver.session() as session:
        drawn = session.run("CALL db.schema.visualization()").graph()
    assert ("Room", "Floor") in {
        tuple(node["name"] for node in one.nodes if node) for one in drawn.relationships
    }


def test_words_that_write_may_be_names(driver: neo4j.Driver) -> None:
    assert ask(driver, "WITH {set: 1, call: 2} AS create_ RETURN create_.set + create_.call") == [3]
    assert ask(driver, "SELECT COUNT() FROM DIGITALTWINS T WHERE T.name = 'create'") == [0]


ARITHMETIC = "Neo.ClientError.Statement.ArithmeticError"
ERRORS = (
    ("RETURN 1 +", CypherSyntaxError, "Statement.SyntaxError"),
    ("RETURN nothing", CypherSyntaxError, "Statement.SyntaxError"),
    ("RETURN 1 / 0", ClientError, "Statement.ArithmeticError"),
    ("UNWIND [true] AS x RETURN toInteger([x])", CypherTypeError, "Statement.TypeError"),
    ("RETURN $missing", ClientError, "Statement.ParameterMissing"),
    ("CALL no.such()", ClientError, "Procedure.ProcedureNotFound"),
    ("MATCH (n) DELETE n", ConstraintError, "Schema.ConstraintValidationFailed"),
)


@pytest.mark.parametrize(("text", "kind", "code"), ERRORS)
def test_an_error_has_the_class_and_code_of_neo4j(
    driver: neo4j.Driver, text: str, kind: type[Exception], code: str
) -> None:
    driver.execute_query("CREATE (:A)-[:to]->(:B)")
    with driver.session() as session:
        with pytest.raises(kind) as caught:
            session.run(text).consume()
        assert getattr(caught.value, "code", "") == f"Neo.ClientError.{code}"
        assert session.run("RETURN 1").single(strict=True)[0] == 1  # the connection goes on


def test_an_unknown_database_is_refused(driver: neo4j.Driver) -> None:
    with pytest.raises(ClientError) as caught:
        driver.execute_query("RETURN 1", database_="nowhere")
    assert caught.value.code == "Neo.ClientError.Database.DatabaseNotFound"
    assert driver.execute_query("RETURN 1", database_="neo4j").records


def test_rows_are_streamed_in_the_sizes_that_a_client_asks_for(driver: neo4j.Driver) -> None:
    text = "UNWIND range(1, 2500) AS i RETURN i, toString(i) AS text"
    with driver.session(fetch_size=700) as session:
        assert sum(record["i"] for record in session.run(text)) == 2_500 * 2_501 // 2
        result = session.run(text)
        assert [record["i"] for record in result.fetch(3)] == [1, 2, 3]
        result.consume()  # discards the rest
        assert session.run("RETURN 1").single(strict=True)[0] == 1


def test_a_failure_after_many_rows_reaches_the_client(driver: neo4j.Driver) -> None:
    text = "UNWIND range(2000, 0, -1) AS i RETURN 1 / i AS x "
    with driver.session(fetch_size=50) as session, pytest.raises(Neo4jError) as caught:
        session.run(text).data()
    assert caught.value.code == ARITHMETIC


def test_a_transaction_sees_its_own_writes_and_keeps_them_at_the_commit(
    driver: neo4j.Driver,
) -> None:
    with driver.session() as session:
        with session.begin_transaction() as first:
            first.run("CREATE (:A {n: 1})")
            assert first.run("MATCH (n) RETURN count(n)").single(strict=True)[0] == 1
            first.run("MATCH (n:A) SET n.n = 2")
            assert ask(driver, "RETURN 1") == [1]  # others read meanwhile
            first.commit()
        assert session.last_bookmarks().raw_values
        assert session.run("MATCH (n) RETURN n.n").value() == [2]
        with session.begin_transaction() as second:
            second.run("CREATE (:A)")
            second.rollback()
        assert session.run("MATCH (n) RETURN count(n)").value() == [1]


def test_a_statement_has_the_time_that_its_client_gives_it(driver: neo4j.Driver) -> None:
    many = "UNWIND range(1, 3000) AS i UNWIND range(1, 3000) AS j"
    for text in (f"{many} WITH i + j AS k RETURN max(k)", f"{many} CREATE (:A)"):
        with driver.session() as session, pytest.raises(ClientError) as caught:
            session.run(neo4j.Query(text, timeout=0.1)).consume()
        assert caught.value.code == "Neo.ClientError.Transaction.TransactionTimedOut"
        with driver.session() as session, pytest.raises(ClientError) as again:
            session.begin_transaction(timeout=0.1).run(text).consume()
        assert again.value.code == caught.value.code
    assert ask(driver, "MATCH (n) RETURN count(n)") == [0]
    quick = neo4j.Query("CREATE (:A) RETURN 1", timeout=60)
    with driver.session() as session:
        assert session.run(quick).value() == [1]


def test_a_transaction_reads_one_state(driver: neo4j.Driver) -> None:
    driver.execute_query("CREATE (:A)")
    with driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
        with session.begin_transaction() as reading:
            count = "MATCH (n) RETURN count(n)"
            assert reading.run(count).single(strict=True)[0] == 1
            driver.execute_query("CREATE (:A)")
            assert reading.run(count).single(strict=True)[0] == 1
            rows = reading.run("UNWIND range(1, 1500) AS i MATCH (n:A) RETURN i")
            assert len(rows.value()) == 1_500
        assert session.run(count).single(strict=True)[0] == 2


def test_results_of_a_transaction_are_taken_in_any_order(driver: neo4j.Driver) -> None:
    with driver.session(fetch_size=2) as session, session.begin_transaction() as open_one:
        results = [open_one.run("UNWIND range(1, 9) AS i RETURN i + $n", n=n) for n in (10, 20)]
        assert results[1].value() == list(range(21, 30))
        assert results[0].value() == list(range(11, 20))


def test_an_error_ends_a_transaction(driver: neo4j.Driver) -> None:
    with driver.session() as session:
        broken = session.begin_transaction()
        broken.run("CREATE (:A)").consume()
        with pytest.raises(CypherSyntaxError):
            broken.run("RETURN 1 +").consume()
        broken.close()
        assert session.run("MATCH (n) RETURN count(n)").single(strict=True)[0] == 0


def test_a_session_for_reading_writes_nothing(driver: neo4j.Driver) -> None:
    with driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
        with pytest.raises(ClientError) as caught:
            session.run("CREATE (:A)").consume()
        assert caught.value.code == "Neo.ClientError.Statement.AccessMode"
        with pytest.raises(ClientError) as again:
            session.execute_read(lambda one: one.run("CREATE (:A)").consume())
        assert again.value.code == caught.value.code
    assert ask(driver, "MATCH (n) RETURN count(n)") == [0]


def test_a_transaction_whose_reads_became_old_is_to_be_run_again(driver: neo4j.Driver) -> None:
    driver.execute_query("CREATE (:Counter {n: 0})")
    with driver.session() as session:
        late = session.begin_transaction()
        assert late.run("MATCH (c:Counter) RETURN c.n").single(strict=True)[0] == 0
        driver.execute_query("MATCH (c:Counter) SET c.n = 7")
        with pytest.raises(TransientError) as caught:
            late.run("MATCH (c:Counter) SET c.n = 1").consume()
        late.close()
    assert caught.value.code == "Neo.TransientError.Transaction.Outdated"
    assert ask(driver, "MATCH (c:Counter) RETURN c.n") == [7]


def test_managed_transactions_lose_no_update(driver: neo4j.Driver) -> None:
    driver.execute_query("CREATE (:Counter {n: 0})")

    def add_one(open_one: neo4j.ManagedTransaction) -> None:
        (n,) = open_one.run("MATCH (c:Counter) RETURN c.n").value()
        open_one.run("MATCH (c:Counter) SET c.n = $n", n=n + 1)

    def add_some() -> None:
        with driver.session() as session:
            for _ in range(4):
                session.execute_write(add_one)

    join(*[start(add_some) for _ in range(3)])
    assert ask(driver, "MATCH (c:Counter) RETURN c.n") == [12]


def test_the_asynchronous_driver_works_alike(world: BoltWorld) -> None:
    async def talk() -> list[int]:
        uri = f"bolt://127.0.0.1:{world.server.port}"
        async with neo4j.AsyncGraphDatabase.driver(uri) as driver:
            await driver.execute_query("CREATE (:A {n: 1})")
            async with driver.session() as session:
                found = await session.run("MATCH (n:A) RETURN n.n")
                return [record[0] async for record in found]

    assert asyncio.run(talk()) == [1]


def test_a_routing_driver_is_sent_back_to_this_server(world: BoltWorld) -> None:
    with world.connect("neo4j") as driver:
        driver.verify_connectivity()
        assert ask(driver, "RETURN 1") == [1]
        with driver.session() as session:
            session.execute_write(lambda one: one.run("CREATE (:A)").consume())
            assert session.execute_read(lambda one: one.run("MATCH (n) RETURN count(n)").value())


def test_a_bookmark_of_another_server_is_refused(driver: neo4j.Driver) -> None:
    for text, code in (("FB:kcwQ", "InvalidBookmark"), ("twinframe:neo4j:", "InvalidBookmark")):
        bookmarks = neo4j.Bookmarks.from_raw_values([text])
        with driver.session(bookmarks=bookmarks) as session, pytest.raises(ClientError) as caught:
            session.run("RETURN 1").consume()
        assert caught.value.code == f"Neo.ClientError.Transaction.{code}"


def test_many_sessions_write_at_once(driver: neo4j.Driver) -> None:
    def write(n: int) -> None:
        for _ in range(5):
            driver.execute_query("CREATE (:A {n: $n})", n=n)

    threads = [threading.Thread(target=write, args=(n,), daemon=True) for n in range(4)]
    for thread in threads:
        thread.start()
    join(*threads)
    assert ask(driver, "MATCH (n:A) RETURN count(n)") == [20]


def test_a_tool_sees_that_a_statement_has_to_run_on_its_own(driver: neo4j.Driver) -> None:
    """By the code and the words for which LangChain's graph looks."""
    text = "UNWIND [1, 2, 3] AS i CALL { WITH i CREATE (:Made {i: i}) } IN TRANSACTIONS OF 2 ROWS"
    with pytest.raises(DatabaseError, match="in an implicit transaction") as caught:
        driver.execute_query(text)
    assert caught.value.code == "Neo.DatabaseError.Transaction.TransactionStartFailed"
    with driver.session() as session:
        session.run(text).consume()
    assert driver.execute_query("MATCH (m:Made) RETURN count(m) AS n").records[0]["n"] == 3
