"""Transactions of a graph opened in a script: all that is done in them, or nothing."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

import twinframe
from tests.unit.library.worlds import LAMP, MODELS, ROOM, lamp, room
from tests.waiting import PATIENCE, Threads
from twinframe.errors import (
    InvalidArgument,
    ModelNotFound,
    PreconditionFailed,
    QueryInvalid,
    QueryTimeout,
    StorageBusy,
    TransactionFailed,
    TwinNotFound,
    ValidationFailed,
)


def list_ids(graph: Any) -> list[str]:
    """The ids of all twins."""
    return sorted(twin["$dtId"] for twin in graph.list_twins())


def test_all_of_a_transaction_is_seen_in_it_and_kept_at_its_end(graph: Any) -> None:
    with graph.transaction() as tx:
        tx.put_twin("r", room(seats=1))
        tx.put_twins([{"$dtId": "s", **room(seats=2)}, {"$dtId": "l", **lamp()}])
        tx.put_relationship("r", "x", {"$relationshipName": "has", "$targetId": "l"})
        assert tx.patch_twin("r", [{"op": "replace", "path": "/seats", "value": 3}])
        tx.patch_component("l", "driver", [{"op": "replace", "path": "/firmware", "value": "2"}])
        done = tx.execute("MATCH (r:Room) SET r.seats = r.seats * $n RETURN r.seats", {"n": 10})
        assert (len(done), done.counters.properties_set) == (2, 2)
        assert [row["s"] for row in tx.query("MATCH (r:Room) RETURN r.seats AS s ORDER BY s")] == [
            20,
            30,
        ]
        assert list(tx.query("SELECT COUNT() FROM RELATIONSHIPS")) == [{"COUNT": 1}]
        assert [len(tx.list_twins(ROOM)), len(tx.list_twins(LAMP))] == [2, 1]
        assert len(tx.list_relationships("r")) == len(tx.list_incoming_relationships("l")) == 1
        assert list_ids(graph) == []
    assert list_ids(graph) == ["l", "r", "s"]
    assert graph.read_twin("r")["seats"] == 30
    assert graph.read_component("l", "driver")["firmware"] == "2"


def test_an_exception_takes_everything_back_and_comes_out(graph: Any) -> None:
    graph.put_twin("r", room(seats=1))
    position = list(graph.iterate("MATCH (r:Room) RETURN r.seats AS s"))
    with pytest.raises(ZeroDivisionError), graph.transaction() as tx:  # noqa: PT012  # all of it
        tx.delete_model(LAMP)
        tx.delete_twin("r")
        tx.put_twin("s", room())
        assert list_ids(tx) == ["s"]
        raise ZeroDivisionError
    assert list_ids(graph) == ["r"]
    assert len(graph.list_models()) == 3
    assert list(graph.iterate("MATCH (r:Room) RETURN r.seats AS s")) == position


def test_models_of_a_transaction_count_in_it_and_never_after_a_rollback(graph: Any) -> None:
    model = {**MODELS[0], "@id": "dtmi:com:example:library:Hall;1"}
    hall = {"$metadata": {"$model": model["@id"]}, "seats": 1}
    with graph.transaction(rehearse=True) as tx:
        tx.create_models([model])
        tx.put_twin("h", hall)
        assert list(tx.query("MATCH (h:Hall) RETURN h.seats AS s")) == [{"s": 1}]
        assert tx.read_model(model["@id"])["id"] == model["@id"]
    with pytest.raises(ValidationFailed):
        graph.put_twin("h", hall)
    # The same version of the models, were it counted again, would now be of other models.
    other = {**model, "contents": [{"@type": "Property", "name": "seats", "schema": "string"}]}
    graph.create_models([other])
    with pytest.raises(ValidationFailed):
        graph.put_twin("h", hall)
    graph.put_twin("h", {**hall, "seats": "one"})


def test_a_rehearsal_keeps_nothing(graph: Any) -> None:
    with graph.transaction(rehearse=True) as tx:
        tx.put_twin("r", room())
        assert tx.execute("MATCH (r:Room) DETACH DELETE r").counters.nodes_deleted == 1
        tx.put_twin("s", room())
    assert list_ids(graph) == []


def test_a_refused_write_changes_nothing_and_the_transaction_goes_on(graph: Any) -> None:
    graph.put_twin("r", room(seats=1))
    with graph.transaction() as tx:
        with pytest.raises(PreconditionFailed):
            tx.put_twin("r", room(seats=2), if_none_match="*")
        with pytest.raises(ValidationFailed):
            tx.put_twin("bad", room(seats="many"))
        with pytest.raises(TwinNotFound):
            tx.read_twin("nobody")
        with pytest.raises(QueryInvalid):
            tx.query("MATCH (r:Room RETURN r")
        results = tx.put_twins([{"$dtId": "s", **room()}, {"$dtId": "bad", **room(seats="many")}])
        assert [result.error is None for result in results] == [True, False]
    assert list_ids(graph) == ["r", "s"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "MATCH (r:Room) SET r.seats = CASE r.seats WHEN 1 THEN 5 ELSE 'x' END",
            ValidationFailed,
        ),
        ("MATCH (r:Room) DELETE r WITH r RETURN 1 / 0 AS x", QueryInvalid),
    ],
)
def test_after_a_failed_statement_a_transaction_can_only_end(
    graph: Any, text: str, error: type[Exception]
) -> None:
    graph.put_twin("r", room(seats=1))
    graph.put_twin("s", room(seats=2))
    with pytest.raises(TransactionFailed) as told, graph.transaction() as tx:  # noqa: PT012  # all of it
        tx.put_twin("t", room())
        with pytest.raises(error) as refused:
            tx.execute(text)
        with pytest.raises(TransactionFailed):
            tx.list_twins()
    assert str(refused.value) in str(told.value)
    assert sorted(one.get("seats", 0) for one in graph.list_twins()) == [1, 2]


def test_a_failed_change_of_a_model_ends_a_transaction_too(graph: Any) -> None:
    with pytest.raises(TransactionFailed), graph.transaction() as tx:  # noqa: PT012  # all of it
        tx.put_twin("t", room())
        with pytest.raises(ModelNotFound):
            tx.delete_model("dtmi:com:example:none;1")
    assert list_ids(graph) == []


def test_a_transaction_that_is_open_too_long_is_rolled_back(graph: Any) -> None:
    with pytest.raises(QueryTimeout), graph.transaction(seconds=0.05) as tx:  # noqa: PT012  # all of it
        tx.put_twin("r", room())
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            tx.list_twins()
    assert list_ids(graph) == []
    with pytest.raises(QueryTimeout), graph.transaction(seconds=0.05) as tx:  # noqa: PT012  # all of it
        tx.put_twin("r", room())
        threading.Event().wait(0.1)
    assert list_ids(graph) == []


def test_it_shows_one_state_and_is_over_at_its_end(graph: Any) -> None:
    with graph.transaction() as tx:
        tx.put_twin("r", room())
        with pytest.raises(InvalidArgument, match="outside"):
            tx.read_twin("r", as_of=1)
        for text, as_of in (
            ("MATCH (r) RETURN r", 1),
            ("AS OF datetime('2026-01-01T00:00Z') MATCH (r) RETURN r", None),
        ):
            with pytest.raises(InvalidArgument, match="outside"):
                tx.query(text, as_of=as_of)
    with pytest.raises(TransactionFailed, match="has ended"):
        tx.put_twin("s", room())
    for seconds in (0, -1, float("nan"), float("inf")):
        with pytest.raises(InvalidArgument), graph.transaction(seconds=seconds):
            pass


def test_long_results_of_a_transaction_come_whole(graph: Any) -> None:
    with graph.transaction(seconds=PATIENCE) as tx:
        tx.put_twins({"$dtId": f"r{n}", **room(seats=n)} for n in range(2500))
        plain = list(tx.iterate("MATCH (r:Room) RETURN r.seats AS s"))
        ordered = tx.query("MATCH (r:Room) RETURN r.seats AS s ORDER BY s")
        assert ordered.read_column("s") == sorted(row["s"] for row in plain) == [*range(2500)]
        assert len(tx.list_twins()) == 2500


def test_a_transaction_is_alone_until_it_ends(tmp_path: Path) -> None:
    """Two graphs on one file, several threads: no update is lost, and none is repeated."""
    path = tmp_path / "graph.db"
    with twinframe.open(path) as one, twinframe.open(path) as other:
        one.create_models(MODELS)
        one.put_twin("r", room(seats=0))

        def count(graph: twinframe.LocalGraph) -> None:
            for _ in range(10):
                with graph.transaction(seconds=PATIENCE) as tx:
                    seats = tx.read_twin("r")["seats"]
                    tx.put_twin("r", room(seats=seats + 1))

        def add(graph: twinframe.LocalGraph) -> None:
            for _ in range(10):
                graph.execute("MATCH (r:Room) SET r.seats = r.seats + 1")

        with Threads(4) as threads:
            list(
                threads.map(
                    lambda work: work[0](work[1]),
                    [(count, one), (count, other), (add, one), (add, other)],
                )
            )
        assert one.read_twin("r")["seats"] == 40


def test_others_read_meanwhile_and_wait_to_write(tmp_path: Path) -> None:
    settings = {"Storage__WriteWait": 0.2}
    path = tmp_path / "graph.db"
    with twinframe.open(path, settings=settings) as graph:
        graph.create_models(MODELS)
        with graph.transaction() as tx:
            tx.put_twin("r", room())
            assert graph.list_twins() == []
            with pytest.raises(StorageBusy):
                graph.put_twin("s", room())
        with pytest.raises(StorageBusy), graph.transaction(), graph.transaction():
            pass
        graph.put_twin("s", room())
        assert list_ids(graph) == ["r", "s"]
