"""Statements that write: twins of models, all or nothing, with what they changed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.graph.conftest import World
from twinframe.errors import (
    LimitExceeded,
    PreconditionFailed,
    QueryInvalid,
    TwinframeError,
    ValidationFailed,
)
from twinframe.graph.statements.statements import StatementResult
from twinframe.model.rendering import build_json
from twinframe.query.writing.surroundings import Counters
from twinframe.settings import GraphSettings, QuerySettings, Settings
from twinframe.testing.factories import FLOOR

Rows = list[list[Any]]


def run(world: Any, text: str, rehearse: bool = False, **parameters: Any) -> StatementResult:
    statements = world.graph.statements
    prepared = statements.prepare(text, parameters)
    found: StatementResult = world.do(statements.run(prepared, rehearse=rehearse))
    return found


def ask(world: Any, text: str, **parameters: Any) -> Rows:
    return [[build_json(one) for one in row] for row in run(world, text, **parameters).rows]


def refuse(world: Any, text: str, **parameters: Any) -> TwinframeError:
    """The error of a statement, which has changed nothing."""
    before = count(world)
    with pytest.raises(TwinframeError) as caught:
        run(world, text, **parameters)
    assert count(world) == before
    return caught.value


def count(world: Any) -> Rows:
    return ask(world, "MATCH (n) OPTIONAL MATCH (n)-[r]->() RETURN count(DISTINCT n), count(r)")


def list_changes(world: Any, subject: str) -> list[str]:
    session = world.store.session()
    try:
        rows = session.read_events(after=0, limit=100)
    finally:
        session.close()
    return [event.kind.name for _, event in rows if event.subject == subject]


def test_a_created_node_is_a_twin_of_the_most_specific_model(world: Any) -> None:
    result = run(world, "CREATE (f:Floor:Space {`$dtId`: 'f', level: 2}) RETURN f.level, labels(f)")
    assert result.rows[0][0] == 2
    assert result.counters == Counters(nodes_created=1, properties_set=1, labels_added=2)
    assert world.read("f")["$metadata"]["$model"] == FLOOR


def test_an_id_is_made_where_none_is_given(world: Any) -> None:
    ((one,), (other,)) = ask(world, "UNWIND [1, 2] AS i CREATE (f:Floor) RETURN f.`$dtId`")
    assert one != other
    assert world.read(one)["$metadata"]["$model"] == FLOOR


def test_a_relationship_has_a_name_that_the_model_of_its_source_allows(world: Any) -> None:
    run(world, "CREATE (f:Floor {`$dtId`: 'f'})-[:hasPart {`$relationshipId`: 'r'}]->(:Floor)")
    assert count(world) == [[2, 1]]
    error = refuse(world, "MATCH (f:Floor {`$dtId`: 'f'}) CREATE (f)-[:watchedBy]->(:Floor)")
    assert "watchedBy" in error.message


@pytest.mark.parametrize(
    ("text", "kind", "part"),
    [
        ("CREATE (:Flor)", QueryInvalid, "did you mean 'Floor'?"),
        ("CREATE ()", QueryInvalid, "needs a model"),
        ("CREATE (:Floor:Room)", QueryInvalid, "No model has all of the labels"),
        ("CREATE (:Floor), (:Floor {level: 'two'})", ValidationFailed, "Invalid twin"),
        ("CREATE (:Floor {`$dtId`: 'f'}), (:Floor {`$dtId`: 'f'})", PreconditionFailed, "f"),
        ("CREATE (f:Floor) SET f.colour = 'red'", ValidationFailed, "Invalid twin"),
        ("CREATE (f:Floor) SET f.`$dtId` = 'g'", TwinframeError, "cannot be patched"),
        ("CREATE (f:Floor) REMOVE f:Floor", QueryInvalid, "comes from the twin's model"),
        ("CREATE (f:Floor) WITH f.missing AS x CREATE (:Floor)-[:hasPart]->(x)", QueryInvalid, ""),
        ("CREATE (f:Floor {level: f})", QueryInvalid, "'f' is not defined"),
        ("CREATE (f:Floor) SET f.name = 1/0", QueryInvalid, "zero"),
    ],
)
def test_what_is_wrong_is_said_and_changes_nothing(
    world: Any, text: str, kind: type[TwinframeError], part: str
) -> None:
    error = refuse(world, text)
    assert isinstance(error, kind)
    details = getattr(error, "details", ())
    assert part in error.message + " ".join(one.message for one in details)


def test_set_and_remove_are_one_patch_for_each_twin(world: Any) -> None:
    before = world.put("r", area=1.0, name="a")
    rows = ask(
        world,
        "UNWIND [1, 2, 3] AS i MATCH (r:Room) SET r.area = r.area + i, r.name = null "
        "RETURN r.area, r.name",
    )
    assert rows == [[7.0, None]] * 3
    after = world.read("r")
    assert after["area"] == 7.0
    assert "name" not in after
    assert after["$etag"] != before["$etag"]
    assert list_changes(world, "r") == ["TWIN_CREATED", "TWIN_UPDATED"]


def test_maps_replace_or_add_properties(world: Any) -> None:
    world.put("r", area=1.0, name="a")
    run(world, "MATCH (r:Room) SET r += {area: 2.0}")
    assert (world.read("r")["area"], world.read("r")["name"]) == (2.0, "a")
    document = world.read("r")
    run(world, "MATCH (r:Room) SET r += $document", document=document)
    assert world.read("r")["area"] == 2.0
    error = refuse(world, "MATCH (r:Room) SET r = {area: 3.0}")  # its component would go
    assert isinstance(error, ValidationFailed)


def test_a_member_of_a_component_is_set(world: Any) -> None:
    world.put("r")
    run(world, "MATCH (r:Room) SET r.thermostat.setPoint = 21.5")
    assert world.read("r")["thermostat"]["setPoint"] == 21.5
    run(world, "MATCH (r:Room) REMOVE r.thermostat.setPoint, r.thermostat.mode")
    assert "setPoint" not in world.read("r")["thermostat"]


def test_a_label_moves_a_twin_to_another_model(world: Any) -> None:
    run(world, "CREATE (:Space {`$dtId`: 's'})")
    result = run(world, "MATCH (s:Space) SET s:Floor RETURN s:Floor")
    assert result.rows == [(True,)]
    assert world.read("s")["$metadata"]["$model"] == FLOOR


def test_merge_creates_once_and_then_finds(world: Any) -> None:
    text = (
        "UNWIND $names AS name MERGE (f:Floor {name: name}) "
        "ON CREATE SET f.level = 1 ON MATCH SET f.level = f.level + 1 RETURN f.level"
    )
    assert ask(world, text, names=["a", "b", "a"]) == [[2], [1], [2]]
    run(world, text, names=["b"])
    assert ask(world, "MATCH (f:Floor) RETURN f.name, f.level ORDER BY f.name") == [
        ["a", 2],
        ["b", 2],
    ]


def test_merge_of_a_relationship_uses_what_is_bound(world: Any) -> None:
    text = "MERGE (a:Floor {`$dtId`: 'a'}) MERGE (b:Floor {`$dtId`: 'b'}) MERGE (a)-[:hasPart]->(b)"
    first, second = run(world, text), run(world, text)
    assert (first.counters.nodes_created, first.counters.relationships_created) == (2, 1)
    assert second.counters == Counters()


def test_delete_detaches_only_where_it_is_asked_to(world: Any) -> None:
    run(world, "CREATE (:Floor {name: 'a'})-[:hasPart]->(:Floor)")
    error = refuse(world, "MATCH (f:Floor {name: 'a'}) DELETE f")
    assert "DETACH DELETE" in error.message
    result = run(world, "MATCH (f:Floor {name: 'a'}) DETACH DELETE f RETURN f")
    assert result.counters == Counters(nodes_deleted=1, relationships_deleted=1)
    assert count(world) == [[1, 0]]
    assert isinstance(refuse(world, "MATCH (f:Floor) DELETE f RETURN f.name"), QueryInvalid)


@pytest.mark.parametrize(
    "end", ["DELETE f DELETE r DELETE g", "DELETE f, g DELETE r", "DELETE r, f, g"]
)
def test_a_node_goes_before_its_relationships_in_clauses_side_by_side(world: Any, end: str) -> None:
    run(world, "CREATE (:Floor {name: 'a'})-[:hasPart]->(:Floor)")
    result = run(world, f"MATCH (f)-[r:hasPart]->(g) {end}")
    assert result.counters == Counters(nodes_deleted=2, relationships_deleted=1)
    assert count(world) == [[0, 0]]


def test_a_statement_reads_one_state_and_then_its_own_writes(world: Any) -> None:
    run(world, "CREATE (:Floor), (:Floor)")
    assert ask(world, "MATCH (f:Floor) CREATE (:Floor) WITH count(*) AS c MATCH (g:Floor) "
                      "RETURN c, count(g)") == [[2, 4]]  # fmt: skip


def test_a_rehearsal_answers_and_keeps_nothing(world: Any) -> None:
    result = run(world, "CREATE (f:Floor {level: 3}) RETURN f.level", rehearse=True)
    assert (result.rows, result.counters.nodes_created) == ([(3,)], 1)
    assert count(world) == [[0, 0]]


def test_a_subquery_in_transactions_commits_batch_by_batch(world: Any) -> None:
    text = (
        "UNWIND range(1, 5) AS i CALL (i) { CREATE (f:Floor {level: i}) RETURN f } "
        "IN TRANSACTIONS OF 2 ROWS RETURN i, f.level"
    )
    assert ask(world, text) == [[i, i] for i in range(1, 6)]
    assert count(world) == [[5, 0]]
    failing = (
        "UNWIND range(1, 5) AS i "
        "CALL (i) { CREATE (:Floor {level: 10 / (5 - i)}) } IN TRANSACTIONS OF 2 ROWS"
    )
    with pytest.raises(QueryInvalid, match="zero"):
        run(world, failing)
    assert count(world) == [[9, 0]]


HALVES = "UNWIND range(1, 5) AS i CALL (i) { CREATE (f:Floor {level: 10 / (3 - i)}) RETURN f } "


@pytest.mark.parametrize(
    ("then", "kept"), [("CONTINUE", [1, 2, None, None, 5]), ("BREAK", [1, 2, None, None, None])]
)
def test_after_an_error_other_transactions_may_go_on(
    world: Any, then: str, kept: list[int | None]
) -> None:
    levels = [at and 10 // (3 - at) if at != 5 else -5 for at in kept]
    text = f"{HALVES} IN TRANSACTIONS OF 2 ROWS ON ERROR {then} RETURN f.level"
    assert ask(world, text) == [[level] for level in levels]
    assert count(world) == [[len([at for at in kept if at]), 0]]


def test_what_became_of_each_transaction_is_reported(world: Any) -> None:
    end = "RETURN i, s.started, s.committed, s.transactionId, s.errorMessage"
    text = f"{HALVES} IN TRANSACTIONS REPORT STATUS AS s ON ERROR BREAK OF 2 ROWS {end}"
    done, failed = (True, True, "transaction-1", None), (True, False, "transaction-2")
    rows = ask(world, text)
    assert rows[:2] == [[1, *done], [2, *done]]
    assert [row[:4] for row in rows[2:4]] == [[3, *failed], [4, *failed]]
    assert "zero" in rows[2][4]
    assert rows[4] == [5, False, False, None, None]
    unit = "UNWIND [2, 3] AS i CALL (i) { CREATE (:Floor {level: 1 / (3 - i)}) } "
    text = (
        f"{unit} IN TRANSACTIONS OF 1 ROW ON ERROR CONTINUE REPORT STATUS AS s RETURN s.committed"
    )
    assert ask(world, text) == [[True], [False]]
    assert run(world, text.replace("[2, 3]", "[1, 2]"), rehearse=True).rows == [(True,), (True,)]


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("REPORT STATUS AS s RETURN s", "REPORT STATUS needs ON ERROR"),
        ("ON ERROR FAIL REPORT STATUS AS s RETURN s", "REPORT STATUS needs ON ERROR"),
        ("ON ERROR CONTINUE ON ERROR BREAK", "ON ERROR stands there twice"),
        ("ON ERROR STOP", "CONTINUE or BREAK"),
        ("ON ERROR CONTINUE REPORT STATUS s RETURN s", "'AS' and a variable"),
        ("ON ERROR CONTINUE REPORT STATUS AS i RETURN i", "'i' is taken"),
    ],
)
def test_what_follows_in_transactions_is_checked(world: Any, end: str, told: str) -> None:
    text = f"UNWIND [1] AS i CALL (i) {{ CREATE (:Floor {{level: i}}) }} IN TRANSACTIONS {end}"
    with pytest.raises(QueryInvalid) as caught:
        run(world, text)
    assert told in caught.value.message


def test_too_many_writes_are_refused_with_a_hint(empty: Any) -> None:
    settings = Settings(query=QuerySettings(max_writes=2), graph=GraphSettings(open_=True))
    error = refuse(World(empty.store, settings), "UNWIND range(1, 3) AS i CREATE ()")
    assert isinstance(error, LimitExceeded)
    assert "IN TRANSACTIONS" in error.message


def test_the_permissions_are_those_of_what_the_text_does(world: Any) -> None:
    def needs(text: str) -> tuple[str, ...]:
        found: tuple[str, ...] = world.graph.statements.prepare(text, {}).needs
        return found

    assert needs("MATCH (n) RETURN n") == ("query/read",)
    assert needs("CREATE (:Floor)") == ("query/write", "digitaltwins/write")
    assert needs("MATCH ()-[r]->() DELETE r") == (
        "query/write", "query/read", "digitaltwins/relationships/delete"
    )  # fmt: skip
    assert needs("MATCH (n) DETACH DELETE n") == (
        "query/write", "query/read", "digitaltwins/delete", "digitaltwins/relationships/delete"
    )  # fmt: skip
    unknown = "MATCH (n)-[r]->() UNWIND [n, r] AS x SET x.name = 'a'"
    assert needs(unknown) == (
        "query/write", "query/read", "digitaltwins/write", "digitaltwins/relationships/write"
    )  # fmt: skip


def test_explain_describes_the_steps_and_runs_nothing(world: Any) -> None:
    rows = ask(world, "EXPLAIN MATCH (n:Floor) SET n.level = 1 RETURN n")
    assert [row[0] for row in rows] == ["Read", "Set", "Read"]
    assert "n.level = 1" in rows[1][1]


@pytest.mark.parametrize(
    "text", ["SELECT * FROM DIGITALTWINS", "AS OF 3 MATCH (n) RETURN n", "PROFILE CREATE (:Floor)"]
)
def test_what_belongs_to_queries_is_refused(world: Any, text: str) -> None:
    assert isinstance(refuse(world, text), QueryInvalid)


@pytest.mark.parametrize(
    ("text", "detail", "said"),
    [
        ("MATCH (n) RETURN n DELETE n", "InvalidClauseComposition", "DELETE stands before RETURN"),
        ("CREATE (f:Floor) RETURN f SET f.level = 1", "InvalidClauseComposition", "write WITH"),
        ("CREATE (:Floor); CREATE (:Floor)", "UnexpectedSyntax", "one statement"),
    ],
)
def test_what_follows_the_end_of_a_statement_is_refused_with_what_to_write(
    world: Any, text: str, detail: str, said: str
) -> None:
    error = refuse(world, text)
    assert isinstance(error, QueryInvalid)
    assert (error.kind, error.detail) == ("SyntaxError", detail)
    assert said in str(error)


def test_changes_are_in_the_history_as_those_of_single_requests(world: Any) -> None:
    run(world, "CREATE (r:Floor {`$dtId`: 'f', level: 1})")
    run(world, "MATCH (f:Floor) SET f.level = 2")
    run(world, "MATCH (f:Floor) DELETE f")
    assert list_changes(world, "f") == ["TWIN_CREATED", "TWIN_UPDATED", "TWIN_DELETED"]


def test_built_in_procedures_name_what_the_models_declare(world: Any) -> None:
    assert ["Room"] in ask(world, "CALL db.labels()")
    assert ["watchedBy"] in ask(world, "CALL db.relationshipTypes()")
    assert ask(world, "CALL db.propertyKeys() YIELD propertyKey AS k WHERE k = 'level' "
                      "RETURN k") == [["level"]]  # fmt: skip
    assert ask(world, "CALL dbms.components() YIELD name RETURN name") == [["twinframe"]]
    with pytest.raises(QueryInvalid, match=r"did you mean 'db\.labels'"):
        run(world, "CALL db.label()")


def test_an_open_graph_takes_any_labels_and_properties(empty: Any) -> None:
    world = World(empty.store, Settings(graph=GraphSettings(open_=True)))
    run(world, "CREATE (:A:B {x: 1, when: date('2024-02-29')})-[:KNOWS {since: 3}]->()")
    assert ask(world, "MATCH (n:B) RETURN labels(n), n.when + duration('P1D'), n.x") == [
        [["A", "B"], "2024-03-01", 1]
    ]
    run(world, "MATCH (n:A) REMOVE n:A SET n.when = 'never'")
    assert ask(world, "MATCH (n:B) RETURN labels(n), n.when") == [[["B"], "never"]]
    assert ask(world, "MATCH (n) WHERE labels(n) = [] RETURN count(n)") == [[1]]
    assert ask(world, "CALL db.labels()") == [["A"], ["B"]]
    assert ask(world, "CALL db.relationshipTypes()") == [["KNOWS"]]
    assert ["since"] in ask(world, "CALL db.propertyKeys()")
    for text in ("CREATE ({m: {a: 1}})", "CREATE (:`a b`)", "CREATE (n) SET n.`$x` = 1"):
        assert isinstance(refuse(world, text), QueryInvalid)
